// SPDX-License-Identifier: LGPL-2.1-or-later
/* model_guest.c: see model_guest.h. */
#include "offline/replay/models/model_guest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t arg_regs[] = {VALUE_RDI, VALUE_RSI, VALUE_RDX, VALUE_RCX, 8, 9};

void guest_init(struct guest *g, struct value_machine *m)
{
	const struct value_state *state = value_machine_state(m);

	*g = (struct guest){.machine = m, .memory = value_machine_memory(m)};
	for (int i = 0; i < 6; i++)
		g->arg[i] = state->gpr[arg_regs[i]];
}

void guest_deinit(struct guest *g)
{
	for (uint32_t i = 0; i < g->n_views; i++)
		free(g->views[i]);
}

static void worsen(struct guest *g, uint8_t quality)
{
	if (quality == VALUE_UNKNOWN && !g->err)
		g->err = -ENOSYS;
	if (quality > g->quality)
		g->quality = quality;
}

void guest_look(struct guest *g, uint32_t args)
{
	uint64_t bits = 0;

	for (int i = 0; i < 6; i++)
		if (args >> i & 1)
			bits |= 1ull << arg_regs[i];
	worsen(g, value_quality(g->machine, bits));
}

/* Room for @len bytes at the place in a page that @addr has, and more behind it. */
static uint8_t *view(struct guest *g, uint64_t addr, uint64_t len)
{
	uint64_t skip = addr & (VALUE_PAGE - 1);
	uint8_t *bytes = NULL;

	if (len > GUEST_MAX_BYTES || g->n_views == GUEST_VIEWS)
		g->err = -ENOSYS;
	/* Whole pages, and one more: functions look at whole vectors. */
	uint64_t size = ((skip + len + VALUE_PAGE) / VALUE_PAGE + 1) * VALUE_PAGE;
	if (!g->err && !(bytes = aligned_alloc(VALUE_PAGE, size)))
		g->err = -ENOMEM;
	if (g->err)
		return NULL;
	memset(bytes + skip + len, 0, size - skip - len);
	g->views[g->n_views++] = bytes;
	return bytes + skip;
}

uint8_t *guest_bytes(struct guest *g, uint64_t addr, uint64_t len)
{
	uint8_t *bytes = g->err ? NULL : view(g, addr, len), quality = VALUE_EXACT;

	if (bytes && len)
		g->err = value_memory_read(g->memory, addr, bytes, len, &quality);
	if (bytes && !g->err)
		worsen(g, quality);
	return g->err ? NULL : bytes;
}

/* How long the string at @addr is, at most @max. */
static uint64_t string_length(struct guest *g, uint64_t addr, uint64_t max)
{
	uint8_t bytes[256];
	uint64_t len = 0;

	while (!g->err && len < max) {
		uint64_t at = addr + len, left = sizeof(bytes) - at % sizeof(bytes);
		uint64_t n = left < max - len ? left : max - len;

		g->err = value_memory_read(g->memory, at, bytes, n, NULL);
		const uint8_t *zero = g->err ? NULL : memchr(bytes, 0, n);
		if (zero)
			return len + (zero - bytes);
		len += n;
		if (len > GUEST_MAX_BYTES)
			g->err = -ENOSYS;
	}
	return len;
}

char *guest_string(struct guest *g, uint64_t addr, uint64_t max)
{
	uint64_t len = string_length(g, addr, max);

	/* With the zero byte, which is looked at as well, if it is one of the @max. */
	return (char *)guest_bytes(g, addr, len < max ? len + 1 : len);
}

/* Where, how much or what is written is decided by something that is assumed. */
static void suppose(struct guest *g, uint64_t len)
{
	if (len && g->quality == VALUE_ASSUMED)
		value_machine_suppose(g->machine);
}

/* Says of @len bytes at @to what they are worth, by @q, and which of their bits are exact. */
static void copy_worth(struct guest *g, uint64_t to, uint8_t *q, const uint8_t *bits, uint64_t len)
{
	for (uint64_t i = 0; i < len; i++)
		q[i] = q[i] > g->quality ? q[i] : g->quality;
	g->err = value_memory_write_qualities(g->memory, to, q, len);
	if (!g->err && !g->quality)
		value_memory_write_bits(g->memory, to, bits, len);
}

static bool is_all_exact(const uint8_t *q, uint64_t len)
{
	uint8_t any = 0;
	for (uint64_t i = 0; i < len; i++)
		any |= q[i];
	return !any;
}

void guest_copy(struct guest *g, uint64_t to, uint64_t from, uint64_t len)
{
	uint8_t *bytes = NULL;
	bool exact = false; /* what is, and is said to be so, costs nothing */

	suppose(g, len);
	if (!g->err && len > GUEST_MAX_BYTES)
		g->err = -ENOSYS;
	if (!g->err && len && !(bytes = malloc(3 * len)))
		g->err = -ENOMEM;
	if (!g->err && len)
		g->err = value_memory_read(g->memory, from, bytes, len, NULL);
	if (!g->err && len)
		g->err = value_memory_read_qualities(g->memory, from, bytes + len, len);
	if (!g->err && len)
		exact = !g->quality && is_all_exact(bytes + len, len);
	if (!g->err && len && !exact)
		g->err = value_memory_read_bits(g->memory, from, bytes + 2 * len, len);
	if (!g->err && len)
		g->err = value_memory_write(g->memory, to, bytes, len, VALUE_EXACT);
	if (!g->err && len && !exact)
		copy_worth(g, to, bytes + len, bytes + 2 * len, len);
	free(bytes);
}

void guest_write(struct guest *g, uint64_t to, const void *bytes, uint64_t len)
{
	suppose(g, len);
	if (!g->err && len)
		g->err = value_memory_write(g->memory, to, bytes, len, g->quality);
}

void guest_fill(struct guest *g, uint64_t to, uint8_t byte, uint64_t len)
{
	uint8_t bytes[VALUE_PAGE];

	memset(bytes, byte, sizeof(bytes));
	if (!g->err && len > GUEST_MAX_BYTES)
		g->err = -ENOSYS;
	for (uint64_t done = 0, n; !g->err && done < len; done += n) {
		n = len - done < sizeof(bytes) ? len - done : sizeof(bytes);
		guest_write(g, to + done, bytes, n);
	}
}

double guest_double(struct guest *g, unsigned reg)
{
	const struct value_known *known = value_machine_known(g->machine);
	uint8_t quality = VALUE_EXACT;
	double v;

	if (known->inexact >> (VALUE_BIT_VEC + reg) & 1)
		for (int i = 0; i < 8; i++)
			if (known->vec[reg][i] > quality)
				quality = known->vec[reg][i];
	worsen(g, quality);
	memcpy(&v, value_machine_state(g->machine)->vec[reg], sizeof(v));
	return v;
}

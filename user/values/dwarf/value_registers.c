// SPDX-License-Identifier: LGPL-2.1-or-later
/* value_registers.c: see value_registers.h. */
#include "user/values/dwarf/value_registers.h"

#include <string.h>

/* From the DWARF number to that of the encoding. */
static const uint8_t encoded[DWARF_GENERAL] = {0, 2, 1,	 3,  6,	 7,  5,	 4,
					       8, 9, 10, 11, 12, 13, 14, 15};

unsigned value_registers_encoded(uint64_t number)
{
	return number < DWARF_GENERAL ? encoded[number] : (unsigned)(number - DWARF_XMM0);
}

static void take(struct value_bytes *out, const void *bytes, unsigned len, const uint8_t *quality)
{
	memcpy(out->bytes, bytes, len);
	if (quality)
		memcpy(out->quality, quality, len);
	out->len = len;
}

static bool of_machine(struct value_machine *m, uint64_t number, struct value_bytes *out)
{
	const struct value_state *s = value_machine_state(m);
	const struct value_known *k = value_machine_known(m);

	if (number < DWARF_GENERAL) {
		unsigned r = encoded[number];

		take(out, &s->gpr[r], 8, k->inexact >> r & 1 ? k->gpr[r] : NULL);
		out->reg = 1 + r;
	} else if (number >= DWARF_XMM0 && number < DWARF_XMM0 + DWARF_VECTORS) {
		unsigned r = number - DWARF_XMM0;

		take(out, s->vec[r], 16, k->inexact >> (VALUE_BIT_VEC + r) & 1 ? k->vec[r] : NULL);
		out->reg = 1 + 16 + r;
	} else if (number >= DWARF_ST0 && number < DWARF_ST0 + DWARF_STACK) {
		uint8_t quality[16];

		memset(quality, k->inexact >> VALUE_BIT_X87 & 1 ? k->x87 : 0, sizeof(quality));
		take(out, s->fx + 32 + 16 * (number - DWARF_ST0), 16, quality);
	} else {
		return false;
	}
	/* All rests on a branch that was assumed. */
	for (unsigned i = 0; value_machine_memory(m)->on_supposition && i < out->len; i++)
		out->quality[i] = out->quality[i] ? out->quality[i] : VALUE_ASSUMED;
	return true;
}

bool value_registers_read(const struct value_registers *r, uint64_t number, struct value_bytes *out)
{
	*out = (struct value_bytes){.place = VALUE_IN_REGISTER};
	if (!r->caller)
		return of_machine(r->m, number, out);
	if (number >= DWARF_GENERAL)
		return false;
	uint8_t quality[8];
	memset(quality, r->quality[number], sizeof(quality));
	take(out, &r->general[number], 8, quality);
	return true;
}

uint64_t value_registers_number(const struct value_registers *r, uint64_t number, uint8_t *quality)
{
	struct value_bytes v;
	uint64_t out = 0;

	*quality = VALUE_UNKNOWN;
	if (number < DWARF_GENERAL && value_registers_read(r, number, &v))
		*quality = value_bytes_read(&v, NULL, 0, &out, 8);
	return out;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* data_hints.c: words of data that may be addresses of functions, and that elf_relocs.c does not
 * take for such. Only what leads to the very entry of a function that is known already counts.
 *
 *   a word of 8 bytes that is not aligned, or one of 4        (where the file has a fixed address)
 *   32-bit offsets from the table's begin, which code names   .long f - table, g - table
 *   32-bit offsets from where each of them lies               .long f - ., g - .
 *   32-bit offsets from where the file begins                 .long f - __ehdr_start, ...
 *
 * Offsets may be of 64 bits, or members of structures: then they come every 8, 12 or 16 bytes. Code
 * names few tables, so one offset from there is enough if the table begins with it; elsewhere
 * several in a row have to lead to functions, since anything may be such a number. */
#include "offline/code/builder.h"
#include "offline/code/maybe_taken.h"

#include <errno.h>
#include <string.h>

enum { WORD = 4, MAX_STRIDE = 16, RUN_PLACE = 2, RUN_BASE = 3 };

struct hints {
	struct builder *b;
	struct rankmap entries; /* of functions; bits only */
	uint64_t base;
};

static bool is_entry(const struct hints *h, uint64_t addr)
{
	return in_text(h->b, addr) && rankmap_has(&h->entries, addr - h->b->text_addr);
}

static void hint(struct hints *h, uint64_t addr)
{
	struct pugmark_func *f = &h->b->funcs.at[builder_func_starting(h->b, addr)];
	if (!(f->flags & PUGMARK_FUNC_ADDRESS_TAKEN))
		f->flags |= PUGMARK_FUNC_MAYBE_TAKEN;
}

static uint64_t word_at(const uint8_t *bytes, uint64_t n)
{
	uint64_t value = 0;
	memcpy(&value, bytes, n);
	return value;
}

/* A 32-bit offset: it counts up or down. */
static uint64_t offset_at(const uint8_t *bytes)
{
	return (uint64_t)(int64_t)(int32_t)word_at(bytes, WORD);
}

static void read_addresses(struct hints *h, const struct elf_data *d)
{
	for (uint64_t at = 0; at + WORD <= d->len; at++) {
		bool is_long = (d->addr + at) % 8 && at + 8 <= d->len;
		uint64_t value = word_at(d->bytes + at, WORD);
		if (is_entry(h, value))
			hint(h, value);
		value = is_long ? word_at(d->bytes + at, 8) : 0;
		if (is_entry(h, value))
			hint(h, value);
	}
}

/* Whether @n words from @at on, one every @stride bytes, are offsets of functions: each from its
 * own place, or from @base. */
static bool is_run(const struct hints *h, const struct elf_data *d, uint64_t at, uint64_t stride,
		   uint64_t n, bool own_place)
{
	for (uint64_t i = 0; i < n; i++, at += stride) {
		if (at + WORD > d->len)
			return false;
		uint64_t from = own_place ? d->addr + at : h->base;
		if (!is_entry(h, from + offset_at(d->bytes + at)))
			return false;
	}
	return true;
}

static void hint_run(struct hints *h, const struct elf_data *d, uint64_t at, uint64_t n,
		     bool own_place)
{
	uint64_t from = own_place ? d->addr + at : h->base;
	if (!is_entry(h, from + offset_at(d->bytes + at)))
		return;
	for (uint64_t stride = WORD; stride <= MAX_STRIDE; stride += WORD) {
		if (!is_run(h, d, at, stride, n, own_place))
			continue;
		for (uint64_t i = 0; i < n; i++, at += stride) {
			from = own_place ? d->addr + at : h->base;
			hint(h, from + offset_at(d->bytes + at));
		}
		return;
	}
}

static void read_offsets(struct hints *h, const struct elf_data *d)
{
	for (uint64_t at = -d->addr % WORD; at + WORD <= d->len; at += WORD) {
		hint_run(h, d, at, RUN_PLACE, true);
		hint_run(h, d, at, RUN_BASE, false);
	}
}

/* The table at @table, in @d: it ends before @end, or with the first word that is neither 0 (an
 * entry without a function) nor such an offset. */
static void read_table(struct hints *h, const struct elf_data *d, uint64_t table, uint64_t end)
{
	for (uint64_t stride = WORD; stride <= MAX_STRIDE; stride += WORD) {
		uint64_t at = table - d->addr;
		bool first = stride == WORD || is_run(h, d, at, stride, RUN_PLACE, false);
		for (; first && at + WORD <= d->len && d->addr + at < end; at += stride) {
			uint64_t offset = offset_at(d->bytes + at);
			if (offset && !is_entry(h, table + offset))
				break;
			if (offset)
				hint(h, table + offset);
		}
	}
}

static void read_tables(struct hints *h, const struct elf_data *d)
{
	uint32_t n = h->b->data_refs.n;
	const uint64_t *refs = h->b->data_refs.at;
	uint64_t base = h->base;
	for (uint32_t i = 0; i < n; i++) {
		if (refs[i] < d->addr || refs[i] - d->addr >= d->len)
			continue;
		h->base = refs[i];
		read_table(h, d, refs[i], i + 1 < n ? refs[i + 1] : UINT64_MAX);
	}
	h->base = base;
}

int data_hints_find(struct builder *b)
{
	struct hints h = {.b = b, .base = elf_image_base(b->image)};
	if (!rankmap_init(&h.entries, b->text_end - b->text_addr + 1)) {
		rankmap_deinit(&h.entries);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < b->funcs.n; i++)
		rankmap_set(&h.entries, b->funcs.at[i].addr - b->text_addr);
	b->data_refs.n = sort_unique(b->data_refs.at, b->data_refs.n);
	uint64_t budget = elf_image_data_budget(b->image);
	struct elf_data d;
	for (uint32_t i = 0; elf_image_data(b->image, i, &d); i++) {
		if (d.len > budget)
			continue;
		budget -= d.len;
		if (!elf_image_is_pie(b->image))
			read_addresses(&h, &d);
		read_offsets(&h, &d);
		read_tables(&h, &d);
	}
	rankmap_deinit(&h.entries);
	return 0;
}

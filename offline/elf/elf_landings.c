// SPDX-License-Identifier: LGPL-2.1-or-later
/* elf_landings.c: the landing pads of .gcc_except_table. Of each function's language-specific data
 * only the call-site table is read (Itanium C++ ABI, exception handling, "LSDA"; every gcc and
 * clang language uses it): which calls unwind to which pad. Actions and types are left alone.
 *
 *   @LPStart encoding, [@LPStart], @TType encoding, [ULEB128 offset], call-site encoding,
 *   ULEB128 length, then records (start, length, landing pad, ULEB128 action) relative to the FDE's
 *   start, landing pads to @LPStart, which is the FDE's start unless given. */
#include "offline/elf/elf_parts.h"

#include <errno.h>
#include <inttypes.h>

#include "offline/elf/elf_cursor.h"

struct damage {
	uint32_t bad, stray;
	uint64_t first_bad, first_stray;
};

/* Cuts @c to the call-site table, and tells the records' encoding and where pads count from. */
static void read_header(struct elf_cursor *c, const struct elf_fde *fde, uint8_t *encoding,
			uint64_t *pad_base)
{
	uint8_t base_encoding = elf_read_u8(c);
	*pad_base = fde->addr;
	if (base_encoding != PE_OMIT)
		*pad_base = elf_read_pointer(c, base_encoding, 0, fde->addr);
	if (elf_read_u8(c) != PE_OMIT)
		elf_read_uleb(c);
	*encoding = elf_read_u8(c);
	uint64_t len = elf_read_uleb(c);
	if (len > elf_cursor_left(c))
		c->bad = true;
	else
		c->end = c->at + len;
}

/* The landing pads of @fde; returns false when there is no memory. */
static bool read_lsda(struct elf_image *image, const struct elf_fde *fde, struct elf_cursor *c,
		      struct damage *damage)
{
	uint8_t encoding = PE_OMIT;
	uint64_t pad_base;
	read_header(c, fde, &encoding, &pad_base);
	while (elf_cursor_left(c) && !c->bad) {
		uint64_t start = elf_read_format(c, encoding);
		uint64_t len = elf_read_format(c, encoding);
		uint64_t pad = elf_read_format(c, encoding);
		elf_read_uleb(c);
		if (c->bad || !elf_range_inside(start, len, fde->end - fde->addr)) {
			c->bad = true;
			break;
		}
		if (!pad || !len)
			continue;
		if (elf_code_at(image, pad_base + pad) == PUGMARK_NONE) {
			if (!damage->stray++)
				damage->first_stray = pad_base + pad;
			continue;
		}
		if (!elf_room(&image->landings, image->n_landings, sizeof(*image->landings)))
			return false;
		image->landings[image->n_landings++] =
			(struct elf_landing){.addr = fde->addr + start,
					     .end = fde->addr + start + len,
					     .pad = pad_base + pad};
	}
	if (c->bad && !damage->bad++)
		damage->first_bad = fde->lsda;
	return true;
}

static int by_landing_addr(const void *a, const void *b)
{
	const struct elf_landing *x = a, *y = b;
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->pad < y->pad ? -1 : x->pad > y->pad;
}

void elf_sort_landings(struct elf_image *image)
{
	if (image->n_landings)
		qsort(image->landings, image->n_landings, sizeof(*image->landings),
		      by_landing_addr);
}

int elf_read_landings(struct elf_image *image)
{
	struct damage damage = {0};
	/* LSDAs do not overlap, so together they are no longer than the file. */
	uint64_t budget = image->file.size;
	for (uint32_t i = 0; i < image->n_fdes; i++) {
		const struct elf_fde *fde = &image->fdes[i];
		if (!fde->lsda)
			continue;
		uint64_t len = UINT64_MAX;
		const uint8_t *bytes = elf_bytes_cut(image, fde->lsda, &len);
		if (!bytes) {
			if (!damage.bad++)
				damage.first_bad = fde->lsda;
			continue;
		}
		struct elf_cursor c = elf_cursor_new(bytes, len, fde->lsda);
		if (!read_lsda(image, fde, &c, &damage))
			return -ENOMEM;
		uint64_t used = c.at - c.start;
		if (used > budget) {
			elf_note(&image->file,
				 "exception tables overlap: those from address %#" PRIx64
				 " on left out",
				 fde->addr);
			break;
		}
		budget -= used;
	}
	if (damage.bad)
		elf_note(&image->file,
			 "%u damaged exception tables cut short, the first at address %#" PRIx64,
			 damage.bad, damage.first_bad);
	if (damage.stray)
		elf_note(&image->file,
			 "%u landing pads outside executable code left out, the first %#" PRIx64,
			 damage.stray, damage.first_stray);
	elf_sort_landings(image);
	return 0;
}

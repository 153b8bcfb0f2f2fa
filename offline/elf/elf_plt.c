// SPDX-License-Identifier: LGPL-2.1-or-later
/* elf_plt.c: finds PLT stubs by their bytes: at an address that is a multiple of 8,
 *
 *   [endbr64] [mov $N, %r11d] [bnd] jmp *SLOT(%rip)	SLOT: a GOT slot that a relocation fills
 *
 * with which all of .plt, .plt.sec, .plt.got and .iplt of ld, gold, lld and mold begin. Elsewhere
 * the same bytes are a tail call; so only sections of those names are looked through. Where there
 * are none, or no names, a part that one FDE covers counts as a PLT if it is nothing but stubs, and
 * so do stubs that no FDE covers; then the code is split there. */
#include "offline/elf/elf_parts.h"

#include <errno.h>

#define STUB_STEP 8
#define PLT0_LEN 16

struct stub {
	uint64_t slot; /* address of its GOT slot, 0 where there is no stub */
	uint32_t len;  /* with what fills it up */
};

struct ranges {
	struct elf_code *at; /* addr and end alone are used */
	uint32_t n;
};

static bool starts_with(const uint8_t *bytes, uint64_t len, const char *prefix, size_t prefix_len)
{
	return len >= prefix_len && !memcmp(bytes, prefix, prefix_len);
}

/* The stub at @bytes, as far as bytes tell. */
static struct stub decode_stub(const uint8_t *bytes, uint64_t len, uint64_t addr)
{
	uint64_t at = 0;
	if (starts_with(bytes, len, "\xf3\x0f\x1e\xfa", 4)) /* endbr64 */
		at = 4;
	if (starts_with(bytes + at, len - at, "\x41\xbb", 2) && len - at > 6) /* mov */
		at += 6;
	if (starts_with(bytes + at, len - at, "\xf2", 1)) /* bnd */
		at++;
	if (len - at < 6 || !starts_with(bytes + at, len - at, "\xff\x25", 2)) /* jmp */
		return (struct stub){0};
	int32_t displacement;
	memcpy(&displacement, bytes + at + 2, sizeof(displacement));
	at += 6;
	bool pushes = at < len && bytes[at] == 0x68; /* the lazy half of .plt */
	return (struct stub){.slot = addr + at + (uint64_t)(int64_t)displacement,
			     .len = at > STUB_STEP || pushes ? 16 : 8};
}

/* Whether @bytes are push *8+GOT(%rip); [bnd] jmp *16+GOT(%rip). */
static bool is_plt0(const uint8_t *bytes, uint64_t len)
{
	return len >= PLT0_LEN && starts_with(bytes, len, "\xff\x35", 2) &&
	       (starts_with(bytes + 6, 2, "\xff\x25", 2) ||
		starts_with(bytes + 6, 3, "\xf2\xff\x25", 3));
}

/* The stub at @addr in @code whose slot is known. */
static struct stub stub_at(const struct elf_image *image, const struct elf_code *code,
			   uint64_t addr)
{
	struct stub stub = decode_stub(code->bytes + (addr - code->addr), code->end - addr, addr);
	if (stub.slot && !elf_got_at(image, stub.slot))
		stub.slot = 0;
	return stub;
}

/* Appends the stubs of @code to the places; false when there is no memory. */
static bool find_stubs(struct elf_image *image, const struct elf_code *code)
{
	for (uint64_t at = -code->addr & (STUB_STEP - 1); at < code->end - code->addr;
	     at += STUB_STEP) {
		uint64_t addr = code->addr + at;
		struct stub stub = stub_at(image, code, addr);
		if (!stub.slot)
			continue;
		struct elf_got_slot *slot = elf_got_at(image, stub.slot);
		if (!elf_room(&image->import_places, image->n_import_places,
			      sizeof(*image->import_places)))
			return false;
		image->import_places[image->n_import_places++] =
			(struct elf_import_place){.addr = addr, .slot = stub.slot};
		if (!slot->stub)
			slot->stub = addr;
	}
	return true;
}

/* The end of the row of stubs that starts at @addr, may start with PLT0 and goes on to @limit (the
 * end of @code or before) at most; @addr if it is none. */
static uint64_t row_end(const struct elf_image *image, const struct elf_code *code, uint64_t addr,
			uint64_t limit)
{
	uint64_t at = addr;
	if (is_plt0(code->bytes + (addr - code->addr), limit - addr))
		at += PLT0_LEN;
	uint64_t first = at;
	while (at < limit) {
		struct stub stub = stub_at(image, code, at);
		if (!stub.slot)
			break;
		at += stub.len < limit - at ? stub.len : limit - at;
	}
	return at > first ? at : addr;
}

static bool add_range(struct ranges *ranges, uint64_t addr, uint64_t end)
{
	if (!elf_room(&ranges->at, ranges->n, sizeof(*ranges->at)))
		return false;
	ranges->at[ranges->n++] = (struct elf_code){.addr = addr, .end = end, .plt = true};
	return true;
}

/* Finds the PLTs inside @code, where no section names tell; false when there is no memory. */
static bool find_ranges(const struct elf_image *image, const struct elf_code *code,
			struct ranges *ranges)
{
	uint32_t fde = 0;
	for (uint64_t addr = code->addr + (-code->addr & (STUB_STEP - 1)); addr < code->end;) {
		while (fde < image->n_fdes && image->fdes[fde].end <= addr)
			fde++;
		const struct elf_fde *f = fde < image->n_fdes ? &image->fdes[fde] : NULL;
		bool covered = f && f->addr <= addr;
		uint64_t end = addr, limit = !f ? code->end : covered ? f->end : f->addr;
		if (limit > code->end)
			limit = code->end;
		if (!covered || f->addr == addr)
			end = row_end(image, code, addr, limit);
		if (end > addr && (!covered || end == f->end)) {
			if (!add_range(ranges, addr, end))
				return false;
			addr = end;
		} else {
			addr = covered ? limit : addr + STUB_STEP;
		}
		addr += -addr & (STUB_STEP - 1);
	}
	return true;
}

/* Splits the code so that each of @ranges is a piece of its own. */
static bool split_code(struct elf_image *image, const struct ranges *ranges)
{
	uint32_t n = 0, next = 0;
	struct elf_code *pieces = NULL;
	for (uint32_t i = 0; i < image->n_code; i++) {
		const struct elf_code *code = &image->code[i];
		uint64_t addr = code->addr;
		while (addr < code->end) {
			bool inside = next < ranges->n && ranges->at[next].addr < code->end;
			bool plt = inside && ranges->at[next].addr == addr;
			uint64_t end = plt	? ranges->at[next++].end
				       : inside ? ranges->at[next].addr
						: code->end;
			if (!elf_room(&pieces, n, sizeof(*pieces))) {
				free(pieces);
				return false;
			}
			pieces[n++] = (struct elf_code){.addr = addr,
							.end = end,
							.bytes = code->bytes + (addr - code->addr),
							.plt = plt};
			addr = end;
		}
	}
	free(image->code);
	image->code = pieces;
	image->n_code = n;
	return true;
}

int elf_read_plt(struct elf_image *image)
{
	bool named = false, ok = true;
	for (uint32_t i = 0; i < image->n_code; i++)
		named |= image->code[i].plt;
	if (!named && image->n_got) {
		struct ranges ranges = {0};
		for (uint32_t i = 0; i < image->n_code && ok; i++)
			ok = find_ranges(image, &image->code[i], &ranges);
		ok = ok && split_code(image, &ranges);
		free(ranges.at);
	}
	for (uint32_t i = 0; i < image->n_code && ok; i++)
		ok = !image->code[i].plt || find_stubs(image, &image->code[i]);
	return ok ? 0 : -ENOMEM;
}

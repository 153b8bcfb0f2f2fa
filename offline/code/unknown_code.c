// SPDX-License-Identifier: LGPL-2.1-or-later
/* unknown_code.c: see unknown_code.h. Nothing that the model reads leads to such bytes, and nothing
 * describes them, so that no probe may stand there: they may be data. But they read as instructions
 * from where they begin up to one that ends a function, or up to a function's begin: a program that
 * computes the address may run them. What an assembler fills up with, and zeroes, are not told. */
#include "offline/code/unknown_code.h"

#include "offline/base/search.h"

#include <errno.h>
#include <stdlib.h>

enum { MAX_RANGES = 1 << 22 };

typedef VEC(struct pugmark_range) ranges;

/* Where the free range that begins at @addr ends: at the next part or FDE, or with the section. */
static uint64_t free_end(const struct builder *b, const struct elf_code *code, uint64_t addr)
{
	uint32_t n;
	const struct elf_fde *fdes = elf_image_fdes(b->image, &n);
	uint32_t part = SEARCH_FIRST_NOT(0, b->parts.n, i, b->parts.at[i].addr < addr);
	uint32_t fde = SEARCH_FIRST_NOT(0, n, i, fdes[i].addr < addr);
	uint64_t end = code->end;
	if (part < b->parts.n && b->parts.at[part].addr < end)
		end = b->parts.at[part].addr;
	if (fde < n && fdes[fde].addr < end)
		end = fdes[fde].addr;
	return end;
}

/* Where the part or the FDE that holds @addr ends; @addr: there is none. */
static uint64_t taken_end(const struct builder *b, uint64_t addr)
{
	uint32_t n, part = builder_part_at(b, addr);
	const struct elf_fde *fdes = elf_image_fdes(b->image, &n);
	uint32_t fde = SEARCH_FIRST_NOT(0, n, i, fdes[i].addr <= addr);
	if (part != PUGMARK_NONE)
		return b->parts.at[part].end;
	return fde && addr < fdes[fde - 1].end ? fdes[fde - 1].end : addr;
}

static uint32_t decoded(const struct builder *b, const struct elf_code *code, uint64_t addr,
			uint64_t end, struct pugmark_insn *insn)
{
	struct decoded_refs refs;
	*insn = (struct pugmark_insn){0};
	if (!decode_insn(&b->decoder, code->bytes + (addr - code->addr), end - addr, addr, insn,
			 &refs))
		return 0;
	return insn->len;
}

static bool is_filling(const struct builder *b, const struct elf_code *code, uint64_t addr)
{
	return !code->bytes[addr - code->addr] || builder_is_padding(b, addr);
}

/* The free range from @first to @end, and a bit for each of its bytes: 1: instructions have been
 * read from there and led to no end, or are being read. What follows an address does not depend on
 * how it was reached, so that none is read from twice in vain: else the time would be the square of
 * the bytes. */
struct free_range {
	const struct elf_code *code;
	uint64_t first, end;
	uint8_t *tried;
};

/* Notes that @addr is tried. False: it has been. */
static bool is_new(const struct free_range *f, uint64_t addr)
{
	uint64_t at = addr - f->first;
	bool tried = f->tried[at / 8] >> at % 8 & 1;
	f->tried[at / 8] |= (uint8_t)(1 << at % 8);
	return !tried;
}

/* Where the instructions from @addr on end a function, or run into what begins behind the range; 0:
 * they do neither. */
static uint64_t code_end(const struct builder *b, const struct free_range *f, uint64_t addr)
{
	const struct elf_code *code = f->code;
	struct pugmark_insn insn;
	for (uint32_t len; addr < f->end; addr += len) {
		const uint8_t *bytes = code->bytes + (addr - code->addr);
		len = is_new(f, addr) ? decoded(b, code, addr, f->end, &insn) : 0;
		if (!len || (len > 1 && !bytes[0] && !bytes[1]))
			return 0;
		if (insn.kind == PUGMARK_INSN_RET || insn.kind == PUGMARK_INSN_JMP ||
		    insn.kind == PUGMARK_INSN_JMP_IND || insn.kind == PUGMARK_INSN_TRAP)
			return addr + len;
	}
	return f->end < code->end ? f->end : 0;
}

static int add(ranges *r, uint64_t addr, uint64_t end)
{
	struct pugmark_range *last = r->n ? &r->at[r->n - 1] : NULL;
	if (last && (last->end == addr || r->n == MAX_RANGES)) {
		last->end = end;
		return 0;
	}
	return VEC_PUSH(r, (struct pugmark_range){addr, end}) ? 0 : -ENOMEM;
}

static int search_free(const struct builder *b, const struct elf_code *code, uint64_t addr,
		       uint64_t end, ranges *r)
{
	struct free_range f = {code, addr, end, calloc((end - addr + 7) / 8, 1)};
	struct pugmark_insn insn;
	int err = f.tried ? 0 : -ENOMEM;
	while (addr < end && !err) {
		uint64_t to = is_filling(b, code, addr) ? 0 : code_end(b, &f, addr);
		if (to) {
			err = add(r, addr, to);
			addr = to;
			continue;
		}
		/* A nop of several bytes is passed as one: what it ends with is no instruction. */
		bool nop = code->bytes[addr - code->addr] && is_filling(b, code, addr);
		uint32_t len = nop ? decoded(b, code, addr, end, &insn) : 0;
		addr += len ? len : 1;
	}
	free(f.tried);
	return err;
}

int unknown_code_find(const struct builder *b, struct pugmark_range **out, uint32_t *n)
{
	ranges r = {0};
	int err = 0;
	for (uint32_t i = 0; i < b->n_codes; i++) {
		const struct elf_code *code = &b->codes[i];
		for (uint64_t at = code->addr; at < code->end && !code->plt && !err;) {
			uint64_t taken = taken_end(b, at);
			uint64_t end = taken > at ? taken : free_end(b, code, at);
			if (taken == at)
				err = search_free(b, code, at, end, &r);
			at = end;
		}
	}
	if (err) {
		VEC_FREE(&r);
		return err;
	}
	*out = r.at;
	*n = r.n;
	return 0;
}

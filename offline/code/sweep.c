// SPDX-License-Identifier: LGPL-2.1-or-later
/* sweep.c: decodes every FDE from end to end, once, and notes what its instructions name: addresses
 * in code (which may be called through a pointer) and places in data (which end the jump table
 * before them). Code without an FDE is left to undescribed_code.c. */
#include "offline/code/builder.h"

#include <errno.h>

/* A span of code this wide has no 32-bit jumps across it and is no module of ours. */
#define MAX_SPAN (UINT64_C(1) << 31)

static int find_span(struct builder *b)
{
	b->codes = elf_image_code(b->image, &b->n_codes);
	for (uint32_t i = 0; i < b->n_codes; i++) {
		if (!i || b->codes[i].addr < b->text_addr)
			b->text_addr = b->codes[i].addr;
		if (!i || b->codes[i].end > b->text_end)
			b->text_end = b->codes[i].end;
		const struct elf_code *most = &b->codes[b->main_code];
		if (b->codes[i].end - b->codes[i].addr > most->end - most->addr)
			b->main_code = i;
	}
	if (b->text_end - b->text_addr > MAX_SPAN)
		return -EFBIG;
	uint64_t span = b->text_end - b->text_addr + 1;
	bool ok = rankmap_init(&b->starts, span) && rankmap_init(&b->leaders, span) &&
		  rankmap_init(&b->taken, span) && rankmap_init(&b->noreturn, span) &&
		  rankmap_init(&b->returns_twice, span);
	return ok ? 0 : -ENOMEM;
}

int sweep_note_refs(struct builder *b, const struct decoded_refs *refs)
{
	const uint64_t named[] = {refs->place, refs->pointer};
	for (int i = 0; i < 2; i++) {
		bool code = in_text(b, named[i]);
		if (code && named[i] == refs->pointer)
			rankmap_set(&b->taken, named[i] - b->text_addr);
		else if (named[i] && !code && !VEC_PUSH(&b->data_refs, named[i]))
			return -ENOMEM;
	}
	return 0;
}

/* Decodes [addr, end); a byte that begins no instruction is skipped and belongs to none. */
static int sweep_range(struct builder *b, const struct elf_code *code, uint64_t addr, uint64_t end)
{
	while (addr < end) {
		struct pugmark_insn insn = {.off = (uint32_t)(addr - b->text_addr)};
		struct decoded_refs refs;
		if (!decode_insn(&b->decoder, code->bytes + (addr - code->addr), end - addr, addr,
				 &insn, &refs)) {
			addr++;
			continue;
		}
		if (!VEC_PUSH(&b->insns, insn) || sweep_note_refs(b, &refs))
			return -ENOMEM;
		rankmap_set(&b->starts, insn.off);
		addr += insn.len;
	}
	return 0;
}

static int add_rows(struct builder *b, uint32_t fde_index)
{
	uint32_t room = 64;
	for (;;) {
		if (!VEC_RESERVE(&b->rows, room))
			return -ENOMEM;
		uint32_t n = elf_image_cfa_rows(b->image, fde_index, b->rows.at + b->rows.n, room);
		if (n <= room) {
			b->rows.n += n;
			return 0;
		}
		room = n;
	}
}

static void add_code_pointers(struct builder *b)
{
	uint32_t n;
	const uint64_t *pointers = elf_image_code_pointers(b->image, &n);
	for (uint32_t i = 0; i < n; i++)
		if (in_text(b, pointers[i]))
			rankmap_set(&b->taken, pointers[i] - b->text_addr);
}

int sweep_merge(struct builder *b, const struct pugmark_insn *more, uint32_t n_more)
{
	if (!VEC_RESERVE(&b->insns, n_more))
		return -ENOMEM;
	struct pugmark_insn *at = b->insns.at;
	for (uint32_t i = 0; i < n_more; i++)
		rankmap_set(&b->starts, more[i].off);
	rankmap_finish(&b->starts);
	if (rankmap_index(&b->starts, b->starts.n_bits) != b->insns.n + n_more)
		return -EBADMSG; /* two at one place */
	/* Each one's place is its rank; from the back, since none moves to the front. */
	for (uint32_t i = b->insns.n; n_more && i-- > 0;)
		at[rankmap_index(&b->starts, at[i].off)] = at[i];
	for (uint32_t i = 0; i < n_more; i++)
		at[rankmap_index(&b->starts, more[i].off)] = more[i];
	b->insns.n += n_more;
	return 0;
}

/* The instruction that contains @target right behind its lock or rep prefix; or NONE. */
static uint32_t prefix_jumped_over(const struct builder *b, uint64_t target)
{
	if (!in_text(b, target) || is_insn_start(b, target) || !is_insn_start(b, target - 1))
		return PUGMARK_NONE;
	uint32_t insn = insn_at(b, target - 1);
	uint8_t byte = *builder_insn_bytes(b, insn);
	bool prefix = byte == 0xf0 || byte == 0xf2 || byte == 0xf3;
	return prefix && b->insns.at[insn].len > 1 ? insn : PUGMARK_NONE;
}

/* Splits instructions where a jump skips their lock or rep prefix: the prefix becomes an
 * instruction of its own, which cannot be probed. So blocks never overlap. */
static int split_prefixes(struct builder *b)
{
	VEC(struct pugmark_insn) rests = {0};
	int err = 0;
	for (uint32_t i = 0; i < b->insns.n && !err; i++) {
		if (!insn_is_direct_jump(&b->insns.at[i]))
			continue;
		uint64_t target = builder_insn_target(b, i);
		uint32_t over = prefix_jumped_over(b, target);
		if (over == PUGMARK_NONE)
			continue;
		struct pugmark_insn *whole = &b->insns.at[over];
		struct pugmark_insn rest = {.off = whole->off + 1};
		struct decoded_refs refs;
		if (!decode_insn(&b->decoder, builder_insn_bytes(b, over) + 1, whole->len - 1,
				 target, &rest, &refs) ||
		    rest.len != whole->len - 1)
			continue;
		whole->len = 1;
		whole->kind = PUGMARK_INSN_OTHER;
		whole->probe = PUGMARK_PROBE_REFUSED;
		if (!VEC_PUSH(&rests, rest))
			err = -ENOMEM;
	}
	if (!err && rests.n)
		err = sweep_merge(b, rests.at, rests.n);
	VEC_FREE(&rests);
	return err;
}

int sweep_code(struct builder *b)
{
	int err = find_span(b);
	uint32_t n_fdes, code = 0;
	const struct elf_fde *fdes = elf_image_fdes(b->image, &n_fdes);
	for (uint32_t i = 0; i < n_fdes && !err; i++) {
		while (code < b->n_codes && b->codes[code].end <= fdes[i].addr)
			code++;
		if (code == b->n_codes)
			break;
		uint64_t end = fdes[i].end < b->codes[code].end ? fdes[i].end : b->codes[code].end;
		if (fdes[i].addr < b->codes[code].addr || b->codes[code].plt)
			continue;
		err = sweep_range(b, &b->codes[code], builder_fde_start(b, &fdes[i]), end);
		if (!err)
			err = add_rows(b, fdes[i].index);
	}
	if (!err)
		err = thunk_rows_correct(b);
	if (err)
		return err;
	ADDR_INDEX_MAKE(&b->row_index, b->rows.n, i, b->rows.at[i].addr);
	add_code_pointers(b);
	rankmap_finish(&b->starts);
	return split_prefixes(b);
}

int sweep_transfers(struct builder *b)
{
	for (uint32_t i = 0; i < b->insns.n; i++) {
		const struct pugmark_insn *insn = &b->insns.at[i];
		bool jump = insn_is_direct_jump(insn);
		uint8_t reg;
		if (!jump && (insn->kind != PUGMARK_INSN_CALL ||
			      builder_calls_register(b, insn_addr(b, i), &reg)))
			continue;
		uint64_t target = builder_insn_target(b, i);
		if (!is_insn_start(b, target))
			continue;
		if (!VEC_PUSH(&b->transfers, (struct transfer){i, insn_at(b, target)}))
			return -ENOMEM;
		if (jump)
			rankmap_set(&b->leaders, target - b->text_addr);
	}
	return 0;
}

void sweep_refuse(struct builder *b, uint64_t addr, uint32_t len)
{
	enum { LONGEST = 15 };
	for (uint32_t i = insn_at(b, addr - LONGEST + 1);
	     i < b->insns.n && insn_addr(b, i) < addr + len; i++)
		if (insn_addr(b, i) + b->insns.at[i].len > addr)
			b->insns.at[i].probe = PUGMARK_PROBE_REFUSED;
}

void sweep_refuse_patched(struct builder *b)
{
	enum { PATCH = 8 }; /* bytes of a relocation */
	uint32_t n;
	const uint64_t *patched = elf_image_patched(b->image, &n);
	for (uint32_t i = 0; i < n; i++)
		sweep_refuse(b, patched[i], PATCH);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* builder.c: lookups that the passes over a module share. */
#include "offline/code/builder.h"

#include "offline/base/search.h"
#include "offline/base/sort.h"

#include <string.h>

const struct elf_code *builder_code_at(const struct builder *b, uint64_t addr)
{
	uint32_t low = 0, high = b->n_codes;
	const struct elf_code *main_code = &b->codes[b->main_code];
	if (high && addr >= main_code->addr && addr < main_code->end)
		return main_code;
	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		if (addr < b->codes[mid].addr)
			high = mid;
		else if (addr >= b->codes[mid].end)
			low = mid + 1;
		else
			return &b->codes[mid];
	}
	return NULL;
}

const uint8_t *builder_insn_bytes(const struct builder *b, uint32_t insn)
{
	uint64_t addr = insn_addr(b, insn);
	const struct elf_code *code = builder_code_at(b, addr);
	return code->bytes + (addr - code->addr);
}

static bool pushes_register(const uint8_t *bytes, uint8_t len)
{
	return (len == 1 && (bytes[0] & 0xf8) == 0x50) ||
	       (len == 2 && bytes[0] == 0x41 && (bytes[1] & 0xf8) == 0x50);
}

static bool jumps_by_register(const uint8_t *bytes, uint8_t len)
{
	return (len == 2 && bytes[0] == 0xff && bytes[1] >= 0xe0 && bytes[1] < 0xe8) ||
	       (len == 3 && bytes[0] == 0x41 && bytes[1] == 0xff && bytes[2] >= 0xe0 &&
		bytes[2] < 0xe8);
}

static bool is_described(const struct builder *b, uint64_t addr)
{
	uint32_t n;
	const struct elf_fde *fdes = elf_image_fdes(b->image, &n);
	uint32_t low = SEARCH_FIRST_NOT(0, n, i, fdes[i].addr <= addr);
	return low && addr < fdes[low - 1].end;
}

static bool held_by_data(const struct builder *b, uint64_t addr)
{
	uint32_t n;
	const uint64_t *pointers = elf_image_code_pointers(b->image, &n);
	uint32_t low = SEARCH_FIRST_NOT(0, n, i, pointers[i] < addr);
	return low < n && pointers[low] == addr;
}

bool builder_jump_calls(const struct builder *b, uint32_t insn)
{
	const struct pugmark_insn *jump = &b->insns.at[insn], *push = jump - 1;
	uint64_t next = insn_addr(b, insn) + jump->len;
	return jump->kind == PUGMARK_INSN_JMP_IND && insn && push->off + push->len == jump->off &&
	       is_insn_start(b, next) && rankmap_has(&b->taken, next - b->text_addr) &&
	       pushes_register(builder_insn_bytes(b, insn - 1), push->len) &&
	       jumps_by_register(builder_insn_bytes(b, insn), jump->len) &&
	       !is_described(b, insn_addr(b, insn)) && !held_by_data(b, next);
}

bool builder_calls_register(const struct builder *b, uint64_t addr, uint8_t *reg)
{
	enum { CALL_BYTES = 5 };
	const struct elf_code *code = builder_code_at(b, addr);
	return code && code->end - addr >= CALL_BYTES &&
	       decode_calls_register(code->bytes + (addr - code->addr), addr - code->addr, reg);
}

uint8_t builder_flags_of(const struct builder *b, uint64_t addr)
{
	uint32_t import = elf_image_import_at(b->image, addr);
	if (import != PUGMARK_NONE)
		return b->imports[import].flags;
	if (!in_text(b, addr))
		return 0;
	uint8_t flags = rankmap_has(&b->noreturn, addr - b->text_addr) ? PUGMARK_SITE_NORETURN : 0;
	if (rankmap_has(&b->returns_twice, addr - b->text_addr))
		flags |= PUGMARK_SITE_RETURNS_TWICE;
	return flags;
}

static const struct known_callee *callee_of(const struct builder *b, uint32_t insn)
{
	uint32_t n = b->known_callees.n;
	const struct known_callee *at = b->known_callees.at;
	uint32_t low = SEARCH_FIRST_NOT(0, n, i, at[i].insn < insn);
	return low < n && at[low].insn == insn ? &at[low] : NULL;
}

uint8_t builder_known_flags(const struct builder *b, uint32_t insn)
{
	const struct known_callee *callee = callee_of(b, insn);
	return callee ? builder_flags_of(b, callee->addr) : 0;
}

uint32_t builder_known_import(const struct builder *b, uint32_t insn)
{
	const struct known_callee *callee = callee_of(b, insn);
	return callee ? elf_image_import_at(b->image, callee->addr) : PUGMARK_NONE;
}

uint32_t builder_known_func(const struct builder *b, uint32_t insn)
{
	const struct known_callee *callee = callee_of(b, insn);
	return callee ? builder_func_starting(b, callee->addr) : PUGMARK_NONE;
}

uint64_t builder_insn_target(const struct builder *b, uint32_t insn)
{
	return decode_target(&b->insns.at[insn], builder_insn_bytes(b, insn), insn_addr(b, insn));
}

uint32_t builder_part_at(const struct builder *b, uint64_t addr)
{
	uint32_t low = ADDR_INDEX_ABOVE(&b->part_index, b->parts.n, addr, i, b->parts.at[i].addr);
	if (!low || addr >= b->parts.at[low - 1].end)
		return PUGMARK_NONE;
	return low - 1;
}

uint32_t builder_func_starting(const struct builder *b, uint64_t addr)
{
	uint32_t low = !addr ? 0
			     : ADDR_INDEX_ABOVE(&b->func_index, b->funcs.n, addr - 1, i,
						b->funcs.at[i].addr);
	return low < b->funcs.n && b->funcs.at[low].addr == addr ? low : PUGMARK_NONE;
}

uint32_t builder_func_ending(const struct builder *b, uint64_t addr)
{
	uint32_t part = addr ? builder_part_at(b, addr - 1) : PUGMARK_NONE;
	bool ends = part != PUGMARK_NONE && b->parts.at[part].end == addr;
	return ends ? b->parts.at[part].func : PUGMARK_NONE;
}

struct pugmark_cfa builder_cfa_at(const struct builder *b, uint64_t addr)
{
	uint32_t low = ADDR_INDEX_ABOVE(&b->row_index, b->rows.n, addr, i, b->rows.at[i].addr);
	if (!low || addr >= b->rows.at[low - 1].end)
		return (struct pugmark_cfa){.reg = PUGMARK_CFA_UNKNOWN, .bp = PUGMARK_BP_UNKNOWN};
	return b->rows.at[low - 1].cfa;
}

uint64_t builder_fde_start(const struct builder *b, const struct elf_fde *fde)
{
	/* mov $__NR_rt_sigreturn,%rax; glibc's FDE covers the byte before it as well, because an
	 * unwinder looks up the return address minus one. */
	static const uint8_t load[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0};
	const struct elf_code *code = builder_code_at(b, fde->addr);
	if (!fde->signal || !code || code->end - fde->addr < sizeof(load) + 1)
		return fde->addr;
	const uint8_t *next = code->bytes + (fde->addr - code->addr) + 1;
	return memcmp(next, load, sizeof(load)) ? fde->addr : fde->addr + 1;
}

uint32_t sort_unique(uint64_t *at, uint32_t n)
{
	if (!n)
		return 0;
	sort_u64(at, n);
	uint32_t kept = 1;
	for (uint32_t i = 1; i < n; i++)
		if (at[i] != at[kept - 1])
			at[kept++] = at[i];
	return kept;
}

void builder_deinit(struct builder *b)
{
	rankmap_deinit(&b->starts);
	rankmap_deinit(&b->leaders);
	rankmap_deinit(&b->taken);
	rankmap_deinit(&b->noreturn);
	rankmap_deinit(&b->returns_twice);
	VEC_FREE(&b->data_refs);
	VEC_FREE(&b->insns);
	VEC_FREE(&b->rows);
	addr_index_deinit(&b->row_index);
	addr_index_deinit(&b->part_index);
	addr_index_deinit(&b->func_index);
	VEC_FREE(&b->transfers);
	VEC_FREE(&b->undescribed_starts);
	VEC_FREE(&b->split_starts);
	VEC_FREE(&b->parts);
	VEC_FREE(&b->crossings);
	VEC_FREE(&b->table_crossings);
	VEC_FREE(&b->funcs);
	VEC_FREE(&b->func_parts);
	VEC_FREE(&b->tables);
	VEC_FREE(&b->table_targets);
	VEC_FREE(&b->known_callees);
	VEC_FREE(&b->blocks);
	VEC_FREE(&b->edges);
	VEC_FREE(&b->sites);
	free(b->block_of_insn);
	free(b->table_of_insn);
}

void builder_mark_reached(struct pugmark_block *blocks, uint32_t n_blocks,
			  const struct pugmark_edge *edges, uint32_t base, uint32_t *stack)
{
	for (uint32_t i = 0; i < n_blocks; i++)
		blocks[i].flags |= PUGMARK_BLOCK_UNREACHED;
	for (uint32_t i = 0; i < n_blocks; i++) {
		bool root = !i || blocks[i].flags &
					  (PUGMARK_BLOCK_LANDING_PAD | PUGMARK_BLOCK_SETJMP_RETURN);
		if (!root || !(blocks[i].flags & PUGMARK_BLOCK_UNREACHED))
			continue;
		uint32_t n = 0;
		blocks[i].flags &= (uint8_t)~PUGMARK_BLOCK_UNREACHED;
		stack[n++] = i;
		while (n) {
			const struct pugmark_block *from = &blocks[stack[--n]];
			for (uint32_t k = 0; k < from->n_edges; k++) {
				uint32_t to = edges[from->edge + k].to - base;
				if (!(blocks[to].flags & PUGMARK_BLOCK_UNREACHED))
					continue;
				blocks[to].flags &= (uint8_t)~PUGMARK_BLOCK_UNREACHED;
				stack[n++] = to;
			}
		}
	}
}

const struct jump_table *builder_table_of(const struct builder *b, uint32_t insn)
{
	uint32_t row = b->table_of_insn ? b->table_of_insn[insn] : 0;
	return row && !b->tables.at[row - 1].stale ? &b->tables.at[row - 1] : NULL;
}

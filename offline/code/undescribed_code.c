// SPDX-License-Identifier: LGPL-2.1-or-later
/* undescribed_code.c: code that no FDE covers. Between FDEs nothing says where code ends and data
 * begins, so only what can be reached is decoded, from starts that something names: symbols, the
 * entry point, what that hands to the C library (main), the module's own imports, pointers in data,
 * direct calls and jumps, and what other such code takes the address of or jumps to by a table.
 * What only a pointer leads to may be data that lies among code, as the heads of Poly/ML's
 * functions do: such a start is kept only if what it reaches can be code, all of it. */
#include "offline/code/builder.h"
#include "offline/code/semantics.h"
#include "offline/code/undescribed_tables.h"

#include <errno.h>
#include <string.h>

enum { MAX_UNDO = 1 << 22, MAX_ALIGN = 16 };

struct start {
	uint64_t addr;
	bool guess;
};

/* An address, and the instruction that names it. */
struct named {
	uint64_t addr, by;
};

/* Bytes that read as an instruction from here, and that others cover in part. */
struct clash {
	uint64_t addr;
	uint8_t len;
};

struct gaps {
	VEC(struct start) todo;	 /* starts not walked yet */
	VEC(struct named) named; /* by code of the gaps: it may be code, or a table among it */
	VEC(uint64_t) stack;	 /* addresses of the walk */
	VEC(struct pugmark_insn) insns;
	struct rankmap covered; /* every byte that one of insns covers */
	VEC(struct clash) clashes;
	bool stray;	    /* the walk met bytes that do not decode */
	uint32_t undo_left; /* instructions of wrong guesses to take back before giving up */
};

static uint32_t fde_at(const struct elf_fde *fdes, uint32_t n, uint64_t addr, uint64_t *next)
{
	uint32_t low = 0, high = n;
	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		if (fdes[mid].addr <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	*next = low < n ? fdes[low].addr : UINT64_MAX;
	return low && addr < fdes[low - 1].end ? low - 1 : PUGMARK_NONE;
}

/* Where the gap that holds @addr ends; 0 if @addr is in no gap. */
static uint64_t gap_end(const struct builder *b, uint64_t addr)
{
	uint32_t n;
	const struct elf_fde *fdes = elf_image_fdes(b->image, &n);
	const struct elf_code *code = builder_code_at(b, addr);
	uint64_t next;
	if (!code || code->plt || fde_at(fdes, n, addr, &next) != PUGMARK_NONE)
		return 0;
	return next < code->end ? next : code->end;
}

static int add_start(struct builder *b, struct gaps *g, uint64_t addr, bool guess)
{
	if (!gap_end(b, addr))
		return 0;
	return VEC_PUSH(&g->todo, (struct start){addr, guess}) ? 0 : -ENOMEM;
}

/* Whether the bytes at @addr are those that an assembler fills up with. */
static bool is_padding(const struct builder *b, uint64_t addr)
{
	const struct elf_code *code = builder_code_at(b, addr);
	uint64_t at = code ? addr - code->addr : 0, end = code ? code->end - code->addr : 0;
	while (at < end && (code->bytes[at] == 0x66 || code->bytes[at] == 0x2e))
		at++;
	if (at >= end || code->bytes[at] == 0x90 || code->bytes[at] == 0xcc)
		return true;
	return at + 1 < end && code->bytes[at] == 0x0f && code->bytes[at + 1] == 0x1f;
}

static bool fde_ends_at(const struct builder *b, uint64_t addr)
{
	uint32_t n;
	uint64_t next;
	const struct elf_fde *fdes = elf_image_fdes(b->image, &n);
	return addr && fde_at(fdes, n, addr - 1, &next) != PUGMARK_NONE;
}

/* Whether no compiler and no programmer writes such an instruction, but bytes of a table may read
 * so: what only a kernel may execute, and zeroes. */
static bool is_unlikely(const struct pugmark_insn *insn, const uint8_t *bytes)
{
	switch (bytes[0]) {
	case 0x00:
		return insn->len > 1 && !bytes[1];
	case 0x6c ... 0x6f:
	case 0xe4 ... 0xe7:
	case 0xec ... 0xef:
	case 0xca ... 0xcb:
	case 0xcd ... 0xcf:
	case 0xf4:
	case 0xfa ... 0xfb:
		return true;
	default:
		return false;
	}
}

/* Whether a direct call or jump can go to @addr: to nothing, or into the middle of an instruction,
 * none goes. */
static bool may_be_target(const struct builder *b, uint64_t addr)
{
	const struct elf_code *code = builder_code_at(b, addr);
	return code && (code->plt || gap_end(b, addr) || is_insn_start(b, addr));
}

static int push_targets(struct builder *b, struct gaps *g, const struct pugmark_insn *insn,
			const uint8_t *bytes, uint64_t addr)
{
	uint64_t next = addr + insn->len;
	bool falls = insn->kind != PUGMARK_INSN_JMP && insn->kind != PUGMARK_INSN_JMP_IND &&
		     insn->kind != PUGMARK_INSN_RET && insn->kind != PUGMARK_INSN_TRAP;
	if (insn->kind == PUGMARK_INSN_CALL || insn_is_direct_jump(insn))
		g->stray |= !may_be_target(b, decode_target(insn, bytes, addr));
	if (insn->kind == PUGMARK_INSN_CALL &&
	    add_start(b, g, decode_target(insn, bytes, addr), false))
		return -ENOMEM;
	if (insn_is_direct_jump(insn) && !VEC_PUSH(&g->stack, decode_target(insn, bytes, addr)))
		return -ENOMEM;
	if (falls && !VEC_PUSH(&g->stack, next))
		return -ENOMEM;
	return 0;
}

/* Where the indirect jump goes that was decoded last, if what was decoded right before it says so.
 */
static int push_table(struct builder *b, struct gaps *g)
{
	uint32_t first = g->insns.n - 1, n_entries;
	struct shape shape;
	while (first &&
	       g->insns.at[first - 1].off + g->insns.at[first - 1].len == g->insns.at[first].off)
		first--;
	if (!undescribed_table(b, g->insns.at + first, g->insns.n - first, &shape, &n_entries))
		return 0;
	uint64_t target;
	for (uint32_t i = 0; i < n_entries; i++)
		if (!table_entry(b, &shape, i, &target) || !may_be_target(b, target))
			return 0;
	for (uint32_t i = 0; i < n_entries; i++)
		if (!table_entry(b, &shape, i, &target) || !VEC_PUSH(&g->stack, target))
			return -ENOMEM;
	return 0;
}

/* Decodes straight on from @addr until control leaves, or meets what is decoded. */
static int walk_run(struct builder *b, struct gaps *g, uint64_t addr)
{
	uint64_t end = gap_end(b, addr);
	const struct elf_code *code = end ? builder_code_at(b, addr) : NULL;
	while (addr < end && !is_insn_start(b, addr)) {
		uint64_t off = addr - b->text_addr;
		struct pugmark_insn insn = {.off = (uint32_t)off};
		struct decoded_refs refs;
		const uint8_t *bytes = code->bytes + (addr - code->addr);
		bool clashes = false,
		     code_here = decode_insn(&b->decoder, bytes, end - addr, addr, &insn, &refs);
		for (uint8_t i = 0; code_here && i < insn.len; i++)
			clashes |= rankmap_has(&g->covered, off + i);
		if (clashes && !VEC_PUSH(&g->clashes, (struct clash){addr, insn.len}))
			return -ENOMEM;
		if (clashes || !code_here) {
			g->stray = true;
			return 0;
		}
		if (!VEC_PUSH(&g->insns, insn) || sweep_note_refs(b, &refs))
			return -ENOMEM;
		if (refs.pointer && gap_end(b, refs.pointer) &&
		    !VEC_PUSH(&g->named, (struct named){refs.pointer, addr}))
			return -ENOMEM;
		g->stray |= is_unlikely(&insn, bytes);
		rankmap_set(&b->starts, off);
		for (uint8_t i = 0; i < insn.len; i++)
			rankmap_set(&g->covered, off + i);
		if (insn.kind == PUGMARK_INSN_JMP_IND && push_table(b, g))
			return -ENOMEM;
		if (insn_ends_block(&insn))
			return push_targets(b, g, &insn, bytes, addr);
		addr += insn.len;
	}
	return 0;
}

/* Takes back what the walk from a wrong guess decoded. */
static void undo(struct builder *b, struct gaps *g, uint32_t n_insns)
{
	uint32_t n = g->insns.n - n_insns;
	g->undo_left -= g->undo_left < n ? g->undo_left : n;
	while (g->insns.n > n_insns) {
		struct pugmark_insn *insn = &g->insns.at[--g->insns.n];
		b->starts.bits[insn->off / 64] &= ~(UINT64_C(1) << (insn->off % 64));
		for (uint64_t off = insn->off; off < insn->off + insn->len; off++)
			g->covered.bits[off / 64] &= ~(UINT64_C(1) << (off % 64));
	}
}

static int walk_start(struct builder *b, struct gaps *g, struct start start)
{
	uint32_t n_insns = g->insns.n, n_todo = g->todo.n, n_named = g->named.n;
	uint32_t n_clashes = g->clashes.n;
	g->stray = false;
	g->stack.n = 0;
	int err = VEC_PUSH(&g->stack, start.addr) ? 0 : -ENOMEM;
	while (!err && g->stack.n)
		err = walk_run(b, g, g->stack.at[--g->stack.n]);
	if (!err && g->stray && start.guess) {
		undo(b, g, n_insns);
		g->todo.n = n_todo;
		g->named.n = n_named;
		g->clashes.n = n_clashes;
		return 0;
	}
	if (!err && is_insn_start(b, start.addr) && !VEC_PUSH(&b->undescribed_starts, start.addr))
		err = -ENOMEM;
	return err;
}

/* Drains the list of starts, those found on the way included. */
static int walk_all(struct builder *b, struct gaps *g)
{
	int err = 0;
	while (!err && g->todo.n)
		err = walk_start(b, g, g->todo.at[--g->todo.n]);
	return err;
}

/* Whether the instruction has a memory operand by way of register @reg. */
static bool goes_through(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *ops,
			 ZydisRegister reg)
{
	for (uint8_t i = 0; i < insn->operand_count; i++)
		if (ops[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    (ops[i].mem.base == reg || ops[i].mem.index == reg))
			return true;
	return false;
}

static bool overwrites(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *ops,
		       ZydisRegister reg)
{
	for (uint8_t i = 0; i < insn->operand_count; i++)
		if (ops[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    ops[i].actions & ZYDIS_OPERAND_ACTION_WRITE &&
		    ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64,
						     ops[i].reg.value) == reg)
			return true;
	return false;
}

/* Whether the code behind the instruction at @addr, which puts an address into a register, reads
 * there: a table then, no function. */
static bool is_read_behind(const struct builder *b, uint64_t addr)
{
	enum { WINDOW = 64 };
	const struct elf_code *code = builder_code_at(b, addr);
	ZydisRegister reg = ZYDIS_REGISTER_NONE;
	ZydisDecoder decoder;
	sem_decoder_init(&decoder);
	for (int i = 0; i < WINDOW && addr < code->end && is_insn_start(b, addr); i++) {
		ZydisDecodedInstruction insn;
		ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder,
							 code->bytes + (addr - code->addr),
							 code->end - addr, &insn, ops)))
			return false;
		if (!i && ops[0].type != ZYDIS_OPERAND_TYPE_REGISTER)
			return false;
		if (!i)
			reg = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64,
							       ops[0].reg.value);
		else if (goes_through(&insn, ops, reg))
			return true;
		else if (overwrites(&insn, ops, reg))
			return false;
		addr += insn.length;
	}
	return false;
}

/* What the code that was found takes the address of, and what is found by that. */
static int walk_named(struct builder *b, struct gaps *g)
{
	int err = 0;
	while (!err && g->named.n && g->undo_left) {
		struct named named = g->named.at[--g->named.n];
		if (is_insn_start(b, named.addr) || is_padding(b, named.addr) ||
		    is_read_behind(b, named.by))
			continue;
		err = add_start(b, g, named.addr, true);
		if (!err)
			err = walk_all(b, g);
	}
	return err;
}

/* What the code at the entry point takes the address of before its first call: main, and in older
 * programs what runs before and after it. Nothing else names them where there are no symbols. */
static int add_entry_refs(struct builder *b, struct gaps *g)
{
	enum { MAX_INSNS = 32 };
	uint64_t addr = elf_image_entry(b->image);
	const struct elf_code *code = builder_code_at(b, addr);
	int err = 0;
	for (int i = 0; code && i < MAX_INSNS && addr < code->end && !err; i++) {
		struct pugmark_insn insn = {0};
		struct decoded_refs refs;
		if (!decode_insn(&b->decoder, code->bytes + (addr - code->addr), code->end - addr,
				 addr, &insn, &refs) ||
		    insn_ends_block(&insn))
			break;
		if (refs.pointer)
			err = add_start(b, g, refs.pointer, false);
		addr += insn.len;
	}
	return err;
}

/* What the module calls of its own by way of its PLT: of assembly it may have no type and no FDE.
 */
static int add_own_imports(struct builder *b, struct gaps *g)
{
	const uint64_t *local = elf_image_import_local(b->image);
	int err = 0;
	for (uint32_t i = 0; i < b->n_imports && !err; i++)
		if (local[i])
			err = add_start(b, g, local[i], true);
	return err;
}

static int add_named_starts(struct builder *b, struct gaps *g)
{
	uint32_t n;
	int err = add_own_imports(b, g);
	if (!err)
		err = add_start(b, g, elf_image_entry(b->image), false);
	if (!err)
		err = add_entry_refs(b, g);
	const struct elf_symbol *symbols = elf_image_symbols(b->image, &n);
	for (uint32_t i = 0; i < n && !err; i++)
		if (symbols[i].code)
			err = add_start(b, g, symbols[i].addr, false);
	for (uint32_t i = 0; i < b->insns.n && !err; i++) {
		const struct pugmark_insn *insn = &b->insns.at[i];
		uint64_t next = insn_addr(b, i) + insn->len;
		if (insn->kind == PUGMARK_INSN_CALL || insn_is_direct_jump(insn)) {
			uint64_t target = builder_insn_target(b, i);
			/* Not the end of an FDE: such a jump is one that is never taken. */
			if (!is_insn_start(b, target) &&
			    (insn->kind == PUGMARK_INSN_CALL || !fde_ends_at(b, target)))
				err = add_start(b, g, target, false);
		}
		/* An FDE that ends before a system call: clone() has no caller to unwind to. */
		if (insn->kind == PUGMARK_INSN_OTHER && !err && !is_insn_start(b, next) &&
		    !is_padding(b, next))
			err = add_start(b, g, next, true);
	}
	return err;
}

/* What data points to that is a multiple of @align, but not of 2 * @align unless that is more than
 * MAX_ALIGN. */
static int walk_pointers(struct builder *b, struct gaps *g, uint32_t align)
{
	uint32_t n;
	const uint64_t *pointers = elf_image_code_pointers(b->image, &n);
	uint32_t mask = align == MAX_ALIGN ? align - 1 : 2 * align - 1;
	int err = 0;
	for (uint32_t i = 0; i < n && !err && g->undo_left; i++) {
		bool number = !elf_image_is_pie(b->image) &&
			      (is_insn_start(b, pointers[i]) || is_padding(b, pointers[i]));
		if (number || (pointers[i] & mask) != (align & mask))
			continue;
		err = add_start(b, g, pointers[i], true);
		if (!err)
			err = walk_all(b, g);
	}
	return err;
}

/* Two readings of the same bytes, of which one is no code. */
static void refuse_clashes(struct builder *b, const struct gaps *g)
{
	for (uint32_t i = 0; i < g->clashes.n; i++)
		sweep_refuse(b, g->clashes.at[i].addr, g->clashes.at[i].len);
}

int undescribed_find(struct builder *b)
{
	struct gaps g = {.undo_left = MAX_UNDO};
	int err = rankmap_init(&g.covered, b->starts.n_bits) ? add_named_starts(b, &g) : -ENOMEM;
	if (!err)
		err = walk_all(b, &g);
	/* A word may be a number, and look like the address of the middle of an instruction: so
	 * what functions are aligned to comes first, and has been decoded then. */
	for (uint32_t align = MAX_ALIGN; align && !err; align /= 2)
		err = walk_pointers(b, &g, align);
	if (!err)
		err = walk_named(b, &g);
	if (!err)
		err = sweep_merge(b, g.insns.at, g.insns.n);
	if (!err)
		refuse_clashes(b, &g);
	b->undescribed_starts.n = sort_unique(b->undescribed_starts.at, b->undescribed_starts.n);
	rankmap_deinit(&g.covered);
	VEC_FREE(&g.todo);
	VEC_FREE(&g.clashes);
	VEC_FREE(&g.named);
	VEC_FREE(&g.stack);
	VEC_FREE(&g.insns);
	return err;
}

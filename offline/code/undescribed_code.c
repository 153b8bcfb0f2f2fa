// SPDX-License-Identifier: LGPL-2.1-or-later
/* undescribed_code.c: code that no FDE covers. Between FDEs nothing says where code ends and data
 * begins, so only what can be reached is decoded, from starts that something names: symbols, the
 * entry point, what that hands to the C library (main), the module's own imports, pointers in data,
 * direct calls and jumps, and what other such code takes the address of or jumps to by a table.
 * What only a pointer leads to may be data that lies among code, as the heads of Poly/ML's
 * functions do: such a start is kept only if what it reaches can be code, all of it. */
#include "offline/base/search.h"
#include "offline/code/builder.h"
#include "offline/code/receivers.h"
#include "offline/code/semantics.h"
#include "offline/code/stack_switch.h"
#include "offline/code/undescribed_tables.h"

#include <errno.h>
#include <string.h>

enum { MAX_UNDO = 1 << 22, MAX_ALIGN = 16 };

struct start {
	uint64_t addr;
	bool guess;
	bool switches; /* a guess, and code only if it switches stacks */
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

struct undescribed {
	VEC(struct start) todo;	 /* starts not walked yet */
	VEC(struct named) leas;	 /* by undescribed code: addresses of code, or of tables among it */
	VEC(struct named) named; /* the same by immediates, which may be numbers */
	VEC(uint64_t) stack;	 /* addresses of the walk */
	VEC(struct pugmark_insn) insns;
	struct rankmap covered; /* every byte that one of insns covers */
	struct rankmap by_data; /* of those, what only words of data lead to */
	bool from_data;		/* so is what is walked now */
	VEC(struct clash) clashes;
	bool stray;	    /* the walk met bytes that do not decode */
	uint32_t undo_left; /* instructions of wrong guesses to take back before giving up */
};

static uint32_t fde_at(const struct elf_fde *fdes, uint32_t n, uint64_t addr, uint64_t *next)
{
	uint32_t low = SEARCH_FIRST_NOT(0, n, i, fdes[i].addr <= addr);
	*next = low < n ? fdes[low].addr : UINT64_MAX;
	return low && addr < fdes[low - 1].end ? low - 1 : PUGMARK_NONE;
}

/* Where the undescribed range that holds @addr ends; 0 if an FDE covers @addr. */
static uint64_t undescribed_end(const struct builder *b, uint64_t addr)
{
	uint32_t n;
	const struct elf_fde *fdes = elf_image_fdes(b->image, &n);
	const struct elf_code *code = builder_code_at(b, addr);
	uint64_t next;
	if (!code || code->plt || fde_at(fdes, n, addr, &next) != PUGMARK_NONE)
		return 0;
	return next < code->end ? next : code->end;
}

static int add_start(struct builder *b, struct undescribed *u, uint64_t addr, bool guess)
{
	if (!undescribed_end(b, addr))
		return 0;
	return VEC_PUSH(&u->todo, (struct start){addr, guess, false}) ? 0 : -ENOMEM;
}

bool builder_is_padding(const struct builder *b, uint64_t addr)
{
	enum { PREFIXES = 14 }; /* as no instruction has more than 15 bytes */
	const struct elf_code *code = builder_code_at(b, addr);
	uint64_t at = code ? addr - code->addr : 0, end = code ? code->end - code->addr : 0;
	uint64_t last = at + PREFIXES;
	while (at < end && at < last && (code->bytes[at] == 0x66 || code->bytes[at] == 0x2e))
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

/* Whether bytes of a table may read as this instruction but nobody writes it in code: zeroes, and
 * what only a kernel may execute; but for hlt right @behind_call of what never returns. */
static bool is_unlikely(const struct pugmark_insn *insn, const uint8_t *bytes, bool behind_call)
{
	switch (bytes[0]) {
	case 0x00:
		return insn->len > 1 && !bytes[1];
	case 0x6c ... 0x6f:
	case 0xe4 ... 0xe7:
	case 0xec ... 0xef:
	case 0xca ... 0xcb:
	case 0xcd ... 0xcf:
	case 0xfa ... 0xfb:
		return true;
	case 0xf4:
		return !behind_call;
	default:
		return false;
	}
}

/* Whether a direct call or jump can go to @addr: not where nothing is, nor into the middle of an
 * instruction. */
static bool may_be_target(const struct builder *b, uint64_t addr)
{
	const struct elf_code *code = builder_code_at(b, addr);
	return code && (code->plt || undescribed_end(b, addr) || is_insn_start(b, addr));
}

static int push_targets(struct builder *b, struct undescribed *u, const struct pugmark_insn *insn,
			const uint8_t *bytes, uint64_t addr)
{
	uint64_t next = addr + insn->len;
	bool falls = insn->kind != PUGMARK_INSN_JMP && insn->kind != PUGMARK_INSN_JMP_IND &&
		     insn->kind != PUGMARK_INSN_RET && insn->kind != PUGMARK_INSN_TRAP;
	if (insn->kind == PUGMARK_INSN_CALL || insn_is_direct_jump(insn))
		u->stray |= !may_be_target(b, decode_target(insn, bytes, addr));
	uint8_t reg;
	bool calls_register =
		insn->kind == PUGMARK_INSN_CALL && builder_calls_register(b, addr, &reg);
	if (insn->kind == PUGMARK_INSN_CALL && !calls_register &&
	    add_start(b, u, decode_target(insn, bytes, addr), false))
		return -ENOMEM;
	if ((insn_is_direct_jump(insn) || calls_register) &&
	    !VEC_PUSH(&u->stack, decode_target(insn, bytes, addr)))
		return -ENOMEM;
	if (falls && !VEC_PUSH(&u->stack, next))
		return -ENOMEM;
	return 0;
}

/* Where the indirect jump that was decoded last goes, if the instructions right before it tell. */
static int push_table(struct builder *b, struct undescribed *u)
{
	uint32_t first = u->insns.n - 1, n_entries;
	struct table_load load;
	while (first && u->insns.n - first < UNDESCRIBED_TABLE_WINDOW &&
	       u->insns.at[first - 1].off + u->insns.at[first - 1].len == u->insns.at[first].off)
		first--;
	if (!undescribed_table(b, u->insns.at + first, u->insns.n - first, &load, &n_entries))
		return 0;
	uint64_t target;
	for (uint32_t i = 0; i < n_entries; i++)
		if (!table_entry(b, &load, i, &target) || !may_be_target(b, target))
			return 0;
	for (uint32_t i = 0; i < n_entries; i++)
		if (!table_entry(b, &load, i, &target) || !VEC_PUSH(&u->stack, target))
			return -ENOMEM;
	return 0;
}

static int note_named(const struct builder *b, struct undescribed *u,
		      const struct decoded_refs *refs, uint64_t addr)
{
	struct named named = {refs->pointer, addr};
	if (!refs->pointer || !undescribed_end(b, refs->pointer))
		return 0;
	return (refs->lea ? VEC_PUSH(&u->leas, named) : VEC_PUSH(&u->named, named)) ? 0 : -ENOMEM;
}

/* Whether the instruction that was decoded last is a call, right before the one at @off. */
static bool is_behind_call(const struct undescribed *u, uint64_t off)
{
	const struct pugmark_insn *last = u->insns.n ? &u->insns.at[u->insns.n - 1] : NULL;
	return last && last->off + last->len == off &&
	       (last->kind == PUGMARK_INSN_CALL || last->kind == PUGMARK_INSN_CALL_IND);
}

/* Decodes straight on from @addr until control leaves, or meets what is decoded. */
static int walk_run(struct builder *b, struct undescribed *u, uint64_t addr)
{
	uint64_t end = undescribed_end(b, addr);
	const struct elf_code *code = end ? builder_code_at(b, addr) : NULL;
	while (addr < end && !is_insn_start(b, addr)) {
		uint64_t off = addr - b->text_addr;
		struct pugmark_insn insn = {.off = (uint32_t)off};
		struct decoded_refs refs;
		const uint8_t *bytes = code->bytes + (addr - code->addr);
		bool clashes = false,
		     code_here = decode_insn(&b->decoder, bytes, end - addr, addr, &insn, &refs);
		for (uint8_t i = 0; code_here && i < insn.len; i++)
			clashes |= rankmap_has(&u->covered, off + i);
		if (clashes && !VEC_PUSH(&u->clashes, (struct clash){addr, insn.len}))
			return -ENOMEM;
		if (clashes || !code_here) {
			u->stray = true;
			return 0;
		}
		u->stray |= is_unlikely(&insn, bytes, is_behind_call(u, off));
		if (!VEC_PUSH(&u->insns, insn) || sweep_note_refs(b, &refs))
			return -ENOMEM;
		if (note_named(b, u, &refs, addr))
			return -ENOMEM;
		rankmap_set(&b->starts, off);
		for (uint8_t i = 0; i < insn.len; i++) {
			rankmap_set(&u->covered, off + i);
			if (u->from_data)
				rankmap_set(&u->by_data, off + i);
		}
		if (insn.kind == PUGMARK_INSN_JMP_IND && push_table(b, u))
			return -ENOMEM;
		if (insn_ends_block(&insn))
			return push_targets(b, u, &insn, bytes, addr);
		addr += insn.len;
	}
	return 0;
}

/* Takes back what the walk from a wrong guess decoded. */
static void undo(struct builder *b, struct undescribed *u, uint32_t n_insns)
{
	uint32_t n = u->insns.n - n_insns;
	u->undo_left -= u->undo_left < n ? u->undo_left : n;
	while (u->insns.n > n_insns) {
		struct pugmark_insn *insn = &u->insns.at[--u->insns.n];
		b->starts.bits[insn->off / 64] &= ~(UINT64_C(1) << (insn->off % 64));
		for (uint64_t off = insn->off; off < insn->off + insn->len; off++) {
			u->covered.bits[off / 64] &= ~(UINT64_C(1) << (off % 64));
			u->by_data.bits[off / 64] &= ~(UINT64_C(1) << (off % 64));
		}
	}
}

/* Of the clashes of a guess that is taken back, from @first on, keeps those with what words of data
 * led to, if code named the guess: then that is no better, and neither may be probed. */
static void keep_clashes(const struct builder *b, struct undescribed *u, uint32_t first)
{
	uint32_t n = first;
	for (uint32_t i = first; i < u->clashes.n && !u->from_data; i++) {
		struct clash clash = u->clashes.at[i];
		bool keep = false;
		for (uint8_t k = 0; k < clash.len; k++)
			keep |= rankmap_has(&u->by_data, clash.addr + k - b->text_addr);
		if (keep)
			u->clashes.at[n++] = clash;
	}
	u->clashes.n = n;
}

/* Whether what was decoded from the instruction @first on is code that leaves a stack and keeps
 * where that is. */
static bool keeps_and_loads_stack(const struct builder *b, const struct undescribed *u,
				  uint32_t first)
{
	bool keeps = false, loads = false;
	for (uint32_t i = first; i < u->insns.n; i++) {
		const struct pugmark_insn *insn = &u->insns.at[i];
		uint64_t addr = b->text_addr + insn->off;
		const struct elf_code *code = builder_code_at(b, addr);
		const uint8_t *bytes = code->bytes + (addr - code->addr);
		keeps |= stack_switch_may_keep(bytes, insn->len);
		loads |= stack_switch_may_load(bytes, insn->len);
	}
	return keeps && loads;
}

static int walk_start(struct builder *b, struct undescribed *u, struct start start)
{
	uint32_t n_insns = u->insns.n, n_todo = u->todo.n, n_named = u->named.n;
	uint32_t n_leas = u->leas.n, n_clashes = u->clashes.n;
	u->stray = false;
	u->stack.n = 0;
	int err = VEC_PUSH(&u->stack, start.addr) ? 0 : -ENOMEM;
	while (!err && u->stack.n)
		err = walk_run(b, u, u->stack.at[--u->stack.n]);
	bool other = start.switches && !keeps_and_loads_stack(b, u, n_insns);
	if (!err && (u->stray || other) && start.guess) {
		undo(b, u, n_insns);
		u->todo.n = n_todo;
		u->named.n = n_named;
		u->leas.n = n_leas;
		keep_clashes(b, u, n_clashes);
		return 0;
	}
	if (!err && is_insn_start(b, start.addr) && !VEC_PUSH(&b->undescribed_starts, start.addr))
		err = -ENOMEM;
	return err;
}

/* Drains the list of starts, those found on the way included. */
static int walk_all(struct builder *b, struct undescribed *u)
{
	int err = 0;
	while (!err && u->todo.n)
		err = walk_start(b, u, u->todo.at[--u->todo.n]);
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
 * there: then the address is of a table, and of no function. */
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

/* Walks what the code found so far takes the address of, and what is found by that; @leas: by lea
 * alone. */
static int walk_named(struct builder *b, struct undescribed *u, bool leas)
{
	int err = 0;
	while (!err && (u->leas.n || (!leas && u->named.n)) && u->undo_left) {
		struct named named =
			u->leas.n ? u->leas.at[--u->leas.n] : u->named.at[--u->named.n];
		if (is_insn_start(b, named.addr) || builder_is_padding(b, named.addr) ||
		    is_read_behind(b, named.by))
			continue;
		err = add_start(b, u, named.addr, true);
		if (!err)
			err = walk_all(b, u);
	}
	return err;
}

/* Walks what code with an FDE takes the address of, and no symbol names, if that switches stacks:
 * libraries keep such code as bytes in an array among the code. Else it may be a table. */
static int walk_switches(struct builder *b, struct undescribed *u)
{
	int err = 0;
	for (uint32_t i = 0; i < b->insns.n && u->undo_left && !err; i++) {
		uint64_t addr = receivers_pointer_made(b, i);
		if (!addr || is_insn_start(b, addr) || !undescribed_end(b, addr) ||
		    is_read_behind(b, insn_addr(b, i)))
			continue;
		err = VEC_PUSH(&u->todo, (struct start){addr, true, true}) ? 0 : -ENOMEM;
		if (!err)
			err = walk_all(b, u);
	}
	return err;
}

/* Adds what the code at the entry point takes the address of before its first call: main, and in
 * older programs what runs before and after it. Without symbols nothing else names these. */
static int add_entry_refs(struct builder *b, struct undescribed *u)
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
			err = add_start(b, u, refs.pointer, false);
		addr += insn.len;
	}
	return err;
}

/* Adds the functions of its own that the module calls by way of its PLT: one written in assembly
 * may have neither a type nor an FDE. */
static int add_own_imports(struct builder *b, struct undescribed *u)
{
	const uint64_t *local = elf_image_import_local(b->image);
	int err = 0;
	for (uint32_t i = 0; i < b->n_imports && !err; i++)
		if (local[i])
			err = add_start(b, u, local[i], true);
	return err;
}

static int add_named_starts(struct builder *b, struct undescribed *u)
{
	uint32_t n;
	int err = add_own_imports(b, u);
	if (!err)
		err = add_start(b, u, elf_image_entry(b->image), false);
	if (!err)
		err = add_entry_refs(b, u);
	const struct elf_symbol *symbols = elf_image_symbols(b->image, &n);
	for (uint32_t i = 0; i < n && !err; i++)
		if (symbols[i].code)
			err = add_start(b, u, symbols[i].addr, false);
	for (uint32_t i = 0; i < b->insns.n && !err; i++) {
		const struct pugmark_insn *insn = &b->insns.at[i];
		uint64_t next = insn_addr(b, i) + insn->len;
		if (insn->kind == PUGMARK_INSN_CALL || insn_is_direct_jump(insn)) {
			uint64_t target = builder_insn_target(b, i);
			/* But not a jump to the end of an FDE: it is never taken. */
			if (!is_insn_start(b, target) &&
			    (insn->kind == PUGMARK_INSN_CALL || !fde_ends_at(b, target)))
				err = add_start(b, u, target, false);
		}
		/* An FDE that ends before a system call: clone() has no caller to unwind to. */
		if (insn->kind == PUGMARK_INSN_OTHER && !err && !is_insn_start(b, next) &&
		    !builder_is_padding(b, next))
			err = add_start(b, u, next, true);
	}
	return err;
}

/* Walks what data points to and lies at a multiple of @align (if @align is not MAX_ALIGN: but not
 * of 2 * @align). */
static int walk_pointers(struct builder *b, struct undescribed *u, uint32_t align)
{
	uint32_t n;
	const uint64_t *pointers = elf_image_code_pointers(b->image, &n);
	uint32_t mask = align == MAX_ALIGN ? align - 1 : 2 * align - 1;
	int err = 0;
	for (uint32_t i = 0; i < n && !err && u->undo_left; i++) {
		bool number = !elf_image_is_pie(b->image) &&
			      (is_insn_start(b, pointers[i]) || builder_is_padding(b, pointers[i]));
		if (number || (pointers[i] & mask) != (align & mask))
			continue;
		err = add_start(b, u, pointers[i], true);
		if (!err)
			err = walk_all(b, u);
	}
	return err;
}

/* Walks what words of data that are not aligned point to, where the file has a fixed address: a
 * packed structure's. The weakest of all that names code, so it comes last, and what it leads to
 * must lie where functions begin. */
static int walk_unaligned(struct builder *b, struct undescribed *u)
{
	uint64_t budget = elf_image_data_budget(b->image), word;
	struct elf_data d;
	int err = 0;
	for (uint32_t i = 0; elf_image_data(b->image, i, &d); i++) {
		if (d.len > budget)
			continue;
		budget -= d.len;
		for (uint64_t at = 0; at + sizeof(word) <= d.len && u->undo_left && !err; at++) {
			memcpy(&word, d.bytes + at, sizeof(word));
			if (!((d.addr + at) % sizeof(word)) || word % MAX_ALIGN ||
			    !in_text(b, word) || is_insn_start(b, word) ||
			    builder_is_padding(b, word))
				continue;
			err = add_start(b, u, word, true);
			if (!err)
				err = walk_all(b, u);
		}
	}
	return err;
}

/* Two readings of the same bytes, of which one is no code. */
static void refuse_clashes(struct builder *b, const struct undescribed *u)
{
	for (uint32_t i = 0; i < u->clashes.n; i++)
		sweep_refuse(b, u->clashes.at[i].addr, u->clashes.at[i].len);
}

/* Where jumps return to that are calls is a part of the function that jumps, and no start, although
 * its address is taken; and so is the label where a switch of stacks goes on that was left. */
static void drop_returns(struct builder *b)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < b->undescribed_starts.n; i++) {
		uint64_t start = b->undescribed_starts.at[i];
		uint32_t insn = insn_at(b, start);
		bool behind = insn && b->insns.at[insn - 1].off + b->insns.at[insn - 1].len ==
					      b->insns.at[insn].off;
		if (behind &&
		    (builder_jump_calls(b, insn - 1) ||
		     (n && stack_switch_comes_back(b, insn_at(b, b->undescribed_starts.at[n - 1]),
						   insn))))
			continue;
		b->undescribed_starts.at[n++] = start;
	}
	b->undescribed_starts.n = n;
}

int undescribed_find(struct builder *b)
{
	struct undescribed u = {.undo_left = MAX_UNDO};
	bool room = rankmap_init(&u.covered, b->starts.n_bits) &&
		    rankmap_init(&u.by_data, b->starts.n_bits);
	int err = room ? add_named_starts(b, &u) : -ENOMEM;
	if (!err)
		err = walk_all(b, &u);
	/* Without relocations a word of data may be a number, or letters, that look like an address
	 * in the middle of an instruction. So what a lea names comes before all of them, and
	 * addresses aligned as functions are before others: what they lead to is then decoded
	 * already. */
	if (!err && !elf_image_is_pie(b->image))
		err = walk_named(b, &u, true);
	u.from_data = !elf_image_is_pie(b->image);
	for (uint32_t align = MAX_ALIGN; align && !err; align /= 2)
		err = walk_pointers(b, &u, align);
	u.from_data = false;
	if (!err)
		err = walk_named(b, &u, false);
	u.from_data = true;
	if (!err && !elf_image_is_pie(b->image))
		err = walk_unaligned(b, &u);
	if (!err)
		err = walk_switches(b, &u);
	if (!err)
		err = sweep_merge(b, u.insns.at, u.insns.n);
	if (!err)
		refuse_clashes(b, &u);
	b->undescribed_starts.n = sort_unique(b->undescribed_starts.at, b->undescribed_starts.n);
	if (!err)
		drop_returns(b);
	rankmap_deinit(&u.covered);
	rankmap_deinit(&u.by_data);
	VEC_FREE(&u.todo);
	VEC_FREE(&u.clashes);
	VEC_FREE(&u.named);
	VEC_FREE(&u.leas);
	VEC_FREE(&u.stack);
	VEC_FREE(&u.insns);
	return err;
}

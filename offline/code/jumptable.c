// SPDX-License-Identifier: LGPL-2.1-or-later
/* jumptable.c: where indirect jumps go. For each the target register is traced back to one of
 *
 *   mov T(,i,8),R        jmp *T(,i,8)       addresses: code linked to a fixed place,
 *   mov (B,i,8),R        jmp *(B,i,8)       or computed goto through relocated words
 *   movslq (T,i,4),R; add B,R               32-bit distances from B, mostly T itself
 *   movslq T(,i,4),R; lea B(R),R            the same, fixed
 *   lea 0(,i,4),X; mov (X,T),R; cltq; add B,R  the same without optimisation
 *   mov B,R; add (T,i,8),R             64-bit distances: the large code model
 *   and $0x3c,X; movslq (T,X,1),R; add B,R  the same, of an index that is masked where it is a
 * multiple of 4
 *
 * with T and B constants. Where index_bound.c finds the bound of the index, the table ends there;
 * else it has its natural end: the next data that an instruction names, or an entry that leads out
 * of the function. A jump with no table is an indirect tail call if the frame is gone at it (or
 * kept for another's code) and the function has no labels whose address is data; else its targets
 * are open, and those labels are the guess. Rounds go over a function until nothing new is found: a
 * handler of an interpreter is known to be reached only when the first dispatch is resolved. */
#include "offline/code/come_back.h"
#include "offline/code/table_extent.h"

#include <errno.h>
#include <string.h>

enum { MAX_ROUNDS = 8, MAX_DEPTH = 8, MAX_BASES = 16 };
/* Entries read and targets kept for a whole module: far more than any real one has. */
enum { ENTRY_BUDGET = 8 << 20, TARGET_BUDGET = 2 << 20 };

struct resolver {
	struct backslice *backslice;
	struct builder *b;
	uint32_t entries_left;
	uint64_t jump; /* address of the jump at hand */
	uint32_t func;
	bool loose; /* the base is known on some paths only; and it is the nth constant of those */
	uint32_t nth;
	bool looks_like_table; /* the jump at hand has the form of a table jump, but its base is not
				  known */
	bool is_sum;	       /* the target of the jump at hand is computed, and so no pointer */
	bool *crossed, *changed;
	bool crosses; /* the jump at hand leads into a part that is not its function's yet */
	VEC(uint64_t) targets; /* of the jump at hand */
	VEC(uint64_t) order;   /* functions to resolve, as find_order() says */
	struct come_back come_back;
	uint8_t grade;
	bool leaves;
};

static int keep_target(struct resolver *r, uint64_t target)
{
	uint32_t n = r->targets.n;
	if (n && r->targets.at[n - 1] == target)
		return 0;
	return VEC_PUSH(&r->targets, target) ? 0 : -ENOMEM;
}

static int keep_crossing(struct resolver *r, uint64_t target)
{
	struct cross_jump jump = {.site = r->jump, .target = target};
	*r->crossed = r->crosses = true;
	return VEC_PUSH(&r->b->table_crossings, jump) ? 0 : -ENOMEM;
}

/* Reads the table that @load describes. Positive: a table; 0: none; negative: an error. */
static int read_table(struct resolver *r, const struct table_load *load)
{
	struct extent x;
	table_measure(r->backslice, r->func, load, &r->entries_left, &x);
	if (!x.n || (r->loose && (x.n < 2 || (x.bounded && x.n < x.max))))
		return 0;
	if (!x.n_inside && !load->relative) {
		r->grade = TABLE_TAIL;
		return 1;
	}
	int err = 0;
	for (uint32_t i = 0; i < x.n && !err; i++) {
		uint64_t target;
		table_entry(r->b, load, i, &target);
		switch (table_classify(r->b, r->func, target)) {
		case ENTRY_FUNCTION:
			rankmap_set(&r->b->taken, target - r->b->text_addr);
			r->leaves = true;
			break;
		case ENTRY_START:
		case ENTRY_FRAGMENT:
			err = keep_crossing(r, target);
			break;
		case ENTRY_INSIDE:
			err = keep_target(r, target);
			break;
		default:
			break;
		}
	}
	uint8_t grade = r->loose || x.n < x.max || !(x.proven || x.contained) ? TABLE_NATURAL
			: x.proven					      ? TABLE_PROVEN
									      : TABLE_CONTAINED;
	r->grade = r->grade > grade ? r->grade : grade;
	return err ? err : 1;
}

static bool find_const(struct resolver *r, struct loc loc, struct place at, uint64_t *value)
{
	return r->loose ? backslice_some_const(r->backslice, loc, at, r->nth, value)
			: backslice_const(r->backslice, loc, at, value);
}

/* Whether @sem leaves a multiple of @scale, any up to a mask's highest: the index is a field of a
 * word, which was not shifted all the way down (Erlang's tags). */
static bool masks_scaled(const struct sem *sem, uint8_t scale)
{
	uint64_t n = (uint64_t)sem->value / scale + 1;
	return sem->op == SEM_AND_IMM && sem->value > 0 && !(sem->value % scale) && !(n & (n - 1));
}

/* The multiple of the index that @loc holds at @at, where it holds @scale times a register. */
static bool find_scaled(struct resolver *r, struct loc loc, struct place at, uint8_t scale,
			struct table_load *load)
{
	struct place defs[SLICE_MAX_DEFS];
	if (backslice_defs(r->backslice, loc, at, defs) != 1)
		return false;
	struct sem sem = *backslice_sem(r->backslice, defs[0].insn);
	bool lea = sem.op == SEM_LEA && sem.base == REG_NONE && sem.scale == scale && !sem.disp;
	bool shl = sem.op == SEM_SHL_IMM && sem.value == (scale == 8 ? 3 : 2);
	load->in_bytes = masks_scaled(&sem, scale);
	if (load->in_bytes) {
		load->index = loc;
		load->at = at;
		load->has_index = true;
		return true;
	}
	if (!lea && !shl)
		return false;
	load->index = (struct loc){.reg = lea ? sem.index : sem.dst};
	load->at = defs[0];
	load->has_index = true;
	return true;
}

/* The table behind the memory operand of @sem, which is at @at: a constant and an index. */
static bool find_table(struct resolver *r, const struct sem *sem, struct place at, uint8_t entry,
		       struct table_load *load)
{
	struct loc base = {.reg = sem->base}, index = {.reg = sem->index};
	load->table = (uint64_t)sem->disp;
	if (sem->index == REG_NONE && sem->base == REG_NONE) {
		load->single = true;
		return entry == 4;
	}
	if (sem->index != REG_NONE && sem->scale == entry)
		r->looks_like_table = true;
	if (sem->index != REG_NONE && sem->scale == entry) {
		uint64_t value = 0;
		if (sem->base != REG_NONE && !find_const(r, base, at, &value))
			return false;
		load->table += value;
		load->index = index;
		load->at = at;
		load->has_index = true;
		return true;
	}
	/* One register holds the table, the other the index times the entry's size. */
	for (int swap = 0; swap < 2; swap++) {
		uint64_t value = 0;
		struct loc table = swap ? index : base, scaled = swap ? base : index;
		if (scaled.reg == REG_NONE || (sem->index != REG_NONE && sem->scale != 1))
			continue;
		if (table.reg != REG_NONE && !find_const(r, table, at, &value))
			continue;
		if (table.reg == REG_NONE && !sem->disp)
			continue;
		if (find_scaled(r, scaled, at, entry, load)) {
			r->looks_like_table = true;
			load->table = value + (uint64_t)sem->disp;
			return true;
		}
	}
	/* One register holds the address of the entry. */
	struct place defs[SLICE_MAX_DEFS];
	if (sem->index != REG_NONE || backslice_defs(r->backslice, base, at, defs) != 1)
		return false;
	struct sem def = *backslice_sem(r->backslice, defs[0].insn);
	if (def.op == SEM_LEA && def.index != REG_NONE && def.scale == entry) {
		def.disp += sem->disp;
		return find_table(r, &def, defs[0], entry, load);
	}
	return false;
}

/* Reads the tables whose entries @loc may hold at @at as distances from @base: loads,
 * straight or through copies and spills. Returns as read_table() does; every definition has to be
 * one. */
static int read_distances(struct resolver *r, struct loc loc, struct place at, uint64_t base,
			  int depth)
{
	struct place defs[SLICE_MAX_DEFS];
	uint32_t n = depth < MAX_DEPTH ? backslice_defs(r->backslice, loc, at, defs) : 0;
	int result = n > 0;
	for (uint32_t i = 0; i < n && result > 0; i++) {
		struct sem sem = *backslice_sem(r->backslice, defs[i].insn);
		struct table_load load = {
			.relative = true,
			.wide = sem.size == 8,
			.base = base,
		};
		struct loc from = {.reg = sem.src};
		bool spilled = sem.op == SEM_LOAD && sem.size == 8 && sem.index == REG_NONE;
		if (spilled)
			from = (struct loc){sem.base, true, sem.disp};
		if (spilled || sem.op == SEM_COPY || sem.op == SEM_STORE)
			result = read_distances(r, from, defs[i], base, depth + 1);
		else if (sem.op == SEM_LOAD && (sem.size == 4 || sem.size == 8) &&
			 find_table(r, &sem, defs[i], sem.size, &load))
			result = read_table(r, &load);
		else
			result = 0;
	}
	return result;
}

/* Base and distance, in either order. */
static int resolve_sum(struct resolver *r, uint8_t x, uint8_t y, struct place at)
{
	uint32_t n_targets = r->targets.n;
	for (int swap = 0; swap < 2; swap++) {
		struct loc base = {.reg = swap ? y : x}, distance = {.reg = swap ? x : y};
		uint64_t value;
		if (!find_const(r, base, at, &value))
			continue;
		int result = read_distances(r, distance, at, value, 0);
		if (result)
			return result;
		r->targets.n = n_targets;
	}
	r->looks_like_table = r->is_sum = true;
	return 0;
}

/* A distance that is added to the base as it is loaded. */
static int resolve_sum_load(struct resolver *r, const struct sem *sem, struct place at)
{
	struct table_load load = {.relative = true, .wide = true};
	r->looks_like_table = r->is_sum = true;
	if (!find_const(r, (struct loc){.reg = sem->dst}, at, &load.base) ||
	    !find_table(r, sem, at, 8, &load))
		return 0;
	return read_table(r, &load);
}

/* A distance from a constant that the instruction itself holds. */
static int resolve_offset(struct resolver *r, uint8_t distance, int64_t base, struct place at)
{
	uint32_t n_targets = r->targets.n;
	int result = read_distances(r, (struct loc){.reg = distance}, at, (uint64_t)base, 0);
	if (!result) {
		r->targets.n = n_targets;
		r->is_sum = true;
	}
	return result;
}

/* The jump goes to @target and nowhere else. */
static int resolve_address(struct resolver *r, uint64_t target)
{
	if (table_classify(r->b, r->func, target) != ENTRY_INSIDE)
		return 0;
	return keep_target(r, target) ? -ENOMEM : 1;
}

static int resolve_value(struct resolver *r, struct loc loc, struct place at, int depth);

/* The instruction at @def gives the jump its target. */
static int resolve_definition(struct resolver *r, struct place def, int depth)
{
	struct sem sem = *backslice_sem(r->backslice, def.insn);
	struct table_load load = {0};
	uint64_t value;
	bool is_sum = sem.op == SEM_ADD || sem.op == SEM_ADD_IMM || sem.op == SEM_LEA;
	if (is_sum && backslice_const_made(r->backslice, def, &value))
		return resolve_address(r, value);
	switch (sem.op) {
	case SEM_COPY:
	case SEM_STORE:
		if (sem.size != 8 || sem.src == REG_NONE)
			return 0;
		return resolve_value(r, (struct loc){.reg = sem.src}, def, depth + 1);
	case SEM_LOAD:
	case SEM_JUMP:
		if (sem.size != 8)
			return 0;
		if (sem.op == SEM_JUMP && !sem.memory)
			return resolve_value(r, (struct loc){.reg = sem.src}, def, depth + 1);
		if (find_table(r, &sem, def, 8, &load))
			return read_table(r, &load);
		if (sem.index == REG_NONE && (sem.base == REG_SP || sem.base == REG_BP))
			return resolve_value(r, (struct loc){sem.base, true, sem.disp}, def,
					     depth + 1);
		return 0;
	case SEM_ADD:
		return resolve_sum(r, sem.dst, sem.src, def);
	case SEM_ADD_LOAD:
		return resolve_sum_load(r, &sem, def);
	case SEM_ADD_IMM:
		return resolve_offset(r, sem.dst, sem.value, def);
	case SEM_LEA:
		if (sem.index == REG_NONE)
			return resolve_offset(r, sem.base, sem.disp, def);
		if (sem.scale != 1 || sem.disp || sem.base == REG_NONE)
			return 0;
		return resolve_sum(r, sem.base, sem.index, def);
	case SEM_CONST:
		return resolve_address(r, (uint64_t)sem.value);
	default:
		return 0;
	}
}

/* Every definition has to be a table's; the targets are those of all. */
static int resolve_value(struct resolver *r, struct loc loc, struct place at, int depth)
{
	struct place defs[SLICE_MAX_DEFS];
	uint32_t n = depth < MAX_DEPTH ? backslice_defs(r->backslice, loc, at, defs) : 0;
	for (uint32_t i = 0; i < n; i++) {
		int result = resolve_definition(r, defs[i], depth);
		if (result <= 0)
			return result;
	}
	return n > 0;
}

static bool is_come_back_to(const struct resolver *r)
{
	const struct pugmark_func *f = &r->b->funcs.at[r->func];
	bool is = false;
	for (uint32_t i = f->part; i < f->part + f->n_parts && !is; i++)
		is = come_back_is_within(&r->come_back, r->b->parts.at[i].addr,
					 r->b->parts.at[i].end);
	return is;
}

/* Labels of the function whose address is data: what an open jump may go to, for all we know. One
 * that such code comes back to is there for that. */
static int guess_targets(struct resolver *r)
{
	const struct builder *b = r->b;
	const struct cfg *flow = r->backslice->flow;
	uint32_t cost = flow->blocks.n / 16;
	r->targets.n = 0;
	if (cost > r->entries_left)
		return 0;
	r->entries_left -= cost;
	for (uint32_t i = 1; i < flow->blocks.n; i++) {
		uint64_t addr = flow->blocks.at[i].addr;
		if (rankmap_has(&b->taken, addr - b->text_addr) &&
		    !come_back_is_within(&r->come_back, addr, addr + 1) && keep_target(r, addr))
			return -ENOMEM;
	}
	return 0;
}

/* Settles a jump that no table explains. If its target is a pointer, and the frame is gone at it or
 * is kept for code that comes back by a jump, it may be a tail call; and it is one if the function
 * has no labels that data holds. If it has such labels, the jump stays open, even where a table
 * leads to all of them: it may be another jump through that table whose base was not found. */
static int settle_unknown(struct resolver *r)
{
	const struct builder *b = r->b;
	int err = guess_targets(r);
	if (err)
		return err;
	struct pugmark_cfa cfa = builder_cfa_at(b, r->jump);
	bool no_cfi = b->funcs.at[r->func].flags & PUGMARK_FUNC_NO_CFI;
	bool frame_gone = cfa_is_entry(cfa) || (cfa.reg == PUGMARK_CFA_UNKNOWN && no_cfi);
	bool may_leave = !r->is_sum && (frame_gone || is_come_back_to(r));
	r->leaves = may_leave && r->targets.n;
	r->grade = may_leave && !r->targets.n ? TABLE_TAIL : TABLE_OPEN;
	return 0;
}

/* Puts what was found into the row of the jump @insn. Sets *@leads if that changes where the jump
 * leads to within its function. */
static int record(struct resolver *r, uint32_t insn, bool *leads)
{
	struct builder *b = r->b;
	r->targets.n = sort_unique(r->targets.at, r->targets.n);
	if (b->table_targets.n + (uint64_t)r->targets.n > TARGET_BUDGET) {
		r->targets.n = 0;
		r->grade = TABLE_OPEN;
	}
	uint32_t row = b->table_of_insn[insn];
	if (!row) {
		if (!VEC_PUSH(&b->tables, (struct jump_table){.insn = insn, .grade = TABLE_OPEN}))
			return -ENOMEM;
		row = b->table_of_insn[insn] = b->tables.n;
		*r->changed = true;
	}
	struct jump_table *table = &b->tables.at[row - 1];
	bool led = table->n_targets && !table->stale;
	table->stale = false;
	table->settled = r->grade == TABLE_PROVEN && !r->crosses;
	bool same = table->grade == r->grade && table->leaves == r->leaves &&
		    table->n_targets == r->targets.n &&
		    (!r->targets.n || !memcmp(b->table_targets.at + table->target, r->targets.at,
					      r->targets.n * sizeof(*r->targets.at)));
	*leads |= r->targets.n ? !led || !same : led;
	if (same)
		return 0;
	*r->changed = true;
	if (!VEC_RESERVE(&b->table_targets, r->targets.n))
		return -ENOMEM;
	table->grade = r->grade;
	table->leaves = r->leaves;
	table->target = b->table_targets.n;
	table->n_targets = r->targets.n;
	for (uint32_t i = 0; i < r->targets.n; i++) {
		b->table_targets.at[b->table_targets.n++] = r->targets.at[i];
		rankmap_set(&b->leaders, r->targets.at[i] - b->text_addr);
	}
	return 0;
}

/* Resolves a jump whose base is constant on some paths only. (A default case that is never taken
 * may lead anywhere, and from there back to the jump with something else in the base's register.)
 * Each constant that some path shows is tried as the base; that all entries of the table are labels
 * of this function is the evidence for it. */
static int resolve_loosely(struct resolver *r, struct place at)
{
	int result = 0;
	r->targets.n = 0;
	r->loose = true;
	r->backslice->n_consts = 1;
	for (r->nth = 0; r->nth < MAX_BASES && r->nth < r->backslice->n_consts && result >= 0;
	     r->nth++) {
		int each = resolve_definition(r, at, 0);
		result = each ? each : result;
	}
	r->loose = false;
	return result;
}

static int resolve_jump(struct resolver *r, uint32_t block, bool *leads)
{
	const struct pugmark_block *at = &r->backslice->flow->blocks.at[block];
	uint32_t insn = at->insn + at->n_insns - 1;
	struct place place = {block, insn};
	r->jump = insn_addr(r->b, insn);
	r->targets.n = 0;
	r->grade = TABLE_PROVEN;
	r->leaves = r->crosses = r->looks_like_table = r->is_sum = false;
	if (!backslice_sem(r->backslice, insn))
		return -ENOMEM;
	int result = resolve_definition(r, place, 0);
	if (!result && r->looks_like_table)
		result = resolve_loosely(r, place);
	if (result < 0)
		return result;
	bool exhausted = !r->backslice->budget || !r->entries_left;
	if (exhausted && builder_table_of(r->b, insn))
		return 0; /* what was found before that stands */
	r->is_sum |= exhausted;
	if ((!result || exhausted) && settle_unknown(r))
		return -ENOMEM;
	return record(r, insn, leads);
}

static bool is_indirect_jump(const struct builder *b, const struct pugmark_block *block)
{
	uint32_t last = block->insn + block->n_insns - 1;
	const struct pugmark_insn *insn = &b->insns.at[last];
	return insn->kind == PUGMARK_INSN_JMP_IND &&
	       !decode_slot(insn, builder_insn_bytes(b, last), insn_addr(b, last));
}

/* Takes the function's CFG as cfg_build_all() has left it, if none would come out otherwise now: no
 * jump that is looked at leads anywhere in it. Nothing else of a function changes before it is
 * resolved. False: it has to be built. */
static bool take_built(const struct resolver *r, struct cfg *flow)
{
	const struct builder *b = r->b;
	const struct pugmark_func *f = &b->funcs.at[r->func];
	uint32_t n_edges = 0;
	flow->blocks.n = flow->edges.n = flow->sites.n = 0;
	for (uint32_t i = f->block; i < f->block + f->n_blocks; i++) {
		const struct pugmark_block *block = &b->blocks.at[i];
		n_edges += block->n_edges;
		if (block->n_edges && is_indirect_jump(b, block))
			return false;
	}
	if (!VEC_RESERVE(&flow->blocks, f->n_blocks) || !VEC_RESERVE(&flow->edges, n_edges))
		return false;
	for (uint32_t i = f->block; i < f->block + f->n_blocks; i++) {
		struct pugmark_block copy = b->blocks.at[i];
		copy.edge = flow->edges.n;
		copy.site = PUGMARK_NONE; /* no search asks for sites */
		for (uint32_t k = 0; k < copy.n_edges; k++) {
			struct pugmark_edge edge = b->edges.at[b->blocks.at[i].edge + k];
			edge.to -= f->block;
			flow->edges.at[flow->edges.n++] = edge;
		}
		flow->blocks.at[flow->blocks.n++] = copy;
	}
	return true;
}

static int resolve_function(struct resolver *r, struct cfg *flow)
{
	int err = 0;
	bool leads = true;
	for (int round = 0; round < MAX_ROUNDS && leads && !err; round++) {
		leads = false;
		if (round || !take_built(r, flow))
			err = cfg_build(r->b, r->func, flow);
		if (!err)
			err = backslice_enter(r->backslice, flow);
		for (uint32_t i = 0; i < flow->blocks.n && !err; i++)
			if (is_indirect_jump(r->b, &flow->blocks.at[i]))
				err = resolve_jump(r, i, &leads);
	}
	return err;
}

/* Whether the function has an indirect jump that is to be looked at. */
static bool needs_resolving(const struct builder *b, const struct pugmark_func *f)
{
	for (uint32_t i = f->block; i < f->block + f->n_blocks; i++) {
		const struct pugmark_block *block = &b->blocks.at[i];
		if (block->end != PUGMARK_END_OPEN && block->end != PUGMARK_END_TABLE &&
		    block->end != PUGMARK_END_TAIL)
			continue;
		const struct jump_table *table =
			builder_table_of(b, block->insn + block->n_insns - 1);
		if (is_indirect_jump(b, block) && !(table && table->settled))
			return true;
	}
	return false;
}

static int prepare(struct builder *b, struct resolver *r)
{
	if (!b->table_of_insn)
		b->table_of_insn = calloc((size_t)b->insns.n + 1, sizeof(*b->table_of_insn));
	if (!b->table_of_insn)
		return -ENOMEM;
	for (uint32_t i = 0; i < b->tables.n; i++)
		b->tables.at[i].stale = !b->tables.at[i].settled;
	if (!b->tables_known)
		b->data_refs.n = sort_unique(b->data_refs.at, b->data_refs.n);
	return backslice_begin(r->backslice, b);
}

/* Lists the functions that have something to resolve, in the order in which they may use up the
 * budget. Those without call frame information come last: there may be hundreds of thousands, of a
 * compiler that makes no tables. Of the others the smallest come first: an interpreter of thousands
 * of blocks may use up what is left, and no other function should lose by that. */
static int find_order(struct resolver *r)
{
	const struct builder *b = r->b;
	for (uint32_t i = 0; i < b->funcs.n; i++) {
		const struct pugmark_func *f = &b->funcs.at[i];
		uint64_t last = !!(f->flags & PUGMARK_FUNC_NO_CFI), blocks = f->n_blocks;
		if (needs_resolving(b, f) && !VEC_PUSH(&r->order, last << 63 | blocks << 32 | i))
			return -ENOMEM;
	}
	r->order.n = sort_unique(r->order.at, r->order.n);
	return 0;
}

int jumptable_resolve(struct builder *b, struct backslice *backslice, bool *crossed, bool *changed)
{
	struct resolver r = {
		.b = b,
		.backslice = backslice,
		.crossed = crossed,
		.changed = changed,
		.entries_left = ENTRY_BUDGET,
	};
	struct cfg flow = {0};
	int err = prepare(b, &r);
	if (!err)
		err = find_order(&r);
	if (!err)
		err = come_back_find(b, &r.come_back);
	for (uint32_t i = 0; i < r.order.n && !err; i++) {
		r.func = (uint32_t)r.order.at[i];
		err = resolve_function(&r, &flow);
	}
	for (uint32_t i = 0; i < b->tables.n; i++)
		*changed |= b->tables.at[i].stale;
	cfg_deinit(&flow);
	VEC_FREE(&r.order);
	come_back_deinit(&r.come_back);
	VEC_FREE(&r.targets);
	return err;
}

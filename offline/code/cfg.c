// SPDX-License-Identifier: LGPL-2.1-or-later
/* cfg.c: the control flow of one function, from its instructions and from the jump tables and the
 * calls that never return, as far as these are known by then. The passes that need predecessors
 * build it for one function; in the end it is built for all of them, into the model's arrays. */
#include "offline/base/search.h"
#include "offline/code/builder.h"
#include "offline/code/semantics.h"
#include "offline/code/stack_switch.h"

#include <errno.h>

/* The block being ended. */
struct ending {
	struct builder *b;
	struct cfg *flow;
	uint32_t func;
	uint32_t block; /* local index */
	uint32_t insn;	/* its last instruction */
	uint64_t addr, next;
};

static bool ends_here(const struct builder *b, uint32_t insn, uint32_t end)
{
	const struct pugmark_insn *i = &b->insns.at[insn];
	return insn_ends_block(i) || insn + 1 == end ||
	       b->insns.at[insn + 1].off != i->off + i->len ||
	       rankmap_has(&b->leaders, b->insns.at[insn + 1].off);
}

static int make_blocks(struct builder *b, uint32_t func, struct cfg *flow)
{
	const struct pugmark_func *f = &b->funcs.at[func];
	for (uint32_t k = 0; k < f->n_parts; k++) {
		const struct build_part *part = &b->parts.at[b->func_parts.at[f->part + k]];
		uint32_t end = insn_at(b, part->end), insn = insn_at(b, part->addr);
		if (!k && (insn == end || insn_addr(b, insn) != part->addr))
			return 0; /* the entry does not decode */
		while (insn < end) {
			struct pugmark_block block = {
				.addr = insn_addr(b, insn),
				.func = func,
				.insn = insn,
				.site = PUGMARK_NONE,
			};
			while (!ends_here(b, insn, end))
				insn++;
			block.n_insns = ++insn - block.insn;
			block.size = (uint32_t)(insn_addr(b, insn - 1) + b->insns.at[insn - 1].len -
						block.addr);
			if (rankmap_has(&b->taken, block.addr - b->text_addr))
				block.flags |= PUGMARK_BLOCK_ADDRESS_TAKEN;
			b->block_of_insn[block.insn] = flow->blocks.n;
			if (!VEC_PUSH(&flow->blocks, block))
				return -ENOMEM;
		}
	}
	return 0;
}

/* The local index of the block that starts at @addr, or PUGMARK_NONE if it is another's. */
static uint32_t local_block(const struct ending *e, uint64_t addr)
{
	if (!is_insn_start(e->b, addr))
		return PUGMARK_NONE;
	uint32_t insn = insn_at(e->b, addr), block = e->b->block_of_insn[insn];
	bool ours = block < e->flow->blocks.n && e->flow->blocks.at[block].insn == insn;
	return ours ? block : PUGMARK_NONE;
}

static int add_edge(struct ending *e, uint32_t to, uint32_t kind)
{
	return VEC_PUSH(&e->flow->edges, (struct pugmark_edge){to, kind}) ? 0 : -ENOMEM;
}

/* Adds the block's site. The target is looked up unless an import is given. */
static int add_site(struct ending *e, struct pugmark_site site)
{
	struct builder *b = e->b;
	site.addr = e->addr;
	site.return_addr = e->next;
	site.func = e->func;
	site.block = e->block;
	site.height = PUGMARK_HEIGHT_UNKNOWN;
	site.target = PUGMARK_NONE;
	if (site.import != PUGMARK_NONE) {
		site.via = PUGMARK_VIA_IMPORT;
		site.flags |= b->imports[site.import].flags;
		uint64_t local = elf_image_import_local(b->image)[site.import];
		if (local)
			site.target = builder_func_starting(b, local);
	} else if (site.via == PUGMARK_VIA_DIRECT) {
		site.target = builder_func_starting(b, site.target_addr);
	}
	if (site.target != PUGMARK_NONE) {
		uint64_t entry = b->funcs.at[site.target].addr - b->text_addr;
		if (rankmap_has(&b->noreturn, entry))
			site.flags |= PUGMARK_SITE_NORETURN;
		if (rankmap_has(&b->returns_twice, entry))
			site.flags |= PUGMARK_SITE_RETURNS_TWICE;
	}
	struct pugmark_block *block = &e->flow->blocks.at[e->block];
	if (block->site == PUGMARK_NONE)
		block->site = e->flow->sites.n;
	else
		block->flags |= PUGMARK_BLOCK_TWO_SITES;
	return VEC_PUSH(&e->flow->sites, site) ? 0 : -ENOMEM;
}

static int add_direct_site(struct ending *e, uint8_t kind, uint64_t target, uint8_t flags)
{
	const struct elf_code *code = builder_code_at(e->b, target);
	struct pugmark_site site = {
		.kind = kind,
		.via = PUGMARK_VIA_DIRECT,
		.target_addr = target,
		.import = PUGMARK_NONE,
		.flags = flags,
	};
	if (code && code->plt)
		site.import = elf_image_import_at(e->b->image, target);
	return add_site(e, site);
}

/* Landing pads of the call that ends the block. */
static int add_unwind_edges(struct ending *e)
{
	uint32_t n;
	const struct elf_landing *pads = elf_image_landings(e->b->image, &n);
	uint32_t low = SEARCH_FIRST_NOT(0, n, i, pads[i].addr < e->next);
	if (!low || e->next - 1 >= pads[low - 1].end)
		return 0;
	uint32_t to = local_block(e, pads[low - 1].pad);
	return to == PUGMARK_NONE ? 0 : add_edge(e, to, PUGMARK_EDGE_UNWIND);
}

/* Ends the block with a call whose site was added. A call at the very end of a part does not
 * return: what follows the part belongs to another function. */
static int end_call(struct ending *e)
{
	struct pugmark_block *block = &e->flow->blocks.at[e->block];
	struct pugmark_site *site = &e->flow->sites.at[block->site];
	uint32_t next = local_block(e, e->next);
	if (next == PUGMARK_NONE)
		site->flags |= PUGMARK_SITE_NORETURN;
	int err = 0;
	block->end = site->flags & PUGMARK_SITE_NORETURN ? PUGMARK_END_NORETURN : PUGMARK_END_CALL;
	if (block->end == PUGMARK_END_CALL) {
		if (site->flags & PUGMARK_SITE_RETURNS_TWICE)
			e->flow->blocks.at[next].flags |= PUGMARK_BLOCK_SETJMP_RETURN;
		err = add_edge(e, next, PUGMARK_EDGE_RETURN);
	}
	return err ? err : add_unwind_edges(e);
}

/* What is known of where a call or jump by a pointer goes. */
static void add_known(const struct ending *e, struct pugmark_site *site)
{
	site->import = builder_known_import(e->b, e->insn);
	site->flags = builder_known_flags(e->b, e->insn);
}

/* A call, or a jump that is one (builder_jump_calls()). */
static int end_indirect_call(struct ending *e)
{
	const struct pugmark_insn *insn = &e->b->insns.at[e->insn];
	uint64_t slot = decode_slot(insn, builder_insn_bytes(e->b, e->insn), e->addr);
	struct pugmark_site site = {
		.kind = PUGMARK_SITE_CALL, .via = PUGMARK_VIA_INDIRECT, .import = PUGMARK_NONE};
	if (slot)
		site.import = elf_image_import_at(e->b->image, slot);
	else
		add_known(e, &site);
	int err = add_site(e, site);
	return err ? err : end_call(e);
}

static int end_fall(struct ending *e)
{
	struct pugmark_block *block = &e->flow->blocks.at[e->block];
	uint32_t next = local_block(e, e->next);
	if (next != PUGMARK_NONE) {
		block->end = PUGMARK_END_FALL;
		return add_edge(e, next, PUGMARK_EDGE_FALL);
	}
	if (builder_func_starting(e->b, e->next) == PUGMARK_NONE) {
		block->end = PUGMARK_END_STRAY;
		return 0;
	}
	block->end = PUGMARK_END_TAIL;
	return add_direct_site(e, PUGMARK_SITE_TAIL, e->next, PUGMARK_SITE_FALLS);
}

/* Whether the compiler knows that a jump to @target is never taken: it leads to a label after the
 * last instruction of one of the function's own parts, while the frame is still there. */
static bool is_jump_nowhere(const struct ending *e, uint64_t target)
{
	const struct builder *b = e->b;
	return builder_func_ending(b, target) == e->func &&
	       !cfa_is_entry(builder_cfa_at(b, e->addr));
}

static int end_jump(struct ending *e)
{
	struct pugmark_block *block = &e->flow->blocks.at[e->block];
	uint64_t target = builder_insn_target(e->b, e->insn);
	uint32_t to = local_block(e, target);
	if (to != PUGMARK_NONE) {
		block->end = PUGMARK_END_JMP;
		return add_edge(e, to, PUGMARK_EDGE_JUMP);
	}
	if (!builder_code_at(e->b, target) || is_jump_nowhere(e, target)) {
		block->end = PUGMARK_END_STRAY;
		return 0;
	}
	block->end = PUGMARK_END_TAIL;
	return add_direct_site(e, PUGMARK_SITE_TAIL, target, 0);
}

static int end_conditional(struct ending *e)
{
	uint64_t target = builder_insn_target(e->b, e->insn);
	uint32_t to = local_block(e, target), next = local_block(e, e->next);
	int err = 0;
	if (to != PUGMARK_NONE)
		err = add_edge(e, to, PUGMARK_EDGE_TAKEN);
	else if (!is_jump_nowhere(e, target))
		err = add_direct_site(e, PUGMARK_SITE_TAIL, target, PUGMARK_SITE_CONDITIONAL);
	e->flow->blocks.at[e->block].end = PUGMARK_END_JCC;
	if (err)
		return err;
	if (next != PUGMARK_NONE)
		return add_edge(e, next, PUGMARK_EDGE_FALL);
	if (builder_func_starting(e->b, e->next) == PUGMARK_NONE)
		return 0;
	return add_direct_site(e, PUGMARK_SITE_TAIL, e->next,
			       PUGMARK_SITE_CONDITIONAL | PUGMARK_SITE_FALLS);
}

static int compare_edges(const void *a, const void *b)
{
	const struct pugmark_edge *x = a, *y = b;
	return x->to < y->to ? -1 : x->to > y->to;
}

static int add_table_edges(struct ending *e, const struct jump_table *table)
{
	struct cfg *flow = e->flow;
	uint32_t first = flow->edges.n;
	for (uint32_t i = 0; i < table->n_targets; i++) {
		uint32_t to = local_block(e, e->b->table_targets.at[table->target + i]);
		if (to != PUGMARK_NONE && add_edge(e, to, PUGMARK_EDGE_TABLE))
			return -ENOMEM;
	}
	if (flow->edges.n == first)
		return 0;
	qsort(flow->edges.at + first, flow->edges.n - first, sizeof(*flow->edges.at),
	      compare_edges);
	uint32_t kept = first + 1;
	for (uint32_t i = kept; i < flow->edges.n; i++)
		if (flow->edges.at[i].to != flow->edges.at[kept - 1].to)
			flow->edges.at[kept++] = flow->edges.at[i];
	flow->edges.n = kept;
	return 0;
}

static int end_indirect_jump(struct ending *e)
{
	struct pugmark_block *block = &e->flow->blocks.at[e->block];
	const struct pugmark_insn *insn = &e->b->insns.at[e->insn];
	uint64_t slot = decode_slot(insn, builder_insn_bytes(e->b, e->insn), e->addr);
	struct pugmark_site site = {
		.kind = PUGMARK_SITE_TAIL, .via = PUGMARK_VIA_INDIRECT, .import = PUGMARK_NONE};
	const struct jump_table *table = builder_table_of(e->b, e->insn);
	if (builder_jump_calls(e->b, e->insn))
		return end_indirect_call(e);
	if (slot || (table && table->grade == TABLE_TAIL)) {
		if (slot)
			site.import = elf_image_import_at(e->b->image, slot);
		else
			add_known(e, &site);
		block->end = PUGMARK_END_TAIL;
		return add_site(e, site);
	}
	block->end = !table || table->grade == TABLE_OPEN ? PUGMARK_END_OPEN : PUGMARK_END_TABLE;
	if (!table)
		return 0;
	if (table->grade == TABLE_NATURAL)
		block->flags |= PUGMARK_BLOCK_TABLE_NATURAL;
	if (table->leaves) {
		site.flags = PUGMARK_SITE_CONDITIONAL;
		if (add_site(e, site))
			return -ENOMEM;
	}
	return add_table_edges(e, table);
}

/* Whether the code from instruction @first, a function's entry, to the return @last has replaced
 * the return address by a word of memory: it pops one and pushes the other. Such a return is a
 * jump, and nobody comes back; Free Pascal leaves a program so, to where main() was called from. */
static bool replaces_return(const struct builder *b, uint32_t first, uint32_t last)
{
	const uint8_t *push = builder_insn_bytes(b, last - 1), len = b->insns.at[last - 1].len;
	bool high = len == 2 && push[0] == 0x41, loaded = false;
	uint8_t reg = (uint8_t)((push[len - 1] & 7) | high << 3);
	if ((len != 1 && !high) || (push[len - 1] & 0xf8) != 0x50)
		return false;
	struct sem sem;
	ZydisDecoder decoder;
	sem_decoder_init(&decoder);
	int popped = 0;
	for (uint32_t i = first; i + 1 < last; i++) {
		if (!sem_decode(&decoder, builder_insn_bytes(b, i), b->insns.at[i].len,
				insn_addr(b, i), &sem))
			return false;
		if (sem.op == SEM_PUSH || sem.op == SEM_POP)
			popped += sem.op == SEM_POP ? 1 : -1;
		else if (sem_writes(&sem, REG_SP))
			return false;
		if (sem_writes(&sem, reg))
			loaded = sem.op == SEM_LOAD && sem.base != REG_SP && sem.base != REG_BP;
	}
	return loaded && popped == 1;
}

/* Whether the return is that of a retpoline, to which a call has gone that is a jump: where a
 * register says. */
static bool jumps_by_return(const struct ending *e)
{
	const struct builder *b = e->b;
	const struct pugmark_block *block = &e->flow->blocks.at[e->block];
	return block->n_insns == 2 && block->addr != b->funcs.at[e->func].addr &&
	       decode_jumps_by_return(builder_insn_bytes(b, block->insn),
				      builder_insn_bytes(b, e->insn), b->insns.at[block->insn].len);
}

static int end_return(struct ending *e)
{
	struct pugmark_block *block = &e->flow->blocks.at[e->block];
	block->end = PUGMARK_END_RET;
	if (jumps_by_return(e)) {
		block->end = PUGMARK_END_TAIL;
		return add_site(e, (struct pugmark_site){.kind = PUGMARK_SITE_TAIL,
							 .via = PUGMARK_VIA_INDIRECT,
							 .import = PUGMARK_NONE});
	}
	if (block->addr != e->b->funcs.at[e->func].addr || block->n_insns < 4 ||
	    !replaces_return(e->b, block->insn, e->insn))
		return 0;
	block->end = PUGMARK_END_TAIL;
	return add_site(e, (struct pugmark_site){.kind = PUGMARK_SITE_TAIL,
						 .via = PUGMARK_VIA_INDIRECT,
						 .import = PUGMARK_NONE,
						 .flags = PUGMARK_SITE_NORETURN});
}

static int end_block(struct ending *e)
{
	struct pugmark_block *block = &e->flow->blocks.at[e->block];
	const struct pugmark_insn *last = &e->b->insns.at[e->insn];
	uint8_t reg;
	int err;
	if (insn_leaves(last) && stack_switch_is_final(e->b, e->func, block->insn, e->insn)) {
		block->end = PUGMARK_END_TRAP;
		return 0;
	}
	switch (last->kind) {
	case PUGMARK_INSN_CALL:
		if (builder_calls_register(e->b, e->addr, &reg))
			return end_indirect_call(e);
		err = add_direct_site(e, PUGMARK_SITE_CALL, builder_insn_target(e->b, e->insn), 0);
		return err ? err : end_call(e);
	case PUGMARK_INSN_CALL_IND:
		return end_indirect_call(e);
	case PUGMARK_INSN_JMP:
		return end_jump(e);
	case PUGMARK_INSN_JMP_IND:
		return end_indirect_jump(e);
	case PUGMARK_INSN_JCC:
	case PUGMARK_INSN_JCXZ:
	case PUGMARK_INSN_XBEGIN:
		return end_conditional(e);
	case PUGMARK_INSN_RET:
		return end_return(e);
	case PUGMARK_INSN_TRAP:
		block->end = PUGMARK_END_TRAP;
		return 0;
	default:
		return end_fall(e);
	}
}

static void mark_pads(struct cfg *flow)
{
	for (uint32_t i = 0; i < flow->edges.n; i++)
		if (flow->edges.at[i].kind == PUGMARK_EDGE_UNWIND)
			flow->blocks.at[flow->edges.at[i].to].flags |= PUGMARK_BLOCK_LANDING_PAD;
}

int cfg_build(struct builder *b, uint32_t func, struct cfg *flow)
{
	flow->blocks.n = flow->edges.n = flow->sites.n = 0;
	int err = make_blocks(b, func, flow);
	for (uint32_t i = 0; i < flow->blocks.n && !err; i++) {
		struct pugmark_block *block = &flow->blocks.at[i];
		uint32_t last = block->insn + block->n_insns - 1;
		struct ending e = {
			.b = b,
			.flow = flow,
			.func = func,
			.block = i,
			.insn = last,
			.addr = insn_addr(b, last),
			.next = block->addr + block->size,
		};
		block->edge = flow->edges.n;
		err = end_block(&e);
		flow->blocks.at[i].n_edges = flow->edges.n - flow->blocks.at[i].edge;
	}
	mark_pads(flow);
	return err;
}

void cfg_deinit(struct cfg *flow)
{
	VEC_FREE(&flow->blocks);
	VEC_FREE(&flow->edges);
	VEC_FREE(&flow->sites);
	VEC_FREE(&flow->stack);
}

static void set_leader(struct builder *b, uint64_t addr)
{
	if (is_insn_start(b, addr))
		rankmap_set(&b->leaders, addr - b->text_addr);
}

/* Marks where blocks start, but for the targets of jumps: sweep.c marks those of direct ones,
 * jumptable.c those of tables. */
static void mark_leaders(struct builder *b)
{
	uint32_t n;
	for (uint32_t i = 0; i < b->parts.n; i++)
		set_leader(b, b->parts.at[i].addr);
	const struct elf_landing *landings = elf_image_landings(b->image, &n);
	for (uint32_t i = 0; i < n; i++)
		set_leader(b, landings[i].pad);
	for (uint64_t word = 0; word <= b->taken.n_bits / 64; word++)
		b->leaders.bits[word] |= b->taken.bits[word] & b->starts.bits[word];
}

#define BLOCKS_MAX (1u << 29) /* of which an edge can tell one */

static int append(struct builder *b, uint32_t func, const struct cfg *flow)
{
	uint32_t block = b->blocks.n, edge = b->edges.n, site = b->sites.n;
	if (flow->blocks.n > BLOCKS_MAX - block)
		return -EFBIG;
	if (!VEC_RESERVE(&b->blocks, flow->blocks.n) || !VEC_RESERVE(&b->edges, flow->edges.n) ||
	    !VEC_RESERVE(&b->sites, flow->sites.n))
		return -ENOMEM;
	struct pugmark_func *f = &b->funcs.at[func];
	f->block = block;
	f->n_blocks = flow->blocks.n;
	f->site = site;
	f->n_sites = flow->sites.n;
	f->flags &= ~(uint32_t)(PUGMARK_FUNC_OPAQUE | PUGMARK_FUNC_OPEN_JUMP);
	if (!flow->blocks.n)
		f->flags |= PUGMARK_FUNC_OPAQUE;
	for (uint32_t i = 0; i < flow->blocks.n; i++) {
		struct pugmark_block copy = flow->blocks.at[i];
		copy.edge += edge;
		if (copy.site != PUGMARK_NONE)
			copy.site += site;
		if (copy.end == PUGMARK_END_OPEN)
			f->flags |= PUGMARK_FUNC_OPEN_JUMP;
		b->blocks.at[b->blocks.n++] = copy;
	}
	for (uint32_t i = 0; i < flow->edges.n; i++) {
		struct pugmark_edge copy = flow->edges.at[i];
		copy.to += block;
		b->edges.at[b->edges.n++] = copy;
	}
	for (uint32_t i = 0; i < flow->sites.n; i++) {
		struct pugmark_site copy = flow->sites.at[i];
		copy.block += block;
		b->sites.at[b->sites.n++] = copy;
	}
	return 0;
}

int cfg_build_all(struct builder *b)
{
	struct cfg flow = {0};
	int err = 0;
	if (!b->block_of_insn) /* what is left in it from before shows as another's block */
		b->block_of_insn = calloc((size_t)b->insns.n + 1, sizeof(*b->block_of_insn));
	if (!b->block_of_insn)
		return -ENOMEM;
	mark_leaders(b);
	b->blocks.n = b->edges.n = b->sites.n = 0;
	for (uint32_t i = 0; i < b->funcs.n && !err; i++) {
		err = cfg_build(b, i, &flow);
		if (!err)
			err = append(b, i, &flow);
	}
	cfg_deinit(&flow);
	return err;
}

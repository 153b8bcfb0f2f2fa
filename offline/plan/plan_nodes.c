// SPDX-License-Identifier: LGPL-2.1-or-later
/* plan_nodes.c: what the blocks of a program become in its plan: a node for each that shows or
 * decides something, and a site with what its probe reads for each that is marked. */
#include "offline/plan/plan_build_impl.h"

#include "offline/plan/site_operand.h"

static void site_from_model(struct plan_builder *b, struct pugmark_plan_site *s)
{
	s->off_file = pugmark_model_file_offset(b->model, s->addr);
	struct pugmark_cfa cfa = pugmark_model_cfa_at(b->model, s->addr);
	s->cfa_reg = cfa.reg;
	s->cfa_off = cfa.offset;
	s->bp = cfa.bp;
	struct site_operand operand;
	if (site_operand_at(b->model, s->addr, &operand))
		return;
	s->probe = operand.probe;
	s->cond = operand.cond;
	s->operand = operand.target;
}

/* Which of the values asked for the witness at @addr reads: those that are still in their registers
 * there. */
static uint8_t reads_at(const struct program *prog, const struct prog_block *pb, uint64_t addr)
{
	bool at_call =
		pb->flags & PROG_READ_CALL && pb->call != CALL_NONE && addr == prog_call_addr(pb);
	bool at_start = pb->flags & PROG_READ && addr == prog_probe_addr(prog, &pb->any);
	return at_call || at_start ? pb->reads : 0;
}

static uint32_t add_site(struct plan_builder *b, uint32_t block)
{
	const struct prog_block *pb = &b->prog->blocks[block];
	uint8_t mark = b->choice->marks[block];
	uint32_t index = b->plan.n_sites++;
	struct pugmark_plan_site *s = &b->sites[index];
	*s = (struct pugmark_plan_site){.func = pb->func, .kind = PUGMARK_WITNESS_BLOCK};
	s->addr = prog_probe_addr(b->prog, mark == MARK_BLOCK ? &pb->any : &pb->last);
	s->reads = reads_at(b->prog, pb, s->addr);
	if (mark == MARK_LAST && pb->flags & PROG_RET)
		s->kind = PUGMARK_WITNESS_RETURN;
	if (b->model)
		site_from_model(b, s);
	else
		s->cfa_reg = (mark == MARK_BLOCK ? pb->any.cfa_known : pb->last.cfa_known)
				     ? PUGMARK_CFA_SP
				     : PUGMARK_CFA_UNKNOWN;
	if (mark == MARK_BRANCH) {
		s->kind = PUGMARK_WITNESS_BRANCH;
		s->capture |= PUGMARK_CAPTURE_FLAGS;
	} else if (mark == MARK_TARGET) {
		s->kind = PUGMARK_WITNESS_TARGET;
		s->capture |= PUGMARK_CAPTURE_TARGET;
	}
	if (b->choice->capture_ret[block] && s->cfa_reg != PUGMARK_CFA_UNKNOWN)
		s->capture |= PUGMARK_CAPTURE_RET;
	const struct prog_func *f = &b->prog->funcs[pb->func];
	if (f->flags & PROG_ENTRY_WITNESS && f->block == block)
		s->capture |= PUGMARK_CAPTURE_RET | PUGMARK_CAPTURE_SNAPSHOT;
	if (pb->flags & PROG_ROOT)
		s->capture |= PUGMARK_CAPTURE_STACK |
			      (pb->flags & PROG_AGAIN ? PUGMARK_CAPTURE_IF_AGAIN : 0) |
			      (pb->flags & PROG_SETJMP ? PUGMARK_CAPTURE_BELOW : 0) |
			      (s->cfa_reg != PUGMARK_CFA_UNKNOWN ? PUGMARK_CAPTURE_RET : 0);
	return index;
}

/* A direct call at an unknown height reports where its callee's frame will be. One that begins a
 * landing pad reports that by the stack that it reads, since its event has to say which frame it is
 * in itself. */
static void report_callee_cfa(struct plan_builder *b, uint32_t block, struct pugmark_plan_node *n)
{
	const struct prog_block *pb = &b->prog->blocks[block];
	if (b->choice->marks[block] != MARK_LAST ||
	    (n->kind != PUGMARK_NODE_KIND_CALL && n->kind != PUGMARK_NODE_KIND_UNKNOWN) ||
	    n->flags & PUGMARK_NODE_TAIL || pb->height != PUGMARK_HEIGHT_UNKNOWN)
		return;
	if (pb->flags & PROG_ROOT && b->sites[n->site].cfa_reg != PUGMARK_CFA_UNKNOWN) {
		b->sites[n->site].capture &= ~(PUGMARK_CAPTURE_IF_AGAIN | PUGMARK_CAPTURE_BELOW);
		return;
	}
	n->flags |= PUGMARK_NODE_CALLEE_CFA;
	b->sites[n->site].cfa_reg = PUGMARK_CFA_SP;
	b->sites[n->site].cfa_off = 0;
	b->sites[n->site].capture &= ~PUGMARK_CAPTURE_RET;
}

static void node_from_call(struct plan_builder *b, uint32_t block, struct pugmark_plan_node *n)
{
	const struct prog_block *pb = &b->prog->blocks[block];
	static const uint8_t kinds[] = {
		[CALL_DIRECT] = PUGMARK_NODE_KIND_CALL,
		[CALL_UNKNOWN] = PUGMARK_NODE_KIND_UNKNOWN,
		[CALL_LEAF] = PUGMARK_NODE_KIND_LEAF,
	};
	n->kind = kinds[pb->call];
	n->addr = prog_call_addr(pb);
	n->height = pb->height;
	n->call_len = pb->call_len;
	n->callee = pb->call == CALL_DIRECT ? pb->callee : PUGMARK_NONE;
	if (pb->flags & PROG_TAIL)
		n->flags |= PUGMARK_NODE_TAIL;
	if (pb->flags & PROG_NORETURN)
		n->flags |= PUGMARK_NODE_NORETURN;
	if (pb->flags & PROG_SWITCHES)
		n->flags |= PUGMARK_NODE_SWITCHES;
	if (b->model && pb->site != PUGMARK_NONE) {
		uint32_t import = b->model->sites[pb->site].import;
		if (import != PUGMARK_NONE)
			n->import = b->import_name[import];
		if (pb->call == CALL_UNKNOWN && import != PUGMARK_NONE)
			n->callee = b->model->sites[pb->site].target;
		if (pb->call == CALL_UNKNOWN && import != PUGMARK_NONE &&
		    b->model->imports[import].ifunc)
			n->flags |= PUGMARK_NODE_IFUNC;
	}
	if (pb->call == CALL_UNKNOWN && pb->flags & PROG_TO_OPAQUE)
		n->callee = pb->callee;
	/* The import's name tells a jump into another module from a jump to anywhere. */
	if (!b->model && pb->call == CALL_UNKNOWN && pb->flags & PROG_TAIL &&
	    !(pb->flags & (PROG_INDIRECT | PROG_TO_OPAQUE)))
		n->import = b->elsewhere;
	report_callee_cfa(b, block, n);
}

/* Whether the trace is to show that @block was executed: not a virtual block, and of a block that
 * was split before its call only one half. */
static bool shows_block(const struct plan_builder *b, uint32_t block)
{
	const struct prog_block *pb = &b->prog->blocks[block];
	const struct prog_func *f = &b->prog->funcs[pb->func];
	if (!(f->flags & PROG_PATHS) || pb->flags & PROG_VIRTUAL)
		return false;
	return block == f->block || pb->origin == PUGMARK_NONE ||
	       b->prog->blocks[block - 1].origin != pb->origin;
}

void plan_builder_node(struct plan_builder *b, uint32_t block)
{
	const struct prog_block *pb = &b->prog->blocks[block];
	uint8_t mark = b->choice->marks[block];
	struct pugmark_plan_node *n = &b->nodes[b->plan.n_nodes];
	*n = (struct pugmark_plan_node){
		.addr = pb->addr,
		.func = pb->func,
		.site = mark ? add_site(b, block) : PUGMARK_NONE,
		.callee = PUGMARK_NONE,
		.arm = PUGMARK_NODE_NOTHING_NEXT,
		.height = PUGMARK_HEIGHT_UNKNOWN,
	};
	if (pb->call != CALL_NONE)
		node_from_call(b, block, n);
	else if (pb->flags & PROG_RET && b->choice->returns_apart)
		n->kind = PUGMARK_NODE_KIND_RETURN;
	else if (mark == MARK_BRANCH)
		n->kind = PUGMARK_NODE_KIND_BRANCH;
	else if (mark == MARK_TARGET)
		n->kind = PUGMARK_NODE_KIND_TARGET;
	else
		n->kind = mark ? PUGMARK_NODE_KIND_MARK : PUGMARK_NODE_KIND_BLOCK;
	if (shows_block(b, block)) {
		n->flags |= PUGMARK_NODE_SHOWS_BLOCK;
		if (pb->call != CALL_NONE)
			n->arm.other.block_bytes = pb->call_off;
	}
	if (pb->flags & PROG_ROOT)
		n->flags |= PUGMARK_NODE_ROOT;
	b->node_of[block] = b->plan.n_nodes++;
}

/* The block of the model where an exception lands that comes out of the call of @pb; PUGMARK_NONE:
 * in none of the function. */
static uint32_t landing_of(const struct plan_builder *b, const struct prog_block *pb)
{
	const struct pugmark_block *block = &b->model->blocks[pb->origin];
	for (uint32_t i = block->edge; i < block->edge + block->n_edges; i++)
		if (b->model->edges[i].kind == PUGMARK_EDGE_UNWIND)
			return b->model->edges[i].to;
	return PUGMARK_NONE;
}

/* The number of the node that tells that block @pad of the model, of function @func, was landed in.
 */
static uint8_t landing_number(const struct plan_builder *b, uint32_t func, uint32_t pad)
{
	const struct prog_func *pf = &b->prog->funcs[func];
	uint32_t number = 0;
	for (uint32_t i = pf->block; i < pf->block + pf->n_blocks; i++) {
		const struct prog_block *pb = &b->prog->blocks[i];
		if (!(pb->flags & PROG_ROOT) || b->node_of[i] < b->funcs[func].node)
			continue;
		number++;
		if (pb->origin == pad)
			return number < PUGMARK_LANDING_OTHER ? (uint8_t)number
							      : PUGMARK_LANDING_OTHER;
	}
	return PUGMARK_LANDING_NOT_KNOWN;
}

void plan_builder_landings(struct plan_builder *b, uint32_t func)
{
	const struct prog_func *pf = &b->prog->funcs[func];
	for (uint32_t i = pf->block; b->model && i < pf->block + pf->n_blocks; i++) {
		const struct prog_block *pb = &b->prog->blocks[i];
		if (pb->call == CALL_NONE || b->node_of[i] < b->funcs[func].node)
			continue;
		bool tail = pb->flags & PROG_TAIL; /* its frame is gone */
		uint8_t *landing = &b->nodes[b->node_of[i]].landing;
		*landing = tail ? PUGMARK_LANDING_NONE : PUGMARK_LANDING_NOT_KNOWN;
		if (tail || pb->origin == PUGMARK_NONE)
			continue;
		uint32_t pad = landing_of(b, pb);
		*landing =
			pad == PUGMARK_NONE ? PUGMARK_LANDING_NONE : landing_number(b, func, pad);
	}
}

void plan_builder_opaque_nodes(struct plan_builder *b, uint32_t func)
{
	const struct program *prog = b->prog;
	for (; b->next_opaque < prog->n_opaque_calls; b->next_opaque++) {
		const struct prog_opaque_call *call = &prog->opaque_calls[b->next_opaque];
		if (call->func != func)
			break;
		b->nodes[b->plan.n_nodes++] = (struct pugmark_plan_node){
			.kind = PUGMARK_NODE_KIND_OPAQUE,
			.addr = call->addr,
			.func = func,
			.site = PUGMARK_NONE,
			.callee = call->callee,
			.arm.opaque = {PUGMARK_NONE, call->above_bp},
			.height = call->height,
			.bp = call->bp,
			.flags = (call->flags & PROG_TAIL ? PUGMARK_NODE_TAIL : 0) |
				 (call->flags & PROG_NORETURN ? PUGMARK_NODE_NORETURN : 0),
			.call_len = call->len,
		};
	}
}

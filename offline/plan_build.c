// SPDX-License-Identifier: LGPL-2.1-or-later
/* plan_build.c: from a program and its marks to the tables of a plan: a site for each mark, a node
 * for each block that shows, and the decisions between them, each set of alternatives once. */
#include "offline/plan_build.h"

#include "offline/chooser.h"
#include "offline/plan_file.h"
#include "offline/plan_points.h"
#include "offline/site_operand.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct builder {
	struct chooser ch; /* only asked for alternatives */
	const struct program *prog;
	const struct choice *choice;
	const struct pugmark_model *model;
	struct pugmark_plan plan;
	struct plan_site *sites;
	struct plan_func *funcs;
	struct plan_node *nodes;
	struct plan_decision *decisions;
	struct vec alternatives;
	struct plan_target *targets;
	struct plan_point *points;
	struct plan_unresolved *unresolved;
	char *strings;
	uint32_t cap_decisions, cap_targets, cap_strings;
	uint32_t next_opaque;  /* of the program's opaque calls */
	uint32_t *node_of;     /* per block */
	uint32_t *import_name; /* per import of the model: offset in strings */
	uint32_t elsewhere;    /* without a model: the name of every import */
	uint32_t *table;       /* hash of decisions: index + 1 */
	uint32_t table_size;
	bool has_ifunc; /* a name may be of any function whose address is taken */
	bool failed;
};

static void *grown(struct builder *b, void *array, uint32_t n, uint32_t *cap, size_t size)
{
	if (n < *cap)
		return array;
	uint32_t more = *cap ? 2 * *cap : 256;
	void *bigger = realloc(array, more * size);
	if (!bigger) {
		b->failed = true;
		return array;
	}
	*cap = more;
	return bigger;
}

static uint32_t add_string(struct builder *b, const char *text)
{
	uint32_t len = strlen(text) + 1;
	while (b->plan.strings_bytes + len > b->cap_strings) {
		uint32_t cap = b->cap_strings ? 2 * b->cap_strings : 4096;
		char *strings = realloc(b->strings, cap);
		if (!strings) {
			b->failed = true;
			return 0;
		}
		b->strings = strings;
		b->cap_strings = cap;
	}
	memcpy(b->strings + b->plan.strings_bytes, text, len);
	b->plan.strings_bytes += len;
	return b->plan.strings_bytes - len;
}

static void site_from_model(struct builder *b, struct plan_site *s)
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

/* What the witness at @addr reads: what is asked for, if it is where that still stands. */
static uint8_t reads_at(const struct prog_block *pb, uint64_t addr)
{
	bool at_call = pb->flags & PROG_READ_CALL && addr == pb->call_addr;
	bool at_start = pb->flags & PROG_READ && addr == pb->any.addr;
	return at_call || at_start ? pb->reads : 0;
}

static uint32_t add_site(struct builder *b, uint32_t block)
{
	const struct prog_block *pb = &b->prog->blocks[block];
	uint8_t mark = b->choice->marks[block];
	uint32_t index = b->plan.n_sites++;
	struct plan_site *s = &b->sites[index];
	*s = (struct plan_site){.func = pb->func, .kind = WITNESS_BLOCK};
	s->addr = mark == MARK_BLOCK ? pb->any.addr : pb->last.addr;
	s->reads = reads_at(pb, s->addr);
	if (mark == MARK_LAST && pb->flags & PROG_RET)
		s->kind = WITNESS_RETURN;
	if (b->model)
		site_from_model(b, s);
	else
		s->cfa_reg = (mark == MARK_BLOCK ? pb->any.cfa_known : pb->last.cfa_known)
				     ? CFA_SP
				     : CFA_UNKNOWN;
	if (mark == MARK_BRANCH) {
		s->kind = WITNESS_BRANCH;
		s->capture |= CAPTURE_FLAGS;
	} else if (mark == MARK_TARGET) {
		s->kind = WITNESS_TARGET;
		s->capture |= CAPTURE_TARGET;
	}
	if (b->choice->capture_ret[block] && s->cfa_reg != CFA_UNKNOWN)
		s->capture |= CAPTURE_RET;
	const struct prog_func *f = &b->prog->funcs[pb->func];
	if (f->flags & PROG_ENTRY_WITNESS && f->block == block)
		s->capture |= CAPTURE_RET | CAPTURE_SNAPSHOT;
	if (pb->flags & PROG_ROOT)
		s->capture |= CAPTURE_STACK | (s->cfa_reg != CFA_UNKNOWN ? CAPTURE_RET : 0);
	return index;
}

/* A direct call at an unknown height reports where its callee's frame will be; one that begins a
 * landing pad by the stack that it reads, since its event is to say in which frame it is itself. */
static void report_callee_cfa(struct builder *b, uint32_t block, struct plan_node *n)
{
	const struct prog_block *pb = &b->prog->blocks[block];
	if (b->choice->marks[block] != MARK_LAST ||
	    (n->kind != NODE_KIND_CALL && n->kind != NODE_KIND_UNKNOWN) || n->flags & NODE_TAIL ||
	    pb->height != PUGMARK_HEIGHT_UNKNOWN ||
	    (pb->flags & PROG_ROOT && b->sites[n->site].cfa_reg != CFA_UNKNOWN))
		return;
	n->flags |= NODE_CALLEE_CFA;
	b->sites[n->site].cfa_reg = CFA_SP;
	b->sites[n->site].cfa_off = 0;
	b->sites[n->site].capture &= ~CAPTURE_RET;
}

static void node_from_call(struct builder *b, uint32_t block, struct plan_node *n)
{
	const struct prog_block *pb = &b->prog->blocks[block];
	static const uint8_t kinds[] = {
		[CALL_DIRECT] = NODE_KIND_CALL,
		[CALL_UNKNOWN] = NODE_KIND_UNKNOWN,
		[CALL_LEAF] = NODE_KIND_LEAF,
	};
	n->kind = kinds[pb->call];
	n->addr = pb->call_addr;
	n->height = pb->height;
	n->call_len = pb->call_len;
	n->callee = pb->call == CALL_DIRECT ? pb->callee : PUGMARK_NONE;
	if (pb->flags & PROG_TAIL)
		n->flags |= NODE_TAIL;
	if (pb->flags & PROG_NORETURN)
		n->flags |= NODE_NORETURN;
	if (pb->flags & PROG_SWITCHES)
		n->flags |= NODE_SWITCHES;
	if (b->model && pb->site != PUGMARK_NONE) {
		uint32_t import = b->model->sites[pb->site].import;
		if (import != PUGMARK_NONE)
			n->import = b->import_name[import];
		if (pb->call == CALL_UNKNOWN && import != PUGMARK_NONE)
			n->callee = b->model->sites[pb->site].target;
		if (pb->call == CALL_UNKNOWN && import != PUGMARK_NONE &&
		    b->model->imports[import].ifunc)
			n->flags |= NODE_IFUNC;
	}
	if (pb->call == CALL_UNKNOWN && pb->flags & PROG_TO_OPAQUE)
		n->callee = pb->callee;
	/* What tells a jump into another module from one to anywhere is the import's name. */
	if (!b->model && pb->call == CALL_UNKNOWN && pb->flags & PROG_TAIL &&
	    !(pb->flags & (PROG_INDIRECT | PROG_TO_OPAQUE)))
		n->import = b->elsewhere;
	report_callee_cfa(b, block, n);
}

/* Whether the trace is to show that @block is executed: not for the way of a jump that leaves the
 * function, and once only for a block that was split before its call. */
static bool shows_block(const struct builder *b, uint32_t block)
{
	const struct prog_block *pb = &b->prog->blocks[block];
	const struct prog_func *f = &b->prog->funcs[pb->func];
	if (!(f->flags & PROG_PATHS) || pb->flags & PROG_VIRTUAL)
		return false;
	return block == f->block || pb->origin == PUGMARK_NONE ||
	       b->prog->blocks[block - 1].origin != pb->origin;
}

static void add_node(struct builder *b, uint32_t block)
{
	const struct prog_block *pb = &b->prog->blocks[block];
	uint8_t mark = b->choice->marks[block];
	struct plan_node *n = &b->nodes[b->plan.n_nodes];
	*n = (struct plan_node){
		.addr = pb->addr,
		.func = pb->func,
		.site = mark ? add_site(b, block) : PUGMARK_NONE,
		.callee = PUGMARK_NONE,
		.next = PUGMARK_NONE,
		.next_taken = PUGMARK_NONE,
		.height = PUGMARK_HEIGHT_UNKNOWN,
	};
	if (pb->call != CALL_NONE)
		node_from_call(b, block, n);
	else if (pb->flags & PROG_RET && b->choice->returns_apart)
		n->kind = NODE_KIND_RETURN;
	else if (mark == MARK_BRANCH)
		n->kind = NODE_KIND_BRANCH;
	else if (mark == MARK_TARGET)
		n->kind = NODE_KIND_TARGET;
	else
		n->kind = mark ? NODE_KIND_MARK : NODE_KIND_BLOCK;
	if (shows_block(b, block)) {
		n->flags |= NODE_SHOWS_BLOCK;
		if (pb->call != CALL_NONE)
			n->next_taken = pb->call_addr - pb->addr;
	}
	if (pb->flags & PROG_ROOT)
		n->flags |= NODE_ROOT;
	b->node_of[block] = b->plan.n_nodes++;
}

/* Of function @func, which is not modelled. */
static void add_opaque_nodes(struct builder *b, uint32_t func)
{
	const struct program *prog = b->prog;
	for (; b->next_opaque < prog->n_opaque_calls; b->next_opaque++) {
		const struct prog_opaque_call *call = &prog->opaque_calls[b->next_opaque];
		if (call->func != func)
			break;
		b->nodes[b->plan.n_nodes++] = (struct plan_node){
			.kind = NODE_KIND_OPAQUE,
			.addr = call->addr,
			.func = func,
			.site = PUGMARK_NONE,
			.callee = call->callee,
			.next = PUGMARK_NONE,
			.next_taken = call->above_bp,
			.height = call->height,
			.bp = call->bp,
			.flags = (call->flags & PROG_TAIL ? NODE_TAIL : 0) |
				 (call->flags & PROG_NORETURN ? NODE_NORETURN : 0),
			.call_len = call->len,
		};
	}
}

static uint32_t hash_nodes(const uint32_t *at, uint32_t n)
{
	uint32_t h = 2166136261u;
	for (uint32_t i = 0; i < n; i++)
		h = (h ^ at[i]) * 16777619u;
	return h;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

static void rehash(struct builder *b)
{
	uint32_t size = b->table_size ? 2 * b->table_size : 1024;
	uint32_t *table = calloc(size, sizeof(*table));
	if (!table) {
		b->failed = true;
		return;
	}
	for (uint32_t i = 0; i < b->plan.n_decisions; i++) {
		const struct plan_decision *d = &b->decisions[i];
		uint32_t h = hash_nodes(b->alternatives.at + d->first, d->n);
		while (table[h & (size - 1)])
			h++;
		table[h & (size - 1)] = i + 1;
	}
	free(b->table);
	b->table = table;
	b->table_size = size;
}

static uint32_t add_decision(struct builder *b, struct decision d)
{
	struct vec *alts = &b->ch.alts;
	chooser_alternatives(&b->ch, d, alts);
	for (uint32_t i = 0; i < alts->n; i++)
		alts->at[i] = alts->at[i] == NODE_EXIT ? 0 : b->node_of[alts->at[i]];
	if (alts->n)
		qsort(alts->at, alts->n, sizeof(uint32_t), by_number);
	if (2 * b->plan.n_decisions >= b->table_size)
		rehash(b);
	if (b->failed)
		return PUGMARK_NONE;
	uint32_t h = hash_nodes(alts->at, alts->n);
	for (; b->table[h & (b->table_size - 1)]; h++) {
		uint32_t i = b->table[h & (b->table_size - 1)] - 1;
		const struct plan_decision *e = &b->decisions[i];
		if (e->n == alts->n &&
		    !memcmp(b->alternatives.at + e->first, alts->at, alts->n * sizeof(uint32_t)))
			return i;
	}
	b->decisions = grown(b, b->decisions, b->plan.n_decisions, &b->cap_decisions,
			     sizeof(*b->decisions));
	uint32_t first = b->alternatives.n;
	for (uint32_t i = 0; i < alts->n; i++)
		b->failed |= !vec_push(&b->alternatives, alts->at[i]);
	if (b->failed)
		return PUGMARK_NONE;
	b->decisions[b->plan.n_decisions] = (struct plan_decision){first, alts->n};
	b->table[h & (b->table_size - 1)] = b->plan.n_decisions + 1;
	return b->plan.n_decisions++;
}

static void add_targets(struct builder *b, uint32_t block, struct plan_node *n)
{
	const struct prog_block *pb = &b->prog->blocks[block];
	n->next = b->plan.n_targets;
	for (uint32_t i = 0; i < pb->n_succ; i++) {
		const struct prog_block *to = &b->prog->blocks[prog_succs(b->prog, block)[i]];
		uint32_t decision = add_decision(b, (struct decision){pb->func, block, i});
		b->targets = grown(b, b->targets, b->plan.n_targets, &b->cap_targets,
				   sizeof(*b->targets));
		if (b->failed)
			return;
		b->targets[b->plan.n_targets++] = (struct plan_target){
			.addr = to->flags & PROG_VIRTUAL ? PLAN_TARGET_ELSEWHERE : to->addr,
			.decision = decision,
		};
	}
	n->next_taken = b->plan.n_targets - n->next;
}

static void connect(struct builder *b, uint32_t block)
{
	const struct prog_block *pb = &b->prog->blocks[block];
	struct plan_node *n = &b->nodes[b->node_of[block]];
	if (n->kind == NODE_KIND_TARGET) {
		add_targets(b, block, n);
	} else if (n->kind == NODE_KIND_BRANCH) {
		n->next = add_decision(b, (struct decision){pb->func, block, 0});
		n->next_taken = add_decision(b, (struct decision){pb->func, block, 1});
	} else if (!(n->flags & NODE_NORETURN)) {
		n->next = add_decision(b, (struct decision){pb->func, block, WAY_ALL});
	}
}

static void add_func(struct builder *b, uint32_t func)
{
	const struct prog_func *pf = &b->prog->funcs[func];
	struct plan_func *f = &b->funcs[func];
	*f = (struct plan_func){.addr = pf->addr, .entry = PUGMARK_NONE, .node = b->plan.n_nodes};
	if (b->model) {
		const struct pugmark_func *mf = &b->model->funcs[pf->origin];
		f->name = add_string(b, mf->name);
		if (mf->flags & FUNC_EXPORTED || (b->has_ifunc && mf->flags & FUNC_ADDRESS_TAKEN))
			f->flags |= PLAN_FUNC_EXPORTED;
	}
	if (pf->flags & PROG_ENTRY_WITNESS)
		f->flags |= PLAN_FUNC_ENTERED;
	if (pf->flags & PROG_OPAQUE)
		f->flags |= PLAN_FUNC_OPAQUE;
	if (pf->flags & PROG_FUNC_SWITCHES)
		f->flags |= PLAN_FUNC_SWITCHES;
	if (pf->flags & PROG_FUNC_LEAVES)
		f->flags |= PLAN_FUNC_LEAVES;
	if (b->model && b->model->entry && pf->addr == b->model->entry)
		f->flags |= PLAN_FUNC_START;
	for (uint32_t i = pf->block; i < pf->block + pf->n_blocks; i++)
		if (b->prog->blocks[i].flags & PROG_REACHED && chooser_is_node(&b->ch, i))
			add_node(b, i);
	add_opaque_nodes(b, func);
	f->n_nodes = b->plan.n_nodes - f->node;
	if (pf->n_blocks)
		f->entry = add_decision(b, (struct decision){func, PUGMARK_NONE, WAY_ALL});
	for (uint32_t i = pf->block; i < pf->block + pf->n_blocks; i++)
		if (b->prog->blocks[i].flags & PROG_REACHED && chooser_is_node(&b->ch, i))
			connect(b, i);
}

static int builder_init(struct builder *b, const struct program *prog, const struct choice *choice,
			const struct pugmark_model *model)
{
	*b = (struct builder){.prog = prog, .choice = choice, .model = model};
	int err = chooser_init(&b->ch, prog);
	if (err)
		return err;
	memcpy(b->ch.marks, choice->marks, prog->n_blocks);
	b->ch.returns_apart = choice->returns_apart;
	b->sites = calloc(prog->n_blocks + 1, sizeof(*b->sites));
	b->funcs = calloc(prog->n_funcs + 1, sizeof(*b->funcs));
	b->nodes = calloc((size_t)prog->n_blocks + prog->n_opaque_calls + 1, sizeof(*b->nodes));
	b->node_of = calloc(prog->n_blocks + 1, sizeof(*b->node_of));
	b->import_name = calloc(model ? model->n_imports + 1 : 1, sizeof(*b->import_name));
	if (!b->sites || !b->funcs || !b->nodes || !b->node_of || !b->import_name)
		return -ENOMEM;
	add_string(b, "");
	for (uint32_t i = 0; model && i < model->n_imports; i++)
		b->import_name[i] = add_string(b, model->imports[i].name);
	if (!model)
		b->elsewhere = add_string(b, "elsewhere");
	for (uint32_t i = 0; model && i < model->n_funcs; i++)
		b->has_ifunc |= model->funcs[i].flags & FUNC_IFUNC;
	b->nodes[0] = (struct plan_node){.site = PUGMARK_NONE,
					 .callee = PUGMARK_NONE,
					 .next = PUGMARK_NONE,
					 .next_taken = PUGMARK_NONE};
	b->plan.n_nodes = 1;
	return 0;
}

static void builder_deinit(struct builder *b)
{
	chooser_deinit(&b->ch);
	void *heap[] = {b->sites,	    b->funcs,	b->nodes,   b->decisions,
			b->alternatives.at, b->targets, b->strings, b->node_of,
			b->import_name,	    b->table,	b->points,  b->unresolved};
	for (size_t i = 0; i < sizeof(heap) / sizeof(*heap); i++)
		free(heap[i]);
}

static int add_unresolved(struct builder *b)
{
	uint32_t n = b->choice->n_unresolved;
	b->unresolved = calloc(n + 1, sizeof(*b->unresolved));
	if (!b->unresolved)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		struct choice_unresolved u = b->choice->unresolved[i];
		const struct prog_block *pb = &b->prog->blocks[u.block];
		uint32_t at = u.entry ? 0 : b->node_of[u.block];
		struct plan_node *node = &b->nodes[at];
		b->unresolved[i] = (struct plan_unresolved){
			.addr = u.entry			? b->prog->funcs[pb->func].addr
				: pb->call != CALL_NONE ? pb->call_addr
							: pb->addr,
			.func = pb->func,
			.node = at ? at : PUGMARK_NONE,
			.kind = u.kind,
		};
		/* Code outside of all functions is like that of another module. */
		bool enters = u.kind == UNRESOLVED_FRAME ||
			      (u.kind == UNRESOLVED_JUMP && !(pb->flags & PROG_OUTSIDE));
		bool untold =
			(enters && node->kind == NODE_KIND_UNKNOWN) || u.kind == UNRESOLVED_ROUNDS;
		if (untold && at)
			node->flags |= NODE_UNTOLD;
	}
	b->plan.unresolved_at = b->unresolved;
	b->plan.unresolved = n;
	return 0;
}

/* The finished plan, in one mapping of its own, checked like one read from a file. */
static int finish(struct builder *b, struct pugmark_plan **out)
{
	struct pugmark_plan *p = &b->plan;
	p->sites = b->sites;
	p->funcs = b->funcs;
	p->nodes = b->nodes;
	p->decisions = b->decisions;
	p->alternatives = b->alternatives.at;
	p->n_alternatives = b->alternatives.n;
	p->targets = b->targets;
	p->strings = b->strings;
	void *bytes;
	size_t len;
	int err = plan_points(b->prog, b->model, b->node_of, p, &b->points);
	if (err)
		return err;
	p->points = b->points;
	err = add_unresolved(b);
	if (err)
		return err;
	err = plan_encode(p, &bytes, &len);
	if (err)
		return err;
	void *map = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct pugmark_plan *plan = calloc(1, sizeof(*plan));
	if (map == MAP_FAILED || !plan) {
		err = -ENOMEM;
	} else {
		memcpy(map, bytes, len);
		err = plan_decode(map, len, "plan", plan, NULL);
	}
	free(bytes);
	if (err) {
		free(plan);
		if (map != MAP_FAILED)
			munmap(map, len);
		return err;
	}
	plan->storage = map;
	plan->storage_bytes = len;
	*out = plan;
	return 0;
}

/* Without a model: from the first block to the last, or the end of the last call. */
static void program_text(const struct program *prog, struct pugmark_plan *plan)
{
	plan->text_addr = UINT64_MAX;
	for (uint32_t i = 0; i < prog->n_blocks; i++) {
		const struct prog_block *b = &prog->blocks[i];
		uint64_t end = b->call_addr + b->call_len;
		if (end <= b->addr)
			end = b->addr + 1;
		if (b->addr < plan->text_addr)
			plan->text_addr = b->addr;
		if (end > plan->text_end)
			plan->text_end = end;
	}
}

int plan_build(const struct program *program, const struct choice *choice, enum plan_mode mode,
	       const struct pugmark_model *model, struct pugmark_plan **out)
{
	struct builder b;
	int err = builder_init(&b, program, choice, model);
	if (!err) {
		b.plan.mode = mode;
		b.plan.n_funcs = program->n_funcs;
		b.plan.expected_cost_ns = choice_cost(program, choice);
		if (model) {
			memcpy(b.plan.build_id, model->build_id, sizeof(b.plan.build_id));
			b.plan.build_id_len = model->build_id_len;
			b.plan.text_addr = model->text_addr;
			b.plan.text_end = model->text_end;
		} else {
			program_text(program, &b.plan);
		}
		for (uint32_t f = 0; f < program->n_funcs; f++)
			add_func(&b, f);
		err = b.failed || b.ch.failed ? -ENOMEM : finish(&b, out);
	}
	builder_deinit(&b);
	return err;
}

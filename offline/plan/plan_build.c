// SPDX-License-Identifier: LGPL-2.1-or-later
/* plan_build.c: from a program and its marks to the tables of a plan, function by function; what
 * each block becomes is plan_nodes.c's, what follows what plan_decisions.c's. */
#include "offline/plan/plan_build_impl.h"

#include "offline/plan/plan_file.h"
#include "offline/plan/plan_points.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static uint32_t add_string(struct plan_builder *b, const char *text)
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

static void add_func(struct plan_builder *b, uint32_t func)
{
	const struct prog_func *pf = &b->prog->funcs[func];
	struct pugmark_plan_func *f = &b->funcs[func];
	*f = (struct pugmark_plan_func){
		.addr = pf->addr, .entry = PUGMARK_NONE, .node = b->plan.n_nodes};
	if (b->model) {
		const struct pugmark_func *mf = &b->model->funcs[pf->origin];
		f->name = add_string(b, mf->name);
		f->personality = mf->personality + 1; /* PUGMARK_NONE + 1 is 0 */
		if (mf->flags & PUGMARK_FUNC_EXPORTED ||
		    (b->has_ifunc && mf->flags & PUGMARK_FUNC_ADDRESS_TAKEN))
			f->flags |= PUGMARK_PLAN_FUNC_EXPORTED;
	}
	if (pf->flags & PROG_ENTRY_WITNESS)
		f->flags |= PUGMARK_PLAN_FUNC_ENTERED;
	if (pf->flags & PROG_OPAQUE)
		f->flags |= PUGMARK_PLAN_FUNC_OPAQUE;
	if (pf->flags & PROG_FOREIGN)
		f->flags |= PUGMARK_PLAN_FUNC_FOREIGN;
	if (pf->flags & PROG_FUNC_SWITCHES)
		f->flags |= PUGMARK_PLAN_FUNC_SWITCHES;
	if (pf->flags & PROG_FUNC_LEAVES)
		f->flags |= PUGMARK_PLAN_FUNC_LEAVES;
	if (b->choice->whole && b->choice->whole[func])
		f->flags |= PUGMARK_PLAN_FUNC_WHOLE;
	if (b->model && b->model->entry && pf->addr == b->model->entry)
		f->flags |= PUGMARK_PLAN_FUNC_START;
	for (uint32_t i = pf->block; i < pf->block + pf->n_blocks; i++)
		if (b->prog->blocks[i].flags & PROG_REACHED && conflict_is_node(&b->ch, i))
			plan_builder_node(b, i);
	plan_builder_landings(b, func);
	plan_builder_opaque_nodes(b, func);
	f->n_nodes = b->plan.n_nodes - f->node;
	if (pf->n_blocks)
		f->entry = plan_builder_decision(b, (struct decision){func, PUGMARK_NONE, WAY_ALL});
	for (uint32_t i = pf->block; i < pf->block + pf->n_blocks; i++)
		if (b->prog->blocks[i].flags & PROG_REACHED && conflict_is_node(&b->ch, i))
			plan_builder_connect(b, i);
}

static int builder_init(struct plan_builder *b, const struct program *prog,
			const struct choice *choice, const struct pugmark_model *model)
{
	*b = (struct plan_builder){.prog = prog, .choice = choice, .model = model};
	int err = conflict_init_walks(&b->ch, prog);
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
		b->has_ifunc |= model->funcs[i].flags & PUGMARK_FUNC_IFUNC;
	b->nodes[0] = (struct pugmark_plan_node){
		.site = PUGMARK_NONE, .callee = PUGMARK_NONE, .arm = PUGMARK_NODE_NOTHING_NEXT};
	b->plan.n_nodes = 1;
	return 0;
}

static void builder_deinit(struct plan_builder *b)
{
	conflict_deinit(&b->ch);
	void *heap[] = {b->sites,	    b->funcs,	b->nodes,   b->decisions,
			b->alternatives.at, b->targets, b->strings, b->node_of,
			b->import_name,	    b->table,	b->points,  b->unresolved};
	for (size_t i = 0; i < sizeof(heap) / sizeof(*heap); i++)
		free(heap[i]);
	*b = (struct plan_builder){0};
}

static int add_unresolved(struct plan_builder *b)
{
	uint32_t n = b->choice->n_unresolved;
	uint32_t n_unknown = b->plan.n_funcs ? b->prog->n_unknown : 0;
	b->unresolved = calloc((size_t)n + n_unknown + 1, sizeof(*b->unresolved));
	if (!b->unresolved)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		struct choice_unresolved u = b->choice->unresolved[i];
		const struct prog_block *pb = &b->prog->blocks[u.block];
		uint32_t at = u.entry ? 0 : b->node_of[u.block];
		struct pugmark_plan_node *node = &b->nodes[at];
		b->unresolved[i] = (struct pugmark_plan_unresolved){
			.addr = u.entry			? b->prog->funcs[pb->func].addr
				: pb->call != CALL_NONE ? prog_call_addr(pb)
							: pb->addr,
			.func = pb->func,
			.node = at ? at : PUGMARK_NONE,
			.kind = u.kind,
		};
		/* Code outside of all functions is like that of another module. */
		bool enters = u.kind == PUGMARK_UNRESOLVED_FRAME ||
			      (u.kind == PUGMARK_UNRESOLVED_JUMP && !(pb->flags & PROG_OUTSIDE));
		bool untold = (enters && node->kind == PUGMARK_NODE_KIND_UNKNOWN) ||
			      u.kind == PUGMARK_UNRESOLVED_ROUNDS;
		if (untold && at)
			node->flags |= PUGMARK_NODE_UNTOLD;
	}
	for (uint32_t i = 0; i < n_unknown; i++) {
		const struct pugmark_range *r = &b->prog->unknown[i];
		b->unresolved[n + i] = (struct pugmark_plan_unresolved){
			.addr = r->addr,
			.node = PUGMARK_NONE,
			.kind = PUGMARK_UNRESOLVED_CODE,
			.len_bytes = (uint32_t)(r->end - r->addr),
		};
	}
	b->plan.unresolved_at = b->unresolved;
	b->plan.unresolved = n + n_unknown;
	return 0;
}

/* Frees the array of the builder that has been laid out. */
static void give_back(void *ctx, const void *array)
{
	struct plan_builder *b = ctx;
	void **heap[] = {
		(void **)&b->sites,	(void **)&b->funcs,	      (void **)&b->nodes,
		(void **)&b->decisions, (void **)&b->alternatives.at, (void **)&b->targets,
		(void **)&b->strings,	(void **)&b->points,	      (void **)&b->unresolved};
	for (size_t i = 0; i < sizeof(heap) / sizeof(*heap); i++)
		if (*heap[i] == array) {
			free(*heap[i]);
			*heap[i] = NULL;
		}
}

/* The last parts of the plan that need the program, which is given back in between. */
static int add_places(struct plan_builder *b)
{
	struct plan_pieces pieces;
	int err = plan_pieces_make(b->prog, b->model, b->node_of, &b->plan, &pieces);
	if (err)
		return err;
	err = add_unresolved(b);
	if (b->spent && !err) {
		program_free(*b->spent);
		*b->spent = NULL;
		b->prog = NULL;
	}
	if (!err)
		err = plan_points_join(&pieces, b->model, &b->plan, &b->points);
	plan_pieces_deinit(&pieces);
	b->plan.points = b->points;
	return err;
}

/* The finished plan, in one mapping of its own, checked like one read from a file. What is not part
 * of it is given back before that: in a large program each of the two takes hundreds of
 * megabytes. */
static int finish(struct plan_builder *b, struct pugmark_plan **out)
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
	conflict_deinit(&b->ch);
	free(b->table);
	b->table = NULL;
	int err = add_places(b);
	if (err)
		return err;
	size_t len = plan_encoded_bytes(p);
	void *map = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct pugmark_plan *plan = calloc(1, sizeof(*plan));
	if (map == MAP_FAILED || !plan) {
		err = -ENOMEM;
	} else {
		struct pugmark_plan copy = *p;
		plan_encode_to(&copy, map, give_back, b);
		builder_deinit(b);
		err = plan_decode(map, len, "plan", plan, NULL);
	}
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

/* The text of a program without a model: from its first block to its last, or to the end of its
 * last call. */
static void program_text(const struct program *prog, struct pugmark_plan *plan)
{
	plan->text_addr = UINT64_MAX;
	for (uint32_t i = 0; i < prog->n_blocks; i++) {
		const struct prog_block *b = &prog->blocks[i];
		uint64_t end = prog_call_addr(b) + b->call_len;
		if (end <= b->addr)
			end = b->addr + 1;
		if (b->addr < plan->text_addr)
			plan->text_addr = b->addr;
		if (end > plan->text_end)
			plan->text_end = end;
	}
}

uint32_t plan_count_sites(const struct program *program, const struct choice *choice)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < program->n_blocks; i++)
		n += program->blocks[i].flags & PROG_REACHED && choice->marks[i];
	return n;
}

/* As plan_build_mapped(); @spent: &@program, if that may be freed. */
static int build(const struct program *program, const struct choice *choice, enum plan_mode mode,
		 const struct pugmark_model *model, uint32_t *node_of, struct program **spent,
		 struct pugmark_plan **out)
{
	struct plan_builder b;
	int err = builder_init(&b, program, choice, model);
	if (!err) {
		b.spent = spent;
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
		if (node_of)
			memcpy(node_of, b.node_of, program->n_blocks * sizeof(*node_of));
		err = b.failed || b.ch.failed ? -ENOMEM : finish(&b, out);
	}
	builder_deinit(&b);
	return err;
}

int plan_build(const struct program *program, const struct choice *choice, enum plan_mode mode,
	       const struct pugmark_model *model, struct pugmark_plan **out)
{
	return build(program, choice, mode, model, NULL, NULL, out);
}

int plan_build_mapped(const struct program *program, const struct choice *choice,
		      enum plan_mode mode, const struct pugmark_model *model, uint32_t *node_of,
		      struct pugmark_plan **out)
{
	return build(program, choice, mode, model, node_of, NULL, out);
}

int plan_build_last(struct program **program, const struct choice *choice, enum plan_mode mode,
		    const struct pugmark_model *model, struct pugmark_plan **out)
{
	return build(*program, choice, mode, model, NULL, program, out);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plan_build_impl.h: a plan that is being made, among the files that make it: its functions and
 * names (plan_build.c), its sites and nodes (plan_nodes.c), its decisions (plan_decisions.c). */
#ifndef OFFLINE_PLAN_BUILD_IMPL_H
#define OFFLINE_PLAN_BUILD_IMPL_H

#include "offline/choose/conflict.h"
#include "offline/plan/plan_build.h"

struct plan_builder {
	struct conflicts ch; /* only asked for alternatives */
	const struct program *prog;
	struct program **spent; /* freed when it has been read, or NULL */
	const struct choice *choice;
	const struct pugmark_model *model;
	struct pugmark_plan plan;
	struct pugmark_plan_site *sites;
	struct pugmark_plan_func *funcs;
	struct pugmark_plan_node *nodes;
	struct pugmark_plan_decision *decisions;
	struct vec_u32 alternatives;
	struct pugmark_plan_target *targets;
	struct pugmark_plan_point *points;
	struct pugmark_plan_unresolved *unresolved;
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

/* Adds the node of @block, and its site if it has a mark. */
void plan_builder_node(struct plan_builder *builder, uint32_t block);
/* Says of the calls of function @func, whose nodes were added last, where exceptions out of them
 * land. */
void plan_builder_landings(struct plan_builder *builder, uint32_t func);
/* Adds the calls of function @func, which is not modelled. */
void plan_builder_opaque_nodes(struct plan_builder *builder, uint32_t func);

/* The decision with the alternatives of @decision, which is added unless there is one already;
 * PUGMARK_NONE where memory is out. */
uint32_t plan_builder_decision(struct plan_builder *builder, struct decision decision);
/* Adds the decisions behind the node of @block. */
void plan_builder_connect(struct plan_builder *builder, uint32_t block);

#endif

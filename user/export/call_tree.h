/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* call_tree.h: the calling context tree of what is exported: a node for each distinct stack of
 * calls, over all threads, with how often it was entered and the time that passed while it was
 * innermost. For formats that add up. */
#ifndef USER_EXPORT_CALL_TREE_H
#define USER_EXPORT_CALL_TREE_H

#include "user/export/export.h"

struct context_node {
	uint32_t parent; /* index; the root is its own */
	uint32_t frame;	 /* EXPORT_NO_FRAME: the root; EXPORT_GAP_FRAME: gaps */
	uint32_t last;	 /* the child that was entered last; 0: none */
	uint32_t thread; /* the one that possible_ns was counted in last */
	uint64_t calls;
	uint64_t self_ns;		  /* as drawn */
	uint64_t certain_ns, possible_ns; /* bounds of it */
	uint64_t counted_to_ns;		  /* possible_ns has counted up to here in `thread` */
};
#define EXPORT_GAP_FRAME (UINT32_MAX - 1)

/* A parent's index is lower than its children's; node 0 is the root. */
struct export_contexts {
	struct context_node *nodes; /* heap */
	uint32_t n, cap;
	uint32_t *slots; /* heap: open addressing by parent and frame; node index, 0: free */
	uint32_t n_slots;
	uint32_t at;	 /* the innermost open call of the current stack */
	uint32_t *other; /* heap: by the stack's number, where it was left */
	uint32_t n_other, stack;
	uint32_t thread;
	uint64_t last_at_ns;
	struct export_time last;
};

/* x->contexts is made. 0 or -ENOMEM. */
int export_contexts_new(struct export *x);
void export_contexts_free(struct export_contexts *contexts);

void export_contexts_enter(struct export *x, const struct export_call *call);
void export_contexts_leave(struct export *x, const struct export_end *end);
void export_contexts_gap(struct export *x, const struct export_gap *gap);
void export_contexts_switch(struct export *x, uint32_t stack);
void export_contexts_thread_end(struct export *x);

/* What a node weighs in a format that has one number: its calls, or the time that was drawn. */
static inline uint64_t export_context_weight(const struct export *x,
					     const struct context_node *node)
{
	return x->weigh_calls ? node->calls : node->self_ns;
}
const char *export_context_name(const struct export *x, const struct context_node *node);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* func_ids.h: a number for everything that a recording's calls can be of, so that counting is an
 * index: each function of each plan, each import, and three for what has no name. Code that was
 * made at run time has no number. */
#ifndef USER_VIEW_FUNC_IDS_H
#define USER_VIEW_FUNC_IDS_H

#include "user/view/trace/calls.h"
#include "user/view/trace/trace_view.h"

enum func_kind {
	FUNC_OF_PLAN,
	FUNC_IMPORT,
	FUNC_OUTSIDE, /* outside of the traced modules, and without a name */
	FUNC_UNKNOWN, /* a frame that was found open after a gap */
	FUNC_START,   /* what is around a thread's first function */
	FUNC_MADE,    /* code that was made at run time (report_made.h): only as a caller */
};

struct func_id {
	const char *import; /* FUNC_IMPORT: its name; lives as long as the plan. FUNC_MADE: the name
			       as it is shown, the report's */
	uint32_t func;	    /* FUNC_OF_PLAN: of its module's plan */
	uint16_t module;    /* FUNC_OF_PLAN; FUNC_IMPORT: the module that calls it */
	uint8_t kind;	    /* enum func_kind */
};

struct func_ids {
	struct func_id *at; /* heap, by number */
	uint32_t n;
	uint32_t outside, unknown, start;
	uint32_t n_modules;
	uint32_t *first_func; /* per module: the number of its function 0 */
	uint32_t **import_id; /* per module, by place in its plan's strings */
	const struct trace_view *view;
};

/* Numbers what @view shows, which is open and stays so. 0 or -ENOMEM; func_ids_deinit() either
 * way. */
int func_ids_init(struct func_ids *ids, const struct trace_view *view);
/* Numbers the modules that @view has more than before; all others keep their numbers. 0 or -ENOMEM.
 */
int func_ids_grow(struct func_ids *ids);
void func_ids_deinit(struct func_ids *ids);
uint32_t func_ids_of(const struct func_ids *ids, const struct call *call);
/* As people write it, demangled, or a word in brackets. Borrowed from the view; for one thread at a
 * time. */
const char *func_id_name(struct trace_view *view, const struct func_id *id);

#endif

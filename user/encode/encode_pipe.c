// SPDX-License-Identifier: LGPL-2.1-or-later
/* encode_pipe.c: the walk over a recording's events and the filter by the view's rules, one behind
 * the other. */
#include "user/encode/encode.h"

/* Which part of the tree a function of this name is in. */
static uint8_t verdict(void *ctx, uint32_t name)
{
	struct encode *e = ctx;
	const struct symbol_origin *o = symbol_map_origin(e->map, name);
	if (!o)
		return 0;
	const char *import = o->import ? o->import : "";
	uint8_t match = trace_view_match(&e->view, o->module, o->func, import), out = 0;
	if (o->import ? e->view.modules.n > 0 : !trace_view_has_module(&e->view, o->module))
		out |= FILTER_SKIP;
	if (match & VIEW_LEFT_OUT)
		out |= FILTER_HIDE;
	if (e->view.only.n && match & VIEW_MATCHES)
		out |= FILTER_ROOT;
	if (e->selection != SELECT_FACE && e->selection != SELECT_OBJECT)
		return out;
	const char *linker_name =
		o->import ? import : pugmark_trace_func_name(e->view.trace, o->module, o->func);
	const char *module = o->import ? "" : pugmark_trace_module_name(e->view.trace, o->module);
	if (patterns_match(&e->face, linker_name, NULL) >= 0 ||
	    patterns_match(&e->face, module, NULL) >= 0)
		out |= FILTER_FACE;
	return out;
}

int encode_pipe_new(struct encode *e, const struct tree_sink *sink, struct filter **filter,
		    struct tree_walk **walk)
{
	const struct filter_rules rules = {
		.verdict = verdict,
		.ctx = e,
		.roots = e->view.only.n,
		.face = e->selection == SELECT_FACE || e->selection == SELECT_OBJECT,
		.depth = e->view.depth,
		.from_ns = e->view.timed ? e->view.from_ns : 0,
		.to_ns = e->view.to_ns,
	};
	int err = filter_new(&rules, sink, filter);
	return err ? err : tree_walk_new(e->map, filter_sink(*filter), walk);
}

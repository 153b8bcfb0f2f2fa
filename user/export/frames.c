// SPDX-License-Identifier: LGPL-2.1-or-later
/* frames.c: numbers for what calls are of. Each function of each plan, and each import, has a slot
 * of its own, so that a call costs one look. */
#include "user/export/export.h"

#include <pugmark/model.h>

#include <errno.h>
#include <stdlib.h>

/* The slot for what @call is of; NULL: no memory. */
static uint32_t *slot_of(struct export *x, const struct call *call)
{
	const struct trace_view *view = &x->replay.view;
	if (call->outside && !*call->import)
		return &x->frame_outside;
	if (!call->outside && call->func == PUGMARK_NONE)
		return &x->frame_unknown;
	if (!x->frame_of_func) {
		x->frame_of_func = calloc(view->n_modules + 1, sizeof(uint32_t *));
		x->frame_of_import = calloc(view->n_modules + 1, sizeof(uint32_t *));
	}
	if (!x->frame_of_func || !x->frame_of_import)
		return NULL;
	const struct pugmark_plan *plan = pugmark_trace_plan(view->trace, call->module);
	uint32_t **slots =
		call->outside ? &x->frame_of_import[call->module] : &x->frame_of_func[call->module];
	if (!*slots)
		*slots = calloc((call->outside ? plan->strings_bytes : plan->n_funcs) + 1,
				sizeof(uint32_t));
	if (!*slots)
		return NULL;
	return *slots + (call->outside ? (size_t)(call->import - plan->strings) : call->func);
}

uint32_t export_frame_of(struct export *x, const struct call *call)
{
	uint32_t *slot = slot_of(x, call);
	if (slot && *slot)
		return *slot - 1;
	if (slot && x->n_frames == x->cap_frames) {
		uint32_t cap = x->cap_frames ? 2 * x->cap_frames : 256;
		struct export_frame *frames = realloc(x->frames, cap * sizeof(*frames));
		if (frames) {
			x->frames = frames;
			x->cap_frames = cap;
		}
	}
	if (!slot || x->n_frames == x->cap_frames) {
		export_fail(x, -ENOMEM, "out of memory");
		return EXPORT_NO_FRAME;
	}
	char *plain = call->outside ? pugmark_demangle(call->import) : NULL;
	x->frames[x->n_frames] = (struct export_frame){
		.name = plain ? plain : replay_call_name(&x->replay, call),
		.plain = plain,
		.module = call->outside
				  ? ""
				  : pugmark_trace_module_name(x->replay.view.trace, call->module),
		.func = call->outside ? PUGMARK_NONE : call->func,
		.module_number = call->module,
		.outside = call->outside,
	};
	*slot = ++x->n_frames;
	return x->n_frames - 1;
}

void export_frames_deinit(struct export *x)
{
	for (uint32_t m = 0; m < x->replay.view.n_modules; m++) {
		if (x->frame_of_func)
			free(x->frame_of_func[m]);
		if (x->frame_of_import)
			free(x->frame_of_import[m]);
	}
	for (uint32_t i = 0; i < x->n_frames; i++)
		free(x->frames[i].plain);
	free(x->frame_of_func);
	free(x->frame_of_import);
	free(x->frames);
}

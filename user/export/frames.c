// SPDX-License-Identifier: LGPL-2.1-or-later
/* frames.c: numbers the functions of calls. Each function of each plan, and each import, has a slot
 * of its own, so that a call costs one look-up. */
#include "user/export/export.h"

#include "user/cli/printable.h"
#include "user/view/trace/made_code.h"

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

/* @name, or, where not all of it is printable, what stands for it, which goes to *@heap, which may
 * hold @name. NULL: out of memory. */
static const char *shown(const char *name, char **heap)
{
	if (!name || !name[printable_run(name, PRINT_TEXT)])
		return name;
	char *text = printable_dup(name, PRINT_TEXT);
	free(*heap);
	*heap = text;
	return text;
}

static uint32_t no_memory(struct export *x)
{
	export_fail(x, -ENOMEM, "out of memory");
	return EXPORT_NO_FRAME;
}

/* The frame of @slot, or a new one of those names, which are NULL where memory is out. */
static uint32_t add_frame(struct export *x, uint32_t *slot, struct export_frame frame)
{
	if (!frame.name || !frame.module || !VEC_PUSH(&x->frames, frame)) {
		free(frame.plain);
		free(frame.own_module);
		return no_memory(x);
	}
	*slot = x->frames.n;
	return x->frames.n - 1;
}

uint32_t export_frame_of(struct export *x, const struct call *call)
{
	uint32_t *slot = slot_of(x, call);
	if (slot && *slot)
		return *slot - 1;
	if (!slot)
		return no_memory(x);
	struct export_frame frame = {
		.module = "",
		.func = call->outside ? PUGMARK_NONE : call->func,
		.module_number = call->module,
		.outside = call->outside,
	};
	frame.name = shown(replay_call_name(&x->replay, call), &frame.plain);
	if (!call->outside)
		frame.module = shown(pugmark_trace_module_name(x->replay.view.trace, call->module),
				     &frame.own_module);
	return add_frame(x, slot, frame);
}

uint32_t export_frame_of_made(struct export *x, uint32_t made)
{
	while (x->frame_of_made.n <= made)
		if (!VEC_PUSH(&x->frame_of_made, 0))
			return no_memory(x);
	if (x->frame_of_made.at[made])
		return x->frame_of_made.at[made] - 1;
	struct export_frame frame = {
		.plain = made_code_shown(&x->replay.view, made),
		.module = "",
		.func = PUGMARK_NONE,
		.outside = true,
	};
	frame.name = shown(frame.plain, &frame.plain);
	return add_frame(x, &x->frame_of_made.at[made], frame);
}

void export_frames_deinit(struct export *x)
{
	for (uint32_t m = 0; m < x->replay.view.n_modules; m++) {
		if (x->frame_of_func)
			free(x->frame_of_func[m]);
		if (x->frame_of_import)
			free(x->frame_of_import[m]);
	}
	for (uint32_t i = 0; i < x->frames.n; i++) {
		free(x->frames.at[i].plain);
		free(x->frames.at[i].own_module);
	}
	free(x->frame_of_func);
	free(x->frame_of_import);
	VEC_FREE(&x->frames);
	VEC_FREE(&x->frame_of_made);
}

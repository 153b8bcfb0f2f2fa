// SPDX-License-Identifier: LGPL-2.1-or-later
/* speedscope.c: the file format of speedscope, an evented profile for each thread. A profile shows
 * one stack: where the thread switches to another stack, the open calls are closed, and opened
 * again when it comes back. A gap is a frame of its own. The frames, which all profiles share, come
 * after the profiles. */
#include "user/export/export.h"

#include <errno.h>
#include <stdlib.h>

enum { GAP_FRAMES = PUGMARK_CAUSE_UNRESOLVED + 1 };

struct speedscope {
	bool in_profile, comma, profiles;
	uint64_t from_ns, at_ns;
	uint32_t task;
	uint32_t stack;		    /* number of the stack whose frames are open */
	VEC(struct vec_u32) stacks; /* by number: the frames that are open on it */
};

/* Gaps have the first frames, one a cause. */
static void put_event(struct export *x, char kind, uint32_t frame)
{
	struct speedscope *s = x->state;
	struct outbuf *out = x->replay.out;
	outbuf_text(out, s->comma ? ",\n{\"type\":\"" : "\n{\"type\":\"");
	s->comma = true;
	outbuf_char(out, kind);
	outbuf_text(out, "\",\"frame\":");
	outbuf_dec(out, frame);
	outbuf_text(out, ",\"at\":");
	outbuf_dec(out, s->at_ns);
	outbuf_char(out, '}');
}

static void begin(struct export *x)
{
	outbuf_text(x->replay.out,
		    "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
		    "\"exporter\":\"pugmark\",\"profiles\":[");
}

static void open_profile(struct export *x, uint64_t at_ns)
{
	struct speedscope *s = x->state;
	struct outbuf *out = x->replay.out;
	char name[EXPORT_TRACK_BYTES];
	struct export_track track = {.task = x->on->task};
	export_track_name(x, &track, name, sizeof(name));
	outbuf_text(out, s->profiles ? ",\n" : "\n");
	outbuf_text(out, "{\"type\":\"evented\",\"name\":\"");
	outbuf_json_text(out, name);
	outbuf_text(out, x->times ? "\",\"unit\":\"nanoseconds\"" : "\",\"unit\":\"none\"");
	outbuf_text(out, ",\"startValue\":");
	outbuf_dec(out, at_ns);
	outbuf_text(out, ",\"events\":[");
	s->profiles = s->in_profile = true;
	s->comma = false;
	s->from_ns = s->at_ns = at_ns;
	s->task = x->on->task;
	s->stack = x->on->stack;
}

static struct vec_u32 *stack_of(struct export *x, uint32_t number)
{
	struct speedscope *s = x->state;
	while (s->stacks.n <= number)
		if (!VEC_PUSH(&s->stacks, (struct vec_u32){0})) {
			export_fail(x, -ENOMEM, "out of memory");
			return NULL;
		}
	return &s->stacks.at[number];
}

/* Makes the profile ready for an event at @at_ns of the current track; NULL: no memory. */
static struct vec_u32 *settle(struct export *x, uint64_t at_ns)
{
	struct speedscope *s = x->state;
	if (!s->in_profile)
		open_profile(x, at_ns);
	if (s->stack != x->on->stack) {
		const struct vec_u32 *old = stack_of(x, s->stack);
		for (uint32_t i = old ? old->n : 0; i-- > 0;)
			put_event(x, 'C', old->at[i]);
		s->stack = x->on->stack;
		const struct vec_u32 *new = stack_of(x, s->stack);
		for (uint32_t i = 0; new &&i < new->n; i++)
			put_event(x, 'O', new->at[i]);
	}
	if (at_ns > s->at_ns)
		s->at_ns = at_ns;
	return stack_of(x, s->stack);
}

static void call(struct export *x, const struct export_call *call)
{
	struct vec_u32 *open = settle(x, call->at_ns);
	if (!open)
		return;
	if (!VEC_PUSH(open, GAP_FRAMES + call->frame)) {
		export_fail(x, -ENOMEM, "out of memory");
		return;
	}
	put_event(x, 'O', GAP_FRAMES + call->frame);
}

static void ret(struct export *x, const struct export_call *call, const struct export_end *end)
{
	struct vec_u32 *open = settle(x, end->at_ns);
	(void)call;
	if (open && open->n)
		put_event(x, 'C', open->at[--open->n]);
}

static void gap(struct export *x, const struct export_gap *gap)
{
	struct speedscope *s = x->state;
	uint32_t frame = gap->cause < GAP_FRAMES ? gap->cause : PUGMARK_CAUSE_NONE;
	if (!settle(x, gap->at_ns))
		return;
	put_event(x, 'O', frame);
	s->at_ns++;
	if (x->times && gap->span.latest_ns > s->at_ns)
		s->at_ns = gap->span.latest_ns;
	put_event(x, 'C', frame);
	x->at_ns = s->at_ns; /* what comes next is drawn behind it */
}

static void thread_end(struct export *x, uint32_t task)
{
	struct speedscope *s = x->state;
	(void)task;
	if (!s->in_profile)
		return;
	struct vec_u32 *open = stack_of(x, s->stack);
	while (open && open->n)
		put_event(x, 'C', open->at[--open->n]);
	for (uint32_t i = 0; i < s->stacks.n; i++)
		s->stacks.at[i].n = 0;
	outbuf_text(x->replay.out, "\n],\"endValue\":");
	outbuf_dec(x->replay.out, s->at_ns);
	outbuf_char(x->replay.out, '}');
	s->in_profile = false;
}

static void end(struct export *x)
{
	struct outbuf *out = x->replay.out;
	outbuf_text(out, "\n],\"shared\":{\"frames\":[");
	for (uint32_t i = 0; i < GAP_FRAMES; i++) {
		outbuf_text(out, i ? ",\n{\"name\":\"[gap: " : "\n{\"name\":\"[gap: ");
		outbuf_text(out, trace_view_cause((uint8_t)i));
		outbuf_text(out, "]\"}");
	}
	for (uint32_t i = 0; i < x->frames.n; i++) {
		outbuf_text(out, ",\n{\"name\":\"");
		outbuf_json_text(out, x->frames.at[i].name);
		if (*x->frames.at[i].module) {
			outbuf_text(out, "\",\"file\":\"");
			outbuf_json_text(out, x->frames.at[i].module);
		}
		outbuf_text(out, "\"}");
	}
	outbuf_text(out, "\n]}}\n");
}

static void deinit(struct export *x)
{
	struct speedscope *s = x->state;
	for (uint32_t i = 0; i < s->stacks.n; i++)
		VEC_FREE(&s->stacks.at[i]);
	VEC_FREE(&s->stacks);
}

const struct export_format export_speedscope = {
	.name = "speedscope",
	.suffix = "speedscope.json",
	.brief = "speedscope's own format",
	.state_bytes = sizeof(struct speedscope),
	.apart = true,
	.begin = begin,
	.call = call,
	.ret = ret,
	.gap = gap,
	.thread_end = thread_end,
	.end = end,
	.deinit = deinit,
};

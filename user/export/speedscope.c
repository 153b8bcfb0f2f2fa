// SPDX-License-Identifier: LGPL-2.1-or-later
/* speedscope.c: the file format of speedscope, an evented profile a thread. A profile is one stack:
 * where the thread goes on on another stack, what is open is closed, and opened again when it comes
 * back. A gap is a frame of its own. The frames, which all profiles share, follow the profiles. */
#include "user/export/export.h"

#include <errno.h>
#include <stdlib.h>

enum { GAP_FRAMES = PUGMARK_CAUSE_UNRESOLVED + 1 };

struct speedscope {
	bool in_profile, comma, profiles;
	uint64_t from_ns, at_ns;
	uint32_t task;
	uint32_t stack; /* number of the stack whose frames are open */
	/* What is open, by stack: frames; heap. */
	struct frames {
		uint32_t *at, n, cap;
	} * stacks;
	uint32_t n_stacks;
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
	char name[64];
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

static struct frames *stack_of(struct export *x, uint32_t number)
{
	struct speedscope *s = x->state;
	if (number >= s->n_stacks) {
		uint32_t n = 2 * number + 2;
		struct frames *stacks = realloc(s->stacks, n * sizeof(*stacks));
		if (!stacks) {
			export_fail(x, -ENOMEM, "out of memory");
			return NULL;
		}
		memset(stacks + s->n_stacks, 0, (n - s->n_stacks) * sizeof(*stacks));
		s->stacks = stacks;
		s->n_stacks = n;
	}
	return &s->stacks[number];
}

/* Makes the profile ready for an event at @at_ns of the current track; NULL: no memory. */
static struct frames *settle(struct export *x, uint64_t at_ns)
{
	struct speedscope *s = x->state;
	if (!s->in_profile)
		open_profile(x, at_ns);
	if (s->stack != x->on->stack) {
		const struct frames *old = stack_of(x, s->stack);
		for (uint32_t i = old ? old->n : 0; i-- > 0;)
			put_event(x, 'C', old->at[i]);
		s->stack = x->on->stack;
		const struct frames *new = stack_of(x, s->stack);
		for (uint32_t i = 0; new &&i < new->n; i++)
			put_event(x, 'O', new->at[i]);
	}
	if (at_ns > s->at_ns)
		s->at_ns = at_ns;
	return stack_of(x, s->stack);
}

static void call(struct export *x, const struct export_call *call)
{
	struct frames *open = settle(x, call->at_ns);
	if (open && open->n == open->cap) {
		uint32_t cap = open->cap ? 2 * open->cap : 64;
		uint32_t *at = realloc(open->at, cap * sizeof(*at));
		if (!at) {
			export_fail(x, -ENOMEM, "out of memory");
			return;
		}
		open->at = at;
		open->cap = cap;
	}
	if (!open)
		return;
	open->at[open->n++] = GAP_FRAMES + call->frame;
	put_event(x, 'O', GAP_FRAMES + call->frame);
}

static void ret(struct export *x, const struct export_call *call, const struct export_end *end)
{
	struct frames *open = settle(x, end->at_ns);
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
	if (x->times && gap->span.latest_ns > s->at_ns)
		s->at_ns = gap->span.latest_ns;
	put_event(x, 'C', frame);
}

static void thread_end(struct export *x, uint32_t task)
{
	struct speedscope *s = x->state;
	(void)task;
	if (!s->in_profile)
		return;
	struct frames *open = stack_of(x, s->stack);
	while (open && open->n)
		put_event(x, 'C', open->at[--open->n]);
	for (uint32_t i = 0; i < s->n_stacks; i++)
		s->stacks[i].n = 0;
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
	for (uint32_t i = 0; i < x->n_frames; i++) {
		outbuf_text(out, ",\n{\"name\":\"");
		outbuf_json_text(out, x->frames[i].name);
		if (*x->frames[i].module) {
			outbuf_text(out, "\",\"file\":\"");
			outbuf_json_text(out, x->frames[i].module);
		}
		outbuf_text(out, "\"}");
	}
	outbuf_text(out, "\n]}}\n");
}

static void deinit(struct export *x)
{
	struct speedscope *s = x->state;
	for (uint32_t i = 0; i < s->n_stacks; i++)
		free(s->stacks[i].at);
	free(s->stacks);
}

const struct export_format export_speedscope = {
	.name = "speedscope",
	.suffix = "speedscope.json",
	.brief = "speedscope's own format",
	.state_bytes = sizeof(struct speedscope),
	.begin = begin,
	.call = call,
	.ret = ret,
	.gap = gap,
	.thread_end = thread_end,
	.end = end,
	.deinit = deinit,
};

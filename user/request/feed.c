// SPDX-License-Identifier: LGPL-2.1-or-later
/* feed.c: see feed.h. An event is held back until the values that belong to it have
 * come: arguments that were read in the function, and a result, follow the event. */
#include "user/request/feed.h"

bool request_in_time(const struct request_feed *f, const struct call *call)
{
	return call->how != PUGMARK_TRACE_GAP && call->to_ns >= f->view->from_ns &&
	       call->from_ns <= f->view->to_ns;
}

bool request_argument(const struct request_feed *f, const struct call *call, uint8_t id,
		      uint64_t *out)
{
	if (call->how == PUGMARK_TRACE_GAP || id >= REQUEST_RESULT || !(f->known >> id & 1))
		return false;
	*out = f->values[id];
	return true;
}

bool request_result(const struct request_feed *f, const struct call *call, uint8_t id,
		    uint64_t *out)
{
	bool its = call->outside
			   ? f->event.kind == PUGMARK_TRACE_VALUE
			   : f->event.kind == PUGMARK_TRACE_RET && call->func == f->event.func &&
				     call->module == f->event.module;
	if (!its || !request_id_is_given(id) || !(f->known >> id & 1))
		return false;
	*out = f->values[id];
	return true;
}

struct values {
	uint64_t at[N_REQUEST_IDS];
	uint32_t known;
};

static void note(uint64_t *values, uint32_t *known, unsigned id, uint64_t value)
{
	if (id >= N_REQUEST_IDS)
		return;
	values[id] = value;
	*known |= 1u << id;
}

/* What waits for the values that belong to it: the event; and a result, which may end a call and
 * has behind it what the call's arguments point to. */
struct held {
	bool event, result;
	struct pugmark_trace_event at; /* the result */
};

/* Feeds what is held back. */
static int flush(struct request_feed *f, struct held *held)
{
	int err = held->event ? calls_feed(&f->calls, &f->event) : 0;
	if (!err && held->result) {
		f->event = held->at;
		err = calls_feed(&f->calls, &f->event);
	}
	held->event = held->result = false;
	return err;
}

/* A value: of the event that is held back, or (@passed) of the one that follows. */
static int take_value(struct request_feed *f, const struct pugmark_trace_event *e,
		      struct held *held, struct values *passed)
{
	int err = 0;
	switch (e->cause) {
	case PUGMARK_VALUE_PASSED:
		err = flush(f, held);
		note(passed->at, &passed->known, e->func + 1, e->target);
		return err;
	case PUGMARK_VALUE_TAKEN:
		if (held->event)
			note(f->values, &f->known, e->func + 1, e->target);
		return 0;
	case PUGMARK_VALUE_READ: /* names no request */
		return 0;
	case PUGMARK_VALUE_OUT:
		if (held->result)
			note(f->values, &f->known, REQUEST_OUT_1 + e->func, e->target);
		return 0;
	default:
		if (held->event && f->event.kind != PUGMARK_TRACE_RET)
			err = flush(f, held);
		note(f->values, &f->known, REQUEST_RESULT, e->target);
		held->result = true;
		held->at = *e;
		return err;
	}
}

int request_feed(struct request_feed *f, uint32_t task, const struct calls_sink *calls, void *ctx)
{
	struct pugmark_trace_iter *it;
	const struct pugmark_trace_event *e;
	struct values passed = {0};
	struct held held = {0};
	int got = pugmark_trace_iter_new(f->view->trace, task, &it), err = 0;
	if (got)
		return got;
	calls_init(&f->calls, calls, ctx);
	while (!err && (got = pugmark_trace_next(it, &e)) == 1 && e->from_ns <= f->view->to_ns) {
		if (e->kind == PUGMARK_TRACE_VALUE) {
			err = take_value(f, e, &held, &passed);
			continue;
		}
		err = flush(f, &held);
		f->event = *e;
		held.event = true;
		f->known = passed.known;
		for (unsigned id = 0; passed.known && id < N_REQUEST_IDS; id++)
			f->values[id] = passed.at[id];
		passed.known = 0;
	}
	if (!err)
		err = flush(f, &held);
	f->known = 0;
	/* What goes on past the time that is shown has no end in it, and is not whole. */
	calls_finish(&f->calls, f->view->tasks[task].last_ns);
	calls_deinit(&f->calls);
	pugmark_trace_iter_free(it);
	return err ? err : got < 0 ? got : 0;
}

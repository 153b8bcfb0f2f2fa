/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* told_times.h: the times of what a witness stands at. All that an event decides has happened since
 * the event before it; but the call whose instruction or whose callee's entry was probed, and the
 * return whose instruction was, happened when the probe was hit. What is told so is the last thing
 * that an event decides (values that it read come behind it); a ret that was told has happened
 * before anything that the next event decides. It is asked at every event, and so inline. */
#ifndef OFFLINE_TRACE_TOLD_TIMES_H
#define OFFLINE_TRACE_TOLD_TIMES_H

#include "offline/recover/parser.h"

#include <pugmark/trace_event.h>

/* Of one thread; all zero at its begin. */
struct told_times {
	bool returned;	 /* the last event was of a ret that no event of the trace tells yet, */
	uint16_t module; /* of this function */
	uint32_t func;
	uint64_t by_ns; /* it had happened by then; 0: when what follows began */
};

static inline bool told_is_call(const struct pugmark_trace_event *e)
{
	return e->kind == PUGMARK_TRACE_CALL || e->kind == PUGMARK_TRACE_TAIL;
}

static inline bool told_is_return(const struct pugmark_trace_event *e, uint16_t module,
				  uint32_t func)
{
	return e->kind == PUGMARK_TRACE_RET && e->module == module && e->func == func;
}

/* Whether the event enters @func, which may be PUGMARK_NONE. */
static inline bool told_enters(const struct pugmark_trace_event *e, uint16_t module, uint32_t func)
{
	return e->func == func && func != PUGMARK_NONE &&
	       ((told_is_call(e) && e->target_module == module) ||
		(e->kind == PUGMARK_TRACE_ENTER && e->module == module));
}

/* It happened when the event was recorded that tells it: not before @since_ns, and by its own time.
 */
static inline void told_by(struct pugmark_trace_event *e, uint64_t since_ns)
{
	e->from_ns = since_ns < e->to_ns ? since_ns : e->to_ns;
}

static inline uint32_t told_before_values(const struct pugmark_trace_event *events, uint32_t n)
{
	while (n && events[n - 1].kind == PUGMARK_TRACE_VALUE)
		n--;
	return n;
}

static inline bool told_calls_at(const struct pugmark_trace_event *e, const struct site_facts *site,
				 uint16_t module)
{
	return e->addr == site->addr && told_is_call(e) && e->module == module;
}

/* told_times_set() where the site tells no more than a call that is made there. */
static inline void told_time_call(const struct site_facts *site,
				  const struct pugmark_witness_event *e,
				  struct pugmark_trace_event *events, uint32_t n)
{
	n = told_before_values(events, n);
	if (n && told_calls_at(&events[n - 1], site, e->module))
		told_by(&events[n - 1], e->time_ns - e->early_ns);
}

/* @events are the @n that @e, a witness event of the module with @tables, has decided: in their
 * order, after what the event before it decided. */
static inline void told_times_set(struct told_times *told, const struct parse_tables *tables,
				  const struct pugmark_witness_event *e,
				  struct pugmark_trace_event *events, uint32_t n)
{
	const struct site_facts *site = &tables->sites[e->site];
	struct pugmark_trace_event *last;
	uint32_t func = PUGMARK_NONE;
	uint64_t since_ns = e->time_ns - e->early_ns;
	if (!(site->times_more | told->returned)) {
		told_time_call(site, e, events, n);
		return;
	}
	if (told->returned && n && told_is_return(&events[0], told->module, told->func))
		events[0].to_ns = told->by_ns > events[0].from_ns ? told->by_ns : events[0].from_ns;
	told->returned = site->returns;
	if (site->returns | site->times_call) {
		func = tables->plan->sites[e->site].func;
		told->module = e->module;
		told->func = func;
		told->by_ns = e->early_ns ? e->time_ns : 0;
	}
	n = told_before_values(events, n);
	if (!n)
		return;
	last = &events[n - 1];
	bool returns = site->returns && told_is_return(last, e->module, func);
	if (!told_calls_at(last, site, e->module) && !returns &&
	    !told_enters(last, e->module, site->begins))
		return;
	told_by(last, since_ns);
	told->returned &= !returns;
	/* What the first block calls may be told by the same event. */
	if (site->times_call && n > 1 && told_enters(&events[n - 2], e->module, func))
		told_by(&events[n - 2], since_ns);
}

#endif

// SPDX-License-Identifier: LGPL-2.1-or-later
/* walk_check.c: compares what the parser recovers from a walk's events with the walk. Equal means
 * equal, but for three things that no log of such events holds: when in a silent stretch a signal
 * handler came (the parser has it first); what ran in silence before foreign code threw (the parser
 * reports a gap, and is exact again after it); and, where foreign code keeps old return addresses
 * in its frames, which of two calls of ours it was called by (the parser reports a gap, and the
 * comparison ends). */
#include "tests/support/walker.h"

#include "offline/parser.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const kind_names[] = {
	[TRACE_CALL] = "call",	   [TRACE_TAIL] = "tail",   [TRACE_RET] = "ret",
	[TRACE_UNWIND] = "unwind", [TRACE_ENTER] = "enter", [TRACE_GAP] = "gap",
	[TRACE_BLOCK] = "block",
};

struct cursor {
	uint32_t next;	/* step of the walk */
	uint32_t depth; /* of its TRACE_ENTER, as recovered */
	int32_t less;	/* by so much less than as walked, since it is recovered earlier */
};

struct comparison {
	const struct walk *walk;
	struct walk_verdict *verdict;
	struct cursor *cursors; /* per activation */
	uint32_t act, n_acts;	/* the one that runs; how many have begun */
	uint32_t event;		/* that the parser takes */
	bool done;
};

/* Whether the parser's event is the step, of activation @c->act. */
static bool same(const struct comparison *c, const struct walk_step *s, const struct trace_event *e)
{
	/* A walk is cut short between a call and the entry that would say where it went. */
	bool cut = !e->target && c->event + 1 == c->walk->n_events;
	return s->kind == e->kind && s->addr == e->addr && (s->target == e->target || cut) &&
	       s->depth == e->depth + c->cursors[c->act].less &&
	       (s->kind != TRACE_ENTER || s->cause == e->cause);
}

static void differ(struct comparison *c, uint32_t at, const struct trace_event *e)
{
	const struct walk_step *s = at < c->walk->n_steps ? &c->walk->steps[at] : NULL;
	c->done = true;
	snprintf(c->verdict->text, sizeof(c->verdict->text),
		 "event %u, step %u: walked %s %llx %llx depth %u, recovered %s %llx %llx depth %u "
		 "cause %u",
		 c->event, at, s ? kind_names[s->kind] : "nothing",
		 s ? (unsigned long long)s->addr : 0, s ? (unsigned long long)s->target : 0,
		 s ? s->depth : 0, kind_names[e->kind], (unsigned long long)e->addr,
		 (unsigned long long)e->target, e->depth, e->cause);
}

/* The next step of activation @act that was not recovered yet. */
static uint32_t next_of(const struct comparison *c, uint32_t act)
{
	uint32_t i = c->cursors[act].next;
	while (i < c->walk->n_steps && c->walk->steps[i].act != act)
		i++;
	return i;
}

static bool begins_handler(struct comparison *c, const struct trace_event *e)
{
	if (e->kind != TRACE_ENTER || e->cause != CAUSE_SIGNAL || c->n_acts >= c->walk->n_acts)
		return false;
	const struct walk_act *a = &c->walk->acts[c->n_acts];
	if (a->parent != c->act || next_of(c, c->act) < a->before)
		return false;
	c->act = c->n_acts++;
	c->cursors[c->act] = (struct cursor){
		.next = a->first,
		.depth = e->depth,
		.less = (int32_t)(c->walk->steps[a->first].depth - e->depth),
	};
	return true;
}

/* A gap is right where a throw excuses it; after it, all goes on as if it were not. */
static bool excused(struct comparison *c)
{
	const struct walk *w = c->walk;
	uint32_t at = next_of(c, c->act);
	for (uint32_t i = 0; i < w->n_throws; i++) {
		const struct walk_throw *t = &w->throws[i];
		if (t->event != c->event || at < t->first)
			continue;
		while (c->n_acts < w->n_acts && w->acts[c->n_acts].first < t->resume)
			c->n_acts++;
		for (uint32_t a = t->act; a < c->n_acts; a++) /* not what t->act interrupted */
			if (c->cursors[a].next < t->resume)
				c->cursors[a].next = t->resume;
		c->act = t->act;
		c->verdict->gaps++;
		return true;
	}
	return false;
}

static void compare(struct comparison *c, const struct trace_event *e)
{
	if (c->done)
		return;
	if (e->kind == TRACE_GAP) {
		c->verdict->ambiguous = e->cause == CAUSE_STACK && c->walk->untidy;
		if (c->verdict->ambiguous)
			c->done = true;
		else if (!excused(c))
			differ(c, next_of(c, c->act), e);
		return;
	}
	while (c->act && e->depth <= c->cursors[c->act].depth)
		c->act = c->walk->acts[c->act].parent;
	begins_handler(c, e);
	uint32_t at = next_of(c, c->act);
	if (at == c->walk->n_steps || !same(c, &c->walk->steps[at], e)) {
		differ(c, at, e);
		return;
	}
	c->cursors[c->act].next = at + 1;
	c->verdict->recovered++;
}

/* Whether all that happened up to the last event of each activation came out. */
static void all_recovered(struct comparison *c)
{
	for (uint32_t a = 0; a < c->walk->n_acts; a++) {
		uint32_t at = a < c->n_acts ? next_of(c, a) : c->walk->acts[a].first;
		uint32_t decided = c->walk->acts[a].decided;
		if (at >= decided)
			continue;
		snprintf(c->verdict->text, sizeof(c->verdict->text),
			 "step %u was not recovered, of %u decided ones", at, decided);
		break;
	}
}

static int parse(const struct walk *walk, const struct walk_ground *ground, struct comparison *c)
{
	struct parser *parser;
	int err = parser_new(&ground->tables, &ground->plan, 1, &parser);
	if (err)
		return err;
	for (c->event = 0; !err && c->event < walk->n_events && !c->done; c->event++) {
		err = parser_feed(parser, &walk->events[c->event]);
		uint32_t n = 0;
		const struct trace_event *events = err ? NULL : parser_events(parser, &n);
		for (uint32_t i = 0; i < n; i++)
			compare(c, &events[i]);
	}
	parser_free(parser);
	return err;
}

bool walk_check_over(const struct walk *walk, const struct walk_ground *ground,
		     struct walk_verdict *verdict)
{
	*verdict = (struct walk_verdict){0};
	struct comparison c = {.walk = walk, .verdict = verdict, .n_acts = 1};
	c.cursors = calloc(walk->n_acts, sizeof(*c.cursors));
	if (!c.cursors || parse(walk, ground, &c))
		snprintf(verdict->text, sizeof(verdict->text), "out of memory");
	else if (!c.done)
		all_recovered(&c);
	free(c.cursors);
	return !*verdict->text;
}

bool walk_check(const struct walk *walk, const struct pugmark_plan *plan,
		struct walk_verdict *verdict)
{
	struct walk_ground ground = {.plan = plan};
	if (parse_tables_new(plan, &ground.tables)) {
		snprintf(verdict->text, sizeof(verdict->text), "out of memory");
		return false;
	}
	bool same = walk_check_over(walk, &ground, verdict);
	walk_ground_deinit(&ground);
	return same;
}

void walk_print(const struct walk *walk)
{
	for (uint32_t i = 0; i < walk->n_steps && i < 200; i++) {
		const struct walk_step *s = &walk->steps[i];
		printf("  %3u %*s%-6s %llx %llx (%u)\n", i, (int)s->depth, "", kind_names[s->kind],
		       (unsigned long long)s->addr, (unsigned long long)s->target, s->act);
	}
	for (uint32_t i = 0; i < walk->n_events && i < 100; i++)
		printf("  event %u %s site %u cfa %llx ret %llx val %llx\n", i,
		       walk->events[i].kind == EVENT_SIGNAL ? "signal" : "", walk->events[i].site,
		       (unsigned long long)walk->events[i].cfa,
		       (unsigned long long)walk->events[i].ret,
		       (unsigned long long)walk->events[i].val);
}

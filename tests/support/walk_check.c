// SPDX-License-Identifier: LGPL-2.1-or-later
/* walk_check.c: compares what the parser recovers from a walk's events with the walk. Equal means
 * equal, but for what no log of such events holds. Two things the parser reports a gap for: what
 * ran in silence before foreign code threw (it is exact again after it), and what a signal found on
 * a stack that is not read far enough up (the comparison ends). One it takes for the likelier: see
 * is_taken_for_jump(). Each walk is parsed twice: by a new parser, and by one that has the first
 * one's shortcuts. */
#include "tests/support/walker.h"

#include "offline/recover/state/state.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const kind_names[] = {
	[PUGMARK_TRACE_CALL] = "call",	 [PUGMARK_TRACE_TAIL] = "tail",
	[PUGMARK_TRACE_RET] = "ret",	 [PUGMARK_TRACE_UNWIND] = "unwind",
	[PUGMARK_TRACE_ENTER] = "enter", [PUGMARK_TRACE_GAP] = "gap",
	[PUGMARK_TRACE_BLOCK] = "block",
};

struct comparison {
	const struct walk *walk;
	struct walk_verdict *verdict;
	uint32_t next;	/* step of the walk */
	uint32_t event; /* that the parser takes */
	bool done;
};

/* Whether the parser's event is the step. */
static bool same(const struct comparison *c, const struct walk_step *s,
		 const struct pugmark_trace_event *e)
{
	/* A walk is cut short between a call and the entry that would say where it went. */
	bool cut = !e->target && c->event + 1 == c->walk->n_events;
	return s->kind == e->kind && s->addr == e->addr && (s->target == e->target || cut) &&
	       s->depth == e->depth && (s->kind != PUGMARK_TRACE_ENTER || s->cause == e->cause);
}

/* A frame jumps out, to what returns; and foreign code, which has called the frame's function,
 * calls again from the same place, by chance the function that the jump names. Whoever sees no more
 * than that takes it for the jump. */
static bool is_taken_for_jump(const struct comparison *c, const struct pugmark_trace_event *e)
{
	const struct walk_step *s = &c->walk->steps[c->next];
	return c->next + 1 < c->walk->n_steps && s->kind == PUGMARK_TRACE_TAIL && !s->target &&
	       e->kind == PUGMARK_TRACE_TAIL && e->addr == s->addr && e->depth == s->depth &&
	       s[1].kind == PUGMARK_TRACE_ENTER && s[1].cause == PUGMARK_CAUSE_CALLBACK &&
	       s[1].addr == e->target && s[1].depth + 1 == e->depth;
}

static void differ(struct comparison *c, uint32_t at, const struct pugmark_trace_event *e)
{
	const struct walk_step *s = at < c->walk->n_steps ? &c->walk->steps[at] : NULL;
	c->done = true;
	c->verdict->gap = e->kind == PUGMARK_TRACE_GAP;
	snprintf(c->verdict->text, sizeof(c->verdict->text),
		 "event %u, step %u: walked %s %llx %llx depth %u, recovered %s %llx %llx depth %u "
		 "cause %u",
		 c->event, at, s ? kind_names[s->kind] : "nothing",
		 s ? (unsigned long long)s->addr : 0, s ? (unsigned long long)s->target : 0,
		 s ? s->depth : 0, kind_names[e->kind], (unsigned long long)e->addr,
		 (unsigned long long)e->target, e->depth, e->cause);
}

/* A gap is right where a throw excuses it; after it, all goes on as if it were not. */
static bool excused(struct comparison *c)
{
	const struct walk *w = c->walk;
	for (uint32_t i = 0; i < w->n_throws; i++) {
		const struct walk_throw *t = &w->throws[i];
		if (t->event != c->event || c->next < t->first)
			continue;
		if (c->next < t->resume)
			c->next = t->resume;
		c->verdict->gaps++;
		return true;
	}
	return false;
}

static void compare(struct comparison *c, const struct pugmark_trace_event *e)
{
	if (c->done)
		return;
	if (e->kind == PUGMARK_TRACE_GAP) {
		if (e->cause == PUGMARK_CAUSE_STACK && c->event >= c->walk->blind)
			c->verdict->blind = c->done = true;
		else if (c->walk->unresolved)
			c->verdict->unresolved = c->done = true;
		else if (!excused(c))
			differ(c, c->next, e);
		return;
	}
	if (c->next < c->walk->n_steps && is_taken_for_jump(c, e)) {
		c->next += 2;
		c->verdict->recovered += 2;
		return;
	}
	if (c->next == c->walk->n_steps || !same(c, &c->walk->steps[c->next], e)) {
		differ(c, c->next, e);
		return;
	}
	c->next++;
	c->verdict->recovered++;
}

static int parse(const struct walk *walk, struct parser *parser, struct comparison *c)
{
	int err = 0;
	for (c->event = 0; !err && c->event < walk->n_events && !c->done; c->event++) {
		err = parser_feed(parser, &walk->events[c->event]);
		uint32_t n = 0;
		const struct pugmark_trace_event *events = err ? NULL : parser_events(parser, &n);
		for (uint32_t i = 0; i < n; i++)
			compare(c, &events[i]);
	}
	return err;
}

/* A new parser that knows the ways that @old has gone. */
static int parser_heir(const struct walk_ground *ground, struct parser *old, struct parser **out)
{
	int err = parser_new(&ground->tables, &ground->plan, 1, out);
	if (err || !old)
		return err;
	struct shortcuts *none = (*out)->shortcuts;
	(*out)->shortcuts = old->shortcuts;
	(*out)->bias[0] = old->bias[0];
	(*out)->bias_known = old->bias_known;
	old->shortcuts = none;
	return 0;
}

bool walk_check_over(const struct walk *walk, const struct walk_ground *ground,
		     struct walk_verdict *verdict)
{
	struct parser *old = NULL;
	*verdict = (struct walk_verdict){0};
	for (int round = 0; round < 2 && !*verdict->text; round++) {
		*verdict = (struct walk_verdict){0};
		struct comparison c = {.walk = walk, .verdict = verdict};
		struct parser *parser = NULL;
		int err = parser_heir(ground, old, &parser);
		if (!err)
			err = parse(walk, parser, &c);
		if (err)
			snprintf(verdict->text, sizeof(verdict->text), "out of memory");
		else if (!c.done && c.next < walk->decided) {
			verdict->cut = true;
			snprintf(verdict->text, sizeof(verdict->text),
				 "step %u was not recovered, of %u decided ones", c.next,
				 walk->decided);
		}
		parser_free(old);
		old = parser;
	}
	parser_free(old);
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
		printf("  %3u %*s%-6s %llx %llx\n", i, (int)s->depth, "", kind_names[s->kind],
		       (unsigned long long)s->addr, (unsigned long long)s->target);
	}
	for (uint32_t i = 0; i < walk->n_events && i < 100; i++)
		printf("  event %u %s site %u cfa %llx ret %llx val %llx\n", i,
		       walk->events[i].kind == PUGMARK_EVENT_SIGNAL ? "signal" : "",
		       walk->events[i].site, (unsigned long long)walk->events[i].arm.witness.cfa,
		       (unsigned long long)walk->events[i].arm.witness.ret,
		       (unsigned long long)walk->events[i].arm.witness.val);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* find.c: which alternative of a decision an event begins, by the FIRST sets of the plan's
 * tables, and in which of the open frames. It looks, and changes nothing. */
#include "offline/recover/grammar/grammar.h"
#include "offline/recover/stack/snapshot.h"

static bool fits(const struct parser *p, const struct lookahead *la, const struct first_entry *t,
		 const struct frame *f)
{
	const struct pugmark_witness_event *e = la->e;
	bool any = t->site == FIRST_ANY_ENTRY;
	if (any && !la->cfa)
		return t->ret == FIRST_SELF && lookahead_takes_place(la, f);
	bool depths = t->depth != FIRST_DEPTH_UNKNOWN && f->cfa && (any || la->own_cfa);
	int64_t depth = (int64_t)(f->cfa - (any ? la->cfa : pugmark_event_cfa(e)));
	if (depths && (t->or_below ? depth < t->depth : depth != t->depth))
		return false;
	if (t->ret == FIRST_SELF) {
		uint64_t ret = any ? la->ret : pugmark_event_ret(e);
		return !f->ret || !ret || f->ret == ret;
	}
	if (any)
		return la->from == f->module && la->origin == t->ret;
	if (!pugmark_event_ret(e) ||
	    !(p->plans[f->module]->sites[e->site].capture & PUGMARK_CAPTURE_RET))
		return true;
	const struct pugmark_plan_node *call = node_at(p, f->module, t->ret);
	return pugmark_event_ret(e) == e->bias + call->addr + call->call_len;
}

/* Of two alternatives that fit neither is to be taken. */
static uint32_t only_one(uint32_t alt, uint32_t other)
{
	return alt == PUGMARK_NONE || alt == other ? other : ALTERNATIVE_TORN;
}

/* Whether nothing tells where the frame lies: it is inside of a call at a height that is not known,
 * of which no event tells. Then depths tell nothing apart. */
static bool nothing_places(const struct frame *f)
{
	return f->doubtful && !f->cfa;
}

/* Returns the first alternative that fits. Looks for a second only where the plan marks the
 * decision as ambiguous, or depths tell nothing apart. */
static uint32_t first_fit(const struct parser *p, const struct frame *f,
			  const struct decision_table *t, const struct lookahead *la)
{
	bool only = !t->unsure && !nothing_places(f);
	uint32_t alt = PUGMARK_NONE;
	p->notes->doubted |= t->unsure;
	uint32_t n_sites = la->e->module == f->module ? t->n - t->n_any : 0;
	for (uint32_t i = n_sites ? parse_tables_first(t, la->e->site) : 0;
	     i < n_sites && t->entries[i].site == la->e->site; i++)
		if (fits(p, la, &t->entries[i], f)) {
			alt = only_one(alt, t->entries[i].alt);
			if (only)
				return alt;
		}
	for (uint32_t i = t->n - t->n_any; la->entered != PUGMARK_NONE && i < t->n; i++)
		if (fits(p, la, &t->entries[i], f)) {
			alt = only_one(alt, t->entries[i].alt);
			if (only)
				return alt;
		}
	return alt;
}

/* Keeps what @t says of @site for the next time, if that is at most one entry. */
static void keep_move(struct move *m, const struct frame *f, uint32_t decision, uint32_t site,
		      const struct decision_table *t, uint32_t empty)
{
	uint32_t n_sites = t->n - t->n_any, at = parse_tables_first(t, site);
	if (t->unsure || t->n_any || (at + 1 < n_sites && t->entries[at + 1].site == site))
		return;
	*m = (struct move){{.site = site, .alt = PUGMARK_NONE}, decision, empty, f->module};
	if (at < n_sites)
		m->entry = t->entries[at];
}

uint32_t parser_alternative(const struct parser *p, const struct frame *f, uint32_t decision,
			    const struct lookahead *la, uint32_t *empty)
{
	uint32_t site = la->e->site;
	struct move *m =
		&p->moves[(decision * 2654435769u ^ site * 2246822519u) >> (32 - MOVES_BITS)];
	*empty = PUGMARK_NONE;
	if (decision == PUGMARK_NONE)
		return PUGMARK_NONE;
	if (m->decision == decision && m->entry.site == site && m->module == f->module &&
	    la->e->module == f->module) {
		*empty = m->empty;
		bool found = m->entry.alt != PUGMARK_NONE && fits(p, la, &m->entry, f);
		return found ? m->entry.alt : PUGMARK_NONE;
	}
	const struct decision_table *t = table_at(p, f->module, decision);
	if (!t || t->top)
		return PUGMARK_NONE;
	if (t->n_empty == 1)
		*empty = t->empty;
	if (la->e->module == f->module)
		keep_move(m, f, decision, site, t, *empty);
	return first_fit(p, f, t, la);
}

bool parser_enters_through(const struct parser *p, const struct frame *f,
			   const struct lookahead *la)
{
	const struct pugmark_plan_node *n = node_at(p, f->module, f->node);
	if (la->entered == PUGMARK_NONE)
		return false;
	if (!la->cfa)
		return n->flags & PUGMARK_NODE_TAIL && !f->foreign_target &&
		       lookahead_takes_place(la, f) && parser_may_jump_to(p, f->module, n, la);
	if (f->foreign_target && !la->foreign && !la->jumped_back && la->e->module == f->module)
		return false;
	if (n->flags & PUGMARK_NODE_TAIL)
		return (!f->cfa || f->cfa == la->cfa) && (!f->ret || !la->ret || f->ret == la->ret);
	if (la->from != f->module || la->origin != f->node)
		return false;
	if (f->call_cfa)
		return f->call_cfa == la->cfa;
	bool depths = f->cfa && n->height != PUGMARK_HEIGHT_UNKNOWN;
	return !depths || f->cfa - la->cfa == (uint64_t)n->height;
}

/* Which of the open frames an event can be of. */
struct range {
	uint32_t lo, open;
};

static struct range range_of(const struct parser *p, const struct lookahead *la, uint32_t open)
{
	struct range r = {.open = open};
	if (p->n_handlers)
		parser_handlers_bound(p, la->e, &r.lo, &r.open);
	return r;
}

/* parser_find(), in one of the frames of @r. */
static enum found find_below(const struct parser *p, const struct lookahead *la, struct range r,
			     uint32_t *level, uint32_t *alt)
{
	struct silence s;
	for (uint32_t i = p->n; i-- > 0 && silence_in(&s, p, i);) {
		bool here = i < r.open && i >= r.lo;
		uint32_t empty;
		*level = i;
		*alt = PUGMARK_NONE;
		if (s.call && here && parser_enters_through(p, s.frame, la))
			return FOUND_ONE;
		if (!silence_after_call(&s))
			return FOUND_NONE;
		if (s.jumped)
			continue;
		*alt = parser_alternative(p, s.frame, s.decision, la, &empty);
		if (here && *alt != PUGMARK_NONE)
			return *alt == ALTERNATIVE_TORN ? FOUND_TORN : FOUND_ONE;
		if (empty == PUGMARK_NONE)
			return FOUND_NONE;
	}
	return FOUND_NONE;
}

/* Whether the event may be of what is entered once frame @f has ended, by the code that has entered
 * that, of which nothing shows; not where the stack says which call of ours it was during. */
static bool may_enter_anew(const struct lookahead *la, const struct frame *f)
{
	return la->entered != PUGMARK_NONE && la->foreign && la->origin == PUGMARK_NONE &&
	       (f->boundary == BELOW_ROOT || f->boundary == BELOW_SWITCH ||
		f->boundary == BELOW_CALLBACK);
}

/* Whether at the decision of @s nothing tells which way is taken, or depths tell nothing apart. */
static bool unsure_here(const struct silence *s)
{
	return nothing_places(s->frame) ||
	       parser_unsure_decision(s->p, s->frame->module, s->decision);
}

/* Whether the event, which fits in frame @at by @alt, fits as well once that has gone on in
 * silence: where the plan says that nothing tells the way from there, or behind a call of which it
 * says that its end cannot be told. */
static bool fits_behind(const struct parser *p, const struct lookahead *la, uint32_t at,
			uint32_t alt, struct range r)
{
	struct silence s;
	bool doubt = false; /* from here on, what fits as well is as likely */
	for (uint32_t i = at + 1; i-- > 0 && silence_in(&s, p, i);) {
		bool behind = i < at, here = i < r.open && i >= r.lo;
		if (behind || s.call)
			doubt = doubt || parser_unsure_call(p, s.frame);
		if (s.call && behind && doubt && here && parser_enters_through(p, s.frame, la))
			return true;
		if (!silence_after_call(&s))
			return false;
		if (s.call) /* it fits behind the call as well, or there alone */
			behind = behind || doubt || alt == PUGMARK_NONE;
		if (!behind && !s.jumped)
			doubt = doubt || unsure_here(&s);
		if (!s.jumped) {
			uint32_t empty;
			bool fits = parser_alternative(p, s.frame, s.decision, la, &empty) !=
				    PUGMARK_NONE;
			if (behind && doubt && here && fits)
				return true;
			if (empty == PUGMARK_NONE)
				return false;
		}
		if (doubt && may_enter_anew(la, s.frame))
			return true;
	}
	return false;
}

/* Whether @node alone can come next at @decision, but for what shows. */
static bool only_next(const struct pugmark_plan *plan, uint32_t decision, uint32_t node)
{
	bool there = false;
	if (decision == PUGMARK_NONE)
		return false;
	const struct pugmark_plan_decision *d = &plan->decisions[decision];
	for (uint32_t i = d->first; i < d->first + d->n; i++) {
		uint32_t alt = plan->alternatives[i];
		there |= alt == node;
		if (alt != node && plan->nodes[alt].site == PUGMARK_NONE)
			return false;
	}
	return there;
}

/* Whether the event, to which the grammar leads by @alt of frame @level, may as well come by
 * unwinding, out of what was called on the way there. Not if all of the way is one call that does
 * nothing of ours. */
static bool may_have_landed(const struct parser *p, const struct lookahead *la, uint32_t level,
			    uint32_t alt)
{
	const struct parse_tables *t = p->tables[la->e->module];
	uint32_t node = parse_tables_node_of(t, la->e->site);
	struct silence s;
	if (!t->unsure_root || !t->unsure_root[node])
		return false;
	if (level + 1 < p->n || alt == PUGMARK_NONE || p->stack[level].node ||
	    !silence_in(&s, p, level) || s.call)
		return true;
	const struct pugmark_plan_node *n = node_at(p, p->stack[level].module, alt);
	return n->kind != PUGMARK_NODE_KIND_LEAF || !only_next(t->plan, s.decision, alt) ||
	       !only_next(t->plan, pugmark_node_next(n), node);
}

enum found parser_find(const struct parser *p, const struct lookahead *la, uint32_t *level,
		       uint32_t *alt)
{
	/* Where the event does not tell its frame, it tells its stack pointer. */
	uint32_t open = la->own_cfa ? p->n : stack_frames_above(p, la->e, pugmark_event_cfa(la->e));
	struct range r = range_of(p, la, open);
	enum found found = find_below(p, la, r, level, alt);
	if (found == FOUND_ONE && p->unsure &&
	    (may_have_landed(p, la, *level, *alt) || fits_behind(p, la, *level, *alt, r)))
		return FOUND_TORN;
	return found;
}

bool parser_can_come_below(const struct parser *p, const struct lookahead *la, uint32_t n)
{
	uint32_t level, alt;
	return find_below(p, la, range_of(p, la, n), &level, &alt) != FOUND_NONE;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* parser_silent.c: how far a thread came since its last event, at a moment that no witness marks:
 * when a signal interrupts it, or when it dies. Its stack has the calls in progress, the plan's
 * points say what is next where the instruction pointer is, and from where the last event left the
 * parser one way in silence leads there: two that meet would have been told apart by a witness
 * (docs/theory.md). So every reading of the stack is tried, the innermost return address first, and
 * the one that the grammar allows is taken. */
#include "offline/parser_state.h"
#include "offline/stack_scan.h"

#include <stdlib.h>
#include <string.h>

#define LINKS_MAX 512  /* silent calls in progress */
#define WAYS_MAX 4096  /* decisions looked at for one */
#define STEPS_MAX 4096 /* nodes passed in all */

/* A decision that a search came to, by passing @node of an earlier one. */
struct way {
	uint32_t decision, func;
	uint32_t node;
	int from; /* -1: the first */
};

struct step {
	uint32_t node;
	bool into; /* it is a call in progress: else it is passed */
};

/* What a way leads to: that a node is next, that it was last (0: the entry of a function), or a
 * jump out of the module. */
enum goal { GOAL_NODE, GOAL_AFTER, GOAL_OUT };

struct settling {
	struct parser *p;
	const struct witness_event *e;
	uint64_t sp;
	/* Where the instruction pointer is; func NONE: in code that is not traced. */
	uint16_t module;
	uint32_t func, next;
	uint64_t cfa;	 /* of that frame; 0: not known */
	uint64_t caller; /* where the return address of its innermost call of ours lies; or 0 */
	/* Which open frame lies at each place of the snapshot, plus one; the topmost, and whether
	 * there are more. */
	uint32_t *frame_at;
	bool twice;
	/* One reading of the stack: frame @level is open, and these calls are in progress. */
	uint32_t level;
	struct stack_link links[LINKS_MAX]; /* the innermost first */
	int n_links;
	/* What is to be done for it. */
	bool keep;	/* nothing: it is where the parser is */
	bool leave;	/* the call that the frame is in has come back */
	bool announce;	/* it has not */
	uint32_t enter; /* function that the last call has entered, or NONE */
	struct step steps[STEPS_MAX];
	uint32_t n_steps;
	/* A search. */
	struct way ways[WAYS_MAX];
	uint16_t table[2 * WAYS_MAX]; /* hash of them: index + 1 */
	int n_ways;
};

/* ---- ways in silence ---- */

static void add_way(struct settling *s, uint32_t decision, uint32_t func, uint32_t node, int from)
{
	if (decision == PUGMARK_NONE || s->n_ways == WAYS_MAX)
		return;
	uint32_t h = decision * 2654435761u ^ func * 40503u;
	for (uint32_t i; (i = s->table[h % (2 * WAYS_MAX)]); h++)
		if (s->ways[i - 1].decision == decision && s->ways[i - 1].func == func)
			return;
	s->ways[s->n_ways++] = (struct way){decision, func, node, from};
	s->table[h % (2 * WAYS_MAX)] = s->n_ways;
}

/* Where silence leads over @node, from the way @from. */
static void add_next(struct settling *s, uint16_t module, uint32_t node, int from)
{
	const struct parser *p = s->p;
	const struct plan_node *n = node_at(p, module, node);
	uint32_t func = s->ways[from].func;
	if (n->site != PUGMARK_NONE)
		return;
	if (n->kind == NODE_KIND_CALL && n->flags & NODE_TAIL)
		add_way(s, p->plans[module]->funcs[n->callee].entry, n->callee, node, from);
	else if (n->flags & NODE_NORETURN)
		return;
	else if (n->kind == NODE_KIND_CALL
			 ? parse_tables_func_empty(p->tables[module], n->callee)
			 : n->kind == NODE_KIND_BLOCK ||
				   (!(n->flags & NODE_TAIL) &&
				    (n->kind == NODE_KIND_UNKNOWN || n->kind == NODE_KIND_LEAF)))
		add_way(s, n->next, func, node, from);
}

/* The alternative of the way's decision by which it comes to the goal, or PUGMARK_NONE. */
static uint32_t reached(const struct settling *s, const struct pugmark_plan *plan,
			const struct way *w, enum goal goal, uint32_t node, uint32_t func)
{
	const struct plan_decision *d = &plan->decisions[w->decision];
	for (uint32_t i = d->first; i < d->first + d->n; i++) {
		uint32_t alt = plan->alternatives[i];
		const struct plan_node *n = &plan->nodes[alt];
		bool out = n->flags & NODE_TAIL && n->site == PUGMARK_NONE &&
			   (n->kind == NODE_KIND_UNKNOWN ||
			    (n->kind == NODE_KIND_LEAF && s->func == PUGMARK_NONE));
		if (goal == GOAL_OUT ? out : alt == node && (node || w->func == func))
			return alt;
	}
	return PUGMARK_NONE;
}

/* Whether the way's decision is the one after @node, 0: at the entry of @func. */
static bool is_after(const struct settling *s, const struct pugmark_plan *plan, int at,
		     uint32_t node, uint32_t func)
{
	const struct way *w = &s->ways[at];
	if (node)
		return w->node == node;
	return w->func == func && w->decision == plan->funcs[func].entry &&
	       (w->from < 0 || plan->nodes[w->node].flags & NODE_TAIL);
}

static bool add_step(struct settling *s, uint32_t node, bool into)
{
	if (s->n_steps == STEPS_MAX)
		return false;
	s->steps[s->n_steps++] = (struct step){node, into};
	return true;
}

/* The steps along the ways up to @at. */
static bool add_steps(struct settling *s, int at)
{
	uint32_t first = s->n_steps;
	for (; s->ways[at].from >= 0; at = s->ways[at].from)
		if (!add_step(s, s->ways[at].node, false))
			return false;
	for (uint32_t i = first, j = s->n_steps; i + 1 < j; i++) {
		struct step swap = s->steps[i];
		s->steps[i] = s->steps[--j];
		s->steps[j] = swap;
	}
	return true;
}

/* Adds the steps from @decision of @func to the goal, @node and @node_func. Returns false where
 * there is no such way; else in *@alt what is next, but for GOAL_AFTER. */
static bool find_way(struct settling *s, uint16_t module, struct way from, enum goal goal,
		     uint32_t node, uint32_t node_func, uint32_t *alt)
{
	const struct pugmark_plan *plan = s->p->plans[module];
	s->n_ways = 0;
	memset(s->table, 0, sizeof(s->table));
	add_way(s, from.decision, from.func, from.node, -1);
	for (int at = 0; at < s->n_ways; at++) {
		const struct plan_decision *d = &plan->decisions[s->ways[at].decision];
		bool there = goal == GOAL_AFTER && is_after(s, plan, at, node, node_func);
		if (goal != GOAL_AFTER) {
			*alt = reached(s, plan, &s->ways[at], goal, node, node_func);
			there = *alt != PUGMARK_NONE;
		}
		if (there)
			return add_steps(s, at);
		for (uint32_t i = d->first; i < d->first + d->n; i++)
			if (plan->alternatives[i])
				add_next(s, module, plan->alternatives[i], at);
	}
	return false;
}

/* ---- one reading of the stack ---- */

/* Whether what the thread is in, of @func of its module, has been entered but its first witness is
 * still to come. */
static bool just_entered(const struct settling *s)
{
	const struct pugmark_plan *plan = s->p->plans[s->module];
	if (s->func == PUGMARK_NONE || !(plan->funcs[s->func].flags & PLAN_FUNC_ENTERED) ||
	    plan->funcs[s->func].entry == PUGMARK_NONE)
		return false;
	const struct plan_decision *d = &plan->decisions[plan->funcs[s->func].entry];
	return d->n == 1 && plan->alternatives[d->first] == s->next;
}

/* Inside of a call whose callee is not known, and of no other call of ours. */
static bool inside_unknown(struct settling *s)
{
	if (s->func == PUGMARK_NONE)
		s->announce = true;
	else if (just_entered(s))
		s->enter = s->func;
	else
		return false;
	return true;
}

/* In a function of ours, or out of it by a jump, with no call in progress. */
static bool inside_function(struct settling *s, uint16_t module, struct way from)
{
	uint32_t alt, n = s->n_steps, node = POINT_NODE(s->next);
	enum goal goal = s->next & POINT_AFTER ? GOAL_AFTER : GOAL_NODE;
	bool here = s->func != PUGMARK_NONE && module == s->module && s->next != PUGMARK_NONE &&
		    !(s->next & POINT_PASSED);
	if (here && find_way(s, module, from, goal, node, s->func, &alt))
		return true;
	s->n_steps = n;
	if (!inside_unknown(s) || !find_way(s, module, from, GOAL_OUT, 0, 0, &alt))
		return false;
	return add_step(s, alt, true);
}

/* Whether the witness of a call in @level has been, but not the call itself. */
static bool before_call(struct settling *s, uint8_t position, uint32_t decision)
{
	const struct parser *p = s->p;
	const struct frame *f = &p->stack[s->level];
	uint32_t node = POINT_NODE(s->next);
	if (s->n_links || s->func == PUGMARK_NONE || s->next == PUGMARK_NONE ||
	    !(s->next & POINT_PASSED) || f->node != node || f->module != s->module)
		return false;
	const struct plan_node *n = node_at(p, s->module, node);
	if (n->kind == NODE_KIND_UNKNOWN)
		s->keep = position == AT_CALL && s->level + 1 == p->n;
	else if (s->level + 1 == p->n && n->flags & NODE_TAIL)
		s->keep = n->kind == NODE_KIND_CALL && position == AT_DECISION &&
			  decision == p->plans[s->module]->funcs[n->callee].entry;
	else if (s->level + 1 == p->n)
		s->keep = position == AT_DECISION && decision == n->next;
	else if (n->kind == NODE_KIND_CALL && s->level + 2 == p->n)
		s->keep =
			p->position == AT_DECISION && p->stack[p->n - 1].boundary == BELOW_CALL &&
			p->stack[p->n - 1].decision == p->plans[s->module]->funcs[n->callee].entry;
	return s->keep;
}

/* Whether the parser takes the one call that is in progress for one that has just ended: its callee
 * has jumped out of the module, or is about to return. */
static bool just_ended(const struct settling *s, uint8_t position, uint32_t decision)
{
	const struct frame *f = &s->p->stack[s->level];
	const struct stack_link *link = &s->links[0];
	bool out = s->func == PUGMARK_NONE || (s->next != PUGMARK_NONE && s->next & POINT_PASSED);
	return s->n_links == 1 && out && position == AT_DECISION && f->module == link->module &&
	       f->node == link->call && decision == node_at(s->p, f->module, f->node)->next;
}

/* From there into the calls of the links below @n, and on to the thread's place. */
static bool follow_links(struct settling *s, int n, uint16_t module, struct way from)
{
	const struct parser *p = s->p;
	while (n-- > 0) {
		uint32_t call = s->links[n].call, alt;
		const struct plan_node *c = node_at(p, module, call);
		if (s->links[n].module != module || c->site != PUGMARK_NONE ||
		    !find_way(s, module, from, GOAL_NODE, call, c->func, &alt) ||
		    !add_step(s, call, true))
			return false;
		if (c->kind == NODE_KIND_LEAF)
			return !n && s->func == PUGMARK_NONE;
		if (c->kind != NODE_KIND_CALL)
			return !n && inside_unknown(s);
		from = (struct way){.decision = p->plans[module]->funcs[c->callee].entry,
				    .func = c->callee};
		if (from.decision == PUGMARK_NONE)
			return !n;
	}
	return inside_function(s, module, from);
}

/* Whether the grammar allows this reading; then what is to be done for it is in @s. */
static bool allowed(struct settling *s)
{
	struct parser *p = s->p;
	const struct frame *f = &p->stack[s->level];
	uint32_t decision;
	uint8_t position = parser_position_below(p, s->level, &decision);
	s->n_steps = 0;
	s->keep = s->leave = s->announce = false;
	s->enter = PUGMARK_NONE;
	if (before_call(s, position, decision))
		return true;
	if ((position != AT_DECISION && position != AT_CALL) ||
	    parser_can_end_down_to(p, s->level + 1) != s->level + 1)
		return false;
	if (position == AT_CALL) {
		const struct plan_node *n = node_at(p, f->module, f->node);
		const struct stack_link *first = s->n_links ? &s->links[s->n_links - 1] : NULL;
		if (first ? first->call == f->node && first->module == f->module
			  : n->flags & NODE_TAIL)
			return s->n_links <= 1 && inside_unknown(s);
		if (n->flags & (NODE_NORETURN | NODE_TAIL))
			return false;
		s->leave = true;
		decision = n->next;
	}
	struct way from = {.decision = decision, .func = f->func, .node = f->node};
	if (follow_links(s, s->n_links, f->module, from))
		return true;
	s->n_steps = 0;
	s->leave = s->announce = false;
	s->enter = PUGMARK_NONE;
	return just_ended(s, position, decision);
}

/* ---- all of them ---- */

/* Whether the innermost call in progress can have led to where the thread is. */
static bool leads_here(const struct settling *s, const struct stack_link *link)
{
	const struct plan_node *c = node_at(s->p, link->module, link->call);
	if (s->func == PUGMARK_NONE)
		return c->kind != NODE_KIND_CALL ||
		       stack_jumps_out(s->p->plans[link->module], c->callee);
	if (c->kind == NODE_KIND_UNKNOWN)
		return just_entered(s);
	if (c->kind != NODE_KIND_CALL)
		return false;
	const struct pugmark_plan *plan = s->p->plans[link->module];
	return (just_entered(s) && stack_jumps_out(plan, c->callee)) ||
	       (link->module == s->module && stack_jumps_to(plan, c->callee, s->func));
}

/* Whether frame @f can be the one that made the outermost call of the links: @cfa is where that is,
 * 0 where its height is not known. */
static bool made_by(const struct settling *s, const struct frame *f, uint64_t cfa)
{
	if (cfa)
		return f->cfa == cfa;
	if (!s->n_links)
		return false;
	const struct stack_link *link = &s->links[s->n_links - 1];
	if (node_at(s->p, link->module, link->call)->site == PUGMARK_NONE)
		return f->cfa > link->cfa;
	/* Its witness told where its callee's frame is. */
	return f->node == link->call && f->module == link->module &&
	       (!f->call_cfa || f->call_cfa == link->cfa);
}

static bool try_level(struct settling *s, uint32_t level, uint64_t cfa)
{
	s->level = level;
	return made_by(s, &s->p->stack[level], cfa) && stack_frames_intact(s->p, s->e, level) &&
	       allowed(s);
}

/* The readings in which an open frame's own code made the calls in the links. */
static bool try_levels(struct settling *s, uint64_t cfa)
{
	uint64_t place = (cfa - 8 - s->e->stack_addr) / 8;
	if (cfa && !s->twice && place < s->e->stack_words)
		return s->frame_at[place] && try_level(s, s->frame_at[place] - 1, cfa);
	for (uint32_t level = s->p->n; level-- > 0;)
		if (try_level(s, level, cfa))
			return true;
	return false;
}

static bool index_frames(struct settling *s)
{
	const struct witness_event *e = s->e;
	s->twice = false;
	s->frame_at = calloc(e->stack_words + 1, sizeof(*s->frame_at));
	if (!s->frame_at)
		return false;
	for (uint32_t i = 0; i < s->p->n; i++) {
		uint64_t cfa = s->p->stack[i].cfa;
		if (!cfa || !stack_word_below(e, cfa - 8))
			continue;
		uint32_t *at = &s->frame_at[(cfa - 8 - e->stack_addr) / 8];
		s->twice |= *at != 0;
		*at = i + 1;
	}
	return true;
}

/* Whether the return address @word, right below @cfa, can be that of the call in progress around
 * those of the links; then it is one of them. */
static bool add_link(struct settling *s, uint64_t cfa, uint64_t word)
{
	const struct parser *p = s->p;
	struct stack_link link = {.cfa = cfa};
	if (s->n_links == LINKS_MAX)
		return false;
	link.call = parser_call_before(p, s->module, word, &link.module);
	if (link.call == PUGMARK_NONE)
		return false;
	if (!s->n_links) {
		if (!leads_here(s, &link))
			return false;
	} else {
		const struct plan_node *c = node_at(p, link.module, link.call);
		const struct stack_link *inner = &s->links[s->n_links - 1];
		uint32_t func = node_at(p, inner->module, inner->call)->func;
		if (c->kind != NODE_KIND_CALL || link.module != inner->module ||
		    !stack_jumps_to(p->plans[link.module], c->callee, func))
			return false;
	}
	s->links[s->n_links++] = link;
	return true;
}

/* The readings in which what the links say is called by frames whose return addresses follow one
 * another from the one right below @cfa on. */
static bool try_chain(struct settling *s, uint64_t cfa)
{
	uint64_t word;
	while (!try_levels(s, cfa)) {
		if (!stack_word(s->e, cfa - 8, &word) || !add_link(s, cfa, word))
			return false;
		const struct stack_link *link = &s->links[s->n_links - 1];
		const struct plan_node *c = node_at(s->p, link->module, link->call);
		if (c->height == PUGMARK_HEIGHT_UNKNOWN)
			return c->site != PUGMARK_NONE && try_levels(s, 0);
		cfa += c->height;
	}
	return true;
}

/* The readings with the return address at @addr as the innermost one of ours. */
static bool try_from(struct settling *s, uint64_t addr)
{
	s->n_links = 0;
	if (try_chain(s, addr + 8))
		return true;
	if (!s->n_links)
		return false;
	const struct stack_link *link = &s->links[0];
	const struct plan_node *c = node_at(s->p, link->module, link->call);
	if (c->height != PUGMARK_HEIGHT_UNKNOWN || c->site != PUGMARK_NONE)
		return false;
	/* A call at an unknown height that nothing shows: its frame ends at the next return address
	 * that leads on, or else beyond the snapshot. */
	for (addr += 8; stack_word_below(s->e, addr); addr += 8) {
		s->n_links = 1;
		if (try_chain(s, addr + 8))
			return true;
	}
	s->n_links = 1;
	return try_levels(s, 0);
}

/* The readings where call frame information has found the innermost call of ours, or that there is
 * none: it may be in what a function of ours that was not called by another has jumped to. */
static bool try_caller(struct settling *s, uint64_t addr)
{
	const struct parser *p = s->p;
	bool none = s->caller == SIGNAL_NO_CALLER;
	uint16_t module;
	s->n_links = 0;
	for (; stack_word_below(s->e, addr) && (none || addr < s->caller); addr += 8) {
		uint32_t i = s->frame_at[(addr - s->e->stack_addr) / 8];
		if (i && parser_call_before(p, 0, p->stack[i - 1].ret, &module) == PUGMARK_NONE &&
		    try_level(s, i - 1, addr + 8))
			return true;
	}
	return !none && try_from(s, s->caller);
}

/* Whether the thread is about to leave the module by a jump whose witness has been: then that
 * counts as made, and the parser has ended the frame. */
static bool counts_as_gone(const struct settling *s)
{
	if (s->func == PUGMARK_NONE || s->next == PUGMARK_NONE || !(s->next & POINT_PASSED))
		return false;
	const struct plan_node *n = node_at(s->p, s->module, POINT_NODE(s->next));
	return n->kind == NODE_KIND_LEAF && n->flags & NODE_TAIL;
}

/* The readings of the stack from @first on. */
static bool read_from(struct settling *s, uint64_t first)
{
	s->n_links = 0;
	if (s->cfa)
		return try_chain(s, s->cfa);
	if (s->caller)
		return try_caller(s, first);
	for (uint64_t addr = first; stack_word_below(s->e, addr); addr += 8)
		if (try_from(s, addr))
			return true;
	/* Its own code runs in a frame that the snapshot does not reach the end of. */
	s->n_links = 0;
	for (uint32_t i = s->p->n; i-- > 0;) {
		s->level = i;
		if (s->p->stack[i].cfa > s->sp && !stack_word_below(s->e, s->p->stack[i].cfa - 8) &&
		    s->func != PUGMARK_NONE && allowed(s))
			return true;
	}
	return false;
}

static bool find_reading(struct settling *s)
{
	uint64_t first = (s->sp + 7) & ~7ull;
	if (read_from(s, first))
		return true;
	if (!counts_as_gone(s))
		return false;
	if (s->cfa)
		first = s->cfa;
	s->func = s->next = PUGMARK_NONE;
	s->cfa = 0;
	return read_from(s, first);
}

/* ---- what is to be done ---- */

static void pass_silently(struct settling *s, uint32_t node)
{
	struct parser *p = s->p;
	uint32_t frames = p->n;
	parser_pass(p, node, s->e);
	parser_end_frames(p, frames);
	if (p->position == AT_CALL)
		parser_leave_call(p);
}

static void carry_out(struct settling *s)
{
	struct parser *p = s->p;
	if (s->keep)
		return;
	parser_end_frames(p, s->level + 1);
	if (s->leave)
		parser_leave_call(p);
	for (uint32_t i = 0; i < s->n_steps && !p->failed; i++)
		if (s->steps[i].into)
			parser_pass(p, s->steps[i].node, s->e);
		else
			pass_silently(s, s->steps[i].node);
	if (p->position != AT_CALL || p->failed)
		return;
	if (s->enter != PUGMARK_NONE)
		parser_call_into(p, s->module, s->enter);
	else if (s->announce)
		parser_announce(p);
}

/* Finds the point of @ip. Returns false where it is in the module, but there are none. */
static bool locate(struct settling *s, uint64_t ip, uint64_t bp)
{
	struct place at;
	if (!parser_place_at(s->p, s->sp, ip, bp, &at))
		return false;
	s->module = at.module;
	s->func = at.func;
	s->next = at.next;
	s->cfa = at.cfa;
	return true;
}

/* Whether no call of ours is in progress. Where the process has ended before its stack was unwound,
 * the outermost frame's return address may have been written over. */
static bool none_left(const struct parser *p, const struct witness_event *e, uint64_t caller)
{
	return caller == SIGNAL_NO_CALLER ||
	       (!caller && !stack_slot_holds(e, p->stack[0].cfa, p->stack[0].ret));
}

enum settled parser_settle(struct parser *p, const struct witness_event *e, uint64_t sp,
			   uint64_t ip, uint64_t bp)
{
	if (p->strict) /* of two ways in silence one would be taken */
		return UNSETTLED;
	uint64_t caller = e->kind == EVENT_SIGNAL ? e->signal.caller : 0;
	if (!p->n)
		return SETTLED;
	if (!stack_word_below(e, (sp + 7) & ~7ull))
		return UNSETTLED;
	struct settling *s = malloc(sizeof(*s));
	if (!s) {
		p->failed = true;
		return UNSETTLED;
	}
	s->p = p;
	s->e = e;
	s->sp = sp;
	s->frame_at = NULL;
	s->caller = caller;
	enum settled result = UNSETTLED;
	if (locate(s, ip, bp) && index_frames(s) && find_reading(s)) {
		result = s->keep && s->level + 1 < p->n ? SETTLED_AHEAD : SETTLED;
		carry_out(s);
	}
	free(s->frame_at);
	free(s);
	if (result || !none_left(p, e, caller) || parser_can_end_down_to(p, 0))
		return result;
	parser_end_frames(p, 0);
	return SETTLED;
}

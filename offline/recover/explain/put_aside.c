// SPDX-License-Identifier: LGPL-2.1-or-later
/* put_aside.c: code that is not traced leaves frames of ours without their return, and may put them
 * back. It was called during an outer call, has called back, and calls back again out of the outer
 * call, though the first callback has not returned: by longjmp or an exception, for good; or it
 * copies that part of the stack to the heap, and later back to the same place. So does Python's
 * greenlet, whose lines of execution share one range of addresses.
 *
 * Either way the frames inside of the outer call are left (unwind), and they are kept, as a context
 * of its own, with the words that their memory held. If a callback comes whose stack has all of
 * these again, the thread has switched there: its frames are told as resumed, the first time.
 *
 *	outer call | lib | callback f | call | lib | callback g     f suspended
 *	outer call | lib | callback h                               f left, kept
 *	outer call | lib | callback f | call | lib | callback k     f put back
 */
#include "offline/recover/explain/other_stacks.h"

#include <stdlib.h>
#include <string.h>

#define ASIDE_MAX 8192	/* contexts that are kept so */
#define ASIDE_LEFT 6144 /* of too many */

/* Where the outermost frame of the line ends; a program's first one has no caller. */
static uint64_t outermost(const struct parser *p)
{
	return p->stack[0].cfa ? p->stack[0].cfa : UINT64_MAX;
}

/* Where what the innermost of the first @n frames has called, or jumped to, lies; 0: not known. */
static uint64_t callee_cfa(const struct parser *p, uint32_t n)
{
	const struct frame *f = &p->stack[n - 1];
	bool jumped = node_at(p, f->module, f->node)->flags & PUGMARK_NODE_TAIL;
	return jumped ? f->cfa : stack_callee_cfa(p, n - 1);
}

/* ---- whose call it is ---- */

/* The parser once only the first @n frames are open, inside of which code that is not traced has
 * called back: to ask of. */
static struct parser cut_to(const struct parser *p, uint32_t n)
{
	struct parser view = *p;
	if (n == p->n)
		return view;
	view.position = parser_interruption_at(p, n)->position;
	while (view.n_interruptions && p->interruptions[view.n_interruptions - 1].frame >= n)
		view.n_interruptions--;
	while (view.n > n)
		view.gone -= view.stack[--view.n].gone;
	return view;
}

/* Whether the event is a callback out of the call that the innermost of the first @n frames of @p
 * is in, all of which are on the stack; in *@cfa where what that call has made lies. */
static bool comes_out_of(const struct parser *p, uint32_t n, const struct lookahead *la,
			 uint64_t *cfa)
{
	struct parser view = cut_to(p, n);
	return view.position == AT_CALL && context_frames_intact(&view, la->e) &&
	       callback_is_innermost(&view, la, cfa);
}

/* The next lower number of frames that code that is not traced has called back on top of; 0: there
 * is none. */
static uint32_t next_cut(const struct parser *p, uint32_t n)
{
	for (uint32_t i = p->n_interruptions; i-- > 0;)
		if (p->interruptions[i].frame < n && p->interruptions[i].kind == BELOW_CALLBACK)
			return p->interruptions[i].frame;
	return 0;
}

/* Whether a callback of kept line @c can lie where the event's frame does: inside of a frame of
 * that line, which is on the stack; or in its place, if that has jumped there. */
static inline bool may_be_inside(const struct context *c, const struct lookahead *la)
{
	uint64_t cfa = pugmark_event_cfa(la->e), word;
	if (!c->around_cfa || !pugmark_event_is_address(c->around_ret))
		return true;
	if (cfa == c->around_cfa)
		return c->around_jumps && pugmark_event_ret(la->e) == c->around_ret;
	return cfa < c->around_cfa &&
	       (!stack_word(la->e, c->around_cfa - 8, &word) || word == c->around_ret);
}

/* Whether a look tells that the event is not of kept line @c: most of many lines are not asked
 * more.
 */
static inline bool is_other(const struct context *c, const struct lookahead *la)
{
	uint64_t word;
	if (!may_be_inside(c, la))
		return true;
	return c->mark_addr && stack_word(la->e, c->mark_addr, &word) && word && word != c->mark;
}

/* How many frames of context @i, kept aside, are open, if it was put back, and in *@sure whether
 * that is certain; 0: it was not. */
static uint32_t put_back(const struct parser *p, uint32_t i, const struct lookahead *la,
			 uint64_t *cfa, bool *sure)
{
	const struct context *kept = &p->contexts[i];
	struct parser there = context_view(p, kept);
	for (uint32_t n = there.n; n; n = next_cut(&there, n)) {
		enum holds as =
			held_words_in(kept->held, la->e, callee_cfa(&there, n), outermost(&there));
		*sure = as == HOLDS;
		if (as != HOLDS_NOT && comes_out_of(&there, n, la, cfa))
			return n;
	}
	return 0;
}

/* The event fits two lines: the current one, as callback @here, and a kept one, as a callback out
 * of the call whose callee lies at @cfa. It is of the line whose callee lies deeper. Where both lie
 * there, it is not of the current line if the words there have changed since the last callback. */
enum is_here { NOT_HERE, MAY_BE_HERE, IS_HERE };
static enum is_here is_here(const struct parser *p, const struct lookahead *la,
			    const struct candidate *here, uint64_t cfa)
{
	uint64_t own = here->callback.la.cfa;
	if (own != cfa)
		return own && own < cfa ? IS_HERE : NOT_HERE;
	bool seen = p->seen && p->seen->context == p->context && p->seen->addr == cfa;
	return seen && held_words_in(p->seen, la->e, cfa, outermost(p)) == HOLDS_NOT ? NOT_HERE
										     : MAY_BE_HERE;
}

/* Adds the kept line that the event is of: the one whose callee lies deepest, as far as the words
 * are certain. Adds it twice, which makes a gap, if another kept line or the current one fits as
 * well; not at all, if the event is of the current line. */
static void ask_put_back(const struct parser *p, const struct lookahead *la,
			 const struct candidate *here, struct candidates *set)
{
	uint32_t found = 0;
	uint64_t best = UINT64_MAX, cfa;
	struct candidate c = {.cause = CAUSE_PUT_ASIDE, .unsaid = PUGMARK_CAUSE_NONE};
	for (uint32_t i = p->n_contexts; p->n_aside && i-- > 0;) {
		bool sure;
		const struct context *kept = &p->contexts[i];
		if (!kept->aside || !kept->held || is_other(kept, la))
			continue;
		uint32_t n = put_back(p, i, la, &cfa, &sure);
		if (!n || cfa > best)
			continue;
		found = cfa < best && sure && !p->contexts[i].several ? 1 : 2;
		best = cfa;
		c.aside.context = i;
		c.aside.n = n;
	}
	enum is_here at = found && here ? is_here(p, la, here, best) : NOT_HERE;
	if (at == IS_HERE)
		return;
	if (at == MAY_BE_HERE)
		found = 2;
	for (uint32_t i = 0; i < found; i++)
		candidate_add(set, &c);
}

void ask_put_aside(const struct parser *p, const struct lookahead *la, struct candidates *set)
{
	const struct candidate *here = NULL;
	for (uint32_t i = 0; i < set->n && !here; i++)
		if (set->at[i].cause == CAUSE_CALLBACK)
			here = &set->at[i];
	if ((here && !p->n_aside) || !la->foreign || !la->own_cfa || !la->e->stack ||
	    p->n_handlers || p->tables[la->e->module]->go_runtime)
		return;
	uint32_t before = set->n;
	uint64_t cfa;
	ask_put_back(p, la, here, set);
	if (here || set->n > before)
		return;
	for (uint32_t n = next_cut(p, p->n); n; n = next_cut(p, n))
		if (comes_out_of(p, n, la, &cfa)) {
			candidate_add(set, &(struct candidate){
						   .cause = CAUSE_PUT_ASIDE,
						   .unsaid = PUGMARK_CAUSE_NONE,
						   .aside = {.context = PUGMARK_NONE, .n = n}});
			return;
		}
}

/* ---- leaving, and coming back ---- */

/* How many frames are open, more than @n, where the line was left: in a call of code that is not
 * traced. *@sure: no other can have been made since the last event. 0: there is no such call. */
static uint32_t left_in(const struct parser *p, uint32_t n, bool *sure)
{
	struct silence at;
	for (uint32_t open = p->n; open > n && silence_in(&at, p, open - 1); open--) {
		if (at.call && at.call->kind == PUGMARK_NODE_KIND_UNKNOWN) {
			*sure = parser_call_is_last(p, open, n);
			return open;
		}
		if (!parser_can_end(p, open - 1))
			break;
	}
	return 0;
}

/* What the memory held from the frame on that the innermost open frame has called; NULL: that is
 * not known. */
static struct held_words *held_now(struct parser *p)
{
	if (!p->n || !p->seen || p->seen->context != p->context ||
	    p->seen->addr != callee_cfa(p, p->n))
		return NULL;
	struct held_words *held = held_words_copy(p->seen);
	p->notes->failed |= !held;
	return held;
}

static bool has_same_frames(const struct context *a, const struct context *b)
{
	if (a->n != b->n || a->n_interruptions != b->n_interruptions)
		return false;
	for (uint32_t i = 0; i < a->n; i++) {
		const struct frame *x = &a->stack[i], *y = &b->stack[i];
		if (x->cfa != y->cfa || x->ret != y->ret || x->module != y->module ||
		    x->node != y->node || x->gone != y->gone)
			return false;
	}
	for (uint32_t i = 0; i < a->n_interruptions; i++)
		if (a->interruptions[i].frame != b->interruptions[i].frame ||
		    a->interruptions[i].kind != b->interruptions[i].kind ||
		    a->interruptions[i].position != b->interruptions[i].position)
			return false;
	return true;
}

/* The word at @addr of what the memory held; 0: it is not known. */
static inline uint64_t held_word(const struct held_words *held, uint64_t addr)
{
	uint64_t i = (addr - held->addr) / 8;
	if (addr < held->addr || i >= held->n || held->at[i] == PUGMARK_EVENT_STACK_UNKNOWN)
		return 0;
	return held->at[i];
}

/* The kept line that nothing tells apart from @c: it has the same frames in the same place, and its
 * memory held the same words. NULL: none. */
static struct context *same_as(const struct parser *p, const struct context *c)
{
	for (uint32_t i = p->n_contexts; p->n_aside && i-- > 0;) {
		struct context *kept = &p->contexts[i];
		const struct held_words *held = kept->held;
		if (!kept->aside ||
		    (kept->mark_addr && held_word(c->held, kept->mark_addr) != kept->mark))
			continue;
		if (held && held->addr == c->held->addr && held->n == c->held->n &&
		    !memcmp(held->at, c->held->at, held->n * sizeof(*held->at)) &&
		    has_same_frames(kept, c))
			return kept;
	}
	return NULL;
}

/* Forgets the words further out than the frames of @c: no question is about them. */
static void trim_held(struct context *c)
{
	uint64_t end = c->stack[0].cfa ? c->stack[0].cfa : UINT64_MAX;
	uint64_t n = end > c->held->addr ? (end - c->held->addr) / 8 : 0;
	if (n >= c->held->n)
		return;
	c->held->n = (uint32_t)n;
	struct held_words *less =
		realloc(c->held, sizeof(*c->held) + c->held->n * sizeof(*c->held->at));
	c->held = less ? less : c->held;
}

/* Where the words begin that any question about line @c is about: what its outermost frame that was
 * called back inside of has called. 0: not known. */
static uint64_t asked_from(const struct parser *p, const struct context *c)
{
	struct parser there = context_view(p, c);
	return callee_cfa(&there, c->n_interruptions > 1 ? c->interruptions[1].frame : c->n);
}

/* Whether function @f has a jump that takes it off the stack. */
static bool has_tail_jump(const struct parser *p, const struct frame *f)
{
	const struct pugmark_plan_func *func = &p->plans[f->module]->funcs[f->func];
	for (uint32_t i = func->node; i < func->node + func->n_nodes; i++)
		if (node_at(p, f->module, i)->flags & PUGMARK_NODE_TAIL)
			return true;
	return false;
}

/* Notes by what @c is told from others at a look. */
static void set_marks(struct parser *p, struct context *c)
{
	uint32_t last = p->n_contexts;
	const struct frame *around =
		&c->stack[(c->n_interruptions > 1 ? c->interruptions[1].frame : c->n) - 1];
	c->around_cfa = around->cfa;
	c->around_ret = around->ret;
	c->around_jumps = has_tail_jump(p, around);
	while (last && (!p->contexts[last - 1].aside || !p->contexts[last - 1].held))
		last--;
	uint64_t from = asked_from(p, c);
	if (!last || !from)
		return;
	struct context *before = &p->contexts[last - 1];
	uint64_t before_from = asked_from(p, before);
	for (uint32_t i = 0; i < c->held->n && !c->mark_addr; i++) {
		uint64_t addr = c->held->addr + 8ull * i, word = held_word(c->held, addr);
		uint64_t other = held_word(before->held, addr);
		if (addr < from || !word || !other || word == other)
			continue;
		c->mark_addr = addr;
		c->mark = word;
		if (!before->mark_addr && before_from && addr >= before_from) {
			before->mark_addr = addr;
			before->mark = other;
		}
	}
}

/* Forgets the oldest of too many. */
static void forget_oldest(struct parser *p)
{
	uint32_t left = 0;
	for (uint32_t i = 0; i < p->n_contexts; i++) {
		struct context *c = &p->contexts[i];
		if (c->aside && p->n_aside > ASIDE_LEFT) {
			p->n_aside--;
			context_free(c);
		} else {
			p->contexts[left++] = *c;
		}
	}
	p->n_contexts = left;
}

/* Keeps line @c, which the call takes over. A program that raises over the same callbacks again and
 * again leaves equal lines, which are kept as one. */
static void keep_aside(struct parser *p, struct context *c)
{
	trim_held(c);
	struct context *same = same_as(p, c);
	if (same) {
		same->several = true;
		context_free(c);
		return;
	}
	if (p->n_aside >= ASIDE_MAX)
		forget_oldest(p);
	set_marks(p, c);
	context_keep(p, c);
}

/* Keeps the frames inside of the first @n, the innermost of which is in a call, as a context of
 * their own. */
static void keep_inner(struct parser *p, uint32_t n, struct held_words *held)
{
	struct context c = {
		.id = ++p->last_context,
		.position = AT_CALL,
		.aside = true,
		.untold = true,
		.n = p->n - n,
		.cap = p->n - n,
		.held = held,
		.callee_cfa = callee_cfa(p, p->n),
	};
	uint32_t first = p->n_interruptions;
	while (first && p->interruptions[first - 1].frame >= n)
		first--;
	c.n_interruptions = c.cap_interruptions = p->n_interruptions - first;
	c.stack = malloc(c.cap * sizeof(*c.stack));
	c.interruptions = malloc(c.cap_interruptions * sizeof(*c.interruptions));
	if (!held || !c.stack || !c.interruptions) {
		p->notes->failed |= !c.stack || !c.interruptions;
		context_free(&c);
		return;
	}
	memcpy(c.stack, p->stack + n, c.n * sizeof(*c.stack));
	memcpy(c.interruptions, p->interruptions + first,
	       c.n_interruptions * sizeof(*c.interruptions));
	for (uint32_t i = 0; i < c.n; i++)
		c.gone += c.stack[i].gone;
	for (uint32_t i = 0; i < c.n_interruptions; i++)
		c.interruptions[i].frame -= n;
	c.stack[0].boundary = c.interruptions[0].kind = BELOW_SWITCH;
	c.interruptions[0].position = OUTSIDE;
	keep_aside(p, &c);
}

/* The frames inside of the first @n are left, and what those are in goes on. @held: what the memory
 * held of a line that was put back before; else NULL. */
static void leave_inner(struct parser *p, uint32_t n, const struct held_words *held,
			const struct pugmark_witness_event *e)
{
	struct unwinding left = {.n = n, .open = p->n};
	uint32_t open = left_in(p, n, &left.sure);
	if (open) {
		parser_end_frames(p, open);
		left.open = open;
		if (p->position == AT_CALL)
			parser_announce(p);
		parser_top(p)->announced = true;
		keep_inner(p, n, held ? held_words_copy(held) : held_now(p));
	}
	unwinding_leave(p, &left, e);
	parser_top(p)->announced = true; /* it is in that call still */
	p->position = AT_CALL;
}

/* Brings the current line to where it was left, with a gap where other calls may have been made
 * unseen before. Returns what its memory held then; NULL: it has ended, or that is not known. */
static struct held_words *leave_line(struct parser *p, const struct pugmark_witness_event *e)
{
	bool sure = false;
	uint32_t open = p->position == LOST ? 0 : left_in(p, 0, &sure);
	if (!open) {
		if (p->n && p->position != LOST && parser_can_end(p, 0))
			parser_end_frames(p, 0);
		if (p->n && p->position != LOST)
			parser_lose(p, PUGMARK_CAUSE_SWITCH);
		return NULL;
	}
	parser_end_frames(p, open);
	if (p->position == AT_CALL)
		parser_announce(p);
	parser_top(p)->announced = true;
	if (!sure)
		parser_emit_misfit(p, PUGMARK_CAUSE_SWITCH, e);
	return held_now(p);
}

/* Tells the frames of the current context as those of a stack that was left. */
static void tell_resumed(struct parser *p)
{
	uint32_t n = p->n;
	p->n = p->gone = 0;
	for (; p->n < n; p->n++) {
		const struct frame *f = &p->stack[p->n];
		if (!f->gone)
			parser_emit_frame(p, PUGMARK_TRACE_ENTER, PUGMARK_CAUSE_RESUMED, f);
		p->gone += f->gone;
	}
}

/* Goes on in kept context @i. */
static void go_back_to(struct parser *p, uint32_t i, const struct pugmark_witness_event *e)
{
	struct held_words *held = leave_line(p, e);
	struct context back = context_take(p, i);
	uint32_t id = p->context;
	stacks_switch_to(p, &back);
	struct context *left = p->n_contexts ? &p->contexts[p->n_contexts - 1] : NULL;
	if (left && left->id == id && held && p->n_aside < ASIDE_MAX) {
		left->aside = true;
		left->held = held;
		trim_held(left);
		p->n_aside++;
	} else {
		free(held);
	}
	if (back.untold)
		tell_resumed(p);
}

enum commit commit_put_aside(struct parser *p, struct lookahead *la, const struct candidate *c,
			     uint32_t *first)
{
	struct held_words *held = NULL;
	uint32_t n = c->aside.n;
	if (c->aside.context != PUGMARK_NONE) {
		held = p->contexts[c->aside.context].held;
		go_back_to(p, c->aside.context, la->e);
	}
	if (n < p->n)
		leave_inner(p, n, held, la->e);
	free(held);
	struct candidates set = {.n = 0};
	ask_callback(p, la, &set);
	if (set.n != 1 || set.at[0].cause != CAUSE_CALLBACK)
		return COMMIT_FAILED;
	return commit_callback(p, la, &set.at[0], first);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* callback.c: a function of ours was entered from code that is not traced: the stack says during
 * which call of ours. */
#include "offline/recover/explain/explain.h"
#include "offline/recover/settle/settle.h"
#include "offline/recover/stack/chain.h"

/* Whether the origin is a call that itself left the module. */
static bool calls_out(const struct parser *p, const struct lookahead *la)
{
	return la->origin != PUGMARK_NONE &&
	       node_at(p, la->from, la->origin)->kind == PUGMARK_NODE_KIND_UNKNOWN;
}

static void set_origin(struct lookahead *la, const struct chain *chain)
{
	la->from = chain->from;
	la->origin = chain->origin;
	la->cfa = chain->origin_cfa;
	la->ret = chain->origin_ret;
}

/* Whether the grammar allows that the chain is that of the calls in progress. */
static enum found allows(const struct parser *p, const struct chain *chain, struct lookahead *la)
{
	uint32_t begins_in, alt, n = p->n;
	if (chain->end == CHAIN_OPEN) {
		set_origin(la, chain);
		/* The frame that the grammar finds may lie further out than the one of the chain:
		 * another activation of the same function may stand at the same call. */
		enum found found = parser_find(p, la, &begins_in, &alt);
		return found == FOUND_ONE && begins_in > chain->level ? FOUND_NONE : found;
	}
	while (n && p->stack[n - 1].cfa < chain->cfa)
		n--;
	return parser_can_end(p, n) ? FOUND_ONE : FOUND_NONE;
}

/* How many calls in progress of ours, by the stack outside of @from, may have led to the event,
 * where @level is the innermost frame that is open; in @la the innermost. A call by which the event
 * fits twice counts as two. */
static uint32_t count_origins(const struct parser *p, struct lookahead *la,
			      const struct chain *from, uint32_t level)
{
	uint32_t found = 0;
	bool other = false;
	struct lookahead right = *la;
	struct chain_scan scan;
	struct chain c;
	chain_scan_begin(&scan, p, la->e, from, level);
	while (chain_scan_next(&scan, &c)) {
		struct lookahead next = *la;
		if (c.end != CHAIN_OPEN || c.level != level) {
			other = other || allows(p, &c, &next) == FOUND_ONE;
			continue;
		}
		/* Had a function jumped out of the module, what it jumped to would have written
		 * over the return address of an earlier call. */
		set_origin(&next, &c);
		bool jumped = c.origin_cfa == p->stack[level].cfa || !calls_out(p, &next);
		bool same = right.origin == c.origin && right.cfa == c.origin_cfa;
		if (found && (jumped || same))
			continue;
		enum found fits = allows(p, &c, &next);
		if (fits == FOUND_NONE)
			continue;
		right = next;
		found += fits == FOUND_TORN ? 2 : 1;
	}
	*la = right;
	return found ? found + other + scan.too_many : 0;
}

/* Whether the stack shows every call of ours that the open frame @i may be in. Where the frame lies
 * so high that only addresses of the event's module are kept of it, these are the calls; what
 * cannot have ended in silence is not taken to have by that. */
static bool shows_calls(const struct parser *p, const struct pugmark_witness_event *e, uint32_t i)
{
	const struct frame *f = &p->stack[i];
	const bool *hides = p->tables[f->module]->hides_frames;
	if (hides && hides[f->func]) /* a chain that meets such a call ends there */
		return false;
	return stack_covers(p, e, i) || (f->module == e->module && f->cfa > pugmark_event_cfa(e) &&
					 stack_reaches(e, f->cfa - 8) && parser_can_end(p, i));
}

/* During which call of ours the function was entered. */
enum callback_kind {
	BY_CALL,      /* one that the stack shows; the grammar leads to the entry from there */
	BY_OPEN_CALL, /* the call that the innermost live frame is in: no other can be in progress
		       */
	BY_LEAF,      /* one that the grammar takes for a leaf: the function runs on top of it, as
			 a handler does on top of what it interrupts */
	OF_ROOT,      /* none: no frame of ours is left */
	UNEXPLAINED,  /* nothing tells */
};

/* Whether the call that @chain leads to, where it ends in an open frame, explains the entry. */
static bool by_chain(const struct parser *p, const struct chain *chain, struct candidate *c)
{
	uint32_t level;
	struct lookahead *la = &c->callback.la;
	set_origin(la, chain);
	bool anew = chain->anew && parser_can_end(p, chain->level) &&
		    (chain->origin == PUGMARK_NONE || parser_can_come_below(p, la, chain->level));
	bool outside = chain->origin == PUGMARK_NONE; /* else its call was made twice */
	if ((anew && !outside) || parser_find(p, la, &level, &c->callback.alt) != FOUND_ONE ||
	    (anew && (level != chain->level || !parser_ends_by_jump(p, la, level))))
		return false;
	c->callback.n = level + 1;
	return true;
}

/* Whether the stack has, inside of open frame @i, the return address of a call that the grammar
 * takes for a leaf, or of one whose callee may have jumped to such code. */
static bool shows_leaf(const struct parser *p, const struct pugmark_witness_event *e, uint32_t i)
{
	uint64_t word, end = p->stack[i].cfa;
	for (uint64_t at = pugmark_event_cfa(e); at < end && stack_reaches(e, at); at += 8) {
		uint16_t module;
		uint32_t call = stack_word(e, at, &word)
					? parser_call_before(p, e->module, word, &module)
					: PUGMARK_NONE;
		if (call != PUGMARK_NONE &&
		    node_at(p, module, call)->kind != PUGMARK_NODE_KIND_UNKNOWN)
			return true;
	}
	return false;
}

/* Whether the entry came from a call that is taken to call nothing back, and did: of standard I/O,
 * on a stream whose functions are the program's; of what allocates, where the allocator is. The
 * grammar has no way from there into the function, but the stack tells how far the thread came. */
static bool by_leaf(const struct parser *p, const struct lookahead *la, uint32_t i,
		    struct candidate *c)
{
	if (!la->own_cfa || !shows_leaf(p, la->e, i))
		return false;
	c->callback.settled = settle_ask(p, la->e, pugmark_event_cfa(la->e),
					 pugmark_event_ret(la->e), 0, &c->callback.how);
	return c->callback.settled != UNSETTLED && !settle_all_ended(c->callback.how);
}

/* Whether a call explains the entry where its chain ends before an open frame: one of the words
 * outside of the chain's end may be the next return address. In *@live how many frames may still be
 * open; in *@known whether any call was found. */
static bool by_scan(const struct parser *p, const struct chain *chain, struct candidate *c,
		    uint32_t *live, bool *known)
{
	uint32_t level, found = 0;
	struct lookahead *la = &c->callback.la;
	c->callback.kind = BY_CALL;
	*live = stack_live_frames(p, la->e, chain->cfa, p->n);
	while (*live) {
		found = count_origins(p, la, chain, *live - 1);
		if (!found && by_leaf(p, la, *live - 1, c)) {
			c->callback.kind = BY_LEAF;
			return true;
		}
		if (found || !shows_calls(p, la->e, *live - 1))
			break;
		/* It is in no call, so it has ended: another module called twice from the same
		 * place, and the return address is that of the second call. */
		*live = stack_live_frames(p, la->e, chain->cfa, *live - 1);
	}
	*known = found;
	if (found != 1 || parser_find(p, la, &level, &c->callback.alt) != FOUND_ONE)
		return false;
	c->callback.n = level + 1;
	return true;
}

static void forget_origin(struct lookahead *la)
{
	la->origin = PUGMARK_NONE;
	la->cfa = la->ret = 0;
}

/* Whether frame @f, which is in a call, has replaced its return address and returned. */
static bool has_replaced_return(const struct parser *p, const struct frame *f)
{
	const struct pugmark_plan_node *n = node_at(p, f->module, f->node);
	const uint8_t both = PUGMARK_NODE_TAIL | PUGMARK_NODE_NORETURN;
	if ((n->flags & both) != both || n->site == PUGMARK_NONE)
		return false;
	const struct pugmark_plan_operand *to = &p->plans[f->module]->sites[n->site].operand;
	return to->is_memory && to->base == 4 && to->index == 255 && !to->disp;
}

/* How many frames are open, up to the innermost that has gone on in code that is not traced, inside
 * of all of them, by a return to another address than its own: what is entered from then on is
 * called from there. The frames inside of that one have ended. 0: there is none. */
static uint32_t gone_on_below(const struct parser *p, const struct pugmark_witness_event *e)
{
	struct silence at;
	for (uint32_t n = p->n; n; n--)
		if (silence_in(&at, p, n - 1) && at.call &&
		    has_replaced_return(p, &p->stack[n - 1]))
			return pugmark_event_cfa(e) <= p->stack[n - 1].cfa && parser_can_end(p, n)
				       ? n
				       : 0;
	return 0;
}

void ask_callback(const struct parser *p, const struct lookahead *la, struct candidates *set)
{
	bool first =
		!p->n && !la->own_cfa && !pugmark_event_ret(la->e); /* a program's: ask_program() */
	if (!la->foreign && (p->position != OUTSIDE || la->entered == PUGMARK_NONE || first))
		return;
	struct candidate c;
	struct chain chain;
	uint32_t live;
	bool known = true;
	c.cause = CAUSE_CALLBACK;
	c.unsaid = PUGMARK_CAUSE_NONE;
	c.callback.kind = BY_CALL;
	c.callback.la = *la;
	chain_from_entry(p, la->e, la->entered, &chain);
	if (chain.end == CHAIN_OPEN)
		live = chain.level + 1;
	if (chain.end == CHAIN_OPEN ? by_chain(p, &chain, &c)
				    : by_scan(p, &chain, &c, &live, &known)) {
		candidate_add(set, &c);
		return;
	}
	c.cause = CAUSE_OUTSIDE;
	uint32_t below = gone_on_below(p, la->e);
	c.callback.n = below ? below : live;
	if (below || (!known && live && parser_call_is_only(p, live))) {
		c.callback.kind = BY_OPEN_CALL;
		candidate_add(set, &c);
		return;
	}
	if (known || !live)
		forget_origin(&c.callback.la);
	c.callback.kind = !p->n || (la->e->stack && !live) ? OF_ROOT : UNEXPLAINED;
	c.unsaid = c.callback.kind == OF_ROOT ? PUGMARK_CAUSE_NONE : PUGMARK_CAUSE_STACK;
	candidate_add(set, &c);
}

/* Whether a call that the stack shows explains the event; then in *@c that. */
static bool by_shown_call(const struct parser *p, const struct lookahead *la, struct candidate *c)
{
	struct candidates set = {.n = 0};
	ask_callback(p, la, &set);
	*c = set.at[0];
	return set.n == 1 && c->cause == CAUSE_CALLBACK && c->callback.kind == BY_CALL;
}

bool callback_is_innermost(const struct parser *p, const struct lookahead *la, uint64_t *cfa)
{
	struct candidate c;
	if (!by_shown_call(p, la, &c) || c.callback.n != p->n)
		return false;
	*cfa = c.callback.la.cfa;
	return *cfa;
}

bool callback_is_behind_jump(const struct parser *p, const struct lookahead *la, uint32_t n)
{
	const struct frame *f = &p->stack[n - 1];
	struct candidate c;
	return node_at(p, f->module, f->node)->flags & PUGMARK_NODE_TAIL && f->cfa &&
	       pugmark_event_cfa(la->e) <= f->cfa && by_shown_call(p, la, &c) &&
	       c.callback.n + 1 == n;
}

/* The function was entered during the call that the innermost of the first @n frames is in. */
static void take_open_call(struct parser *p, struct lookahead *la, uint32_t n)
{
	parser_end_frames(p, n);
	const struct frame *f = parser_top(p);
	const struct pugmark_plan_node *call = node_at(p, f->module, f->node);
	bool tail = call->flags & PUGMARK_NODE_TAIL;
	bool known = f->cfa && (tail || call->height != PUGMARK_HEIGHT_UNKNOWN);
	la->from = f->module;
	la->origin = f->node;
	la->ret = tail ? f->ret : 0;
	la->cfa = f->call_cfa ? f->call_cfa
		  : known     ? f->cfa - (tail ? 0 : call->height)
			      : pugmark_event_cfa(la->e);
}

/* Whether the chain is that of a call which the frame of its origin is in: not that of what called
 * the open frame @level, which that frame may have become by a jump. */
static bool is_in_call(const struct parser *p, const struct chain *c, uint32_t level)
{
	return c->origin != PUGMARK_NONE && c->origin_cfa != p->stack[level].cfa &&
	       node_at(p, c->from, c->origin)->kind == PUGMARK_NODE_KIND_UNKNOWN;
}

/* Whether the stack shows one call of ours inside of the open frames to be in progress, out of
 * which the function was called back: that in *@call. What was open may have gone on since it was
 * told. */
static bool shows_one_call(const struct parser *p, const struct lookahead *la,
			   struct stack_link *call)
{
	struct chain from, c;
	struct chain_scan scan;
	uint32_t found = 0;
	chain_from_entry(p, la->e, la->entered, &from);
	uint32_t live = from.end == CHAIN_OPEN ? from.level + 1
					       : stack_live_frames(p, la->e, from.cfa, p->n);
	if (!live || !stack_covers(p, la->e, live - 1))
		return false;
	if (from.end == CHAIN_OPEN) {
		*call = (struct stack_link){from.from, from.origin, from.origin_cfa};
		return is_in_call(p, &from, from.level);
	}
	chain_scan_begin(&scan, p, la->e, &from, live - 1);
	while (chain_scan_next(&scan, &c)) {
		bool is = is_in_call(p, &c, live - 1);
		if (!is && found)
			continue;
		if (!is || found || c.end != CHAIN_OPEN || c.level != live - 1)
			return false;
		*call = (struct stack_link){c.from, c.origin, c.origin_cfa};
		found++;
	}
	return found && !scan.too_many;
}

bool callback_shown(const struct parser *p, const struct lookahead *la, struct shown_call *shown)
{
	if (!la->foreign || !la->own_cfa || !la->e->stack || !shows_one_call(p, la, &shown->call))
		return false;
	shown->n = stack_chain_of_call(p, la->e, &shown->call, shown->links, STACK_LINKS_MAX,
				       &shown->level);
	return shown->n >= 0;
}

void callback_enter_shown(struct parser *p, const struct lookahead *la,
			  const struct shown_call *shown)
{
	const struct stack_link *call = &shown->call;
	const struct pugmark_plan_node *out = node_at(p, call->module, call->call);
	parser_drop_frames(p, shown->level + 1);
	parser_open_frames(p, call->module, out->func, shown->links, shown->n);
	struct frame *f = parser_top(p);
	p->gone -= f->gone;
	f->gone = f->foreign_target = false;
	f->node = call->call;
	f->call_cfa = out->height == PUGMARK_HEIGHT_UNKNOWN ? call->cfa : 0;
	f->called_ns = 0;
	f->announced = true; /* in the gap */
	p->position = AT_CALL;
	held_words_note(p, la->e, call->cfa);
	parser_enter(p, la, BELOW_CALLBACK, PUGMARK_CAUSE_CALLBACK);
}

/* Of the open frames the first @live may still be open, and no more. */
static void enter_unexplained(struct parser *p, const struct lookahead *la, uint32_t live)
{
	struct shown_call shown;
	bool shows = callback_shown(p, la, &shown);
	if (shows && live <= shown.level)
		live = shown.level + 1;
	uint32_t open = parser_can_end_down_to(p, live);
	parser_end_frames(p, open);
	parser_emit_misfit(p, PUGMARK_CAUSE_STACK, la->e);
	if (shows) {
		callback_enter_shown(p, la, &shown);
		return;
	}
	if (open > live) {
		parser_drop_frames(p, live);
		p->position = LOST;
		p->gap_cause = PUGMARK_CAUSE_STACK;
	}
	parser_enter(p, la, BELOW_HANDLER, PUGMARK_CAUSE_CALLBACK);
}

enum commit commit_callback(struct parser *p, struct lookahead *la, const struct candidate *c,
			    uint32_t *first)
{
	*la = c->callback.la;
	switch ((enum callback_kind)c->callback.kind) {
	case BY_CALL:
		held_words_note(p, la->e, la->cfa);
		parser_end_frames(p, c->callback.n);
		*first = c->callback.alt;
		break;
	case BY_OPEN_CALL:
		take_open_call(p, la, c->callback.n);
		break;
	case BY_LEAF:
		settle_commit(p, c->callback.how);
		parser_open_over(p, la, c->callback.settled, pugmark_event_cfa(la->e),
				 PUGMARK_CAUSE_CALLBACK);
		break;
	case OF_ROOT:
		parser_enter_root(p, la);
		break;
	case UNEXPLAINED:
		enter_unexplained(p, la, c->callback.n);
	}
	return COMMIT_GO_ON;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* conflict_needs.c: R2 and R4 of docs/theory.md. What must not come first after a function, joined
 * up the calls into summaries; what unknown callees need; and whether what follows a call is told
 * from both. */
#include "offline/choose/conflict_impl.h"

/* Whether @t, first after a call, is told from what the functions need that unknown code may have
 * entered, in frames @depth below or further. @call: the call of unknown code, or RET_UNKNOWN. */
static bool global_need_holds(struct conflicts *ch, struct terminal t, int32_t depth, uint32_t call)
{
	if (ch->global_top)
		return false;
	if (conflict_is_entry_term(ch, t.w)) {
		if (t.ret >= RET_UNKNOWN || ch->global[t.ret].any)
			return false;
		if (ch->global_jumps && ch->prog->blocks[t.ret].call == CALL_DIRECT &&
		    t.w == TERMINAL_ANY_ENTRY)
			return false; /* it was jumped to, and perhaps so was the one that is needed
				       */
		if (t.w == TERMINAL_ANY_ENTRY)
			return true;
	}
	const struct global_need *global = &ch->global[t.w];
	uint32_t need = global->ret;
	if (!global->needed)
		return true;
	struct terminal least = {.w = t.w, .depth = global->depth, .or_below = true};
	if (!ch->plain && terminal_depths_differ(t, terminal_lift(least, depth, call)))
		return true;
	if (need == RET_SELF)
		need = call; /* where the unknown callee returns to */
	if (need == RET_UNKNOWN || t.ret >= RET_UNKNOWN || need == t.ret)
		return false;
	conflict_note_ret(ch, t.w);
	return true;
}

/* How a need of a callee is carried over into the caller. A call whose height is not known tells by
 * its event where the callee's frame is; all that is known here is that it lies lower than the
 * caller's. */
struct lift {
	int32_t height;
	uint32_t call;
	bool or_below;
};

static struct lift lift_of(const struct conflicts *ch, uint32_t block)
{
	const struct prog_block *b = &ch->prog->blocks[block];
	uint32_t call = b->flags & PROG_TAIL ? RET_SELF : block;
	if (b->height != PUGMARK_HEIGHT_UNKNOWN || ch->marks[block] != MARK_LAST)
		return (struct lift){b->height, call, false};
	return (struct lift){RETURN_ADDRESS_BYTES, call, true};
}

static inline struct terminal lift_need(struct lift lift, struct terminal t)
{
	return terminal_lift_from(t, lift.height, lift.call, lift.or_below);
}

static bool need_range_differs(struct conflicts *ch, struct terminal t, struct lift lift,
			       const struct terminal_set *need, uint32_t from, uint32_t to)
{
	ch->steps += to - from;
	ch->work += to - from;
	for (uint32_t i = from; i < to; i++)
		if (conflict_same_event(ch, t.w, need->terms[i].w) && /* few are */
		    !conflict_distinguishable(ch, t, lift_need(lift, need->terms[i])))
			return false;
	return true;
}

/* Whether the frame of @t lies outside of those of the callee, which @lift is of. */
static inline bool lies_outside(struct terminal t, struct lift lift)
{
	struct terminal frame = lift_need(lift, (struct terminal){.or_below = true});
	return t.depth < frame.depth && terminal_depths_differ(t, frame);
}

/* Whether @t, first after the call in @block, cannot be taken for something inside the callee. */
static bool terminal_follows(struct conflicts *ch, struct terminal t, uint32_t block,
			     struct lift lift)
{
	const struct prog_block *b = &ch->prog->blocks[block];
	if (lies_outside(t, lift))
		return true;
	if (b->call == CALL_UNKNOWN) {
		struct terminal any =
			terminal_lift((struct terminal){.w = TERMINAL_ANY_ENTRY, .ret = RET_SELF},
				      b->height, block);
		return conflict_distinguishable(ch, t, any) &&
		       global_need_holds(ch, t, b->height, block);
	}
	const struct summary *callee = &ch->sums[b->callee];
	if (!callee->known && ch->plain)
		return true; /* at most it needs what unknown callees need: settle() looks at that
			      */
	if (!callee->known || callee->need.top)
		return false;
	int32_t depth = lift_need(lift, (struct terminal){.depth = callee->global_depth}).depth;
	if (callee->need_global && !global_need_holds(ch, t, depth, RET_UNKNOWN))
		return false;
	uint32_t from = 0, to = callee->need.n;
	bool entry = conflict_is_entry_term(ch, t.w);
	if (!entry || t.w != TERMINAL_ANY_ENTRY)
		terminal_set_range(&callee->need, t.w, &from, &to);
	if (!need_range_differs(ch, t, lift, &callee->need, from, to))
		return false;
	if (!entry || !callee->need.joined || t.w == TERMINAL_ANY_ENTRY)
		return true;
	terminal_set_range(&callee->need, TERMINAL_ANY_ENTRY, &from, &to);
	return need_range_differs(ch, t, lift, &callee->need, from, to);
}

/* Whether anything may follow the call in @block. */
static bool needs_nothing(const struct conflicts *ch, uint32_t block)
{
	const struct prog_block *b = &ch->prog->blocks[block];
	if (b->call == CALL_NONE || b->call == CALL_LEAF ||
	    (b->flags & (PROG_TAIL | PROG_NORETURN)))
		return true;
	return b->call == CALL_DIRECT && ch->sums[b->callee].known &&
	       !ch->sums[b->callee].need.top && !ch->sums[b->callee].need.n &&
	       !ch->sums[b->callee].need_global;
}

bool conflict_terms_follow(struct conflicts *ch, uint32_t block, const struct terminal *terms,
			   uint32_t n)
{
	if (needs_nothing(ch, block))
		return true;
	struct lift lift = lift_of(ch, block);
	bool follow = true;
	uint32_t i = 0;
	for (; i < n && follow; i++)
		follow = lies_outside(terms[i], lift) || /* most do */
			 (!conflict_spent(ch) && terminal_follows(ch, terms[i], block, lift));
	ch->steps += i;
	ch->work += i;
	return follow && !conflict_spent(ch);
}

bool conflict_follow_holds(struct conflicts *ch, uint32_t block)
{
	if (needs_nothing(ch, block))
		return true;
	if (conflict_spent(ch))
		return false;
	conflict_alternatives(ch, (struct decision){0, block, WAY_ALL}, &ch->alts);
	bool top;
	conflict_first(ch, &ch->alts, &top);
	if (top)
		return false;
	struct lift lift = lift_of(ch, block);
	for (uint32_t i = 0; i < ch->n_found; i++) {
		ch->work++;
		if (conflict_spent(ch) || !terminal_follows(ch, ch->found[i].term, block, lift))
			return false;
	}
	return true;
}

static bool join_global(struct conflicts *ch, struct terminal t);

/* A function with a longer need keeps no more terminals of it: they join what unknown callees need,
 * which every caller then checks against. That is coarser, and much cheaper in deep recursion.
 * Terminals of the function's own frame stay: those of frames further down are told from them by
 * depth. */
#define NEED_MAX 192

/* Notes that the function of @sum needs what unknown callees need, in a frame @depth below its own
 * or further; returns whether that is new. */
static bool need_globally(struct summary *sum, int32_t depth)
{
	bool grew = !sum->need_global || depth < sum->global_depth;
	if (grew)
		sum->global_depth = depth; /* DEPTH_UNKNOWN is less than any */
	sum->need_global = true;
	return grew;
}

static bool add_need(struct conflicts *ch, struct summary *sum, struct terminal t)
{
	bool own = t.depth == 0 && !t.or_below;
	if (sum->need.n < NEED_MAX || sum->need.top || own)
		return terminal_set_add(&sum->need, t);
	bool grew = need_globally(sum, 0);
	if (t.w == TERMINAL_ANY_ENTRY && t.ret >= RET_UNKNOWN)
		return terminal_set_add(&sum->need, t) || grew;
	if (t.ret == RET_SELF)
		t.ret = RET_UNKNOWN; /* this function's, not the unknown callee's */
	return join_global(ch, t) || grew;
}

bool conflict_needs_more(const struct summary *sum)
{
	return sum->need.n >= NEED_MAX && !sum->need.top;
}

static bool set_top(struct terminal_set *set)
{
	bool grew = !set->top;
	set->top = true;
	return grew;
}

/* Adds what decision @d needs: if one alternative may be empty, the first terminals of the others
 * must not follow the function. */
static bool need_of_decision(struct conflicts *ch, struct decision d, struct summary *sum)
{
	bool grew = false, top = false;
	conflict_alternatives(ch, d, &ch->alts);
	if (ch->alts.n <= 1 || (ch->plain && !ch->some_empty))
		return false;
	/* If two alternatives are empty, the first terminals of every one count. */
	uint32_t empty_alt = UINT32_MAX, n_empty = 0;
	ch->n_found = 0;
	for (uint32_t i = 0; i < ch->alts.n; i++)
		if (conflict_close_over(ch, ch->alts.at[i], i, &top)) {
			empty_alt = n_empty ? UINT32_MAX : i;
			n_empty++;
		}
	if (!n_empty)
		return false;
	for (uint32_t i = 0; i < ch->n_found; i++)
		if (ch->found[i].alt != empty_alt)
			grew |= add_need(ch, sum, ch->found[i].term);
	return grew;
}

/* Adds what the callee of @block needs, right after which this function can end. */
static bool need_of_call(struct conflicts *ch, uint32_t block, struct summary *sum)
{
	const struct prog_block *b = &ch->prog->blocks[block];
	if (b->call == CALL_NONE || b->call == CALL_LEAF || (b->flags & PROG_NORETURN))
		return false;
	bool tail = b->flags & PROG_TAIL, grew = false;
	uint32_t call = tail ? RET_SELF : block;
	if (b->call == CALL_UNKNOWN) {
		grew = need_globally(sum, tail ? 0 : b->height);
		struct terminal any = {.w = TERMINAL_ANY_ENTRY, .ret = RET_SELF};
		return add_need(ch, sum, terminal_lift(any, b->height, call)) || grew;
	}
	const struct summary *callee = &ch->sums[b->callee];
	if (!callee->known && ch->plain)
		return false;
	if (!callee->known || callee->need.top)
		return set_top(&sum->need);
	struct lift lift = lift_of(ch, block);
	struct terminal unknown = {.depth = callee->global_depth};
	if (callee->need_global)
		grew |= need_globally(sum, lift_need(lift, unknown).depth);
	ch->work += callee->need.n;
	for (uint32_t i = 0; i < callee->need.n; i++)
		grew |= add_need(ch, sum, lift_need(lift, callee->need.terms[i]));
	return grew;
}

/* Adds what the decisions behind the node @block need, and its callee. Most nodes are followed by
 * an event on each way, and add nothing. */
static bool need_of_node(struct conflicts *ch, uint32_t block, struct summary *sum)
{
	bool grew = false, ends = false;
	for (uint32_t i = 0; i < conflict_ways(ch, block); i++) {
		struct decision d = {0, block, conflict_decision_way(ch, block, i)};
		if (!conflict_may_end(ch, d))
			continue;
		ends = true;
		grew |= need_of_decision(ch, d, sum);
	}
	return (ends && need_of_call(ch, block, sum)) | grew;
}

bool conflict_summarise(struct conflicts *ch, uint32_t func)
{
	const struct prog_func *f = &ch->prog->funcs[func];
	struct summary *sum = &ch->sums[func];
	if (!f->n_blocks)
		return false;
	conflict_begin(ch, func);
	conflict_keep(ch, func);
	conflict_find_ends(ch, func);
	bool top, grew = false;
	conflict_alternatives(ch, (struct decision){func, PUGMARK_NONE, WAY_ALL}, &ch->alts);
	bool nullable = conflict_first(ch, &ch->alts, &top) > 0;
	sum->first.rets_apart = ch->plain; /* as the paper's sets, which are exact */
	grew |= nullable && !sum->nullable;
	sum->nullable |= nullable;
	if (top)
		grew |= set_top(&sum->first);
	for (uint32_t i = 0; i < ch->n_found; i++)
		grew |= terminal_set_add(&sum->first, ch->found[i].term);
	grew |= need_of_decision(ch, (struct decision){func, PUGMARK_NONE, WAY_ALL}, sum);
	for (uint32_t b = f->block; b < f->block + f->n_blocks && !conflict_spent(ch); b++) {
		if (!(ch->prog->blocks[b].flags & PROG_REACHED) || !conflict_is_node(ch, b))
			continue;
		grew |= need_of_node(ch, b, sum);
	}
	conflict_keep_nothing(ch);
	if (!conflict_end(ch))
		return grew;
	/* What was not looked at may be anything. */
	grew |= set_top(&sum->first);
	grew |= set_top(&sum->need);
	grew |= !sum->nullable;
	sum->nullable = true;
	return grew;
}

/* ---- the global need ---- */

void conflict_global_keep(struct conflicts *ch)
{
	ch->global_kept = true;
	ch->global_before.n = 0;
	ch->jumps_before = ch->global_jumps;
	ch->top_before = ch->global_top;
}

void conflict_global_forget(struct conflicts *ch)
{
	ch->global_kept = false;
}

void conflict_global_restore(struct conflicts *ch)
{
	for (uint32_t i = ch->global_before.n; i-- > 0;) {
		const struct global_was *was = &ch->global_before.at[i];
		ch->global[was->block] = was->need;
	}
	ch->global_jumps = ch->jumps_before;
	ch->global_top = ch->top_before;
	ch->global_kept = false;
}

/* @block of the global need is about to change. */
static void keep_global(struct conflicts *ch, uint32_t block)
{
	if (ch->global_kept &&
	    !VEC_PUSH(&ch->global_before, (struct global_was){block, ch->global[block]}))
		ch->failed = true;
}

static bool enter_anything(struct conflicts *ch, uint32_t call)
{
	if (ch->global[call].any)
		return false;
	keep_global(ch, call);
	ch->global[call].any = true;
	return true;
}

static bool enter_by_jump(struct conflicts *ch)
{
	bool grew = !ch->global_jumps;
	ch->global_jumps = true;
	return grew;
}

/* Joins @t to what unknown callees need; returns whether that grew. */
static bool join_global(struct conflicts *ch, struct terminal t)
{
	bool grew = false;
	if (t.w == TERMINAL_ANY_ENTRY && t.ret == RET_SELF)
		return false; /* by a tail jump: it returns to the unknown call itself, which every
				 such call is checked for anyway */
	if (t.w == TERMINAL_ANY_ENTRY && t.ret == RET_UNKNOWN) {
		grew = !ch->global_top;
		ch->global_top = true;
	} else if (t.w == TERMINAL_ANY_ENTRY) {
		grew = enter_anything(ch, t.ret);
	} else {
		struct global_need *need = &ch->global[t.w], joined = *need;
		joined.ret = !need->needed || need->ret == t.ret ? t.ret : RET_UNKNOWN;
		joined.depth = !need->needed || t.depth < need->depth ? t.depth : need->depth;
		grew = !need->needed || joined.ret != need->ret || joined.depth != need->depth;
		joined.needed = true;
		if (grew)
			keep_global(ch, t.w);
		*need = joined;
		if (conflict_is_entry_term(ch, t.w) && t.ret != RET_SELF)
			grew |= t.ret < RET_UNKNOWN ? enter_anything(ch, t.ret) : enter_by_jump(ch);
	}
	ch->global_grew |= grew;
	return grew;
}

void conflict_globalise(struct conflicts *ch)
{
	for (uint32_t f = 0; f < ch->prog->n_funcs; f++) {
		if (!(ch->prog->funcs[f].flags & PROG_ENTRY_WITNESS))
			continue;
		const struct summary *sum = &ch->sums[f];
		ch->global_grew |= sum->need.top && !ch->global_top;
		ch->global_top |= sum->need.top;
		for (uint32_t i = 0; i < sum->need.n; i++)
			join_global(ch, sum->need.terms[i]);
	}
}

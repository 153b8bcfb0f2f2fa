// SPDX-License-Identifier: LGPL-2.1-or-later
/* chooser.c: the conflict rule. Answers, for the marks as they stand: between which nodes a
 * decision is, by which first events they show, and whether those tell them apart. Everything is
 * computed on demand by short walks, because marks are dense while the choice is made. */
#include "offline/chooser.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool vec_push(struct vec *vec, uint32_t value)
{
	if (vec->n == vec->cap) {
		uint32_t cap = vec->cap ? 2 * vec->cap : 64;
		uint32_t *at = realloc(vec->at, cap * sizeof(*at));
		if (!at)
			return false;
		vec->at = at;
		vec->cap = cap;
	}
	vec->at[vec->n++] = value;
	return true;
}

static inline void push(struct chooser *ch, struct vec *vec, uint32_t value)
{
	if (vec->n < vec->cap)
		vec->at[vec->n++] = value;
	else if (!vec_push(vec, value))
		ch->failed = true;
}

static int build_hops(struct chooser *ch)
{
	const struct program *prog = ch->prog;
	ch->hops = calloc(prog->n_blocks + 1, sizeof(*ch->hops));
	if (!ch->hops)
		return -ENOMEM;
	for (uint32_t b = 0; b < prog->n_blocks; b++) {
		const struct prog_block *block = &prog->blocks[b];
		const struct prog_func *f = &prog->funcs[block->func];
		struct hop *hop = &ch->hops[b];
		*hop = (struct hop){.succ = block->succ, .n_succ = block->n_succ};
		hop->is_node = block->call != CALL_NONE || f->flags & PROG_PATHS;
		if (block->flags & PROG_RET)
			hop->flags |= HOP_RET;
		if (f->flags & PROG_ENTRY_WITNESS && f->block == b)
			hop->flags |= HOP_ENTRY;
	}
	return 0;
}

static int build_preds(struct chooser *ch)
{
	const struct program *prog = ch->prog;
	ch->pred_at = calloc(prog->n_blocks + 2, sizeof(uint32_t));
	ch->preds = calloc(prog->n_succs + 1, sizeof(uint32_t));
	if (!ch->pred_at || !ch->preds)
		return -ENOMEM;
	for (uint32_t i = 0; i < prog->n_succs; i++)
		ch->pred_at[prog->succs[i] + 2]++;
	for (uint32_t b = 0; b < prog->n_blocks; b++)
		ch->pred_at[b + 2] += ch->pred_at[b + 1];
	for (uint32_t b = 0; b < prog->n_blocks; b++)
		for (uint32_t i = 0; i < prog->blocks[b].n_succ; i++)
			ch->preds[ch->pred_at[prog_succs(prog, b)[i] + 1]++] = b;
	return 0;
}

static uint32_t succs_hash(const struct program *prog, uint32_t block)
{
	uint32_t h = 2166136261u;
	for (uint32_t i = 0; i < prog->blocks[block].n_succ; i++)
		h = (h ^ prog_succs(prog, block)[i]) * 16777619u;
	return h ^ h >> 15;
}

static bool same_succs(const struct program *prog, uint32_t a, uint32_t b)
{
	const struct prog_block *x = &prog->blocks[a], *y = &prog->blocks[b];
	return x->n_succ == y->n_succ &&
	       !memcmp(prog_succs(prog, a), prog_succs(prog, b), x->n_succ * sizeof(uint32_t));
}

static int find_alike(struct chooser *ch)
{
	const struct program *prog = ch->prog;
	uint32_t size = 64;
	while (size < 2 * prog->n_blocks)
		size *= 2;
	uint32_t *table = calloc(size, sizeof(*table));
	if (!table)
		return -ENOMEM;
	for (uint32_t b = 0; b < prog->n_blocks; b++) {
		ch->alike[b] = b;
		if (prog->blocks[b].n_succ < 2)
			continue;
		uint32_t h = succs_hash(prog, b) & (size - 1);
		while (table[h] && !same_succs(prog, table[h] - 1, b))
			h = (h + 1) & (size - 1);
		if (table[h])
			ch->alike[b] = table[h] - 1;
		else
			table[h] = b + 1;
	}
	free(table);
	return 0;
}

int chooser_init(struct chooser *ch, const struct program *prog)
{
	*ch = (struct chooser){.prog = prog};
	size_t n = prog->n_blocks + 1;
	ch->marks = calloc(n, 1);
	ch->capture_ret = calloc(n, sizeof(bool));
	ch->sums = calloc(prog->n_funcs + 1, sizeof(*ch->sums));
	ch->global_need = malloc(n * sizeof(uint32_t));
	ch->global_depth = calloc(n, sizeof(int32_t));
	ch->global_any = calloc(n, sizeof(bool));
	uint32_t **stamps[] = {&ch->seen_walk,	&ch->seen_closure, &ch->seen_back, &ch->head,
			       &ch->head_stamp, &ch->seen_alike,   &ch->alike};
	bool ok = ch->marks && ch->capture_ret && ch->sums && ch->global_need && ch->global_depth &&
		  ch->global_any;
	for (size_t i = 0; i < sizeof(stamps) / sizeof(*stamps); i++) {
		*stamps[i] = calloc(n, sizeof(uint32_t));
		ok = ok && *stamps[i];
	}
	if (!ok || build_hops(ch) || build_preds(ch) || find_alike(ch)) {
		chooser_deinit(ch);
		return -ENOMEM;
	}
	for (size_t b = 0; b < n; b++)
		ch->global_need[b] = GLOBAL_NONE;
	for (size_t b = 0; b < n; b++)
		ch->global_depth[b] = INT32_MAX;
	return 0;
}

void chooser_deinit(struct chooser *ch)
{
	if (ch->sums)
		for (uint32_t f = 0; f < ch->prog->n_funcs; f++) {
			termset_free(&ch->sums[f].first);
			termset_free(&ch->sums[f].need);
		}
	void *heap[] = {ch->hops,	  ch->global_depth, ch->marks,	    ch->capture_ret,
			ch->sums,	  ch->global_need,  ch->global_any, ch->seen_walk,
			ch->seen_closure, ch->seen_back,    ch->head,	    ch->head_stamp,
			ch->preds,	  ch->pred_at,	    ch->alts.at,    ch->walk.at,
			ch->closure.at,	  ch->back.at,	    ch->found,	    ch->decisions.at,
			ch->seen_alike,	  ch->alike};
	for (size_t i = 0; i < sizeof(heap) / sizeof(*heap); i++)
		free(heap[i]);
	*ch = (struct chooser){0};
}

bool chooser_is_node(const struct chooser *ch, uint32_t block)
{
	const struct hop *hop = &ch->hops[block];
	return ch->marks[block] || hop->is_node || (ch->returns_apart && hop->flags & HOP_RET);
}

/* Adds to @out the nodes reached from @start through blocks that are none. */
static void reach(struct chooser *ch, uint32_t start, struct vec *out, bool *exit_seen)
{
	ch->walk.n = 0;
	push(ch, &ch->walk, start);
	while (ch->walk.n) {
		uint32_t b = ch->walk.at[--ch->walk.n];
		if (ch->seen_walk[b] == ch->stamp)
			continue;
		ch->seen_walk[b] = ch->stamp;
		ch->steps++;
		const struct hop *hop = &ch->hops[b];
		if (chooser_is_node(ch, b)) {
			push(ch, out, b);
		} else if (hop->flags & HOP_RET) {
			if (!*exit_seen)
				push(ch, out, NODE_EXIT);
			*exit_seen = true;
		} else {
			for (uint32_t i = 0; i < hop->n_succ; i++)
				push(ch, &ch->walk, ch->prog->succs[hop->succ + i]);
		}
	}
}

void chooser_alternatives(struct chooser *ch, struct decision d, struct vec *out)
{
	out->n = 0;
	ch->stamp++;
	bool exit_seen = false;
	if (d.block == PUGMARK_NONE) {
		reach(ch, ch->prog->funcs[d.func].block, out, &exit_seen);
		return;
	}
	const struct prog_block *block = &ch->prog->blocks[d.block];
	if (block->flags & PROG_NORETURN)
		return;
	if (block->flags & (PROG_RET | PROG_TAIL)) {
		push(ch, out, NODE_EXIT);
		return;
	}
	for (uint32_t i = 0; i < block->n_succ; i++)
		if (d.way == WAY_ALL || d.way == i)
			reach(ch, prog_succs(ch->prog, d.block)[i], out, &exit_seen);
}

static bool is_entry_term(const struct chooser *ch, uint32_t w)
{
	if (w == TERM_ANY_ENTRY)
		return true;
	return ch->hops[w].flags & HOP_ENTRY;
}

static bool same_event(const struct chooser *ch, uint32_t a, uint32_t b)
{
	if (a == b)
		return true;
	return (a == TERM_ANY_ENTRY && is_entry_term(ch, b)) ||
	       (b == TERM_ANY_ENTRY && is_entry_term(ch, a));
}

static void note_ret(struct chooser *ch, uint32_t w)
{
	if (ch->note_rets && w != TERM_ANY_ENTRY)
		ch->capture_ret[w] = true;
}

/* Whether no one event fits both terms, seen from the same function. */
static bool distinguishable(struct chooser *ch, struct term a, struct term b)
{
	if (!same_event(ch, a.w, b.w))
		return true;
	/* An entry says which call site it came from in every mode: without that it would not
	 * name its caller at all. */
	if (ch->plain && !is_entry_term(ch, a.w))
		return false;
	if (!ch->plain && term_depths_differ(a, b))
		return true;
	if (a.ret >= RET_UNKNOWN || b.ret >= RET_UNKNOWN || a.ret == b.ret)
		return false;
	note_ret(ch, a.w);
	note_ret(ch, b.w);
	return true;
}

static void add_found(struct chooser *ch, struct term term, uint32_t alt)
{
	if (ch->n_found == ch->cap_found) {
		uint32_t cap = ch->cap_found ? 2 * ch->cap_found : 256;
		struct found_term *found = realloc(ch->found, cap * sizeof(*found));
		if (!found) {
			ch->failed = true;
			return;
		}
		ch->found = found;
		ch->cap_found = cap;
	}
	ch->found[ch->n_found++] = (struct found_term){.term = term, .alt = alt};
}

static struct term own_term(const struct chooser *ch, uint32_t block)
{
	const struct prog_block *b = &ch->prog->blocks[block];
	bool known = ch->marks[block] == MARK_BLOCK ? b->any.cfa_known : b->last.cfa_known;
	if (ch->marks[block] == MARK_LAST && (b->call == CALL_DIRECT || b->call == CALL_UNKNOWN) &&
	    !(b->flags & PROG_TAIL) && b->height == PUGMARK_HEIGHT_UNKNOWN)
		known = false; /* its event tells the callee's frame, not this one */
	return (struct term){
		.w = block,
		.depth = known ? 0 : DEPTH_UNKNOWN,
		.ret = known ? RET_SELF : RET_UNKNOWN,
	};
}

/* What the call in @block shows first; returns whether it can show nothing. */
static bool call_first(struct chooser *ch, uint32_t block, uint32_t alt, bool *top)
{
	const struct prog_block *b = &ch->prog->blocks[block];
	uint32_t call = b->flags & PROG_TAIL ? RET_SELF : block;
	if (b->call == CALL_UNKNOWN) {
		struct term any = {.w = TERM_ANY_ENTRY, .ret = RET_SELF};
		add_found(ch, term_lift(any, b->height, call), alt);
		return true;
	}
	if (b->call != CALL_DIRECT)
		return true;
	const struct summary *callee = &ch->sums[b->callee];
	if (!callee->known) {
		*top = true;
		return true;
	}
	*top |= callee->first.top;
	for (uint32_t i = 0; i < callee->first.n; i++)
		add_found(ch, term_lift(callee->first.terms[i], b->height, call), alt);
	return callee->nullable;
}

/* The first terms of one alternative, through all that is silent before them; returns whether the
 * function's exit is among what can be reached in silence. */
static bool close_over(struct chooser *ch, uint32_t node, uint32_t alt, bool *top)
{
	bool empty = false;
	uint32_t closure_stamp = ++ch->stamp;
	struct vec next = {0};
	ch->closure.n = 0;
	push(ch, &ch->closure, node);
	while (ch->closure.n) {
		uint32_t n = ch->closure.at[--ch->closure.n];
		if (n == NODE_EXIT) {
			empty = true;
			continue;
		}
		if (ch->seen_closure[n] == closure_stamp)
			continue;
		ch->seen_closure[n] = closure_stamp;
		ch->steps++;
		if (ch->marks[n]) {
			add_found(ch, own_term(ch, n), alt);
			continue;
		}
		if (!call_first(ch, n, alt, top))
			continue;
		next = ch->decisions;
		chooser_alternatives(ch, (struct decision){0, n, WAY_ALL}, &next);
		ch->decisions = next;
		for (uint32_t i = 0; i < next.n; i++)
			push(ch, &ch->closure, next.at[i]);
	}
	return empty;
}

uint32_t chooser_first(struct chooser *ch, const struct vec *alts, bool *top)
{
	uint32_t empty = 0;
	ch->n_found = 0;
	*top = false;
	for (uint32_t i = 0; i < alts->n; i++)
		empty += close_over(ch, alts->at[i], i, top);
	return empty;
}

/* Files the found terms from @from on under their witness; returns whether each is distinguishable
 * from the ones of other alternatives that were filed before. @entries: chain of those that are
 * entries of functions. */
static bool file_terms(struct chooser *ch, uint32_t from, uint32_t stamp, uint32_t *entries)
{
	for (uint32_t i = from; i < ch->n_found; i++) {
		struct found_term *f = &ch->found[i];
		uint32_t *head = entries;
		if (!is_entry_term(ch, f->term.w)) {
			head = &ch->head[f->term.w];
			if (ch->head_stamp[f->term.w] != stamp) {
				ch->head_stamp[f->term.w] = stamp;
				*head = UINT32_MAX;
			}
		}
		for (uint32_t j = *head; j != UINT32_MAX; j = ch->found[j].next) {
			ch->steps++;
			if (ch->found[j].alt != f->alt &&
			    !distinguishable(ch, ch->found[j].term, f->term))
				return false;
		}
		f->next = *head;
		*head = i;
	}
	return true;
}

/* Foreign code may call one function after the other from the same place: the entry of the second
 * then looks as if the first had jumped there. So a frame that foreign code entered must not have
 * to choose between returning in silence and such a jump. */
static bool jumps_differ_from_return(struct chooser *ch, struct decision d)
{
	uint32_t func = d.block == PUGMARK_NONE ? d.func : ch->prog->blocks[d.block].func;
	if (!(ch->prog->funcs[func].flags & PROG_ENTERED_TAIL))
		return true;
	for (uint32_t i = 0; i < ch->n_found; i++) {
		struct term t = ch->found[i].term;
		bool own = t.depth == 0 || t.depth == DEPTH_UNKNOWN || (t.depth < 0 && t.or_below);
		if (own && t.ret >= RET_UNKNOWN && is_entry_term(ch, t.w))
			return false;
	}
	return true;
}

bool chooser_decision_holds(struct chooser *ch, struct decision d)
{
	chooser_alternatives(ch, d, &ch->alts);
	if (ch->alts.n <= 1)
		return true;
	/* Most decisions that do not hold show it in their first alternatives. */
	uint32_t empty = 0, entries = UINT32_MAX, stamp = ++ch->file_stamp;
	ch->n_found = 0;
	for (uint32_t i = 0; i < ch->alts.n; i++) {
		bool top = false;
		uint32_t from = ch->n_found;
		empty += close_over(ch, ch->alts.at[i], i, &top);
		if (top || empty > (ch->plain ? 0 : 1) || !file_terms(ch, from, stamp, &entries))
			return false;
	}
	return !empty || jumps_differ_from_return(ch, d);
}

/* Whether @t, first after a call, cannot be taken for what the functions need that a call may enter
 * whose callee is not known, @depth below or further. @call: that call, or RET_UNKNOWN. */
static bool global_need_holds(struct chooser *ch, struct term t, int32_t depth, uint32_t call)
{
	if (ch->global_top)
		return false;
	if (is_entry_term(ch, t.w)) {
		if (t.ret >= RET_UNKNOWN || ch->global_any[t.ret])
			return false;
		if (ch->global_jumps && ch->prog->blocks[t.ret].call == CALL_DIRECT &&
		    t.w == TERM_ANY_ENTRY)
			return false; /* it jumped there, as did perhaps what is needed */
		if (t.w == TERM_ANY_ENTRY)
			return true;
	}
	uint32_t need = ch->global_need[t.w];
	if (need == GLOBAL_NONE)
		return true;
	struct term least = {.w = t.w, .depth = ch->global_depth[t.w], .or_below = true};
	if (!ch->plain && term_depths_differ(t, term_lift(least, depth, call)))
		return true;
	if (need == RET_SELF)
		need = call; /* where the unknown callee returns to */
	if (need == RET_UNKNOWN || t.ret >= RET_UNKNOWN || need == t.ret)
		return false;
	note_ret(ch, t.w);
	return true;
}

/* What a need of a callee is as its caller sees it. A call whose height is not known tells by its
 * event where the callee's frame is, which is below the caller's. */
struct lift {
	int32_t height;
	uint32_t call;
	bool or_below;
};

static struct lift lift_of(const struct chooser *ch, uint32_t block)
{
	const struct prog_block *b = &ch->prog->blocks[block];
	uint32_t call = b->flags & PROG_TAIL ? RET_SELF : block;
	if (b->height != PUGMARK_HEIGHT_UNKNOWN || ch->marks[block] != MARK_LAST)
		return (struct lift){b->height, call, false};
	return (struct lift){RETURN_ADDRESS_BYTES, call, true};
}

static inline struct term lift_need(struct lift lift, struct term t)
{
	t.or_below |= lift.or_below;
	return term_lift(t, lift.height, lift.call);
}

static bool need_range_differs(struct chooser *ch, struct term t, uint32_t block, uint32_t from,
			       uint32_t to)
{
	const struct termset *need = &ch->sums[ch->prog->blocks[block].callee].need;
	struct lift lift = lift_of(ch, block);
	for (uint32_t i = from; i < to; i++) {
		ch->steps++;
		if (!distinguishable(ch, t, lift_need(lift, need->terms[i])))
			return false;
	}
	return true;
}

/* Whether @t, first after the call in @block, cannot be taken for something inside the callee. */
static bool term_follows(struct chooser *ch, struct term t, uint32_t block)
{
	const struct prog_block *b = &ch->prog->blocks[block];
	struct lift lift = lift_of(ch, block);
	struct term frame = lift_need(lift, (struct term){.or_below = true});
	if (t.depth < frame.depth && term_depths_differ(t, frame))
		return true; /* a frame above the callee's */
	if (b->call == CALL_UNKNOWN) {
		struct term any = term_lift((struct term){.w = TERM_ANY_ENTRY, .ret = RET_SELF},
					    b->height, block);
		return distinguishable(ch, t, any) && global_need_holds(ch, t, b->height, block);
	}
	const struct summary *callee = &ch->sums[b->callee];
	if (!callee->known || callee->need.top)
		return false;
	int32_t depth = lift_need(lift, (struct term){.depth = callee->global_depth}).depth;
	if (callee->need_global && !global_need_holds(ch, t, depth, RET_UNKNOWN))
		return false;
	uint32_t from = 0, to = callee->need.n;
	bool entry = is_entry_term(ch, t.w);
	if (!entry || t.w != TERM_ANY_ENTRY)
		termset_range(&callee->need, t.w, &from, &to);
	if (!need_range_differs(ch, t, block, from, to))
		return false;
	if (!entry || !callee->need.joined || t.w == TERM_ANY_ENTRY)
		return true;
	termset_range(&callee->need, TERM_ANY_ENTRY, &from, &to);
	return need_range_differs(ch, t, block, from, to);
}

bool chooser_follow_holds(struct chooser *ch, uint32_t block)
{
	const struct prog_block *b = &ch->prog->blocks[block];
	if (b->call == CALL_NONE || b->call == CALL_LEAF ||
	    (b->flags & (PROG_TAIL | PROG_NORETURN)))
		return true;
	if (b->call == CALL_DIRECT && ch->sums[b->callee].known && !ch->sums[b->callee].need.top &&
	    !ch->sums[b->callee].need.n && !ch->sums[b->callee].need_global)
		return true;
	chooser_alternatives(ch, (struct decision){0, block, WAY_ALL}, &ch->alts);
	bool top;
	chooser_first(ch, &ch->alts, &top);
	if (top)
		return false;
	for (uint32_t i = 0; i < ch->n_found; i++)
		if (!term_follows(ch, ch->found[i].term, block))
			return false;
	return true;
}

/* Walks all ways on from @block in silence, each block at most once without and once with a call
 * behind it; back at @block after a call there is a cycle. */
bool chooser_progress_holds(struct chooser *ch, uint32_t block)
{
	if (ch->marks[block])
		return true;
	uint32_t *seen[] = {ch->seen_back, ch->seen_closure};
	uint32_t stamp = ++ch->stamp;
	bool top = false, blocks = chooser_shows_blocks(ch, block);
	ch->back.n = 0;
	push(ch, &ch->back, block);
	push(ch, &ch->back, false);
	for (bool first = true; ch->back.n; first = false) {
		bool called = ch->back.at[--ch->back.n];
		uint32_t b = ch->back.at[--ch->back.n];
		const struct prog_block *blk = &ch->prog->blocks[b];
		if (b == block && (called || (blocks && !first)))
			return false;
		if (seen[called][b] == stamp || ch->marks[b])
			continue;
		if (!first)
			seen[called][b] = stamp;
		ch->steps++;
		if (blk->call != CALL_NONE) {
			ch->n_found = 0;
			if (!call_first(ch, b, 0, &top) ||
			    (blk->flags & (PROG_TAIL | PROG_NORETURN)))
				continue;
			called = true;
		}
		for (uint32_t i = 0; i < blk->n_succ; i++) {
			push(ch, &ch->back, prog_succs(ch->prog, b)[i]);
			push(ch, &ch->back, called);
		}
	}
	return true;
}

/* How many decisions follow a node: one, but one for each way where the mark says which. */
static uint32_t ways(const struct chooser *ch, uint32_t block)
{
	uint8_t mark = ch->marks[block];
	const struct prog_block *b = &ch->prog->blocks[block];
	bool by_way = mark == MARK_BRANCH || (mark == MARK_TARGET && prog_jump_read(b));
	return by_way ? b->n_succ : 1;
}

static uint32_t decision_way(const struct chooser *ch, uint32_t block, uint32_t i)
{
	bool by_way = ch->marks[block] == MARK_BRANCH ||
		      (ch->marks[block] == MARK_TARGET && prog_jump_read(&ch->prog->blocks[block]));
	return by_way ? i : WAY_ALL;
}

uint32_t chooser_function_faults(struct chooser *ch, uint32_t func)
{
	const struct prog_func *f = &ch->prog->funcs[func];
	if (!f->n_blocks)
		return 0;
	uint32_t faults =
		!chooser_decision_holds(ch, (struct decision){func, PUGMARK_NONE, WAY_ALL});
	for (uint32_t b = f->block; b < f->block + f->n_blocks; b++) {
		if (!(ch->prog->blocks[b].flags & PROG_REACHED))
			continue;
		if (!chooser_is_node(ch, b))
			continue;
		for (uint32_t i = 0; i < ways(ch, b); i++)
			faults += !chooser_decision_holds(
				ch, (struct decision){func, b, decision_way(ch, b, i)});
		faults += !chooser_follow_holds(ch, b) + !chooser_progress_holds(ch, b);
	}
	return faults;
}

static bool passes_silently(const struct chooser *ch, uint32_t block)
{
	const struct prog_block *b = &ch->prog->blocks[block];
	if (ch->marks[block])
		return false;
	if (b->call == CALL_DIRECT)
		return !ch->sums[b->callee].known || ch->sums[b->callee].nullable;
	return true;
}

/* A block that stands for what follows @node, the same for all nodes that go on alike; or NONE. */
static uint32_t continuation(const struct chooser *ch, uint32_t node)
{
	const struct program *prog = ch->prog;
	uint32_t b = node;
	for (int i = 0; i < 16 && prog->blocks[b].n_succ == 1; i++) {
		uint32_t next = prog_succs(prog, b)[0];
		const struct prog_block *n = &prog->blocks[next];
		bool ends = chooser_is_node(ch, next) || n->flags & PROG_RET || !n->n_succ;
		if (ends)
			return PUGMARK_NONE; /* at most one alternative */
		b = next;
	}
	return ch->prog->blocks[b].n_succ > 1 ? ch->alike[b] : PUGMARK_NONE;
}

/* Whether the decisions behind @node hold. Those that @ch->seen_alike has at @stamp are known. */
static bool node_decisions_hold(struct chooser *ch, uint32_t func, uint32_t node, uint32_t stamp)
{
	const struct prog_block *b = &ch->prog->blocks[node];
	for (uint32_t w = 0; decision_way(ch, node, w) != WAY_ALL && w < ways(ch, node); w++)
		if (!chooser_decision_holds(ch, (struct decision){func, node, w}))
			return false;
	if (decision_way(ch, node, 0) != WAY_ALL)
		return true;
	bool goes_on = !(b->flags & (PROG_RET | PROG_TAIL | PROG_NORETURN)) && b->n_succ;
	if (goes_on) {
		uint32_t c = continuation(ch, node);
		if (c != PUGMARK_NONE && ch->seen_alike[c] == stamp)
			return true;
		if (c != PUGMARK_NONE)
			ch->seen_alike[c] = stamp;
	}
	return chooser_decision_holds(ch, (struct decision){func, node, WAY_ALL});
}

/* Walks back from @block to the nodes whose decisions reach it in silence. */
bool chooser_surroundings_hold(struct chooser *ch, uint32_t func, uint32_t block)
{
	const struct prog_func *f = &ch->prog->funcs[func];
	struct vec *queue = &ch->back;
	if (!chooser_progress_holds(ch, block))
		return false;
	bool entry = block == f->block;
	uint32_t stamp = ++ch->stamp;
	struct vec nodes = {0};
	if (chooser_shows_blocks(ch, block) && !vec_push(&nodes, block))
		ch->failed = true; /* without its mark, its own way out is a decision as well */
	queue->n = 0;
	for (uint32_t p = ch->pred_at[block]; p < ch->pred_at[block + 1]; p++)
		vec_push(queue, ch->preds[p]);
	while (queue->n) {
		uint32_t b = queue->at[--queue->n];
		if (ch->seen_back[b] == stamp)
			continue;
		ch->seen_back[b] = stamp;
		ch->steps++;
		bool node = chooser_is_node(ch, b);
		if (node && !vec_push(&nodes, b))
			ch->failed = true;
		if (node && !passes_silently(ch, b))
			continue;
		entry |= b == f->block;
		for (uint32_t p = ch->pred_at[b]; p < ch->pred_at[b + 1]; p++)
			if (!vec_push(queue, ch->preds[p]))
				ch->failed = true;
	}
	bool holds = !entry ||
		     chooser_decision_holds(ch, (struct decision){func, PUGMARK_NONE, WAY_ALL});
	for (uint32_t i = 0; holds && i < nodes.n; i++) {
		holds = node_decisions_hold(ch, func, nodes.at[i], stamp) &&
			chooser_follow_holds(ch, nodes.at[i]);
	}
	free(nodes.at);
	return holds;
}

static bool join_global(struct chooser *ch, struct term t);

/* A need past this many terms is given up as this function's own: it joins what unknown callees
 * need, which every caller then checks against. Coarser, and much cheaper in deep recursion. Terms
 * of the function's own frame stay: what lies further down is told from it by depth. */
#define NEED_MAX 192

/* The function of @sum needs what unknown callees do, in a frame @depth below it or further. */
static bool need_globally(struct summary *sum, int32_t depth)
{
	bool grew = !sum->need_global || depth < sum->global_depth;
	if (grew)
		sum->global_depth = depth; /* DEPTH_UNKNOWN is less than any */
	sum->need_global = true;
	return grew;
}

static bool add_need(struct chooser *ch, struct summary *sum, struct term t)
{
	bool own = t.depth == 0 && !t.or_below;
	if (sum->need.n < NEED_MAX || sum->need.top || own)
		return termset_add(&sum->need, t);
	bool grew = need_globally(sum, 0);
	if (t.w == TERM_ANY_ENTRY && t.ret >= RET_UNKNOWN)
		return termset_add(&sum->need, t) || grew;
	if (t.ret == RET_SELF)
		t.ret = RET_UNKNOWN; /* this function's, not the unknown callee's */
	return join_global(ch, t) || grew;
}

static bool set_top(struct termset *set)
{
	bool grew = !set->top;
	set->top = true;
	return grew;
}

/* What decision @d adds to the need of its function: if one alternative may be empty, the others'
 * first terms must not follow the function. */
static bool need_of_decision(struct chooser *ch, struct decision d, struct summary *sum)
{
	bool grew = false, top = false;
	chooser_alternatives(ch, d, &ch->alts);
	if (ch->alts.n <= 1 || ch->plain)
		return false;
	/* At most one alternative is empty, or the decision would not hold. */
	uint32_t empty_alt = UINT32_MAX;
	ch->n_found = 0;
	for (uint32_t i = 0; i < ch->alts.n; i++)
		if (close_over(ch, ch->alts.at[i], i, &top))
			empty_alt = i;
	if (empty_alt == UINT32_MAX)
		return false;
	for (uint32_t i = 0; i < ch->n_found; i++)
		if (ch->found[i].alt != empty_alt)
			grew |= add_need(ch, sum, ch->found[i].term);
	return grew;
}

/* What the callee of @block needs, where this function can end right after it. */
static bool need_of_call(struct chooser *ch, uint32_t block, struct summary *sum)
{
	const struct prog_block *b = &ch->prog->blocks[block];
	if (b->call == CALL_NONE || b->call == CALL_LEAF || (b->flags & PROG_NORETURN))
		return false;
	bool top;
	chooser_alternatives(ch, (struct decision){0, block, WAY_ALL}, &ch->alts);
	if (!chooser_first(ch, &ch->alts, &top))
		return false;
	bool tail = b->flags & PROG_TAIL, grew = false;
	uint32_t call = tail ? RET_SELF : block;
	if (b->call == CALL_UNKNOWN) {
		grew = need_globally(sum, tail ? 0 : b->height);
		struct term any = {.w = TERM_ANY_ENTRY, .ret = RET_SELF};
		return add_need(ch, sum, term_lift(any, b->height, call)) || grew;
	}
	const struct summary *callee = &ch->sums[b->callee];
	if (!callee->known || callee->need.top)
		return set_top(&sum->need);
	struct lift lift = lift_of(ch, block);
	struct term unknown = {.depth = callee->global_depth};
	if (callee->need_global)
		grew |= need_globally(sum, lift_need(lift, unknown).depth);
	for (uint32_t i = 0; i < callee->need.n; i++)
		grew |= add_need(ch, sum, lift_need(lift, callee->need.terms[i]));
	return grew;
}

bool chooser_summarise(struct chooser *ch, uint32_t func)
{
	const struct prog_func *f = &ch->prog->funcs[func];
	struct summary *sum = &ch->sums[func];
	if (!f->n_blocks)
		return false;
	bool top, grew = false;
	chooser_alternatives(ch, (struct decision){func, PUGMARK_NONE, WAY_ALL}, &ch->alts);
	bool nullable = chooser_first(ch, &ch->alts, &top) > 0;
	grew |= nullable && !sum->nullable;
	sum->nullable |= nullable;
	if (top)
		grew |= set_top(&sum->first);
	for (uint32_t i = 0; i < ch->n_found; i++)
		grew |= termset_add(&sum->first, ch->found[i].term);
	grew |= need_of_decision(ch, (struct decision){func, PUGMARK_NONE, WAY_ALL}, sum);
	for (uint32_t b = f->block; b < f->block + f->n_blocks; b++) {
		if (!(ch->prog->blocks[b].flags & PROG_REACHED) || !chooser_is_node(ch, b))
			continue;
		for (uint32_t i = 0; i < ways(ch, b); i++)
			grew |= need_of_decision(
				ch, (struct decision){func, b, decision_way(ch, b, i)}, sum);
		grew |= need_of_call(ch, b, sum);
	}
	return grew;
}

/* Joins @t to what unknown callees need; returns whether that grew. */
static bool join_global(struct chooser *ch, struct term t)
{
	bool grew = false;
	if (t.w == TERM_ANY_ENTRY && t.ret == RET_SELF)
		return false; /* by a tail jump: it returns to the unknown call itself, which every
				 unknown call checks for on its own */
	if (t.w == TERM_ANY_ENTRY && t.ret == RET_UNKNOWN) {
		grew = !ch->global_top;
		ch->global_top = true;
	} else if (t.w == TERM_ANY_ENTRY) {
		grew = !ch->global_any[t.ret];
		ch->global_any[t.ret] = true;
	} else {
		uint32_t *need = &ch->global_need[t.w];
		int32_t *depth = &ch->global_depth[t.w];
		uint32_t joined = *need == GLOBAL_NONE || *need == t.ret ? t.ret : RET_UNKNOWN;
		grew = joined != *need || t.depth < *depth;
		*need = joined;
		*depth = t.depth < *depth ? t.depth : *depth;
		if (is_entry_term(ch, t.w)) {
			bool known = t.ret < RET_UNKNOWN;
			bool *seen = known ? &ch->global_any[t.ret] : &ch->global_jumps;
			grew |= t.ret != RET_SELF && !*seen;
			*seen |= t.ret != RET_SELF;
		}
	}
	return grew;
}

void chooser_globalise(struct chooser *ch)
{
	for (uint32_t f = 0; f < ch->prog->n_funcs; f++) {
		if (!(ch->prog->funcs[f].flags & PROG_ENTRY_WITNESS))
			continue;
		const struct summary *sum = &ch->sums[f];
		ch->global_top |= sum->need.top;
		for (uint32_t i = 0; i < sum->need.n; i++)
			join_global(ch, sum->need.terms[i]);
	}
}

static void add_edge(struct chooser *ch, struct vec *edges, uint32_t a, uint32_t b)
{
	if (a == b)
		return;
	push(ch, edges, a < b ? a : b);
	push(ch, edges, a < b ? b : a);
}

static void decision_edges(struct chooser *ch, struct decision d, struct vec *edges)
{
	struct vec nodes = {0};
	chooser_alternatives(ch, d, &ch->alts);
	for (uint32_t i = 0; i < ch->alts.n; i++)
		push(ch, &nodes, ch->alts.at[i]);
	ch->n_found = 0;
	for (uint32_t i = 0; i < nodes.n && nodes.n > 1; i++) {
		bool top = false;
		bool empty = close_over(ch, nodes.at[i], i, &top);
		if (!empty && !top)
			continue;
		for (uint32_t j = 0; j < nodes.n; j++)
			add_edge(ch, edges, nodes.at[i], nodes.at[j]);
	}
	for (uint32_t i = 0; i < ch->n_found; i++)
		for (uint32_t j = 0; j < i; j++)
			if (ch->found[i].alt != ch->found[j].alt &&
			    !distinguishable(ch, ch->found[i].term, ch->found[j].term))
				add_edge(ch, edges, nodes.at[ch->found[i].alt],
					 nodes.at[ch->found[j].alt]);
	free(nodes.at);
}

void chooser_conflict_edges(struct chooser *ch, uint32_t func, struct vec *edges)
{
	const struct prog_func *f = &ch->prog->funcs[func];
	decision_edges(ch, (struct decision){func, PUGMARK_NONE, WAY_ALL}, edges);
	for (uint32_t b = f->block; b < f->block + f->n_blocks; b++) {
		if (!(ch->prog->blocks[b].flags & PROG_REACHED) || !chooser_is_node(ch, b))
			continue;
		for (uint32_t i = 0; i < ways(ch, b); i++)
			decision_edges(ch, (struct decision){func, b, decision_way(ch, b, i)},
				       edges);
	}
}

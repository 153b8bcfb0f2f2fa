// SPDX-License-Identifier: LGPL-2.1-or-later
/* choose_forced.c: the marks that no mode can do without, and what is missing where such a mark is
 * not there or tells too little. */
#include "offline/choose/choose_forced.h"

#include <math.h>

/* Whether the jcc at the block's end can be what is probed, at no more cost: then the event tells
 * the way it goes as well. Not where values are read: at the end they may be gone. */
static bool shows_way(const struct prog_block *b)
{
	return b->flags & PROG_BRANCH && !(b->flags & PROG_READ) && prog_probeable(&b->last) &&
	       b->last.cost_ns <= b->any.cost_ns && (b->last.cfa_known || !b->any.cfa_known);
}

static void force(struct conflicts *ch, uint32_t block)
{
	const struct prog_block *b = &ch->prog->blocks[block];
	if (b->flags & PROG_OPEN && prog_probeable(&b->last))
		ch->marks[block] = MARK_TARGET;
	else if (!ch->plain && shows_way(b))
		ch->marks[block] = MARK_BRANCH;
	else if (prog_probeable(&b->any))
		ch->marks[block] = MARK_BLOCK;
}

/* Whether the call's callee has its frame at an unknown height below the caller's. Then the event
 * of the call itself must say where, or no depth inside of the callee could be told. */
static bool hides_height(const struct prog_block *b)
{
	return b->call != CALL_LEAF && b->call != CALL_NONE &&
	       b->height == PUGMARK_HEIGHT_UNKNOWN && !(b->flags & PROG_TAIL);
}

/* Whether the block jumps to where only the target that is read could tell, from a frame that
 * foreign code made: without that it looks like what foreign code does next. */
static bool jumps_anywhere(const struct conflicts *ch, const struct prog_block *b)
{
	return b->call == CALL_UNKNOWN && b->flags & PROG_TAIL &&
	       b->flags & (PROG_INDIRECT | PROG_STRAY) &&
	       ch->prog->funcs[b->func].flags & PROG_ENTERED_TAIL;
}

/* Whether the block leads to one that is also entered by unwinding. A witness on this one tells the
 * two cases apart: without its event the other block was entered by unwinding. */
static bool leads_to_root(const struct conflicts *ch, const struct prog_block *b, uint32_t block)
{
	for (uint32_t i = 0; i < b->n_succ; i++)
		if (ch->prog->blocks[prog_succs(ch->prog, block)[i]].flags & PROG_ROOT)
			return true;
	return false;
}

/* Whether the callee of @b shows before anything else can happen: then a jump to it that never
 * comes back shows as well. What stops inside the callee shows by the callee's marks. */
static bool callee_shows(const struct conflicts *ch, const struct prog_block *b)
{
	const struct summary *sum = &ch->sums[b->callee];
	return b->call == CALL_DIRECT && sum->known && !sum->nullable &&
	       (sum->first.n || sum->first.top);
}

/* Whether the way of a jump that leaves the function (it has no instruction of its own) has to show
 * by the jump, because nothing else shows that it was taken. */
static bool wants_jump(const struct conflicts *ch, const struct prog_block *b)
{
	return b->flags & PROG_VIRTUAL &&
	       (jumps_anywhere(ch, b) || (b->flags & PROG_NORETURN && !callee_shows(ch, b)));
}

/* The mark by which the jump at the end of @b says where it goes. */
static uint8_t way_mark(const struct prog_block *b)
{
	if (!prog_probeable(&b->last) || b->flags & (PROG_READ | PROG_READ_CALL))
		return MARK_NONE;
	return b->flags & PROG_BRANCH ? MARK_BRANCH : prog_jump_read(b) ? MARK_TARGET : MARK_NONE;
}

static void force_jump(struct conflicts *ch, uint32_t block)
{
	for (uint32_t i = ch->pred_at[block]; i < ch->pred_at[block + 1]; i++) {
		const struct prog_block *from = &ch->prog->blocks[ch->preds[i]];
		bool entry = ch->hops[ch->preds[i]].flags & HOP_ENTRY || from->flags & PROG_ROOT;
		if (way_mark(from) && (!entry || from->last.cfa_known))
			ch->marks[ch->preds[i]] = way_mark(from);
	}
}

/* Whether each jump that leads to @block says so. */
static bool jump_shows(const struct conflicts *ch, uint32_t block)
{
	for (uint32_t i = ch->pred_at[block]; i < ch->pred_at[block + 1]; i++)
		if (ch->marks[ch->preds[i]] != way_mark(&ch->prog->blocks[ch->preds[i]]))
			return false;
	return true;
}

/* What many blocks lead to: where an interpreter's instructions begin, or its loop. Without a mark
 * there whatever comes behind one instruction may come behind each, and a function of hundreds of
 * them takes the square of that to choose for, and to keep. */
#define HUB_PREDS 16
static bool is_hub(const struct conflicts *ch, uint32_t block)
{
	return ch->prog->blocks[block].flags & PROG_REACHED &&
	       ch->pred_at[block + 1] - ch->pred_at[block] >= HUB_PREDS;
}

static void force_hubs(struct conflicts *ch, const struct prog_func *f)
{
	for (uint32_t b = f->block; b < f->block + f->n_blocks; b++)
		if (!ch->marks[b] && is_hub(ch, b))
			force(ch, b);
}

/* Per block of a function. An interpreter that dispatches behind each instruction (Python's) has
 * 12, what others were looked at have one at most. */
#define HUB_EDGES 4
bool forced_hubs_prevail(const struct conflicts *ch, uint32_t func)
{
	const struct prog_func *f = &ch->prog->funcs[func];
	uint64_t edges = 0;
	for (uint32_t b = f->block; b < f->block + f->n_blocks; b++)
		edges += is_hub(ch, b) ? ch->pred_at[b + 1] - ch->pred_at[b] : 0;
	return f->n_blocks >= HUB_PREDS * HUB_PREDS && edges >= HUB_EDGES * (uint64_t)f->n_blocks;
}

double forced_entry_cost(const struct conflicts *ch, uint32_t func)
{
	const struct prog_func *f = &ch->prog->funcs[func];
	if (!f->n_blocks || !(f->flags & PROG_ENTRY_WITNESS))
		return 0;
	const struct prog_block *b = &ch->prog->blocks[f->block];
	float cost = fminf(b->any.cost_ns, b->last.cost_ns);
	return isfinite(cost) ? (double)b->freq * f->freq * cost : 0;
}

/* Marks that no mode can do without: entries that no direct call announces; what the unwinder
 * enters; jumps whose targets are not known; calls at an unknown height; calls that fork or execute
 * (there a process begins or ends) or that continue on another stack; calls that do not return
 * (they cost next to nothing); and where values are to be read. */
void force_function(struct conflicts *ch, uint32_t func)
{
	const struct prog_func *f = &ch->prog->funcs[func];
	if (f->n_blocks && f->flags & PROG_ENTRY_WITNESS)
		force(ch, f->block);
	for (uint32_t b = f->block; b < f->block + f->n_blocks; b++) {
		const struct prog_block *block = &ch->prog->blocks[b];
		if (!(block->flags & PROG_REACHED))
			continue;
		if (wants_jump(ch, block))
			force_jump(ch, b);
		else if (jumps_anywhere(ch, block) && prog_probeable(&block->last))
			ch->marks[b] = block->flags & PROG_STRAY ? MARK_LAST : MARK_TARGET;
		else if ((hides_height(block) || block->flags & PROG_READ_CALL) &&
			 prog_probeable(&block->last))
			ch->marks[b] = MARK_LAST;
		else if (block->flags & (PROG_ROOT | PROG_OPEN | PROG_NORETURN | PROG_FORKS |
					 PROG_READ | PROG_SWITCHES) ||
			 leads_to_root(ch, block, b))
			force(ch, b);
	}
	for (uint32_t b = f->block; ch->given && b < f->block + f->n_blocks; b++)
		if (!ch->marks[b])
			ch->marks[b] = ch->given[b];
	if (ch->hubs[func])
		force_hubs(ch, f);
}

/* What is missing where a witness that no mode can do without is not there, or cannot say which
 * frame it is in: enum pugmark_plan_unresolved_kind; or -1. */
int forced_missing(const struct conflicts *ch, uint32_t block)
{
	const struct prog_block *b = &ch->prog->blocks[block];
	uint8_t mark = ch->marks[block];
	const struct prog_func *f = &ch->prog->funcs[b->func];
	bool entry = f->flags & PROG_ENTRY_WITNESS && f->block == block;
	if (entry && (!mark || (mark != MARK_BLOCK && !b->last.cfa_known)))
		return PUGMARK_UNRESOLVED_ENTRY;
	if (b->flags & PROG_ROOT &&
	    (!mark || !(mark == MARK_BLOCK ? b->any.cfa_known : b->last.cfa_known)))
		return PUGMARK_UNRESOLVED_LANDING;
	if (b->flags & PROG_VIRTUAL) {
		bool told =
			!wants_jump(ch, b) || (jump_shows(ch, block) && !(b->flags & PROG_STRAY));
		return told		       ? -1
		       : jumps_anywhere(ch, b) ? PUGMARK_UNRESOLVED_JUMP
					       : PUGMARK_UNRESOLVED_STOP;
	}
	if (jumps_anywhere(ch, b) || b->flags & PROG_OPEN)
		return mark != MARK_TARGET ? PUGMARK_UNRESOLVED_JUMP : -1;
	if (hides_height(b))
		return mark != MARK_LAST && mark != MARK_TARGET ? PUGMARK_UNRESOLVED_FRAME : -1;
	if (!mark && leads_to_root(ch, b, block))
		return PUGMARK_UNRESOLVED_LANDING;
	return !mark && b->flags & (PROG_NORETURN | PROG_SWITCHES) ? PUGMARK_UNRESOLVED_STOP : -1;
}

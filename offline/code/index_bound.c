// SPDX-License-Identifier: LGPL-2.1-or-later
/* index_bound.c: how large the index of a jump table can be. A compiler compares the index (or a
 * value that one is a copy of the other) with a constant and jumps away where it is above; or it
 * masks the index, or reads only a byte. The search follows the index upwards through its copies.
 * At each conditional jump that decides whether it goes on to the block searched, what was compared
 * is kept as a candidate; if the index turns out to be a copy of the candidate, the compare is the
 * bound on this path. The result is the largest bound over all paths. */
#include "offline/code/backslice.h"

#include <string.h>

enum { MAX_PATHS = 256 };

#define UNBOUNDED UINT64_MAX

/* `compared` <= bound holds on this path below the instruction `at`. */
struct candidate {
	bool valid;
	struct loc compared;
	uint32_t at;
	uint64_t bound;
};

/* A path's head: the index is in `loc` at the end of the search so far. */
struct path {
	struct place at;
	struct loc loc;
	uint64_t cap; /* what masks and narrow copies allow */
	bool masked;  /* a mask does */
	struct candidate candidate;
};

struct search {
	struct backslice *s;
	struct path paths[MAX_PATHS];
	uint32_t n_paths;
	uint64_t bound;
	uint64_t width; /* of a narrow copy that every path passes */
	bool forked;	/* there is more than one path */
	bool exact; /* the bound of every path is of a compare or a mask; none follows from a width
		       alone */
	bool found;
};

static bool same_loc(struct loc a, struct loc b)
{
	return a.reg == b.reg && a.memory == b.memory && (!a.memory || a.disp == b.disp);
}

static uint64_t narrow(uint64_t value, uint8_t size)
{
	return size >= 8 ? value : value & ((UINT64_C(1) << (size * 8)) - 1);
}

/* What the conditional jump with @cond, taken or not, says of X after `cmp X, imm`: X <= result. */
static uint64_t implied_bound(uint8_t cond, bool taken, uint64_t imm)
{
	enum { B = 2, AE, E, NE, BE, A, L = 12, GE, LE, G };
	if (!taken)
		cond ^= 1;
	switch (cond) {
	case BE:
	case LE:
	case E:
		return imm;
	case B:
	case L:
		return imm ? imm - 1 : UNBOUNDED;
	default:
		return UNBOUNDED;
	}
}

/* The compare that decides the jump at the end of @block, if it bounds anything on this edge. */
static struct candidate candidate_of(struct backslice *s, uint32_t block, uint32_t kind)
{
	struct candidate none = {0};
	const struct pugmark_block *from = &s->flow->blocks.at[block];
	uint32_t last = from->insn + from->n_insns - 1;
	if (s->b->insns.at[last].kind != PUGMARK_INSN_JCC ||
	    (kind != PUGMARK_EDGE_TAKEN && kind != PUGMARK_EDGE_FALL))
		return none;
	for (uint32_t insn = last; insn-- > from->insn;) {
		const struct sem *sem = backslice_sem(s, insn);
		if (!sem)
			return none;
		if (!sem->sets_flags)
			continue;
		if (sem->op != SEM_CMP && !(sem->op == SEM_ADD_IMM && sem->is_sub))
			return none;
		if (sem->memory && sem->index != REG_NONE)
			return none;
		uint64_t imm = (uint64_t)(sem->op == SEM_CMP ? sem->value : -sem->value);
		struct candidate c = {.at = insn};
		c.bound = implied_bound(s->b->insns.at[last].cond, kind == PUGMARK_EDGE_TAKEN,
					narrow(imm, sem->size));
		c.valid = c.bound != UNBOUNDED;
		c.compared = sem->memory ? (struct loc){sem->base, true, sem->disp}
					 : (struct loc){.reg = sem->dst};
		return c;
	}
	return none;
}

static void close_path(struct search *q, uint64_t bound, bool exact)
{
	if (!q->found || bound > q->bound)
		q->bound = bound;
	q->exact = q->exact && exact;
	q->found = true;
}

static bool defines(const struct sem *sem, struct loc loc)
{
	if (!loc.memory)
		return sem_writes(sem, loc.reg);
	return sem->op == SEM_STORE && sem->index == REG_NONE && sem->base == loc.reg &&
	       sem->disp == loc.disp;
}

/* Where the value that @sem copies comes from; false if it copies none. */
static bool copied_from(const struct sem *sem, struct loc *from)
{
	if ((sem->op == SEM_COPY || sem->op == SEM_STORE) && sem->src != REG_NONE)
		*from = (struct loc){.reg = sem->src};
	else if (sem->op == SEM_LOAD && sem->index == REG_NONE)
		*from = (struct loc){sem->base, true, sem->disp};
	else
		return false;
	return true;
}

enum step { GO_ON, CLOSED, FAILED };

static enum step close_capped(struct search *q, const struct path *p)
{
	if (p->cap == UNBOUNDED)
		return FAILED;
	close_path(q, p->cap, p->masked);
	return CLOSED;
}

/* The index is defined by @sem: follows what it is made of. */
static enum step through_definition(struct search *q, struct path *p, const struct sem *sem,
				    uint32_t insn)
{
	struct loc from;
	if (sem->op == SEM_AND_IMM && (sem->value == UINT8_MAX || sem->value == UINT16_MAX)) {
		/* As a copy of the lower half: Free Pascal's. */
		p->masked = true;
		p->cap = p->cap < (uint64_t)sem->value ? p->cap : (uint64_t)sem->value;
		return GO_ON;
	}
	if (sem->op == SEM_AND_IMM && sem->value >= 0) {
		close_path(q, narrow((uint64_t)sem->value, sem->size), true);
		return CLOSED;
	}
	if (sem->op == SEM_CONST) {
		close_path(q, (uint64_t)sem->value, true);
		return CLOSED;
	}
	if ((sem->op == SEM_COPY || sem->op == SEM_LOAD) && sem->size < 4 && !sem->sign &&
	    narrow(UNBOUNDED, sem->size) < p->cap) {
		p->cap = narrow(UNBOUNDED, sem->size);
		if (!q->forked)
			q->width = p->cap;
	}
	/* What is narrow further up has no sign, but the index has: not all of it is from 0 on. */
	if ((sem->op == SEM_COPY || sem->op == SEM_LOAD) && sem->sign && sem->size < 4)
		q->forked = true;
	if (!copied_from(sem, &from))
		return close_capped(q, p);
	struct candidate *c = &p->candidate;
	if (c->valid && insn < c->at && same_loc(from, c->compared)) {
		close_path(q, c->bound < p->cap ? c->bound : p->cap, true);
		return CLOSED;
	}
	p->loc = from;
	return GO_ON;
}

/* One instruction upwards. */
static enum step step_up(struct search *q, struct path *p, uint32_t insn)
{
	const struct sem *found = backslice_sem(q->s, insn);
	if (!found || !q->s->budget)
		return FAILED;
	q->s->budget--;
	struct sem sem = *found;
	struct candidate *c = &p->candidate;
	if (c->valid && insn == c->at && sem.op == SEM_CMP && same_loc(p->loc, c->compared)) {
		close_path(q, c->bound < p->cap ? c->bound : p->cap, true);
		return CLOSED;
	}
	if (defines(&sem, p->loc))
		return sem.op == SEM_CALL ? close_capped(q, p)
					  : through_definition(q, p, &sem, insn);
	if (p->loc.memory && (sem_writes(&sem, p->loc.reg) ||
			      (sem.op == SEM_CALL && p->loc.reg != REG_SP && p->loc.reg != REG_BP)))
		return close_capped(q, p);
	if (c->valid && insn < c->at && defines(&sem, c->compared)) {
		struct loc from;
		if (copied_from(&sem, &from) && same_loc(from, p->loc)) {
			close_path(q, c->bound < p->cap ? c->bound : p->cap, true);
			return CLOSED;
		}
		c->valid = false;
	}
	return GO_ON;
}

/* The top of a block: goes on to all its predecessors. */
static enum step fork_up(struct search *q, const struct path *p)
{
	struct backslice *s = q->s;
	uint32_t block = p->at.block;
	if (!block)
		return close_capped(q, p);
	q->forked |= s->pred_first[block + 1] - s->pred_first[block] > 1;
	for (uint32_t i = s->pred_first[block]; i < s->pred_first[block + 1]; i++) {
		uint32_t from = s->preds[i].to;
		const struct pugmark_block *pred = &s->flow->blocks.at[from];
		struct candidate c = candidate_of(s, from, s->preds[i].kind);
		/* A block that was seen is not searched again: a way around a loop adds no new
		 * bound. */
		if (s->stamp[from] == s->now && !c.valid)
			continue;
		if (q->n_paths == MAX_PATHS)
			return FAILED;
		s->stamp[from] = s->now;
		q->paths[q->n_paths++] = (struct path){
			.at = {from, pred->insn + pred->n_insns},
			.loc = p->loc,
			.cap = p->cap,
			.masked = p->masked,
			.candidate = c,
		};
	}
	return CLOSED;
}

bool index_bound(struct backslice *s, struct loc loc, struct place at, uint64_t *bound, bool *exact,
		 bool *whole)
{
	struct search q = {.s = s, .exact = true, .n_paths = 1, .width = UNBOUNDED};
	q.paths[0] = (struct path){.at = at, .loc = loc, .cap = UNBOUNDED};
	uint32_t forks = 0;
	s->now++;
	while (q.n_paths) {
		struct path p = q.paths[--q.n_paths];
		uint32_t first = s->flow->blocks.at[p.at.block].insn;
		enum step step = GO_ON;
		for (uint32_t insn = p.at.insn; insn-- > first && step == GO_ON;)
			step = step_up(&q, &p, insn);
		if (step == GO_ON)
			step = ++forks < 4096 ? fork_up(&q, &p) : FAILED;
		if (step == FAILED && (!p.masked || close_capped(&q, &p) == FAILED))
			return false;
	}
	*bound = q.bound;
	*exact = q.exact;
	*whole = q.bound == q.width;
	return q.found;
}

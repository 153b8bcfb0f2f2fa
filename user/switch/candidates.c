// SPDX-License-Identifier: LGPL-2.1-or-later
/* candidates.c: see candidates.h. One walk over the dependences counts how often each jump was
 * executed; the slice says which executions matter. */
#include "user/switch/candidates.h"

#include "user/why/doubtful.h"
#include "user/why/passing.h"
#include "user/why/prune.h"

#include "offline/base/open_regular.h"
#include "offline/base/vec.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Executions of one block that ends in a conditional jump. */
struct executions {
	uint64_t ip, times;
	unsigned same_ways; /* runs that passed in which it went the same ways */
	bool in_slice;	    /* some of them */
	float confidence;
};

/* Code of the program, or of a library that was traced. */
struct module {
	uint64_t text, end, bias; /* at run time */
	const char *library;	  /* NULL: the program; borrowed */
};

struct search {
	const struct dep_trace *t;
	uint64_t *in_slice;	  /* a bit an instruction */
	struct executions *jumps; /* a hash table by ip; 0: free */
	size_t n_jumps, room_jumps;
	VEC(struct module) modules;
	uint64_t moment; /* that is asked about */
};

static void visit(void *ctx, const struct slice_step *step)
{
	struct search *s = ctx;
	if (step->insn && step->insn->predicate && step->count < s->t->count)
		s->in_slice[step->count / 64] |= (uint64_t)1 << step->count % 64;
}

static struct executions *slot(struct executions *at, size_t room, uint64_t ip)
{
	size_t i = ip * 0x9e3779b97f4a7c15 >> 32 & (room - 1);
	while (at[i].ip && at[i].ip != ip)
		i = (i + 1) & (room - 1);
	return &at[i];
}

static struct executions *jump_at(struct search *s, uint64_t ip)
{
	if (2 * (s->n_jumps + 1) > s->room_jumps) {
		size_t room = s->room_jumps ? 2 * s->room_jumps : 1024;
		struct executions *at = calloc(room, sizeof(*at));
		if (!at)
			return NULL;
		for (size_t i = 0; i < s->room_jumps; i++)
			if (s->jumps[i].ip)
				*slot(at, room, s->jumps[i].ip) = s->jumps[i];
		free(s->jumps);
		s->jumps = at;
		s->room_jumps = room;
	}
	struct executions *e = slot(s->jumps, s->room_jumps, ip);
	s->n_jumps += !e->ip;
	e->ip = ip;
	return e;
}

static const struct module *module_of(const struct search *s, uint64_t ip)
{
	for (uint32_t i = 0; i < s->modules.n; i++)
		if (ip >= s->modules.at[i].text && ip < s->modules.at[i].end)
			return &s->modules.at[i];
	return NULL;
}

/* A block that ends in a conditional jump was executed; @count: instructions before the jump. */
static bool take(struct search *s, struct candidates *c, const struct dep_block *b, uint64_t count)
{
	uint64_t ip = b->ip + b->insns[b->n_insns - 1].ip_off;
	bool wanted = s->in_slice[count / 64] >> count % 64 & 1;
	if (!module_of(s, ip)) {
		c->elsewhere += wanted;
		return true;
	}
	if (count >= s->moment)
		return true;
	struct executions *e = jump_at(s, ip);
	if (!e)
		return false;
	e->times++;
	e->in_slice |= wanted;
	c->executed++;
	struct candidate one = {.count = count, .ip = ip, .jump.time = e->times};
	return VEC_PUSH(c, one);
}

static bool walk(struct search *s, struct candidates *c)
{
	uint64_t count = 0;
	for (uint64_t i = 0; i < s->t->items.n; i++) {
		uint32_t item = s->t->items.at[i];
		if (item & DEP_ITEM_EVENT) {
			count = s->t->events[item & ~DEP_ITEM_EVENT].count;
			continue;
		}
		const struct dep_block *b = s->t->blocks[item];
		count += b->n_insns;
		if (b->last_kind == VALUE_INSN_JCC && b->n_insns && !take(s, c, b, count - 1))
			return false;
	}
	return true;
}

/* --- order ----------------------------------------------------------------------------------- */

static int by_last(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	if (x->beside != y->beside)
		return x->beside - y->beside;
	return x->count < y->count ? 1 : -(x->count > y->count);
}

static int by_rank(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	if (x->beside != y->beside)
		return x->beside - y->beside;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return by_last(a, b);
}

static int by_evidence(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	if (x->same_ways != y->same_ways)
		return x->same_ways < y->same_ways ? -1 : 1;
	return by_rank(a, b);
}

static int by_place(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	return x->place < y->place ? -1 : x->place > y->place;
}

static int by_jump(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	if (x->ip != y->ip)
		return x->ip < y->ip ? -1 : 1;
	return by_last(a, b);
}

/* The most doubtful jump first, of those that the failure depends on. */
static int by_doubt(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	if (x->beside != y->beside)
		return x->beside - y->beside;
	if (x->confidence < y->confidence || x->confidence > y->confidence)
		return x->confidence < y->confidence ? -1 : 1;
	return by_last(a, b);
}

/* Of n executions from the last to the first: 0 the last, 1 the first, 2 the last but one, ... */
static void rank(struct candidates *c)
{
	if (c->n)
		qsort(c->at, c->n, sizeof(*c->at), by_jump);
	for (size_t i = 0, end; i < c->n; i = end) {
		for (end = i; end < c->n && c->at[end].ip == c->at[i].ip; end++)
			;
		for (size_t k = i; k < end; k++) {
			uint64_t back = k - i, ahead = end - 1 - k;
			c->at[k].rank = back <= ahead ? 2 * back : 2 * ahead + 1;
		}
	}
}

/* With runs that passed: in turn one that went another way than in those, and one by the order that
 * is asked for. */
static void put_in_order(struct candidates *c, enum candidates_order order, bool evidence,
			 bool doubt)
{
	if (!c->n)
		return;
	if (evidence)
		qsort(c->at, c->n, sizeof(*c->at), by_evidence);
	for (uint32_t i = 0; i < c->n; i++)
		c->at[i].place = evidence ? 2 * (uint64_t)i : UINT64_MAX;
	qsort(c->at, c->n, sizeof(*c->at),
	      doubt		    ? by_doubt
	      : order == ORDER_LAST ? by_last
				    : by_rank);
	for (uint32_t i = 0; i < c->n; i++)
		if (2 * (uint64_t)i + 1 < c->at[i].place)
			c->at[i].place = 2 * (uint64_t)i + 1;
	qsort(c->at, c->n, sizeof(*c->at), by_place);
}

/* --- all of it ------------------------------------------------------------------------------- */

static int entry_of(const char *path, uint64_t *entry)
{
	Elf64_Ehdr e;
	int fd = path ? open_regular(path, NULL) : -1;
	bool ok = fd >= 0 && pread(fd, &e, sizeof(e), 0) == sizeof(e);
	if (fd >= 0)
		close(fd);
	*entry = ok ? e.e_entry : 0;
	return ok ? 0 : -ENOENT;
}

/* What the walk has counted goes to the candidates; those beside the slice are left out. */
static void finish(struct search *s, struct candidates *c, bool beside, uint64_t entry)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < c->n; i++) {
		const struct executions *e = slot(s->jumps, s->room_jumps, c->at[i].ip);
		struct candidate *to = &c->at[n];
		*to = c->at[i];
		to->times = e->times;
		to->same_ways = e->same_ways;
		to->beside = !e->in_slice;
		const struct module *m = module_of(s, to->ip);
		to->confidence = e->confidence;
		to->jump.elf = to->ip - m->bias;
		to->jump.library = m->library;
		to->jump.entry = entry;
		c->in_slice += !to->beside;
		n += beside || !to->beside;
	}
	c->n = n;
}

/* With runs that passed. */
static int compare(struct search *s, struct why_run *w, const struct why_options *o,
		   struct pugmark_diag *diag)
{
	struct why_passing *passing = NULL;
	int err = why_passing_new(w, o, &passing, diag);
	for (size_t i = 0; !err && i < s->room_jumps; i++)
		if (s->jumps[i].ip)
			s->jumps[i].same_ways = why_passing_same_ways(passing, s->jumps[i].ip);
	why_passing_free(passing);
	return err;
}

/* Outputs that were right: how sure each jump is to have gone the right way. */
static int doubt(struct search *s, struct why_run *w, const struct why_options *o,
		 struct pugmark_diag *diag)
{
	struct fold fold = {.trace = s->t};
	struct why_line *lines = NULL;
	uint64_t *pinned = NULL;
	size_t n = 0;
	int err = why_pinned(w, &pinned);
	err = err ? err : fold_keep_members(&fold);
	err = err ? err
		  : slice_backward(s->t, &w->criterion, o->follow, w->control, fold_visit, &fold);
	fold_finish(&fold);
	err = err ? err : fold.no_memory ? -ENOMEM : why_lines(w, &fold, true, false, &lines, &n);
	if (!err && pinned)
		err = why_doubt(w, o, pinned, &fold, lines, n, diag);
	for (size_t i = 0; !err && i < n; i++) {
		struct executions *e =
			s->n_jumps ? slot(s->jumps, s->room_jumps, lines[i].ip) : NULL;
		if (e && e->ip && !lines[i].event)
			e->confidence = lines[i].confidence;
	}
	why_lines_free(lines, n);
	fold_deinit(&fold);
	free(pinned);
	return err;
}

/* The program, then libraries that were traced and mapped at the start. */
static int find_modules(struct search *s, struct why_run *w)
{
	for (uint32_t i = 0; i < value_names_modules(w->names); i++) {
		struct module m = {.library = i ? value_names_file(w->names, i) : NULL};
		if (!captures_bias(value_replay_captures(w->replay), i, &m.bias) ||
		    !value_names_text(w->names, i, &m.text, &m.end) || (i && !m.library)) {
			if (!i)
				return -ENOENT;
			continue;
		}
		m.text += m.bias;
		m.end += m.bias;
		if (!VEC_PUSH(&s->modules, m))
			return -ENOMEM;
	}
	return s->modules.n ? 0 : -ENOENT;
}

int candidates_find(struct why_run *w, const struct why_options *o, bool beside,
		    enum candidates_order order, struct candidates *c, struct pugmark_diag *diag)
{
	struct search s = {.t = dep_build_trace(w->build), .moment = w->criterion.count};
	uint64_t entry;
	int err = entry_of(value_names_file(w->names, 0), &entry);
	*c = (struct candidates){0};
	err = err ? err : find_modules(&s, w);
	if (err && err != -ENOMEM)
		return pugmark_diag_set(diag, -ENOENT, o->dir, PUGMARK_NO_OFFSET,
					"the program that was recorded is not there any more, or "
					"is another one now");
	s.in_slice = calloc(s.t->count / 64 + 1, sizeof(*s.in_slice));
	err = err	   ? err
	      : s.in_slice ? slice_backward(s.t, &w->criterion, o->follow, w->control, visit, &s)
			   : -ENOMEM;
	if (!err && !walk(&s, c))
		err = -ENOMEM;
	if (!err && o->n_passing)
		err = compare(&s, w, o, diag);
	if (!err && o->n_sets)
		err = doubt(&s, w, o, diag);
	finish(&s, c, beside, entry);
	rank(c);
	put_in_order(c, order, o->n_passing, o->n_sets);
	free(s.in_slice);
	free(s.jumps);
	VEC_FREE(&s.modules);
	return err == -ENOMEM
		       ? pugmark_diag_set(diag, err, o->dir, PUGMARK_NO_OFFSET, "out of memory")
		       : err;
}

void candidates_deinit(struct candidates *c)
{
	VEC_FREE(c);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* passing.c: see passing.h. Instructions of two runs are the same if they lie at the same address
 * of the same module. */
#include "user/why/passing.h"

#include "offline/slice/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct passed {
	struct value_replay *replay;
	struct value_names *names;
	struct value_run *run;
	struct dep_build *build;
	struct slice_profile *profile;
};

struct why_passing {
	struct why_run *w;
	struct passed failed; /* @replay and @names are those of @w */
	struct passed *runs;
	unsigned n;
};

int why_add_passing(struct why_options *o, const char *dir)
{
	const char **dirs = realloc(o->passing, (o->n_passing + 1) * sizeof(*dirs));
	if (!dirs)
		return -ENOMEM;
	o->passing = dirs;
	o->passing[o->n_passing++] = dir;
	return 0;
}

static int fail(const char *dir, struct pugmark_diag *diag, int err, const char *text)
{
	return pugmark_diag_set(diag, err, dir, PUGMARK_NO_OFFSET, "%s", text);
}

/* Executes the task up to instruction @until, for the profile. */
static int take(struct passed *p, uint32_t task, uint64_t until, const char *dir,
		struct pugmark_diag *diag)
{
	uint32_t n;
	int err = value_run_new(p->replay, task, &p->run, diag);
	if (err)
		return err;
	value_run_snapshot_every(p->run, UINT64_MAX / 2);
	p->profile = slice_profile_new();
	if (!p->profile || dep_build_new(p->run, &p->build))
		return fail(dir, diag, -ENOMEM, "out of memory");
	dep_build_watch(p->build, slice_profile_watch, p->profile);
	if (dep_build_forward(p->build, until) == VALUE_REPLAY_NO_MEMORY ||
	    !slice_profile_insns(p->profile, &n))
		return fail(dir, diag, -ENOMEM, "out of memory");
	return 0;
}

static int take_passed(struct why_passing *p, struct passed *r, const char *dir,
		       struct pugmark_diag *diag)
{
	uint32_t n;
	int err = value_replay_open(dir, &r->replay, diag);
	err = err ? err : value_names_open(dir, value_replay_captures(r->replay), &r->names, diag);
	if (err)
		return err;
	const char *file = value_names_file(r->names, 0), *own = value_names_file(p->w->names, 0);
	if (!file || !own || strcmp(file, own) != 0)
		return fail(dir, diag, -EINVAL, "it is a recording of another program");
	const uint32_t *tasks = captures_tasks(value_replay_captures(r->replay), &n);
	return n ? take(r, tasks[0], UINT64_MAX / 4, dir, diag)
		 : fail(dir, diag, -ENOENT, "no task has values (record with --level values)");
}

static void passed_deinit(struct passed *p)
{
	slice_profile_free(p->profile);
	dep_build_free(p->build);
	value_run_free(p->run);
	value_names_free(p->names);
	value_replay_free(p->replay);
}

int why_passing_new(struct why_run *w, const struct why_options *o, struct why_passing **out,
		    struct pugmark_diag *diag)
{
	struct why_passing *p = *out = calloc(1, sizeof(*p));
	if (!p || !(p->runs = calloc(o->n_passing + 1, sizeof(*p->runs))))
		return fail(o->dir, diag, -ENOMEM, "out of memory");
	p->w = w;
	p->failed.replay = w->replay;
	int err = take(&p->failed, w->task, dep_build_trace(w->build)->count, o->dir, diag);
	for (unsigned i = 0; !err && i < o->n_passing; i++) {
		p->n++;
		err = take_passed(p, &p->runs[i], o->passing[i], diag);
	}
	return err;
}

void why_passing_free(struct why_passing *p)
{
	if (!p)
		return;
	p->failed.replay = NULL; /* another one's */
	passed_deinit(&p->failed);
	for (unsigned i = 0; i < p->n; i++)
		passed_deinit(&p->runs[i]);
	free(p->runs);
	free(p);
}

/* --- what is the same ------------------------------------------------------------------------ */

/* What the instruction of the failing run at @ip has done in run @r; NULL: nothing. */
static const struct profile_insn *same_insn(const struct why_passing *p, const struct passed *r,
					    uint64_t ip)
{
	uint32_t module = 0;
	uint64_t elf = 0, bias;
	if (!value_names_at(p->w->names, ip, &module, &elf) ||
	    !captures_bias(value_replay_captures(r->replay), module, &bias))
		return NULL;
	return slice_profile_find(r->profile, elf + bias);
}

static bool has_value(const struct profile_insn *insn, uint32_t value)
{
	for (unsigned i = 0; i < insn->n_values; i++)
		if (insn->values[i] == value)
			return true;
	return false;
}

/* Of one instruction: in how many of the runs it was as in the one that failed. */
static struct why_evidence evidence_of(const struct why_passing *p, const struct profile_insn *f)
{
	struct why_evidence e = {.runs = p->n, .executed = 0, .same_ways = p->n};
	unsigned with[2] = {0}, without[2] = {0}, had[PROFILE_VALUES] = {0};
	bool known = f->all_values;
	for (unsigned i = 0; i < p->n; i++) {
		const struct profile_insn *x = same_insn(p, &p->runs[i], f->ip);
		if (!x)
			continue;
		e.executed++;
		for (int way = 0; way < 2; way++) {
			with[way] += x->ways >> way & 1;
			without[way] += !(x->ways >> way & 1);
		}
		known &= x->all_values;
		for (unsigned v = 0; v < f->n_values; v++)
			had[v] += has_value(x, f->values[v]);
	}
	for (int way = 0; f->jump && way < 2; way++) {
		unsigned same = f->ways >> way & 1 ? with[way] : without[way];
		e.same_ways = same < e.same_ways ? same : e.same_ways;
	}
	e.same_ways = e.same_ways < e.executed ? e.same_ways : e.executed;
	for (unsigned v = 0; known && e.executed && v < f->n_values; v++) {
		e.new_values += !had[v];
	}
	return e;
}

unsigned why_passing_same_ways(const struct why_passing *p, uint64_t ip)
{
	const struct profile_insn *f = slice_profile_find(p->failed.profile, ip);
	return f ? evidence_of(p, f).same_ways : p->n;
}

int why_passing_add(struct why_passing *p, struct fold *fold)
{
	uint32_t n;
	const struct profile_insn *all = slice_profile_insns(p->failed.profile, &n);
	for (uint32_t i = 0; i < n; i++) {
		struct dep_insn jump = {0};
		struct slice_step step = {.count = all[i].last, .ip = all[i].ip, .insn = &jump};
		if (all[i].jump && evidence_of(p, &all[i]).same_ways < p->n)
			fold_add_beside(fold, &step);
	}
	return fold->no_memory ? -ENOMEM : 0;
}

void why_passing_lines(struct why_passing *p, const struct fold *fold, struct why_line *lines,
		       size_t n)
{
	struct why_line **of = calloc(fold->n + 1, sizeof(*of)); /* by entry of the slice */
	for (size_t i = 0; of && i < n; i++) {
		lines[i].evidence = (struct why_evidence){p->n, p->n, p->n, 0};
		of[lines[i].group] = &lines[i];
	}
	for (size_t i = 0; of && i < fold->n; i++) {
		struct why_line *l = of[fold->at[i].group];
		const struct profile_insn *f =
			fold->at[i].name ? NULL
					 : slice_profile_find(p->failed.profile, fold->at[i].ip);
		if (!l || !f)
			continue;
		struct why_evidence e = evidence_of(p, f), *to = &l->evidence;
		to->executed = e.executed < to->executed ? e.executed : to->executed;
		to->same_ways = e.same_ways < to->same_ways ? e.same_ways : to->same_ways;
		to->new_values += e.new_values;
	}
	free(of);
}

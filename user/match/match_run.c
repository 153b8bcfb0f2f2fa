// SPDX-License-Identifier: LGPL-2.1-or-later
/* match_run.c: see match_run.h. */
#include "user/match/match_run.h"

#include "offline/base/search.h"
#include "offline/base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char *dir, struct pugmark_diag *diag, int err, const char *text)
{
	return pugmark_diag_set(diag, err, dir, PUGMARK_NO_OFFSET, "%s", text);
}

/* Where the traced program lies: all mappings of the file that its code is in, and its .bss. */
static void find_image(const struct match_run *r, uint64_t *start, uint64_t *end)
{
	const struct captures *captures = value_replay_captures(r->replay);
	uint64_t bias = 0, from = 0, to = 0;
	uint32_t n, file = CAPTURE_NONE;
	const struct capture_mapping *maps = captures_mappings(captures, &n);
	captures_bias(captures, 0, &bias);
	value_names_text(r->names, 0, &from, &to);
	for (uint32_t i = 0; i < n; i++)
		if (bias + from >= maps[i].start && bias + from < maps[i].end)
			file = maps[i].file;
	*start = *end = 0;
	for (uint32_t i = 0; i < n; i++) {
		bool own = maps[i].file == file && file != CAPTURE_NONE;
		/* .bss follows the file's last mapping. */
		bool bss = maps[i].file == CAPTURE_NONE && *end && maps[i].start == *end;
		if (!own && !bss)
			continue;
		*start = *start && *start < maps[i].start ? *start : maps[i].start;
		*end = maps[i].end;
	}
}

/* What compilers split off (f.part.0, f.cold) or make again (f.constprop.0) is a part of f. */
static int number_function(struct match_names *names, const char *name, uint32_t *out)
{
	size_t len = strcspn(name, ".");
	for (uint32_t i = 0; i < names->n; i++)
		if (!strncmp(names->at[i], name, len) && strcspn(names->at[i], ".") == len) {
			*out = i;
			return 0;
		}
	*out = names->n;
	return VEC_PUSH(names, name) ? 0 : -ENOMEM;
}

static int name_functions(struct match_run *r, struct match_names *names)
{
	const char *last = NULL;
	uint32_t number = 0;
	r->functions = calloc(r->side.n + 1, sizeof(*r->functions));
	if (!r->functions)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->side.n; i++) {
		const char *name = value_names_symbol(r->names, r->side.insns[i].ip);
		name = name ? name : "";
		int err = name == last ? 0 : number_function(names, name, &number);
		if (err)
			return err;
		last = name;
		r->functions[i] = number;
	}
	r->side.functions = r->functions;
	return 0;
}

static int follow(struct match_run *r, const char *dir, struct pugmark_diag *diag)
{
	uint64_t start, end;
	find_image(r, &start, &end);
	r->history = match_history_new(r->run, start, end);
	if (!r->history || dep_build_new(r->run, &r->build))
		return fail(dir, diag, -ENOMEM, "out of memory");
	value_run_snapshot_every(r->run, UINT64_MAX / 2);
	dep_build_watch(r->build, match_history_watch, r->history);
	enum value_replay_stop stop = dep_build_forward(r->build, UINT64_MAX / 4);
	r->partial = stop == VALUE_REPLAY_GAP;
	r->executed = dep_build_trace(r->build)->count;
	r->side.insns = match_history_insns(r->history, &r->side.n);
	return stop == VALUE_REPLAY_NO_MEMORY || !r->side.insns
		       ? fail(dir, diag, -ENOMEM, "out of memory (a shorter recording takes less)")
		       : 0;
}

int match_run_init(struct match_run *r, const char *dir, uint32_t task, struct match_names *names,
		   struct pugmark_diag *diag)
{
	uint32_t n, i = 0;
	*r = (struct match_run){0};
	int err = value_replay_open(dir, &r->replay, diag);
	err = err ? err : value_names_open(dir, value_replay_captures(r->replay), &r->names, diag);
	if (err)
		return err;
	const uint32_t *tasks = captures_tasks(value_replay_captures(r->replay), &n);
	while (i < n && task && tasks[i] != task)
		i++;
	if (i >= n)
		return fail(dir, diag, -ENOENT,
			    n ? "it has no values of that task (pugmark values lists them)"
			      : "no task has values (record with --level values)");
	err = value_run_new(r->replay, tasks[i], &r->run, diag);
	err = err ? err : follow(r, dir, diag);
	if (!err && name_functions(r, names))
		err = fail(dir, diag, -ENOMEM, "out of memory");
	return err;
}

uint64_t match_run_both(const struct match_run *a, const struct match_run *b)
{
	const struct dep_trace *t = dep_build_trace(b->build);
	uint64_t count = 0;
	for (uint64_t i = 0; i < t->n_events; i++) {
		const struct dep_event *e = &t->events[i];
		uint64_t end = e->offset;
		size_t written;
		if (!(e->flags & DEP_OUTPUT) || !e->n_runs)
			continue;
		for (uint32_t k = 0; k < e->n_runs; k++)
			end += t->runs[e->first_run + k].len;
		dep_build_output(a->build, e->fd, &written);
		if (written < end)
			break;
		count = e->count;
	}
	return count;
}

int match_run_cut(struct match_run *r, uint64_t count)
{
	r->cut = malloc((r->side.n + 1) * sizeof(*r->cut));
	if (!r->cut)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->side.n; i++) {
		r->cut[i] = r->side.insns[i];
		const struct match_insn *m = &r->side.insns[i];
		r->cut[i].n = SEARCH_FIRST_NOT(0, m->n, k, m->when[k] < count);
	}
	r->side.insns = r->cut;
	r->executed = count < r->executed ? count : r->executed;
	return 0;
}

void match_run_deinit(struct match_run *r)
{
	free(r->cut);
	free(r->functions);
	match_history_free(r->history);
	dep_build_free(r->build);
	value_run_free(r->run);
	value_names_free(r->names);
	value_replay_free(r->replay);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* criterion.c: see criterion.h. */
#include "user/why/criterion.h"

#include "user/values/show/value_instances.h"
#include "user/why/shared.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { STEP = 20000000 };

static int fail(const struct why_options *o, struct pugmark_diag *diag, int err, const char *text)
{
	return pugmark_diag_set(diag, err, o->dir, PUGMARK_NO_OFFSET, "%s", text);
}

static int open_recording(struct why_run *w, const struct why_options *o, struct pugmark_diag *diag)
{
	int err = value_replay_open(o->dir, &w->replay, diag);
	return err ? err
		   : value_names_open(o->dir, value_replay_captures(w->replay), &w->names, diag);
}

static int open_task(struct why_run *w, const struct why_options *o, uint32_t task,
		     struct pugmark_diag *diag)
{
	w->task = task;
	int err = value_run_new(w->replay, task, &w->run, diag);
	if (err)
		return err;
	if (dep_build_new(w->run, &w->build))
		return fail(o, diag, -ENOMEM, "out of memory");
	if (w->shared)
		why_shared_tell(w->shared, task, w->build);
	return 0;
}

static void close_task(struct why_run *w)
{
	free(w->defs);
	dep_build_free(w->build);
	value_run_free(w->run);
	w->defs = NULL;
	w->build = NULL;
	w->run = NULL;
	w->partial = false;
	w->addr = w->addr_len = 0;
	w->criterion = (struct slice_criterion){0};
}

/* Goes on to @until. 0, or -ENOMEM; a gap or the end is no error. */
static int build_to(struct why_run *w, const struct why_options *o, uint64_t until,
		    enum value_replay_stop *stop, struct pugmark_diag *diag)
{
	*stop = dep_build_forward(w->build, until);
	w->partial |= *stop == VALUE_REPLAY_GAP;
	return *stop == VALUE_REPLAY_NO_MEMORY
		       ? fail(o, diag, -ENOMEM,
			      "out of memory (a shorter recording, or an earlier criterion)")
		       : 0;
}

/* --- bytes of an output ---------------------------------------------------------------------- */

static bool output_reaches(const struct why_run *w, int fd, uint64_t end)
{
	size_t len;
	dep_build_output(w->build, fd, &len);
	return len >= end;
}

/* Finds the text in what was written to any descriptor: the first that has it. */
static bool find_text(const struct why_run *w, const char *text, int *fd, uint64_t *offset)
{
	enum { FDS = 1024 };
	for (int i = 0; i < FDS; i++) {
		size_t len;
		const uint8_t *all = dep_build_output(w->build, i, &len);
		const uint8_t *at = all ? memmem(all, len, text, strlen(text)) : NULL;
		if (at) {
			*fd = i;
			*offset = at - all;
			return true;
		}
	}
	return false;
}

/* The definitions of @len bytes of @fd from @offset on; the criterion is behind the last of them.
 */
static int take_output(struct why_run *w, const struct why_options *o, int fd, uint64_t offset,
		       uint64_t len, struct pugmark_diag *diag)
{
	const struct dep_trace *t = dep_build_trace(w->build);
	w->defs = calloc(len + 1, sizeof(*w->defs));
	if (!w->defs)
		return fail(o, diag, -ENOMEM, "out of memory");
	for (uint64_t i = 0; i < t->n_events; i++) {
		const struct dep_event *e = &t->events[i];
		uint64_t at = e->offset;
		if (!(e->flags & DEP_OUTPUT) || e->fd != fd)
			continue;
		for (uint32_t k = 0; k < e->n_runs; k++) {
			const struct dep_run *r = &t->runs[e->first_run + k];
			for (uint64_t b = at; b < at + r->len; b++)
				if (b >= offset && b - offset < len) {
					w->defs[b - offset] = r->def;
					w->criterion.count = e->count + 1;
					w->criterion.moment = e->count - !!e->count;
				}
			at += r->len;
		}
	}
	w->criterion.defs = w->defs;
	w->criterion.n_defs = len;
	w->criterion.decided = true;
	/* A call that makes the text itself is in the slice, so the scan begins behind it. */
	if (w->criterion.count > t->count)
		w->criterion.count = t->count;
	snprintf(w->said, sizeof(w->said), "bytes %" PRIu64 " to %" PRIu64 " written to %d%s",
		 offset, offset + len - 1, fd,
		 dep_build_output_is_sure(w->build, fd) ? ""
							: " (some of what was written is assumed)");
	return 0;
}

static int ask_output(struct why_run *w, const struct why_options *o, struct pugmark_diag *diag)
{
	enum value_replay_stop stop = VALUE_REPLAY_LIMIT;
	uint64_t offset = o->offset, len = o->what == WHY_OUTPUT ? strlen(o->text) : o->len;
	int fd = o->fd, err = 0;
	bool found = false;
	for (uint64_t until = STEP; !err && stop == VALUE_REPLAY_LIMIT && !found; until += STEP) {
		err = build_to(w, o, until, &stop, diag);
		found = o->what == WHY_OUTPUT ? find_text(w, o->text, &fd, &offset)
					      : output_reaches(w, fd, offset + len);
	}
	if (!err && !found)
		return fail(
			o, diag, -ENOENT,
			o->what == WHY_OUTPUT
				? "that text was not written by a call that is known here "
				  "(name it by --write FD:OFFSET; what a library has written is "
				  "known where record --module names that)"
				: "so many bytes were not written to that descriptor by calls that "
				  "are known here (what a library has written is known where "
				  "record --module names that)");
	return err ? err : take_output(w, o, fd, offset, len, diag);
}

/* --- bytes of an input ----------------------------------------------------------------------- */

static int ask_input(struct why_run *w, const struct why_options *o, struct pugmark_diag *diag)
{
	enum value_replay_stop stop;
	int err = build_to(w, o, UINT64_MAX / 4, &stop, diag);
	if (err)
		return err;
	const struct dep_trace *t = dep_build_trace(w->build);
	w->defs = calloc(o->len, sizeof(*w->defs));
	if (!w->defs)
		return fail(o, diag, -ENOMEM, "out of memory");
	w->criterion.count = UINT64_MAX;
	for (uint64_t i = 0; i < t->n_events; i++) {
		const struct dep_event *e = &t->events[i];
		if (!(e->flags & DEP_INPUT) || e->fd != o->fd)
			continue;
		for (uint32_t k = 0; k < e->n_defs; k++)
			if (e->offset + k >= o->offset && e->offset + k - o->offset < o->len &&
			    !w->defs[e->offset + k - o->offset]) {
				w->defs[e->offset + k - o->offset] = e->first_def + k;
				w->criterion.count = e->count < w->criterion.count
							     ? e->count
							     : w->criterion.count;
			}
	}
	if (w->criterion.count == UINT64_MAX)
		return fail(o, diag, -ENOENT, "those bytes were not read of that descriptor");
	w->criterion.defs = w->defs;
	w->criterion.n_defs = o->len;
	w->criterion.events = true;
	snprintf(w->said, sizeof(w->said), "bytes %" PRIu64 " to %" PRIu64 " read from %d",
		 o->offset, o->offset + o->len - 1, o->fd);
	return 0;
}

/* --- a place --------------------------------------------------------------------------------- */

static const char *const not_found[] = {
	[VARS_NO_SUCH] = "no such variable at that place (DWARF says which there are, and where)",
	[VARS_NOWHERE] = "that variable is optimized out there: at this place it is in no register "
			 "and in no memory (at another line, or another time of it, it may be)",
	[VARS_CONSTANT] = "that variable is a constant there, which is computed of nothing",
	[VARS_NOT_TOLD] = "where that variable is there is not known, nor of which registers its "
			  "value is made",
};

/* The bytes or the register of the variable there, or the registers that it is made of. */
static int take_variable(struct why_run *w, const struct why_options *o, uint64_t ip,
			 struct pugmark_diag *diag)
{
	struct value_machine *m = value_run_machine(w->run);
	struct value_variable v;
	uint32_t module;
	uint64_t elf, addr, size, bias = 0;
	bool thread;
	value_names_at(w->names, ip, &module, &elf);
	struct value_vars *vars = value_names_vars(w->names, module);
	captures_bias(value_replay_captures(w->replay), module, &bias);
	enum value_vars_found found =
		vars ? value_vars_find(vars, o->variable, elf, bias, m, &v) : VARS_NO_SUCH;
	if (found != VARS_FOUND) {
		if (found != VARS_NO_SUCH ||
		    !value_names_variable(w->names, o->variable, &addr, &size, &thread))
			return fail(o, diag, found == VARS_NO_SUCH ? -ENOENT : -EINVAL,
				    not_found[found]);
		addr += thread ? value_machine_state(m)->gpr[VALUE_FS] : 0;
		v = (struct value_variable){.memory = true, .addr = addr, .len = size ? size : 8};
	}
	for (unsigned reg = 0; v.of >> reg; reg++) {
		struct dep_units units = dep_units_gpr(reg, 0, 8);
		if (v.of >> reg & 1)
			dep_units_add(&w->criterion.units, &units);
	}
	if (v.of)
		return 0;
	if (!v.memory) {
		w->criterion.units =
			v.vector ? dep_units_vec(v.reg, 0, v.len) : dep_units_gpr(v.reg, 0, v.len);
		return 0;
	}
	w->defs = calloc(v.len, sizeof(*w->defs));
	if (!w->defs)
		return fail(o, diag, -ENOMEM, "out of memory");
	for (uint64_t i = 0; i < v.len; i++)
		w->defs[i] = dep_build_def(w->build, v.addr + i);
	w->criterion.defs = w->defs;
	w->criterion.n_defs = v.len;
	w->addr = v.addr;
	w->addr_len = v.len;
	return 0;
}

/* The instances of a place are found by another run, because the builder's goes forward alone. */
static int find_instance(struct why_run *w, const struct why_options *o, uint64_t *count,
			 uint64_t *ip, struct pugmark_diag *diag)
{
	uint32_t n_ips;
	uint64_t *ips;
	struct value_run *run;
	struct value_instances found = {0};
	int err = value_names_find(w->names, o->place, &ips, &n_ips, diag);
	if (err)
		return err;
	err = value_run_new(w->replay, w->task, &run, diag);
	if (!err) {
		value_run_snapshot_every(run, UINT64_MAX / 2);
		err = value_instances_find(run, ips, n_ips, UINT64_MAX, &found);
		if (err)
			fail(o, diag, err, strerror(-err));
		value_run_free(run);
	}
	free(ips);
	if (err)
		return err;
	uint64_t n = o->instance ? o->instance : found.n;
	if (!n || n > found.n)
		err = pugmark_diag_set(diag, -ENOENT, o->place, PUGMARK_NO_OFFSET,
				       "reached %" PRIu32 " times, so there is no #%" PRIu64,
				       found.n, n);
	if (!err) {
		*count = found.at[n - 1].count;
		*ip = found.at[n - 1].ip;
		snprintf(w->said, sizeof(w->said), "%s%s%s, time %" PRIu64 " of %" PRIu32,
			 o->variable ? o->variable : "", o->variable ? " at " : "", o->place, n,
			 found.n);
	}
	value_instances_deinit(&found);
	return err;
}

static int ask_place(struct why_run *w, const struct why_options *o, struct pugmark_diag *diag)
{
	enum value_replay_stop stop;
	uint64_t count = 0, ip = 0;
	int err = find_instance(w, o, &count, &ip, diag);
	err = err ? err : build_to(w, o, count, &stop, diag);
	if (!err && o->variable)
		err = take_variable(w, o, ip, diag);
	w->criterion.count = count;
	w->criterion.insn = !o->variable;
	w->criterion.decided = true;
	w->criterion.moment = count;
	if (!err && (w->criterion.insn || o->forward || o->both))
		err = build_to(w, o, o->forward || o->both ? UINT64_MAX / 4 : count + 1, &stop,
			       diag);
	return err;
}

static int ask_end(struct why_run *w, const struct why_options *o, struct pugmark_diag *diag)
{
	enum value_replay_stop stop;
	struct value_machine *m = value_run_machine(w->run);
	int err = build_to(w, o, UINT64_MAX / 4, &stop, diag);
	if (err)
		return err;
	/* The instruction that faulted was not executed: what it reads is asked for. */
	const struct value_insn *insn = value_machine_insn(m, value_machine_state(m)->rip);
	w->criterion.count = dep_build_trace(w->build)->count;
	w->criterion.decided = true;
	w->criterion.moment = w->criterion.count;
	/* By abort() or exit(): what led there is what decided it. */
	w->needs_control = !insn;
	if (!insn)
		dep_build_open_call(w->build, &w->criterion.units, &w->criterion.defs,
				    &w->criterion.n_defs);
	for (int i = 0; insn && i < insn->n_access; i++) {
		const struct value_access *a = &insn->access[i];
		struct dep_units u = a->kind == VALUE_ACCESS_GPR
					     ? dep_units_gpr(a->reg, a->off, a->len)
					     : (struct dep_units){{0}};
		if (a->read && a->reg != VALUE_RSP)
			dep_units_add(&w->criterion.units, &u);
	}
	if (insn)
		snprintf(w->said, sizeof(w->said), "the last instruction, at 0x%" PRIx64,
			 value_machine_state(m)->rip);
	else
		snprintf(w->said, sizeof(w->said), "the end, in code that was not traced");
	return 0;
}

/* --- all of it ------------------------------------------------------------------------------- */

/* The criteria of the other slices, which take the place of the first for so long. */
static int ask_extras(struct why_run *w, const struct why_options *o, struct pugmark_diag *diag)
{
	struct why_run first = *w;
	w->extras = calloc(o->n_sets + 1, sizeof(*w->extras));
	if (!w->extras)
		return fail(o, diag, -ENOMEM, "out of memory");
	int err = 0;
	for (unsigned i = 0; !err && i < o->n_sets; i++) {
		const struct why_set *set = &o->sets[i];
		struct why_options its = {.dir = o->dir,
					  .what = set->kind == WHY_OK	  ? WHY_WRITE
						  : set->kind == WHY_FROM ? WHY_INPUT
									  : WHY_PLACE,
					  .fd = set->fd,
					  .offset = set->offset,
					  .len = set->len,
					  .place = set->place,
					  .instance = set->time,
					  .both = true};
		w->criterion = (struct slice_criterion){0};
		w->defs = NULL;
		err = its.what == WHY_WRITE   ? ask_output(w, &its, diag)
		      : its.what == WHY_INPUT ? ask_input(w, &its, diag)
					      : ask_place(w, &its, diag);
		w->extras[w->n_extras++] = (struct why_extra){set->kind, w->criterion, w->defs};
	}
	w->criterion = first.criterion;
	w->defs = first.defs;
	memcpy(w->said, first.said, sizeof(w->said));
	return err;
}

/* What the threads of the process share. */
static int find_shared(struct why_run *w, const struct why_options *o, struct pugmark_diag *diag)
{
	struct families families;
	uint32_t n, *tasks = NULL;
	int err = families_read(o->dir, &families, diag);
	if (err)
		return err;
	tasks = why_threads_of(value_replay_captures(w->replay), &families, w->task, &n);
	if (!tasks || why_shared_new(w->replay, tasks, n, &w->shared))
		err = fail(o, diag, -ENOMEM, "out of memory");
	families_deinit(&families);
	free(tasks);
	return err;
}

/* In the task that is asked for, or in the first in which it is found. */
static int ask_tasks(struct why_run *w, const struct why_options *o, struct pugmark_diag *diag)
{
	static int (*const ask[])(struct why_run *, const struct why_options *,
				  struct pugmark_diag *) = {
		[WHY_PLACE] = ask_place, [WHY_WRITE] = ask_output, [WHY_OUTPUT] = ask_output,
		[WHY_INPUT] = ask_input, [WHY_END] = ask_end,
	};
	uint32_t n;
	const uint32_t *tasks = captures_tasks(value_replay_captures(w->replay), &n);
	int err = fail(o, diag, -ENOENT,
		       n ? "it has no values of that task (pugmark values lists them)"
			 : "no task has values (record with --level values)");
	if (o->what == WHY_END && n > 1 && !o->task)
		return fail(o, diag, -EINVAL,
			    "there are several tasks: whose last instruction? (--write or --output "
			    "tell what is wrong instead; pugmark why has --task N as well, and "
			    "pugmark values lists them)");
	for (uint32_t i = 0; i < n && err == -ENOENT; i++) {
		if (o->task && tasks[i] != o->task)
			continue;
		close_task(w);
		err = open_task(w, o, tasks[i], diag);
		err = err ? err : ask[o->what](w, o, diag);
	}
	/* Once more, with what it shares with other threads told. */
	if (!err && dep_build_trace(w->build)->n_spans) {
		err = find_shared(w, o, diag);
		close_task(w);
		err = err ? err : open_task(w, o, w->task, diag);
		err = err ? err : ask[o->what](w, o, diag);
	}
	size_t len = strlen(w->said);
	if (!err && n > 1)
		snprintf(w->said + len, sizeof(w->said) - len, ", by task %u", w->task);
	return err;
}

int why_run_init(struct why_run *w, const struct why_options *o, struct pugmark_diag *diag)
{
	*w = (struct why_run){0};
	int err = open_recording(w, o, diag);
	err = err ? err : ask_tasks(w, o, diag);
	err = err ? err : ask_extras(w, o, diag);
	return err || (!o->control && !w->needs_control) ? err : why_run_control(w, o, diag);
}

void why_run_deinit(struct why_run *w)
{
	slice_control_free(w->control);
	close_task(w);
	for (unsigned i = 0; i < w->n_extras; i++)
		free(w->extras[i].defs);
	free(w->extras);
	why_shared_free(w->shared);
	value_names_free(w->names);
	value_replay_free(w->replay);
}

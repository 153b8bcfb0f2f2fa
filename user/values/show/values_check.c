// SPDX-License-Identifier: LGPL-2.1-or-later
/* values_check.c: see values_check.h. */
#include "user/values/show/values_check.h"

#include "offline/replay/replay.h"
#include "user/values/names/value_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The register of that bit (state.h). */
static void register_name(unsigned bit, char *out, size_t size)
{
	static const char *const general[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp",
					      "rsi", "rdi", "r8",  "r9",  "r10", "r11",
					      "r12", "r13", "r14", "r15"};
	static const char *const others[] = {"the flags", "the x87 state",
					     "mxcsr",	  "the direction flag",
					     "mxcsr",	  "registers of AVX-512"};
	if (bit < VALUE_BIT_VEC)
		snprintf(out, size, "%s", general[bit]);
	else if (bit < VALUE_BIT_FLAGS)
		snprintf(out, size, "%cmm%u", bit < VALUE_BIT_HIGH ? 'x' : 'y', bit % 16);
	else
		snprintf(out, size, "%s", others[bit - VALUE_BIT_FLAGS]);
}

static void say_why(const struct value_inexact *e, const struct value_names *names,
		    struct values_why *out)
{
	uint32_t module;
	uint64_t elf = e->ip;
	char reg[32];
	const char *function = names ? value_names_at(names, e->ip, &module, &elf) : NULL;
	int at = snprintf(out->text, sizeof(out->text), "%.100s%s0x%" PRIx64 ": ",
			  function ? function : "", function ? " " : "", elf);
	char *rest = out->text + at;
	size_t room = sizeof(out->text) - (size_t)at;
	register_name(e->reg, reg, sizeof(reg));
	if (e->reason == VALUE_OF_NO_SEMANTICS)
		snprintf(rest, room, "an instruction that is not executed here");
	else if (e->reason == VALUE_OF_FORGOTTEN)
		snprintf(rest, room, "%s, as a call or the start left it", reg);
	else
		snprintf(rest, room, "what it reads in memory");
	out->n = e->n;
	out->ip = e->ip;
	out->unknown = e->quality == VALUE_UNKNOWN;
}

/* Where what is not exact came from, most often. */
static void say_most(struct value_run *run, const struct value_names *names,
		     struct values_task *out)
{
	const struct value_inexacts *all = value_machine_inexacts(value_run_machine(run));
	for (int quality = VALUE_UNKNOWN; quality >= VALUE_ASSUMED; quality--) {
		struct value_inexact most[VALUES_WHY];
		size_t n = value_inexacts_most(all, (uint8_t)quality, most, VALUES_WHY);
		/* What was executed twice, as threads are to look ahead, would be told twice. */
		uint64_t total = quality == VALUE_UNKNOWN ? out->unknown : out->assumed;
		for (size_t i = 0; i < n; i++)
			if (most[i].n <= total)
				say_why(&most[i], names, &out->most[out->n_most++]);
	}
}

/* What was captured is over, and its end is missing. */
static void say_cut(struct values_task *out, bool disk)
{
	const char *why = disk ? "as the disk was full"
			       : "before the recorder did, or a part of it is missing";

	snprintf(out->gap, sizeof(out->gap),
		 "after %" PRIu64 " instructions: what was captured ends there, %s",
		 out->instructions, why);
}

static int check_task(struct value_replay *replay, uint32_t task, const struct value_names *names,
		      bool disk, struct values_task *out, struct pugmark_diag *diag)
{
	struct value_run *run;
	int err = value_run_new(replay, task, &run, diag);

	*out = (struct values_task){.task = task};
	if (err == -ENODATA) { /* it has no start: of what another process has forked, for one */
		snprintf(out->gap, sizeof(out->gap), "%.200s", diag->text);
		return 0;
	}
	if (err)
		return err;
	/* Nobody goes back. */
	value_run_snapshot_every(run, UINT64_MAX / 2);
	enum value_replay_stop stop = value_run_forward(run, UINT64_MAX / 4, NULL);
	out->instructions = value_run_count(run);
	value_machine_inexact(value_run_machine(run), &out->assumed, &out->unknown);
	out->supposed = value_run_supposed(run);
	const struct value_gap *first;
	out->blind = value_run_blind(run, &first);
	if (out->blind)
		snprintf(out->why, sizeof(out->why), "%s, at %" PRIx64, first->text, first->ip);
	say_most(run, names, out);
	out->complete = stop == VALUE_REPLAY_END && captures_ended(value_replay_captures(replay));
	if (stop == VALUE_REPLAY_END && !out->complete)
		say_cut(out, disk);
	if (stop == VALUE_REPLAY_GAP) {
		const struct value_gap *gap = value_run_gap(run);

		snprintf(out->gap, sizeof(out->gap),
			 "after %" PRIu64 " instructions, at %" PRIx64 ", record %" PRIu64 ": %s",
			 gap->count, gap->ip, gap->record, gap->text);
	}
	value_run_free(run);
	return stop == VALUE_REPLAY_NO_MEMORY
		       ? pugmark_diag_set(diag, -ENOMEM, NULL, PUGMARK_NO_OFFSET, "out of memory")
		       : 0;
}

int values_check(const char *dir, struct values_result *out, struct pugmark_diag *diag)
{
	struct values_result r = {.complete = true};
	struct value_replay *replay;
	struct value_names *names = NULL; /* without them places are addresses */
	struct pugmark_diag none;
	int err = value_replay_open(dir, &replay, diag);

	if (err)
		return err;
	if (value_names_open(dir, value_replay_captures(replay), &names, &none))
		names = NULL;
	else
		r.rest = value_names_damage(names);
	r.damaged_bytes = captures_damaged_bytes(value_replay_captures(replay));
	const uint32_t *tasks = captures_tasks(value_replay_captures(replay), &r.n);
	r.tasks = calloc(r.n + 1, sizeof(*r.tasks));
	if (!r.tasks)
		err = pugmark_diag_set(diag, -ENOMEM, NULL, PUGMARK_NO_OFFSET, "out of memory");
	for (uint32_t i = 0; !err && i < r.n; i++) {
		err = check_task(replay, tasks[i], names, r.rest.disk, &r.tasks[i], diag);
		r.instructions += r.tasks[i].instructions;
		r.assumed += r.tasks[i].assumed;
		r.unknown += r.tasks[i].unknown;
		r.supposed += r.tasks[i].supposed;
		r.complete &= r.tasks[i].complete;
	}
	r.complete &= !r.damaged_bytes && !r.rest.captures && !r.rest.meta && !r.rest.events && r.n;
	value_names_free(names);
	value_replay_free(replay);
	if (err)
		values_check_deinit(&r);
	else
		*out = r;
	return err;
}

void values_check_deinit(struct values_result *r)
{
	free(r->tasks);
	*r = (struct values_result){0};
}

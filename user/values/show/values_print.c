// SPDX-License-Identifier: LGPL-2.1-or-later
/* values_print.c: see values_print.h. A task is executed twice: to find where something is, and to
 * look at it there, in order. */
#include "user/values/show/values_print.h"

#include "offline/base/vec.h"
#include "user/cli/printable.h"
#include "user/values/show/value_instances.h"
#include "user/values/show/value_misses.h"
#include "user/values/names/value_names.h"
#include "user/values/names/value_texts.h"
#include "user/values/watch/value_watch.h"
#include "user/values/vars/value_where.h"
#include "user/values/show/values_check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Instances of a task, by whether they are what was asked for. */
struct tally {
	uint32_t task;
	uint64_t of[VALUE_HOLDS_NOT + 1], shown;
	uint64_t shown_assumed; /* of those shown: only assumed values say so */
};

struct printing {
	const struct values_options *options;
	struct value_replay *replay;
	struct value_names *names;
	struct value_where *where; /* NULL: all */
	uint64_t met, known; /* instances of the place; of where the variable is known there */
	VEC(struct tally) unknown; /* that are not told yet */
	bool first;		   /* of a JSON list */
	bool partial;
};

static void print_text(FILE *out, const char *text, bool json)
{
	if (json)
		fputc('"', out);
	printable_print(out, text, json ? PRINT_JSON : PRINT_TEXT);
	if (json)
		fputc('"', out);
}

static int no_task(const struct values_options *o, struct pugmark_diag *diag)
{
	return pugmark_diag_set(diag, -ENOENT, o->dir, PUGMARK_NO_OFFSET,
				"it has no values of a task %u", o->task);
}

static void print_why_json(const struct values_task *t)
{
	fputs(",\"most\":[", stdout);
	for (unsigned i = 0; i < t->n_most; i++) {
		const struct values_why *w = &t->most[i];
		printf("%s{\"quality\":\"%s\",\"instructions\":%" PRIu64 ",\"ip\":\"0x%" PRIx64
		       "\",\"why\":",
		       i ? "," : "", w->unknown ? "unknown" : "assumed", w->n, w->ip);
		print_text(stdout, w->text, true);
		putchar('}');
	}
	putchar(']');
}

static int print_summary(const struct values_options *o, bool *partial, struct pugmark_diag *diag)
{
	struct values_result r;
	int err = values_check(o->dir, &r, diag);

	if (err)
		return err;
	const struct values_task *only = NULL;
	for (uint32_t i = 0; o->task && i < r.n; i++)
		only = r.tasks[i].task == o->task ? &r.tasks[i] : only;
	if (o->task && !only) {
		values_check_deinit(&r);
		return no_task(o, diag);
	}
	bool rest = value_text_rest(r.rest), first = true;
	bool complete = only ? only->complete && !r.damaged_bytes && !rest : r.complete;
	if (o->json)
		printf("{\"complete\":%s,\"tasks\":[", complete ? "true" : "false");
	for (uint32_t i = 0; i < r.n; i++) {
		const struct values_task *t = &r.tasks[i];
		if (only && t != only)
			continue;
		uint64_t inexact = t->assumed + t->unknown + t->supposed;

		if (o->json) {
			printf("%s{\"task\":%u,\"instructions\":%" PRIu64 ",\"exact\":%" PRIu64
			       ",\"assumed\":%" PRIu64 ",\"control_assumed\":%" PRIu64
			       ",\"unknown\":%" PRIu64 ",\"complete\":%s,\"gap\":",
			       first ? "" : ",\n", t->task, t->instructions,
			       t->instructions - inexact, t->assumed, t->supposed, t->unknown,
			       t->complete ? "true" : "false");
			print_text(stdout, t->gap, true);
			print_why_json(t);
			putchar('}');
			first = false;
			continue;
		}
		printf("task %u: %" PRIu64 " instructions, %" PRIu64 " wholly exact, %" PRIu64
		       " with something assumed, %" PRIu64 " unknown; ",
		       t->task, t->instructions, t->instructions - inexact, t->assumed, t->unknown);
		if (t->supposed)
			printf("%" PRIu64 " behind a branch on something assumed; ", t->supposed);
		if (t->complete)
			puts("up to its end");
		else if (*t->gap) {
			fputs("a gap ", stdout);
			print_text(stdout, t->gap, false);
			putchar('\n');
		} else
			puts("not up to its end");
		for (unsigned k = 0; k < t->n_most; k++) {
			printf("  %" PRIu64 " %s at ", t->most[k].n,
			       t->most[k].unknown ? "unknown" : "assumed");
			print_text(stdout, t->most[k].text, false);
			putchar('\n');
		}
	}
	if (o->json)
		printf("],\"damaged_bytes\":%" PRIu64 "}\n", r.damaged_bytes);
	else
		value_text_damage(r.damaged_bytes, r.n, false, &first);
	*partial = !complete;
	values_check_deinit(&r);
	return 0;
}

/* What there is to say of one instance. */
struct seen {
	const struct value_instance *at;
	uint32_t task;
	const char *function; /* borrowed; NULL: none has that place */
	uint64_t elf;	      /* the place's address */
	bool entry;	      /* it is where the function begins */
	/* Arguments or variables, and the result, of which there may be none: as text, and with
	 * their types as JSON. */
	char *args, *result, *members, *returned;
};

static void seen_deinit(struct seen *s)
{
	free(s->args);
	free(s->result);
	free(s->members);
	free(s->returned);
}

/* Its result is read where it has returned. */
static void look_at_result(struct printing *p, struct value_run *run, struct value_vars *vars,
			   struct seen *s)
{
	struct value_machine *m = value_run_machine(run);
	bool known;
	size_t len;
	FILE *out = open_memstream(&s->result, &len);
	if (!out)
		return;
	bool returns = value_text_result(out, vars, s->elf, m);
	fclose(out);
	if (!returns) {
		free(s->result);
		s->result = NULL;
		return;
	}
	if (p->options->json && vars && (out = open_memstream(&s->returned, &len))) {
		value_vars_result(vars, out, s->elf, m, VALUE_AS_JSON, &known);
		fclose(out);
	}
}

/* Fills @s, which starts zeroed but for its place, if it is to be shown (*@shown). */
static int look(struct printing *p, struct value_run *run, struct seen *s, struct tally *tally,
		bool *shown)
{
	struct value_machine *m = value_run_machine(run);
	uint32_t module = 0;
	uint64_t bias = 0;
	size_t len;

	s->function = value_names_at(p->names, s->at->ip, &module, &s->elf);
	s->entry = value_names_is_entry(p->names, s->at->ip);
	struct value_vars *vars = value_names_vars_at(p->names, module, s->elf);
	captures_bias(value_replay_captures(p->replay), module, &bias);
	enum value_holds holds = VALUE_HOLDS;
	if (p->where)
		holds = vars ? value_where_holds(p->where, vars, s->elf, bias, m)
			     : VALUE_HOLDS_UNKNOWN;
	tally->of[holds]++;
	*shown = holds <= VALUE_HOLDS_ASSUMED && tally->shown < p->options->limit;
	if (!*shown)
		return 0;
	tally->shown++;
	tally->shown_assumed += holds == VALUE_HOLDS_ASSUMED;
	FILE *out = open_memstream(&s->args, &len);
	if (!out)
		return -ENOMEM;
	value_text_arguments(out, vars, s->elf, bias, s->entry, m);
	fclose(out);
	if (p->options->json && vars && (out = open_memstream(&s->members, &len))) {
		value_vars_json(vars, out, s->elf, bias, s->entry ? VARS_ARGUMENTS : VARS_ALL, m);
		fclose(out);
	}
	if (!s->entry || s->at->back == VALUE_NEVER)
		return 0;
	int err = value_run_go(run, s->at->back);
	if (!err)
		look_at_result(p, run, vars, s);
	return err;
}

static void print_seen(const struct seen *s)
{
	printf("%u %" PRIu64 " ", s->task, s->at->count);
	print_text(stdout, s->function ? s->function : "?", false);
	if (!s->entry)
		printf(" 0x%" PRIx64 " ", s->elf);
	printf("(%s)", s->args);
	if (s->result)
		printf(" = %s", s->result);
	putchar('\n');
}

static void print_seen_json(const struct seen *s, bool first)
{
	printf("%s{\"task\":%u,\"at\":%" PRIu64 ",\"function\":", first ? "" : ",\n", s->task,
	       s->at->count);
	print_text(stdout, s->function ? s->function : "?", true);
	printf(",\"address\":\"%" PRIx64 "\",\"values\":", s->elf);
	print_text(stdout, s->args, true);
	fputs(",\"result\":", stdout);
	if (s->result)
		print_text(stdout, s->result, true);
	else
		fputs("null", stdout);
	printf(",\"variables\":%s,\"returned\":%s}", s->members ? s->members : "null",
	       s->returned && *s->returned ? s->returned : "null");
}

static int print_instance(struct printing *p, struct value_run *run, const struct value_instance *i,
			  struct tally *tally)
{
	struct seen s = {.at = i, .task = tally->task};
	bool shown = false;
	int err = value_run_go(run, i->count);

	if (!err)
		err = look(p, run, &s, tally, &shown);
	if (!err && shown && p->options->json)
		print_seen_json(&s, p->first);
	else if (!err && shown)
		print_seen(&s);
	p->first &= err || !shown;
	seen_deinit(&s);
	return err;
}

/* How many of what was shown, and of what was not, only assumed values say that of. */
static void tell_assumed(struct printing *p, const struct tally *t)
{
	uint64_t shown = t->shown_assumed, not = t->of[VALUE_HOLDS_NOT_ASSUMED];

	if (!shown && !not )
		return;
	if (p->options->json) {
		printf("%s{\"task\":%" PRIu32 ",\"where_assumed\":%" PRIu64
		       ",\"where_not_assumed\":%" PRIu64 "}",
		       p->first ? "" : ",\n", t->task, shown, not );
		p->first = false;
		return;
	}
	if (shown)
		printf("task %" PRIu32 ": %" PRIu64 " of these by assumed values (--where)\n",
		       t->task, shown);
	if (not )
		printf("task %" PRIu32 ": %" PRIu64
		       " more where it does not hold by assumed values (--where)\n",
		       t->task, not );
}

/* Of some it may be that they are what was asked for. Where nothing is known of any, that is an
 * error and this is not said. */
static void tell_unknown(struct printing *p)
{
	for (uint32_t i = 0; p->known && i < p->unknown.n; i++) {
		const struct tally *t = &p->unknown.at[i];
		uint64_t n = t->of[VALUE_HOLDS_UNKNOWN];
		if (p->options->json)
			printf("%s{\"task\":%" PRIu32 ",\"where_unknown\":%" PRIu64 "}",
			       p->first ? "" : ",\n", t->task, n);
		else
			printf("task %" PRIu32 ": %" PRIu64
			       " more of which nobody knows whether it holds (--where)\n",
			       t->task, n);
		p->first = false;
		p->partial = true;
	}
	if (p->known)
		p->unknown.n = 0;
}

static int print_instances(struct printing *p, uint32_t task, const uint64_t *ips, uint32_t n_ips,
			   struct pugmark_diag *diag)
{
	struct value_instances found;
	struct value_run *run;
	struct tally tally = {.task = task};
	int err = value_run_new(p->replay, task, &run, diag);

	if (err)
		return value_text_no_run(task, err, diag, &p->partial);
	err = value_instances_find(run, ips, n_ips,
				   p->options->where ? UINT64_MAX : p->options->limit, &found);
	/* A task may have ended before its first instruction. */
	if (!err && found.n && value_run_seek(run, 0) != VALUE_REPLAY_LIMIT)
		err = -EIO;
	p->met += err ? 0 : found.n;
	for (uint64_t i = 0; !err && i < found.n; i++)
		err = print_instance(p, run, &found.at[i], &tally);
	if (tally.of[VALUE_HOLDS_UNKNOWN] && !VEC_PUSH(&p->unknown, tally))
		err = -ENOMEM;
	if (!err) {
		uint64_t is = tally.of[VALUE_HOLDS] + tally.of[VALUE_HOLDS_ASSUMED];

		p->known += found.n - tally.of[VALUE_HOLDS_UNKNOWN];
		p->partial |= found.stop == VALUE_REPLAY_GAP;
		tell_assumed(p, &tally);
		tell_unknown(p);
		value_text_more(task, found.total - found.n + is - tally.shown, p->options->json,
				&p->first);
		if (found.stop == VALUE_REPLAY_GAP)
			value_text_gap(task, found.end, value_run_gap(run), p->options->json,
				       &p->first);
		value_instances_deinit(&found);
	}
	value_run_free(run);
	return err ? pugmark_diag_set(diag, err, p->options->dir, PUGMARK_NO_OFFSET, "%s",
				      strerror(-err))
		   : 0;
}

/* What was asked for and is not there. */
static int check_found(const struct printing *p, bool task, struct pugmark_diag *diag)
{
	const struct values_options *o = p->options;

	if (!task)
		return no_task(o, diag);
	if (o->where && p->met && !p->known)
		return pugmark_diag_set(diag, -ENOENT, o->where, PUGMARK_NO_OFFSET,
					"there is no variable of that name at %s, no such "
					"enumerator, or nothing is known of it there",
					o->place);
	if (o->where && p->known && p->first) {
		fputs("pugmark: ", stderr);
		print_text(stderr, o->where, false);
		fprintf(stderr, ": it does not hold at any of the %" PRIu64 " times that ", p->met);
		print_text(stderr, o->place, false);
		fputs(" was reached\n", stderr);
	}
	if (o->watch && p->first) {
		fputs("pugmark: ", stderr);
		print_text(stderr, o->watch, false);
		fputs(": no instruction and no call out that is known has read or written it\n",
		      stderr);
	}
	if (o->place && !p->met && !p->partial && !o->json) {
		print_text(stdout, o->place, false);
		puts(" was not executed");
	}
	return 0;
}

static int print_each(struct printing *p, struct pugmark_diag *diag)
{
	const struct values_options *o = p->options;
	uint32_t n_tasks, n_ips = 0;
	uint64_t *ips = NULL;
	int err = o->where ? value_where_parse(o->where, &p->where, diag) : 0;

	if (!err && o->place)
		err = value_names_find(p->names, o->place, &ips, &n_ips, diag);
	if (!err && o->place)
		value_names_tell_entries(p->names, o->place);
	const uint32_t *tasks = captures_tasks(value_replay_captures(p->replay), &n_tasks);
	if (!err && o->json)
		puts("[");
	bool task = !o->task;
	for (uint32_t i = 0; !err && i < n_tasks; i++) {
		if (o->task && tasks[i] != o->task)
			continue;
		task = true;
		if (o->place)
			err = print_instances(p, tasks[i], ips, n_ips, diag);
		else if (o->misses)
			err = value_misses_print(p->replay, p->names, tasks[i], o, &p->first,
						 &p->partial, diag);
		else
			err = value_watch_print(p->replay, p->names, tasks[i], o, &p->first,
						&p->partial, diag);
	}
	if (!err)
		p->partial |=
			value_text_damage(captures_damaged_bytes(value_replay_captures(p->replay)),
					  n_tasks, o->json, &p->first);
	if (!err && o->json)
		puts("]");
	if (!err)
		err = check_found(p, task, diag);
	free(ips);
	return err;
}

int values_print(const struct values_options *options, struct pugmark_diag *diag)
{
	struct printing p = {.options = options, .first = true};
	int err;

	if (!options->place && !options->watch && !options->misses) {
		err = print_summary(options, &p.partial, diag);
		return err ? err : p.partial;
	}
	err = value_replay_open(options->dir, &p.replay, diag);
	if (!err)
		err = value_names_open(options->dir, value_replay_captures(p.replay), &p.names,
				       diag);
	if (!err) {
		p.partial = value_text_rest(value_names_damage(p.names));
		value_names_tell_stale(p.names);
	}
	if (!err)
		err = print_each(&p, diag);
	VEC_FREE(&p.unknown);
	value_where_free(p.where);
	value_names_free(p.names);
	value_replay_free(p.replay);
	return err ? err : p.partial;
}

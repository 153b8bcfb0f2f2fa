// SPDX-License-Identifier: LGPL-2.1-or-later
/* values_calls.c: see values_calls.h. A task is executed twice, forward both times: to find where
 * its calls begin and end, and to look at each of these moments in their order. */
#include "user/values/show/values_calls.h"

#include "user/cli/printable.h"
#include "user/values/show/value_instances.h"
#include "user/values/names/value_names.h"
#include "user/values/names/value_texts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where a call begins, or is over. */
struct moment {
	uint64_t count; /* instructions before it */
	uint64_t call;	/* index of the instance */
	bool over;
};

struct texts {
	char *arguments, *result; /* NULL: not known */
	char *variables,
		*returned; /* the same as JSON, where that is asked for and DWARF is there */
};

struct calls {
	struct value_replay *replay;
	struct value_names *names;
	bool json, first, partial;
};

static int by_time(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;
	return x->count != y->count ? (x->count < y->count ? -1 : 1) : (int)y->over - (int)x->over;
}

static struct moment *moments_of(const struct value_instances *found, uint64_t *n)
{
	struct moment *m = malloc((2 * found->n + 1) * sizeof(*m));

	*n = 0;
	for (uint64_t i = 0; m && i < found->n; i++) {
		m[(*n)++] = (struct moment){found->at[i].count, i, false};
		if (found->at[i].back != VALUE_NEVER)
			m[(*n)++] = (struct moment){found->at[i].back, i, true};
	}
	if (m && *n)
		qsort(m, *n, sizeof(*m), by_time);
	return m;
}

/* Out of memory there is none. */
static void look_for_json(struct value_vars *vars, struct value_machine *m, uint64_t elf,
			  uint64_t bias, bool over, struct texts *texts)
{
	char **text = over ? &texts->returned : &texts->variables;
	size_t len;
	bool known = true;
	FILE *out = open_memstream(text, &len);

	if (out && over)
		value_vars_result(vars, out, elf, m, VALUE_AS_JSON, &known);
	else if (out)
		value_vars_json(vars, out, elf, bias, VARS_ARGUMENTS, m);
	if (out)
		fclose(out);
	if (!known) {
		free(*text);
		*text = NULL;
	}
}

/* The run stands at @moment of the call. 0 or -ENOMEM. */
static int look(struct calls *c, struct value_run *run, const struct value_instance *call,
		const struct moment *moment, struct texts *texts)
{
	uint32_t module = 0;
	uint64_t elf = 0, bias = 0;
	bool returns = true;
	char *text = NULL;
	size_t len;

	value_names_at(c->names, call->ip, &module, &elf);
	captures_bias(value_replay_captures(c->replay), module, &bias);
	FILE *out = open_memstream(&text, &len);
	if (!out)
		return -ENOMEM;
	struct value_vars *vars = value_names_vars_at(c->names, module, elf);
	struct value_machine *m = value_run_machine(run);
	if (moment->over)
		returns = value_text_result(out, vars, elf, m);
	else
		value_text_arguments(out, vars, elf, bias, true, m);
	fclose(out);
	if (c->json && vars && returns)
		look_for_json(vars, m, elf, bias, moment->over, texts);
	if (!moment->over)
		texts->arguments = text;
	else if (returns)
		texts->result = text;
	else
		free(text);
	return 0;
}

static int look_at_all(struct calls *c, struct value_run *run, const struct value_instances *found,
		       struct texts *texts)
{
	uint64_t n;
	struct moment *moments = moments_of(found, &n);
	int err = moments ? 0 : -ENOMEM;

	for (uint64_t i = 0; !err && i < n; i++) {
		const struct moment *m = &moments[i];

		err = value_run_go(run, m->count);
		if (!err)
			err = look(c, run, &found->at[m->call], m, &texts[m->call]);
	}
	free(moments);
	return err;
}

static void print_call(struct calls *c, uint32_t task, const struct value_instance *call,
		       uint32_t depth, const struct texts *texts)
{
	uint32_t module;
	uint64_t elf = 0;
	const char *name = value_names_at(c->names, call->ip, &module, &elf);

	if (c->json) {
		printf("%s{\"task\":%u,\"at\":%" PRIu64 ",\"depth\":%u,\"address\":\"%" PRIx64
		       "\",\"function\":",
		       c->first ? "" : ",\n", task, call->count, depth, elf);
		printable_json(stdout, name);
		fputs(",\"values\":", stdout);
		printable_json(stdout, texts->arguments);
		fputs(",\"result\":", stdout);
		printable_json(stdout, texts->result);
		printf(",\"variables\":%s,\"returned\":%s}",
		       texts->variables ? texts->variables : "null",
		       texts->returned ? texts->returned : "null");
		c->first = false;
		return;
	}
	printf("%u %" PRIu64 " %*s", task, call->count, (int)(2 * depth), "");
	printable_print(stdout, name ? name : "?", PRINT_TEXT);
	printf("(%s)", texts->arguments ? texts->arguments : "?");
	if (texts->result)
		printf(" = %s", texts->result);
	putchar('\n');
}

/* Calls that are open at the outermost one are of what is not traced. */
static uint32_t outermost(const struct value_instances *found)
{
	uint32_t depth = UINT32_MAX;

	for (uint64_t i = 0; i < found->n; i++)
		depth = found->at[i].depth < depth ? found->at[i].depth : depth;
	return depth;
}

static int print_found(struct calls *c, struct value_run *run, uint32_t task,
		       const struct value_instances *found)
{
	struct texts *texts = calloc(found->n + 1, sizeof(*texts));
	uint32_t least = outermost(found);
	int err = texts ? look_at_all(c, run, found, texts) : -ENOMEM;

	for (uint64_t i = 0; !err && i < found->n; i++)
		print_call(c, task, &found->at[i], found->at[i].depth - least, &texts[i]);
	for (uint64_t i = 0; texts && i < found->n; i++) {
		free(texts[i].arguments);
		free(texts[i].result);
		free(texts[i].variables);
		free(texts[i].returned);
	}
	free(texts);
	return err;
}

static int print_task(struct calls *c, uint32_t task, const uint64_t *ips, uint32_t n_ips,
		      struct pugmark_diag *diag)
{
	struct value_instances found;
	struct value_run *run;
	int err = value_run_new(c->replay, task, &run, diag);

	if (err)
		return value_text_no_run(task, err, diag, &c->partial);
	err = value_instances_find(run, ips, n_ips, UINT64_MAX, &found);
	if (!err) {
		/* What ended it is asked for before it is executed again. */
		const struct value_gap gap = *value_run_gap(run);

		err = print_found(c, run, task, &found);
		c->partial |= found.stop == VALUE_REPLAY_GAP;
		if (!err && found.stop == VALUE_REPLAY_GAP)
			value_text_gap(task, found.end, &gap, c->json, &c->first);
		value_instances_deinit(&found);
	}
	value_run_free(run);
	return err ? pugmark_diag_set(diag, err, NULL, PUGMARK_NO_OFFSET, "%s", strerror(-err)) : 0;
}

int values_calls_print(const char *dir, bool json, struct pugmark_diag *diag)
{
	struct calls c = {.json = json, .first = true};
	uint64_t *ips = NULL;
	uint32_t n_ips = 0, n_tasks = 0;
	int err = value_replay_open(dir, &c.replay, diag);

	err = err ? err : value_names_open(dir, value_replay_captures(c.replay), &c.names, diag);
	if (!err)
		c.partial = value_text_rest(value_names_damage(c.names));
	if (!err && value_names_entries(c.names, &ips, &n_ips))
		err = pugmark_diag_set(diag, -ENOMEM, dir, PUGMARK_NO_OFFSET, "out of memory");
	if (!err && json)
		puts("[");
	const uint32_t *tasks =
		err ? NULL : captures_tasks(value_replay_captures(c.replay), &n_tasks);
	for (uint32_t i = 0; !err && i < n_tasks; i++)
		err = print_task(&c, tasks[i], ips, n_ips, diag);
	if (!err)
		c.partial |=
			value_text_damage(captures_damaged_bytes(value_replay_captures(c.replay)),
					  n_tasks, json, &c.first);
	if (!err && json)
		puts("]");
	free(ips);
	value_names_free(c.names);
	value_replay_free(c.replay);
	return err ? err : c.partial;
}

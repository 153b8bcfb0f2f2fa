// SPDX-License-Identifier: LGPL-2.1-or-later
/* record_reads.c: see record_reads.h. */
#include "user/record/ask/record_reads.h"

#include "user/file/arg_types.h"
#include "user/plan/handles.h"

#include "user/cli/command.h"
#include "user/cli/patterns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct record_reads {
	struct handle handles[OPTION_LIST_MAX];
	uint32_t n_handles;
	struct planning_reads *rows;
	uint32_t n;
	struct patterns outs; /* functions that give handles out through pointers */
	uint8_t *outs_args;   /* through which of their arguments, for each of these */
	struct arg_types *types[RECORD_MODULES_MAX];
	char *types_json[RECORD_MODULES_MAX];
};

/* What is to be read for a handle; how many arguments are tells the last that one of them is. */
static uint8_t reads_of(const struct handle_row *row)
{
	uint8_t n = row->arg;
	for (uint8_t i = n; i < ARG_REGISTERS; i++)
		if (row->outs >> i & 1)
			n = i + 1;
	return n | (row->returns ? PUGMARK_READS_RESULT : 0) |
	       (row->outs ? PUGMARK_READS_RESULT | PUGMARK_READS_OUT : 0);
}

static int add_handle(struct record_reads *r, const struct handle *h, struct pugmark_diag *diag)
{
	int err = 0;
	for (uint32_t i = 0; i < h->n_rows && !err; i++) {
		const struct handle_row *row = &h->rows[i];
		r->rows[r->n++] = (struct planning_reads){
			.pattern = row->pattern, .what = reads_of(row), .optional = true};
		if (!row->outs)
			continue;
		r->outs_args[r->outs.n] = row->outs;
		err = patterns_add(&r->outs, row->pattern, diag);
	}
	return err;
}

/* Of all rows that match: handles of several kinds may be asked for. */
static uint8_t outs_of(const void *ctx, const char *function)
{
	const struct record_reads *r = ctx;
	bool seen[r->outs.n + 1];
	uint8_t outs = 0;
	memset(seen, 0, sizeof(seen));
	patterns_match(&r->outs, function, seen);
	for (uint32_t i = 0; i < r->outs.n; i++)
		outs |= seen[i] ? r->outs_args[i] : 0;
	return outs;
}

static int add_args(struct record_args *a, struct record_reads *r, struct pugmark_diag *diag)
{
	uint32_t n_rows = a->args_of.n + a->time_of.n + 1;
	for (uint32_t i = 0; i < r->n_handles; i++)
		n_rows += r->handles[i].n_rows;
	int err = 0;
	r->rows = calloc(n_rows, sizeof(*r->rows));
	r->outs_args = calloc(n_rows, sizeof(*r->outs_args));
	if (!r->rows || !r->outs_args)
		return pugmark_diag_set(diag, -ENOMEM, NULL, PUGMARK_NO_OFFSET, "out of memory");
	uint8_t n_args = a->n_args ? (uint8_t)a->n_args : ARG_REGISTERS;
	for (uint32_t i = 0; i < a->args_of.n; i++)
		r->rows[r->n++] = (struct planning_reads){a->args_of.at[i], n_args, false};
	if (a->n_args && !a->args_of.n)
		r->rows[r->n++] = (struct planning_reads){"*", a->n_args, true};
	for (uint32_t i = 0; i < a->time_of.n; i++)
		r->rows[r->n++] =
			(struct planning_reads){a->time_of.at[i], PUGMARK_READS_TIME, false};
	for (uint32_t i = 0; i < r->n_handles && !err; i++)
		err = add_handle(r, &r->handles[i], diag);
	a->planning.reads = r->rows;
	a->planning.n_reads = r->n;
	a->options.outs = outs_of;
	a->options.outs_ctx = r;
	return err;
}

int record_reads_make(struct record_args *a, struct record_reads **out, struct pugmark_diag *diag)
{
	*out = NULL;
	if (!a->n_args && !a->args_of.n && !a->handles.n && !a->time_of.n)
		return 0;
	struct record_reads *r = calloc(1, sizeof(*r));
	int err = r ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < a->handles.n && !err; i++) {
		err = handle_read(a->handles.at[i], &r->handles[i], diag);
		r->n_handles += !err;
	}
	if (!err)
		err = add_args(a, r, diag);
	if (err)
		record_reads_free(r);
	else
		*out = r;
	return err;
}

/* ---- types ---- */

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

/* The functions, here and imported, whose arguments the sites of @mod read. */
static int find_wanted(const struct recorder_module *mod, uint64_t **addrs, const char ***imports,
		       struct arg_wanted *out)
{
	const struct pugmark_plan *plan = mod->plan;
	*addrs = calloc(mod->n_sites + 1, sizeof(**addrs));
	*imports = calloc(plan->n_nodes + 1, sizeof(**imports));
	if (!*addrs || !*imports)
		return -ENOMEM;
	uint32_t n = 0, n_imports = 0;
	for (uint32_t i = 0; i < mod->n_sites; i++)
		if (mod->sites[i].reads & PUGMARK_READS_ARGS &&
		    !(mod->sites[i].reads & PUGMARK_READS_CALL))
			(*addrs)[n++] = plan->funcs[mod->sites[i].func].addr;
	for (uint32_t i = 1; i < plan->n_nodes; i++) {
		const struct pugmark_plan_node *node = &plan->nodes[i];
		if (node->site < mod->n_sites && node->import &&
		    mod->sites[node->site].reads & PUGMARK_READS_CALL)
			(*imports)[n_imports++] = plan->strings + node->import;
	}
	qsort(*addrs, n, sizeof(**addrs), by_number);
	*out = (struct arg_wanted){*addrs, n, *imports, n_imports};
	return 0;
}

static int find_types(struct record_reads *r, struct recorder_module *mod, uint32_t m, bool quiet,
		      struct pugmark_diag *diag)
{
	uint64_t *addrs = NULL;
	const char **imports = NULL;
	struct arg_wanted wanted;
	int err = find_wanted(mod, &addrs, &imports, &wanted);
	if (!err && wanted.n_addrs + wanted.n_imports)
		err = arg_types_find(mod->path, &wanted, &r->types_json[m], diag);
	const char *json = r->types_json[m];
	if (!err && json && !arg_types_parse(json, strlen(json), &r->types[m])) {
		mod->arg_types = r->types[m];
		mod->arg_types_json = json;
	} else if (!err && !quiet && wanted.n_addrs + wanted.n_imports) {
		command_say(stderr, "pugmark: note: ", mod->name ? mod->name : mod->path,
			    ": no debug information says of which types arguments are: they are "
			    "read as numbers\n");
	}
	free(addrs);
	free(imports);
	return err;
}

int record_reads_types(const struct record_args *a, struct record_reads *r,
		       struct record_modules *modules, struct pugmark_diag *diag)
{
	int err = 0;
	if (!r || (!a->args_of.n && !a->n_args))
		return 0;
	for (uint32_t m = 0; !err && m < modules->n; m++)
		if (modules->at[m].plan)
			err = find_types(r, &modules->at[m], m, a->options.quiet, diag);
	return err;
}

void record_reads_free(struct record_reads *r)
{
	if (!r)
		return;
	for (uint32_t m = 0; m < RECORD_MODULES_MAX; m++) {
		arg_types_free(r->types[m]);
		free(r->types_json[m]);
	}
	for (uint32_t i = 0; i < r->n_handles; i++)
		handle_deinit(&r->handles[i]);
	patterns_deinit(&r->outs);
	free(r->outs_args);
	free(r->rows);
	free(r);
}

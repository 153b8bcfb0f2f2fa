// SPDX-License-Identifier: LGPL-2.1-or-later
/* spread_task.c: one task of a job of `switch`, on its node. See spread.h. */
#include "user/switch/spread.h"

#include "offline/base/open_regular.h"
#include "offline/base/whole_file.h"
#include "user/cluster/node.h"
#include "user/switch/tries.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Slurm takes the job back: the runs end, and what was taken here is removed. */
static volatile int stopped;

static void stop(int signal)
{
	stopped = signal;
}

struct task {
	struct cluster_node node;
	uint32_t number;
	uint64_t numbers[SPREAD_NUMBERS];
	struct outcome *outcome;
	struct candidates candidates; /* of this task */
	VEC(size_t) whose;	      /* their numbers in the job */
};

static int no_memory(struct pugmark_diag *diag)
{
	return pugmark_diag_set(diag, -ENOMEM, NULL, PUGMARK_NO_OFFSET, "out of memory");
}

static void take_number(struct task *t, const char *value)
{
	char name[16];
	uint64_t n;
	if (sscanf(value, "%15s %" SCNu64, name, &n) != 2)
		return;
	for (int i = 0; i < SPREAD_NUMBERS; i++)
		if (!strcmp(name, spread_names[i]))
			t->numbers[i] = n;
}

/* @value: sum and text of a condition that names a file. */
static int take_condition(struct task *t, const char *value, struct pugmark_diag *diag)
{
	char name[32], *text;
	snprintf(name, sizeof(name), "wanted-%zu", outcome_count(t->outcome));
	int err = cluster_node_take(&t->node, value, ".", name, 0600, diag);
	if (err)
		return err;
	if (asprintf(&text, "%s%s/%s", value + STAGED_SUM, t->node.own, name) < 0)
		return no_memory(diag);
	err = outcome_add(t->outcome, text, diag);
	free(text);
	return err;
}

static int take_try(struct task *t, const char *value, struct pugmark_diag *diag)
{
	struct candidate c = {0};
	size_t number;
	int end = 0;
	if (sscanf(value, "%zu %" SCNu64 " %" SCNu64 " %" SCNu64 " %n", &number, &c.jump.elf,
		   &c.jump.time, &c.jump.entry, &end) != 4 ||
	    !end)
		return pugmark_diag_set(diag, -EBADMSG, value, PUGMARK_NO_OFFSET, "no try");
	if (number % t->numbers[SPREAD_MACHINES] != t->number - 1)
		return 0;
	c.jump.library = value[end] ? value + end : NULL;
	c.ip = c.jump.elf;
	return VEC_PUSH(&t->candidates, c) && VEC_PUSH(&t->whose, number) ? 0 : no_memory(diag);
}

static int take_list(struct task *t, struct pugmark_diag *diag)
{
	int err = 0;
	for (const char *key = NULL; !err && (key = staged_next(&t->node.list, key));) {
		const char *value = staged_value(key);
		if (!strcmp(key, "number"))
			take_number(t, value);
		else if (!strcmp(key, "condition"))
			err = outcome_add(t->outcome, value, diag);
		else if (!strcmp(key, "condition-file"))
			err = take_condition(t, value, diag);
		else if (!strcmp(key, "try") && t->numbers[SPREAD_MACHINES])
			err = take_try(t, value, diag);
	}
	return err;
}

/* Another task has found one that comes before. */
static bool is_useless(void *ctx, size_t candidate)
{
	const struct task *t = ctx;
	for (uint32_t k = 1; k <= t->numbers[SPREAD_MACHINES] && !t->numbers[SPREAD_ALL]; k++) {
		char *path;
		size_t found = SIZE_MAX;
		if (asprintf(&path, "%s/found-%u", t->node.folder, k) < 0)
			return false;
		FILE *f = open_regular_stream(path);
		free(path);
		if (f && fscanf(f, "%zu", &found) != 1)
			found = SIZE_MAX;
		if (f)
			fclose(f);
		if (found < t->whose.at[candidate])
			return true;
	}
	return false;
}

static int leave(const struct task *t, const char *name, const char *text, size_t len,
		 struct pugmark_diag *diag)
{
	char *path;
	if (asprintf(&path, "%s/%s-%u", t->node.folder, name, t->number) < 0)
		return no_memory(diag);
	int err = whole_file_write(path, text, len);
	if (err)
		pugmark_diag_set(diag, err, path, PUGMARK_NO_OFFSET, "cannot write it: %s",
				 strerror(-err));
	free(path);
	return err;
}

static void print_critical(FILE *f, const struct task *t, const struct critical *k, bool holds)
{
	fprintf(f, "%zu %" PRIu64 " %d %d\n", t->whose.at[k->candidate], k->right, k->was_taken,
		holds);
}

static int leave_result(const struct task *t, const struct tries *tries, struct pugmark_diag *diag)
{
	char *text = NULL, first[32];
	size_t len = 0, lowest = SIZE_MAX;
	int err = 0;
	FILE *f = open_memstream(&text, &len);
	if (!f)
		return no_memory(diag);
	fprintf(f, "%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", tries->done, tries->too_long,
		tries->unturned);
	for (uint32_t i = 0; i < tries->found.n; i++) {
		size_t number = t->whose.at[tries->found.at[i].candidate];
		lowest = number < lowest ? number : lowest;
		print_critical(f, t, &tries->found.at[i], true);
	}
	for (uint32_t i = 0; i < tries->closer.n; i++)
		print_critical(f, t, &tries->closer.at[i], false);
	if (fclose(f))
		err = no_memory(diag);
	snprintf(first, sizeof(first), "%zu\n", lowest);
	if (!err && lowest != SIZE_MAX)
		err = leave(t, "found", first, strlen(first), diag);
	err = err ? err : leave(t, "result", text, len, diag);
	free(text);
	return err;
}

static int make_tries(struct task *t, struct pugmark_diag *diag)
{
	char *input = NULL;
	if (asprintf(&input, "%s/stdin", t->node.own) < 0)
		return no_memory(diag);
	struct switch_options o = {
		.all = t->numbers[SPREAD_ALL],
		.tries = t->candidates.n,
		.jobs = t->numbers[SPREAD_JOBS],
		.right = t->numbers[SPREAD_RIGHT],
		.outcome = t->outcome,
		.command = {.argv = t->node.command,
			    .input = t->node.has_input ? open(input, O_RDONLY | O_CLOEXEC) : -1,
			    .seconds = t->numbers[SPREAD_SECONDS],
			    .memory_bytes = t->numbers[SPREAD_MEMORY]},
	};
	struct tries tries = {
		.o = &o, .c = &t->candidates, .is_useless = is_useless, .ctx = t, .stop = &stopped};
	environ = t->node.environ;
	int err = tries_by_running(&tries, diag);
	err = err ? err : leave_result(t, &tries, diag);
	if (o.command.input >= 0)
		close(o.command.input);
	VEC_FREE(&tries.found);
	VEC_FREE(&tries.closer);
	free(input);
	return err;
}

int switch_task(const char *folder, const char *sum, uint32_t number, struct pugmark_diag *diag)
{
	struct task t = {.number = number};
	struct sigaction catching = {.sa_handler = stop};
	char **own = environ;
	sigaction(SIGTERM, &catching, NULL);
	int err = outcome_new(&t.outcome) ? no_memory(diag) : 0;
	err = err ? err : cluster_node_open(folder, sum, &t.node, diag);
	err = err ? err : take_list(&t, diag);
	err = err ? err : make_tries(&t, diag);
	environ = own;
	int left = cluster_node_close(&t.node);
	outcome_free(t.outcome);
	candidates_deinit(&t.candidates);
	VEC_FREE(&t.whose);
	return err ? err : left;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* served.c: whether what a recorded server has sent, as its replay computes it, is what a client
 * has received.
 *
 *   served DIR FILE
 *
 * FILE is what one connection has brought the client. What a replay of the tasks of DIR finds in
 * memory at each call that writes to a descriptor, one behind the other, must hold it whole. Prints
 * the descriptor and the number of bytes; status 1: no descriptor was written that. */
#include "offline/replay/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FDS = 1024 };

static uint8_t *whole(const char *path, size_t *len)
{
	FILE *f = fopen(path, "rb");
	uint8_t *bytes = malloc(1 << 26);
	if (!f || !bytes)
		exit(2);
	*len = fread(bytes, 1, 1 << 26, f);
	fclose(f);
	return bytes;
}

struct text {
	uint8_t *at;
	size_t n, inexact;
};

/* At a write of @len bytes from @addr on: what the replay has there. */
static void take(struct text *t, struct value_run *run, uint64_t addr, uint64_t len)
{
	struct value_memory *memory = value_machine_memory(value_run_machine(run));
	uint8_t quality;
	t->at = realloc(t->at, t->n + len);
	if (!t->at)
		exit(2);
	for (uint64_t i = 0; i < len; i++) {
		if (value_memory_read(memory, addr + i, t->at + t->n + i, 1, &quality))
			quality = VALUE_UNKNOWN;
		t->inexact += quality != VALUE_EXACT;
	}
	t->n += len;
}

static void crossing(void *ctx, struct value_run *run, enum value_crossing what,
		     const struct capture *c, const char *import)
{
	enum { SYS_WRITE = 1, SYS_WRITEV = 20, SYS_SENDTO = 44 };
	struct text *texts = ctx;
	(void)import;
	if (what != VALUE_CROSSING_KERNEL || !c || c->result <= 0 || c->args[0] >= FDS)
		return;
	struct text *t = &texts[c->args[0]];
	if (c->nr == SYS_WRITE || c->nr == SYS_SENDTO)
		take(t, run, c->args[1], c->result);
	uint64_t left = c->nr == SYS_WRITEV ? c->result : 0;
	for (uint64_t i = 0; left && i < c->args[2]; i++) {
		uint64_t part[2]; /* struct iovec */
		if (value_memory_read(value_machine_memory(value_run_machine(run)),
				      c->args[1] + 16 * i, part, 16, NULL))
			return;
		part[1] = part[1] < left ? part[1] : left;
		take(t, run, part[0], part[1]);
		left -= part[1];
	}
}

/* Whether the task has sent @len @bytes, more than none. */
static bool sent(struct value_replay *replay, uint32_t task, const uint8_t *bytes, size_t len)
{
	struct pugmark_diag diag;
	struct value_run *run;
	struct text *texts = calloc(FDS, sizeof(*texts));
	bool found = false;
	if (!texts || value_run_new(replay, task, &run, &diag))
		return false;
	value_run_crossings(run, crossing, texts);
	value_run_forward(run, UINT64_MAX / 4, NULL);
	for (int fd = 0; fd < FDS; fd++) {
		const struct text *t = &texts[fd];
		if (!found && t->n >= len && memmem(t->at, t->n, bytes, len)) {
			printf("task %u, descriptor %d: %zu bytes, of all that it sent %zu not "
			       "exact; "
			       "%lu instructions\n",
			       task, fd, len, t->inexact, (unsigned long)value_run_count(run));
			found = true;
		}
		free(t->at);
	}
	free(texts);
	value_run_free(run);
	return found;
}

int main(int argc, char **argv)
{
	struct pugmark_diag diag;
	struct value_replay *replay;
	size_t len;
	uint32_t n;
	if (argc != 3)
		return 2;
	uint8_t *bytes = whole(argv[2], &len);
	if (value_replay_open(argv[1], &replay, &diag)) {
		fprintf(stderr, "%s: %s\n", diag.file, diag.text);
		return 2;
	}
	const uint32_t *tasks = captures_tasks(value_replay_captures(replay), &n);
	bool found = false;
	for (uint32_t i = 0; i < n && !found && len; i++)
		found = sent(replay, tasks[i], bytes, len);
	if (!found)
		printf("%zu bytes were received that no replay has sent\n", len);
	value_replay_free(replay);
	free(bytes);
	return !found;
}

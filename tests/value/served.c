// SPDX-License-Identifier: LGPL-2.1-or-later
/* served.c: whether what a recorded server has sent, as its replay computes it, is what a client
 * has received.
 *
 *   served DIR FILE
 *
 * FILE is what one connection has brought the client. What replays of all tasks of DIR find in
 * memory at each call that writes to a descriptor, in the order of these calls, must hold it whole.
 * Prints the descriptor and the number of bytes; status 1: no descriptor was written that. */
#include "offline/replay/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* What one call has sent. */
struct piece {
	uint64_t order;
	size_t number; /* of that call's pieces the earlier has the lower one */
	int fd;
	size_t n, inexact;
	uint8_t *at;
};

struct pieces {
	struct piece *at;
	size_t n;
};

/* At a write of @len bytes from @addr on: what the replay has there. */
static void take(struct pieces *all, struct value_run *run, const struct capture *c, uint64_t addr,
		 uint64_t len)
{
	struct value_memory *memory = value_machine_memory(value_run_machine(run));
	struct piece p = {c->order, all->n, (int)c->args[0], len, 0, malloc(len + 1)};
	uint8_t quality;
	all->at = realloc(all->at, (all->n + 1) * sizeof(*all->at));
	if (!all->at || !p.at)
		exit(2);
	for (uint64_t i = 0; i < len; i++) {
		if (value_memory_read(memory, addr + i, p.at + i, 1, &quality))
			quality = VALUE_UNKNOWN;
		p.inexact += quality != VALUE_EXACT;
	}
	all->at[all->n++] = p;
}

static void crossing(void *ctx, struct value_run *run, enum value_crossing what,
		     const struct capture *c, const char *import)
{
	enum { SYS_WRITE = 1, SYS_WRITEV = 20, SYS_SENDTO = 44 };
	struct pieces *all = ctx;
	(void)import;
	if (what != VALUE_CROSSING_KERNEL || !c || c->result <= 0)
		return;
	if (c->nr == SYS_WRITE || c->nr == SYS_SENDTO)
		take(all, run, c, c->args[1], c->result);
	uint64_t left = c->nr == SYS_WRITEV ? c->result : 0;
	for (uint64_t i = 0; left && i < c->args[2]; i++) {
		uint64_t part[2]; /* struct iovec */
		if (value_memory_read(value_machine_memory(value_run_machine(run)),
				      c->args[1] + 16 * i, part, 16, NULL))
			return;
		part[1] = part[1] < left ? part[1] : left;
		take(all, run, c, part[0], part[1]);
		left -= part[1];
	}
}

static void replay_task(struct value_replay *replay, uint32_t task, struct pieces *all)
{
	struct pugmark_diag diag;
	struct value_run *run;
	if (value_run_new(replay, task, &run, &diag))
		return;
	value_run_crossings(run, crossing, all);
	value_run_forward(run, UINT64_MAX / 4, NULL);
	value_run_free(run);
}

/* By descriptor, and in the order of all tasks; what one call has sent stays as it was sent. */
static int before(const void *a, const void *b)
{
	const struct piece *p = a, *q = b;
	if (p->fd != q->fd)
		return p->fd < q->fd ? -1 : 1;
	if (p->order != q->order)
		return p->order < q->order ? -1 : 1;
	return p->number < q->number ? -1 : 1;
}

/* Whether a descriptor, whose pieces begin at @p, was written @len @bytes; *@next: behind them. */
static bool sent(const struct piece *p, const struct piece *end, const struct piece **next,
		 const uint8_t *bytes, size_t len)
{
	const struct piece *q = p;
	size_t n = 0, inexact = 0, total = 0;
	for (; q < end && q->fd == p->fd; q++) {
		total += q->n;
		inexact += q->inexact;
	}
	*next = q;
	uint8_t *text = malloc(total + 1);
	if (!text)
		exit(2);
	for (q = p; q < *next; n += q++->n)
		memcpy(text + n, q->at, q->n);
	bool found = n >= len && memmem(text, n, bytes, len);
	if (found)
		printf("descriptor %d: %zu bytes, of all that were sent %zu not exact\n", p->fd,
		       len, inexact);
	free(text);
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
	struct pieces all = {0};
	bool found = false;
	for (uint32_t i = 0; i < n; i++)
		replay_task(replay, tasks[i], &all);
	if (all.n)
		qsort(all.at, all.n, sizeof(*all.at), before);
	const struct piece *p = all.at, *end = p + all.n;
	while (p < end && !found && len)
		found = sent(p, end, &p, bytes, len);
	if (!found)
		printf("%zu bytes were received that no replay has sent\n", len);
	for (size_t i = 0; i < all.n; i++)
		free(all.at[i].at);
	free(all.at);
	value_replay_free(replay);
	free(bytes);
	return !found;
}

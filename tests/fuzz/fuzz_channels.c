// SPDX-License-Identifier: LGPL-2.1-or-later
/* fuzz_channels.c: any bytes as the notes of what moved bytes through channels (channels.h), of
 * three tasks. Whatever they say, each question of passages.h is answered, by a write that there
 * is, and soon. */
#include <stdlib.h>

#include "offline/capture/passages.h"
#include "tests/fuzz/must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TASKS = 3, NOTES_MOST = 64, ANSWERS_MOST = 10 * NOTES_MOST * NOTES_MOST };

struct notes {
	struct channel_note at[NOTES_MOST];
	size_t n;
};

struct asked {
	const struct notes *all;
	uint32_t answers;
};

static const struct channel_note *find(const struct notes *all, uint32_t task, uint64_t order,
				       uint8_t what)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->at[i].task == task && all->at[i].order == order && all->at[i].what == what)
			return &all->at[i];
	return NULL;
}

static void look_at(struct asked *a, const struct passage *p)
{
	MUST(p->kind < PASSAGE_KINDS);
	MUST(++a->answers <= ANSWERS_MOST);
	if (p->kind == PASSAGE_FROM)
		MUST(find(a->all, p->task, p->order, CHANNEL_WRITE));
}

static void on_passage(void *ctx, uint32_t task, uint64_t order, uint64_t offset,
		       const struct passage *p)
{
	struct asked *a = ctx;
	const struct channel_note *r = find(a->all, task, order, CHANNEL_READ);
	MUST(r);
	MUST(offset <= INT64_MAX);
	look_at(a, p);
}

static int by_order(const void *a, const void *b)
{
	const struct channel_note *x = a, *y = b;
	return x->order != y->order ? (x->order < y->order ? -1 : 1) : (int)x->what - (int)y->what;
}

static void read_notes(const uint8_t *data, size_t size, struct notes *out)
{
	struct cursor at = {data, data + size};
	struct channel_note last = {0}, note;
	uint8_t task;
	while (out->n < NOTES_MOST && cursor_byte(&at, &task) &&
	       channel_note_get(&at, &last, &note)) {
		last = note;
		note.task = 1 + task % TASKS;
		out->at[out->n++] = note;
	}
	if (out->n)
		qsort(out->at, out->n, sizeof(*out->at), by_order);
}

static void write_back(const struct notes *all)
{
	struct channel_note last = {0}, got;
	struct bytes payload = {0};
	for (size_t i = 0; i < all->n; i++) {
		payload.len = 0;
		channel_note_put(&payload, &last, &all->at[i]);
		struct cursor at = {payload.data, payload.data + payload.len};
		MUST(channel_note_get(&at, &last, &got));
		MUST(got.order == all->at[i].order && got.entered == all->at[i].entered);
		MUST(got.position == all->at[i].position && got.after == all->at[i].after);
		last = got;
	}
	bytes_deinit(&payload);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct family_task tasks[TASKS] = {
		{1, 0, 1, 1, 2, false}, {2, 1, 2, 1, 2, false}, {3, 1, 3, 3, 1, true}};
	const struct families families = {tasks, TASKS};
	static struct notes all;
	struct passages *p;
	all.n = 0;
	read_notes(data, size, &all);
	write_back(&all);
	struct channel_note *taken = malloc((all.n + 1) * sizeof(*taken));
	if (!taken)
		return 0;
	for (size_t i = 0; i < all.n; i++)
		taken[i] = all.at[i];
	if (passages_of(taken, all.n, &families, &p))
		return 0;
	struct asked asked = {&all, 0};
	for (size_t i = 0; i < all.n; i++) {
		const struct channel_note *n = &all.at[i];
		struct passage back = passages_back(p, n->task, n->order, 0, n->bytes | 1);
		look_at(&asked, &back);
		asked.answers = 0;
		passages_on(p, n->task, n->order, on_passage, &asked);
	}
	passages_free(p);
	return 0;
}

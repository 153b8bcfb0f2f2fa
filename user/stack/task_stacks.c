// SPDX-License-Identifier: LGPL-2.1-or-later
/* task_stacks.c: puts the stacks of a task together from what the probes sent of them. */
#include "user/stack/task_stacks.h"

#include "offline/base/sigframe.h"

#include <pugmark/event.h>

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
	STACK_MOST = 1 << 30, /* bytes: so far above a word a frame that it points to may be */
};

void task_stacks_deinit(struct task_stacks *t)
{
	for (unsigned k = 0; k < BATCH_SNAPSHOTS; k++) {
		free(t->snapshots[k]);
		free(t->deeps[k]);
	}
}

void task_stacks_give_back(struct task_stacks *t)
{
	for (unsigned k = 0; k < BATCH_SNAPSHOTS; k++) {
		if (t->snapshots[k] != t->last) {
			free(t->snapshots[k]);
			t->snapshots[k] = NULL;
		}
		free(t->deeps[k]);
		t->deeps[k] = NULL;
	}
}

/* Makes the snapshot from what was sent and from the snapshot before. */
int task_stacks_snapshot(struct task_stacks *t, const struct snapshot *sent, uint32_t bytes)
{
	uint32_t n = sent->n_sent, total = sent->n_words;
	struct snapshot **slot = &t->snapshots[sent->serial % BATCH_SNAPSHOTS], *snap;
	const struct snapshot *old = t->last;

	if (total > SNAPSHOT_WORDS || n > total ||
	    bytes != offsetof(struct snapshot, words) + 8 * n)
		return 0;
	snap = malloc(sizeof(*snap));
	if (!snap)
		return -ENOMEM;
	memcpy(snap, sent, bytes);
	for (uint32_t i = n; i < total; i++) {
		uint64_t at =
			old ? i + (uint64_t)((int64_t)(snap->addr - old->addr) / 8) : UINT64_MAX;

		snap->words[i] = at < SNAPSHOT_WORDS ? old->words[at] : 0;
	}
	/* That value is reserved for words that are not known. */
	for (uint32_t i = 0; i < total; i++)
		snap->words[i] = snap->words[i] == PUGMARK_EVENT_STACK_UNKNOWN ? 0 : snap->words[i];
	free(*slot); /* BATCH_SNAPSHOTS ago, so never the last one */
	t->last = *slot = snap;
	return 0;
}

int task_stacks_deep(struct task_stacks *t, const struct deep_stack *sent, uint32_t bytes)
{
	struct deep_stack **slot = &t->deeps[sent->serial % BATCH_SNAPSHOTS];

	if (bytes < offsetof(struct deep_stack, words) || sent->n > DEEP_MAX ||
	    sent->n_words > DEEP_WORDS ||
	    bytes != offsetof(struct deep_stack, words) + sent->n * sizeof(*sent->words))
		return 0;
	free(*slot);
	*slot = malloc(bytes);
	if (!*slot)
		return -ENOMEM;
	memcpy(*slot, sent, bytes);
	return 0;
}

/* Puts what lies above the snapshot of @e, if anything was sent, behind it. */
static int add_deep(const struct task_stacks *t, uint32_t serial, uint64_t **words,
		    struct pugmark_witness_event *e)
{
	const struct deep_stack *deep = t->deeps[serial % BATCH_SNAPSHOTS];

	if (!deep || deep->serial != serial || deep->n_words <= e->stack_words)
		return 0;
	if (!*words)
		*words = malloc(DEEP_WORDS * sizeof(**words));
	if (!*words)
		return -ENOMEM;
	uint64_t *w = *words;
	memcpy(w, e->stack, e->stack_words * sizeof(*w));
	for (uint32_t i = e->stack_words; i < deep->n_words; i++)
		w[i] = PUGMARK_EVENT_STACK_UNKNOWN;
	for (uint32_t i = 0; i < deep->n; i++) {
		int64_t place = DEEP_PLACE(deep->words[i]);
		if (place >= (int64_t)e->stack_words && place < (int64_t)deep->n_words)
			w[place] = DEEP_VALUE(deep->words[i]);
	}
	e->stack = w;
	e->stack_words = deep->n_words;
	return 0;
}

int task_stacks_tell(const struct task_stacks *t, uint32_t serial, uint64_t **words,
		     struct pugmark_witness_event *e)
{
	const struct snapshot *snap = t->snapshots[serial % BATCH_SNAPSHOTS];

	if (!snap || snap->serial != serial)
		return 0;
	e->stack = (const uint64_t *)snap->words;
	e->stack_addr = snap->addr;
	e->stack_words = snap->n_words;
	return add_deep(t, serial, words, e);
}

/* Whether @word, at @addr, is of no use in looking for calls in progress: it is neither a return
 * address nor a frame pointer. It is data, and stays so as long as the process runs this
 * program. */
static bool is_data(const struct snapshot *s, uint64_t addr, uint64_t word)
{
	bool below = word >= s->addr && word <= addr;
	bool heap = word - s->heap < s->heap_end - s->heap &&
		    s->addr - s->heap >= s->heap_end - s->heap; /* or the stack is there */
	bool args =
		word - s->args < s->args_end - s->args || addr - s->args < s->args_end - s->args;

	return (!pugmark_event_is_address(word) || below || heap || args) &&
	       word != PUGMARK_EVENT_STACK_UNKNOWN && word != PUGMARK_EVENT_STACK_HANDLER;
}

bool task_stacks_may_stay(const struct task_code *code, uint64_t at, uint64_t word)
{
	if (word == PUGMARK_EVENT_STACK_UNKNOWN || word == PUGMARK_EVENT_STACK_HANDLER)
		return true;
	if (code->has && code->has(code, word))
		return true;
	return word > at && word - at < STACK_MOST;
}

/* Whether word @i of a frame that the kernel made for a handler says where that was. */
static bool is_of_place(uint32_t i)
{
	return i <= SIGFRAME_LINK || (i >= SIGFRAME_SP && i <= SIGFRAME_SEGMENTS);
}

int task_stacks_slim(const struct task_stacks *t, uint32_t serial, const struct task_code *only,
		     uint64_t **words, struct pugmark_witness_event *e)
{
	const struct snapshot *snap = t->snapshots[serial % BATCH_SNAPSHOTS];
	uint32_t kept = 0,
		 frame = 0; /* from here to there lies a frame of the kernel's for a handler */

	if (!e->stack || !snap || snap->serial != serial)
		return 0;
	if (!*words)
		*words = malloc(DEEP_WORDS * sizeof(**words));
	if (!*words)
		return -ENOMEM;
	uint64_t *w = *words;
	if (e->stack != w)
		memcpy(w, e->stack, e->stack_words * sizeof(*w));
	for (uint32_t i = 0; i < e->stack_words; i++) {
		uint32_t last = i + SIGFRAME_SEGMENTS;
		uint64_t at = e->stack_addr + 8 * (uint64_t)i;

		if (last < e->stack_words && sigframe_is_user(w[last])) {
			kept = last + 1;
			frame = i;
		}
		if (i < kept && is_of_place(i - frame))
			continue;
		if ((i >= kept && is_data(snap, at, w[i])) ||
		    (only && !task_stacks_may_stay(only, at, w[i])))
			w[i] = 0;
	}
	e->stack = w;
	return 0;
}

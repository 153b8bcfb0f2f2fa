// SPDX-License-Identifier: LGPL-2.1-or-later
/* attach_stack.c: see attach_stack.h. What a process has mapped is read once and kept for its other
 * threads, which have their first event at about the same time. */
#include "user/attach_stack.h"

#include "user/unwind.h"

#include <errno.h>
#include <pugmark/event.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { PROCESSES = 16, SLOTS_MAX = DEEP_WORDS / 2 };

struct attach_stacks {
	struct unwinder *unwinders[PROCESSES];
	uint32_t next; /* to be replaced */
	uint32_t slots[SLOTS_MAX];
};

int stack_copy_add(struct stack_copy **out, const struct attach_stack *piece, uint32_t bytes)
{
	uint32_t n = piece->n_words;
	if (bytes < offsetof(struct attach_stack, words) || n > SNAPSHOT_WORDS ||
	    bytes != offsetof(struct attach_stack, words) + 8 * n)
		return 0;
	struct stack_copy *copy = *out;
	if (!copy) {
		copy = *out = calloc(1, sizeof(*copy));
		if (!copy)
			return -ENOMEM;
		copy->addr = piece->addr;
		copy->ip = piece->ip;
		memcpy(copy->regs, piece->regs, sizeof(copy->regs));
	}
	if (piece->addr != copy->addr + 8 * (uint64_t)copy->n_words ||
	    n > DEEP_WORDS - copy->n_words)
		return 0;
	memcpy(copy->words + copy->n_words, piece->words, 8 * n);
	copy->n_words += n;
	return 0;
}

int attach_stacks_new(const struct recorder_options *options, struct attach_stacks **out)
{
	struct attach_stacks *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	for (uint32_t i = 0; i < options->n_pids && i < PROCESSES; i++)
		if (unwinder_new(options->pids[i], &s->unwinders[i]))
			s->unwinders[i] = NULL;
	*out = s;
	return 0;
}

void attach_stacks_free(struct attach_stacks *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < PROCESSES; i++)
		unwinder_free(s->unwinders[i]);
	free(s);
}

/* @fresh: the process is looked at again. */
static struct unwinder *unwinder_of(struct attach_stacks *s, pid_t pid, bool fresh)
{
	struct unwinder **slot = NULL;
	for (uint32_t i = 0; i < PROCESSES && !slot; i++)
		if (s->unwinders[i] && unwinder_pid(s->unwinders[i]) == pid)
			slot = &s->unwinders[i];
	if (slot && !fresh)
		return *slot;
	if (!slot)
		slot = &s->unwinders[s->next++ % PROCESSES];
	unwinder_free(*slot);
	*slot = NULL;
	return unwinder_new(pid, slot) ? NULL : *slot;
}

bool attach_stacks_reduce(struct attach_stacks *s, pid_t pid, struct stack_copy *copy)
{
	struct unwinder *u = unwinder_of(s, pid, false);
	struct unwind_thread thread = {
		.ip = copy->ip, .addr = copy->addr, .words = copy->words, .n_words = copy->n_words};
	bool complete;
	if (!u)
		return false;
	memcpy(thread.regs, copy->regs, sizeof(thread.regs));
	uint32_t n = unwinder_slots(u, &thread, s->slots, SLOTS_MAX, &complete);
	/* It may have loaded something since it was looked at. */
	if (!complete && (u = unwinder_of(s, pid, true)))
		n = unwinder_slots(u, &thread, s->slots, SLOTS_MAX, &complete);
	if (!n)
		return false;
	for (uint32_t i = 0, k = 0; i < copy->n_words; i++) {
		if (k < n && s->slots[k] == i)
			k++;
		else
			copy->words[i] = EVENT_STACK_UNKNOWN;
	}
	copy->n_words = s->slots[n - 1] + 1;
	if (complete && copy->n_words < DEEP_WORDS)
		copy->words[copy->n_words++] = 0;
	return true;
}

bool attach_stacks_bias(struct attach_stacks *s, pid_t pid, const struct recorder_module *module,
			uint64_t *bias)
{
	struct unwinder *u = unwinder_of(s, pid, false);
	return u && unwinder_bias(u, module, bias);
}

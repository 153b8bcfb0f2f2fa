/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* task_stacks.h: the last stacks of a task, put together from what the probes sent of them, until
 * the events come that they belong to. */
#ifndef USER_TASK_STACKS_H
#define USER_TASK_STACKS_H

#include <pugmark/event.h>

#include <linux/types.h>
#include "bpf/protocol.h"
#include <stdbool.h>
#include <stdint.h>

/* Zeroed to begin with. */
struct task_stacks {
	struct snapshot *snapshots[BATCH_SNAPSHOTS]; /* by serial, modulo */
	const struct snapshot *last;		     /* one of them */
	struct deep_stack *deeps[BATCH_SNAPSHOTS];   /* by serial, modulo; few have any */
};

void task_stacks_deinit(struct task_stacks *t);
/* Forgets all but the last, for the memory: the next is sent as what differs from that. */
void task_stacks_give_back(struct task_stacks *t);
/* Each keeps what was sent, @bytes long, and returns 0 or -ENOMEM; what does not hold together is
 * left out. */
int task_stacks_snapshot(struct task_stacks *t, const struct snapshot *sent, uint32_t bytes);
int task_stacks_deep(struct task_stacks *t, const struct deep_stack *sent, uint32_t bytes);
/* Gives @e the stack with that serial, if there is one, and what is known of the part above it. For
 * that part *@words, DEEP_WORDS of them, is made when needed (the caller frees). The stack is
 * borrowed until the next call with the same @words or @t. Returns 0 or -ENOMEM. */
int task_stacks_tell(const struct task_stacks *t, uint32_t serial, uint64_t **words,
		     struct pugmark_witness_event *e);
/* All that may stay of a stack where words may be secrets: addresses of code, of the stack above,
 * and of what the kernel saved for a handler where that was. */
struct task_code {
	bool (*has)(const struct task_code *code, uint64_t addr); /* NULL: none is known */
};
/* Whether that may stay, of the address @at of the stack. */
bool task_stacks_may_stay(const struct task_code *code, uint64_t at, uint64_t word);
/* Replaces with 0, in a stack that was given, words that are neither addresses of code nor of the
 * stack above. What the kernel saved for a handler stays. @only: NULL, or nothing but that may
 * stay. */
int task_stacks_slim(const struct task_stacks *t, uint32_t serial, const struct task_code *only,
		     uint64_t **words, struct pugmark_witness_event *e);

#endif

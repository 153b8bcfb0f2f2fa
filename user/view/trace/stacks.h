/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* stacks.h: keeps, for code that follows a thread's trace with an array of what is open, the arrays
 * of stacks that the thread has left (PUGMARK_TRACE_SWITCH), by the stack's number. */
#ifndef USER_STACKS_H
#define USER_STACKS_H

#include <stdint.h>

/* An array on the heap, and which of its elements are in use. */
struct stack_array {
	void *at;
	uint32_t n, cap;
};

struct stacks {
	struct kept_stack {
		struct stack_array array;
		uint32_t number;
	} * kept; /* heap */
	uint32_t n, cap;
	uint32_t on; /* the one that the thread is on */
};

/* Keeps @array for the stack that is left, and replaces it with that of the stack @to: empty if
 * that is new. 0, or -ENOMEM with nothing changed. */
int stacks_switch(struct stacks *stacks, uint32_t to, struct stack_array *array);
/* The number of a stack that was left with something on it, or -1: there is none. */
int64_t stacks_left(const struct stacks *stacks);
/* Frees what is kept; the thread is on the stack that it began on. */
void stacks_deinit(struct stacks *stacks);

#endif

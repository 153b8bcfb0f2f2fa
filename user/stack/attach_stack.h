/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* attach_stack.h: the stack of a thread that ran before it was recorded: put together from what the
 * probe sent of it, and reduced to its return addresses. */
#ifndef USER_ATTACH_STACK_H
#define USER_ATTACH_STACK_H

#include "user/kernel/record_options.h"

#include <linux/types.h>
#include "bpf/protocol.h"

struct text_span;
struct pugmark_witness_event;

struct stack_copy {
	uint64_t ip, regs[16];
	uint64_t addr;
	uint64_t *words;
	uint32_t n_words, cap;
};

/* Adds the next piece to *@copy, which is made for the first (NULL until then; the caller frees it
 * with stack_copy_free()). Returns 0 or -ENOMEM; a piece that does not fit is left out. */
int stack_copy_add(struct stack_copy **copy, const struct attach_stack *piece, uint32_t bytes);
void stack_copy_free(struct stack_copy *copy);

struct attach_stacks;

int attach_stacks_new(const struct recorder_options *options, struct attach_stacks **out);
void attach_stacks_free(struct attach_stacks *stacks);
/* What is asked from here on had come by @since_ns. Where that is long ago nobody looks any more at
 * what a process has mapped: it may have ended since, run another program, or loaded something.
 * What was looked at before holds. */
void attach_stacks_since(struct attach_stacks *stacks, uint64_t since_ns);
/* Looks at what process @pid has mapped before anything is asked of it, if it is one of the first,
 * so that this is known later. */
void attach_stacks_meet(struct attach_stacks *stacks, pid_t pid);
/* Leaves only return addresses in @copy, a stack of a thread of process @pid: all other words
 * become PUGMARK_EVENT_STACK_UNKNOWN, and n_words ends behind the last return address, or, if that
 * is the outermost, behind a 0 that follows it. Returns whether any was found. */
bool attach_stacks_reduce(struct attach_stacks *stacks, pid_t pid, struct stack_copy *copy);
/* The place on the stack of @event (a PUGMARK_EVENT_SIGNAL made of @note) of the innermost return
 * address of a call in progress that leads into one of @n spans; PUGMARK_SIGNAL_NO_CALLER: there is
 * none; 0: not known. */
uint64_t attach_stacks_caller(struct attach_stacks *stacks, const struct signal_note *note,
			      const struct pugmark_witness_event *event,
			      const struct text_span *spans, uint32_t n);
/* The address to which the code that the signal of @note interrupted is about to return, if that is
 * in a register and no longer on the stack (as behind the system call of vfork()); 0: it is not, or
 * not known. */
uint64_t attach_stacks_returning(struct attach_stacks *stacks, const struct signal_note *note);
/* Removes from the snapshot of @event, of process @pid, what is no return address of a call in
 * progress, as far as that can be told. @words: room for what is left, DEEP_WORDS of them. */
struct clean_from;
void attach_stacks_clean(struct attach_stacks *stacks, pid_t pid, const struct clean_from *from,
			 uint64_t *words, struct pugmark_witness_event *event);
/* Whether process @pid has code mapped at @addr, as far as it was looked at. */
bool attach_stacks_is_code(struct attach_stacks *stacks, pid_t pid, uint64_t addr);
/* Process @pid runs another program. */
void attach_stacks_forget(struct attach_stacks *stacks, pid_t pid);
/* Forgets what all processes have mapped, for the memory that it takes: who still runs is looked at
 * again when something is asked of him. */
void attach_stacks_give_back(struct attach_stacks *stacks);
/* Where @module is in the process whose stack reduce() has just looked at. */
bool attach_stacks_bias(struct attach_stacks *stacks, const struct recorder_module *module,
			uint64_t *bias);

#endif

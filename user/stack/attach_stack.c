// SPDX-License-Identifier: LGPL-2.1-or-later
/* attach_stack.c: see attach_stack.h. What a process has mapped is read once, and kept for its
 * other threads: they have their first events at about the same time. */
#include "user/stack/attach_stack.h"

#include "user/kernel/probes.h"
#include "user/stack/clean_stack.h"
#include "user/stack/unwind.h"

#include "offline/base/clock.h"

#include <errno.h>
#include <pugmark/event.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROCESSES = 64, PART_OF_MEMORY = 4, PART_OF_LIMIT = 2 };

struct attach_stacks {
	struct unwind_room room;
	struct unwinder *unwinders[PROCESSES];
	uint32_t next;		    /* to be replaced */
	struct unwinder *last;	    /* that has reduced a stack */
	uint64_t since_ns;	    /* attach_stacks_since() */
	uint32_t met;		    /* processes that were looked at beforehand */
	pid_t refused;		    /* has ended, or it is not its turn to be looked at */
	uint64_t looks;		    /* at a process, for its snapshots */
	uint64_t cleaned;	    /* snapshots */
	uint64_t unmapped;	    /* an address that was looked for in vain */
	uint32_t slots[DEEP_WORDS]; /* of a snapshot */
};

/* Room for @n words in all. */
static bool grow(struct stack_copy *copy, uint32_t n)
{
	if (n <= copy->cap)
		return true;
	uint32_t cap = copy->cap ? copy->cap : 4 * SNAPSHOT_WORDS;
	while (cap < n)
		cap *= 2;
	uint64_t *words = realloc(copy->words, cap * sizeof(*words));
	if (!words)
		return false;
	copy->words = words;
	copy->cap = cap;
	return true;
}

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
	uint64_t ahead = piece->addr - copy->addr, place = ahead / 8;
	if (ahead % 8 || place < copy->n_words || place > ATTACH_WORDS || n > ATTACH_WORDS - place)
		return 0;
	/* With room for the word that ends the list. */
	if (!grow(copy, place + n + 1))
		return -ENOMEM;
	while (copy->n_words < place) /* a page that is not there */
		copy->words[copy->n_words++] = PUGMARK_EVENT_STACK_UNKNOWN;
	memcpy(copy->words + copy->n_words, piece->words, 8 * n);
	copy->n_words += n;
	return 0;
}

void stack_copy_free(struct stack_copy *copy)
{
	if (copy)
		free(copy->words);
	free(copy);
}

/* How long what is drained may wait to be coded, and be taken for what is so now. */
#define LATE_NS 3000000000ull
enum { MEET_MAX = 4 };

static bool has_alike(const struct attach_stacks *s, const struct unwinder *u)
{
	for (uint32_t i = 0; i < PROCESSES; i++)
		if (s->unwinders[i] && unwinder_alike(s->unwinders[i], u))
			return true;
	return false;
}

int attach_stacks_new(const struct recorder_options *options, struct attach_stacks **out)
{
	struct attach_stacks *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->room.bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) / PART_OF_MEMORY *
			(uint64_t)sysconf(_SC_PAGESIZE);
	if (options->max_memory_bytes && s->room.bytes > options->max_memory_bytes / PART_OF_LIMIT)
		s->room.bytes = options->max_memory_bytes / PART_OF_LIMIT;
	/* What runs now may have ended by the time that its stack is looked at. */
	for (uint32_t i = 0; i < options->n_running && s->next < PROCESSES; i++) {
		struct unwinder *u;
		if (unwinder_new(options->running[i], &s->room, &u))
			continue;
		if (has_alike(s, u)) {
			unwinder_free(u);
			continue;
		}
		unwinder_hold(u);
		s->unwinders[s->next++] = u;
	}
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

static bool is_late(const struct attach_stacks *s)
{
	return s->since_ns && clock_now_ns() - s->since_ns > LATE_NS;
}

void attach_stacks_since(struct attach_stacks *s, uint64_t since_ns)
{
	s->since_ns = since_ns;
}

/* Where what process @pid has mapped is kept; NULL: it was not looked at. */
static struct unwinder **slot_of(struct attach_stacks *s, pid_t pid)
{
	for (uint32_t i = 0; i < PROCESSES; i++)
		if (s->unwinders[i] && unwinder_pid(s->unwinders[i]) == pid)
			return &s->unwinders[i];
	return NULL;
}

/* @fresh: reads again what the process has mapped. NULL: it has ended, or that may be. */
static struct unwinder *unwinder_of(struct attach_stacks *s, pid_t pid, bool fresh)
{
	struct unwinder **slot = slot_of(s, pid), *u;
	if (slot && !fresh)
		return *slot;
	if (is_late(s) || unwinder_new(pid, &s->room, &u))
		return NULL;
	if (!slot)
		slot = &s->unwinders[s->next++ % PROCESSES];
	unwinder_free(*slot);
	*slot = u;
	return u;
}

void attach_stacks_meet(struct attach_stacks *s, pid_t pid)
{
	if (s->met == MEET_MAX || is_late(s) || slot_of(s, pid))
		return;
	s->met++;
	struct unwinder *u = unwinder_of(s, pid, false);
	if (u)
		unwinder_hold(u);
}

/* Tries the mappings of other processes for one that has ended: it was most likely forked from one
 * of them. If its stack can be walked to the end by another's mappings, they are its own. */
static uint32_t walk_as_another(struct attach_stacks *s, const struct unwind_thread *thread,
				uint32_t *slots, struct unwinder **by)
{
	for (uint32_t i = 0; i < PROCESSES; i++) {
		bool complete = false;
		uint32_t n = s->unwinders[i] ? unwinder_slots(s->unwinders[i], thread, slots,
							      thread->n_words, &complete)
					     : 0;
		if (!n || !complete)
			continue;
		*by = s->unwinders[i];
		return n;
	}
	return 0;
}

/* Where the return addresses of @copy are, in @slots: how many. */
static uint32_t find_slots(struct attach_stacks *s, pid_t pid, const struct stack_copy *copy,
			   uint32_t *slots, bool *complete)
{
	struct unwinder *u = unwinder_of(s, pid, false), *again;
	struct unwind_thread thread = {
		.ip = copy->ip, .addr = copy->addr, .words = copy->words, .n_words = copy->n_words};
	memcpy(thread.regs, copy->regs, sizeof(thread.regs));
	uint32_t n = u ? unwinder_slots(u, &thread, slots, copy->n_words, complete) : 0;
	/* It may have loaded something since it was looked at. */
	if (u && !*complete && (again = unwinder_of(s, pid, true))) {
		u = again;
		n = unwinder_slots(u, &thread, slots, copy->n_words, complete);
	}
	if (!u) {
		n = walk_as_another(s, &thread, slots, &u);
		*complete = n > 0;
	}
	s->last = u;
	return n;
}

bool attach_stacks_reduce(struct attach_stacks *s, pid_t pid, struct stack_copy *copy)
{
	bool complete = false;
	uint32_t *slots = malloc((copy->n_words + 1) * sizeof(*slots));
	uint32_t n = slots ? find_slots(s, pid, copy, slots, &complete) : 0;
	if (n) {
		uint32_t end = slots[n - 1] + 1;
		for (uint32_t i = 0, k = 0; i < end; i++) {
			if (slots[k] == i)
				k++;
			else
				copy->words[i] = PUGMARK_EVENT_STACK_UNKNOWN;
		}
		copy->n_words = end;
		if (complete)
			copy->words[copy->n_words++] = 0;
	}
	free(slots);
	return n;
}

static bool in_spans(const struct text_span *spans, uint32_t n, uint64_t addr)
{
	for (uint32_t i = 0; i < n; i++)
		if (addr >= spans[i].addr && addr <= spans[i].end)
			return true;
	return false;
}

uint64_t attach_stacks_caller(struct attach_stacks *s, const struct signal_note *note,
			      const struct pugmark_witness_event *e, const struct text_span *spans,
			      uint32_t n)
{
	struct unwind_thread thread = {.ip = note->ip,
				       .addr = e->stack_addr,
				       .words = e->stack,
				       .n_words = e->stack_words};
	memcpy(thread.regs, note->regs, sizeof(thread.regs));
	for (int fresh = 0; fresh < 2; fresh++) { /* something may have been loaded meanwhile */
		struct unwinder *u = unwinder_of(s, note->pid, fresh);
		bool complete = false;
		uint32_t found =
			u ? unwinder_slots(u, &thread, s->slots, DEEP_WORDS, &complete) : 0;
		for (uint32_t i = 0; i < found; i++)
			if (in_spans(spans, n, e->stack[s->slots[i]]))
				return e->stack_addr + 8 * (uint64_t)s->slots[i];
		if (complete || !u || !unwinder_missed_code(u))
			return complete ? PUGMARK_SIGNAL_NO_CALLER : 0;
	}
	return 0;
}

uint64_t attach_stacks_returning(struct attach_stacks *s, const struct signal_note *note)
{
	struct unwinder *u = unwinder_of(s, note->pid, false);
	const struct frame_rule *rule = u ? unwinder_rule(u, note->ip) : NULL;
	return rule && rule->ret_reg >= 0 ? note->regs[rule->ret_reg] : 0;
}

/* Reading what a process has mapped takes milliseconds: so only one snapshot in many may, beside
 * the first ones. */
static struct unwinder *unwinder_for(struct attach_stacks *s, pid_t pid, bool fresh)
{
	struct unwinder **slot = slot_of(s, pid);
	if (slot && !fresh)
		return *slot;
	if ((pid == s->refused && !fresh) || s->looks >= PROCESSES + s->cleaned / 1024)
		return NULL;
	s->looks++;
	struct unwinder *u = unwinder_of(s, pid, fresh);
	if (!u)
		s->refused = pid;
	return u;
}

void attach_stacks_clean(struct attach_stacks *s, pid_t pid, const struct clean_from *from,
			 uint64_t *words, struct pugmark_witness_event *e)
{
	struct unwinder *u = unwinder_for(s, pid, false);
	uint64_t unmapped = 0;
	s->cleaned++;
	if (!u)
		return;
	stack_clean(u, from, words, e, &unmapped);
	/* It may have loaded something since it was looked at. */
	if (!unmapped || unmapped == s->unmapped || !(u = unwinder_for(s, pid, true)))
		return;
	s->unmapped = unmapped;
	stack_clean(u, from, words, e, &unmapped);
}

bool attach_stacks_is_code(struct attach_stacks *s, pid_t pid, uint64_t addr)
{
	struct unwinder *u = unwinder_for(s, pid, false);

	return u && unwinder_is_code(u, addr);
}

void attach_stacks_forget(struct attach_stacks *s, pid_t pid)
{
	for (uint32_t i = 0; i < PROCESSES; i++) {
		if (!s->unwinders[i] || unwinder_pid(s->unwinders[i]) != pid)
			continue;
		if (s->last == s->unwinders[i])
			s->last = NULL;
		unwinder_free(s->unwinders[i]);
		s->unwinders[i] = NULL;
	}
	s->refused = 0;
}

void attach_stacks_give_back(struct attach_stacks *s)
{
	for (uint32_t i = 0; i < PROCESSES; i++) {
		unwinder_free(s->unwinders[i]);
		s->unwinders[i] = NULL;
	}
	s->last = NULL;
}

bool attach_stacks_bias(struct attach_stacks *s, const struct recorder_module *module,
			uint64_t *bias)
{
	return s->last && unwinder_bias(s->last, module, bias);
}

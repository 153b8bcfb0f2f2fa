// SPDX-License-Identifier: LGPL-2.1-or-later
/* causes.c: which of its possible causes an event has. All are asked. A candidate goes where a
 * documented reason makes the cause of another one stronger: the rules below are all such reasons.
 * What is left is for feed.c: one candidate is it, several are a gap, and none is one. */
#include "offline/recover/explain/explain.h"

#define ONE(cause) (1u << CAUSE_##cause)
#define ALL ((1u << N_CAUSES) - 1)

/* When a question is asked. */
enum when {
	AT_BEGIN = 1, /* at the thread's first event */
	IN_STEP = 2,  /* while it is known where the thread is */
	WHEN_LOST = 4,
	ANYWHERE = IN_STEP | WHEN_LOST,
};

static const struct question {
	uint8_t when;
	uint16_t answers; /* a bit for each cause that it can answer with */
	ask_fn *ask;
	commit_fn *commit;
} questions[] = {
	{AT_BEGIN, ONE(BEGUN), ask_begun, commit_begun},
	{IN_STEP, ONE(NEXT), ask_next, commit_next},
	{IN_STEP, ONE(CALLED_BY_HANDLER), ask_called_by_handler, commit_called_by_handler},
	{ANYWHERE, ONE(HANDLER), ask_handler, commit_handler},
	{ANYWHERE, ONE(ATTACHED), ask_attached, commit_attached},
	{IN_STEP, ONE(INJECTED), ask_injected, commit_injected},
	{ANYWHERE, ONE(SWITCH) | ONE(NEW_STACK), ask_switch, commit_switch},
	{IN_STEP, ONE(CALLBACK) | ONE(OUTSIDE), ask_callback, commit_callback},
	{IN_STEP, ONE(PUT_ASIDE), ask_put_aside, commit_put_aside},
	{IN_STEP, ONE(BOTTOM), ask_bottom, commit_bottom},
	{IN_STEP, ONE(PROGRAM), ask_program, commit_program},
	{IN_STEP, ONE(UNWINDING), ask_unwinding, commit_unwinding},
	{IN_STEP, ONE(MOVED), ask_moved, commit_moved},
};
#define N_QUESTIONS (sizeof(questions) / sizeof(*questions))

/* Which causes each is stronger than, and why. What is stronger than a cause is stronger than all
 * that this one is stronger than, so it makes no difference in which order candidates are found. */
static const uint16_t stronger_than[N_CAUSES] = {
	/* It came by a call of ours: not from outside. */
	[CAUSE_BEGUN] = ONE(OUTSIDE) | ONE(MOVED),
	/* The plan is chosen so that what the grammar leads to is nothing else. What it leaves to
	 * observation is asked about only where the event cannot be derived (docs/theory.md). BEGUN
	 * needs that no frame is open, and this one that one is: they never meet. */
	[CAUSE_NEXT] = ALL & ~(ONE(NEXT) | ONE(BEGUN)),
	/* The stack has the frame that the kernel made for a handler that is known to run. */
	[CAUSE_CALLED_BY_HANDLER] = ONE(HANDLER) | ONE(ATTACHED) | ONE(SWITCH) | ONE(NEW_STACK) |
				    ONE(CALLBACK) | ONE(OUTSIDE) | ONE(PUT_ASIDE) | ONE(MOVED),
	/* Right outside of its own frame the stack has one that the kernel made for a handler. */
	[CAUSE_HANDLER] = ONE(ATTACHED) | ONE(SWITCH) | ONE(NEW_STACK) | ONE(CALLBACK) |
			  ONE(OUTSIDE) | ONE(PUT_ASIDE) | ONE(MOVED),
	/* Its frame begins where the last signal has found the stack, so it is of that stack, and
	 * nothing has called it. */
	[CAUSE_INJECTED] = ONE(SWITCH) | ONE(NEW_STACK) | ONE(CALLBACK) | ONE(OUTSIDE) |
			   ONE(PUT_ASIDE) | ONE(MOVED),
	/* What switches stacks calls nothing back, and what returns to where the first functions of
	 * stacks do is one. */
	[CAUSE_SWITCH] = ONE(CALLBACK) | ONE(OUTSIDE) | ONE(PUT_ASIDE) | ONE(MOVED),
	[CAUSE_NEW_STACK] = ONE(MOVED),
	[CAUSE_CALLBACK] = ONE(MOVED),
	[CAUSE_OUTSIDE] = ONE(MOVED),
	/* The innermost call that the stack shows is of another line of execution, or frames inside
	 * of it can have been left in no other way. */
	[CAUSE_PUT_ASIDE] = ONE(CALLBACK) | ONE(OUTSIDE) | ONE(MOVED),
	/* The function that the first one has returned to leads to it by a call of ours. */
	[CAUSE_BOTTOM] = ONE(OUTSIDE) | ONE(MOVED),
	[CAUSE_PROGRAM] = ONE(MOVED),
	/* That stacks may have moved is a reason only where there is no other. */
	[CAUSE_UNWINDING] = ONE(MOVED),
};

static uint16_t weaker_than(const struct candidates *set, uint32_t from)
{
	uint16_t weaker = 0;
	for (uint32_t i = from; i < set->n; i++)
		weaker |= stronger_than[set->at[i].cause];
	return weaker;
}

void causes_drop_weaker(struct candidates *set)
{
	uint16_t weaker = weaker_than(set, 0);
	uint32_t n = 0;
	for (uint32_t i = 0; i < set->n; i++)
		if (!(weaker >> set->at[i].cause & 1))
			set->at[n++] = set->at[i];
	set->n = n;
}

bool causes_ask(const struct parser *p, const struct lookahead *la, bool begins,
		struct candidates *set)
{
	uint8_t now = (begins ? AT_BEGIN : 0) | (p->position == LOST ? WHEN_LOST : IN_STEP);
	uint16_t left = ALL; /* causes that have not been asked about and would not go again */
	bool looked = false;
	set->n = 0;
	for (const struct question *q = questions; left && q < questions + N_QUESTIONS; q++) {
		uint32_t before = set->n;
		bool asked = q->when & now && q->answers & left;
		left &= ~q->answers;
		if (!asked)
			continue;
		q->ask(p, la, set);
		left &= ~weaker_than(set, before);
		looked |= q->ask == ask_switch;
	}
	if (set->n > 1)
		causes_drop_weaker(set);
	return looked;
}

commit_fn *cause_commit(const struct candidate *c)
{
	const struct question *q = questions;
	while (!(q->answers >> c->cause & 1))
		q++;
	return q->commit;
}

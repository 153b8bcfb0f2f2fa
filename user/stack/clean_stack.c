// SPDX-License-Identifier: LGPL-2.1-or-later
/* clean_stack.c: see clean_stack.h. The walk goes from return address to return address by rules
 * that need only sp and bp. At a frame with another rule it ends, and what lies further up stays as
 * it is. */
#include "user/stack/clean_stack.h"

#include "offline/base/sigframe.h"

#include <pugmark/event.h>
#include <string.h>

enum { FRAMES_MAX = 512, HANDLERS_MAX = 16 };

struct walk {
	struct unwinder *unwinder;
	const struct pugmark_witness_event *e;
	struct clean_from at;
	uint32_t slots[FRAMES_MAX]; /* of the return addresses, ascending */
	uint32_t n;
	uint32_t handlers[HANDLERS_MAX]; /* the words that are to say that one is running */
	uint32_t n_handlers;
	uint64_t unmapped;
};

static bool word_at(const struct walk *w, uint64_t addr, uint64_t *word)
{
	uint64_t i = (addr - w->e->stack_addr) / 8;
	if (addr & 7 || addr < w->e->stack_addr || i >= w->e->stack_words ||
	    w->e->stack[i] == PUGMARK_EVENT_STACK_UNKNOWN)
		return false;
	*word = w->e->stack[i];
	return true;
}

/* Takes the return address right below @cfa as one of a call in progress, and walks on in that
 * call's frame. */
static bool take_return(struct walk *w, uint64_t cfa)
{
	uint64_t ret;
	if (w->n == FRAMES_MAX || !word_at(w, cfa - 8, &ret) || !ret)
		return false;
	if (!unwinder_is_code(w->unwinder, ret)) {
		w->unmapped = ret;
		return false;
	}
	w->slots[w->n++] = (cfa - 8 - w->e->stack_addr) / 8;
	w->at.sp = cfa;
	w->at.ip = ret - 1;
	return true;
}

/* Leaves the kernel's frame for a handler, which lies at sp without its first word (that was
 * returned to). */
static bool leave_handler(struct walk *w)
{
	uint64_t frame = w->at.sp - 8, sp, link;
	bool own = w->e->flags & PUGMARK_EVENT_FROM_SIGNAL && frame == pugmark_event_cfa(w->e) - 8;
	if (!own && w->n_handlers < HANDLERS_MAX && word_at(w, frame + 8 * SIGFRAME_LINK, &link) &&
	    !link)
		w->handlers[w->n_handlers++] = (frame + 8 * SIGFRAME_LINK - w->e->stack_addr) / 8;
	w->at.bp_known = word_at(w, frame + 8 * SIGFRAME_BP, &w->at.bp);
	if (!word_at(w, frame + 8 * SIGFRAME_SP, &sp) || sp < w->at.sp ||
	    !word_at(w, frame + 8 * SIGFRAME_IP, &w->at.ip))
		return false;
	w->at.sp = sp;
	return true;
}

/* One frame up. */
static bool climb(struct walk *w)
{
	const struct frame_rule *rule = unwinder_rule(w->unwinder, w->at.ip);
	if (rule->signal)
		return leave_handler(w);
	if (rule->cfa_reg == FRAME_NONE || (rule->cfa_reg == FRAME_BP && !w->at.bp_known))
		return false;
	uint64_t cfa = (rule->cfa_reg == FRAME_SP ? w->at.sp : w->at.bp) + (int64_t)rule->cfa_off;
	if (cfa < w->at.sp + 8)
		return false;
	if (rule->bp == BP_SAVED)
		w->at.bp_known = word_at(w, cfa + (int64_t)rule->bp_off, &w->at.bp);
	else if (rule->bp == BP_UNKNOWN)
		w->at.bp_known = false;
	return take_return(w, cfa);
}

void stack_clean(struct unwinder *unwinder, const struct clean_from *from, uint64_t *words,
		 struct pugmark_witness_event *e, uint64_t *unmapped)
{
	struct walk w = {.unwinder = unwinder, .e = e, .at = *from};
	bool signal = e->flags & PUGMARK_EVENT_FROM_SIGNAL;
	uint64_t kept = signal ? (pugmark_event_cfa(e) - 8 - e->stack_addr) / 8 : 0;
	bool goes_on = from->ip || take_return(&w, from->sp);
	while (goes_on)
		goes_on = climb(&w);
	*unmapped = w.unmapped;
	if (!w.n)
		return;
	if (e->stack != words)
		memcpy(words, e->stack, e->stack_words * sizeof(*words));
	for (uint32_t i = from->below, k = 0; i < w.slots[w.n - 1]; i++) {
		if (k < w.n && w.slots[k] == i)
			k++;
		else if (words[i] >> 32 && !(signal && i - kept < SIGFRAME_WORDS) &&
			 unwinder_is_code(unwinder, words[i]))
			words[i] = 0;
	}
	for (uint32_t i = 0; i < w.n_handlers; i++)
		words[w.handlers[i]] = PUGMARK_EVENT_STACK_HANDLER;
	e->stack = words;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* parser_attach.c: where the trace of a thread begins that ran before it was recorded. The recorder
 * has unwound its stack, through whatever modules, and kept the return addresses. Those after our
 * calls are frames of ours with the call in progress; between them lies code that is not traced. */
#include "offline/parser_state.h"

#include <stdlib.h>

/* A return address on the stack: of the frame that ends right above it. */
struct slot {
	uint64_t cfa, ret;
	uint16_t module;
	uint32_t
		call; /* the call that returns there, or PUGMARK_NONE: of code that is not traced */
};

static uint32_t read_slots(const struct parser *p, const struct witness_event *e,
			   struct slot *slots)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < e->stack_words; i++) {
		struct slot s = {e->stack_addr + 8 * (uint64_t)i + 8, e->stack[i], 0, 0};
		if (s.ret == EVENT_STACK_UNKNOWN || !s.ret)
			continue;
		s.call = parser_call_before(p, 0, s.ret, &s.module);
		slots[n++] = s;
	}
	return n;
}

void parser_attach(struct parser *p, const struct witness_event *e)
{
	p->attach_cfa = 0;
	struct slot *slots = e->stack_words ? malloc(e->stack_words * sizeof(*slots)) : NULL;
	uint32_t n = slots ? read_slots(p, e, slots) : 0;
	bool complete = n && !e->stack[e->stack_words - 1];
	uint8_t boundary = complete ? BELOW_ROOT : BELOW_GAP;
	/* From the outermost on: the frame that slot i ends returns by slot i + 1, if we know it.
	 */
	for (uint32_t i = n; i-- > 0;) {
		const struct slot *s = &slots[i];
		if (s->call == PUGMARK_NONE) {
			boundary = p->n ? BELOW_CALLBACK : boundary;
			continue;
		}
		struct frame f = {
			.func = node_at(p, s->module, s->call)->func,
			.module = s->module,
			.cfa = i + 1 < n ? slots[i + 1].cfa : 0,
			.ret = i + 1 < n ? slots[i + 1].ret : 0,
			.node = s->call,
			.announced =
				true, /* by whom, if not by this thread before it was recorded */
			.boundary = boundary,
			.hidden = CAUSE_ATTACH,
		};
		parser_emit_frame(p, TRACE_ENTER, CAUSE_ATTACH, &f);
		parser_push(p, f);
		boundary = BELOW_CALL;
	}
	if (n) {
		p->attach_cfa = slots[0].cfa;
		p->attach_ret = slots[0].ret;
		p->attach_boundary = boundary;
	}
	free(slots);
}

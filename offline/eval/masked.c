// SPDX-License-Identifier: LGPL-2.1-or-later
/* masked.c: stubs of floating point, which are executed with all exceptions masked, because a
 * signal would be the evaluator's own. An exception that is not masked for the program shows in the
 * flag that is raised: then there are no semantics, and nothing has changed. What is not raised has
 * not come, and the result is the same, masked or not.
 *
 * An underflow is the exception to that. Masked, its flag tells of results that are tiny and were
 * rounded; not masked, it comes of exact ones as well. Where results are flushed to zero, all that
 * are tiny raise it: with SSE it is looked at so first. x87 does not flush. */
#include "offline/eval/machine_impl.h"

#include <string.h>

enum { FLAGS = 0x3f, UNDERFLOW = 1 << 4, MXCSR_MASKS_SHIFT = 7, MXCSR_FLUSH = 1 << 15 };
enum { MXCSR_MASKS = FLAGS << MXCSR_MASKS_SHIFT };

/* Returns what is raised, of FLAGS. */
static uint32_t run_sse(struct value_machine *m, const struct value_stub_use *use, uint32_t mxcsr)
{
	m->state.mxcsr_run = mxcsr;
	use->fn(&m->state, m->buffer);
	return m->state.mxcsr_run & FLAGS;
}

static bool sse(struct value_machine *m, const struct value_stub_use *use)
{
	struct value_state *s = &m->state;
	const uint32_t unmasked = ~s->mxcsr >> MXCSR_MASKS_SHIFT & FLAGS;
	if (!use->mxcsr || !unmasked) {
		s->mxcsr_run = s->mxcsr;
		use->fn(s, m->buffer);
		if (use->mxcsr)
			s->mxcsr = s->mxcsr_run;
		return true;
	}
	const struct value_state was = *s;
	const uint32_t masked = (s->mxcsr & ~FLAGS) | MXCSR_MASKS;
	uint8_t operand[VALUE_STUB_BUFFER];
	if (unmasked & UNDERFLOW) {
		if (!use->flushes || s->mxcsr & MXCSR_FLUSH)
			return false;
		memcpy(operand, m->buffer, use->len);
		const uint32_t raised = run_sse(m, use, masked | MXCSR_FLUSH);
		*s = was;
		memcpy(m->buffer, operand, use->len);
		if (raised & UNDERFLOW)
			return false;
	}
	const uint32_t raised = run_sse(m, use, masked);
	if (raised & unmasked) {
		*s = was;
		return false;
	}
	s->mxcsr |= raised;
	return true;
}

bool value_run_masked(struct value_machine *m, const struct value_stub_use *use)
{
	struct value_state *s = &m->state;
	uint16_t control, status;
	memcpy(&control, s->fx, sizeof(control));
	const uint16_t unmasked = ~control & FLAGS;
	if (!use->x87 || !unmasked)
		return sse(m, use);
	memcpy(&status, s->fx + sizeof(control), sizeof(status));
	if (status & unmasked) /* it comes with this instruction */
		return false;
	if (use->controls) /* raises nothing, and the control word is its operand */
		return sse(m, use);
	if (unmasked & UNDERFLOW)
		return false;
	const struct value_state was = *s;
	s->fx[0] |= FLAGS;
	const bool done = sse(m, use);
	memcpy(&status, s->fx + sizeof(control), sizeof(status));
	if (!done || status & unmasked) {
		*s = was;
		return false;
	}
	memcpy(s->fx, &control, sizeof(control));
	return true;
}

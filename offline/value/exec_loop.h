/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* exec_loop.h: the threaded code, included by exec.c once plain and once traced (TRACED 0 or 1,
 * EXEC the function's name). Every operation accesses memory before it changes a register, so that
 * one that cannot be done (bail) has done nothing, and is done again elsewhere. */

static int EXEC(struct value_machine *m, struct value_block *first, uint64_t until,
		struct value_trace *trace, const void *const **labels)
{
	static const void *const table[OPS] = {
#define OP(name, ...) [OP_##name] = &&L_##name,
#define OP_END(name, ...) [OP_##name] = &&L_##name,
#include "offline/value/ops.def"
#undef OP
#undef OP_END
	};
	if (labels) {
		*labels = table;
		return 0;
	}
	struct value_state *const state = &m->state;
	uint64_t inexact = m->loose ? 0 : m->known.inexact | VALUE_PLACE_BIT;
	uint64_t before = inexact;
	int64_t left = until - m->count;
	struct value_block *b = NULL, *next = first, **link = NULL;
	const struct value_op *op;
	uint64_t next_ip = first->ip;
#if TRACED
	struct trace_mark mark = {0};
#endif
	int stop;
	goto enter;

find:
	if (left <= 0) {
		state->rip = next_ip;
		stop = VALUE_STOP_LIMIT;
		goto out;
	}
	bool no_memory = false;
	next = value_translate(m, next_ip, false, &no_memory);
	if (!next) {
		state->rip = next_ip;
		m->left = &b->insns[b->n_insns - 1];
		stop = no_memory			   ? VALUE_STOP_NO_MEMORY
		       : value_machine_is_code(m, next_ip) ? VALUE_STOP_TRAP
							   : VALUE_STOP_OUTSIDE;
		goto out;
	}
	if (link && !b->single)
		*link = next;
	if (!link)
		m->jumps[JUMP_SLOT(next_ip)] = next;
enter:
	if (unlikely(left < next->n_insns || next->needs & inexact)) {
		state->rip = next->ip;
		stop = next->needs & inexact & VALUE_PLACE_BIT ? VALUE_STOP_PLACE
		       : left <= 0			       ? VALUE_STOP_LIMIT
							       : STOP_SLOW;
		goto out;
	}
#if TRACED
	if (unlikely(!trace_room(trace, next))) {
		state->rip = next->ip;
		stop = VALUE_STOP_TRACE_FULL;
		goto out;
	}
	mark = (struct trace_mark){trace->n_blocks, trace->n_addresses, trace->n_results};
	trace->blocks[trace->n_blocks++] = next->number;
#endif
	left -= next->n_insns;
	b = next;
	before = inexact;
	inexact &= ~b->defines;
	op = b->ops;
	goto * op->code[TRACED];

#if TRACED
#define NEXT                                                                                       \
	do {                                                                                       \
		if (op->log >= LOG_GPR)                                                            \
			trace->results[trace->n_results++] = state->gpr[(op->log - LOG_GPR) / 4];  \
		else if (op->log)                                                                  \
			value_trace_results(m, trace, &b->insns[op->insn]);                        \
		op++;                                                                              \
		goto * op->code[1];                                                                \
	} while (0)
#else
#define NEXT                                                                                       \
	do {                                                                                       \
		op++;                                                                              \
		goto * op->code[0];                                                                \
	} while (0)
#endif
#define OP(name, ...)                                                                              \
	L_##name:                                                                                  \
	{                                                                                          \
		__VA_ARGS__;                                                                       \
	}                                                                                          \
	NEXT;
#define OP_END(name, ...)                                                                          \
	L_##name:                                                                                  \
	{                                                                                          \
		__VA_ARGS__;                                                                       \
	}
#include "offline/value/ops.def"
#undef OP
#undef OP_END
#undef NEXT

find_target:
	next = m->jumps[JUMP_SLOT(next_ip)];
	if (likely(next && next->ip == next_ip))
		goto enter;
	link = NULL;
	goto find;
at_syscall:
	state->rip = op->next;
	stop = VALUE_STOP_SYSCALL;
	goto out;
at_chance:
	stop = VALUE_STOP_CHANCE;
	goto cut;
at_trap:
	stop = VALUE_STOP_TRAP;
	goto cut;
fault:
	stop = VALUE_STOP_FAULT;
	goto cut;
bail:
	stop = STOP_SLOW;
cut: /* what of the block was done, was done; the rest is taken back */
	m->bounced = 0;
	left += b->n_insns - op->insn;
	inexact = before;
	for (unsigned i = 0; i < op->insn; i++)
		inexact &= ~value_insn_defines(&b->insns[i]);
	state->rip = b->insns[op->insn].ip;
#if TRACED
	if (trace_cut(m, trace, b, op->insn, &mark))
		stop = VALUE_STOP_NO_MEMORY;
#endif
out:
	m->count = until - left;
	if (!m->loose)
		m->known.inexact = inexact & ~VALUE_PLACE_BIT;
	return stop;
}

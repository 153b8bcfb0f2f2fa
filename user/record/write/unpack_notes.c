// SPDX-License-Identifier: LGPL-2.1-or-later
/* unpack_notes.c: what comes of a task beside its probes: signals that find it, and its end. */
#include "user/record/write/unpack_impl.h"
#include "user/file/text_span.h"
#include "user/stack/attach_stack.h"
#include "user/stack/clean_stack.h"

/* Where the innermost call of a traced module has its return address, if the signal finds the task
 * in code that is not traced: unwound while its process is there. */
static uint64_t caller_of(struct unpacker *u, const struct signal_note *n,
			  const struct pugmark_witness_event *e)
{
	struct text_span spans[BATCH_MODULES];
	uint32_t n_spans = unpack_code(u, spans);

	for (uint32_t i = 0; i < n_spans; i++)
		if (n->ip - spans[i].addr < spans[i].end - spans[i].addr)
			return 0;
	return n_spans && n->pid ? attach_stacks_caller(u->attach_stacks, n, e, spans, n_spans) : 0;
}

void unpack_signal(struct unpacker *u, const struct signal_note *sent, uint32_t bytes)
{
	if (bytes != sizeof(*sent) || !generations_last(&u->generations))
		return;
	struct signal_note at = *sent, *n = &at;
	struct pugmark_witness_event e = {.kind = PUGMARK_EVENT_SIGNAL};
	uint64_t ip, sp;

	if (n->has_snapshot)
		unpack_fail(u, task_stacks_tell(&u->task->stacks, n->snapshot, &u->words, &e));
	ip = n->ip;
	sp = n->regs[7];
	unpack_leave_trampoline(u, n->pid, n->time_ns, &ip, &sp, &e);
	n->ip = ip;
	n->regs[7] = sp;
	uint64_t returning =
		n->handler && n->pid ? attach_stacks_returning(u->attach_stacks, n) : 0;
	if (returning) /* as if it had: the stack, on which vfork's child ran, does not tell */
		n->ip = returning;
	unpack_note_task(u, n->lost, n->execs);
	u->task->time_ns = n->time_ns;
	e.time_ns = n->time_ns;
	e.arm.stop.sp = n->regs[7];
	e.arm.stop.ip = n->ip;
	e.arm.stop.val = n->handler;
	e.signal = (struct pugmark_signal_event){.bp = unpack_frame(u, n->regs[7] - 1, n->regs[6]),
						 .alt = n->alt,
						 .alt_bytes = n->alt_bytes};
	if (e.stack)
		e.signal.caller = caller_of(u, n, &e);
	if (e.stack && n->pid && unpack_stack_room(u)) {
		struct clean_from from = {n->ip, n->regs[7], n->regs[6], true, false};

		attach_stacks_clean(u->attach_stacks, n->pid, &from, u->words, &e);
	}
	if (n->has_snapshot)
		unpack_slim(u, n->snapshot, n->pid, &e);
	unpack_event(u, &e);
}

/* In which module the task's address @ip is. UINT32_MAX: in none that is traced. */
static uint32_t module_at(const struct unpacker *u, uint64_t ip)
{
	const struct generation *g = generations_last(&u->generations);

	for (uint32_t i = 0; g && i < g->n; i++) {
		uint64_t addr = ip - u->task->bases[g->first + i];

		if (u->task->known >> (g->first + i) & 1 && addr >= g->text_addr[i] &&
		    addr < g->text_end[i])
			return g->first + i;
	}
	return UINT32_MAX;
}

static void unpack_death(struct unpacker *u, const struct process_record *r)
{
	struct death death = {.exit = r, .hits = &u->task->last, .ip = r->fault.ip};
	uint64_t sp = 0;

	unpack_leave_trampoline(u, r->pid, r->time_ns, &death.ip, &sp, NULL);
	death.module = module_at(u, death.ip);
	if (death.module != UINT32_MAX)
		death.addr = death.ip - u->task->bases[death.module];
	unpack_fail(u, u->died(u->ctx, &death, &u->generations));
}

void unpack_process(struct unpacker *u, const struct process_record *r)
{
	if (r->kind != PROCESS_EXIT && r->kind != PROCESS_STOP)
		return;
	unpack_note_task(u, r->lost, r->execs);
	unpack_lane_end(u, r->tid, r->time_ns); /* it may have been stopped, and have ended then */
	const struct generation *g = generations_last(&u->generations);
	if (u->task->paused && g && !g->ended_ns && g->began_ns) { /* it has done nothing since */
		unpack_end_pause(u->task, g, r->time_ns);
		unpack_plain(u, PUGMARK_EVENT_ATTACH, 0);
	}
	struct pugmark_witness_event e = {
		.kind = r->kind == PROCESS_EXIT ? PUGMARK_EVENT_END : PUGMARK_EVENT_STOP,
		.time_ns = r->time_ns,
		.arm.stop = {.sp = r->sp, .ip = r->ip, .val = r->stopped},
	};
	unpack_leave_trampoline(u, r->pid, r->time_ns, &e.arm.stop.ip, &e.arm.stop.sp, NULL);
	unpack_event(u, &e);
	if (u->died && r->kind == PROCESS_EXIT && death_is(r))
		unpack_death(u, r);
}

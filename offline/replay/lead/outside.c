// SPDX-License-Identifier: LGPL-2.1-or-later
/* outside.c: where nothing is executed, from record to record. */
#include "offline/replay/lead/outside.h"

#include "offline/replay/lead/calls.h"
#include "offline/replay/lead/handler_frame.h"
#include "offline/replay/lead/turned.h"
#include "offline/replay/libraries/libraries.h"
#include "offline/replay/meet/agrees.h"
#include "offline/replay/meet/records.h"
#include "offline/replay/meet/switches.h"
#include "offline/replay/models/blocks.h"
#include "offline/replay/models/models.h"
#include "offline/replay/records/calls_told.h"
#include "offline/replay/records/kept_records.h"
#include "offline/replay/run/gap.h"
#include "offline/replay/run/interrupted.h"
#include "offline/replay/run/places.h"
#include "offline/replay/run/run.h"
#include "offline/replay/run/standing.h"
#include "offline/replay/run/suppose.h"
#include "offline/replay/threads/threads.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

enum { RED_ZONE = 128, SIGNAL_FRAME = 12288 /* bytes; with all that a processor may save */ };

static int take_result(struct value_run *run, const struct capture *c)
{
	const struct capture_place *p = &run->replay->places[c->place];
	uint64_t back = value_run_place_ip(run, c, p->site_next);
	uint64_t last = run->n_calls ? run->calls[run->n_calls - 1].ret : 0;
	while (run->n_calls && run->calls[run->n_calls - 1].ret != back)
		run->n_calls--; /* left by longjmp, or a callback's caller that was not ours */
	if (!run->n_calls)
		return value_run_fail(
			run, "a result behind %#lx; the last call out returns to %#lx (%s)", back,
			last, run->import ? run->import : "?");
	struct open_call *call = &run->calls[--run->n_calls];
	import_clobber(run->machine);
	value_run_give_back(run, call);
	value_run_registers(run, c);
	if (call->import && c->known &&
	    value_blocks_tell(&run->blocks, &run->memory, call->import, call->args,
			      c->regs[VALUE_RAX], run->next))
		return VALUE_REPLAY_NO_MEMORY;
	value_run_doubt(run);
	if (value_run_ranges(run, c))
		return VALUE_REPLAY_NO_MEMORY;
	run->outside = false;
	run->expected = value_run_place_ip(run, c, p->addr);
	value_run_tell(run, VALUE_CROSSING_RESULT, c, call->import);
	return VALUE_REPLAY_LIMIT;
}

/* Where the stack of its own ends that the handler has, as the frame at @frame says (uc_stack); 0:
 * it has none, or that is not told. */
static uint64_t own_stack_end(const struct capture *c, uint64_t frame)
{
	enum { UC_STACK = 24, SS_SIZE = UC_STACK + 16, TOLD = SS_SIZE + 8 };
	uint64_t start, size;
	if (!c->n_ranges || c->ranges[0].unread || c->ranges[0].len < TOLD)
		return 0;
	memcpy(&start, c->ranges[0].bytes + UC_STACK, sizeof(start));
	memcpy(&size, c->ranges[0].bytes + SS_SIZE, sizeof(size));
	return frame - start < size ? start + size : 0;
}

/* What a handler finds in vector registers, x87 and MXCSR is as the processor starts (Linux:
 * fpu__clear_user_states() of arch/x86/kernel/fpu/core.c). */
static void start_vectors(struct value_run *run)
{
	struct value_state *s = value_machine_state(run->machine);
	const struct value_state fresh = value_state_fresh();
	memcpy(s->vec, fresh.vec, sizeof(s->vec));
	memcpy(s->fx, fresh.fx, sizeof(s->fx));
	s->no_tops = fresh.no_tops;
	s->mxcsr = fresh.mxcsr;
	value_forget(run->machine,
		     (uint64_t)0xffffffff << VALUE_BIT_VEC | (uint64_t)1 << VALUE_BIT_WIDE |
			     (uint64_t)1 << VALUE_BIT_X87 | (uint64_t)1 << VALUE_BIT_MXCSR |
			     (uint64_t)1 << VALUE_BIT_STICKY,
		     VALUE_EXACT);
}

/* The record of the signal right before the next record, which was taken last; NULL: it is of
 * something else. */
static const struct capture *signal_before(const struct value_run *run)
{
	uint64_t i = run->next > 1 ? run->next - 2 : 0;
	const struct capture *before = run->next > 1 ? kept_records_at(run->records, i) : NULL;
	while (i && before->kind == CAPTURE_SWITCH)
		before = kept_records_at(run->records, --i);
	return before && before->kind == CAPTURE_SIGNAL ? before : NULL;
}

/* A handler begins, or is found at its first instruction by another signal: the kernel has put its
 * frame onto the stack, perhaps another one. */
static void make_frame(struct value_run *run, const struct capture *c)
{
	const struct capture *before = signal_before(run);
	if (!before || (c->kind == CAPTURE_SIGNAL && c->ip != before->handler))
		return;
	if (c->n_ranges) /* it is told of the handler's own beginning */
		start_vectors(run);
	/* The record may be of an instruction behind those that have moved the stack pointer. */
	uint64_t frame = c->n_ranges ? c->ranges[0].addr : c->ip == before->handler ? c->sp : 0;
	uint64_t len = SIGNAL_FRAME, top = before->sp - RED_ZONE;
	if (c->sp < top && top - c->sp < len)
		len = top - c->sp;
	uint64_t end = own_stack_end(c, frame);
	if (end && end - c->sp < len)
		len = end - c->sp;
	value_memory_set_quality(&run->memory, c->sp, len, VALUE_UNKNOWN);
	if (!run->n_signals || !frame)
		return;
	value_run_frame_made(run, frame);
	value_frame_fill(run, before);
}

static int enter(struct value_run *run, const struct capture *c)
{
	struct value_machine *m = run->machine;
	import_clobber(m);
	if (!c->known) { /* redacted */
		value_forget(m, 0xffff, VALUE_UNKNOWN);
		value_set_gpr(m, VALUE_RSP, c->sp, VALUE_EXACT);
	}
	value_run_registers(run, c);
	value_run_agreed(run, c);
	value_run_doubt(run);
	if (run->n_signals)
		run->signals[run->n_signals - 1].entered = true;
	make_frame(run, c);
	if (value_run_ranges(run, c))
		return VALUE_REPLAY_NO_MEMORY;
	value_machine_state(m)->rip = c->ip;
	run->outside = false;
	run->expected = c->ip;
	value_run_tell(run, VALUE_CROSSING_ENTER, c, NULL);
	return VALUE_REPLAY_LIMIT;
}

/* In a function of the kernel's image, which is not executed: the run stays before all of it. */
static bool is_in_clock(const struct value_run *run, const struct capture *c)
{
	const char *name;
	return value_libraries_vdso(&run->libraries, c->ip, &name);
}

/* Keeps what a handler interrupts, for rt_sigreturn(). */
int value_run_signal(struct value_run *run, const struct capture *c)
{
	struct value_machine *m = run->machine;
	if (run->outside) {
		make_frame(run, c);
		if (value_run_ranges(run, c))
			return VALUE_REPLAY_NO_MEMORY;
	}
	struct interrupted *was = value_run_interrupt(run);
	if (!was)
		return VALUE_REPLAY_NO_MEMORY;
	was->number = c->number;
	was->sp = c->sp;
	was->outside = run->outside;
	was->in_library = run->in_library;
	was->unseen = run->unseen;
	was->hidden = value_run_hides(c);
	was->unsure = was->hidden && !run->outside && !value_run_behind_syscall(run, c->ip);
	if (was->unsure)
		value_run_suppose(run);
	if (!run->outside && !is_in_clock(run, c))
		value_run_registers(run, c);
	was->n_calls = run->n_calls;
	was->state = *value_machine_state(m);
	was->known = *value_machine_known(m);
	run->outside = true;
	run->in_library = run->unseen = false;
	if (!run->replay->whole)
		value_run_dead_stack(run, c->sp - RED_ZONE);
	value_run_tell(run, VALUE_CROSSING_SIGNAL, c, NULL);
	return VALUE_REPLAY_LIMIT;
}

/* The result of rt_sigreturn() is what rax was, or is behind the system call that was interrupted.
 * Where registers are hidden, nothing but an error is told. */
static void set_rax_behind(struct value_run *run, const struct interrupted *was,
			   const struct capture *c)
{
	enum { ERROR_MOST = 4095 };
	bool told = !was->hidden || (c->result < 0 && c->result >= -ERROR_MOST);
	if (told)
		value_set_gpr(run->machine, VALUE_RAX, c->result, VALUE_EXACT);
	else if (!was->unsure)
		value_forget(run->machine, (uint64_t)1 << VALUE_RAX, VALUE_UNKNOWN);
}

static void sigreturn(struct value_run *run, const struct capture *c)
{
	uint64_t frame;
	const struct interrupted *was = value_run_returning(run, c, &frame);
	if (!was) {
		if (frame)
			value_frame_take_alone(run, frame, c);
		else
			run->unseen = true; /* it goes on somewhere */
		return;
	}
	run->unseen |= !was->entered; /* what it has written was not seen either */
	value_run_doubt(run);
	*value_machine_state(run->machine) = was->state;
	*value_machine_known(run->machine) = was->known;
	run->outside = was->outside;
	run->in_library = was->in_library;
	run->unseen = was->unseen;
	if (!run->outside)
		value_frame_take(run, was);
	/* A system call that was interrupted is made again, or has failed. */
	if (!run->outside && !is_in_clock(run, c)) {
		value_machine_state(run->machine)->rip = c->ip;
		set_rax_behind(run, was, c);
	}
	if (was->unsure)
		value_run_suppose(run);
	run->n_calls = was->n_calls < run->n_calls ? was->n_calls : run->n_calls;
	value_run_end_interrupted(run, was);
}

/* A child that shares the memory and is no thread writes there until it has memory of its own. */
static bool shares_memory(struct value_run *run, const struct capture *c)
{
	enum { CLONE_VM = 0x100, THREAD = 0x10000 };
	uint64_t flags = c->nr == SYS_vfork ? CLONE_VM : c->nr == SYS_clone ? c->args[0] : 0;

	if (c->nr == SYS_clone3)
		value_memory_read(&run->memory, c->args[0], &flags, sizeof(flags), NULL);
	return flags & CLONE_VM && !(flags & THREAD);
}

enum {
	SYSCALL_BYTES = 2,
	SHADOW_STACK_ON = 0x5001 /* ARCH_SHSTK_ENABLE */
};

const struct capture *value_run_next_but_switches(const struct value_run *run)
{
	uint64_t i = run->next;
	const struct capture *c;
	while ((c = value_run_record_at(run, i)) && c->kind == CAPTURE_SWITCH)
		i++;
	return c;
}

/* In exit() whose record is not there, as in recordings of older recorders, the kernel writes 0 at
 * a moment that is not told; where, the call says that has made the thread. */
static int end_at_call(struct value_run *run)
{
	const uint32_t zero = 0; /* who waits for its end looks at that */
	if (run->clears && value_machine_state(run->machine)->gpr[VALUE_RAX] == SYS_exit &&
	    value_memory_write(&run->memory, run->clears, &zero, sizeof(zero), VALUE_ASSUMED) ==
		    -ENOMEM)
		return VALUE_REPLAY_NO_MEMORY;
	run->ended = VALUE_REPLAY_END;
	return VALUE_REPLAY_END;
}

int value_run_syscall(struct value_run *run)
{
	const struct capture *c = value_run_record(run);

	if (run->turned)
		return value_run_turned_call(run);
	for (; c && c->kind == CAPTURE_SWITCH && c->order != CAPTURE_NEVER;
	     c = value_run_record(run))
		if (value_run_switched_before(run, c))
			return VALUE_REPLAY_LIMIT;
	/* Or the recording ends while the call lasts. */
	if (!c || c->kind == CAPTURE_END || c->kind == CAPTURE_EXEC || c->kind == CAPTURE_SWITCH)
		return end_at_call(run);
	if (c->kind != CAPTURE_KERNEL)
		return value_run_fail_astray(
			run, "a system call without a record: the next is of something at %#lx",
			c->ip);
	if (!value_run_same_call(run, c))
		return value_run_fail_astray(run,
					     "system call %lu here, recorded was %u at %#lx, or "
					     "its arguments are not those",
					     value_machine_state(run->machine)->gpr[VALUE_RAX],
					     c->nr, c->ip);
	if (c->nr == SYS_arch_prctl && c->args[0] == SHADOW_STACK_ON && !c->result)
		return value_run_fail(run, "its shadow stack, switched on here, is not followed");
	bool shares = shares_memory(run, c);
	if (shares && run->threads)
		value_memory_assume_all(&run->memory);
	int stop = value_threads_call(run, c);
	if (stop != VALUE_REPLAY_LIMIT)
		return stop;
	value_run_agreed(run, c);
	run->next++;
	value_set_gpr(run->machine, VALUE_RAX, c->result, VALUE_EXACT);
	int err = value_run_kernel(run, c);
	if (!err && shares)
		value_memory_assume_all(&run->memory);
	if (c->nr == SYS_exit) { /* what was written behind the thread's last instruction */
		run->ended = err ? VALUE_REPLAY_NO_MEMORY : VALUE_REPLAY_END;
		return run->ended;
	}
	if (c->nr == SYS_rt_sigreturn)
		sigreturn(run, c);
	const struct capture *next = value_run_next_but_switches(run);
	/* Without a handler the call is made again at once. */
	if (call_told_restarts(c->result) && next && next->kind == CAPTURE_KERNEL) {
		value_machine_state(run->machine)->rip -= SYSCALL_BYTES;
		value_set_gpr(run->machine, VALUE_RAX,
			      next->nr == SYS_restart_syscall ? next->nr : c->nr, VALUE_EXACT);
	}
	return err ? VALUE_REPLAY_NO_MEMORY : VALUE_REPLAY_LIMIT;
}

/* One record while control is outside. */
int value_run_outside(struct value_run *run)
{
	const struct capture *c = value_run_record(run);
	if (run->turned)
		return value_run_turned_outside(run);
	if (!c) {
		run->ended = VALUE_REPLAY_END;
		return VALUE_REPLAY_END;
	}
	run->next++;
	switch (c->kind) {
	case CAPTURE_KERNEL:
		if (value_run_kernel(run, c))
			return VALUE_REPLAY_NO_MEMORY;
		if (c->nr == SYS_rt_sigreturn)
			sigreturn(run, c);
		else
			run->unseen |= run->n_signals > 0;
		return VALUE_REPLAY_LIMIT;
	case CAPTURE_ENTER:
		return enter(run, c);
	case CAPTURE_RESULT:
		return take_result(run, c);
	case CAPTURE_SIGNAL:
		return value_run_signal(run, c);
	case CAPTURE_FORK:
	case CAPTURE_SWITCH:
	case CAPTURE_INSN: /* of a traced module's code that is entered unseen: nothing to lead */
		return VALUE_REPLAY_LIMIT;
	case CAPTURE_END:
	case CAPTURE_EXEC:
		run->ended = VALUE_REPLAY_END;
		return VALUE_REPLAY_END;
	case CAPTURE_LOST:
		run->next--;
		return value_run_fail(run, "%lu records or more were lost", c->lost);
	default:
		run->next--;
		return value_run_fail(run, "a record of kind %u where none may be", c->kind);
	}
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* replay.c: leads the evaluator of one task from record to record.
 *
 *   inside ──call out──> outside ──RESULT──> inside, behind the call
 *                           │ ──ENTER───> inside (a callback, a handler, a thread's start)
 *                           │ ──KERNEL──> still outside: bytes and mappings change
 *   inside ──syscall──> KERNEL ──> inside      inside ──rdtsc──> INSN ──> inside
 *
 * Calls that are open outside are kept with what the ABI says that they give back. The records of a
 * task are all in memory (0.9 to 3.4 bytes per 1,000 instructions compressed, ten times that here),
 * so that going back is an index.
 */
#include "offline/value/replay_impl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEAD_STACK = 4096, MAY_WRITE = 256 };

static int gap(struct value_run *run, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static int gap(struct value_run *run, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(run->gap.text, sizeof(run->gap.text), format, args);
	va_end(args);
	run->gap.count = value_machine_count(run->machine);
	run->gap.ip = value_machine_state(run->machine)->rip;
	run->gap.record = run->next;
	run->ended = VALUE_REPLAY_GAP;
	return VALUE_REPLAY_GAP;
}

static void tell(struct value_run *run, enum value_crossing what, const struct capture *c,
		 const char *import)
{
	if (run->crossing)
		run->crossing(run->crossing_ctx, run, what, c, import);
}

static const struct capture *next_record(const struct value_run *run)
{
	return run->next < run->n_records ? &run->records[run->next] : NULL;
}

/* --- applying records ------------------------------------------------------------------------ */

static void take_registers(struct value_run *run, const struct capture *c)
{
	struct value_machine *m = run->machine;
	for (unsigned i = 0; i < 16; i++)
		if (c->known >> i & 1)
			value_set_gpr(m, i, c->regs[i], VALUE_EXACT);
	if (c->known & CAPTURE_FLAGS_KNOWN) {
		value_set_rflags(value_machine_state(m), c->flags);
		value_forget(m, (uint64_t)1 << VALUE_BIT_FLAGS | (uint64_t)1 << VALUE_BIT_DF,
			     VALUE_EXACT);
	}
}

static int take_ranges(struct value_run *run, const struct capture *c)
{
	for (uint32_t i = 0; i < c->n_ranges; i++) {
		const struct capture_range *r = &c->ranges[i];
		int err = r->unread ? value_memory_set_quality(&run->memory, r->addr, r->len,
							       VALUE_UNKNOWN)
				    : value_memory_write(&run->memory, r->addr, r->bytes, r->len,
							 VALUE_EXACT);
		/* The kernel may have written where nothing of ours ever looks. */
		if (err == -ENOMEM)
			return err;
	}
	return 0;
}

static uint64_t page_up(uint64_t n)
{
	return (n + VALUE_PAGE - 1) & ~(uint64_t)(VALUE_PAGE - 1);
}

static int take_mapping(struct value_run *run, const struct capture *c)
{
	struct value_memory *mem = &run->memory;
	uint64_t end = c->map_addr + page_up(c->map_len);
	struct value_region region = {
		.start = c->map_addr,
		.end = end,
		.off = c->map_off,
		.prot = c->map_prot & 7,
		.source = c->map_file == CAPTURE_NONE	   ? (uint32_t)VALUE_SOURCE_ZEROS
			  : c->map_file == CAPTURE_UNKNOWN ? SOURCE_UNKNOWN
							   : SOURCE_FILES + c->map_file,
	};
	switch (c->map_op) {
	case MAP_MAPPED:
		return value_memory_map(mem, &region);
	case MAP_UNMAPPED:
		return value_memory_unmap(mem, c->map_addr, end);
	case MAP_PROTECTED:
		value_memory_protect(mem, c->map_addr, end, c->map_prot & 7);
		return 0;
	case MAP_FORGOTTEN: {
		const struct value_region *at = value_memory_region(mem, c->map_addr);
		if (!at)
			return 0;
		struct value_region again = *at;
		again.off += c->map_addr - at->start;
		again.start = c->map_addr;
		again.end = end < at->end ? end : at->end;
		again.source &= ~SOURCE_START;
		return value_memory_map(mem, &again);
	}
	case MAP_BREAK: {
		uint64_t top = page_up(c->map_addr);
		if (run->heap_end && top > run->heap_end) {
			struct value_region heap = {.start = run->heap_end, .end = top, .prot = 3};
			int err = value_memory_map(mem, &heap);
			if (err)
				return err;
		} else if (run->heap_end && top < run->heap_end) {
			value_memory_unmap(mem, top, run->heap_end);
		}
		run->heap_end = top;
		return 0;
	}
	case MAP_MOVED: {
		size_t old = page_up(c->map_old_len), len = page_up(c->map_len);
		size_t kept = old < len ? old : len;
		uint8_t *bytes = malloc(kept ? kept : 1), *quality = malloc(kept ? kept : 1);
		int err = bytes && quality ? 0 : -ENOMEM;
		if (!err && value_memory_read(mem, c->map_old, bytes, kept, NULL))
			kept = 0;
		if (!err && kept)
			value_memory_read_qualities(mem, c->map_old, quality, kept);
		region.source = VALUE_SOURCE_ZEROS;
		region.prot = 3;
		if (!err)
			value_memory_unmap(mem, c->map_old, c->map_old + old);
		err = err ? err : value_memory_map(mem, &region);
		if (!err && kept) {
			value_memory_write(mem, c->map_addr, bytes, kept, VALUE_EXACT);
			value_memory_write_qualities(mem, c->map_addr, quality, kept);
		}
		free(bytes);
		free(quality);
		return err;
	}
	default:
		return 0;
	}
}

static int take_kernel(struct value_run *run, const struct capture *c)
{
	int err = take_mapping(run, c);
	err = err ? err : take_ranges(run, c);
	tell(run, VALUE_CROSSING_KERNEL, c, NULL);
	return err == -ENOMEM ? err : 0;
}

/* --- outside --------------------------------------------------------------------------------- */

static const uint8_t kept[] = {VALUE_RBX, VALUE_RBP, 12, 13, 14, 15};

/* What was below the stack pointer of a call is nobody's. */
static void forget_dead_stack(struct value_run *run, uint64_t sp)
{
	value_memory_set_quality(&run->memory, sp - DEAD_STACK, DEAD_STACK, VALUE_UNKNOWN);
}

static bool push_call(struct value_run *run)
{
	struct value_state *s = value_machine_state(run->machine);
	if (run->n_calls == run->room_calls) {
		size_t room = run->room_calls ? 2 * run->room_calls : 16;
		struct open_call *calls = realloc(run->calls, room * sizeof(*calls));
		if (!calls)
			return false;
		run->calls = calls;
		run->room_calls = room;
	}
	struct open_call *call = &run->calls[run->n_calls++];
	uint8_t quality;
	memset(call, 0, sizeof(*call));
	call->sp = s->gpr[VALUE_RSP];
	if (value_memory_read(&run->memory, call->sp, &call->ret, 8, &quality) || quality)
		call->ret = 0;
	const struct value_known *k = value_machine_known(run->machine);
	for (unsigned i = 0; i < sizeof(kept); i++) {
		call->kept[i] = s->gpr[kept[i]];
		if (k->inexact >> kept[i] & 1)
			memcpy(call->quality[i], k->gpr[kept[i]], 8);
	}
	return true;
}

static void give_back(struct value_run *run, const struct open_call *call)
{
	struct value_machine *m = run->machine;
	struct value_state *s = value_machine_state(m);
	struct value_known *k = value_machine_known(m);
	for (unsigned i = 0; i < sizeof(kept); i++) {
		static const uint8_t exact[8];
		s->gpr[kept[i]] = call->kept[i];
		memcpy(k->gpr[kept[i]], call->quality[i], 8);
		uint64_t bit = (uint64_t)1 << kept[i];
		bool inexact = memcmp(call->quality[i], exact, 8);
		k->inexact = inexact ? k->inexact | bit : k->inexact & ~bit;
	}
	value_set_gpr(m, VALUE_RSP, call->sp + 8, VALUE_EXACT);
	s->rip = call->ret;
}

/* What an opaque function may have written, as far as its arguments show it, is assumed. */
static void assume_written(struct value_run *run)
{
	static const uint8_t args[] = {VALUE_RDI, VALUE_RSI, VALUE_RDX, VALUE_RCX, 8, 9};
	const struct value_state *s = value_machine_state(run->machine);
	for (unsigned i = 0; i < sizeof(args); i++) {
		uint64_t addr = s->gpr[args[i]];
		const struct value_region *at = value_memory_region(&run->memory, addr);
		if (!at || at->start > addr || !(at->prot & VALUE_WRITE) ||
		    value_quality(run->machine, (uint64_t)1 << args[i]))
			continue;
		for (uint64_t k = addr; k < addr + MAY_WRITE && k < at->end; k++) {
			uint8_t q;
			if (!value_memory_read_qualities(&run->memory, k, &q, 1) &&
			    q == VALUE_EXACT)
				value_memory_set_quality(&run->memory, k, 1, VALUE_ASSUMED);
		}
	}
}

/* The first call through a lazy PLT stub: the stub has pushed its number, the common one before all
 * stubs a word of the linker's, and jumps to the linker. Undoes both pushes, and gives the stub's
 * GOT slot an address outside, as the linker does: not the true one, so it is assumed. Returns the
 * import's name; NULL: it is no such call. */
static const char *resolve(struct value_run *run, const struct value_insn *by)
{
	enum { STUB = 16 };
	struct value_machine *m = run->machine;
	struct value_state *s = value_machine_state(m);
	uint64_t words[2], sp = s->gpr[VALUE_RSP];
	uint8_t quality;
	if (by->kind != VALUE_INSN_JUMP_IND ||
	    value_memory_read(&run->memory, sp, words, sizeof(words), &quality) || quality ||
	    words[1] > UINT32_MAX)
		return NULL;
	/* By its number: the common stub is the 16 bytes that the jump lies in. */
	uint64_t stub = (by->ip & ~(uint64_t)(STUB - 1)) + STUB * (words[1] + 1);
	const char *name = captures_stub(run->replay->captures, stub);
	if (!name)
		return NULL;
	const struct value_insn *jump = value_machine_insn(m, stub);
	if (jump && jump->kind == VALUE_INSN_JUMP_IND && jump->n_mem)
		value_memory_write(&run->memory, value_place_address(&jump->mem[0], s), &s->rip, 8,
				   VALUE_ASSUMED);
	s->gpr[VALUE_RSP] = sp + sizeof(words);
	return name;
}

static const char *import_name(struct value_run *run)
{
	uint64_t slot;
	const struct value_insn *by = value_machine_left(run->machine, &slot);
	const struct captures *captures = run->replay->captures;
	const char *name = slot ? captures_slot(captures, slot) : NULL;
	name = name ? name : captures_stub(captures, value_machine_state(run->machine)->rip);
	return name || !by ? name : resolve(run, by);
}

/* A callback, a handler or the program has returned to its caller outside. */
static void return_from_entry(struct value_run *run)
{
	run->import = NULL;
	import_clobber(run->machine);
	forget_dead_stack(run, value_machine_state(run->machine)->gpr[VALUE_RSP]);
	run->outside = true;
}

/* System calls of a function whose result nobody uses, and that is not told therefore: free(). */
static bool only_maps(const struct capture *c)
{
	return c && c->kind == CAPTURE_KERNEL && c->map_op != MAP_NONE;
}

/* A call whose site has no place behind it is over at once; its result is not known. */
static int pass_untold(struct value_run *run, const char *name)
{
	while (only_maps(next_record(run)))
		if (take_kernel(run, &run->records[run->next++]))
			return VALUE_REPLAY_NO_MEMORY;
	struct open_call *call = &run->calls[run->n_calls - 1];
	if (!call->ret)
		return gap(run, "a call that returns to an address that is not known");
	if (!value_machine_is_code(run->machine, call->ret))
		return VALUE_REPLAY_LIMIT; /* a tail call of what was called from outside */
	give_back(run, call);
	run->n_calls--;
	run->outside = false;
	tell(run, VALUE_CROSSING_RESULT, NULL, name);
	return VALUE_REPLAY_LIMIT;
}

/* Control has just left. */
static int leave(struct value_run *run)
{
	struct value_machine *m = run->machine;
	uint64_t slot;
	const struct value_insn *by = value_machine_left(m, &slot);
	if (by && by->kind == VALUE_INSN_RET) {
		return_from_entry(run);
		return VALUE_REPLAY_LIMIT;
	}
	const char *name = import_name(run);
	const struct import_row *row = name ? imports_find(run->replay->imports, name) : NULL;
	tell(run, VALUE_CROSSING_CALL, NULL, name);
	if (!push_call(run))
		return VALUE_REPLAY_NO_MEMORY;
	struct open_call *call = &run->calls[run->n_calls - 1];
	call->import = name;
	call->args[0] = value_machine_state(m)->gpr[VALUE_RDI];
	call->args[1] = value_machine_state(m)->gpr[VALUE_RSI];
	if (row && row->kind == IMPORT_MODEL) {
		int err = import_model(name, m);
		if (err == -ENOMEM)
			return VALUE_REPLAY_NO_MEMORY;
		if (err)
			return gap(run, "%s() cannot be recomputed: its arguments are not known",
				   name);
		if (!call->ret)
			return gap(run, "%s() returns to an address that is not known", name);
		forget_dead_stack(run, call->sp);
		give_back(run, call);
		run->n_calls--;
		tell(run, VALUE_CROSSING_RESULT, NULL, name);
		return VALUE_REPLAY_LIMIT;
	}
	if (!row || row->kind == IMPORT_OPAQUE)
		assume_written(run);
	import_clobber(m);
	forget_dead_stack(run, call->sp);
	run->import = name;
	run->outside = true;
	bool untold = row && row->kind == IMPORT_RESULT && !value_run_awaits(run, call->ret);
	return untold ? pass_untold(run, name) : VALUE_REPLAY_LIMIT;
}

static uint64_t place_ip(const struct value_run *run, const struct capture *c, uint64_t addr)
{
	const struct capture_place *p = &run->replay->places[c->place];
	uint64_t bias = 0;
	captures_bias(run->replay->captures, p->module, &bias);
	return bias + addr;
}

static int take_result(struct value_run *run, const struct capture *c)
{
	const struct capture_place *p = &run->replay->places[c->place];
	uint64_t back = place_ip(run, c, p->site_next);
	uint64_t last = run->n_calls ? run->calls[run->n_calls - 1].ret : 0;
	while (run->n_calls && run->calls[run->n_calls - 1].ret != back)
		run->n_calls--; /* left by longjmp, or a callback's caller that was not ours */
	if (!run->n_calls)
		return gap(run, "a result behind %#lx; the last call out returns to %#lx (%s)",
			   back, last, run->import ? run->import : "?");
	struct open_call *call = &run->calls[--run->n_calls];
	import_clobber(run->machine);
	give_back(run, call);
	take_registers(run, c);
	if (call->import && value_blocks_tell(&run->blocks, &run->memory, call->import, call->args,
					      c->regs[VALUE_RAX], run->next))
		return VALUE_REPLAY_NO_MEMORY;
	if (take_ranges(run, c))
		return VALUE_REPLAY_NO_MEMORY;
	run->outside = false;
	run->expected = place_ip(run, c, p->addr);
	tell(run, VALUE_CROSSING_RESULT, c, call->import);
	return VALUE_REPLAY_LIMIT;
}

static int enter(struct value_run *run, const struct capture *c)
{
	struct value_machine *m = run->machine;
	import_clobber(m);
	take_registers(run, c);
	if (take_ranges(run, c))
		return VALUE_REPLAY_NO_MEMORY;
	value_machine_state(m)->rip = c->ip;
	run->outside = false;
	run->expected = c->ip;
	tell(run, VALUE_CROSSING_ENTER, c, NULL);
	return VALUE_REPLAY_LIMIT;
}

/* Keeps what a handler interrupts, for rt_sigreturn(). */
static int take_signal(struct value_run *run, const struct capture *c)
{
	struct value_machine *m = run->machine;
	struct interrupted *was = realloc(run->signals, (run->n_signals + 1) * sizeof(*was));
	if (!was)
		return VALUE_REPLAY_NO_MEMORY;
	run->signals = was;
	was = &was[run->n_signals++];
	was->outside = run->outside;
	was->n_calls = run->n_calls;
	was->state = *value_machine_state(m);
	was->known = *value_machine_known(m);
	run->outside = true;
	forget_dead_stack(run, c->sp - 128);
	tell(run, VALUE_CROSSING_SIGNAL, c, NULL);
	return VALUE_REPLAY_LIMIT;
}

static void return_from_signal(struct value_run *run)
{
	if (!run->n_signals)
		return;
	const struct interrupted *was = &run->signals[--run->n_signals];
	*value_machine_state(run->machine) = was->state;
	*value_machine_known(run->machine) = was->known;
	run->outside = was->outside;
	run->n_calls = was->n_calls < run->n_calls ? was->n_calls : run->n_calls;
}

/* One record while control is outside. */
static int take_outside(struct value_run *run)
{
	const struct capture *c = next_record(run);
	if (!c) {
		run->ended = VALUE_REPLAY_END;
		return VALUE_REPLAY_END;
	}
	run->next++;
	switch (c->kind) {
	case CAPTURE_KERNEL:
		if (take_kernel(run, c))
			return VALUE_REPLAY_NO_MEMORY;
		if (c->nr == SYS_RT_SIGRETURN)
			return_from_signal(run);
		return VALUE_REPLAY_LIMIT;
	case CAPTURE_ENTER:
		return enter(run, c);
	case CAPTURE_RESULT:
		return take_result(run, c);
	case CAPTURE_SIGNAL:
		return take_signal(run, c);
	case CAPTURE_FORK:
	case CAPTURE_INSN: /* of a traced module's code that is entered unseen: nothing to lead */
		return VALUE_REPLAY_LIMIT;
	case CAPTURE_END:
	case CAPTURE_EXEC:
		run->ended = VALUE_REPLAY_END;
		return VALUE_REPLAY_END;
	case CAPTURE_LOST:
		run->next--;
		return gap(run, "%lu records or more were lost", c->lost);
	default:
		run->next--;
		return gap(run, "a record of kind %u where none may be", c->kind);
	}
}

/* --- inside ---------------------------------------------------------------------------------- */

/* A register that is told and exact must be what was computed. */
static int check(struct value_run *run, const struct capture *c)
{
	struct value_machine *m = run->machine;
	const struct value_state *s = value_machine_state(m);
	if (value_quality(m, (uint64_t)1 << VALUE_RSP) == VALUE_EXACT && c->sp != s->gpr[VALUE_RSP])
		return gap(run, "the stack pointer is %#lx, recorded was %#lx", s->gpr[VALUE_RSP],
			   c->sp);
	for (unsigned i = 0; i < 16; i++)
		if (c->known >> i & 1 && !value_quality(m, (uint64_t)1 << i) &&
		    s->gpr[i] != c->regs[i])
			return gap(run, "register %u is %#lx, recorded was %#lx", i, s->gpr[i],
				   c->regs[i]);
	uint64_t bits = 1u << VALUE_RBX | 1u << VALUE_RSP | 1u << VALUE_RBP | 0xf000;
	if (c->has_hash && !value_quality(m, bits) && capture_hash(s->gpr) != c->hash)
		return gap(run, "the registers that calls keep are not those that were recorded");
	return VALUE_REPLAY_LIMIT;
}

/* Rip is at a place. Its record, if it has one, is taken and checked. */
static int at_place(struct value_run *run)
{
	struct value_state *s = value_machine_state(run->machine);
	const struct capture *c = next_record(run);
	bool expected = run->expected == s->rip;
	if (expected)
		run->expected = 0;
	if (c && c->kind == CAPTURE_SIGNAL && c->ip == s->rip && c->sp == s->gpr[VALUE_RSP] &&
	    check(run, c) == VALUE_REPLAY_LIMIT) {
		run->next++;
		return take_signal(run, c);
	}
	run->ended = 0;
	if (c && c->kind == CAPTURE_END && c->ip == s->rip && c->sp == s->gpr[VALUE_RSP]) {
		run->ended = VALUE_REPLAY_END;
		return VALUE_REPLAY_END;
	}
	if (expected)
		return check(run, &run->records[run->next - 1]);
	if (!c || c->place == CAPTURE_NONE ||
	    place_ip(run, c, run->replay->places[c->place].addr) != s->rip)
		return VALUE_REPLAY_LIMIT;
	const struct capture_place *p = &run->replay->places[c->place];
	bool always = c->kind == CAPTURE_RESULT || p->flags & PLACE_FULL;
	if (!always || c->sp != s->gpr[VALUE_RSP])
		return VALUE_REPLAY_LIMIT;
	int stop = check(run, c);
	if (stop != VALUE_REPLAY_LIMIT)
		return stop;
	run->next++;
	take_registers(run, c);
	return take_ranges(run, c) ? VALUE_REPLAY_NO_MEMORY : VALUE_REPLAY_LIMIT;
}

static int at_syscall(struct value_run *run)
{
	const struct capture *c = next_record(run);
	if (c && (c->kind == CAPTURE_END || c->kind == CAPTURE_EXEC)) {
		run->ended = VALUE_REPLAY_END;
		return VALUE_REPLAY_END;
	}
	if (!c || c->kind != CAPTURE_KERNEL)
		return gap(run, "a system call without a record");
	run->next++;
	value_set_gpr(run->machine, VALUE_RAX, c->result, VALUE_EXACT);
	return take_kernel(run, c) ? VALUE_REPLAY_NO_MEMORY : VALUE_REPLAY_LIMIT;
}

static int at_chance(struct value_run *run, struct value_trace *trace)
{
	struct value_machine *m = run->machine;
	const struct capture *c = next_record(run);
	uint64_t ip = value_machine_state(m)->rip;
	const struct capture_place *p =
		c && c->place != CAPTURE_NONE ? &run->replay->places[c->place] : NULL;
	if (!p || c->kind != CAPTURE_INSN || place_ip(run, c, p->site) != ip)
		return gap(run, "an unpredictable instruction without a record");
	take_registers(run, c);
	int err = value_machine_skip(m, trace);
	if (err)
		return err == -EAGAIN ? VALUE_REPLAY_TRACE_FULL : VALUE_REPLAY_NO_MEMORY;
	run->next++;
	run->expected = place_ip(run, c, p->addr);
	return VALUE_REPLAY_LIMIT;
}

/* A return to an address that nobody of ours has pushed goes to whoever called from outside. Any
 * other branch on an unknown value is a gap. */
static int return_outside(struct value_run *run, struct value_trace *trace)
{
	struct value_machine *m = run->machine;
	struct value_state *s = value_machine_state(m);
	const struct value_insn *insn = value_machine_insn(m, s->rip);
	uint8_t quality = VALUE_EXACT;
	uint64_t to;
	if (!insn || insn->kind != VALUE_INSN_RET ||
	    value_quality(m, (uint64_t)1 << VALUE_RSP) != VALUE_EXACT ||
	    value_memory_read(&run->memory, s->gpr[VALUE_RSP], &to, 8, &quality) ||
	    quality == VALUE_EXACT)
		return gap(run, "a branch on a value that is not known; the last call out: %s",
			   run->import ? run->import : "none");
	int err = value_machine_skip(m, trace);
	if (err)
		return err == -EAGAIN ? VALUE_REPLAY_TRACE_FULL : VALUE_REPLAY_NO_MEMORY;
	value_set_gpr(m, VALUE_RSP, s->gpr[VALUE_RSP] + 8, VALUE_EXACT);
	return_from_entry(run);
	return VALUE_REPLAY_LIMIT;
}

/* Where the next record stands at a point that is not known before: stop there. */
static void expect_anywhere(struct value_run *run)
{
	const struct capture *c = next_record(run);
	if (c && (c->kind == CAPTURE_SIGNAL || c->kind == CAPTURE_END) &&
	    value_machine_is_code(run->machine, c->ip))
		value_machine_place(run->machine, c->ip);
}

static int one_stop(struct value_run *run, uint64_t until, struct value_trace *trace)
{
	struct value_machine *m = run->machine;
	expect_anywhere(run);
	enum value_stop stop = value_machine_run(m, until, trace);
	const char *import = run->import ? run->import : "none";
	switch (stop) {
	case VALUE_STOP_LIMIT:
		return VALUE_REPLAY_LIMIT;
	case VALUE_STOP_OUTSIDE:
		return leave(run);
	case VALUE_STOP_PLACE:
		return at_place(run);
	case VALUE_STOP_SYSCALL:
		return at_syscall(run);
	case VALUE_STOP_CHANCE:
		return at_chance(run, trace);
	case VALUE_STOP_TRACE_FULL:
		return VALUE_REPLAY_TRACE_FULL;
	case VALUE_STOP_NO_MEMORY:
		return VALUE_REPLAY_NO_MEMORY;
	case VALUE_STOP_TRAP:
	case VALUE_STOP_FAULT: {
		const struct capture *c = next_record(run);
		if (c && c->kind == CAPTURE_END) {
			run->ended = VALUE_REPLAY_END;
			return VALUE_REPLAY_END;
		}
		return gap(run, "the program would have faulted here; the last call out: %s",
			   import);
	}
	case VALUE_STOP_UNKNOWN_BRANCH:
		return return_outside(run, trace);
	case VALUE_STOP_UNKNOWN_STORE:
		return gap(run, "a store to an address that is not known; the last call out: %s",
			   import);
	}
	return gap(run, "the evaluator stopped");
}

enum value_replay_stop value_run_forward(struct value_run *run, uint64_t until,
					 struct value_trace *trace)
{
	while (!run->ended) {
		uint64_t count = value_machine_count(run->machine);
		if (count >= run->snapshot_next && !value_run_keep(run))
			return VALUE_REPLAY_NO_MEMORY;
		bool inside =
			value_machine_is_code(run->machine, value_machine_state(run->machine)->rip);
		if (count >= until && !run->outside && inside)
			return VALUE_REPLAY_LIMIT;
		uint64_t to = until < run->snapshot_next ? until : run->snapshot_next;
		int stop = run->outside		       ? take_outside(run)
			   : count >= until && !inside ? leave(run)
						       : one_stop(run, to, trace);
		if (stop != VALUE_REPLAY_LIMIT)
			return stop;
	}
	return run->ended;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* calls.c: control leaves the traced modules: by a call, whose open end is kept with what the ABI
 * says that it gives back, or by a return. */
#include "offline/replay/lead/calls.h"

#include "offline/replay/libraries/libraries.h"
#include "offline/replay/meet/missed.h"
#include "offline/replay/meet/records.h"
#include "offline/replay/models/models.h"
#include "offline/replay/run/gap.h"
#include "offline/replay/run/interrupted.h"
#include "offline/replay/run/places.h"
#include "offline/replay/run/run.h"
#include "offline/replay/run/standing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { DEAD_STACK = 4096 };

static const uint8_t kept[] = {VALUE_RBX, VALUE_RBP, 12, 13, 14, 15};

void value_run_dead_stack(struct value_run *run, uint64_t sp)
{
	/* Of its two pages each for itself: the lower one may not be mapped. */
	uint64_t page = sp & ~(uint64_t)(VALUE_PAGE - 1);
	value_memory_set_quality(&run->memory, page, sp - page, VALUE_UNKNOWN);
	value_memory_set_quality(&run->memory, sp - DEAD_STACK, page - (sp - DEAD_STACK),
				 VALUE_UNKNOWN);
}

static bool push_call(struct value_run *run, uint64_t sp)
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
	call->sp = sp;
	if (value_memory_read(&run->memory, call->sp, &call->ret, 8, &quality) ||
	    quality == VALUE_UNKNOWN)
		call->ret = 0;
	const struct value_known *k = value_machine_known(run->machine);
	for (unsigned i = 0; i < sizeof(kept); i++) {
		call->kept[i] = s->gpr[kept[i]];
		if (k->inexact >> kept[i] & 1)
			memcpy(call->quality[i], k->gpr[kept[i]], 8);
	}
	return true;
}

void value_run_give_back(struct value_run *run, const struct open_call *call)
{
	struct value_machine *m = run->machine;
	struct value_state *s = value_machine_state(m);
	struct value_known *k = value_machine_known(m);
	for (unsigned i = 0; i < sizeof(kept); i++) {
		static const uint8_t exact[8];
		s->gpr[kept[i]] = call->kept[i];
		memcpy(k->gpr[kept[i]], call->quality[i], 8);
		memset(k->gpr_bits[kept[i]], 0, 8);
		uint64_t bit = (uint64_t)1 << kept[i];
		bool inexact = memcmp(call->quality[i], exact, 8);
		k->inexact = inexact ? k->inexact | bit : k->inexact & ~bit;
	}
	value_set_gpr(m, VALUE_RSP, call->sp + 8, VALUE_EXACT);
	s->rip = call->ret;
}

/* The first call through a lazy PLT stub: the stub has pushed its number, the common one before all
 * stubs a word of the linker's, and jumps to the linker. */
struct lazy_call {
	const char *name; /* NULL: it is no such call */
	uint64_t stub;
};

enum { STUB = 16, PUSHED = 16 /* bytes */ };

/* The words are the task's own, though no more than assumed while another thread is awake. */
static struct lazy_call lazy_call(struct value_run *run, const struct value_insn *by)
{
	struct lazy_call call = {0};
	uint64_t words[2], sp = value_machine_state(run->machine)->gpr[VALUE_RSP];
	uint8_t quality;
	if (by->kind != VALUE_INSN_JUMP_IND ||
	    value_memory_read(&run->memory, sp, words, sizeof(words), &quality) ||
	    quality == VALUE_UNKNOWN || words[1] > UINT32_MAX)
		return call;
	/* By its number: the common stub is the 16 bytes that the jump lies in. */
	call.stub = (by->ip & ~(uint64_t)(STUB - 1)) + STUB * (words[1] + 1);
	call.name = captures_stub(run->replay->captures, call.stub);
	return call;
}

/* Does without the linker: undoes both pushes, and gives the stub's GOT slot an address outside,
 * not the true one, so it is assumed. */
static void skip_linker(struct value_run *run, const struct lazy_call *call)
{
	struct value_machine *m = run->machine;
	struct value_state *s = value_machine_state(m);
	const struct value_insn *jump = value_machine_insn(m, call->stub);
	if (jump && jump->kind == VALUE_INSN_JUMP_IND && jump->n_mem)
		value_memory_write(&run->memory, value_place_address(&jump->mem[0], s), &s->rip, 8,
				   VALUE_ASSUMED);
	s->gpr[VALUE_RSP] += PUSHED;
}

/* The name of what is called; *@lazy: through the linker. */
static const char *import_name(struct value_run *run, const struct value_insn *by, uint64_t slot,
			       struct lazy_call *lazy)
{
	const struct captures *captures = run->replay->captures;
	const char *name = slot ? captures_slot(captures, slot) : NULL;
	name = name ? name : captures_stub(captures, value_machine_state(run->machine)->rip);
	*lazy = name || !by ? (struct lazy_call){0} : lazy_call(run, by);
	return name ? name : lazy->name;
}

void value_run_returned(struct value_run *run)
{
	const uint64_t sp = value_machine_state(run->machine)->gpr[VALUE_RSP];
	run->import = NULL;
	if (value_libraries_has(&run->libraries, value_machine_state(run->machine)->rip)) {
		run->in_library = true;
		return;
	}
	import_clobber(run->machine);
	value_run_dead_stack(run, sp);
	run->outside = true;
	run->unseen =
		!value_run_handler_at(run, sp - 8); /* a handler returns to the kernel at once */
}

/* System calls of a function whose result nobody uses, and that is not told therefore: free(). */
static bool only_maps(const struct capture *c)
{
	return c && c->kind == CAPTURE_KERNEL && c->map_op != MAP_NONE;
}

/* A call whose site has no place behind it is over at once; its result is not known. */
static int pass_untold(struct value_run *run, const char *name)
{
	const struct capture *c;
	while (only_maps(c = value_run_record(run))) {
		run->next++;
		if (value_run_kernel(run, c))
			return VALUE_REPLAY_NO_MEMORY;
	}
	struct open_call *call = &run->calls[run->n_calls - 1];
	if (!call->ret)
		return value_run_fail(run, "a call that returns to an address that is not known");
	if (!value_machine_is_code(run->machine, call->ret))
		return VALUE_REPLAY_LIMIT; /* a tail call of what was called from outside */
	value_run_give_back(run, call);
	run->n_calls--;
	run->outside = false;
	value_run_doubt(run);
	value_run_tell(run, VALUE_CROSSING_RESULT, NULL, name);
	return VALUE_REPLAY_LIMIT;
}

/* A function of the table that needs no capture. */
static int recompute(struct value_run *run, const char *name)
{
	struct open_call *call = &run->calls[run->n_calls - 1];
	int err = import_model(name, run->machine);
	if (err == -ENOMEM)
		return VALUE_REPLAY_NO_MEMORY;
	if (err)
		return value_run_fail(run, "%s() cannot be recomputed: its arguments are not known",
				      name);
	if (!call->ret)
		return value_run_fail(run, "%s() returns to an address that is not known", name);
	value_run_dead_stack(run, call->sp);
	value_run_give_back(run, call);
	run->n_calls--;
	value_run_tell(run, VALUE_CROSSING_RESULT, NULL, name);
	return VALUE_REPLAY_LIMIT;
}

/* What is called is not executed here: its row says what it does, and its captures. */
static int leave_unseen(struct value_run *run, const char *name, const struct lazy_call *lazy)
{
	struct open_call *call = &run->calls[run->n_calls - 1];
	const struct import_row *row = name ? imports_find(run->replay->imports, name) : NULL;
	const char *clock;
	uint64_t ip = value_machine_state(run->machine)->rip;
	if (lazy->name)
		skip_linker(run, lazy);
	if (row && row->kind == IMPORT_MODEL)
		return recompute(run, name);
	bool known = (row && row->kind != IMPORT_OPAQUE && !run->replay->whole) ||
		     value_libraries_vdso(&run->libraries, ip, &clock);
	if (value_run_is_lost(run))
		return value_run_fail(
			run, "a call to %s cannot be executed, and its end is watched no longer",
			name ? name : "code of no file");
	import_clobber(run->machine);
	value_run_dead_stack(run, call->sp);
	run->import = name;
	run->outside = true;
	run->unseen = !known;
	bool untold = row && row->kind == IMPORT_RESULT && !value_run_awaits(run, call->ret);
	return untold ? pass_untold(run, name) : VALUE_REPLAY_LIMIT;
}

int value_run_leave(struct value_run *run)
{
	struct value_machine *m = run->machine;
	const struct value_state *s = value_machine_state(m);
	uint64_t slot;
	const struct value_insn *by = value_machine_left(m, &slot);
	if (by && by->kind == VALUE_INSN_RET) {
		value_run_returned(run);
		return VALUE_REPLAY_LIMIT;
	}
	struct lazy_call lazy;
	const char *name = import_name(run, by, slot, &lazy);
	value_run_tell(run, VALUE_CROSSING_CALL, NULL, name);
	if (!push_call(run, s->gpr[VALUE_RSP] + (lazy.name ? PUSHED : 0)))
		return VALUE_REPLAY_NO_MEMORY;
	struct open_call *call = &run->calls[run->n_calls - 1];
	call->import = name;
	call->args[0] = s->gpr[VALUE_RDI];
	call->args[1] = s->gpr[VALUE_RSI];
	const char *clock;
	bool asks = value_libraries_vdso(&run->libraries, s->rip, &clock);
	if (asks && value_run_pass_missed(run, value_run_at_clock))
		return VALUE_REPLAY_NO_MEMORY;
	run->in_library =
		value_libraries_has(&run->libraries, s->rip) || (asks && value_run_told_time(run));
	return run->in_library ? VALUE_REPLAY_LIMIT : leave_unseen(run, name, &lazy);
}

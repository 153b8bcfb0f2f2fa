// SPDX-License-Identifier: LGPL-2.1-or-later
/* records.c: what a record says becomes the state: registers and bytes. */
#include "offline/replay/meet/records.h"

#include "offline/capture/memory_file.h"
#include "offline/capture/syscalls.h"
#include "offline/replay/libraries/libraries.h"
#include "offline/replay/meet/agrees.h"
#include "offline/replay/meet/led.h"
#include "offline/replay/run/gap.h"
#include "offline/replay/run/mappings.h"
#include "offline/replay/run/places.h"
#include "offline/replay/run/run.h"
#include "offline/replay/run/standing.h"
#include "offline/replay/threads/awake.h"
#include "offline/replay/threads/neighbours.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

void value_run_registers(struct value_run *run, const struct capture *c)
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

/* These bytes were written, perhaps, and could not be read. What the task may not write, nothing
 * has been written to: no page of it had been touched. */
static int forget_unread(struct value_run *run, uint64_t addr, uint64_t len)
{
	for (uint64_t end = addr + len, next; addr < end; addr = next) {
		const struct value_region *r = value_memory_region(&run->memory, addr);
		next = r ? r->end : (addr | (VALUE_PAGE - 1)) + 1;
		next = next - addr < end - addr ? next : end;
		if (!r || !(r->prot & (VALUE_WRITE | VALUE_SHARED)))
			continue;
		int err = value_memory_set_quality(&run->memory, addr, next - addr, VALUE_UNKNOWN);
		if (err)
			return err;
	}
	return 0;
}

int value_run_ranges(struct value_run *run, const struct capture *c)
{
	for (uint32_t i = 0; i < c->n_ranges; i++) {
		const struct capture_range *r = &c->ranges[i];
		int err = r->unread ? forget_unread(run, r->addr, r->len)
				    : value_memory_write(&run->memory, r->addr, r->bytes, r->len,
							 VALUE_EXACT);
		/* The kernel may have written where nothing of ours ever looks. */
		if (err == -ENOMEM)
			return err;
	}
	return 0;
}

bool value_run_told_time(const struct value_run *run)
{
	const struct capture *c = value_run_record(run);
	const char *by;
	/* There it may have lost the processor before. */
	for (uint64_t i = run->next;
	     c && c->kind == CAPTURE_SWITCH && value_libraries_vdso(&run->libraries, c->ip, &by);)
		c = value_run_record_at(run, ++i);
	return c && c->kind == CAPTURE_KERNEL && value_libraries_vdso(&run->libraries, c->ip, &by);
}

/* Others, or code that was not executed here, may have written to what may only be read behind the
 * call @c, which is the last record taken. */
static void doubt_protected(struct value_run *run, const struct capture *c)
{
	bool protects = c->map_op == MAP_PROTECTED && !c->result && !(c->map_prot & VALUE_WRITE);
	if (protects && (run->unseen || value_run_met_until(run, c)))
		value_memory_assume_all(&run->memory);
}

/* Whether the call may have written to memory by its file, past all protections. */
static bool writes_by_file(struct value_run *run, const struct capture *c)
{
	const struct neighbours *n = run->neighbours;
	uint64_t others = n ? n->memory_opened : 0;

	if (memory_file_opened(c) && (!run->memory_opened || c->order < run->memory_opened))
		run->memory_opened = c->order;
	bool opened = (run->memory_opened && c->order > run->memory_opened) ||
		      (others && c->order > others);
	return opened && memory_file_written(c);
}

/* Whether what the call has written is not what it has captured, or not all. */
static bool writes_untold(struct value_run *run, const struct capture *c)
{
	return value_run_led_astray(run, c) || syscall_writes_untold(c->nr, c->args, c->result);
}

int value_run_kernel(struct value_run *run, const struct capture *c)
{
	enum { SET_GS = 0x1001, SET_FS = 0x1002 }; /* ARCH_SET_GS, ARCH_SET_FS */
	doubt_protected(run, c);
	int err = value_run_map(run, c);
	/* There the kernel writes from now on whenever it likes; of which processor it is, each
	 * time is told, or none. */
	if (c->nr == SYS_rseq && !c->result && c->args[1] < VALUE_PAGE)
		value_memory_set_quality(&run->memory, c->args[0], c->args[1], VALUE_UNKNOWN);
	bool untold = writes_untold(run, c);
	err = err ? err : value_run_ranges(run, c);
	if (writes_by_file(run, c))
		value_memory_assume_forced(&run->memory);
	else if (untold)
		value_memory_assume_all(&run->memory);
	if (c->nr == SYS_arch_prctl && !c->result && c->args[0] == SET_FS)
		value_machine_state(run->machine)->gpr[VALUE_FS] = c->args[1];
	if (c->nr == SYS_arch_prctl && !c->result && c->args[0] == SET_GS)
		value_machine_state(run->machine)->gpr[VALUE_GS] = c->args[1];
	value_run_tell(run, VALUE_CROSSING_KERNEL, c, NULL);
	return err == -ENOMEM ? err : 0;
}

void value_run_doubt(struct value_run *run)
{
	if (run->unseen)
		value_memory_assume_all(&run->memory);
	run->unseen = false;
}

/* Behind a system call what it has changed is not told. */
bool value_run_behind_syscall(struct value_run *run, uint64_t ip)
{
	uint8_t bytes[2];
	return !value_memory_read(&run->memory, ip - 2, bytes, 2, NULL) && bytes[0] == 0x0f &&
	       bytes[1] == 0x05;
}

bool value_run_ends(struct value_run *run, const struct capture *c)
{
	const struct value_state *s = value_machine_state(run->machine);
	return c && c->kind == CAPTURE_END && c->ip == s->rip && c->sp == s->gpr[VALUE_RSP] &&
	       (value_run_agrees(run, c) || value_run_behind_syscall(run, c->ip));
}

/* What is to be met next may be there. */
static void want(struct value_run *run, const struct capture *c)
{
	uint64_t wanted[VALUE_WANTED] = {run->expected};
	if (c && c->place != CAPTURE_NONE)
		wanted[1] = value_run_place_ip(run, c, run->replay->places[c->place].addr);
	if (c)
		wanted[2] = c->ip;
	if (c && c->kind == CAPTURE_SWITCH) /* in a probe's trap, as switches.c says */
		wanted[3] = c->ip - 1;
	value_machine_want(run->machine, wanted);
}

int value_run_expect(struct value_run *run)
{
	const struct capture *c = value_run_record(run);
	want(run, c);
	bool found = c && (c->kind == CAPTURE_SIGNAL || c->kind == CAPTURE_SWITCH);
	bool anywhere = (found || (c && c->kind == CAPTURE_END)) &&
			value_machine_is_code(run->machine, c->ip);
	if (!anywhere)
		return value_machine_expect(run->machine, 0, NULL, 0);
	/* At the end, which may be behind a system call, only the stack pointer has to be that. */
	uint64_t regs[16];
	memcpy(regs, c->regs, sizeof(regs));
	regs[VALUE_RSP] = c->sp;
	uint16_t known = 1 << VALUE_RSP | (found ? value_run_told_there(run, c) : 0);
	/* Perhaps before the instruction that a probe was at, which need not be one of values. */
	if (c->kind == CAPTURE_SWITCH && c->trapped && value_machine_place(run->machine, c->ip - 1))
		return -ENOMEM;
	return value_machine_expect(run->machine, c->ip, regs, known);
}

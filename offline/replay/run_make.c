// SPDX-License-Identifier: LGPL-2.1-or-later
/* run_make.c: a run without a state, with the memory and the records of its task; the states that
 * it may begin with: what START tells, or that of the thread that has made it; and its end. */
#include "offline/replay/run_make.h"

#include "offline/replay/lead/variants.h"
#include "offline/replay/libraries/libraries.h"
#include "offline/replay/libraries/library_writes.h"
#include "offline/replay/libraries/residue.h"
#include "offline/replay/meet/records.h"
#include "offline/replay/models/blocks.h"
#include "offline/replay/records/calls_told.h"
#include "offline/replay/records/kept_records.h"
#include "offline/replay/records/sources.h"
#include "offline/replay/run/own_code.h"
#include "offline/replay/run/places.h"
#include "offline/replay/run/run.h"
#include "offline/replay/run/snapshots.h"
#include "offline/replay/run/standing.h"
#include "offline/replay/run/suppose.h"
#include "offline/replay/run/together.h"
#include "offline/replay/threads/neighbours.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define SNAPSHOT_EVERY 10000000

/* --- memory at the start --------------------------------------------------------------------- */

static int fill(void *ctx, const struct value_region *region, uint64_t addr, uint8_t *bytes,
		uint8_t *quality)
{
	struct value_run *run = ctx;
	const struct captures *captures = run->replay->captures;
	uint32_t source = region->source & ~SOURCE_START;
	if (region->source & SOURCE_START) {
		int err = captures_page(captures, addr, bytes);
		if (err == -EBADMSG) {
			memset(bytes, 0, VALUE_PAGE);
			memset(quality, VALUE_UNKNOWN, VALUE_PAGE);
			return 0;
		}
		if (err != -ENOENT)
			return err;
	}
	memset(bytes, 0, VALUE_PAGE);
	if (source == VALUE_SOURCE_ZEROS)
		return 0;
	uint64_t off = region->off + (addr - region->start);
	if (source == SOURCE_UNKNOWN ||
	    captures_file_bytes(captures, source - SOURCE_FILES, off, VALUE_PAGE, bytes))
		memset(quality, VALUE_UNKNOWN, VALUE_PAGE);
	return 0;
}

static int map_start(struct value_run *run)
{
	uint32_t n;
	const struct capture_mapping *maps = captures_mappings(run->replay->captures, &n);
	for (uint32_t i = 0; i < n; i++) {
		struct value_region region = {
			.start = maps[i].start,
			.end = maps[i].end,
			.off = maps[i].off,
			.grows_to = maps[i].grows_to,
			.prot = (maps[i].prot & 7) |
				(captures_may_change(run->replay->captures, maps[i].file,
						     maps[i].shared, maps[i].prot & 7)
					 ? VALUE_SHARED
					 : 0) |
				(maps[i].wiped ? VALUE_WIPED : 0),
			.source = SOURCE_START |
				  (maps[i].file == CAPTURE_NONE	     ? 0
				   : maps[i].file == CAPTURE_UNKNOWN ? SOURCE_UNKNOWN
								     : SOURCE_FILES + maps[i].file),
		};
		int err = value_memory_map(&run->memory, &region);
		if (err)
			return err;
	}
	return 0;
}

static int by_address(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static int note_awaited(struct value_run *run)
{
	const struct value_replay *replay = run->replay;
	run->awaited = calloc(replay->n_places + 1, sizeof(*run->awaited));
	run->thinned = calloc(replay->n_places + 1, sizeof(*run->thinned));
	run->telling = calloc(replay->n_places + 1, sizeof(*run->telling));
	if (!run->awaited || !run->thinned || !run->telling)
		return -ENOMEM;
	for (uint32_t i = 0; i < replay->n_places; i++) {
		const struct capture_place *p = &replay->places[i];
		uint64_t bias;
		if (!(p->kinds >> CAPTURE_RESULT & 1) ||
		    !captures_bias(replay->captures, p->module, &bias))
			continue;
		run->awaited[run->n_awaited++] = bias + p->site_next;
		if (p->flags & PLACE_THINNED)
			run->thinned[run->n_thinned++] = bias + p->site_next;
		else
			run->telling[run->n_telling++] = bias + p->addr;
	}
	qsort(run->telling, run->n_telling, sizeof(*run->telling), by_address);
	qsort(run->thinned, run->n_thinned, sizeof(*run->thinned), by_address);
	qsort(run->awaited, run->n_awaited, sizeof(*run->awaited), by_address);
	return 0;
}

/* The executable mapping that a place is in is code. */
static int add_code(struct value_run *run, uint64_t ip)
{
	const struct value_region *at = value_memory_region(&run->memory, ip);
	if (!at || !(at->prot & VALUE_EXEC) || value_machine_is_code(run->machine, ip))
		return 0;
	struct own_code *code = realloc(run->code, (run->n_code + 1) * sizeof(*code));
	if (!code)
		return -ENOMEM;
	run->code = code;
	code[run->n_code++] = (struct own_code){*at, true};
	return value_machine_code(run->machine, at->start, at->end);
}

/* Executable mappings of the files that have places are code, and all their places are set. One
 * where not each time a record is made matters only while the next record is of there. */
static int set_places(struct value_run *run)
{
	int err = 0;
	for (uint32_t i = 0; !err && i < run->replay->n_places; i++) {
		const struct capture_place *p = &run->replay->places[i];
		uint64_t bias;
		if (!captures_bias(run->replay->captures, p->module, &bias))
			continue;
		err = add_code(run, bias + p->addr);
		const uint64_t ip = bias + p->addr;
		if (!err)
			err = value_run_tells(run, ip) ? value_machine_place(run->machine, ip)
						       : value_machine_seldom(run->machine, ip);
	}
	return err;
}

/* --- records --------------------------------------------------------------------------------- */

static int keep_record(struct value_run *run, const struct capture *c)
{
	struct capture copy = *c;
	copy.ranges = NULL;
	copy.n_ranges = 0;
	copy.xsave = NULL;
	size_t size = c->n_ranges * sizeof(*c->ranges) + c->xsave_bytes;
	for (uint32_t i = 0; i < c->n_ranges; i++) {
		size += c->ranges[i].unread ? 0 : c->ranges[i].len;
		run->left_out |= c->kind == CAPTURE_KERNEL && c->ranges[i].unread;
	}
	if (!size)
		return kept_records_add(run->records, &copy) ? 0 : -ENOMEM;
	struct capture_range *ranges = malloc(size);
	if (!ranges)
		return -ENOMEM;
	copy.ranges = ranges;
	copy.n_ranges = c->n_ranges;
	uint8_t *bytes = (uint8_t *)(ranges + c->n_ranges);
	for (uint32_t i = 0; i < c->n_ranges; i++) {
		ranges[i] = c->ranges[i];
		ranges[i].bytes = bytes;
		if (!ranges[i].unread) {
			memcpy(bytes, c->ranges[i].bytes, ranges[i].len);
			bytes += ranges[i].len;
		}
	}
	if (c->xsave) {
		memcpy(bytes, c->xsave, c->xsave_bytes);
		copy.xsave = bytes;
	}
	if (kept_records_add(run->records, &copy))
		return 0;
	free(ranges);
	return -ENOMEM;
}

static int load_records(struct value_run *run, uint32_t task)
{
	struct captures_iter *iter;
	int err = captures_iter_new(run->replay->captures, task, &iter);
	if (err)
		return err;
	struct capture c;
	int more;
	while ((more = captures_next(iter, &c)) == 1 && !err)
		err = keep_record(run, &c);
	captures_iter_free(iter);
	return err ? err : more < 0 ? more : 0;
}

/* --- registers at the start ------------------------------------------------------------------ */

/* The XSAVE area of the standard format: x87 and SSE as FXSAVE has them, which parts are in use at
 * 512, the upper halves of ymm at 576. What is not in use is as the processor starts, zeros. Where
 * what AVX-512 has is, where it is in use, depends on the processor: it is not known. */
static void take_xsave(struct value_run *run, struct value_state *s, const struct capture *c)
{
	enum { AVX_512 = 0xe0 }; /* masks, upper halves, more registers */
	enum { XCR0 = 464 }; /* the kernel's: struct user_xstateregs, arch/x86/include/asm/user.h */
	uint64_t in_use;
	if (!c->xsave || c->xsave_bytes < 576)
		return;
	memcpy(&in_use, c->xsave + 512, 8);
	memcpy(&run->xstate, c->xsave + XCR0, 8);
	memcpy(&s->mxcsr, c->xsave + VALUE_FX_MXCSR, 4);
	if (s->mxcsr & ~VALUE_MXCSR_BITS) { /* no task has such a one */
		s->mxcsr = 0x1f80;
		value_forget(run->machine,
			     (uint64_t)1 << VALUE_BIT_MXCSR | (uint64_t)1 << VALUE_BIT_STICKY,
			     VALUE_UNKNOWN);
	}
	if (in_use & 1) {
		memcpy(s->fx, c->xsave, 6);
		memcpy(s->fx + 32, c->xsave + 32, 128);
	}
	s->no_tops = UINT16_MAX;
	if (in_use & AVX_512)
		value_forget(run->machine, (uint64_t)1 << VALUE_BIT_WIDE, VALUE_UNKNOWN);
	for (unsigned i = 0; i < 16; i++) {
		if (in_use & 2)
			memcpy(s->vec[i], c->xsave + 160 + 16 * i, 16);
		if (in_use & 4 && c->xsave_bytes >= 832)
			memcpy(s->vec[i] + 16, c->xsave + 576 + 16 * i, 16);
	}
}

/* A task that was stopped in a system call makes it again. */
static void resume_call(const struct value_run *run, struct value_state *s)
{
	enum { SYSCALL_BYTES = 2 };
	if (!call_told_restarts((int64_t)s->gpr[VALUE_RAX]))
		return;
	uint64_t i = 1;
	const struct capture *next;
	while ((next = value_run_record_at(run, i)) && next->kind == CAPTURE_SWITCH)
		i++;
	s->rip -= SYSCALL_BYTES;
	s->gpr[VALUE_RAX] = next && next->kind == CAPTURE_KERNEL ? next->nr : SYS_restart_syscall;
}

int value_run_start(struct value_run *run, struct pugmark_diag *diag)
{
	const struct capture *c = value_run_record_at(run, 0);
	if (!c || c->kind != CAPTURE_START)
		return pugmark_diag_set(diag, -ENODATA, "captures", PUGMARK_NO_OFFSET,
					"the task has no start: its values are not known");
	struct value_machine *m = run->machine;
	struct value_state *s = value_machine_state(m);
	for (unsigned i = 0; i < 16; i++)
		s->gpr[i] = c->regs[i];
	value_set_rflags(s, c->flags);
	s->gpr[VALUE_FS] = c->fs_base;
	s->gpr[VALUE_GS] = c->gs_base;
	s->rip = c->ip;
	resume_call(run, s);
	if (c->xsave)
		take_xsave(run, s, c);
	else
		value_forget(m,
			     (uint64_t)0xffffffff << VALUE_BIT_VEC | (uint64_t)1 << VALUE_BIT_WIDE |
				     (uint64_t)1 << VALUE_BIT_X87 | (uint64_t)1 << VALUE_BIT_MXCSR |
				     (uint64_t)1 << VALUE_BIT_STICKY,
			     VALUE_UNKNOWN);
	if (value_run_ranges(run, c) || value_run_code(run))
		return pugmark_diag_set(diag, -ENOMEM, "captures", PUGMARK_NO_OFFSET,
					"out of memory");
	/* A program without a linker begins where the call that executed it is over. */
	const struct capture *again = value_run_record_at(run, run->next = 1);
	if (again && again->kind == CAPTURE_KERNEL && again->ip == c->ip &&
	    (again->nr == SYS_execve || again->nr == SYS_execveat)) {
		s->gpr[VALUE_RAX] = (uint64_t)again->result;
		again = value_run_record_at(run, ++run->next);
	}
	/* The first instruction may be a place as well: its record says the same again. */
	run->next += again && again->kind == CAPTURE_ENTER && again->ip == c->ip &&
		     again->sp == c->regs[VALUE_RSP];
	run->in_library = value_libraries_has(&run->libraries, s->rip);
	run->outside = !run->in_library && !value_machine_is_code(m, s->rip);
	run->expected = s->rip;
	return 0;
}

static uint64_t find_heap_end(const struct value_run *run)
{
	uint32_t n;
	const struct capture_mapping *maps = captures_mappings(run->replay->captures, &n);
	for (uint32_t i = 0; i < n; i++)
		if (maps[i].heap)
			return maps[i].end;
	/* There was none: brk() tells its end alone, so it begins where the first one said. */
	for (uint64_t i = 0; i < run->records->n; i++) {
		const struct capture *c = kept_records_at(run->records, i);
		if (c->kind == CAPTURE_KERNEL && c->map_op == MAP_BREAK && c->map_addr)
			return (c->map_addr + VALUE_PAGE - 1) & ~(uint64_t)(VALUE_PAGE - 1);
	}
	return 0;
}

int value_run_make(struct value_replay *replay, uint32_t task, struct value_run **out)
{
	struct value_run *run = calloc(1, sizeof(*run));
	int err = run ? value_memory_init(&run->memory, fill, run) : -ENOMEM;
	if (!err) {
		run->replay = replay;
		run->snapshot_every = SNAPSHOT_EVERY;
		run->looked = NEVER_LOOKED;
		run->records = calloc(1, sizeof(*run->records));
		run->machine = value_machine_new(&run->memory);
		if (run->machine)
			value_machine_recall(run->machine, value_run_recall, run);
		err = run->records && run->machine ? map_start(run) : -ENOMEM;
	}
	err = err ? err : note_awaited(run);
	err = err ? err : set_places(run);
	err = err ? err : load_records(run, task);
	if (err) {
		value_run_free(run);
		return err;
	}
	run->heap_end = find_heap_end(run);
	*out = run;
	return 0;
}

/* --- threads that are made ------------------------------------------------------------------- */

/* A new thread has the stack and the thread pointer that the call gave it; a new process zeros
 * where it has asked for them. */
int value_run_take_thread(struct value_run *run, struct value_memory *memory,
			  const struct capture *c)
{
	enum { VM = 0x100, SETTLS = 0x80000, CLEARTID = 0x200000 };
	enum { FLAGS = 0, CHILD_TID = 2, STACK = 5, STACK_BYTES = 6, TLS = 7 };
	uint64_t args[8] = {0}; /* struct clone_args, linux/sched.h */
	if (c->nr == SYS_clone) {
		args[FLAGS] = c->args[0];
		args[STACK] = c->args[1];
		args[CHILD_TID] = c->args[3];
		args[TLS] = c->args[4];
	} else if (c->nr == SYS_vfork) {
		args[FLAGS] = VM;
	} else if (c->nr == SYS_clone3) {
		/* Those that it lacks are zeros. */
		size_t len = c->args[1] < sizeof(args) ? c->args[1] : sizeof(args);
		if (value_memory_read(memory, c->args[0], args, len, NULL))
			return 0;
	}
	if (args[STACK])
		value_set_gpr(run->machine, VALUE_RSP, args[STACK] + args[STACK_BYTES],
			      VALUE_EXACT);
	if (args[FLAGS] & CLEARTID)
		run->clears = args[CHILD_TID];
	if (args[FLAGS] & SETTLS)
		value_machine_state(run->machine)->gpr[VALUE_FS] = args[TLS];
	return args[FLAGS] & VM ? 0 : value_memory_become_child(&run->memory);
}

bool value_run_begin_thread(struct value_run *run, struct value_run *maker, const struct capture *c)
{
	const struct capture *first = value_run_record_at(run, 0);
	struct run_snapshot begin;
	if (!value_run_take(maker, &begin))
		return false;
	begin.count = begin.assumed = begin.unknown = 0;
	begin.supposition = (struct supposition){.holds = begin.supposition.holds};
	begin.next = call_told_forks(first) && !first->result;
	begin.expected = 0;
	begin.looked = NEVER_LOOKED;
	begin.waits = begin.unborn = false;
	bool fine = value_run_put(run, &begin);
	free(begin.calls);
	free(begin.signals);
	run->xstate = maker->xstate;
	run->born = c->entered;
	value_set_gpr(run->machine, VALUE_RAX, 0, VALUE_EXACT);
	/* The arguments are where it was made. */
	return fine && !value_run_take_thread(run, &maker->memory, c);
}

/* --- the end --------------------------------------------------------------------------------- */

void value_threads_free(struct value_run *run)
{
	struct value_threads *t = run->threads;
	run->threads = NULL;
	if (!t || t->at[0] != run)
		return;
	for (size_t i = 1; i < t->n; i++)
		value_run_free(t->at[i]);
	free(t->at);
	free(t->tids);
	free(t);
}

void value_run_free(struct value_run *run)
{
	if (!run)
		return;
	for (size_t i = 0; i < run->n_snapshots; i++)
		value_run_drop(run, &run->snapshots[i]);
	free(run->snapshots);
	for (size_t i = 0; i < run->n_near && i < NEAR_SNAPSHOTS; i++)
		value_run_drop(run, &run->near[i]);
	if (run->records)
		kept_records_deinit(run->records);
	free(run->records);
	free(run->reached);
	free(run->calls);
	free(run->signals);
	free(run->awaited);
	free(run->thinned);
	free(run->telling);
	free(run->strays);
	free(run->code);
	value_threads_free(run);
	value_neighbours_free(run->neighbours);
	value_writes_free(run->writes);
	value_blocks_deinit(&run->blocks);
	value_libraries_deinit(&run->libraries);
	value_residue_walker_free(run->walker);
	value_machine_free(run->machine);
	value_memory_deinit(&run->memory);
	free(run);
}

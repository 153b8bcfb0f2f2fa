// SPDX-License-Identifier: LGPL-2.1-or-later
/* records.c: what a record says becomes the state: registers, bytes, mappings; and what a run tells
 * of itself. */
#include "offline/replay/replay_impl.h"

#include "offline/capture/syscalls.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static int end_in_gap(struct value_run *run)
{
	run->gap.count = value_run_count(run);
	run->gap.ip = value_machine_state(run->machine)->rip;
	run->gap.record = run->next;
	run->ended = VALUE_REPLAY_GAP;
	return VALUE_REPLAY_GAP;
}

int value_run_fail(struct value_run *run, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(run->gap.text, sizeof(run->gap.text), format, args);
	va_end(args);
	return end_in_gap(run);
}

int value_run_fail_astray(struct value_run *run, const char *format, ...)
{
	const uint64_t agreed = run->supposition.agreed;
	va_list args;
	va_start(args, format);
	int len = vsnprintf(run->gap.text, sizeof(run->gap.text), format, args);
	va_end(args);
	if (agreed < value_run_count(run) && len > 0 && (size_t)len < sizeof(run->gap.text))
		snprintf(run->gap.text + len, sizeof(run->gap.text) - len,
			 "; of what follows instruction %lu, where a record agreed last, nothing "
			 "is exact",
			 agreed);
	value_run_strayed(run, true);
	return end_in_gap(run);
}

void value_run_tell(struct value_run *run, enum value_crossing what, const struct capture *c,
		    const char *import)
{
	if (run->crossing)
		run->crossing(run->crossing_ctx, run, what, c, import);
}

const struct capture *value_run_record(const struct value_run *run)
{
	return run->turned ? NULL : value_run_record_at(run, run->next);
}

const struct capture *value_run_record_at(const struct value_run *run, uint64_t i)
{
	return i < run->records->n ? kept_records_at(run->records, i) : NULL;
}

uint64_t value_run_place_ip(const struct value_run *run, const struct capture *c, uint64_t addr)
{
	const struct capture_place *p = &run->replay->places[c->place];
	uint64_t bias = 0;
	captures_bias(run->replay->captures, p->module, &bias);
	return bias + addr;
}

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

int value_run_ranges(struct value_run *run, const struct capture *c)
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

/* The first mapping that ends behind @addr, or NULL. */
static const struct value_region *mapped_from(const struct value_memory *mem, uint64_t addr)
{
	const struct value_region *all;
	size_t n = value_memory_regions(mem, &all);
	for (size_t i = 0; i < n; i++)
		if (all[i].end > addr)
			return &all[i];
	return NULL;
}

/* What lies there is as its mappings say once more, but for what is shared, which stays; @maybe: or
 * as it was, until it is written. */
static int forget(struct value_memory *mem, uint64_t from, uint64_t end, bool maybe)
{
	int err = 0;
	while (!err && from < end) {
		const struct value_region *at = mapped_from(mem, from);
		if (!at || at->start >= end)
			break;
		from = from < at->start ? at->start : from;
		struct value_region again = *at;
		again.off += from - at->start;
		again.start = from;
		again.end = end < at->end ? end : at->end;
		again.source &= ~SOURCE_START;
		if (maybe)
			err = value_memory_set_quality(mem, from, again.end - from, VALUE_ASSUMED);
		else if (!(again.prot & VALUE_SHARED))
			err = value_memory_map(mem, &again);
		from = again.end;
	}
	return err == -ENOMEM ? err : 0;
}

/* What stays there of @was, which is not what it was, after mremap(MREMAP_DONTUNMAP): it is as its
 * mapping says. Else nothing (end 0). */
static struct value_region left_by_move(const struct value_region *was, const struct capture *c,
					uint64_t end)
{
	struct value_region left = {0};
	if (!was || !(c->args[3] & MREMAP_DONTUNMAP))
		return left;
	left = *was;
	left.off += c->map_old - was->start;
	left.start = c->map_old;
	left.end = end;
	left.source &= ~SOURCE_START;
	return left;
}

/* mremap(): what was there lies elsewhere now; what is new of it is as its mapping goes on. */
static int move(struct value_memory *mem, const struct capture *c)
{
	size_t old = page_up(c->map_old_len), len = page_up(c->map_len);
	size_t kept = old < len ? old : len;
	const struct value_region *was = value_memory_region(mem, c->map_old);
	struct value_region region = {.prot = VALUE_READ | VALUE_WRITE, .source = SOURCE_UNKNOWN};
	if (was) {
		region = *was;
		region.off += c->map_old - was->start;
		region.source &= ~SOURCE_START;
	}
	region.start = c->map_addr;
	region.end = c->map_addr + len;
	uint8_t *bytes = malloc(kept ? kept : 1), *quality = malloc(kept ? kept : 1);
	int err = bytes && quality ? 0 : -ENOMEM;
	bool read = !err && !value_memory_read(mem, c->map_old, bytes, kept, NULL) &&
		    !value_memory_read_qualities(mem, c->map_old, quality, kept);
	const struct value_region left = left_by_move(was, c, c->map_old + old);
	if (!err && old)
		err = left.end ? value_memory_map(mem, &left)
			       : value_memory_unmap(mem, c->map_old, c->map_old + old);
	err = err ? err : value_memory_map(mem, &region);
	if (!err && kept && read) {
		value_memory_write(mem, c->map_addr, bytes, kept, VALUE_EXACT);
		value_memory_write_qualities(mem, c->map_addr, quality, kept);
	} else if (!err && kept) {
		value_memory_set_quality(mem, c->map_addr, kept, VALUE_UNKNOWN);
	}
	free(bytes);
	free(quality);
	return err;
}

/* Memory of System V, which others write to as well. Nothing tells how long it is: it ends at the
 * next mapping at the latest. */
static int attach(struct value_memory *mem, const struct capture *c)
{
	enum { READ_ONLY = 010000, EXECUTED = 0100000 }; /* SHM_RDONLY, SHM_EXEC */
	const uint64_t most = (uint64_t)1 << 30;
	const struct value_region *all;
	size_t n = value_memory_regions(mem, &all);
	struct value_region region = {
		.start = c->map_addr, .end = c->map_addr + most, .source = SOURCE_UNKNOWN};
	for (size_t i = 0; i < n; i++)
		if (all[i].start > region.start && all[i].start < region.end)
			region.end = all[i].start;
	region.prot = VALUE_READ | VALUE_SHARED;
	region.prot |= c->args[2] & READ_ONLY ? 0 : VALUE_WRITE;
	region.prot |= c->args[2] & EXECUTED ? VALUE_EXEC : 0;
	return value_memory_map(mem, &region);
}

/* How far madvise() came that changes what forks have: it fails at a mapping of a file, or one that
 * others have. */
static uint64_t end_of_wipe(const struct value_memory *mem, const struct capture *c, uint64_t end)
{
	const struct value_region *all;
	size_t n = value_memory_regions(mem, &all);
	for (size_t i = 0; c->result == -EINVAL && i < n && all[i].start < end; i++)
		if (all[i].end > c->map_addr &&
		    (all[i].prot & VALUE_SHARED || (all[i].source & ~SOURCE_START) >= SOURCE_FILES))
			return all[i].start > c->map_addr ? all[i].start : c->map_addr;
	return end;
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
	enum { SYS_MMAP = 9, MAP_SHARED_BIT = 1, MAP_TYPES = 15, MAP_DROPPABLE_TYPE = 8 };
	if (c->nr == SYS_MMAP &&
	    captures_may_change(run->replay->captures, c->map_file, c->args[3] & MAP_SHARED_BIT,
				(int)region.prot))
		region.prot |= VALUE_SHARED;
	/* Of that the kernel makes zeros whenever it likes (Linux 6.11). */
	if (c->nr == SYS_MMAP && (c->args[3] & MAP_TYPES) == MAP_DROPPABLE_TYPE)
		region.prot |= VALUE_SHARED | VALUE_WIPED;
	switch (c->map_op) {
	case MAP_ATTACHED:
		return attach(mem, c);
	case MAP_DETACHED: {
		const struct value_region *at = value_memory_region(mem, c->map_addr);
		return at ? value_memory_unmap(mem, at->start, at->end) : 0;
	}
	case MAP_MAPPED:
		return value_memory_map(mem, &region);
	case MAP_UNMAPPED:
		return value_memory_unmap(mem, c->map_addr, end);
	case MAP_PROTECTED:
		return value_memory_protect(mem, c->map_addr, end, c->map_prot & 7, !c->result);
	case MAP_FORGOTTEN:
		return forget(mem, c->map_addr, end,
			      c->args[2] == MADV_FREE || (c->result && c->result != -ENOMEM));
	case MAP_WIPED_IN_CHILD:
		return value_memory_wiped_in_child(mem, c->map_addr, end_of_wipe(mem, c, end),
						   c->map_prot);
	case MAP_BREAK: {
		uint64_t top = page_up(c->map_addr);
		if (run->heap_end && top > run->heap_end) {
			struct value_region heap = {.start = run->heap_end, .end = top, .prot = 3};
			int err = value_memory_map(mem, &heap);
			if (err)
				return err;
		} else if (run->heap_end && top < run->heap_end) {
			int err = value_memory_unmap(mem, top, run->heap_end);
			if (err)
				return err;
		}
		run->heap_end = top;
		return 0;
	}
	case MAP_MOVED:
		return move(mem, c);
	default:
		return 0;
	}
}

int value_run_map(struct value_run *run, const struct capture *c)
{
	int err = take_mapping(run, c);
	if (!err && c->map_op != MAP_NONE) {
		value_threads_mapped(run);
		err = value_run_code(run);
	}
	return err;
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
	bool protects = c->map_op == MAP_PROTECTED && !(c->map_prot & VALUE_WRITE);
	if (protects && (run->unseen || value_run_met_until(run, c)))
		value_memory_assume_all(&run->memory);
}

int value_run_kernel(struct value_run *run, const struct capture *c)
{
	enum { SYS_ARCH_PRCTL = 158, SYS_RSEQ = 334, ERROR_MOST = 4095 };
	enum { SET_GS = 0x1001, SET_FS = 0x1002 }; /* ARCH_SET_GS, ARCH_SET_FS */
	doubt_protected(run, c);
	int err = value_run_map(run, c);
	/* There the kernel writes from now on whenever it likes; of which processor it is, each
	 * time is told, or none. */
	if (c->nr == SYS_RSEQ && !c->result && c->args[1] < VALUE_PAGE)
		value_memory_set_quality(&run->memory, c->args[0], c->args[1], VALUE_UNKNOWN);
	err = err ? err : value_run_ranges(run, c);
	bool failed = c->result < 0 && c->result >= -ERROR_MOST;
	if (!failed && syscall_writes_untold(c->nr))
		value_memory_assume_all(&run->memory);
	if (c->nr == SYS_ARCH_PRCTL && !c->result && c->args[0] == SET_FS)
		value_machine_state(run->machine)->gpr[VALUE_FS] = c->args[1];
	if (c->nr == SYS_ARCH_PRCTL && !c->result && c->args[0] == SET_GS)
		value_machine_state(run->machine)->gpr[VALUE_GS] = c->args[1];
	value_run_tell(run, VALUE_CROSSING_KERNEL, c, NULL);
	return err == -ENOMEM ? err : 0;
}

static int by_address(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

bool value_run_awaits(const struct value_run *run, uint64_t ret)
{
	return bsearch(&ret, run->awaited, run->n_awaited, sizeof(ret), by_address);
}

bool value_run_tells(const struct value_run *run, uint64_t ip)
{
	return bsearch(&ip, run->telling, run->n_telling, sizeof(ip), by_address) &&
	       value_machine_is_code(run->machine, ip);
}

/* Of which no record is made to the end of the recording. */
static bool is_thinned(const struct value_run *run, uint64_t ret)
{
	return bsearch(&ret, run->thinned, run->n_thinned, sizeof(ret), by_address);
}

bool value_run_is_lost(const struct value_run *run)
{
	const struct open_call *call = run->n_calls ? &run->calls[run->n_calls - 1] : NULL;
	if (!call || !is_thinned(run, call->ret))
		return false;
	uint64_t i = run->next;
	const struct capture *c = value_run_record_at(run, i);
	while (c && (c->kind == CAPTURE_KERNEL || c->kind == CAPTURE_SWITCH))
		c = value_run_record_at(run, ++i);
	return !c || c->kind != CAPTURE_RESULT || c->sp != call->sp + sizeof(call->ret) ||
	       value_run_place_ip(run, c, run->replay->places[c->place].site_next) != call->ret;
}

uint64_t value_run_count(const struct value_run *run)
{
	return run->executing ? run->count : value_machine_count(run->machine);
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

int value_run_expect(struct value_run *run)
{
	const struct capture *c = value_run_record(run);
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

bool value_run_restarted(int64_t result)
{
	enum { RESTARTSYS = 512, RESTARTNOINTR = 513, RESTARTNOHAND = 514, RESTART_BLOCK = 516 };

	return result == -RESTARTSYS || result == -RESTARTNOINTR || result == -RESTARTNOHAND ||
	       result == -RESTART_BLOCK;
}

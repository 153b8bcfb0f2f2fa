// SPDX-License-Identifier: LGPL-2.1-or-later
/* mappings.c: what a record says of mappings: memory that is mapped, moved, protected, wiped or
 * given back is so in the run. */
#include "offline/replay/run/mappings.h"

#include "offline/eval/memory/regions.h"
#include "offline/replay/records/sources.h"
#include "offline/replay/run/own_code.h"
#include "offline/replay/run/run.h"
#include "offline/replay/run/together.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static uint64_t page_up(uint64_t n)
{
	return (n + VALUE_PAGE - 1) & ~(uint64_t)(VALUE_PAGE - 1);
}

/* What lies there is as its mappings say once more, but for what is shared, which stays; @maybe: or
 * as it was, until it is written. */
static int forget(struct value_memory *mem, uint64_t from, uint64_t end, bool maybe)
{
	int err = 0;
	while (!err && from < end) {
		const struct value_region *at = value_regions_next(mem->regions, from);
		if (!at || at->start >= end)
			break;
		from = from < at->start ? at->start : from;
		struct value_region again = *at;
		again.off += from - at->start;
		again.start = from;
		again.end = end < at->end ? end : at->end;
		again.source &= ~SOURCE_START;
		if (maybe)
			err = value_memory_limit_quality(mem, from, again.end - from,
							 VALUE_ASSUMED);
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

static uint32_t without_start(uint32_t source)
{
	return source & ~SOURCE_START;
}

static uint32_t unknown_start(uint32_t source)
{
	return source & SOURCE_START ? SOURCE_UNKNOWN : source;
}

/* Pages that stood there at the start are found by their address: they are touched before that is
 * another one. */
static int touch_start(struct value_run *run, uint64_t from, uint64_t end)
{
	const struct captures *captures = run->replay->captures;
	struct value_memory *mem = &run->memory;
	for (uint64_t addr = from; (addr = captures_page_from(captures, addr)) < end;
	     addr += VALUE_PAGE) {
		const struct value_region *at = value_memory_region(mem, addr);
		if (at && at->source & SOURCE_START && !value_memory_lookup(mem, addr, false) &&
		    mem->exhausted)
			return -ENOMEM;
	}
	return 0;
}

/* mremap(): what was there lies elsewhere now; what is new of it is as its mapping goes on. What no
 * record has told of is there as well, and unknown: the kernel has moved it. */
static int move(struct value_run *run, const struct capture *c)
{
	struct value_memory *mem = &run->memory;
	const size_t old = page_up(c->map_old_len), len = page_up(c->map_len);
	const size_t kept = old < len ? old : len;
	const uint64_t from = c->map_old, to = c->map_addr;
	const struct value_region *was = value_memory_region(mem, from);
	struct value_region more = {.prot = VALUE_READ | VALUE_WRITE, .source = SOURCE_UNKNOWN};
	if (was) {
		more = *was;
		more.off += from - was->start + kept;
		more.source &= ~SOURCE_START;
	}
	more.start = to + kept;
	more.end = to + len;
	const struct value_region left = left_by_move(was, c, from + old);
	int err = 0;
	if (from % VALUE_PAGE || from >> 48 || kept >> 48)
		return -EINVAL;
	if (from != to && kept) {
		err = touch_start(run, from, from + kept);
		err = err ? err
			  : value_memory_remap(mem, from, to, kept,
					       captures_page_lost(run->replay->captures)
						       ? unknown_start
						       : without_start);
	}
	const struct value_region untold = {.start = to,
					    .end = to + kept,
					    .prot = VALUE_READ | VALUE_WRITE,
					    .source = SOURCE_UNKNOWN};
	if (!err)
		err = value_memory_map_holes(mem, &untold);
	if (!err && old > kept)
		err = value_memory_unmap(mem, from + kept, from + old);
	if (!err && len > kept)
		err = value_memory_map(mem, &more);
	if (!err && left.end)
		err = value_memory_map(mem, &left);
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
	enum { MAP_SHARED_BIT = 1, MAP_TYPES = 15, MAP_DROPPABLE_TYPE = 8 };
	if (c->nr == SYS_mmap && captures_may_change(run->replay->captures, c->map_file,
						     c->args[3] & MAP_SHARED_BIT, (int)region.prot))
		region.prot |= VALUE_SHARED;
	/* Of that the kernel makes zeros whenever it likes (Linux 6.11). */
	if (c->nr == SYS_mmap && (c->args[3] & MAP_TYPES) == MAP_DROPPABLE_TYPE)
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
		return value_memory_protect(mem, c->map_addr, end, c->map_prot & 7, c->result);
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
		return move(run, c);
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

// SPDX-License-Identifier: LGPL-2.1-or-later
/* mapping_calls.c: mmap, munmap, mprotect, mremap, brk; and madvise where it forgets.
 *
 * mprotect and madvise go from mapping to mapping and may fail at one of them, with what they have
 * done so far (Linux: mprotect_fixup() in mm/mprotect.c, madvise_walk_vmas() in mm/madvise.c).
 * madvise has done all that is mapped if it returns ENOMEM. Nothing tells how far mprotect came: it
 * returns ENOMEM at an address where nothing is mapped, and at a mapping that it cannot split. */
#include "offline/capture/mapping_calls.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24 /* Linux 5.18 */
#endif
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102 /* Linux 6.13 */
#endif

/* Whether a call that has failed may have done a part. */
static bool is_begun(const struct capture *c)
{
	bool goes_on = c->nr == SYS_mprotect || c->nr == SYS_pkey_mprotect || c->nr == SYS_madvise;
	return goes_on && !(c->args[0] & 4095);
}

static uint64_t whole_pages(uint64_t len)
{
	return (len + 4095) & ~4095ull;
}

static void mapped(struct capture *c)
{
	c->map_op = MAP_MAPPED;
	c->map_addr = (uint64_t)c->result;
	c->map_len = whole_pages(c->args[1]);
	c->map_prot = c->args[2];
	c->map_off = c->args[5];
}

static void moved(struct capture *c)
{
	c->map_op = MAP_MOVED;
	c->map_addr = (uint64_t)c->result;
	c->map_len = whole_pages(c->args[2]);
	c->map_old = c->args[0];
	c->map_old_len = whole_pages(c->args[1]);
}

static void advised(struct capture *c)
{
	switch (c->args[2]) {
	case MADV_DONTNEED: /* what was there reads as zeros, where it is anonymous */
	case MADV_DONTNEED_LOCKED:
	case MADV_FREE:		 /* or may */
	case MADV_GUARD_INSTALL: /* and cannot be read until the guard is taken away */
		c->map_op = MAP_FORGOTTEN;
		break;
	case MADV_WIPEONFORK:
	case MADV_KEEPONFORK:
		c->map_op = MAP_WIPED_IN_CHILD;
		c->map_prot = c->args[2] == MADV_WIPEONFORK;
		break;
	default:
		return;
	}
	c->map_addr = c->args[0];
	c->map_len = whole_pages(c->args[1]);
}

void mapping_call(struct capture *c)
{
	if (c->result < 0 && c->result > -4096 && !is_begun(c))
		return;
	switch (c->nr) {
	case SYS_mmap:
		mapped(c);
		break;
	case SYS_mremap:
		moved(c);
		break;
	case SYS_brk:
		c->map_op = MAP_BREAK;
		c->map_addr = (uint64_t)c->result;
		break;
	case SYS_shmat:
	case SYS_shmdt:
		c->map_op = c->nr == SYS_shmat ? MAP_ATTACHED : MAP_DETACHED;
		c->map_addr = c->nr == SYS_shmat ? (uint64_t)c->result : c->args[0];
		break;
	case SYS_munmap:
	case SYS_mprotect:
	case SYS_pkey_mprotect:
		c->map_op = c->nr == SYS_munmap ? MAP_UNMAPPED : MAP_PROTECTED;
		c->map_addr = c->args[0];
		c->map_len = whole_pages(c->args[1]);
		c->map_prot = c->args[2];
		break;
	case SYS_madvise:
		advised(c);
		break;
	}
}

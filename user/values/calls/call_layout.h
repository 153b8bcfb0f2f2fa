/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* call_layout.h: where in a process the stubs lie that make its system calls, and of which sites
 * they are. */
#ifndef USER_CALL_LAYOUT_H
#define USER_CALL_LAYOUT_H

#include "offline/capture/call_area.h"
#include "offline/capture/call_sites.h"

#include <stdint.h>
#include <string.h>

struct call_patches {
	uint64_t code, code_end; /* in the process */
	uint64_t local, shared, kept, lanes, kinds;
	uint64_t clocks;  /* slots that its clocks are noted in (clock_area.h); 0: none */
	uint64_t restore; /* the instruction of rt_sigreturn()'s stub that is probed; 0: none */
	uint64_t find_at, find_was; /* the pointer that unwinders ask by, and its value; 0: none */
	struct call_site *sites;    /* of each stub, by number */
	uint32_t n;
	int code_fd, lanes_fd; /* two memfds of the process */
};

enum { CALL_JUMP = 0xe9, CALL_SYSCALL_BYTES = 2, CALL_PAGE = 4096 };

/* The displacement of a jump to @to from the instruction behind it, @from. */
static inline void call_put_distance(uint8_t *at, uint64_t to, uint64_t from)
{
	int32_t by = (int32_t)(to - from);

	memcpy(at, &by, sizeof(by));
}

#endif

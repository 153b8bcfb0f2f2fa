/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* call_code.h: the code that `syscall` instructions of a process jump to, as it goes to the area
 * (offline/capture/call_area.h). It needs no stack, and leaves every register as the system call
 * would have left it. */
#ifndef USER_CALL_CODE_H
#define USER_CALL_CODE_H

#include "offline/capture/call_area.h"

#include <stdint.h>

/* What all stubs share. */
extern const uint8_t call_code[], call_code_end[];
/* A stub, of CALL_STUB_BYTES. */
extern const uint8_t call_stub[];

/* Where in call_code things stand. */
extern const struct call_code_places {
	/* Words that the area fills in: its own address; that of what is CALL_LEAVE of a stub at
	 * offset 0 of the area where CALL_FAST_OVER is; of the rows of kinds, less those of the
	 * bytes before the stubs; of the lanes, the shared page, the local page; of the slow part
	 * of rt_sigreturn()'s stub; how many bytes of stubs there are; of the slots of clocks
	 * (clock_area.h), 0: none; the process of the recorder; of the index of frames; of what
	 * the pointer led to that now leads to `find`, and its own, 0: there is none; of what is
	 * kept for children. Behind them
	 * all is `words`, and `find` is what is called in the place of _dl_find_object(). */
	uint32_t base, leave, kinds, lanes, shared, local, restore, stub_bytes, clocks, recorder,
		frames, find_next, find_at, kept, words, find;
	struct call_zones zones;
	/* In a stub: 8 bytes of what rcx is behind the call, 4 of the jump there. Displacements,
	 * counted from what follows them: of the word with the address of the lanes; of the local
	 * page, behind which is a byte; of the shared page; of the jump to `post`. Three bytes of
	 * an instruction that sets ZF where the call is fast; five of what sets the number. */
	uint32_t stub_back, stub_jump, stub_lanes, stub_check, stub_local, stub_shared, stub_number,
		stub_post;
} call_code_places;

enum { CALL_STUB_NUMBER = 1 }; /* that of the slow part */

#endif

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
	/* Words that are filled in for a process: addresses, where nothing else is said. */
	uint32_t base;	/* of the area */
	uint32_t leave; /* what is added to the offset of a stub's CALL_FAST_OVER, as `packed`
			   has it: the sum is the address of its CALL_LEAVE */
	uint32_t kinds; /* of the row of kinds that a stub at offset 0 of the area would have */
	uint32_t lanes, shared, local;
	uint32_t restore;    /* of the slow part of rt_sigreturn()'s stub */
	uint32_t stub_bytes; /* no address: where in the area the stubs end */
	uint32_t clocks;     /* of the slots of clocks (clock_area.h); 0: none */
	uint32_t recorder;   /* no address: its process */
	uint32_t frames;     /* of the index of frames */
	uint32_t find_next;  /* what `find_at` had; what is not of this area is asked there */
	uint32_t find_at;    /* of the pointer by which unwinders ask, now for `find`; 0: none */
	uint32_t kept;	     /* of what is kept for children */
	uint32_t words; /* where the words end: code from here on is the same in each process */
	uint32_t find;	/* what is called in the place of _dl_find_object() */
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

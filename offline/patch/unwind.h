/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* unwind.h: call frame information of trampolines and of the runtime, in the form of .eh_frame and
 * .eh_frame_hdr (Linux Standard Base, "Exception Frames"), which unwinders and debuggers read.
 *
 * A trampoline unwinds to the patched instruction itself, as if a signal had interrupted the
 * program there: its frame has the stack pointer and the registers that the program would have
 * there, and a return address that is the instruction's. So the function's own information says the
 * rest: its caller, its handlers of exceptions. */
#ifndef OFFLINE_PATCH_UNWIND_H
#define OFFLINE_PATCH_UNWIND_H

#include "offline/patch/emit.h"

/* More than one trampoline's information takes on average. */
enum { PATCH_UNWIND_BYTES = 160 };

/* Offsets in the code. */
struct patch_unwind {
	uint32_t frames, frames_end; /* .eh_frame, and a word of zeros */
	uint32_t index, index_end;   /* .eh_frame_hdr */
	uint32_t code_end;	     /* of what it is about, from the runtime on */
};

/* Appends them to @code, whose trampolines are all there: those of @places by their states, of a
 * module that lies @bias above its ELF addresses. 0 or -ENOMEM. */
int patch_unwind_append(struct patch_code *code, const struct patch_place *places, uint64_t bias,
			struct patch_unwind *out);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* effects.h: what an instruction changes, as far as it matters where a probe may stand. */
#ifndef OFFLINE_CAPTURE_EFFECTS_H
#define OFFLINE_CAPTURE_EFFECTS_H

#include <Zydis/Zydis.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where, as far as its form says. */
enum effects_store { STORE_ANYWHERE, STORE_STACK, STORE_STATIC /* in the file's own memory */ };

struct effects {
	uint16_t writes; /* general registers, a bit each by number of the encoding, also in part */
	uint16_t reads;	 /* or addressed by, or kept in part */
	bool memory;	 /* writes memory: */
	uint8_t store;	 /* enum effects_store; */
	int64_t at;	 /* STORE_STACK: the stack pointer and so many bytes, */
	uint32_t bytes;	 /* so long */
	bool untold;	 /* its result follows from nothing that a replay has: rdtsc and the like */
	bool kernel;	 /* a system call */
};

/* Returns false where the bytes are no instruction. */
bool effects_of(const ZydisDecoder *decoder, const uint8_t *bytes, size_t len_bytes,
		struct effects *out);

#endif

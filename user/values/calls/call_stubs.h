/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* call_stubs.h: the code that is placed in a process: call_code.h's, and a stub for each site. */
#ifndef USER_CALL_STUBS_H
#define USER_CALL_STUBS_H

#include "user/values/calls/call_layout.h"

#include <stdbool.h>

/* A call whose record the stub itself writes. */
struct fast_call {
	struct call_kind kind;
	uint8_t check[3]; /* the instruction that sets ZF if it may; none: it may */
};

/* What the stub of @s does by itself; NULL: its calls go by the probes. */
const struct fast_call *call_stubs_fast(const struct call_site *s);
/* Whether the stub of @s notes its calls, or looks whether it may. */
bool call_stubs_begins_fast(const struct call_site *s);
/* The address of stub @i in the process. */
uint64_t call_stubs_address(const struct call_patches *p, uint32_t i);
/* Where the tables behind the stubs begin: bytes from the begin of the code on. */
uint64_t call_stubs_kinds(const struct call_patches *p);
uint64_t call_stubs_jumps(const struct call_patches *p);
/* How long all of it is, in whole pages. */
uint64_t call_stubs_bytes(const struct call_patches *p);
/* All of it, which the caller frees; NULL: no memory. Sets what in @p follows from it. */
uint8_t *call_stubs_make(struct call_patches *p);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* stub.h: one instruction of the traced program, executed by this machine's processor on registers
 * and memory that are given to it. Only instructions of a known list that compute and nothing else:
 * no control flow, no system state, no segment, no fault but those that are excluded beforehand.
 * The memory operand is always a buffer of the evaluator. */
#ifndef OFFLINE_EVAL_STUB_H
#define OFFLINE_EVAL_STUB_H

#include <Zydis/Zydis.h>

#include "offline/eval/insn/state.h"

enum { VALUE_STUB_BUFFER = 512 }; /* bytes of the buffer, aligned to 64 */

typedef void value_stub_fn(struct value_state *state, void *buffer);

/* Where stubs are kept: pages that are never writable and executable at once. */
struct value_stubs;

struct value_stubs *value_stubs_new(void); /* NULL: no memory */
void value_stubs_free(struct value_stubs *stubs);

/* Makes a stub of the instruction whose bytes are @bytes. Returns NULL where there is no safe one:
 * the caller has no semantics for that instruction then. Valid until @stubs is freed. */
value_stub_fn *value_stub(struct value_stubs *stubs, const ZydisDecodedInstruction *zi,
			  const ZydisDecodedOperand *ops, const uint8_t *bytes);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* value_call_frames.h: the frame of the function that a replay stands in, by call frame
 * information: its CFA, its frame base, and the registers of its caller. */
#ifndef USER_VALUE_CALL_FRAMES_H
#define USER_VALUE_CALL_FRAMES_H

#include "user/values/dwarf/value_context.h"

/* The canonical frame address. */
bool value_call_frame_cfa(const struct value_context *c, uint64_t *out, uint8_t *quality);
/* The register and offset that give the CFA at @addr; false: it is not of that form. */
bool value_call_frame_rule(const struct value_context *c, uint64_t addr, uint64_t *reg,
			   int64_t *off);
/* Where the prologue of @function ends, as lines tell; its first address where they do not. */
uint64_t value_call_frame_body(Dwarf_Die *function);
/* DW_AT_frame_base of the context's function; false: it is not set here. */
bool value_call_frame_base(const struct value_context *c, uint64_t *out, uint8_t *quality);
/* The caller's registers, and the return address into it. */
bool value_call_frame_caller(const struct value_context *c, struct value_registers *out,
			     uint64_t *ret);

#endif

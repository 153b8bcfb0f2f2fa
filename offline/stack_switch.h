/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* stack_switch.h: which functions leave the stack that they were called on. */
#ifndef OFFLINE_STACK_SWITCH_H
#define OFFLINE_STACK_SWITCH_H

#include <stdbool.h>
#include <stdint.h>

struct builder;

/* Sets FUNC_SWITCHES, SITE_SWITCHES, and BLOCK_SETJMP_RETURN where such calls return to. After
 * everything else is known. 0 or -ENOMEM. */
int stack_switch_solve(struct builder *b);
/* Whether the instruction copies or loads a register or memory to rsp. */
bool stack_switch_may_load(const uint8_t *bytes, uint8_t len_bytes);

#endif

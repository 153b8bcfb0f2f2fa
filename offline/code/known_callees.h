/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* known_callees.h: calls and jumps by a register or by memory of which the code itself shows that
 * they go to one place: an import or a function of this module. The large code model makes every
 * call so, and compilers that call through the GOT may keep what they have read there in a
 * register. Those of a function of this module stay calls of a pointer, of which is known whether
 * they return, return twice or switch stacks. */
#ifndef OFFLINE_KNOWN_CALLEES_H
#define OFFLINE_KNOWN_CALLEES_H

#include <stdbool.h>
#include <stdint.h>

struct backslice;
struct builder;

/* Finds them, once jump tables are known, with the search that found these. Only of functions whose
 * code names such a place, or makes addresses out of 64-bit constants. Sets *@changed where that
 * changes the control flow. 0 or -ENOMEM. The lookups are builder.h's. */
int known_callees_find(struct builder *b, struct backslice *s, bool *changed);
#endif

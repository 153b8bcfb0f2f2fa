/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* callgraph.h: the direct calls of a program, in the order in which what callees do is known before
 * their callers ask. */
#ifndef OFFLINE_CALLGRAPH_H
#define OFFLINE_CALLGRAPH_H

#include "offline/program/program.h"

/* Puts functions in an order in which callees come first. Functions that call each other have one
 * component number, and within a component a call of a function that does not come before its
 * caller is a back edge of a search. Both arrays have program->n_funcs entries. Returns 0 or
 * -ENOMEM. */
int callgraph_order(const struct program *prog, uint32_t *order, uint32_t *component);
/* Finds who calls each function directly: of f, (*callers)[at[f] .. at[f + 1]), once for each call.
 * @at has program->n_funcs + 2 entries; *@callers is freed by the caller. Returns 0 or -ENOMEM. */
int callgraph_callers(const struct program *prog, uint32_t *at, uint32_t **callers);

#endif

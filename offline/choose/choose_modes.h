/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* choose_modes.h: the choice for one function whose callees are chosen for already: a row for each
 * way to choose. Each sets marks of @func, and fails by conflicts.failed. Private to the choice. */
#ifndef OFFLINE_CHOOSE_MODES_H
#define OFFLINE_CHOOSE_MODES_H

#include "offline/choose/conflict.h"

void choose_best(struct conflicts *ch, uint32_t func);
/* The same, from the marks of @seed, one a block of the program. */
void choose_seeded(struct conflicts *ch, uint32_t func, const uint8_t *seed);
void choose_casper(struct conflicts *ch, uint32_t func);
void choose_full(struct conflicts *ch, uint32_t func);
void choose_branch(struct conflicts *ch, uint32_t func);
void choose_blocks(struct conflicts *ch, uint32_t func);
void choose_targets(struct conflicts *ch, uint32_t func);
void choose_edges(struct conflicts *ch, uint32_t func);
void choose_nodes(struct conflicts *ch, uint32_t func);

#endif

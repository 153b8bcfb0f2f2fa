/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* choose_casper.h: what the two parts of mode casper's choice share: Algorithm 1 in
 * choose_casper.c, its greedy vertex cover in choose_cover.c. Private to them. */
#ifndef OFFLINE_CHOOSE_CASPER_H
#define OFFLINE_CHOOSE_CASPER_H

#include "offline/choose/conflict.h"

/* Marks the call or return in @block, or the jcc that it is one way of. Returns whether the block
 * itself was marked. */
bool casper_mark_site(struct conflicts *ch, uint32_t block);
/* Marks nodes of @func until none of its conflicts is left between two that are not marked. */
void casper_cover_conflicts(struct conflicts *ch, uint32_t func);

#endif

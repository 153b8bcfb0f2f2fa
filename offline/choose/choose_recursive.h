/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* choose_recursive.h: takes away what functions that call each other marked only because they did
 * not know each other yet. Private to the choice. */
#ifndef OFFLINE_CHOOSE_RECURSIVE_H
#define OFFLINE_CHOOSE_RECURSIVE_H

#include "offline/choose/choose_settle.h"

/* After settle(). */
void prune_recursive(struct conflicts *ch, struct call_order order);

#endif

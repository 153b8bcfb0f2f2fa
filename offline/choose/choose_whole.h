/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* choose_whole.h: a function marked all over, which holds whatever the others are; and the choice
 * for a function in bounded work. Private to the choice. */
#ifndef OFFLINE_CHOOSE_WHOLE_H
#define OFFLINE_CHOOSE_WHOLE_H

#include "offline/choose/choose_settle.h"

/* Marks each jcc of @func, and each block without one. */
void mark_all_over(struct conflicts *ch, uint32_t func);

/* Chooses for @func, whose marks are those that no mode can do without: by @choose, or with @seed
 * from those marks. What takes more than conflict_begin() allows, or is wider than a plan may be,
 * is tried once more with marks at what many blocks lead to (ch->hubs); where that is too much as
 * well it is marked all over, and ch->whole says so. */
void choose_bounded(struct conflicts *ch, uint32_t func, choose_function *choose,
		    const uint8_t *seed);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* branch_odds.h: how likely a conditional jump is to be taken, by its instructions alone. */
#ifndef OFFLINE_BRANCH_ODDS_H
#define OFFLINE_BRANCH_ODDS_H

#include <pugmark/model.h>

/* The natural logarithm of taken over not taken, for the jcc that @block of @model ends with; @to
 * is where it goes. */
float branch_odds(const struct pugmark_model *model, const struct pugmark_block *block,
		  uint64_t to);

#endif

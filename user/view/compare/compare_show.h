/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* compare_show.h: compare.h's rows where times are certainly apart, as text and as JSON. */
#ifndef USER_VIEW_COMPARE_SHOW_H
#define USER_VIEW_COMPARE_SHOW_H

#include "user/cli/outbuf.h"
#include "user/view/compare/compare.h"

/* Functions of which a call was certainly slower or faster, at most @limit of each. Returns how
 * many there are. */
uint32_t compare_show_text(struct outbuf *out, const struct compare *compare, uint32_t limit);
/* A list of all rows. */
void compare_show_json(struct outbuf *out, const struct compare *compare);

#endif

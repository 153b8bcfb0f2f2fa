/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* print.h: what `why` has found, as text and as JSON (docs/man/pugmark-why.1). Text has a line a
 * place: how often, when for the last time, where, what. */
#ifndef USER_WHY_PRINT_H
#define USER_WHY_PRINT_H

#include "user/why/answer.h"

/* To standard output; @executed: instructions of the whole run. */
void why_print_text(const struct why_run *w, const struct why_slice *s, const struct why_options *o,
		    uint64_t executed);
void why_print_json(const struct why_run *w, const struct why_slice *s, const struct why_options *o,
		    uint64_t executed);

#endif

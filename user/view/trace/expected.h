/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* expected.h: of a gap: the event that fits nothing, if there is one, where the thread was before,
 * and which events would have fitted there, so that a person can report it. */
#ifndef USER_EXPECTED_H
#define USER_EXPECTED_H

#include "user/cli/outbuf.h"
#include "user/view/trace/trace_view.h"

#include <pugmark/certificate.h>

/* Appends nothing where neither is known. As text: "ADDRESS in FUNCTION, after ...". */
void expected_text(struct pugmark_expectations *x, const struct trace_view *view,
		   const struct pugmark_gap *gap, struct outbuf *out);
/* As members of an object that is open. */
void expected_json(struct pugmark_expectations *x, const struct trace_view *view,
		   const struct pugmark_gap *gap, struct outbuf *out);

#endif

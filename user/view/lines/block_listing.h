/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* block_listing.h: the functions that ran in a recording of level paths, block by block: how often
 * each ran, its instructions, and the source lines that they are of. */
#ifndef USER_BLOCK_LISTING_H
#define USER_BLOCK_LISTING_H

#include "user/cli/outbuf.h"
#include "user/view/trace/trace_view.h"

/* Of the JSON; functions that come after so much are left out, and that is said. */
enum { BLOCK_LISTING_BYTES_MAX = 8 << 20 };

/* Whether a module that the view shows has blocks (record --level paths). */
bool block_listing_has(const struct trace_view *view);
/* Writes what the threads of the open view did:
 *   {"functions": [{"m": MODULE, "a": ADDRESS, "b": [{"a": ADDRESS, "c": COUNT,
 *     "i": [[INSTRUCTION, FILE:LINE, TEXT] ...]} ...]} ...], "notes": [...]}
 * Addresses are hex; blocks of a function stand by address. FILE:LINE stands where the line
 * changes, and TEXT, what is in that line, if the source is where it was when it was compiled. A
 * module that is not where it was recorded is a note. Returns 0, or -ENOMEM with @diag filled. */
int block_listing_json(struct trace_view *view, struct outbuf *out, struct pugmark_diag *diag);

#endif

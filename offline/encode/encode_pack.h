/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* encode_pack.h: a graph of calls (encode_dag.h) as a file that is as small as we can make it, and
 * calls out of such a file. What is lost are the times alone. docs/encoders.md has the form. */
#ifndef OFFLINE_ENCODE_PACK_H
#define OFFLINE_ENCODE_PACK_H

#include "offline/encode/encode_dag.h"

#include <pugmark/diag.h>

/* A sequence of outermost calls: a root of the graph. */
struct pack_sequence {
	struct tree_place place; /* task and time_ns are not kept */
	enum tree_edge ends;
};

/* Packs the graph, which is exact, and whose roots are @sequences. 0 and bytes that the caller
 * frees; -EDOM where some count is "many", -ENOMEM. */
int pack_write(const struct dag *dag, const struct symbols *symbols,
	       const struct pack_sequence *sequences, uint8_t **out, size_t *len_bytes);

struct packed;

/* Unpacks @len_bytes bytes, which diagnostics call @name; the names go to @symbols. 0 and a graph
 * freed with packed_free(), or -errno with @diag filled (-EBADMSG: it is no such file, or damaged).
 */
int packed_open(const void *bytes, size_t len_bytes, const char *name, struct symbols *symbols,
		struct packed **out, struct pugmark_diag *diag);
void packed_free(struct packed *packed);
/* How many calls it stands for. */
uint64_t packed_calls(const struct packed *packed);
/* Tells @sink all of them, without times: 0, -ENOMEM, or what the sink said. */
int packed_tell(const struct packed *packed, const struct tree_sink *sink);

#endif

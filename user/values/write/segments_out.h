/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* segments_out.h: appends segments to the file `captures`, each compressed and with its sums.
 * Any thread may append. After an error nothing more is written, and what was is kept whole. */
#ifndef USER_SEGMENTS_OUT_H
#define USER_SEGMENTS_OUT_H

#include "offline/log/segment.h"

#include <stdint.h>

struct segments_out;

/* @fd: the file, new, which is closed with it, and on a failure as well. 0 or -ENOMEM. */
int segments_out_open(int fd, struct segments_out **out);
/* Of @header the kind, what it is of and raw_bytes are given, which @payload has. */
void segments_out_append(struct segments_out *s, struct segment_header *header,
			 const uint8_t *payload);
/* Nothing more is written, because of @err; the first reason counts. */
void segments_out_fail(struct segments_out *s, int err);
int segments_out_error(const struct segments_out *s);
/* How many there are. */
uint32_t segments_out_count(const struct segments_out *s);
/* Writes to the disk, closes the file and frees. @bytes, or NULL: how long the file is. Returns
 * what segments_out_error() would. */
int segments_out_close(struct segments_out *s, uint64_t *bytes);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* unpack.h: what the rings said of tasks, made into the event segments of a recording. Where these
 * go is the caller's to say; no files here. One thread unpacks; another may add a generation. */
#ifndef USER_UNPACK_H
#define USER_UNPACK_H

#include "offline/log/segment.h"
#include "user/record/write/recording_writer.h"

struct unpacker;
struct death;
struct generations;

/* Takes a segment, whose header lacks what is about its storage. Returns 0 or -errno. */
typedef int (*unpack_write)(void *ctx, struct segment_header *header, const uint8_t *payload);

/* Takes a thread that died. Returns 0 or -errno. */
typedef int (*unpack_died)(void *ctx, const struct death *death, const struct generations *all);

/* Borrows @totals, and counts there. The caller frees *@out with unpacker_free(). */
int unpacker_new(const struct recorder_options *options, struct recording_totals *totals,
		 unpack_write write, void *ctx, struct unpacker **out);
void unpacker_free(struct unpacker *u);
/* Whom to tell of those; without it nobody is told. */
void unpacker_deaths(struct unpacker *u, unpack_died died);
/* What is probed is from now on @options->modules (borrowed), numbered from *@first in the
 * recording. Returns 0, or -E2BIG: too many in all. */
int unpacker_change(struct unpacker *u, const struct recorder_options *options,
		    const struct text_span *spans, uint32_t *first);

/* Patched instructions write to @lanes (borrowed). */
struct lanes;
void unpacker_lanes(struct unpacker *u, struct lanes *lanes);
/* When that began to hold; when what is probed held no more. */
void unpacker_began(struct unpacker *u, uint64_t time_ns);
void unpacker_ended(struct unpacker *u, uint64_t time_ns);

/* All that a chunk says of one task: begin, each entry in order, end. Each returns 0 or the first
 * error of all (-errno); after a failing begin, neither of the others. @keep: what is not a whole
 * segment waits for more of the task, in place of that of another. */
int unpacker_begin(struct unpacker *u, uint32_t number);
void unpacker_add(struct unpacker *u, const void *entry, uint32_t bytes);
int unpacker_end(struct unpacker *u, bool keep);
/* What chunks say from here on had come by @since_ns. */
void unpacker_since(struct unpacker *u, uint64_t since_ns);
/* Writes what waits, between an end and a begin. Returns 0 or the first error of all. */
int unpacker_settle(struct unpacker *u);
/* Gives back, between an end and a begin, what is kept of stacks and of what processes have mapped:
 * what comes next and refers to it has no stack. */
void unpacker_give_back(struct unpacker *u);
bool unpacker_keeps(const struct unpacker *u);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ranges.h: the calls of a recording by track and depth, and what of them is seen in a range of the
 * time that is so many pixels wide: each call of a pixel or more, and of those that are smaller the
 * longest of each pixel. A row (track and depth) is a list of calls that do not overlap, in order;
 * over it lies a pyramid with the longest of each 16, 256, 4096 ... calls. A row's calls are in a
 * file without a name, 24 bytes each, the pyramid in memory, with the begin of each 16th call about
 * one and a half bytes a call. */
#ifndef USER_SERVE_RANGES_H
#define USER_SERVE_RANGES_H

#include <stddef.h>
#include <stdint.h>

/* Depths that are kept of each track, as many as the page draws; bytes above which an answer is
 * made again with pixels that are twice as wide. */
enum { RANGES_DEPTH = 30, RANGES_ANSWER_MAX = 4 << 20 };

struct ranges;

/* @fd, an empty file, is the ranges' from now on. 0 or -errno. */
int ranges_new(int fd, struct ranges **out);
void ranges_free(struct ranges *ranges);

/* Tracks are numbered from 0 in the order in which they come first. */
int ranges_track(struct ranges *ranges, uint32_t track, uint32_t thread, uint32_t stack);
/* The next event of a track, not before its last. All return 0 or -errno. */
int ranges_call(struct ranges *ranges, uint32_t track, uint64_t at_ns, uint64_t doubt_ns,
		uint32_t frame);
int ranges_ret(struct ranges *ranges, uint32_t track, uint64_t at_ns, uint64_t doubt_ns);
int ranges_gap(struct ranges *ranges, uint32_t track, uint64_t at_ns, uint64_t length_ns,
	       uint8_t cause);
/* No more comes; what is open goes on to @end_ns. */
void ranges_finish(struct ranges *ranges, uint64_t end_ns);

/* What is seen, as numbers of seven bits a byte (user/page/tracks.js reads them): the number of
 * tracks, and of each
 *   THREAD STACK DEEPEST  GAPS {AT LENGTH CAUSE}  ROWS { CALLS {DFROM LENGTH FRAME DOUBT} }
 * A name before { } is how many follow. DEEPEST is how deep the track went, of which ROWS were
 * kept. DFROM is the distance from the call before in the row, of the first from 0. The caller
 * frees *@out. 0 or -errno. */
int ranges_get(const struct ranges *ranges, uint64_t from_ns, uint64_t to_ns, uint32_t width,
	       uint8_t **out, size_t *n);

#endif

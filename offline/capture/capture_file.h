/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* capture_file.h: the segments of the file `captures`: found, checked, expanded. What the payloads
 * say is for others. */
#ifndef OFFLINE_CAPTURE_CAPTURE_FILE_H
#define OFFLINE_CAPTURE_CAPTURE_FILE_H

#include "offline/log/recording_impl.h"

struct capture_segments {
	int fd;
	struct segment_ref *at; /* by kind, task, first_event */
	uint32_t n, cap;
	uint32_t n_whole; /* those numbered 0 to n_whole - 1 are all there; n: none is missing */
	uint64_t damaged_bytes;
};

/* Returns 0, or -errno. */
int capture_segments_open(const char *path, struct capture_segments *out);
void capture_segments_deinit(struct capture_segments *segments);
/* How many bytes are of no segment, or of one whose sum is not that of its header: all are read. */
uint64_t capture_segments_damaged(const struct capture_segments *segments);
/* The first of @kind and @task at or behind @first; segments->n: none. */
uint32_t capture_segments_find(const struct capture_segments *segments, uint8_t kind, uint32_t task,
			       uint64_t first);
/* The same as long as the header's first_event is at most @at: the last such; segments->n: none. */
uint32_t capture_segments_holding(const struct capture_segments *segments, uint8_t kind,
				  uint32_t task, uint64_t at);

#endif

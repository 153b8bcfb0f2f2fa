/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* collector.h: two threads that bring what the rings hold to the recording. One drains the rings
 * into chunks on a timed poll; the other writes full chunks. When no chunk is free (the disk
 * stalls) the rings are left to fill, and the kernel counts for each task what no longer fits:
 * there is one place where events are lost, and it counts. */
#ifndef USER_COLLECTOR_H
#define USER_COLLECTOR_H

#include "user/kernel/probes.h"
#include "user/record/write/recording_writer.h"

struct collector;

/* Borrows @probes and @writer until it is finished. @notify_fd: an eventfd that is told when
 * writing has failed. */
int collector_start(const struct recorder_options *options, struct probes *probes,
		    struct recording_writer *writer, int notify_fd, struct collector **out,
		    struct pugmark_diag *diag);
/* After probes_stop(): drains and writes all that is left, ends both threads, frees. Returns 0 or
 * the first error of writing. */
int collector_finish(struct collector *c);
/* The first error of writing so far. */
int collector_error(const struct collector *c);
/* How often a site was hit, and how often the stack was sent with it. */
struct site_hits {
	_Atomic uint32_t all, stacks;
};
/* The hits of each site, over all modules in a row, without those that were lost; counted only
 * where there is a bound on the overhead, else NULL. The caller may set them to 0. */
struct site_hits *collector_hits(struct collector *c);
/* Counts from 0 again, and only hits of the probes that are in use now. */
void collector_count_anew(struct collector *c);
/* Writes all that is in the rings now to the recording, and waits for that, a second at most. In
 * any thread. */
void collector_flush(struct collector *c);
/* The processes that had events lately, at most @max. Returns how many. */
uint32_t collector_processes(struct collector *c, int32_t *pids, uint32_t max);
/* Has @text said in the recording. */
void collector_note(struct collector *c, const char *text);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* collector.h: two threads that bring what the rings hold to the recording. One drains the rings
 * into chunks on a timed poll; the other writes full chunks. Where that one rests while the machine
 * is busy, chunks that wait go to a file. When no chunk is free (the disk stalls) the rings are
 * left to fill, and the kernel counts for each task what no longer fits: there is one place where
 * events are lost, and it counts. */
#ifndef USER_COLLECTOR_H
#define USER_COLLECTOR_H

#include "user/kernel/idle_thread.h"
#include "user/kernel/probes.h"
#include "user/record/write/recording_writer.h"

struct collector;

/* Borrows @probes, @writer and @idle until it is finished. @idle: the thread that writes, which
 * rests while the machine has other work, if the recording's file system takes files without a name
 * (O_TMPFILE); NULL: it goes first. @notify_fd: an eventfd that is told
 * when writing has failed. */
int collector_start(const struct recorder_options *options, struct probes *probes,
		    struct recording_writer *writer, struct idle_thread *idle, int notify_fd,
		    struct collector **out, struct pugmark_diag *diag);
/* How many bytes of the rings wait to be written. */
uint64_t collector_waiting(struct collector *c);
/* After probes_stop(): drains and writes all that is left, ends both threads, frees. @progress (of
 * as many bytes as wait) is stepped. Returns 0 or the first error of writing. */
struct progress;
int collector_finish(struct collector *c, struct progress *progress);
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
/* Drains all that is in the rings now and, where the thread that writes does not rest, writes it to
 * the recording; waits for that, a second at most. In any thread. */
void collector_flush(struct collector *c);
/* Has the thread that writes give back, before the next chunk, what it keeps of stacks. */
void collector_give_back(struct collector *c);
/* The processes that had events lately, at most @max. Returns how many. */
uint32_t collector_processes(struct collector *c, int32_t *pids, uint32_t max);
/* Has @text said in the recording. */
void collector_note(struct collector *c, const char *text);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* lanes.h: what patched instructions have written (offline/patch/layout.h), on its way to the
 * recording. A thread takes full chunks out of the areas, packs them to a file without a name and
 * gives them back; whoever unpacks a task reads them in the order of its lane, when something
 * else of the task says how far it had come. */
#ifndef USER_PATCH_LANES_H
#define USER_PATCH_LANES_H

#include "offline/patch/layout.h"

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lanes;
enum { AREAS_MAX = 1024 };

/* How the records of an area are read. */
struct area;
struct patch_module;
struct lanes_image {
	const struct area *area; /* borrowed, as what follows */
	const struct patch_module *modules;
	const int32_t *frame_add; /* by site: the CFA minus the record's frame word */
	uint32_t n_sites;
	uint64_t bases[64]; /* by module: run-time address of its text_addr; 0: not patched */
};

struct lanes_totals {
	uint64_t chunks; /* that were taken out full */
	uint64_t bytes;	 /* in them */
	uint64_t stored; /* what became of them */
	uint64_t cpu_ns; /* it took */
	uint64_t torn;	 /* records that were begun and never written */
	uint32_t lanes;	 /* threads that wrote some */
	uint64_t memory; /* bytes that all this takes in the processes, and not twice */
	int write_err;	 /* 0, or -errno: why the last write to the disk failed that did */
};

/* @dir_fd: the folder whose file system is used. @stamps: areas have any. 0 or -errno. */
int lanes_new(int dir_fd, bool stamps, struct lanes **out);
/* Ends the thread. */
void lanes_free(struct lanes *lanes);
/* Whoever reads them is @reader (borrowed), which may rest. Before it does. */
struct idle_thread;
void lanes_read_by(struct lanes *lanes, struct idle_thread *reader);
/* Adds an area, whose shared memory is @fd, and begins as @as. All is borrowed
 * but for the mapping that is made. Returns its number, from 1, or -errno. */
int lanes_add(struct lanes *lanes, int fd, const struct patch_shared *as,
	      const struct lanes_image *image);
/* NULL: no such area. */
const struct lanes_image *lanes_image(const struct lanes *lanes, uint32_t area);

/* What a lane's records are told to; @pos: where each is (PATCH_POSITION). */
struct lanes_sink {
	void *ctx;
	/* What the record's head does not have is 0. */
	void (*record)(void *ctx, uint64_t pos, uint32_t head, uint64_t frame, uint64_t ret,
		       uint64_t target);
	/* What is told before had happened by then, what follows had not. NULL: nobody asks. */
	void (*stamp)(void *ctx, uint64_t pos, uint64_t time_ns);
};
/* Hands over the records of a lane from position @from up to @to (PATCH_POSITION). *@lost: how
 * many were not there to be read. 0 or -errno. */
int lanes_take(struct lanes *lanes, uint32_t area, uint32_t lane, uint64_t from, uint64_t to,
	       const struct lanes_sink *sink, uint64_t *lost);
/* By how much the times of stamps may be wrong. */
uint64_t lanes_slack_ns(const struct lanes *lanes);
/* The thread @tid was stopped, and its lane ends there. */
void lanes_note_end(struct lanes *lanes, int32_t tid, uint32_t area, uint32_t lane, uint64_t pos,
		    uint64_t lost);
/* What was noted of it; false: nothing. */
bool lanes_end(struct lanes *lanes, int32_t tid, uint32_t *area, uint32_t *lane, uint64_t *pos,
	       uint64_t *lost);
struct lanes_totals lanes_totals(struct lanes *lanes);

#endif

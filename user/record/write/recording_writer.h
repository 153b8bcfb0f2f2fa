/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* recording_writer.h: writes a recording (docs/recording-format.md) out of what the rings said.
 * One thread uses it at a time; the counters may be read by another. */
#ifndef USER_RECORDING_WRITER_H
#define USER_RECORDING_WRITER_H

#include "user/kernel/record_options.h"
#include "user/proc/chunk.h"
#include "user/record/write/recorder_result.h"

#include <linux/types.h>
#include "bpf/protocol.h"
#include <stdatomic.h>

struct recording_writer;
struct text_span;

struct recording_totals {
	_Atomic uint64_t events, lost, tasks, segments, bytes;
	/* Events by probes in processes that are patched, by why (enum patch_reason). */
	_Atomic uint64_t probed[8];
};

/* Makes the directory, copies the plans, writes meta.json. */
int recording_writer_open(const struct recorder_options *options, const struct text_span *spans,
			  struct recording_writer **out, struct pugmark_diag *diag);
/* Creates another file in the recording: one of those that recording_folder.c lists. Returns a
 * descriptor, which the caller closes, or -errno. */
int recording_writer_create(const struct recording_writer *w, const char *name);
/* Writes what is in a chunk of @len bytes. Returns 0 or -errno (-ENOSPC); after an error nothing
 * more is written, and what is there stays readable. @more: another chunk follows soon; then the
 * events of the task that has most of this one may wait, until recording_writer_settle() at the
 * latest. */
int recording_writer_chunk(struct recording_writer *w, const uint8_t *chunk, size_t len, bool more);
/* What the next chunks hold had come by @since_ns. */
void recording_writer_since(struct recording_writer *w, uint64_t since_ns);
int recording_writer_settle(struct recording_writer *w);
/* Gives back memory, between chunks: some events that follow have no stack, and the trace a gap. */
void recording_writer_give_back(struct recording_writer *w);
/* Whether anything waits. */
bool recording_writer_keeps(const struct recording_writer *w);
/* To be called when what is probed changes, while no batch is written. Batches of the next
 * generation are of @modules, which are added to those of the recording; @text: what is noted of
 * the change. */
int recording_writer_change(struct recording_writer *w, const struct recorder_options *options,
			    const struct text_span *spans, struct pugmark_diag *diag);
/* Patched instructions write to @lanes (borrowed). Before anything is written. */
struct lanes;
void recording_writer_lanes(struct recording_writer *w, struct lanes *lanes);
/* When that change took effect; when what was probed ended. */
void recording_writer_began(struct recording_writer *w, uint64_t time_ns);
void recording_writer_ended(struct recording_writer *w, uint64_t time_ns);
/* What is to be said of processes that died, as deaths_words() has it. In any thread. */
char *recording_writer_deaths(struct recording_writer *w, bool all);
struct recording_totals *recording_writer_totals(struct recording_writer *w);
/* Frees the writer, and leaves the recording as it is: as if killed. */
void recording_writer_abandon(struct recording_writer *w);
/* Closes the recording, saying why it ends, and frees the writer. */
int recording_writer_close(struct recording_writer *w, const struct recorder_result *result,
			   struct pugmark_diag *diag);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* trace.h: the recovered trace of a recording: open it, iterate over what each thread did, ask for
 * the certificate. The trace is never stored: it is produced from witness events and the plans in
 * the recording as it is asked for. Threads may be iterated in parallel, each iterator by one
 * thread of the caller. */
#ifndef PUGMARK_TRACE_H
#define PUGMARK_TRACE_H

#include <pugmark/diag.h>
#include <pugmark/plan.h>
#include <pugmark/recording.h>
#include <pugmark/trace_event.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pugmark_trace;
struct pugmark_trace_iter;

/* Opens the recording in directory @dir and the plans in it. Returns 0 and a trace that the caller
 * frees with pugmark_trace_free(), or -errno with @diag filled. */
int pugmark_trace_open(const char *dir, struct pugmark_trace **out, struct pugmark_diag *diag);
void pugmark_trace_free(struct pugmark_trace *trace);

/* The same of a recording that may still be made: iterators go on where it had ended, once
 * pugmark_trace_more() has taken in what was written since. Trace and iterators are used by one
 * thread of the caller. */
int pugmark_trace_open_growing(const char *dir, struct pugmark_trace **out,
			       struct pugmark_diag *diag);
/* Takes in what has been written since it was opened or last asked. Returns 1: there may be more
 * later (the recorder has not ended), 0: that was all, and what iterators return from here on is
 * what they would if it had been read at once; or -errno with @diag filled. There may be more
 * tasks, behind those that were there, and more modules; what was borrowed of the recording is to
 * be asked for anew, but what was borrowed of plans stays. */
int pugmark_trace_more(struct pugmark_trace *trace, struct pugmark_diag *diag);

/* So many bytes from the beginning of its file of events have been taken in: once all iterators
 * that there will be have come to their ends so far, they are not read again. */
uint64_t pugmark_trace_taken_bytes(const struct pugmark_trace *trace);

/* The recording below; borrowed until the trace is freed. */
const struct pugmark_recording *pugmark_trace_recording(const struct pugmark_trace *trace);
/* The plan of @module of the recording, or NULL; trace_event.func is an index of its functions. */
const struct pugmark_plan *pugmark_trace_plan(const struct pugmark_trace *trace, uint32_t module);
/* The base name of @module. */
const char *pugmark_trace_module_name(const struct pugmark_trace *trace, uint32_t module);
/* The name of function @func of @module; "?" for PUGMARK_NONE. Borrowed. */
const char *pugmark_trace_func_name(const struct pugmark_trace *trace, uint32_t module,
				    uint32_t func);
/* Gives that function another name from now on, which is copied: where it has none of its own and
 * another recording tells it. 0, -EINVAL: no such function, or -ENOMEM. */
int pugmark_trace_rename_func(struct pugmark_trace *trace, uint32_t module, uint32_t func,
			      const char *name);

/* From here on only events of @module count, as if nothing else had been recorded: for recordings
 * that have the same binary as two modules, under two plans. Before the first iterator. 0 or
 * -ENOENT. */
int pugmark_trace_select(struct pugmark_trace *trace, uint32_t module);

/* What is told as one: a goroutine, or what a thread did of which no goroutine is known. */
struct pugmark_trace_line {
	uint64_t goroutine; /* its number; 0: of none that is known */
	uint32_t task;	    /* the thread at this index; of a goroutine the first it ran on */
	uint64_t first_ns, last_ns;
	uint64_t n_events;
};

/* From here on iterators are of lines, and their @task is an index of pugmark_trace_lines(): what a
 * goroutine did, on whatever threads, is put together, in the order of time. Where it goes to
 * another thread is a PUGMARK_TRACE_SWITCH whose addr is that one's tid, and its func 0. Before the
 * first iterator, and not of a trace that grows. All events are written into a temporary file,
 * without a name. 0; -ENODATA with @diag filled where no event tells a goroutine, or it was
 * recorded without times; or -errno. */
int pugmark_trace_by_goroutine(struct pugmark_trace *trace, struct pugmark_diag *diag);
/* Goroutines by their numbers, then what is of none. Borrowed until the trace is freed. */
const struct pugmark_trace_line *pugmark_trace_lines(const struct pugmark_trace *trace,
						     uint32_t *n);

/* What the thread at @task of pugmark_recording_tasks() did, from the first event on. Returns 0 and
 * an iterator that the caller frees before the trace, or -errno. While the recording grows,
 * -EAGAIN: it was forked, and no iterator of its parent has come to where. */
int pugmark_trace_iter_new(const struct pugmark_trace *trace, uint32_t task,
			   struct pugmark_trace_iter **out);
void pugmark_trace_iter_free(struct pugmark_trace_iter *iter);
/* The next event, borrowed until the next call: 1 with @event set, 0 at the end, or -errno. While
 * the recording grows, 0 is the end of what has been taken in. */
int pugmark_trace_next(struct pugmark_trace_iter *iter, const struct pugmark_trace_event **event);
/* The same, several at once: 1 with the next @n events, borrowed until the next call of either. */
int pugmark_trace_batch(struct pugmark_trace_iter *iter, const struct pugmark_trace_event **events,
			uint32_t *n);
/* Whether that was all: nothing more will come, not even of a recording that grows. */
bool pugmark_trace_ended(const struct pugmark_trace_iter *iter);
/* How many witness events were read so far, for all that was handed out; of a line 0. */
uint64_t pugmark_trace_witnesses(const struct pugmark_trace_iter *iter);

#ifdef __cplusplus
}
#endif

#endif

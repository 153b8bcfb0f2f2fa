/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* recording.h: reads a recording, see docs/recording-format.md. What is damaged or cut off is left
 * out and named, and all else is read. Any number of iterators may be in use at once, each by one
 * thread; the recording itself does not change once it is open. */
#ifndef PUGMARK_RECORDING_H
#define PUGMARK_RECORDING_H

#include <stdbool.h>

#include <pugmark/diag.h>
#include <pugmark/event.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pugmark_recording;
struct pugmark_recording_iter;

struct pugmark_recording_module {
	const char *name; /* base name */
	const char *path; /* where it was; it may be gone */
	const char *plan; /* path of the plan in the recording; NULL: recorded without one */
	uint8_t build_id[32];
	uint32_t build_id_len;
	uint64_t text_addr, text_end; /* span of the executable segments; 0: not known */
	uint32_t n_sites;
};

/* A thread, from its first to its last event. */
struct pugmark_recording_task {
	uint32_t number;   /* from 1, by birth; not always an index */
	int32_t tid, pid;  /* 0: not known */
	uint32_t parent;   /* number of the task that forked it; 0: none, or not known */
	uint64_t n_events; /* as the intact segment headers say */
	uint64_t first_ns, last_ns;
	bool attached; /* it ran before */
	bool exited;
	int32_t exit_code; /* as wait() gives it */
	char comm[16];
};

/* An executable mapping of a process, as it was at time_ns. */
struct pugmark_recording_map {
	int32_t pid;
	uint64_t time_ns;
	uint64_t start, end, off_file;
	const char *path;
};

/* A piece of code that a process has made at run time, as it has said itself (a perf map). */
struct pugmark_recording_code {
	const char *name;    /* any text */
	uint64_t start, end; /* run-time addresses */
	bool certain;	     /* it had been said by the time that was asked for, or by the next look
				at the map; and nothing else that was said may have been there */
	uint32_t number;     /* of the name: the same in each piece that is called so */
};

/* A probe that was hit. */
struct pugmark_recording_hit {
	uint32_t module, site; /* index of the recording's modules, of its plan's sites */
	uint64_t time_ns;      /* 0 where recorded without times */
};
#define PUGMARK_DEATH_HITS 8

/* A thread that ended, within the recording, of what a harmful probe would make it end of. */
struct pugmark_recording_death {
	uint32_t task; /* number of the thread */
	int32_t tid, pid;
	char comm[16];
	int32_t code;	  /* how it ended, as wait() gives it */
	int32_t signal;	  /* SIGSEGV, SIGILL, SIGTRAP or SIGBUS that it took last; 0: it ended with
			     another thread that did */
	int32_t si_code;  /* above 0: of what it did; else it was sent */
	uint64_t si_addr; /* as in siginfo_t, if it was of what it did */
	uint64_t ip;	  /* where it took it, */
	uint32_t module;  /* in this module, UINT32_MAX: in none that is traced, */
	uint64_t addr;	  /* at this ELF address, */
	uint64_t at_ns;	  /* at this time */
	uint64_t time_ns; /* of its end */
	struct pugmark_recording_hit hits[PUGMARK_DEATH_HITS]; /* its last ones, oldest first */
	uint32_t n_hits;
};

struct pugmark_recording_info {
	uint64_t start_monotonic_ns, start_realtime_ns;
	uint64_t events, lost; /* as the recorder counted; 0 where it did not end well */
	bool times;
	bool bounded; /* times are those that events had happened by, not before the last lower one;
			 all may be wrong by slack_ns */
	uint64_t slack_ns;
	bool closed;	     /* the recorder ended well */
	bool meta_damaged;   /* what is said here may be wrong */
	bool not_whole;	     /* something was not seen that is no gap of a thread: a note says */
	int32_t exit_status; /* of the command; 0 without one */
	const char *meta;    /* the text of meta.json */
	/* "exit", "signal", "duration", "disk", "overhead", "changed", "refused", "memory", or ""
	 */
	const char *stopped;
	uint64_t damaged_bytes; /* of the file of events */
	bool values;		/* it is of level values: there was a file of captures */
	bool losses_follow;	/* patched instructions count what they lose: it was lost somewhere
				 * before it is told */
};

/* Opens the recording in the directory @dir. Returns 0 and a recording that the caller frees, or
 * -errno with @diag filled (-ENOENT: there is none; -ENOTSUP: of a later version). Damage is not an
 * error: see pugmark_recording_note(). */
int pugmark_recording_open(const char *dir, struct pugmark_recording **out,
			   struct pugmark_diag *diag);
void pugmark_recording_free(struct pugmark_recording *rec);

const struct pugmark_recording_info *pugmark_recording_info(const struct pugmark_recording *rec);
const struct pugmark_recording_module *
pugmark_recording_modules(const struct pugmark_recording *rec, uint32_t *n);
const struct pugmark_recording_task *pugmark_recording_tasks(const struct pugmark_recording *rec,
							     uint32_t *n);
/* The index of the task with that number; UINT32_MAX: none. */
uint32_t pugmark_recording_task_index(const struct pugmark_recording *rec, uint32_t number);
/* Notes of the recorder, and what is damaged: one line each; NULL past the last. */
const char *pugmark_recording_note(const struct pugmark_recording *rec, uint32_t index);
/* The threads that died of a signal, in the order of their ends. */
const struct pugmark_recording_death *pugmark_recording_deaths(const struct pugmark_recording *rec,
							       uint32_t *n);
/* All executable mappings that were looked at. */
const struct pugmark_recording_map *pugmark_recording_maps(const struct pugmark_recording *rec,
							   uint32_t *n);
/* The executable mapping of process @pid that held @addr at @time_ns, or else the one nearest in
 * time; NULL: none is known. */
const struct pugmark_recording_map *pugmark_recording_map_at(const struct pugmark_recording *rec,
							     int32_t pid, uint64_t addr,
							     uint64_t time_ns);

/* What process @pid called the code at @addr at @time_ns, or, where it had said nothing, what it
 * called it later. Returns false: it never has; else @out, borrowed from the recording. */
bool pugmark_recording_code_at(const struct pugmark_recording *rec, int32_t pid, uint64_t addr,
			       uint64_t time_ns, struct pugmark_recording_code *out);
/* The name that has @number, which that function has told. */
const char *pugmark_recording_code_name(const struct pugmark_recording *rec, uint32_t number);

/* The events of the task at @index of pugmark_recording_tasks(), from the first. The iterator is
 * freed before the recording. */
int pugmark_recording_iter_new(const struct pugmark_recording *rec, uint32_t index,
			       struct pugmark_recording_iter **out);
void pugmark_recording_iter_free(struct pugmark_recording_iter *iter);
/* Returns 1 and the next event (its stack is borrowed until the next call), 0 at the end, or
 * -errno: -ENOMEM, -EIO. Where events are missing in the recording there is an PUGMARK_EVENT_LOST
 * with the flag PUGMARK_EVENT_DAMAGED; so there is at the end of a task whose end is missing. */
int pugmark_recording_next(struct pugmark_recording_iter *iter,
			   struct pugmark_witness_event *event);
/* The run-time address of ELF address 0 of @module, as of the last event; false: not known (no
 * event of that module is near). */
bool pugmark_recording_bias(const struct pugmark_recording_iter *iter, uint16_t module,
			    uint64_t *bias);

#ifdef __cplusplus
}
#endif

#endif

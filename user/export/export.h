/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* export.h: a recovered trace in the formats of other programs. The driver (export.c) walks the
 * call tree that replay.h shows, with its filters, thread by thread, and hands each format a stream
 * of calls that begin and end, of gaps and of marks; a format (one file each, a row of the table in
 * formats.c) writes them as they come. Code that was made at run time, and has a name, is a
 * call around what it has called: nothing more is known of it. Memory is that of the open calls, of
 * the names, and, for formats that add up, of the distinct call stacks.
 *
 * Where an event is drawn: only witnessed events have a time, the others have two bounds. A format
 * that can show bounds does. Where one time must be drawn, it is the earliest possible, but never
 * before the event that came before in the thread: that keeps every order and every nesting.
 * Readers of some formats tell what comes first by times alone, and what took no time they do not
 * show: there an event is drawn 1 ns after the one before, or later. In a recording without times
 * the n-th event is drawn at n. */
#ifndef USER_EXPORT_EXPORT_H
#define USER_EXPORT_EXPORT_H

#include "offline/base/folder.h"
#include "offline/base/vec.h"
#include "user/view/replay/replay.h"

#define EXPORT_NO_FRAME UINT32_MAX

/* How many causes there are, for formats that name each of them beforehand. */
enum { EXPORT_CAUSES = PUGMARK_CAUSE_DIVERGED + 1 };

/* What a call is of: a function, an import, or something unnamed. Numbered from 0 as they appear.
 */
struct export_frame {
	const char *name;	/* as people write it, demangled, and printable (printable.h) */
	char *plain;		/* heap: the name, where it is not the view's */
	char *own_module;	/* heap: the same of the module */
	const char *module;	/* base name; "" for what is outside of the traced modules */
	uint32_t func;		/* of that module's plan; PUGMARK_NONE: none */
	uint16_t module_number; /* of the recording; outside: the module that calls */
	bool outside;
};

/* One line of execution: a thread on one of its stacks. Numbered from 0. */
struct export_track {
	uint32_t number;
	uint32_t part;	/* the last one that it has an event in */
	uint32_t task;	/* index of the recording's tasks */
	uint32_t stack; /* 0: the one that the thread began on */
};

/* Two bounds, in ns after the recording's start (docs/recording-format.md: start_monotonic_ns). */
struct export_time {
	uint64_t earliest_ns, latest_ns;
};

struct export_call {
	uint64_t id;	 /* from 1 over all, by begin within a thread */
	uint64_t parent; /* the call around it that is exported too; 0: none */
	uint64_t at_ns;	 /* ->call: where its begin is drawn */
	struct export_time begin;
	uint64_t site; /* ELF address of the call or jump; 0: entered from outside */
	uint32_t frame;
	uint32_t level; /* exported calls around it */
	uint8_t how;	/* enum pugmark_trace_kind, see struct call */
	uint8_t cause;	/* PUGMARK_TRACE_ENTER: enum pugmark_trace_cause */
	bool again;	/* it began in an earlier part, and is open where this one begins */
	/* ->ret, of a format that `says_arguments`: what it was called with, as JSON; NULL: that is
	 * not known. */
	const char *arguments;
};

struct export_end {
	uint64_t at_ns;
	struct export_time end;
	uint8_t how; /* enum call_end */
	bool cut;    /* it goes on in the next part */
};

struct export_gap {
	struct export_time span;
	uint64_t
		at_ns; /* where its begin is drawn; its end: span.latest_ns, or here if that is 0 */
	uint64_t lost; /* events */
	uint8_t cause; /* enum pugmark_trace_cause */
};

struct export;

struct export_format {
	const char *name, *suffix, *brief;
	size_t state_bytes; /* of x->state, which is cleared for each part */
	bool makes_path;    /* it calls export_create() or export_create_folder(), and writes not
			       through    x->out */
	bool apart;	    /* each event of a thread is drawn at a time of its own */
	bool weighs;	    /* what a stack weighs may be chosen: --weight */
	bool adds_up;	    /* x->contexts is there at its end: what it counts by call stack */
	/* Each returns nothing: what fails is said with export_fail(), and ends the export. NULL:
	 * not asked for. */
	void (*begin)(struct export *x);
	/* A track's first event is about to come, in this part. */
	void (*track)(struct export *x, const struct export_track *track);
	bool says_arguments;
	void (*call)(struct export *x, const struct export_call *call);
	void (*ret)(struct export *x, const struct export_call *call, const struct export_end *end);
	void (*gap)(struct export *x, const struct export_gap *gap);
	/* All of a thread, with all of its stacks, is out. */
	void (*thread_end)(struct export *x, uint32_t task);
	void (*end)(struct export *x);
	/* Frees what x->state holds, also after a failure. */
	void (*deinit)(struct export *x);
};

struct export_contexts;

/* A part that has not got its own name yet (output.h). */
struct export_made {
	bool any;
	int parent; /* descriptor of the folder that it is in */
	char name[FOLDER_NAME_MAX], temp[FOLDER_NAME_MAX]; /* in it: its own, and what it has */
};

struct export
{
	struct replay replay; /* first: the walk, its filters and its view */
	const struct export_format *format;
	struct pugmark_diag *diag; /* what failed */
	const char *output;	   /* -o */
	char path[4096];	   /* of this part */
	struct export_made made;   /* this part, until it is whole */
	uint32_t kept;		   /* parts up to this one have their own names */
	FILE *file;		   /* of this part, unless the format makes its path itself */
	void *state;		   /* the format's */
	const void *about;	   /* of one format alone (see user/page/page.h); else NULL */
	bool times;		   /* the recording has them: else at_ns counts events */
	bool weigh_calls;	   /* formats that add up: by calls, and not by time */
	int err;

	VEC(struct export_frame) frames;
	uint32_t **frame_of_func;   /* per module and function: frame + 1, or 0 */
	uint32_t **frame_of_import; /* per module and place in its plan's strings: the same */
	uint32_t frame_outside, frame_unknown; /* the same */
	VEC(uint32_t) frame_of_made;	       /* per made_code_number(): the same */

	VEC(struct export_track) tracks; /* of the thread that is walked */
	uint32_t next_track;		 /* the number of the next one that is new */
	struct export_track *on; /* the current one; NULL: a thread's first event is to come */
	uint64_t first_id;	 /* ids of the thread's calls are above */
	uint64_t at_ns;		 /* where the thread's last event was drawn */
	struct export_contexts *contexts; /* adds_up */

	uint64_t split_bytes, split_ns; /* --split, one of them; 0: one part */
	uint32_t part;			/* from 1 */
	uint64_t calls, gaps;		/* written, over all parts */
};

/* Walks what the view shows and writes it. Returns 0, or -errno with @diag filled. x->replay.view
 * is open, and x->format, ->output and the options are set. */
int export_run(struct export *x, struct pugmark_diag *diag);
void export_deinit(struct export *x);

/* Notes that the export failed with @err (-errno); only the first failure counts. */
void export_fail(struct export *x, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Make what x->path, which must not be there, is to be: a file or a folder that this user alone may
 * read, as the recording is; no link of another user is followed. It has that name once the part is
 * whole. Return a descriptor to write to, or to make files in, or -errno after export_fail(). */
int export_create(struct export *x);
int export_create_folder(struct export *x);
enum { EXPORT_MADE_PATH_BYTES = FOLDER_NAME_MAX + 32 };
/* A path by which this process can open what export_create() has made. */
void export_made_path(const struct export *x, char out[EXPORT_MADE_PATH_BYTES]);
/* The frame of a call; EXPORT_NO_FRAME and export_fail() where memory is out. */
uint32_t export_frame_of(struct export *x, const struct call *call);
/* The same of code that was made at run time: what made_code_number() says. */
uint32_t export_frame_of_made(struct export *x, uint32_t made);
void export_frames_deinit(struct export *x);

/* What an export shows as a thread: one, or a goroutine (--by goroutine), whose tid is that of the
 * first thread it ran on. */
static inline const struct pugmark_recording_task *export_task(const struct export *x,
							       uint32_t task)
{
	return &x->replay.view.tasks[task];
}
/* A name of 15 bytes, each of them escaped, and a number and a stack behind it. */
enum { EXPORT_COMM_BYTES = 80, EXPORT_TRACK_BYTES = 128 };
/* The thread's own name, printable. */
void export_comm(const struct pugmark_recording_task *task, char out[EXPORT_COMM_BYTES]);
/* "NAME TID", with ", stack N" on a stack that the thread switched to; or "NAME goroutine N". */
void export_track_name(const struct export *x, const struct export_track *track, char *out,
		       size_t bytes);
/* The word for how a call began, enum pugmark_trace_kind. */
const char *export_how_word(uint8_t how);
/* The word for how a call ended; "" where it just returned. */
const char *export_end_word(uint8_t how);

#endif

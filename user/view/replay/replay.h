/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* replay.h: the call tree as it is shown: which calls pass the filters, and the formats that write
 * them. */
#ifndef USER_REPLAY_H
#define USER_REPLAY_H

#include "user/cli/outbuf.h"
#include "user/cli/tty.h"
#include "user/view/trace/arguments.h"
#include "user/view/trace/calls.h"
#include "user/view/trace/trace_view.h"

/* What is known of an open call, beside the call itself. */
struct replay_level {
	bool shown;	  /* the filters let it pass */
	bool printed;	  /* its opening line is out */
	bool hid;	  /* it made calls that the filters left out */
	bool matched;	  /* -F matched it, */
	bool left_out;	  /* or -N did, and nothing around it */
	uint32_t indent;  /* how many shown calls are around it */
	uint64_t id;	  /* shown: its number in the thread, from 1, by start */
	uint32_t made;	  /* replay.made: the code made at run time that has called it
			     (made_code_number()), which has the number before its own */
	uint32_t n_made;  /* of such code around it */
	uint32_t inlined; /* --paths: the innermost inlined call that is open, of the source of */
	uint16_t module;  /* this module; or SOURCE_NONE */
	struct arg_values *values; /* heap: what it was called with; NULL: not known */
};

/* A call whose end is known. */
struct replay_end {
	enum call_end how;
	uint64_t from_ns, to_ns; /* it ended between these */
	uint64_t min_ns, max_ns; /* what it took, its callees included */
};

struct replay;
struct replay_block;
struct replay_paths;

/* How a tree is written. @level is of r->calls.stack and r->levels. */
struct replay_format {
	const char *name;
	void (*begin)(struct replay *r);
	void (*thread)(struct replay *r, uint32_t task);
	/* A call that will have others inside of it. NULL: not asked for. */
	void (*open)(struct replay *r, uint32_t level);
	/* @leaf: it was not opened; nothing inside of it is shown. */
	void (*close)(struct replay *r, uint32_t level, const struct replay_end *end, bool leaf);
	void (*gap)(struct replay *r, const struct pugmark_trace_event *gap);
	/* The thread goes on on the stack r->calls.stacks.on. */
	void (*stack)(struct replay *r, const struct pugmark_trace_event *event);
	/* --paths; each may be NULL. @depth: how many inlined calls are around that one. */
	void (*block)(struct replay *r, uint32_t level, const struct replay_block *block);
	void (*inline_open)(struct replay *r, uint32_t level, uint32_t depth, const char *name,
			    const char *file, uint32_t line);
	void (*inline_close)(struct replay *r, uint32_t level, uint32_t depth, const char *name);
	void (*thread_end)(struct replay *r, uint32_t task);
	void (*end)(struct replay *r);
};
extern const struct replay_format replay_text, replay_json;

/* A run of the same call without calls inside, which text shows in one line. */
struct replay_run {
	struct call call; /* the first of them */
	struct replay_level level;
	struct replay_end end; /* of the last; what all of them took */
	uint64_t n;
};

/* Which of the calls that the filters let through, as the outermost of what is shown, are taken. */
struct replay_choice {
	bool (*takes)(void *ctx, uint32_t task, const struct call *call);
	void *ctx;
};

struct replay {
	struct trace_view view;
	struct outbuf *out;
	const struct replay_format *format;
	struct tty term;
	struct replay_paths *paths; /* --paths, or NULL */
	struct arguments arguments;
	bool all;		     /* no runs */
	bool made;		     /* code made at run time, where it has a name, is a call too */
	struct replay_choice choice; /* ->takes NULL: all */
	uint32_t task;		     /* that is walked */
	uint64_t longer_ns;	     /* only calls that may have taken as long; 0: all */
	uint64_t gaps;		     /* of what is shown */
	struct calls calls;
	struct replay_level *levels; /* the notes of the calls */
	uint32_t root,
		hidden; /* one more than the level of the call that -F or -N matched; 0: none */
	uint64_t last_id;
	bool any;    /* a call has been shown */
	bool failed; /* out of memory */
	bool past;   /* the end of the time that is shown */
	bool comma;  /* JSON: not the first of a list */
	struct replay_run run;
};

/* Shows the whole, thread by thread. Returns 0, or -errno with @diag filled. */
int replay_show(struct replay *r, struct pugmark_diag *diag);

/* Prints what the call at @level was called with. False: it is not known, and nothing is printed.
 */
bool replay_put_arguments(struct replay *r, const struct call *call,
			  const struct replay_level *level, bool json);

/* The name of a call: the function's, the import's, or a word for what has no name. */
const char *replay_call_name(struct replay *r, const struct call *call);

#endif

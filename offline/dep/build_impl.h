/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* build_impl.h: what the files of the builder share. events.c adds to the trace, loads.c loads of
 * several writers; build.c follows the replay; calls.c knows what imported functions do
 * (flows.def), bound.c those whose address the linker finds first; streams.c what was read and
 * written of each file descriptor, moved.c by which system calls; born.c what a forked process
 * begins with; format.c the arguments of printf() and its like.
 */
#ifndef OFFLINE_DEP_BUILD_IMPL_H
#define OFFLINE_DEP_BUILD_IMPL_H

#include "offline/base/large.h"
#include "offline/dep/dep.h"
#include "offline/dep/render.h"
#include "offline/dep/shadow.h"

#include <string.h>

enum { DEP_ARGS = 6, DEP_FDS = 1024 };

/* Memory that a call may write. */
struct dep_range {
	uint64_t addr;
	uint32_t len; /* bytes; DEP_TEXT: a string, with its zero byte */
	bool counted; /* it is one of those whose number is the result */
};
enum { DEP_SCANNED = 12, DEP_TEXT = 0 };

/* A call out of the traced modules that is not over. What it reads is noted when it begins. */
struct dep_pending {
	const char *name;
	uint64_t args[DEP_ARGS];
	uint64_t sp, ret;
	bool spans; /* control came in since */
	uint32_t id;
	uint32_t regs; /* dep_event.regs */
	bool known;    /* what it reads */
	struct dep_words reads;
	struct dep_words copied; /* definitions of the bytes that it is going to copy */
	struct dep_range scanned[DEP_SCANNED]; /* where a scanf() puts what it reads, in order */
	uint8_t n_scanned;
	bool bound;	      /* the linker has put its address where the next call finds it */
	struct dep_text text; /* what a printf() is going to make, */
	bool assumed;	      /* of something that is assumed */
};

/* Bytes of a file that were read, each a definition. */
struct dep_input {
	uint64_t offset, len;
	uint32_t def;
};

/* What a function of stdio was given: the bytes of an event with DEP_OUTPUT. */
struct dep_given {
	uint32_t event;
	uint64_t place; /* in all that stdio was given for that descriptor */
};

struct dep_stream {
	uint64_t read,
		written;   /* offsets in bytes: where the kernel stands, and what was written */
	uint64_t consumed; /* of what the kernel has read, by the functions of stdio */
	struct dep_input *inputs;
	size_t n_inputs, room_inputs;
	bool unsure;		 /* some output had a length that is not known, or assumed */
	struct dep_given *given; /* by place */
	uint64_t n_given, room_given;
	uint64_t taken, passed; /* bytes that stdio was given, and that it has passed on */
	uint8_t *text;		/* what was written */
	size_t n_text, room_text;
};

/* Lengths of heap blocks by address. */
struct dep_heap {
	uint64_t *addr, *len;
	size_t n, room;
};

/* A signal: the number of its record, and its event. */
struct dep_signal {
	uint64_t number;
	uint32_t id;
};

struct dep_build {
	struct dep_trace trace;
	struct value_run *run;
	struct value_machine *machine;
	struct value_memory *memory;
	struct shadow shadow;
	struct value_trace vt;
	size_t done, done_addresses, done_results; /* of the trace: what was looked at */
	dep_watch_fn *watch;
	void *watch_ctx;
	void (*pause)(void *ctx, struct dep_build *build);
	void *pause_ctx;
	uint64_t load; /* words; as trace.loads.n */
	bool down;     /* the direction flag is set */
	bool no_memory;
	struct dep_pending *calls;
	size_t n_calls, room_calls;
	struct dep_signal *signals; /* whose handlers may return */
	size_t n_signals;
	uint32_t next_id;
	struct dep_stream streams[DEP_FDS];
	struct dep_heap heap;
	uint32_t others; /* the definition of the last DEP_OTHERS; 0: there was none */
	uint64_t from;	 /* record behind which what comes next is executed */
	bool crowded;	 /* others are awake now: all that can be written may be theirs */
	bool (*theirs)(void *ctx, uint64_t addr); /* NULL, or whether they ever have */
	void *theirs_ctx;
	struct imports *imports; /* which memory functions write */
	/* Takes what was executed so far. At a crossing that is done; where a callback has returned
	 * to code outside nothing is told. */
	void (*catch_up)(struct dep_build *b);
	uint32_t outside; /* the definition of what code outside writes, until the next crossing; 0:
			     it has written nothing */
};

static inline bool dep_words_room(struct dep_words *w, uint64_t more)
{
	if (w->n + more <= w->room)
		return true;
	uint64_t room = w->room + w->room / 2 + 1024;
	room = room < w->n + more ? w->n + more : room;
	uint32_t *at = large_realloc(w->at, room * sizeof(*at));
	if (!at)
		return false;
	w->at = at;
	w->room = room;
	return true;
}

static inline void dep_words_push(struct dep_build *b, struct dep_words *w, uint32_t word)
{
	if (w->n == w->room && !dep_words_room(w, 1))
		b->no_memory = true;
	else
		w->at[w->n++] = word;
}

/* The definition of the byte at @addr. */
uint32_t dep_def_at(struct dep_build *b, uint64_t addr);
/* The first of @n new definitions. */
uint32_t dep_new_defs(struct dep_build *b, uint32_t n);
void dep_add_item(struct dep_build *b, uint32_t item);
/* An event that is not among the items: as dep_add_event(), but for its count. */
struct dep_event *dep_keep_event(struct dep_build *b, const struct dep_event *e);
/* Adds an event with what is told of it; its definitions begin at the next number, and are n_defs.
 * Returns it, or NULL with no_memory set. Borrowed until the next one. */
struct dep_event *dep_add_event(struct dep_build *b, const struct dep_event *e);
/* The definitions of @len bytes at @addr, but 0, each once in a row, are added to @to. */
void dep_note_reads(struct dep_build *b, struct dep_words *to, uint64_t addr, uint64_t len);
/* Those of every byte, 0 as well. */
void dep_note_bytes(struct dep_build *b, struct dep_words *to, uint64_t addr, uint64_t len);
/* Gives the @n bytes at @addr definitions of the event @e (its last), one for each run of bytes
 * with the same source, which are kept as its sources. */
void dep_copy_defs(struct dep_build *b, struct dep_event *e, uint64_t addr, const uint32_t *sources,
		   uint64_t n);
/* Makes @n further definitions of the last event @e. Returns the first. */
uint32_t dep_more_defs(struct dep_build *b, struct dep_event *e, uint32_t n);

/* loads.c: the word of a load whose bytes have not all the same definition. */
uint32_t dep_load_several(struct dep_build *b, uint64_t addr, uint64_t len);

/* bound.c */
extern const uint8_t dep_args[DEP_ARGS]; /* the registers of arguments */
/* Where the call @p returns to, and whether the function that it calls is known already. */
void dep_read_return(struct dep_build *b, struct dep_pending *p);
/* Control has come in: true if that is the dynamic linker's jump to the traced function that the
 * innermost call is of. That call is open no longer then, and the event is told. */
bool dep_call_bound(struct dep_build *b);

/* calls.c */
void dep_call_begins(struct dep_build *b, const char *name);
void dep_call_ends(struct dep_build *b, const struct capture *c);
void dep_calls_deinit(struct dep_build *b);

/* written.c: what the import table says that the call @p has written, with @result, becomes
 * definitions of @e. */
void dep_written(struct dep_build *b, struct dep_event *e, const struct dep_pending *p,
		 uint64_t result);
/* At each crossing: of the call that is open now, is it to be told what it writes? Of one of which
 * flows.def knows what it writes it is not. */
void dep_written_ask(struct dep_build *b);

/* format.c: notes what a format and its arguments read; the format is the general argument
 * @format, its arguments follow, or are the va_list that argument @list (-1: none) points to. */
void dep_format_reads(struct dep_build *b, struct dep_pending *p, unsigned format, int list);
/* The same of scanf()'s formats: where it puts what it reads goes to p->scanned. */
void dep_format_scans(struct dep_build *b, struct dep_pending *p, unsigned format, int list);

/* gather.c: notes what @n struct iovec at @at name, or a struct msghdr: whose definitions go to
 * p->copied, what they hold to p->text. */
void dep_gather(struct dep_build *b, struct dep_pending *p, uint64_t at, uint64_t n);
void dep_gather_message(struct dep_build *b, struct dep_pending *p, uint64_t at);

/* streams.c */
static inline struct dep_stream *dep_stream(struct dep_build *b, int64_t fd)
{
	return fd >= 0 && fd < DEP_FDS ? &b->streams[fd] : NULL;
}
/* The descriptor of the FILE at @addr; -1: not known. */
int dep_file_fd(struct dep_build *b, uint64_t addr);
/* A system call has filled memory from @c's descriptor. */
void dep_stream_kernel(struct dep_build *b, const struct capture *c);
/* moved.c: it was an input, of @n bytes that are the first definitions of @e, in @c's ranges from
 * @range on; or may be an output. */
void dep_moved_input(struct dep_build *b, const struct capture *c, uint32_t range,
		     const struct dep_event *e, uint64_t n);
void dep_moved_output(struct dep_build *b, const struct capture *c, bool inside);
/* born.c: the memory of a process that was forked gets its definitions; a call may have forked one.
 */
void dep_born_begin(struct dep_build *b);
void dep_born_fork(struct dep_build *b, const struct capture *c);
/* The event (the last one) has given @n bytes to stdio. */
void dep_moved_given(struct dep_build *b, int fd, uint64_t n);
/* The definitions of @n bytes from where stdio stands, which goes on by them. */
void dep_stream_consume(struct dep_build *b, int fd, uint64_t n, struct dep_words *to);
/* @n bytes at @addr, or (@addr 0) the character @c, were written; @e is the call's event. */
void dep_stream_output(struct dep_build *b, struct dep_event *e, int fd, const uint32_t *defs,
		       const uint8_t *bytes, uint64_t n);
void dep_streams_deinit(struct dep_build *b);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* collector_impl.h: the collector among its parts: collector_chunks.c hands chunks from one of its
 * threads to the other, drain.c is the thread that fills them, collector.c has the one that writes
 * them, and what others ask of both. Memory is bounded: CHUNKS chunks and the one that is written,
 * a table of pending process records, a table of processes. While the thread that writes rests,
 * what it has not come to yet goes to a file without a name. */
#ifndef USER_COLLECTOR_IMPL_H
#define USER_COLLECTOR_IMPL_H

#include "offline/base/clock.h"
#include "offline/base/vec.h"
#include "user/file/disk_room.h"
#include "user/kernel/idle_thread.h"
#include "user/proc/maps_watch.h"
#include "user/record/write/code_watch.h"
#include "user/record/write/collector.h"

#include <pthread.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
	CHUNKS = 3,
	CHUNK_BYTES = 4 << 20,
	CHUNK_ROOM = MAPS_MAX_BYTES + (64 << 10), /* what one step of draining may append */
	PENDING_MAX = 4096,
};

struct chunk {
	uint8_t *data;
	size_t len;
	uint64_t since_ns;
};

/* What waits to be written. */
struct queued {
	struct chunk *chunk; /* NULL: it is in the file, */
	uint64_t off_file;   /* here, */
	size_t len;	     /* with so many bytes, */
	uint64_t since_ns;   /* and since then */
};

struct collector {
	struct probes *probes;
	struct recording_writer *writer;
	struct ring_reader *events, *process;
	int notify_fd;
	uint32_t stall_ms;

	pthread_t drain_thread, write_thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct chunk chunks[CHUNKS];
	struct chunk *free[CHUNKS]; /* under lock, as the queue, the counts and flags below */
	VEC(struct queued) queue;
	unsigned n_free;
	unsigned n_flushes, n_flushed; /* asked for, and handed over to be written */
	struct idle_thread *idle;      /* the thread that writes, which rests; NULL: it does not */
	uint64_t rests_from_ns;	       /* not before */
	bool writing;
	bool keeping;		     /* the writer keeps something back until more comes, */
	bool settling;		     /* or somebody wants it, */
	struct timespec keeps_until; /* or this time */
	bool finishing, drained;
	int err;
	_Atomic bool give_back;	  /* before the next chunk is written */
	_Atomic uint64_t waiting; /* bytes that are to be written */
	char *note;

	struct site_hits *hits;		  /* BATCH_MAX_SITES; NULL: not counted */
	_Atomic uint32_t n_hits;	  /* from here on none */
	_Atomic uint32_t hits_generation; /* those of others are not counted */

	int backlog_fd;	    /* -1: there is none */
	struct chunk again; /* of the thread that writes: what was there */

	/* Of the draining thread. */
	uint64_t backlog_end;
	bool stuck; /* there is no room to put anything aside */
	struct disk_room room;
	struct chunk *current;
	struct process_record *pending;
	uint32_t n_pending;
	bool looks_due; /* a process has mapped code: to be looked at before it ends, as it may soon
			 */
	struct maps_watch *maps;
	struct code_watch *code; /* NULL: names of code are not read */
};

/* Raises this thread's priority: many threads fill the ring and one empties it, so on a busy
 * machine it falls behind if it only takes its turn. Without CAP_SYS_NICE it does. */
static inline void collector_go_first(void)
{
	setpriority(PRIO_PROCESS, gettid(), -20); /* of this thread: Linux keeps that apart */
}

/* ---- collector_chunks.c ---- */

/* Locks, in a thread that the one which writes may not hold up. */
static inline void collector_lock(struct collector *c)
{
	idle_thread_lock(c->idle, &c->lock);
}

/* Hands the current chunk over and takes a free one; @wait for it, or go without. */
void chunk_turn(struct collector *c, bool wait);
/* Whether one step of draining finds room in the current chunk. */
bool chunk_has_room(const struct collector *c);
/* Appends an entry. The caller has seen that there is room. */
void *chunk_add(struct collector *c, const void *data, uint32_t bytes);
/* Waits for something to write, whose chunk is NULL and which has no bytes where it is what was
 * kept back, or, if that is nothing, where nothing more comes. Under the lock. */
struct queued chunk_wait(struct collector *c);
/* The chunk of what was waited for, from wherever it is. Returns NULL: there is none, with @err 0,
 * or it cannot be read. Outside of the lock. */
struct chunk *chunk_get(struct collector *c, struct queued queued, int *err);
/* Ends all writing and tells whoever waits. Under the lock. */
void collector_fail(struct collector *c, int err);

/* ---- drain.c ---- */

/* Opens both rings, which ring_close() closes. Returns 0 or -errno. */
int collector_open_rings(struct collector *c);
/* The thread that drains the rings; @context: the collector. */
void *collector_drain(void *context);

#endif

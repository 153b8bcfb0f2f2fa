/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* replay_impl.h: what replay.c (from record to record) and replay_open.c (the start, snapshots)
 * share. */
#ifndef OFFLINE_VALUE_REPLAY_IMPL_H
#define OFFLINE_VALUE_REPLAY_IMPL_H

#include "offline/value/blocks.h"
#include "offline/value/models.h"
#include "offline/value/replay.h"

/* value_region.source: zeros, or a file; with what stood there at the start, or not. */
#define SOURCE_UNKNOWN 1u
#define SOURCE_FILES 2u
#define SOURCE_START (1u << 31)

enum { SYS_RT_SIGRETURN = 15, KEPT = 6 };

/* A call out of the traced modules that has not come back. */
struct open_call {
	uint64_t sp;  /* where its return address lies */
	uint64_t ret; /* 0: not known */
	uint64_t kept[KEPT];
	uint8_t quality[KEPT][8];
	const char *import; /* NULL: not known */
	uint64_t args[2];
};

/* What a signal handler interrupted. */
struct interrupted {
	bool outside;
	size_t n_calls;
	struct value_state state;
	struct value_known known;
};

/* A moment of a run. Lists are copies. */
struct run_snapshot {
	uint64_t count;
	struct value_snapshot memory;
	struct value_state state;
	struct value_known known;
	uint64_t next, expected, heap_end;
	bool outside;
	const char *import;
	struct open_call *calls;
	size_t n_calls;
	struct interrupted *signals;
	size_t n_signals;
};

struct value_replay {
	struct captures *captures;
	struct imports *imports;
	const struct capture_place *places;
	uint32_t n_places;
};

struct value_run {
	struct value_replay *replay;
	struct value_memory memory;
	struct value_machine *machine;
	struct capture *records; /* of the task, all */
	uint64_t n_records, room_records;
	uint64_t next;	   /* record */
	uint64_t expected; /* address of a place whose record was taken already, 0: none */
	uint64_t heap_end; /* 0: there is no heap yet */
	bool outside;
	int ended;	    /* an enum value_replay_stop; 0: not yet */
	const char *import; /* the last call out */
	struct open_call *calls;
	size_t n_calls, room_calls;
	struct interrupted *signals;
	size_t n_signals;
	struct value_blocks blocks;
	struct value_gap gap;
	value_crossing_fn *crossing;
	void *crossing_ctx;
	uint64_t *awaited; /* return addresses of calls whose end is told, sorted */
	size_t n_awaited;
	struct run_snapshot *snapshots; /* by count */
	size_t n_snapshots;
	uint64_t snapshot_every, snapshot_next;
};

/* Whether a record tells of the end of a call that returns to @ret. */
bool value_run_awaits(const struct value_run *run, uint64_t ret);
/* Takes a snapshot. False: memory is out. */
bool value_run_keep(struct value_run *run);

#endif

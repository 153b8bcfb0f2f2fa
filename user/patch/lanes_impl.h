/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* lanes_impl.h: lanes among their parts: lanes.c takes full chunks out of the areas and stores
 * them, lanes_take.c reads them again. One lock keeps the index of stored chunks, and the ends
 * that are noted. Areas are added by one thread: what it wrote of one is seen with n_areas. Chunks
 * are packed outside of the lock, for one that is full belongs to the thread of lanes.c alone; how
 * many there are is that thread's, and what it counts may be told a little late. They are read and
 * unpacked outside of it as well, for what is stored stays where it is. */
#ifndef USER_PATCH_LANES_IMPL_H
#define USER_PATCH_LANES_IMPL_H

#include "offline/base/vec.h"
#include "user/file/disk_room.h"
#include "user/kernel/idle_thread.h"
#include "user/patch/lane_index.h"
#include "user/patch/lane_pack.h"
#include "user/patch/lanes.h"
#include "user/patch/tsc_clock.h"

#include <pthread.h>

/* What comes from one area. */
struct source {
	uint32_t number; /* from 1 */
	struct lanes_image image;
	uint8_t *memory;
	size_t bytes;
	uint32_t n_chunks, least; /* that may be used, now and at the begin */
	bool waits;
	uint64_t reclaimed_ns;
	uint32_t *late;	 /* by chunk: the serial of a full one that was not whole when it was looked
			    at */
	uint32_t n_late; /* of them were not whole the time before either */
	uint32_t waited_ms; /* for records to be written; whoever reads lanes alone */
	struct lane_index taken;
	/* By chunk: how many bytes were handed over since it was taken out last. What a program
	 * says of its lanes may go back and forth: no more is handed over than a chunk has. */
	uint32_t *handed;
	uint32_t last;	    /* the chunk in which something was found last */
	uint32_t n_missing; /* positions where there was nothing to hand over */
};

struct lane_end {
	int32_t tid;
	uint32_t area, lane;
	uint64_t pos, lost;
};

/* Chunks begin at multiples of it in the file. */
enum { LANES_BLOCK = 4096 };

/* A chunk that others refer to, in the file. */
struct reference {
	uint64_t off_file;
	uint32_t bytes;
};

/* Of whoever reads chunks again. */
struct lanes_reader {
	struct lane_history history;
	uint32_t reference; /* which is in it; UINT32_MAX: none */
	_Alignas(struct patch_chunk) uint8_t chunk[PATCH_CHUNK]; /* the one that is read: */
	bool is_last;						 /* nobody reads it again */
	uint32_t area, lane, serial;				 /* which; area 0: none */
	uint8_t packed[PATCH_CHUNK];
};

/* Of the thread that stores them. */
struct lanes_writer {
	struct lane_history history;
	_Alignas(struct patch_chunk) uint8_t packed[LANE_PACKED_MOST];
	uint32_t area; /* whose chunk is the reference, for */
	uint32_t left; /* so many more, */
};

struct lanes {
	pthread_mutex_t lock;
	struct idle_thread *idle; /* the thread that reads; NULL: it does not rest */
	pthread_t thread;
	bool finishing;
	struct source areas[AREAS_MAX];
	uint32_t n_areas;
	int fd;
	struct disk_room room;
	bool no_room;	  /* there is none: what was stored has to be read first */
	uint64_t room_ns; /* when the last pass began before which there was some */
	uint64_t off_file;
	VEC(struct reference) references; /* under the lock */
	struct lanes_writer *writer;
	struct lanes_reader *reader;
	struct lanes_totals totals;
	struct tsc_clock *clock; /* NULL: stamps tell nothing */
	struct lane_end *ends;
	uint32_t n_ends, cap_ends;
};

static inline struct patch_shared *shared_of(const struct source *a)
{
	return (struct patch_shared *)a->memory;
}

static inline uint8_t *chunk_of(const struct source *a, uint32_t i)
{
	return a->memory + PATCH_CHUNK * (size_t)(i + 1);
}

static inline uint32_t head_at(const uint8_t *chunk, uint32_t off)
{
	return __atomic_load_n((const uint32_t *)(chunk + off), __ATOMIC_ACQUIRE);
}

#endif

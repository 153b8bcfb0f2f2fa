/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* lanes_impl.h: lanes among their parts: lanes.c takes full chunks out of the areas and stores
 * them, lanes_take.c reads them again. One lock keeps the index of stored chunks, and the ends
 * that are noted. Areas are added by one thread: what it wrote of one is seen with n_areas. Chunks
 * are compressed outside of the lock, for one that is full belongs to the thread of lanes.c alone;
 * how many there are is that thread's, and what it counts may be told a little late. */
#ifndef USER_PATCH_LANES_IMPL_H
#define USER_PATCH_LANES_IMPL_H

#include "user/patch/lane_index.h"
#include "user/patch/lanes.h"
#include "user/patch/tsc_clock.h"

#include <pthread.h>
#ifndef PUGMARK_NO_ZSTD
#include <zstd.h>
#endif

/* What comes from one area. */
struct source {
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

struct lanes {
	pthread_mutex_t lock;
	pthread_t thread;
	bool finishing;
	struct source areas[AREAS_MAX];
	uint32_t n_areas;
	int fd;
	uint64_t off_file;
	uint8_t *room;	/* for a compressed chunk */
	uint8_t *taken; /* one that is taken out: programs may write in theirs at any time */
	uint8_t *chunk; /* one that is read again */
	uint32_t chunk_area, chunk_lane, chunk_serial;
	struct lanes_totals totals;
	struct tsc_clock *clock; /* NULL: stamps tell nothing */
	struct lane_end *ends;
	uint32_t n_ends, cap_ends;
#ifndef PUGMARK_NO_ZSTD
	ZSTD_CCtx *compress;
#endif
};

static inline struct patch_shared *shared_of(const struct source *a)
{
	return (struct patch_shared *)a->memory;
}

static inline uint8_t *chunk_of(const struct source *a, uint32_t i)
{
	return a->memory + PATCH_CHUNK * (size_t)(i + 1);
}

static inline uint32_t record_bytes(uint32_t head)
{
	return 12 + (head & PATCH_HEAD_RET ? 8 : 0) + (head & PATCH_HEAD_TARGET ? 8 : 0);
}

static inline uint32_t head_at(const uint8_t *chunk, uint32_t off)
{
	return __atomic_load_n((const uint32_t *)(chunk + off), __ATOMIC_ACQUIRE);
}

#endif

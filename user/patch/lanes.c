// SPDX-License-Identifier: LGPL-2.1-or-later
/* lanes.c: the thread that takes full chunks out of the areas and stores them; areas and ends of
 * lanes as others tell of them. */
#include "user/patch/lanes_impl.h"

#include "offline/base/clock.h"
#include "offline/base/own_nice.h"
#include "offline/base/write_all.h"
#include "bpf/protocol.h"
#include "user/patch/holders.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { POLL_MIN_NS = 200000, POLL_MAX_NS = 2000000 };

/* So many chunks are packed by the same reference, which each of them is read again with. */
enum { REFERRED_MAX = 64 };

/* How often it is looked for chunks whose threads are no more. */
#define RECLAIM_NS 100000000ull

/* How long threads wait where the disk has no room. What a lane has stored is read when something
 * tells how far it had come by then; that may be long, and meanwhile nothing is given back. */
#define NO_ROOM_NS 1000000000ull

/* Whether no record of the full @chunk is still being written: a signal's handler may run while one
 * is, and fill the rest. */
static bool is_whole(const uint8_t *chunk)
{
	uint32_t off = PATCH_CHUNK_HEADER, head;
	uint32_t closed = ((const struct patch_chunk *)chunk)->closed;

	while (off < PATCH_FILLED || (off < closed && off < PATCH_CHUNK)) {
		head = head_at(chunk, off);
		if (!head)
			return false;
		off += lane_record_bytes(head);
	}
	return true;
}

/* Packs chunk @i into @l->writer->packed, and says in @stored how; false: not all of it is written
 * yet. A process may write to it at any time. */
static bool pack(struct lanes *l, const struct source *a, uint32_t i, bool ended,
		 struct stored *stored)
{
	struct lanes_writer *w = l->writer;
	const uint8_t *chunk = chunk_of(a, i);
	bool refers = w->left && w->area == a->number;
	int bytes = lane_pack(&w->history, chunk, refers, ended, w->packed);

	if (!bytes || (bytes < 0 && !ended && !is_whole(chunk)))
		return false;
	*stored = (struct stored){.off_file = l->off_file, .bytes = bytes};
	if (bytes < 0) {
		memcpy(w->packed, chunk, PATCH_CHUNK);
		stored->bytes = PATCH_CHUNK;
	} else if (refers) {
		w->left--;
		stored->reference = l->references.n - 1;
	} else {
		w->left = 0; /* until it is stored */
		w->area = a->number;
		stored->reference = l->references.n;
	}
	return true;
}

/* What was packed is in the file: if it is a reference, others may be packed by it. */
static bool note_reference(struct lanes *l, const struct stored *stored)
{
	struct reference reference = {stored->off_file, stored->bytes};

	if (stored->bytes == PATCH_CHUNK || stored->reference < l->references.n)
		return true;
	if (!VEC_PUSH(&l->references, reference))
		return false;
	l->writer->left = REFERRED_MAX;
	return true;
}

/* Whoever needs a chunk looks at @i first, if that is below where it would begin: so as few are in
 * use as can be, for the first write to each page of one costs a page fault. */
static void offer(struct source *a, uint32_t i)
{
	uint32_t *hint = &shared_of(a)->hint;

	if (i < __atomic_load_n(hint, __ATOMIC_RELAXED))
		__atomic_store_n(hint, i, __ATOMIC_RELAXED);
}

/* What the header of a packed chunk says: the program's, which may have made it up. */
static const struct patch_chunk *packed_header(const struct lanes *l, const struct stored *stored)
{
	const uint8_t *packed = l->writer->packed;

	return (const struct patch_chunk *)(packed + (stored->bytes == PATCH_CHUNK
							      ? 0
							      : LANE_PACKED_HEADER));
}

/* Whether chunk @i was full and not whole when count_late() looked, which it does each 100 ms: to
 * pack it in each pass in vain would take a tenth of a processor. */
static bool is_late(const struct source *a, uint32_t i)
{
	const struct patch_chunk *header = (const void *)chunk_of(a, i);

	return a->late && a->late[i] && a->late[i] == header->serial;
}

/* Takes a full chunk out and gives it back empty. Where that cannot be it stays as it is. */
static bool take_out(struct lanes *l, struct source *a, uint32_t i)
{
	uint8_t *chunk = chunk_of(a, i);
	uint32_t *state = &((struct patch_chunk *)chunk)->state;
	uint32_t was = __atomic_load_n(state, __ATOMIC_ACQUIRE);
	struct stored stored;

	if ((was != PATCH_FULL && was != PATCH_ENDED) || (was == PATCH_FULL && is_late(a, i)) ||
	    !pack(l, a, i, was == PATCH_ENDED, &stored))
		return false;
	const struct patch_chunk *header = packed_header(l, &stored);
	if (!disk_room_has(&l->room, stored.bytes)) {
		l->no_room = true;
		return false;
	}
	int failed = pwrite_all(l->fd, l->writer->packed, stored.bytes, l->off_file);
	if (failed) { /* a quota, or the disk itself: others may wait no longer than for room */
		l->no_room = true;
		l->totals.write_err = failed;
		return false;
	}
	idle_thread_lock(l->idle, &l->lock);
	bool noted = note_reference(l, &stored);
	stored.handed = a->handed[i];
	/* Of a lane that cannot be nothing is kept, nor of a number that was there. */
	int err = 0;
	if (noted && header->lane && header->lane <= HEAD_SITE_MASK)
		err = lane_index_add(&a->taken, header->lane, header->serial, stored);
	noted &= !err || err == -EEXIST;
	if (noted) {
		a->handed[i] = 0;
		memset(chunk + 4, 0, PATCH_CHUNK - 4);
		__atomic_store_n(state, PATCH_FREE, __ATOMIC_RELEASE);
		offer(a, i);
		l->totals.chunks++;
		l->totals.bytes += PATCH_CHUNK;
		l->totals.stored += stored.bytes;
	}
	/* What is read is given back to the disk in whole blocks. */
	l->off_file += (stored.bytes + LANES_BLOCK - 1) / LANES_BLOCK * LANES_BLOCK;
	pthread_mutex_unlock(&l->lock);
	return noted;
}

/* Counts the full chunks that do not become whole. A handler that leaves by siglongjmp leaves what
 * it interrupted unwritten, and whether it will come back to that nobody knows: the chunk stays
 * until its process has ended. */
static void count_late(struct source *a)
{
	a->n_late = 0;
	for (uint32_t i = 0; a->late && i < a->n_chunks; i++) {
		const struct patch_chunk *header = (const void *)chunk_of(a, i);
		uint32_t serial = header->serial;

		if (__atomic_load_n(&header->state, __ATOMIC_ACQUIRE) != PATCH_FULL ||
		    is_whole((const uint8_t *)header))
			serial = 0;
		a->n_late += serial && a->late[i] == serial;
		a->late[i] = serial;
	}
}

/* Calls chunks ended that belong to processes which have ended, or execute another program. */
static void reclaim(struct source *a)
{
	uint32_t n_lanes = __atomic_load_n(&shared_of(a)->n_lanes, __ATOMIC_ACQUIRE) + 1;
	uint64_t *live = calloc(n_lanes / 64 + 1, sizeof(*live));
	uint32_t *lanes = calloc(a->n_chunks, sizeof(*lanes));

	for (uint32_t i = 0; lanes && i < a->n_chunks; i++) {
		const struct patch_chunk *header = (const void *)chunk_of(a, i);
		uint32_t state = __atomic_load_n(&header->state, __ATOMIC_ACQUIRE);

		if (state == PATCH_TAKEN || state == PATCH_FULL)
			lanes[i] = __atomic_load_n(&header->lane, __ATOMIC_ACQUIRE);
	}
	/* The lanes are looked for behind that: whose chunk was seen has had them all along. */
	if (live && lanes && !holders_lanes(a->image.area, live, n_lanes))
		for (uint32_t i = 0; i < a->n_chunks; i++)
			if (lanes[i] && lanes[i] < n_lanes &&
			    !(live[lanes[i] / 64] >> lanes[i] % 64 & 1))
				__atomic_store_n((uint32_t *)chunk_of(a, i), PATCH_ENDED,
						 __ATOMIC_RELEASE);
	free(live);
	free(lanes);
}

/* The memfd is as long as is used, so that a process cannot fill more. */
static bool has_room_for(const struct source *a, uint32_t n_chunks)
{
	int fd = a->image.area->chunks_fd;
	off_t bytes = PATCH_CHUNK * (off_t)(1 + n_chunks);
	struct stat st;

	return !fstat(fd, &st) && (st.st_size >= bytes || !ftruncate(fd, bytes));
}

/* Threads hold @held chunks that they fill, and may do so for ever: beside these there is always
 * room for as many as it began with. Where that cannot be, and nothing is to come back, there is
 * nothing to wait for either. */
static void make_room(const struct lanes *l, struct source *a, uint32_t held, uint32_t idle)
{
	struct patch_shared *shared = shared_of(a);
	uint64_t now_ns = clock_now_ns();

	if (now_ns - a->reclaimed_ns > RECLAIM_NS) {
		a->reclaimed_ns = now_ns;
		count_late(a);
		if (held > a->least / 2 || a->n_late)
			reclaim(a);
	}
	held += a->n_late;
	idle -= idle < a->n_late ? idle : a->n_late;
	uint32_t want = held < PATCH_CHUNKS_GROWN ? a->least + held : a->n_chunks;
	if (want > a->n_chunks && has_room_for(a, want)) {
		a->n_chunks = want;
		__atomic_store_n(&shared->n_chunks, want, __ATOMIC_RELEASE);
		idle++;
	}
	bool comes = idle && (!l->no_room || now_ns - l->room_ns < NO_ROOM_NS);
	__atomic_store_n(&shared->waits, a->waits && comes, __ATOMIC_RELAXED);
	if (idle)
		__atomic_store_n(&shared->full, 0, __ATOMIC_RELAXED);
}

/* Or threads that wait do so no more. Of what was written in seconds a pass may take seconds. */
static void say_alive(const struct source *a)
{
	__atomic_add_fetch(&shared_of(a)->alive, 1, __ATOMIC_RELAXED);
}

static uint32_t pass(struct lanes *l)
{
	uint32_t taken = 0;
	bool had_no_room = l->no_room;

	if (!had_no_room)
		l->room_ns = clock_now_ns();
	l->no_room = false;
	for (uint32_t k = 0; k < __atomic_load_n(&l->n_areas, __ATOMIC_ACQUIRE); k++) {
		struct source *a = &l->areas[k];
		uint32_t held = 0;

		say_alive(a);
		for (uint32_t i = 0; i < a->n_chunks; i++) {
			if (take_out(l, a, i)) {
				say_alive(a);
				taken++;
			}
			held += *(uint32_t *)chunk_of(a, i) == PATCH_TAKEN;
		}
		make_room(l, a, held, a->n_chunks - held);
	}
	/* Threads that wait for room keep the machine busy. */
	if (l->no_room)
		idle_thread_hurry(l->idle);
	else if (had_no_room)
		idle_thread_may_rest(l->idle);
	return taken;
}

static void *drain_main(void *context)
{
	struct lanes *l = context;
	uint64_t wait_ns = POLL_MIN_NS;
	struct timespec cpu;

	own_nice_first();
	while (!__atomic_load_n(&l->finishing, __ATOMIC_RELAXED)) {
		if (pass(l))
			wait_ns = POLL_MIN_NS;
		else if (wait_ns < POLL_MAX_NS)
			wait_ns *= 2;
		if (l->clock)
			tsc_clock_step(l->clock);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
		l->totals.cpu_ns = cpu.tv_sec * 1000000000ull + cpu.tv_nsec;
		nanosleep(&(struct timespec){.tv_nsec = wait_ns}, NULL);
	}
	return NULL;
}

int lanes_new(int dir_fd, bool stamps, struct lanes **out)
{
	struct lanes *l = calloc(1, sizeof(*l));
	int err = 0;

	if (!l)
		return -ENOMEM;
	pthread_mutex_init(&l->lock, NULL);
	l->fd = openat(dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (l->fd < 0)
		err = -errno;
	else
		l->room = disk_room_begin(l->fd);
	l->room_ns = clock_now_ns();
	l->writer = calloc(1, sizeof(*l->writer));
	l->reader = calloc(1, sizeof(*l->reader));
	if (stamps)
		l->clock = tsc_clock_new();
	if (!l->writer || !l->reader || (stamps && !l->clock))
		err = -ENOMEM;
	else
		l->reader->reference = UINT32_MAX;
	if (!err)
		err = -pthread_create(&l->thread, NULL, drain_main, l);
	if (err) {
		l->thread = 0;
		lanes_free(l);
		return err;
	}
	*out = l;
	return 0;
}

void lanes_free(struct lanes *l)
{
	if (!l)
		return;
	__atomic_store_n(&l->finishing, true, __ATOMIC_RELAXED);
	if (l->thread)
		pthread_join(l->thread, NULL);
	for (uint32_t k = 0; k < l->n_areas; k++) {
		lane_index_deinit(&l->areas[k].taken);
		free(l->areas[k].handed);
		free(l->areas[k].late);
		munmap(l->areas[k].memory, l->areas[k].bytes);
	}
	tsc_clock_free(l->clock);
	free(l->ends);
	VEC_FREE(&l->references);
	free(l->writer);
	free(l->reader);
	if (l->fd >= 0)
		close(l->fd);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

int lanes_add(struct lanes *l, int fd, const struct patch_shared *as,
	      const struct lanes_image *image)
{
	size_t bytes = patch_chunks_bytes(as->n_chunks);

	if (l->n_areas == AREAS_MAX)
		return -ENOSPC;
	uint32_t *handed = calloc(as->n_chunks + PATCH_CHUNKS_GROWN, sizeof(*handed));
	if (!handed)
		return -ENOMEM;
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED) {
		free(handed);
		return -errno;
	}
	l->areas[l->n_areas] = (struct source){
		.number = l->n_areas + 1,
		.image = *image,
		.memory = memory,
		.bytes = bytes,
		.n_chunks = as->n_chunks,
		.least = as->n_chunks,
		.waits = as->waits,
		.late = calloc(as->n_chunks + PATCH_CHUNKS_GROWN, sizeof(uint32_t)),
		.handed = handed,
	};
	__atomic_store_n(&l->n_areas, l->n_areas + 1, __ATOMIC_RELEASE);
	return l->n_areas;
}

const struct lanes_image *lanes_image(const struct lanes *l, uint32_t area)
{
	return area && area <= l->n_areas ? &l->areas[area - 1].image : NULL;
}

void lanes_note_end(struct lanes *l, int32_t tid, uint32_t area, uint32_t lane, uint64_t pos,
		    uint64_t lost)
{
	idle_thread_lock(l->idle, &l->lock);
	if (l->n_ends == l->cap_ends) {
		uint32_t cap = l->cap_ends ? 2 * l->cap_ends : 64;
		struct lane_end *grown = realloc(l->ends, cap * sizeof(*grown));

		if (grown) {
			l->ends = grown;
			l->cap_ends = cap;
		}
	}
	if (l->n_ends < l->cap_ends)
		l->ends[l->n_ends++] = (struct lane_end){tid, area, lane, pos, lost};
	pthread_mutex_unlock(&l->lock);
}

bool lanes_end(struct lanes *l, int32_t tid, uint32_t *area, uint32_t *lane, uint64_t *pos,
	       uint64_t *lost)
{
	bool found = false;

	pthread_mutex_lock(&l->lock);
	for (uint32_t i = 0; i < l->n_ends && !found; i++) {
		if (l->ends[i].tid != tid)
			continue;
		*area = l->ends[i].area;
		*lane = l->ends[i].lane;
		*pos = l->ends[i].pos;
		*lost = l->ends[i].lost;
		found = true;
	}
	pthread_mutex_unlock(&l->lock);
	return found;
}

void lanes_read_by(struct lanes *l, struct idle_thread *reader)
{
	l->idle = reader;
}

uint64_t lanes_slack_ns(const struct lanes *l)
{
	return l->clock ? tsc_clock_slack_ns(l->clock) : 0;
}

struct lanes_totals lanes_totals(struct lanes *l)
{
	struct lanes_totals totals = l->totals;
	struct stat memory;

	for (uint32_t k = 0; k < l->n_areas; k++) {
		totals.lanes += shared_of(&l->areas[k])->n_lanes;
		if (!fstat(l->areas[k].image.area->fd, &memory))
			totals.memory += memory.st_blocks * 512ull;
		if (!fstat(l->areas[k].image.area->chunks_fd, &memory))
			totals.memory += memory.st_blocks * 512ull;
	}
	return totals;
}

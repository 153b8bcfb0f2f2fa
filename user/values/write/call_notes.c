// SPDX-License-Identifier: LGPL-2.1-or-later
/* call_notes.c: see call_notes.h.
 *
 * A note that is not whole when it has to be gone by is written later, when its thread comes back
 * from a handler, or never. Its place, and what lies behind, is not given back until then. */
#include "user/values/write/call_notes.h"

#include "offline/capture/call_area.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, SYSCALL_BYTES = 2, AWAITED_MOST = 16, ENTERED_LAST = 0xfffff0 };

struct lane {
	bool bound; /* once, for good */
	uint32_t task;
	pid_t pid;
	__u64 next;		   /* note */
	__u64 seen, bytes;	   /* at a look: whole up to there, and in use by then */
	uint64_t came, came_bytes; /* when call_notes_came() was asked last */
	uint64_t lost;		   /* told of */
	uint64_t awaited[AWAITED_MOST];
	uint32_t n_awaited;
	bool closed;   /* no stub finds it any more, and nothing is given back */
	uint64_t sure; /* then: the first note that nobody vouches for */
};

struct call_notes {
	const struct call_patches *patches;
	uint8_t *memory;
	bool stopped;
	uint64_t now_ns; /* told last */
	struct lane lanes[CALL_LANES];
};

#define MEMORY_BYTES (PAGE + ((uint64_t)CALL_LANES << CALL_LANE_SHIFT))

struct call_notes *call_notes_open(const struct call_patches *patches)
{
	struct call_notes *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->patches = patches;
	n->memory = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
			 patches->lanes_fd, 0);
	if (n->memory != MAP_FAILED)
		return n;
	free(n);
	return NULL;
}

void call_notes_close(struct call_notes *notes)
{
	if (!notes)
		return;
	munmap(notes->memory, MEMORY_BYTES);
	free(notes);
}

static struct call_lane *lane_of(const struct call_notes *n, uint32_t lane)
{
	return (struct call_lane *)(n->memory + PAGE + ((uint64_t)lane << CALL_LANE_SHIFT));
}

static struct call_note *note_of(const struct call_notes *n, uint32_t lane, uint64_t number)
{
	uint8_t *notes = (uint8_t *)lane_of(n, lane) + CALL_NOTES_OFF;

	return (struct call_note *)(notes + (number % CALL_NOTES << CALL_NOTE_SHIFT));
}

static uint64_t load(const __u64 *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void store(__u64 *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

void call_notes_bind(struct call_notes *notes, uint32_t lane, uint32_t task, pid_t pid)
{
	struct lane *l = &notes->lanes[lane];

	l->bound = true;
	l->task = task;
	l->pid = pid;
}

bool call_notes_task(const struct call_notes *notes, uint32_t lane, uint32_t *task, pid_t *pid)
{
	const struct lane *l = &notes->lanes[lane];

	*task = l->task;
	*pid = l->pid;
	return l->bound;
}

void call_notes_claim(struct call_notes *notes, uint32_t lane, uint64_t owner)
{
	struct call_lane *l = lane_of(notes, lane);
	__u64 nobody = 0;

	__atomic_compare_exchange_n(&l->owner, &nobody, owner, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
}

/* In the order, at the latest. 0: it is not known. */
static uint64_t entered_of(uint64_t entered)
{
	return entered > 1 && entered < CALL_ORDERS ? (entered << CALL_ORDER_SHIFT) + ENTERED_LAST
						    : 0;
}

uint64_t call_notes_entered(const struct call_notes *notes, uint32_t lane)
{
	return entered_of(load(&lane_of(notes, lane)->entered));
}

uint64_t call_notes_owner(const struct call_notes *notes, uint32_t lane)
{
	return load(&lane_of(notes, lane)->owner);
}

/* Decodes a whole note. False: nothing that a stub writes. */
static bool decode(const struct call_notes *n, uint32_t lane, const struct call_note *note,
		   struct capture *out, struct capture_range *range)
{
	const struct call_note c = *note;
	/* What is looked at below is not read again: the process may write to it meanwhile. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	const struct call_patches *p = n->patches;
	uint64_t stub = ((c.packed >> 44) - CALL_STUBS) >> CALL_STUB_SHIFT;

	if (c.packed >> 44 < CALL_STUBS || stub >= p->n || p->sites[stub].number < 0 ||
	    c.order >= CALL_ORDERS)
		return false;
	/* Not all of it, most of which is other kinds'. */
	out->kind = CAPTURE_KERNEL;
	out->has_hash = false;
	out->known = 0;
	out->place = CAPTURE_NONE;
	out->map_file = CAPTURE_NONE;
	out->order = (c.order + 1) << CALL_ORDER_SHIFT;
	out->entered = c.entered <= c.order ? entered_of(c.entered) : 0;
	out->time_ns = c.time_ns < n->now_ns ? c.time_ns : n->now_ns;
	out->ip = p->sites[stub].call + SYSCALL_BYTES;
	out->sp = c.sp;
	out->nr = (uint32_t)p->sites[stub].number;
	out->result = (int32_t)c.packed;
	memcpy(out->args, c.args, sizeof(c.args));
	out->ranges = range;
	out->n_ranges = c.len != 0;
	if (!c.len)
		return true;
	*range = (struct capture_range){
		.addr = c.addr,
		.len = c.len,
		.unread = c.unread || c.len > CALL_RANGE_MOST,
		.bytes = (uint8_t *)lane_of(n, lane) + CALL_BYTES_OFF + c.at % CALL_BYTES,
	};
	return true;
}

void call_notes_close_lane(struct call_notes *notes, uint32_t lane, uint64_t sure)
{
	struct lane *l = &notes->lanes[lane];
	struct call_lane *its = lane_of(notes, lane);

	if (!l->closed || (int64_t)(sure - l->sure) < 0)
		l->sure = sure;
	__atomic_store_n(&l->closed, true, __ATOMIC_RELAXED);
	__atomic_fetch_or(&its->owner, CALL_LANE_CLOSED, __ATOMIC_SEQ_CST);
}

bool call_notes_doubts(const struct call_notes *notes, uint32_t lane, uint64_t from, uint64_t until)
{
	const struct lane *l = &notes->lanes[lane];

	return l->closed && (int64_t)(until - from) > 0 && (int64_t)(until - l->sure) > 0;
}

uint32_t call_notes_closed(const struct call_notes *notes)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < CALL_LANES; i++)
		n += notes->lanes[i].closed;
	return n;
}

/* The note is not whole, and its thread does something else. */
static void pass_by(struct call_notes *n, uint32_t lane)
{
	struct lane *l = &n->lanes[lane];

	if (l->n_awaited < AWAITED_MOST)
		l->awaited[l->n_awaited++] = l->next;
	else /* what is not remembered must not be used again */
		call_notes_close_lane(n, lane, load(&lane_of(n, lane)->head));
	l->next++;
}

uint64_t call_notes_lost(struct call_notes *notes, uint32_t lane)
{
	struct lane *l = &notes->lanes[lane];
	uint64_t before = l->lost;

	l->lost = load(&lane_of(notes, lane)->lost);
	return l->lost - before;
}

enum call_notes_next call_notes_next(struct call_notes *notes, uint32_t lane, uint64_t until,
				     int told, struct capture *out, struct capture_range *range,
				     uint64_t *clocks)
{
	struct lane *l = &notes->lanes[lane];
	uint64_t lost = 0;

	/* Where notes behind @until were taken already, which are a ring at most, there is none. */
	while (l->next - until > CALL_NOTES) {
		struct call_note *note = note_of(notes, lane, l->next);
		bool elsewhere = told == 2 && l->next + 1 == until;

		if (until - l->next > CALL_NOTES) {
			/* No stub is so far from there. */
			call_notes_close_lane(notes, lane, l->next);
			l->next = until;
			lost++;
		} else if (call_notes_doubts(notes, lane, l->next, until)) {
			l->next = until;
			lost++;
		} else if (__atomic_load_n(&note->state, __ATOMIC_ACQUIRE) == 1) {
			bool whole = !elsewhere && decode(notes, lane, note, out, range);

			if (whole && lost) /* which is told first */
				break;
			*clocks = note->clocks;
			__atomic_store_n(&note->state, 0, __ATOMIC_RELAXED);
			l->next++;
			if (whole)
				return CALL_NOTES_RECORD;
			lost += !elsewhere;
		} else if (told) {
			pass_by(notes, lane);
			lost += !elsewhere;
		} else {
			break;
		}
	}
	if (!lost)
		return CALL_NOTES_NONE;
	out->lost = lost;
	return CALL_NOTES_LOST;
}

/* Those that were passed by and are whole by now are done with. */
static void await(struct call_notes *n, uint32_t lane)
{
	struct lane *l = &n->lanes[lane];

	for (uint32_t i = 0; i < l->n_awaited;) {
		struct call_note *note = note_of(n, lane, l->awaited[i]);

		if (__atomic_load_n(&note->state, __ATOMIC_ACQUIRE) == 1) {
			__atomic_store_n(&note->state, 0, __ATOMIC_RELAXED);
			l->awaited[i] = l->awaited[--l->n_awaited];
		} else {
			i++;
		}
	}
}

/* Up to the first note that is not whole: what signals find there is in the kernel's ring before it
 * is. Bytes in use were reserved behind a note that was. */
static void look_at(struct call_notes *n, uint32_t lane)
{
	struct lane *l = &n->lanes[lane];
	uint64_t bytes = load(&lane_of(n, lane)->bytes_head);
	uint64_t head = load(&lane_of(n, lane)->head);

	if ((int64_t)(l->next - l->seen) > 0)
		l->seen = l->next;
	if (head - l->seen > CALL_NOTES) /* call_notes_next() says so */
		l->seen = head;
	while (l->seen != head &&
	       __atomic_load_n(&note_of(n, lane, l->seen)->state, __ATOMIC_ACQUIRE) == 1)
		l->seen++;
	if (l->seen == head)
		l->bytes = bytes;
}

static bool is_half_full(const struct call_lane *its)
{
	return load(&its->head) - load(&its->tail) > CALL_NOTES / 2 ||
	       load(&its->bytes_head) - load(&its->bytes_tail) > CALL_BYTES / 2;
}

/* Gives back what was taken, but for what a thread still writes to when its handler returns. From
 * one that it has left by siglongjmp() it never returns. Before the lane is full it is closed, and
 * what its thread calls from then on is seen by probes. */
static void give_back(struct call_notes *n, uint32_t lane)
{
	struct lane *l = &n->lanes[lane];
	struct call_lane *its = lane_of(n, lane);

	if (l->closed)
		return;
	await(n, lane);
	if (l->n_awaited && is_half_full(its))
		call_notes_close_lane(n, lane, load(&its->head));
	if (l->n_awaited)
		return;
	if ((int64_t)(l->next - l->seen) >= 0)
		store(&its->bytes_tail, l->bytes);
	store(&its->tail, l->next);
}

void call_notes_look(struct call_notes *notes, uint64_t now_ns)
{
	notes->now_ns = now_ns;
	store(&((struct call_shared *)notes->memory)->time_ns, now_ns);
	for (uint32_t i = 0; i < CALL_LANES; i++) {
		if (!notes->lanes[i].bound)
			continue;
		give_back(notes, i);
		if (notes->stopped)
			continue;
		look_at(notes, i);
	}
}

/* What has no room until it is given back. Where a note is awaited nothing is, until the lane is
 * closed half full: there, what is not taken. */
static bool waits_much(const struct call_notes *n, uint32_t lane, uint32_t share)
{
	const struct lane *l = &n->lanes[lane];
	const struct call_lane *its = lane_of(n, lane);
	bool awaits = __atomic_load_n(&l->n_awaited, __ATOMIC_RELAXED) != 0;
	const __u64 *notes = awaits ? &l->next : &its->tail;
	const __u64 *bytes = awaits ? &l->bytes : &its->bytes_tail;
	uint64_t from = load(notes), from_bytes = load(bytes);

	return load(&its->head) - from > CALL_NOTES / share ||
	       load(&its->bytes_head) - from_bytes > CALL_BYTES / share;
}

static bool is_open(const struct lane *l)
{
	return __atomic_load_n(&l->bound, __ATOMIC_RELAXED) &&
	       !__atomic_load_n(&l->closed, __ATOMIC_RELAXED);
}

bool call_notes_much(const struct call_notes *notes, uint32_t share)
{
	for (uint32_t i = 0; i < CALL_LANES; i++)
		if (is_open(&notes->lanes[i]) && waits_much(notes, i, share))
			return true;
	return false;
}

bool call_notes_came(struct call_notes *notes, uint32_t share)
{
	bool much = false;

	for (uint32_t i = 0; i < CALL_LANES; i++) {
		struct lane *l = &notes->lanes[i];

		if (!is_open(l))
			continue;
		uint64_t head = load(&lane_of(notes, i)->head);
		uint64_t bytes = load(&lane_of(notes, i)->bytes_head);
		much |= head - l->came > CALL_NOTES / share ||
			bytes - l->came_bytes > CALL_BYTES / share;
		l->came = head;
		l->came_bytes = bytes;
	}
	return much;
}

uint64_t call_notes_seen(const struct call_notes *notes, uint32_t lane)
{
	return notes->lanes[lane].seen;
}

void call_notes_stop(struct call_notes *notes)
{
	notes->stopped = true;
}

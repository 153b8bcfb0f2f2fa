// SPDX-License-Identifier: LGPL-2.1-or-later
/* lane_pack.c: see lane_pack.h. Whoever packs and whoever unpacks go through the same records, and
 * note the same of them: which is done in struct walk.
 *
 * A packed chunk: struct packed; the chunk's header; the records that were not expected, one after
 * another; and a run for each, and for the end: how many had come as expected before it. A record
 * is its head, whose unused bits say how the rest is written: the frame as its distance from the
 * one before, addresses of code as distances from the one that was written last. */
#include "user/patch/lane_pack.h"

#include <stddef.h>
#include <string.h>

#define rarely(condition) __builtin_expect(!!(condition), 0)

/* In the head of a record that is packed. */
#define FRAME_SHIFT 26 /* two bits */
enum { FRAME_SAME, FRAME_WORDS, FRAME_NEAR, FRAME_WHOLE };
#define RET_NEAR (1u << 28)
#define TARGET_NEAR (1u << 29)
#define UNUSED (0x1fu << FRAME_SHIFT)

struct packed {
	uint32_t refers;
	uint32_t records_bytes, n_runs; /* of those that were not expected */
	uint32_t reserved;
};

_Static_assert(sizeof(struct packed) == LANE_PACKED_HEADER, "the chunk's header lies behind it");

struct walk {
	struct lane_history *history;
	uint8_t *now;			/* where the next record is noted */
	const uint8_t *expected;	/* what was noted of it before; NULL: nothing */
	uint64_t frame, expected_frame; /* of the records before these */
	uint32_t head;			/* of the record before */
	uint64_t code;			/* the address that was written last */
};

static inline uint32_t load32(const void *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

static inline uint64_t load64(const void *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

static void walk_start(struct walk *w, struct lane_history *history, bool refers)
{
	*w = (struct walk){
		.history = history,
		.now = history->records + PATCH_CHUNK + PATCH_CHUNK_HEADER,
	};
	if (refers)
		memcpy(history->met, history->met_in_reference, sizeof(history->met));
	else
		memset(history->met, 0, sizeof(history->met));
}

/* The record at @w->now, whose head is @head, was not expected: what followed it before? */
static void walk_search(struct walk *w, uint32_t head, uint64_t frame)
{
	uint8_t *records = w->history->records;
	uint32_t slot = (head * 0x9e3779b1u ^ w->head * 0x85ebca6bu) >> 18;
	uint32_t *met = &w->history->met[slot];

	_Static_assert(LANE_MET_SLOTS == 1u << (32 - 18), "the hash has as many bits");
	w->expected = NULL;
	if (*met) {
		const uint8_t *before = records + *met;

		w->expected_frame = load64(before + 4);
		w->expected = before + lane_record_bytes(load32(before));
	}
	*met = w->now - records;
	w->now += lane_record_bytes(head);
	w->frame = frame;
	w->head = head;
}

static void walk_end(struct walk *w, bool refers)
{
	struct lane_history *h = w->history;

	memset(w->now, 0, LANE_RECORD_BYTES_MOST);
	if (refers)
		return;
	memcpy(h->records, h->records + PATCH_CHUNK, PATCH_CHUNK);
	for (uint32_t i = 0; i < LANE_MET_SLOTS; i++)
		h->met_in_reference[i] = h->met[i] ? h->met[i] - PATCH_CHUNK : 0;
}

/* ---- packing ---- */

static uint8_t *put_code(struct walk *w, uint64_t code, uint32_t *how, uint32_t near, uint8_t *to)
{
	int64_t distance = (int64_t)(code - w->code);

	w->code = code;
	if (distance == (int32_t)distance) {
		*how |= near;
		memcpy(to, &distance, 4);
		return to + 4;
	}
	memcpy(to, &code, 8);
	return to + 8;
}

static uint8_t *put_frame(uint64_t frame, uint64_t before, uint32_t *how, uint8_t *to)
{
	int64_t distance = (int64_t)(frame - before);

	if (!distance)
		return to;
	if (!(distance & 7) && distance / 8 == (int8_t)(distance / 8)) {
		*how |= (uint32_t)FRAME_WORDS << FRAME_SHIFT;
		*to = (uint8_t)(distance / 8);
		return to + 1;
	}
	if (distance == (int16_t)distance) {
		*how |= (uint32_t)FRAME_NEAR << FRAME_SHIFT;
		memcpy(to, &distance, 2);
		return to + 2;
	}
	*how |= (uint32_t)FRAME_WHOLE << FRAME_SHIFT;
	memcpy(to, &frame, 8);
	return to + 8;
}

/* A record that was not expected, and is noted at @w->now from behind its frame on. */
static uint8_t *put_record(struct walk *w, uint32_t head, uint64_t frame, const uint8_t *record,
			   uint8_t *to)
{
	uint8_t *at = to + 4, *now = w->now + LANE_RECORD_BYTES_LEAST;
	uint32_t how = head;

	record += LANE_RECORD_BYTES_LEAST;
	at = put_frame(frame, w->frame, &how, at);
	if (head & PATCH_HEAD_RET) {
		uint64_t ret = load64(record);

		memcpy(now, &ret, 8);
		at = put_code(w, ret, &how, RET_NEAR, at);
		record += 8;
		now += 8;
	}
	if (head & PATCH_HEAD_TARGET) {
		uint64_t target = load64(record);

		memcpy(now, &target, 8);
		at = put_code(w, target, &how, TARGET_NEAR, at);
	}
	memcpy(to, &how, 4);
	return at;
}

static uint8_t *put_stamp(uint32_t head, uint64_t time, uint8_t *to)
{
	memcpy(to, &head, 4);
	memcpy(to + 4, &time, 8);
	return to + 12;
}

/* Whether the @words of the record behind its frame are as expected; notes them. Each is read
 * once. */
static inline bool has_words(struct walk *w, const uint8_t *record, uint32_t words)
{
	for (uint32_t i = 0; i < words; i++) {
		uint32_t off = LANE_RECORD_BYTES_LEAST + 8 * i;
		uint64_t word = load64(record + off);

		if (rarely(load64(w->expected + off) != word))
			return false;
		memcpy(w->now + off, &word, 8);
	}
	return true;
}

/* The same for a record of as many words, whose head and frame are as expected. A branch for each
 * length, for the processor foretells branches: else it would wait for each head to know where the
 * next one is. */
static inline uint32_t pass_expected(struct walk *w, const uint8_t *record, uint32_t head,
				     uint64_t frame)
{
	uint32_t words = 0;

	if (head & (PATCH_HEAD_RET | PATCH_HEAD_TARGET))
		words = (head & (PATCH_HEAD_RET | PATCH_HEAD_TARGET)) ==
					(PATCH_HEAD_RET | PATCH_HEAD_TARGET)
				? 2
				: 1;
	if (!has_words(w, record, words))
		return 0;
	uint32_t bytes = LANE_RECORD_BYTES_LEAST + 8 * words;
	w->expected_frame = load64(w->expected + 4);
	w->expected += bytes;
	w->now += bytes;
	w->frame = frame;
	w->head = head;
	return bytes;
}

static bool is_zero(const uint8_t *from, const uint8_t *to)
{
	while (from < to && !*from)
		from++;
	return from == to;
}

/* Whether another record may be at @off. */
static bool may_follow(uint32_t off, uint32_t closed)
{
	return off < PATCH_FILLED || (off < closed && off + LANE_RECORD_BYTES_MOST <= PATCH_CHUNK);
}

int lane_pack(struct lane_history *history, const uint8_t *chunk, bool refers, bool ended,
	      uint8_t *packed)
{
	struct packed about = {.refers = refers};
	uint8_t *to = packed + sizeof(about), *records = to + PATCH_CHUNK_HEADER;
	uint32_t off = PATCH_CHUNK_HEADER, run = 0, closed;
	struct walk w;

	memcpy(to, chunk, PATCH_CHUNK_HEADER);
	closed = ((const struct patch_chunk *)to)->closed;
	to = records;
	walk_start(&w, history, refers);
	while (may_follow(off, closed)) {
		const uint8_t *record = chunk + off;
		uint32_t head = __atomic_load_n((const uint32_t *)record, __ATOMIC_ACQUIRE), bytes;
		uint64_t frame = load64(record + 4);

		if (rarely(!head))
			break;
		if (rarely((head & UNUSED) || !(head & PATCH_HEAD_SET)))
			return -1;
		if (rarely(head & PATCH_HEAD_STAMP)) {
			history->runs[about.n_runs++] = run;
			run = 0;
			to = put_stamp(head, frame, to);
			off += lane_record_bytes(head);
			continue;
		}
		memcpy(w.now, &head, 4);
		memcpy(w.now + 4, &frame, 8);
		if (w.expected && load32(w.expected) == head &&
		    load64(w.expected + 4) - w.expected_frame == frame - w.frame &&
		    (bytes = pass_expected(&w, record, head, frame))) {
			run++;
			off += bytes;
			continue;
		}
		history->runs[about.n_runs++] = run;
		run = 0;
		to = put_record(&w, head, frame, record, to);
		walk_search(&w, head, frame);
		off += lane_record_bytes(head);
	}
	if (may_follow(off, closed) && !ended)
		return 0;
	history->runs[about.n_runs++] = run;
	about.records_bytes = to - records;
	uint32_t size = sizeof(about) + PATCH_CHUNK_HEADER + about.records_bytes + 2 * about.n_runs;
	if (size >= PATCH_CHUNK || (ended && !is_zero(chunk + off, chunk + PATCH_CHUNK)))
		return -1;
	memcpy(packed, &about, sizeof(about));
	memcpy(to, history->runs, 2 * about.n_runs);
	walk_end(&w, refers);
	return size;
}

/* ---- unpacking ---- */

/* What is read of a packed chunk; @bad: there is less than was asked for. */
struct reading {
	const uint8_t *at, *end;
	bool bad;
};

static uint64_t get(struct reading *r, uint32_t bytes)
{
	uint64_t word = 0;

	if (r->end - r->at < (ptrdiff_t)bytes) {
		r->bad = true;
		return 0;
	}
	memcpy(&word, r->at, bytes);
	r->at += bytes;
	return word;
}

static uint64_t get_frame(struct reading *r, uint32_t how, uint64_t before)
{
	switch (how >> FRAME_SHIFT & 3) {
	case FRAME_SAME:
		return before;
	case FRAME_WORDS:
		return before + 8 * (int64_t)(int8_t)get(r, 1);
	case FRAME_NEAR:
		return before + (int64_t)(int16_t)get(r, 2);
	default:
		return get(r, 8);
	}
}

static uint64_t get_code(struct reading *r, struct walk *w, bool near)
{
	w->code = near ? w->code + (int64_t)(int32_t)get(r, 4) : get(r, 8);
	return w->code;
}

/* A record that was not expected, or a stamp, at @record of the chunk. Returns its length. */
static uint32_t get_record(struct reading *r, struct walk *w, uint8_t *record)
{
	uint32_t how = get(r, 4), head = how & ~UNUSED;
	bool stamp = head & PATCH_HEAD_STAMP;
	uint64_t frame = stamp ? get(r, 8) : get_frame(r, how, w->frame), words[2];
	uint32_t bytes = lane_record_bytes(head), n = 0;

	memcpy(record, &head, 4);
	memcpy(record + 4, &frame, 8);
	if (stamp)
		return bytes;
	if (head & PATCH_HEAD_RET)
		words[n++] = get_code(r, w, how & RET_NEAR);
	if (head & PATCH_HEAD_TARGET)
		words[n++] = get_code(r, w, how & TARGET_NEAR);
	memcpy(record + LANE_RECORD_BYTES_LEAST, words, 8 * n);
	memcpy(w->now, record, bytes);
	walk_search(w, head, frame);
	return bytes;
}

/* A record that came as expected. Returns its length; 0: none was. */
static uint32_t get_expected(struct walk *w, uint8_t *record)
{
	uint32_t head = w->expected ? load32(w->expected) : 0, bytes = lane_record_bytes(head);

	if (!head)
		return 0;
	uint64_t expected_frame = load64(w->expected + 4);
	uint64_t frame = w->frame + expected_frame - w->expected_frame;
	memcpy(record, w->expected, bytes);
	memcpy(record + 4, &frame, 8);
	memcpy(w->now, record, bytes);
	w->expected_frame = expected_frame;
	w->expected += bytes;
	w->now += bytes;
	w->frame = frame;
	w->head = head;
	return bytes;
}

static bool get_records(struct reading *r, struct walk *w, const uint8_t *runs, uint32_t n_runs,
			uint8_t *chunk)
{
	uint32_t off = PATCH_CHUNK_HEADER;

	for (uint32_t i = 0; i < n_runs; i++) {
		uint16_t run;

		memcpy(&run, runs + 2 * i, 2);
		for (; run; run--) {
			if (off + LANE_RECORD_BYTES_MOST > PATCH_CHUNK)
				return false;
			uint32_t bytes = get_expected(w, chunk + off);
			if (!bytes)
				return false;
			off += bytes;
		}
		if (i + 1 == n_runs)
			break;
		if (off + LANE_RECORD_BYTES_MOST > PATCH_CHUNK)
			return false;
		off += get_record(r, w, chunk + off);
		if (r->bad)
			return false;
	}
	return r->at == r->end;
}

bool lane_unpack(struct lane_history *history, const uint8_t *packed, uint32_t bytes,
		 uint8_t *chunk)
{
	struct packed about;
	struct walk w;

	if (bytes < sizeof(about) + PATCH_CHUNK_HEADER)
		return false;
	memcpy(&about, packed, sizeof(about));
	packed += sizeof(about);
	bytes -= sizeof(about) + PATCH_CHUNK_HEADER;
	if (about.n_runs > LANE_RECORDS_MOST + 1 || about.records_bytes > PATCH_CHUNK ||
	    about.records_bytes + 2 * about.n_runs != bytes)
		return false;
	memset(chunk, 0, PATCH_CHUNK);
	memcpy(chunk, packed, PATCH_CHUNK_HEADER);
	packed += PATCH_CHUNK_HEADER;
	struct reading r = {packed, packed + about.records_bytes, false};
	walk_start(&w, history, about.refers);
	bool good = get_records(&r, &w, packed + about.records_bytes, about.n_runs, chunk);
	walk_end(&w, about.refers);
	return good;
}

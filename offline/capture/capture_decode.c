// SPDX-License-Identifier: LGPL-2.1-or-later
/* capture_decode.c: columns back to records; the counterpart of capture_encode.c. */
#include "offline/capture/capture_code.h"

#include "offline/capture/capture_columns.h"
#include "offline/capture/mapping_calls.h"

#include <errno.h>

struct told {
	const uint8_t *bytes;
	uint32_t len;
};

struct capture_decoder {
	struct cursor columns[N_COLUMNS];
	struct capture_slot slots[1 << SLOT_BITS];
	struct told told[1 << TOLD_BITS];
	struct capture_range *ranges;
	uint32_t cap_ranges;
	uint64_t order, time;
	uint32_t left;
};

struct capture_decoder *capture_decoder_new(void)
{
	return calloc(1, sizeof(struct capture_decoder));
}

void capture_decoder_free(struct capture_decoder *dec)
{
	if (!dec)
		return;
	free(dec->ranges);
	free(dec);
}

int capture_decoder_open(struct capture_decoder *dec, const uint8_t *raw, uint32_t len)
{
	struct cursor c = {raw, raw + len};
	uint64_t n;

	if (!cursor_varint(&c, &n))
		return -EBADMSG;
	for (int i = COLUMN_AROUND; i < N_COLUMNS; i++)
		dec->columns[i] = (struct cursor){NULL, NULL};
	for (int i = 0; i < N_COLUMNS; i++)
		if ((i < COLUMN_AROUND || c.at != c.end) && !cursor_column(&c, &dec->columns[i]))
			return -EBADMSG;
	/* A record has a byte in the first. */
	if (n != (uint64_t)(dec->columns[COLUMN_HEAD].end - dec->columns[COLUMN_HEAD].at))
		return -EBADMSG;
	memset(dec->slots, 0, sizeof(dec->slots));
	memset(dec->told, 0, sizeof(dec->told));
	dec->order = dec->time = 0;
	dec->left = n;
	return 0;
}

static bool get(struct capture_decoder *dec, enum capture_column column, uint64_t *out)
{
	return cursor_varint(&dec->columns[column], out);
}

static bool get_value(struct capture_decoder *dec, struct capture_slot *slot, uint32_t i,
		      uint64_t *out)
{
	uint64_t v;

	if (!get(dec, COLUMN_VALUES, &v))
		return false;
	*out = slot->values[i] += (uint64_t)unzigzag(v);
	return true;
}

static bool get_all(struct capture_decoder *dec, struct capture_slot *slot, struct capture *c)
{
	for (int i = 0; i < 16; i++)
		if (!get_value(dec, slot, i, &c->regs[i]))
			return false;
	c->known = CAPTURE_ALL_KNOWN;
	return get_value(dec, slot, 16, &c->flags);
}

static const uint8_t *get_bytes(struct capture_decoder *dec, uint64_t len)
{
	struct cursor *c = &dec->columns[COLUMN_BYTES];
	const uint8_t *at = c->at;

	if (len > (uint64_t)(c->end - c->at))
		return NULL;
	c->at += len;
	return at;
}

static bool get_start(struct capture_decoder *dec, struct capture_slot *slot, struct capture *c)
{
	uint64_t len;

	if (!get_all(dec, slot, c) || !get(dec, COLUMN_VALUES, &c->ip) ||
	    !get(dec, COLUMN_VALUES, &c->fs_base) || !get(dec, COLUMN_VALUES, &c->gs_base) ||
	    !get(dec, COLUMN_VALUES, &len))
		return false;
	c->xsave = len ? get_bytes(dec, len) : NULL;
	c->xsave_bytes = c->xsave ? len : 0;
	return !len || c->xsave;
}

/* Where the call began is told as the distance to where it was over, which is not known yet. */
static bool get_kernel(struct capture_decoder *dec, uint8_t head, struct capture *c,
		       struct capture_slot **slot)
{
	uint64_t v;

	if (!get(dec, COLUMN_VALUES, &v) || v > UINT32_MAX)
		return false;
	c->nr = v;
	*slot = &dec->slots[capture_slot_of(CAPTURE_KERNEL, c->nr)];
	if (!get_value(dec, *slot, 0, &v))
		return false;
	c->result = (int64_t)v;
	for (int i = 0; i < 6; i++)
		if (!get_value(dec, *slot, 1 + i, &c->args[i]))
			return false;
	if (!get_value(dec, *slot, 7, &c->ip) || !get(dec, COLUMN_VALUES, &v))
		return false;
	c->map_file = (uint32_t)v - 2;
	if (head & HEAD_HAS_RDX && !get(dec, COLUMN_VALUES, &c->entered))
		return false;
	mapping_call(c);
	return true;
}

/* All registers, unless they are hidden. */
static bool get_told(struct capture_decoder *dec, struct capture_slot *slot, uint8_t head,
		     struct capture *c)
{
	return head & HEAD_HIDDEN || get_all(dec, slot, c);
}

static bool get_surroundings(struct capture_decoder *dec, enum capture_column column,
			     struct capture *c)
{
	struct cursor *from = &dec->columns[column];
	uint64_t told = 0;

	if (!from->at)
		return true;
	if (!cursor_varint(from, &told) || told >> SURROUNDINGS)
		return false;
	c->n_surroundings = told ? SURROUNDINGS : 0;
	for (uint32_t i = 0; i < SURROUNDINGS; i++) {
		if (!(told >> i & 1))
			continue;
		if (from->end - from->at < (ptrdiff_t)sizeof(c->surroundings[i]))
			return false;
		memcpy(&c->surroundings[i], from->at, sizeof(c->surroundings[i]));
		from->at += sizeof(c->surroundings[i]);
	}
	return true;
}

static bool get_signal(struct capture_decoder *dec, struct capture_slot *slot, uint8_t head,
		       struct capture *c)
{
	uint64_t v;

	if (!get_told(dec, slot, head, c) || !get(dec, COLUMN_VALUES, &c->ip) ||
	    !get(dec, COLUMN_VALUES, &v))
		return false;
	c->signal = v;
	return get(dec, COLUMN_VALUES, &c->handler) && get_surroundings(dec, COLUMN_FOUND, c);
}

static bool get_switch(struct capture_decoder *dec, struct capture_slot *slot, uint8_t head,
		       struct capture *c)
{
	c->trapped = head & HEAD_HAS_RDX;
	return get_told(dec, slot, head, c) && get(dec, COLUMN_VALUES, &c->ip) &&
	       get(dec, COLUMN_VALUES, &c->entered) && get_surroundings(dec, COLUMN_AROUND, c);
}

static bool get_result(struct capture_decoder *dec, struct capture_slot *slot, uint8_t head,
		       struct capture *c)
{
	if (head & HEAD_HIDDEN)
		return true;
	c->known = 1 | (head & HEAD_HAS_RDX ? 1 << 2 : 0);
	return get_value(dec, slot, 0, &c->regs[0]) &&
	       (!(head & HEAD_HAS_RDX) || get_value(dec, slot, 1, &c->regs[2]));
}

/* A signal that found the task in a stub. */
static bool tell_in_stub(struct capture *c)
{
	if (c->known && c->flags & CAPTURE_IN_STUB) {
		c->flags &= ~(uint64_t)CAPTURE_IN_STUB;
		c->known &= ~CAPTURE_IN_STUB_UNTOLD;
	}
	return true;
}

static bool get_kind(struct capture_decoder *dec, uint8_t head, struct capture *c,
		     struct capture_slot **slot)
{
	const unsigned hide = 1u << CAPTURE_RESULT | 1u << CAPTURE_ENTER | 1u << CAPTURE_SIGNAL |
			      1u << CAPTURE_SWITCH;

	if (head & HEAD_HIDDEN && !(hide >> c->kind & 1))
		return false;
	switch (c->kind) {
	case CAPTURE_START:
		return get_start(dec, *slot, c);
	case CAPTURE_ENTER:
		return get_told(dec, *slot, head, c);
	case CAPTURE_RESULT:
		return get_result(dec, *slot, head, c);
	case CAPTURE_KERNEL:
		return get_kernel(dec, head, c, slot);
	case CAPTURE_SIGNAL:
		return get_signal(dec, *slot, head, c) && tell_in_stub(c);
	case CAPTURE_SWITCH:
		return get_switch(dec, *slot, head, c);
	case CAPTURE_INSN:
		for (int i = 0; i < 4; i++)
			if (!get_value(dec, *slot, i, &c->regs[i]))
				return false;
		c->known = 15 | CAPTURE_FLAGS_KNOWN;
		return get_value(dec, *slot, 4, &c->flags);
	case CAPTURE_END: /* older recordings have no registers there */
		return (!(head & HEAD_HAS_RDX) || get_all(dec, *slot, c)) &&
		       get(dec, COLUMN_VALUES, &c->ip);
	case CAPTURE_LOST:
		return get(dec, COLUMN_VALUES, &c->lost);
	default:
		return get(dec, COLUMN_VALUES, &c->ip);
	}
}

/* The bytes of a range, which are told here or, @again, were before. NULL: there are none. */
static const uint8_t *get_range_bytes(struct capture_decoder *dec, const struct capture_slot *slot,
				      uint32_t len, bool again)
{
	struct told *t = &dec->told[capture_told_of((uint32_t)(slot - dec->slots), len)];

	if (again)
		return len && t->len == len ? t->bytes : NULL;
	const uint8_t *bytes = get_bytes(dec, len);
	if (bytes && len >= TOLD_LEAST && len <= TOLD_MOST)
		*t = (struct told){bytes, len};
	return bytes;
}

static int get_ranges(struct capture_decoder *dec, struct capture_slot *slot, struct capture *c)
{
	uint64_t n, addr, len;

	/* Each takes at least two bytes. */
	if (!get(dec, COLUMN_RANGES, &n) ||
	    n > (uint64_t)(dec->columns[COLUMN_RANGES].end - dec->columns[COLUMN_RANGES].at))
		return -EBADMSG;
	if (n > dec->cap_ranges) {
		struct capture_range *ranges = realloc(dec->ranges, n * sizeof(*ranges));

		if (!ranges)
			return -ENOMEM;
		dec->ranges = ranges;
		dec->cap_ranges = n;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct capture_range *r = &dec->ranges[i];

		if (!get(dec, COLUMN_RANGES, &addr) || !get(dec, COLUMN_RANGES, &len))
			return -EBADMSG;
		bool again = len & RANGE_AGAIN;
		len &= ~RANGE_AGAIN;
		if (len >> 1 > UINT32_MAX || (again && len & 1))
			return -EBADMSG;
		*r = (struct capture_range){
			.addr = slot->range + (uint64_t)unzigzag(addr),
			.len = len >> 1,
			.unread = len & 1,
		};
		slot->range = i ? slot->range : r->addr;
		if (!r->unread && !(r->bytes = get_range_bytes(dec, slot, r->len, again)))
			return -EBADMSG;
	}
	c->ranges = dec->ranges;
	c->n_ranges = n;
	return 0;
}

static bool has_place(uint8_t kind)
{
	return kind == CAPTURE_ENTER || kind == CAPTURE_RESULT || kind == CAPTURE_INSN;
}

int capture_decoder_next(struct capture_decoder *dec, struct capture *out)
{
	struct capture c = {.place = CAPTURE_NONE, .map_file = CAPTURE_NONE};
	uint64_t v, time;
	uint8_t head;

	if (!dec->left)
		return 0;
	if (!cursor_byte(&dec->columns[COLUMN_HEAD], &head))
		return -EBADMSG;
	c.kind = head & HEAD_KIND;
	if (has_place(c.kind)) {
		if (!get(dec, COLUMN_PLACE, &v) || v >= UINT32_MAX)
			return -EBADMSG;
		c.place = v;
	}
	struct capture_slot *slot = &dec->slots[capture_slot_of(c.kind, c.place)];
	if (!get_kind(dec, head, &c, &slot) || !get(dec, COLUMN_CLOCK, &v) ||
	    !get(dec, COLUMN_CLOCK, &time))
		return -EBADMSG;
	c.order = dec->order + (uint64_t)unzigzag(v);
	if (c.kind == CAPTURE_KERNEL && head & HEAD_HAS_RDX)
		c.entered = c.order - c.entered;
	else if (c.kind == CAPTURE_SWITCH && c.entered)
		c.entered = c.order - c.entered;
	dec->order = c.order + 1;
	dec->time += (uint64_t)unzigzag(time);
	c.time_ns = dec->time << CAPTURE_TIME_SHIFT;
	if (!get(dec, COLUMN_SP, &v))
		return -EBADMSG;
	c.sp = slot->sp += (uint64_t)unzigzag(v);
	struct cursor *hashes = &dec->columns[COLUMN_HASHES];
	if (head & HEAD_HAS_HASH) {
		if (hashes->end - hashes->at < 2)
			return -EBADMSG;
		memcpy(&c.hash, hashes->at, 2);
		hashes->at += 2;
		c.has_hash = true;
	}
	int err = head & HEAD_HAS_RANGES ? get_ranges(dec, slot, &c) : 0;
	if (err)
		return err;
	dec->left--;
	*out = c;
	return 1;
}

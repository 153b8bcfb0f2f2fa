// SPDX-License-Identifier: LGPL-2.1-or-later
/* capture_encode.c: records to columns; compression is left to the segment's codec. */
#include "offline/capture/capture_code.h"

#include "offline/capture/capture_columns.h"

#include <errno.h>

enum { ROOM_BEFORE = 256 << 10 };

struct capture_encoder {
	/* The bytes' begins with ROOM_BEFORE, for the usual columns before it in a payload. */
	struct bytes columns[N_COLUMNS], out;
	struct capture_slot slots[1 << SLOT_BITS];
	size_t len; /* of all columns, without that */
	uint64_t order, time;
	uint32_t n;
};

struct capture_encoder *capture_encoder_new(void)
{
	struct capture_encoder *enc = calloc(1, sizeof(*enc));

	if (!enc || !bytes_reserve(&enc->columns[COLUMN_BYTES], ROOM_BEFORE)) {
		free(enc);
		return NULL;
	}
	enc->columns[COLUMN_BYTES].len = ROOM_BEFORE;
	return enc;
}

void capture_encoder_free(struct capture_encoder *enc)
{
	if (!enc)
		return;
	for (int i = 0; i < N_COLUMNS; i++)
		bytes_deinit(&enc->columns[i]);
	bytes_deinit(&enc->out);
	free(enc);
}

static void put(struct capture_encoder *enc, enum capture_column column, uint64_t v)
{
	bytes_put_varint(&enc->columns[column], v);
}

/* The slot's first @n values, as the differences. */
static void put_values(struct capture_encoder *enc, struct capture_slot *slot, const uint64_t *v,
		       uint32_t n)
{
	struct bytes *b = &enc->columns[COLUMN_VALUES];

	if (!bytes_reserve(b, n * VARINT_MOST))
		return;
	/* Here, and not in the column: the compiler takes each byte for one that may change that.
	 */
	uint8_t *end = b->data + b->len;
	for (uint32_t i = 0; i < n; i++) {
		end = varint_write(end, zigzag((int64_t)(v[i] - slot->values[i])));
		slot->values[i] = v[i];
	}
	b->len = end - b->data;
}

static void put_all(struct capture_encoder *enc, struct capture_slot *slot, const struct capture *c)
{
	uint64_t v[17];

	memcpy(v, c->regs, sizeof(c->regs));
	v[16] = c->flags;
	put_values(enc, slot, v, 17);
}

static void put_kernel(struct capture_encoder *enc, struct capture_slot *slot,
		       const struct capture *c)
{
	const uint64_t *a = c->args;

	put(enc, COLUMN_VALUES, c->nr);
	put_values(enc, slot, (uint64_t[]){c->result, a[0], a[1], a[2], a[3], a[4], a[5], c->ip},
		   8);
	put(enc, COLUMN_VALUES, (uint32_t)(c->map_file + 2));
	if (c->entered)
		put(enc, COLUMN_VALUES, c->order - c->entered);
}

/* A bit for each that is told, and those. */
static void put_surroundings(struct capture_encoder *enc, enum capture_column column,
			     const struct capture *c)
{
	uint64_t told = 0;

	for (uint32_t i = 0; i < c->n_surroundings; i++)
		told |= (uint64_t)(c->surroundings[i] != 0) << i;
	put(enc, column, told);
	for (uint32_t i = 0; i < c->n_surroundings; i++)
		if (c->surroundings[i])
			bytes_put(&enc->columns[column], &c->surroundings[i],
				  sizeof(c->surroundings[i]));
}

/* Nothing may be told of its registers. */
static bool hidden(const struct capture *c)
{
	return (c->kind == CAPTURE_RESULT || c->kind == CAPTURE_ENTER ||
		c->kind == CAPTURE_SIGNAL || c->kind == CAPTURE_SWITCH) &&
	       !c->known;
}

static void put_kind(struct capture_encoder *enc, struct capture_slot *slot,
		     const struct capture *c)
{
	bool told = !hidden(c);

	switch (c->kind) {
	case CAPTURE_START:
		put_all(enc, slot, c);
		put(enc, COLUMN_VALUES, c->ip);
		put(enc, COLUMN_VALUES, c->fs_base);
		put(enc, COLUMN_VALUES, c->gs_base);
		put(enc, COLUMN_VALUES, c->xsave ? c->xsave_bytes : 0);
		bytes_put(&enc->columns[COLUMN_BYTES], c->xsave, c->xsave ? c->xsave_bytes : 0);
		break;
	case CAPTURE_ENTER:
		if (told)
			put_all(enc, slot, c);
		break;
	case CAPTURE_RESULT:
		if (!told)
			break;
		put_values(enc, slot, (uint64_t[]){c->regs[0], c->regs[2]},
			   c->known >> 2 & 1 ? 2 : 1);
		break;
	case CAPTURE_KERNEL:
		put_kernel(enc, slot, c);
		break;
	case CAPTURE_SIGNAL:
		if (told)
			put_all(enc, slot, c);
		put(enc, COLUMN_VALUES, c->ip);
		put(enc, COLUMN_VALUES, c->signal);
		put(enc, COLUMN_VALUES, c->handler);
		put_surroundings(enc, COLUMN_FOUND, c);
		break;
	case CAPTURE_SWITCH:
		if (told)
			put_all(enc, slot, c);
		put(enc, COLUMN_VALUES, c->ip);
		put(enc, COLUMN_VALUES, c->entered ? c->order - c->entered : 0);
		put_surroundings(enc, COLUMN_AROUND, c);
		break;
	case CAPTURE_INSN:
		put_values(enc, slot,
			   (uint64_t[]){c->regs[0], c->regs[1], c->regs[2], c->regs[3], c->flags},
			   5);
		break;
	case CAPTURE_END:
		if (c->known)
			put_all(enc, slot, c);
		put(enc, COLUMN_VALUES, c->ip);
		break;
	case CAPTURE_LOST:
		put(enc, COLUMN_VALUES, c->lost);
		break;
	default:
		put(enc, COLUMN_VALUES, c->ip);
		break;
	}
}

static void put_ranges(struct capture_encoder *enc, struct capture_slot *slot,
		       const struct capture *c)
{
	put(enc, COLUMN_RANGES, c->n_ranges);
	for (uint32_t i = 0; i < c->n_ranges; i++) {
		const struct capture_range *r = &c->ranges[i];

		put(enc, COLUMN_RANGES, zigzag((int64_t)(r->addr - slot->range)));
		put(enc, COLUMN_RANGES, (uint64_t)r->len << 1 | r->unread);
		slot->range = i ? slot->range : r->addr;
		if (!r->unread)
			bytes_put(&enc->columns[COLUMN_BYTES], r->bytes, r->len);
	}
}

/* True: a column has found no memory. */
static bool sum_up(struct capture_encoder *enc)
{
	bool failed = false;

	enc->len = (size_t)0 - ROOM_BEFORE;
	for (int i = 0; i < N_COLUMNS; i++) {
		enc->len += enc->columns[i].len;
		failed |= enc->columns[i].failed;
	}
	return failed;
}

int capture_encoder_add(struct capture_encoder *enc, const struct capture *c)
{
	uint32_t by = c->kind == CAPTURE_KERNEL ? c->nr : c->place;
	struct capture_slot *slot = &enc->slots[capture_slot_of(c->kind, by)];
	bool rdx = (c->kind == CAPTURE_RESULT && c->known >> 2 & 1) ||
		   (c->kind == CAPTURE_END && c->known) ||
		   (c->kind == CAPTURE_KERNEL && c->entered) ||
		   (c->kind == CAPTURE_SWITCH && c->trapped);
	uint8_t head = c->kind | (c->has_hash ? HEAD_HAS_HASH : 0) | (rdx ? HEAD_HAS_RDX : 0) |
		       (c->n_ranges ? HEAD_HAS_RANGES : 0) | (hidden(c) ? HEAD_HIDDEN : 0);
	uint64_t time = c->time_ns >> CAPTURE_TIME_SHIFT;

	bytes_put(&enc->columns[COLUMN_HEAD], &head, 1);
	if (c->kind == CAPTURE_ENTER || c->kind == CAPTURE_RESULT || c->kind == CAPTURE_INSN)
		put(enc, COLUMN_PLACE, c->place);
	put_kind(enc, slot, c);
	put(enc, COLUMN_CLOCK, zigzag((int64_t)(c->order - enc->order)));
	put(enc, COLUMN_CLOCK, zigzag((int64_t)(time - enc->time)));
	put(enc, COLUMN_SP, zigzag((int64_t)(c->sp - slot->sp)));
	enc->order = c->order + 1;
	enc->time = time;
	slot->sp = c->sp;
	if (c->has_hash)
		bytes_put(&enc->columns[COLUMN_HASHES], &c->hash, 2);
	if (c->n_ranges)
		put_ranges(enc, slot, c);
	enc->n++;
	return sum_up(enc) ? -ENOMEM : 0;
}

uint32_t capture_encoder_count(const struct capture_encoder *enc)
{
	return enc->n;
}

size_t capture_encoder_bytes(const struct capture_encoder *enc)
{
	return enc->len;
}

/* Columns from @from up to @until, each with its length. */
static void put_columns(const struct capture_encoder *enc, int from, int until, struct bytes *out)
{
	for (int i = from; i < until; i++) {
		bytes_put_varint(out, enc->columns[i].len);
		bytes_put(out, enc->columns[i].data, enc->columns[i].len);
	}
}

/* The payload lies around its bytes, which are most of it, so that they are not copied once more.
 */
static const uint8_t *join_columns(struct capture_encoder *enc, uint32_t *len)
{
	struct bytes *out = &enc->out, *bytes = &enc->columns[COLUMN_BYTES];
	const size_t n_bytes = bytes->len - ROOM_BEFORE;

	out->len = 0;
	bytes_put_varint(out, enc->n);
	put_columns(enc, 0, COLUMN_BYTES, out);
	bytes_put_varint(out, n_bytes);
	bool fits = out->len <= ROOM_BEFORE;
	if (!fits)
		bytes_put(out, bytes->data + ROOM_BEFORE, n_bytes);
	put_columns(enc, COLUMN_BYTES + 1, N_COLUMNS, fits ? bytes : out);
	*len = out->len + (fits ? bytes->len - ROOM_BEFORE : 0);
	if (out->failed || bytes->failed)
		return NULL;
	return fits ? memcpy(bytes->data + ROOM_BEFORE - out->len, out->data, out->len) : out->data;
}

const uint8_t *capture_encoder_finish(struct capture_encoder *enc, uint32_t *len)
{
	const uint8_t *payload = join_columns(enc, len);

	for (int i = 0; i < N_COLUMNS; i++)
		enc->columns[i].len = 0;
	enc->columns[COLUMN_BYTES].len = ROOM_BEFORE;
	memset(enc->slots, 0, sizeof(enc->slots));
	enc->order = enc->time = 0;
	enc->n = 0;
	enc->len = 0;
	return payload;
}

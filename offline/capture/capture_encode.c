// SPDX-License-Identifier: LGPL-2.1-or-later
/* capture_encode.c: records to columns; compression is left to the segment's codec. */
#include "offline/capture/capture_code.h"

#include "offline/capture/capture_columns.h"

#include <errno.h>

enum { ROOM_BEFORE = 256 << 10 };

/* A range whose bytes are in their column. len 0: none. */
struct told {
	size_t at;
	uint32_t len;
};

struct capture_encoder {
	/* The bytes' begins with ROOM_BEFORE, for the usual columns before it in a payload. */
	struct bytes columns[N_COLUMNS], out;
	struct capture_slot slots[1 << SLOT_BITS];
	struct told told[1 << TOLD_BITS];
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

static void put_numbers(struct capture_encoder *enc, enum capture_column column, const uint64_t *v,
			uint32_t n)
{
	struct bytes *b = &enc->columns[column];

	if (!bytes_reserve(b, n * VARINT_MOST))
		return;
	/* Here, and not in the column: the compiler takes each byte for one that may change that.
	 */
	uint8_t *end = b->data + b->len;
	for (uint32_t i = 0; i < n; i++)
		end = varint_write(end, v[i]);
	b->len = end - b->data;
}

/* What is told of a value that was *@before: their difference. It becomes that. */
static uint64_t step(uint64_t *before, uint64_t v)
{
	uint64_t difference = zigzag((int64_t)(v - *before));

	*before = v;
	return difference;
}

/* The slot's first @n values, as the differences. */
static void put_values(struct capture_encoder *enc, struct capture_slot *slot, const uint64_t *v,
		       uint32_t n)
{
	uint64_t steps[SLOT_VALUES];

	for (uint32_t i = 0; i < n; i++)
		steps[i] = step(&slot->values[i], v[i]);
	put_numbers(enc, COLUMN_VALUES, steps, n);
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
	uint64_t *before = slot->values;
	/* Not in a loop: vectors would be read of what was just written as words, which waits. */
	const uint64_t v[] = {
		c->nr,
		step(&before[0], c->result),
		step(&before[1], c->args[0]),
		step(&before[2], c->args[1]),
		step(&before[3], c->args[2]),
		step(&before[4], c->args[3]),
		step(&before[5], c->args[4]),
		step(&before[6], c->args[5]),
		step(&before[7], c->ip),
		(uint32_t)(c->map_file + 2),
		c->order - c->entered, /* told where it is known */
	};

	put_numbers(enc, COLUMN_VALUES, v, sizeof(v) / sizeof(*v) - !c->entered);
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

/* Whether that is what the last range of its kind and length has brought, which is still there; if
 * not, what the next one is compared with. */
static bool told_before(struct capture_encoder *enc, const struct capture_slot *slot,
			const struct capture_range *r)
{
	struct told *t = &enc->told[capture_told_of((uint32_t)(slot - enc->slots), r->len)];
	const struct bytes *b = &enc->columns[COLUMN_BYTES];

	if (r->unread || r->len < TOLD_LEAST || r->len > TOLD_MOST)
		return false;
	if (t->len == r->len && !memcmp(b->data + t->at, r->bytes, r->len))
		return true;
	*t = (struct told){b->len, r->len};
	return false;
}

static void put_ranges(struct capture_encoder *enc, struct capture_slot *slot,
		       const struct capture *c)
{
	put(enc, COLUMN_RANGES, c->n_ranges);
	for (uint32_t i = 0; i < c->n_ranges; i++) {
		const struct capture_range *r = &c->ranges[i];
		const bool again = told_before(enc, slot, r);

		put_numbers(
			enc, COLUMN_RANGES,
			(uint64_t[]){zigzag((int64_t)(r->addr - slot->range)),
				     (uint64_t)r->len << 1 | r->unread | (again ? RANGE_AGAIN : 0)},
			2);
		slot->range = i ? slot->range : r->addr;
		if (!r->unread && !again)
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
	put_numbers(enc, COLUMN_CLOCK,
		    (uint64_t[]){zigzag((int64_t)(c->order - enc->order)),
				 zigzag((int64_t)(time - enc->time))},
		    2);
	put(enc, COLUMN_SP, step(&slot->sp, c->sp));
	enc->order = c->order + 1;
	enc->time = time;
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
	memset(enc->told, 0, sizeof(enc->told));
	enc->order = enc->time = 0;
	enc->n = 0;
	enc->len = 0;
	return payload;
}

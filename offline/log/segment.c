// SPDX-License-Identifier: LGPL-2.1-or-later
/* segment.c: the segment header, and the encoder of a run of events. segment_decode.c reads it
 * back.
 *
 * What events have in common (site, module, return address, branch direction) becomes one symbol;
 * the run is then a sequence of symbol numbers, which repeats itself as the program does, with a
 * CFA and a time each: segment_model.c codes these, or segment_columns.c lists them. What few
 * events have is in columns beside. */
#include "offline/log/segment.h"

#include "offline/base/varint.h"
#include "offline/log/segment_columns.h"
#include "offline/log/segment_format.h"
#include "offline/log/segment_model.h"

#include <errno.h>
#include <zlib.h>

const uint8_t segment_magic[8] = {0x8f, 'P', 'M', 'S', 'E', 'G', '\r', '\n'};

static void put(uint8_t *out, uint64_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		out[i] = (uint8_t)(v >> (8 * i));
}

static uint64_t get(const uint8_t *in, int bytes)
{
	uint64_t v = 0;

	for (int i = 0; i < bytes; i++)
		v |= (uint64_t)in[i] << (8 * i);
	return v;
}

/* Where each field of the header lies (docs/recording-format.md); all numbers little-endian. */
enum header_at {
	AT_VERSION = 8,
	AT_KIND = 10,
	AT_CODEC = 11,
	AT_TASK = 12,
	AT_FIRST_EVENT = 16,
	AT_N = 24,
	AT_RAW_BYTES = 28,
	AT_STORED_BYTES = 32,
	AT_PAYLOAD_CRC = 36,
	AT_FIRST_NS = 40,
	AT_LAST_NS = 48,
	AT_NUMBER = 56,
	AT_HEADER_CRC = 60, /* of all before it */
};
_Static_assert(AT_HEADER_CRC + 4 == SEGMENT_HEADER_BYTES, "the header is a format");

void segment_header_write(const struct segment_header *header, uint8_t out[SEGMENT_HEADER_BYTES])
{
	memcpy(out, segment_magic, sizeof(segment_magic));
	put(out + AT_VERSION, header->version ? header->version : SEGMENT_VERSION, 2);
	out[AT_KIND] = header->kind;
	out[AT_CODEC] = header->codec;
	put(out + AT_TASK, header->task, 4);
	put(out + AT_FIRST_EVENT, header->first_event, 8);
	put(out + AT_N, header->n, 4);
	put(out + AT_RAW_BYTES, header->raw_bytes, 4);
	put(out + AT_STORED_BYTES, header->stored_bytes, 4);
	put(out + AT_PAYLOAD_CRC, header->crc, 4);
	put(out + AT_FIRST_NS, header->first_ns, 8);
	put(out + AT_LAST_NS, header->last_ns, 8);
	put(out + AT_NUMBER, header->number, 4);
	put(out + AT_HEADER_CRC, crc32(0, out, AT_HEADER_CRC), 4);
}

int segment_header_read(const uint8_t in[SEGMENT_HEADER_BYTES], struct segment_header *header)
{
	if (memcmp(in, segment_magic, sizeof(segment_magic)) ||
	    get(in + AT_HEADER_CRC, 4) != crc32(0, in, AT_HEADER_CRC))
		return -EBADMSG;
	*header = (struct segment_header){
		.version = get(in + AT_VERSION, 2),
		.kind = in[AT_KIND],
		.codec = in[AT_CODEC],
		.task = get(in + AT_TASK, 4),
		.first_event = get(in + AT_FIRST_EVENT, 8),
		.n = get(in + AT_N, 4),
		.raw_bytes = get(in + AT_RAW_BYTES, 4),
		.stored_bytes = get(in + AT_STORED_BYTES, 4),
		.crc = get(in + AT_PAYLOAD_CRC, 4),
		.first_ns = get(in + AT_FIRST_NS, 8),
		.last_ns = get(in + AT_LAST_NS, 8),
		.number = get(in + AT_NUMBER, 4),
	};
	return 0;
}

bool segment_version_known(uint64_t version)
{
	return version == SEGMENT_VERSION || version == SEGMENT_VERSION_COLUMNS;
}

struct segment_encoder {
	uint32_t time_unit_ns;
	bool in_columns;
	uint64_t bases[SEGMENT_MAX_MODULES];
	uint64_t known; /* which of them */
	uint64_t used;	/* which of them an event needs */

	uint32_t *slots; /* symbols' numbers plus one: a hash table of 2^bits, at most half full */
	struct event_symbol *symbols; /* in the order of coming */
	uint32_t bits, n_symbols, cap_symbols;
	struct event_step *steps; /* of the first SEGMENT_MODEL_MANY events, then they are coded */
	struct segment_model *model;
	struct segment_columns columns;

	struct bytes events, values, snapshots, reads, goroutines, out;
	uint64_t *stacks[2]; /* the last snapshot, and this one */
	uint64_t stack_addr; /* of the last */
	uint32_t stack_words;
	unsigned stack_turn;
	uint32_t n;
	uint64_t first_ns, last_ns;
};

struct segment_encoder *segment_encoder_new(uint32_t time_unit_ns)
{
	struct segment_encoder *enc = calloc(1, sizeof(*enc));

	if (!enc)
		return NULL;
	enc->time_unit_ns = time_unit_ns;
	enc->bits = 12;
	enc->cap_symbols = 1u << (enc->bits - 1);
	enc->slots = calloc(1u << enc->bits, sizeof(*enc->slots));
	enc->symbols = malloc(enc->cap_symbols * sizeof(*enc->symbols));
	enc->steps = malloc(SEGMENT_MODEL_MANY * sizeof(*enc->steps));
	enc->model = segment_model_new();
	enc->stacks[0] = malloc(SNAPSHOT_MAX_WORDS * sizeof(**enc->stacks));
	enc->stacks[1] = malloc(SNAPSHOT_MAX_WORDS * sizeof(**enc->stacks));
	if (!enc->slots || !enc->symbols || !enc->steps || !enc->model || !enc->stacks[0] ||
	    !enc->stacks[1]) {
		segment_encoder_free(enc);
		return NULL;
	}
	return enc;
}

void segment_encoder_free(struct segment_encoder *enc)
{
	if (!enc)
		return;
	free(enc->slots);
	free(enc->symbols);
	free(enc->steps);
	segment_model_free(enc->model);
	segment_columns_deinit(&enc->columns);
	free(enc->stacks[0]);
	free(enc->stacks[1]);
	bytes_deinit(&enc->events);
	bytes_deinit(&enc->values);
	bytes_deinit(&enc->snapshots);
	bytes_deinit(&enc->reads);
	bytes_deinit(&enc->goroutines);
	bytes_deinit(&enc->out);
	free(enc);
}

void segment_encoder_columns(struct segment_encoder *enc)
{
	enc->in_columns = true;
}

void segment_encoder_reset(struct segment_encoder *enc, const uint64_t *bases, uint64_t known)
{
	memset(enc->slots, 0, sizeof(*enc->slots) << enc->bits);
	memcpy(enc->bases, bases, sizeof(enc->bases));
	enc->known = known;
	enc->used = 0;
	enc->n = enc->n_symbols = enc->stack_words = 0;
	enc->stack_addr = 0;
	enc->first_ns = enc->last_ns = 0;
	enc->events.len = enc->values.len = enc->snapshots.len = 0;
	enc->reads.len = enc->goroutines.len = 0;
}

uint32_t segment_encoder_count(const struct segment_encoder *enc)
{
	return enc->n;
}

static uint64_t symbol_hash(const struct event_symbol *s)
{
	uint64_t h = s->ret * 0x9e3779b97f4a7c15;

	h ^= ((uint64_t)s->site << 32 | (uint32_t)s->module << 16 | s->kind << 8 | s->form);
	h *= 0xbf58476d1ce4e5b9;
	return h ^ h >> 29;
}

/* Where its number is, or is to be. */
static uint32_t *symbol_slot(const struct segment_encoder *enc, const struct event_symbol *s)
{
	uint32_t mask = (1u << enc->bits) - 1;

	for (uint32_t i = symbol_hash(s) & mask;; i = (i + 1) & mask)
		if (!enc->slots[i] || !memcmp(&enc->symbols[enc->slots[i] - 1], s, sizeof(*s)))
			return &enc->slots[i];
}

static int symbols_grow(struct segment_encoder *enc)
{
	uint32_t *slots = calloc(2u << enc->bits, sizeof(*slots));
	struct event_symbol *symbols =
		slots ? realloc(enc->symbols, 2ul * enc->cap_symbols * sizeof(*symbols)) : NULL;

	if (!symbols) {
		free(slots);
		return -ENOMEM;
	}
	free(enc->slots);
	enc->slots = slots;
	enc->symbols = symbols;
	enc->cap_symbols *= 2;
	enc->bits++;
	for (uint32_t i = 0; i < enc->n_symbols; i++)
		*symbol_slot(enc, &symbols[i]) = i + 1;
	return 0;
}

/* The number of the symbol. There is room for one more. */
static uint32_t symbol_number(struct segment_encoder *enc, const struct event_symbol *s)
{
	uint32_t *slot = symbol_slot(enc, s);

	if (!*slot) {
		enc->symbols[enc->n_symbols] = *s;
		*slot = ++enc->n_symbols;
	}
	return *slot - 1;
}

static void put_snapshot(struct segment_encoder *enc, const struct pugmark_witness_event *event)
{
	uint64_t *words = enc->stacks[enc->stack_turn ^= 1], *old = enc->stacks[!enc->stack_turn];
	uint64_t shift = (int64_t)(event->stack_addr - enc->stack_addr) / 8;
	uint32_t n = event->stack_words;

	memcpy(words, event->stack, n * sizeof(*words));
	while (n && n - 1 + shift < enc->stack_words && words[n - 1] == old[n - 1 + shift])
		n--;
	bytes_put_varint(&enc->snapshots, event->stack_addr);
	bytes_put_varint(&enc->snapshots, event->stack_words);
	bytes_put_varint(&enc->snapshots, n);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t at = i + shift;

		bytes_put_varint(&enc->snapshots, words[i] ^ (at < enc->stack_words ? old[at] : 0));
	}
	enc->stack_addr = event->stack_addr;
	enc->stack_words = event->stack_words;
}

static void make_symbol(struct segment_encoder *enc, const struct pugmark_witness_event *event,
			bool has_value, struct event_symbol *s)
{
	memset(s, 0, sizeof(*s));
	s->kind = event->kind;
	if (event->kind == PUGMARK_EVENT_END || event->kind == PUGMARK_EVENT_LOST ||
	    event->kind == PUGMARK_EVENT_FORK || event->kind == PUGMARK_EVENT_SIGNAL || has_value)
		s->kind |= KIND_VALUE;
	if (event->stack)
		s->kind |= KIND_SNAPSHOT;
	if (event->kind != PUGMARK_EVENT_WITNESS)
		return;
	s->site = event->site;
	s->module = event->module;
	if (pugmark_event_val(event) == 1 && !has_value)
		s->form |= FORM_TAKEN;
	if (event->flags & PUGMARK_EVENT_FROM_SIGNAL)
		s->form |= FORM_SIGNAL;
	if (event->flags & PUGMARK_EVENT_IN_HANDLER)
		s->form |= FORM_HANDLER;
	if (event->n_values)
		s->form |= FORM_VALUES;
	if (event->goroutine)
		s->form |= FORM_GOROUTINE;
	if (!(event->flags & PUGMARK_EVENT_HAS_RET))
		return;
	uint64_t bit = 1ull << event->module;
	uint64_t ret = pugmark_event_ret(event), elf = ret - enc->bases[event->module];
	if (ret && enc->known & bit && elf < UINT32_MAX) {
		s->form |= FORM_RET_ELF;
		s->ret = elf;
	} else {
		s->form |= FORM_RET_RUN;
		s->ret = ret;
	}
}

/* Codes the events that were kept. */
static int begin_coding(struct segment_encoder *enc)
{
	int err = segment_model_begin(enc->model, enc->n, enc->time_unit_ns, enc->first_ns,
				      &enc->events);

	for (uint32_t i = 0; !err && i < enc->n; i++)
		err = segment_model_put(enc->model, &enc->steps[i],
					&enc->symbols[enc->steps[i].symbol]);
	return err;
}

/* How large the model's tables are depends on how many events there are, up to SEGMENT_MODEL_MANY.
 * So the first events are kept until that is known. */
static int add_coded(struct segment_encoder *enc, const struct event_step *step)
{
	if (enc->n < SEGMENT_MODEL_MANY) {
		enc->steps[enc->n] = *step;
		return 0;
	}
	int err = enc->n == SEGMENT_MODEL_MANY ? begin_coding(enc) : 0;
	return err ? err : segment_model_put(enc->model, step, &enc->symbols[step->symbol]);
}

static int add_step(struct segment_encoder *enc, const struct event_step *step, bool is_witness)
{
	if (!enc->in_columns)
		return add_coded(enc, step);
	if (!enc->n)
		segment_columns_begin(&enc->columns, enc->time_unit_ns, enc->first_ns);
	segment_columns_put(&enc->columns, step, is_witness);
	return 0;
}

/* How much the events take so far. */
static size_t events_bytes(const struct segment_encoder *enc)
{
	if (!enc->in_columns)
		return enc->events.len;
	return enc->n ? segment_columns_bytes(&enc->columns, enc->n_symbols) : 0;
}

int segment_encoder_add(struct segment_encoder *enc, const struct pugmark_witness_event *event)
{
	size_t stack_max = event->stack ? event->stack_words * 10ul + 20 : 0;

	if (enc->n == SEGMENT_MAX_EVENTS || events_bytes(enc) > SEGMENT_MAX_BYTES / 4 ||
	    enc->snapshots.len + stack_max > SEGMENT_MAX_BYTES / 4 ||
	    enc->values.len + enc->reads.len + enc->goroutines.len > SEGMENT_MAX_BYTES / 4)
		return -ENOSPC;
	if (event->module >= SEGMENT_MAX_MODULES || event->stack_words > SNAPSHOT_MAX_WORDS ||
	    event->n_values > PUGMARK_EVENT_VALUES_MAX)
		return -EINVAL;
	if (enc->n_symbols == enc->cap_symbols && symbols_grow(enc))
		return -ENOMEM;

	bool witness = event->kind == PUGMARK_EVENT_WITNESS;
	bool has_value = witness && event->flags & PUGMARK_EVENT_HAS_TARGET;
	struct event_symbol s;
	make_symbol(enc, event, has_value, &s);
	if (!enc->n)
		enc->first_ns = enc->last_ns = event->time_ns;
	/* Times of one task never go back; those of events that were made up for a test might. */
	if (event->time_ns > enc->last_ns)
		enc->last_ns = event->time_ns;
	int err = add_step(enc,
			   &(struct event_step){
				   .cfa = witness ? pugmark_event_cfa(event) : 0,
				   .time_ns = enc->last_ns,
				   .symbol = symbol_number(enc, &s),
			   },
			   witness);
	if (err)
		return err;
	if (event->kind == PUGMARK_EVENT_ATTACH || event->kind == PUGMARK_EVENT_SIGNAL)
		enc->used = enc->known; /* its stack may be of all of them */
	if (witness)
		enc->used |= 1ull << event->module;
	if (has_value)
		bytes_put_varint(&enc->values, pugmark_event_val(event));
	if (event->kind == PUGMARK_EVENT_FORK)
		bytes_put_varint(&enc->values, pugmark_event_child(event));
	if (event->kind == PUGMARK_EVENT_LOST)
		bytes_put_varint(&enc->values, event->lost);
	if (event->kind == PUGMARK_EVENT_END || event->kind == PUGMARK_EVENT_SIGNAL) {
		bytes_put_varint(&enc->values, event->arm.stop.sp);
		bytes_put_varint(&enc->values, event->arm.stop.ip);
		bytes_put_varint(&enc->values, event->arm.stop.val);
	}
	if (event->kind == PUGMARK_EVENT_SIGNAL) {
		bytes_put_varint(&enc->values, event->signal.bp);
		bytes_put_varint(&enc->values, event->signal.caller);
		bytes_put_varint(&enc->values, event->signal.alt);
		bytes_put_varint(&enc->values, event->signal.alt_bytes);
	}
	if (event->stack)
		put_snapshot(enc, event);
	if (s.form & FORM_VALUES) {
		bytes_put_varint(&enc->reads, event->n_values);
		for (uint8_t i = 0; i < event->n_values; i++)
			bytes_put_varint(&enc->reads, event->values[i]);
	}
	if (s.form & FORM_GOROUTINE)
		bytes_put_varint(&enc->goroutines, event->goroutine);
	enc->n++;
	return 0;
}

static void put_column(struct bytes *out, const struct bytes *column)
{
	bytes_put_varint(out, column->len);
	bytes_put(out, column->data, column->len);
}

/* The events, as they are in the payload. 0 or -ENOMEM. */
static int put_events(struct segment_encoder *enc, struct bytes *out)
{
	if (enc->in_columns) {
		if (!enc->n)
			segment_columns_begin(&enc->columns, enc->time_unit_ns, 0);
		return segment_columns_end(&enc->columns, enc->symbols, enc->n_symbols, out);
	}
	if ((enc->n <= SEGMENT_MODEL_MANY && begin_coding(enc)) || segment_model_end(enc->model))
		return -ENOMEM;
	put_column(out, &enc->events);
	return 0;
}

const uint8_t *segment_encoder_finish(struct segment_encoder *enc, struct segment_header *header)
{
	struct bytes *out = &enc->out;

	out->len = 0;
	uint64_t said = enc->used & enc->known;
	bytes_put_varint(out, enc->time_unit_ns);
	bytes_put_varint(out, __builtin_popcountll(said));
	for (unsigned m = 0; m < SEGMENT_MAX_MODULES; m++)
		if (said >> m & 1) {
			bytes_put_varint(out, m);
			bytes_put_varint(out, enc->bases[m]);
		}
	if (put_events(enc, out))
		return NULL;
	put_column(out, &enc->values);
	put_column(out, &enc->snapshots);
	if (enc->reads.len || enc->goroutines.len)
		put_column(out, &enc->reads);
	if (enc->goroutines.len)
		put_column(out, &enc->goroutines);
	if (out->failed || enc->values.failed || enc->snapshots.failed || enc->reads.failed ||
	    enc->goroutines.failed)
		return NULL;
	header->version = enc->in_columns ? SEGMENT_VERSION_COLUMNS : SEGMENT_VERSION;
	header->kind = SEGMENT_EVENTS;
	header->n = enc->n;
	header->raw_bytes = out->len;
	header->first_ns = enc->time_unit_ns ? enc->first_ns : 0;
	header->last_ns = enc->time_unit_ns ? enc->last_ns : 0;
	return out->data;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* segment_decode.c: events out of a segment's payload, as a stream. The payload may be anything:
 * every length is checked before use. */
#include "offline/log/segment.h"

#include "offline/base/varint.h"
#include "offline/log/segment_columns.h"
#include "offline/log/segment_format.h"
#include "offline/log/segment_model.h"

#include <errno.h>

/* What the events of a symbol have in common, in half a line of the cache. */
struct symbol {
	uint64_t ret;
	uint64_t bias;
	uint32_t site;
	uint16_t module;
	uint8_t kind;  /* enum pugmark_event_kind */
	uint8_t flags; /* enum pugmark_event_flag */
	uint8_t val;
	uint8_t told; /* KIND_VALUE, KIND_SNAPSHOT: which fields each event has */
	bool reads;   /* FORM_VALUES */
	bool goroutine;
	bool rare; /* its events have rare fields; a witness sets `value` itself */
};

struct segment_decoder {
	struct segment_model *model;
	struct segment_columns_reader columns;
	bool in_columns; /* that is where the events are */
	struct cursor values, snapshots, reads, goroutines;
	struct symbol *symbols; /* those that have come */
	uint32_t n_symbols, cap_symbols;
	struct event_step step;		    /* of the last event, as the model has it */
	struct event_symbol new;	    /* that of it, where it had not come before */
	struct pugmark_witness_event event; /* the last one */
	bool rare;			    /* it has what few events have */
	uint32_t left;
	bool no_memory; /* that is why an event could not be read */
	uint64_t bases[SEGMENT_MAX_MODULES];
	uint64_t known;
	uint64_t *stacks; /* the last snapshot, and this one */
	uint64_t stack_addr;
	uint32_t stack_words;
	unsigned stack_turn;
	uint64_t read[PUGMARK_EVENT_VALUES_MAX];
};

struct segment_decoder *segment_decoder_new(void)
{
	struct segment_decoder *dec = calloc(1, sizeof(*dec));

	if (dec)
		dec->model = segment_model_new();
	if (dec && !dec->model) {
		free(dec);
		return NULL;
	}
	return dec;
}

void segment_decoder_free(struct segment_decoder *dec)
{
	if (!dec)
		return;
	segment_model_free(dec->model);
	free(dec->symbols);
	free(dec->stacks);
	free(dec);
}

static int why_bad(const struct segment_decoder *dec)
{
	return dec->no_memory ? -ENOMEM : -EBADMSG;
}

/* Out of line, as are the functions below that few events need: the common path stays short. */
static __attribute__((noinline)) bool add_symbol(struct segment_decoder *dec,
						 const struct event_symbol *from)
{
	if (dec->n_symbols == dec->cap_symbols) {
		uint32_t cap = dec->cap_symbols ? 2 * dec->cap_symbols : 256;
		struct symbol *symbols = realloc(dec->symbols, cap * sizeof(*symbols));

		if (!symbols) {
			dec->no_memory = true;
			return false;
		}
		dec->symbols = symbols;
		dec->cap_symbols = cap;
	}
	struct symbol *s = &dec->symbols[dec->n_symbols++];
	*s = (struct symbol){
		.kind = from->kind & KIND_MASK,
		.told = from->kind & (KIND_VALUE | KIND_SNAPSHOT),
		.rare = from->kind & ~KIND_VALUE || from->form & (FORM_VALUES | FORM_GOROUTINE),
	};
	if (from->kind & KIND_MASK)
		return true;
	s->bias = dec->bases[from->module];
	s->module = from->module;
	s->site = from->site;
	s->val = from->form & FORM_TAKEN ? 1 : 0;
	s->flags = (from->form & FORM_SIGNAL ? PUGMARK_EVENT_FROM_SIGNAL : 0) |
		   (from->form & FORM_HANDLER ? PUGMARK_EVENT_IN_HANDLER : 0) |
		   (from->form & FORM_RET_MASK ? PUGMARK_EVENT_HAS_RET : 0) |
		   (from->kind & KIND_VALUE ? PUGMARK_EVENT_HAS_TARGET : 0);
	s->reads = from->form & FORM_VALUES;
	s->goroutine = from->form & FORM_GOROUTINE;
	s->ret = from->ret;
	if ((from->form & FORM_RET_MASK) == FORM_RET_ELF)
		s->ret += dec->bases[from->module];
	return true;
}

static bool read_bases(struct segment_decoder *dec, struct cursor *c)
{
	uint64_t n, module;

	dec->known = 0;
	memset(dec->bases, 0, sizeof(dec->bases));
	if (!cursor_varint(c, &n) || n > SEGMENT_MAX_MODULES)
		return false;
	while (n--) {
		if (!cursor_varint(c, &module) || module >= SEGMENT_MAX_MODULES ||
		    !cursor_varint(c, &dec->bases[module]))
			return false;
		dec->known |= 1ull << module;
	}
	return true;
}

/* Whoever made the segment: no more symbols than events. */
static bool read_symbols(struct segment_decoder *dec, uint32_t n_events)
{
	struct event_symbol symbol;

	while (dec->columns.symbols.at < dec->columns.symbols.end)
		if (dec->n_symbols == n_events || !segment_columns_symbol(&dec->columns, &symbol) ||
		    !add_symbol(dec, &symbol))
			return false;
	return true;
}

/* The columns of events, or the one in which they are coded. */
static int open_events(struct segment_decoder *dec, struct cursor *c, uint32_t unit_ns,
		       const struct segment_header *header)
{
	struct cursor events;

	dec->n_symbols = 0;
	dec->no_memory = false;
	dec->in_columns = header->version == SEGMENT_VERSION_COLUMNS;
	if (dec->in_columns)
		return segment_columns_open(&dec->columns, c, unit_ns, header->first_ns) &&
				       read_symbols(dec, header->n)
			       ? 0
			       : why_bad(dec);
	if (!cursor_column(c, &events))
		return -EBADMSG;
	return segment_model_open(dec->model, events, header->n, unit_ns, header->first_ns);
}

int segment_decoder_open(struct segment_decoder *dec, const uint8_t *raw,
			 const struct segment_header *header)
{
	struct cursor c = {raw, raw + header->raw_bytes};
	uint64_t unit;

	dec->left = 0;
	if (header->n > SEGMENT_MAX_EVENTS)
		return -EBADMSG;
	if (!cursor_varint(&c, &unit) || unit > UINT32_MAX || !read_bases(dec, &c))
		return -EBADMSG;
	int err = open_events(dec, &c, unit, header);
	if (err)
		return err;
	if (!cursor_column(&c, &dec->values) || !cursor_column(&c, &dec->snapshots))
		return -EBADMSG;
	dec->reads = dec->goroutines = (struct cursor){0};
	if (c.at < c.end && !cursor_column(&c, &dec->reads))
		return -EBADMSG;
	if (c.at < c.end && !cursor_column(&c, &dec->goroutines))
		return -EBADMSG;
	dec->rare = true;
	dec->stack_words = 0;
	dec->stack_addr = 0;
	dec->left = header->n;
	return 0;
}

static bool read_snapshot(struct segment_decoder *dec, struct pugmark_witness_event *event)
{
	uint64_t words, told, v;

	if (!cursor_varint(&dec->snapshots, &event->stack_addr) ||
	    !cursor_varint(&dec->snapshots, &words) || words > SNAPSHOT_MAX_WORDS ||
	    !cursor_varint(&dec->snapshots, &told) || told > words)
		return false;
	if (!dec->stacks)
		dec->stacks = malloc(2 * SNAPSHOT_MAX_WORDS * sizeof(*dec->stacks));
	if (!dec->stacks) {
		dec->no_memory = true;
		return false;
	}
	uint64_t *old = dec->stacks + dec->stack_turn * SNAPSHOT_MAX_WORDS;
	dec->stack_turn ^= 1;
	uint64_t *stack = dec->stacks + dec->stack_turn * SNAPSHOT_MAX_WORDS;
	uint64_t shift = (int64_t)(event->stack_addr - dec->stack_addr) / 8;
	for (uint32_t i = 0; i < words; i++) {
		uint64_t at = i + shift;

		v = 0;
		if (i < told && !cursor_varint(&dec->snapshots, &v))
			return false;
		stack[i] = v ^ (at < dec->stack_words ? old[at] : 0);
	}
	event->stack = stack;
	event->stack_words = dec->stack_words = words;
	dec->stack_addr = event->stack_addr;
	return true;
}

/* What only few symbols ask for. */
static __attribute__((noinline)) bool read_values(struct segment_decoder *dec, uint8_t told,
						  struct pugmark_witness_event *event)
{
	if (told & KIND_VALUE)
		switch (event->kind) {
		case PUGMARK_EVENT_WITNESS:
			if (!cursor_varint(&dec->values, &event->arm.witness.val))
				return false;
			break;
		case PUGMARK_EVENT_FORK:
			if (!cursor_varint(&dec->values, &event->arm.fork.child))
				return false;
			break;
		case PUGMARK_EVENT_END:
		case PUGMARK_EVENT_SIGNAL:
			if (!cursor_varint(&dec->values, &event->arm.stop.sp) ||
			    !cursor_varint(&dec->values, &event->arm.stop.ip) ||
			    !cursor_varint(&dec->values, &event->arm.stop.val))
				return false;
			if (event->kind == PUGMARK_EVENT_SIGNAL &&
			    (!cursor_varint(&dec->values, &event->signal.bp) ||
			     !cursor_varint(&dec->values, &event->signal.caller) ||
			     !cursor_varint(&dec->values, &event->signal.alt) ||
			     !cursor_varint(&dec->values, &event->signal.alt_bytes)))
				return false;
			break;
		case PUGMARK_EVENT_LOST:
			if (!cursor_varint(&dec->values, &event->lost))
				return false;
			break;
		}
	return !(told & KIND_SNAPSHOT) || read_snapshot(dec, event);
}

/* What the site read: few sites do. */
static __attribute__((noinline)) bool read_reads(struct segment_decoder *dec,
						 struct pugmark_witness_event *event)
{
	uint64_t n;

	if (!cursor_varint(&dec->reads, &n) || n > PUGMARK_EVENT_VALUES_MAX)
		return false;
	for (uint64_t i = 0; i < n; i++)
		if (!cursor_varint(&dec->reads, &dec->read[i]))
			return false;
	event->values = dec->read;
	event->n_values = n;
	return true;
}

/* The next event's symbol and step. False where what is read does not hold together. */
static inline bool next_coded(struct segment_decoder *dec)
{
	segment_model_next(dec->model, &dec->step, &dec->new);
	return dec->step.symbol != dec->n_symbols || add_symbol(dec, &dec->new);
}

static inline bool next_in_columns(struct segment_decoder *dec)
{
	uint64_t number;

	if (!segment_columns_number(&dec->columns, &number) || number >= dec->n_symbols)
		return false;
	dec->step.symbol = (uint32_t)number;
	return segment_columns_step(&dec->columns,
				    dec->symbols[number].kind == PUGMARK_EVENT_WITNESS, &dec->step);
}

int segment_decoder_take(struct segment_decoder *dec, struct pugmark_witness_event **out)
{
	const struct event_step *step = &dec->step;
	struct pugmark_witness_event *event = &dec->event;

	if (!dec->left)
		return 0;
	if (dec->in_columns ? !next_in_columns(dec) : !next_coded(dec))
		goto bad;
	const struct symbol *s = &dec->symbols[step->symbol];
	if (s->rare | dec->rare)
		*event = (struct pugmark_witness_event){0};
	dec->rare = s->rare;
	event->kind = s->kind;
	event->flags = s->flags;
	event->module = s->module;
	event->site = s->site;
	event->bias = s->bias;
	event->arm.witness.cfa = s->kind == PUGMARK_EVENT_WITNESS ? step->cfa : 0;
	event->arm.witness.ret = s->ret;
	event->arm.witness.val = s->val;
	event->time_ns = step->time_ns;
	if (s->told && !read_values(dec, s->told, event))
		goto bad;
	if (s->reads && !read_reads(dec, event))
		goto bad;
	if (s->goroutine && !cursor_varint(&dec->goroutines, &event->goroutine))
		goto bad;
	dec->left--;
	*out = event;
	return 1;
bad:
	dec->left = 0;
	return why_bad(dec);
}

int segment_decoder_next(struct segment_decoder *dec, struct pugmark_witness_event *event)
{
	struct pugmark_witness_event *taken;
	int n = segment_decoder_take(dec, &taken);

	if (n == 1)
		*event = *taken;
	return n;
}

bool segment_decoder_base(const struct segment_decoder *dec, uint16_t module, uint64_t *base)
{
	if (module >= SEGMENT_MAX_MODULES || !(dec->known >> module & 1))
		return false;
	*base = dec->bases[module];
	return true;
}

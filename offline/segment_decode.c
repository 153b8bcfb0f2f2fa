// SPDX-License-Identifier: LGPL-2.1-or-later
/* segment_decode.c: events out of a segment's payload, as a stream. The payload may be anything:
 * every length is checked before use, every symbol number against the table. */
#include "offline/segment.h"

#include "offline/segment_format.h"
#include "offline/varint.h"

#include <errno.h>

struct symbol {
	struct witness_event event;
	uint8_t kind; /* with KIND_VALUE, KIND_SNAPSHOT */
	bool reads;   /* FORM_VALUES */
};

struct segment_decoder {
	struct cursor stream, cfas, times, values, snapshots, reads;
	struct symbol *symbols;
	uint32_t n_symbols, cap_symbols;
	uint32_t left;
	uint32_t time_unit_ns;
	uint64_t units, cfa;
	uint64_t bases[SEGMENT_MAX_MODULES];
	uint64_t known;
	uint64_t *stacks; /* the last snapshot, and this one */
	uint64_t stack_addr;
	uint32_t stack_words;
	unsigned stack_turn;
	uint64_t read[EVENT_VALUES_MAX];
};

struct segment_decoder *segment_decoder_new(void)
{
	return calloc(1, sizeof(struct segment_decoder));
}

void segment_decoder_free(struct segment_decoder *dec)
{
	if (!dec)
		return;
	free(dec->symbols);
	free(dec->stacks);
	free(dec);
}

static bool is_witness(const struct symbol *s)
{
	return (s->kind & KIND_MASK) == EVENT_WITNESS;
}

static bool read_forms(struct segment_decoder *dec, struct cursor *c)
{
	for (uint32_t i = 0; i < dec->n_symbols; i++) {
		struct symbol *s = &dec->symbols[i];
		uint8_t form;

		if (!is_witness(s))
			continue;
		if (!cursor_byte(c, &form))
			return false;
		s->event.val = form & FORM_TAKEN ? 1 : 0;
		s->event.flags = form & FORM_SIGNAL ? EVENT_FROM_SIGNAL : 0;
		if (form & FORM_RET_MASK)
			s->event.flags |= EVENT_HAS_RET;
		if (s->kind & KIND_VALUE)
			s->event.flags |= EVENT_HAS_TARGET;
		s->reads = form & FORM_VALUES;
		s->event.ret = form & FORM_RET_MASK; /* for the next pass */
	}
	for (uint32_t i = 0; i < dec->n_symbols; i++) {
		struct witness_event *e = &dec->symbols[i].event;
		uint64_t form = e->ret;

		if (!form)
			continue;
		if (!cursor_varint(c, &e->ret))
			return false;
		if (form == FORM_RET_ELF)
			e->ret += dec->bases[e->module];
	}
	return true;
}

static bool read_symbols(struct segment_decoder *dec, struct cursor *c)
{
	int64_t site = 0;
	uint64_t v;

	memset(dec->symbols, 0, dec->n_symbols * sizeof(*dec->symbols));
	for (uint32_t i = 0; i < dec->n_symbols; i++) {
		if (!cursor_byte(c, &dec->symbols[i].kind))
			return false;
		dec->symbols[i].event.kind = dec->symbols[i].kind & KIND_MASK;
	}
	for (uint32_t i = 0; i < dec->n_symbols; i++) {
		if (!is_witness(&dec->symbols[i]))
			continue;
		if (!cursor_varint(c, &v) || v >= SEGMENT_MAX_MODULES)
			return false;
		dec->symbols[i].event.module = v;
		dec->symbols[i].event.bias = dec->bases[v];
	}
	for (uint32_t i = 0; i < dec->n_symbols; i++) {
		if (!is_witness(&dec->symbols[i]))
			continue;
		if (!cursor_varint(c, &v))
			return false;
		site = (int64_t)((uint64_t)site + (uint64_t)unzigzag(v));
		if (site < 0 || site > UINT32_MAX)
			return false;
		dec->symbols[i].event.site = site;
	}
	return read_forms(dec, c);
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

int segment_decoder_open(struct segment_decoder *dec, const uint8_t *raw,
			 const struct segment_header *header)
{
	struct cursor c = {raw, raw + header->raw_bytes};
	uint64_t unit, n;

	dec->left = 0;
	if (header->n > SEGMENT_MAX_EVENTS)
		return -EBADMSG;
	if (!cursor_varint(&c, &unit) || unit > UINT32_MAX || !read_bases(dec, &c))
		return -EBADMSG;
	if (!cursor_varint(&c, &n) || n > header->n || n > (uint64_t)(c.end - c.at))
		return -EBADMSG;
	if (n > dec->cap_symbols) {
		struct symbol *symbols = realloc(dec->symbols, n * sizeof(*symbols));

		if (!symbols)
			return -ENOMEM;
		dec->symbols = symbols;
		dec->cap_symbols = n;
	}
	dec->n_symbols = n;
	if (n && !read_symbols(dec, &c))
		return -EBADMSG;
	dec->times = (struct cursor){0};
	if (!cursor_column(&c, &dec->stream) || !cursor_column(&c, &dec->cfas) ||
	    (unit && !cursor_column(&c, &dec->times)) || !cursor_column(&c, &dec->values) ||
	    !cursor_column(&c, &dec->snapshots))
		return -EBADMSG;
	dec->reads = (struct cursor){0};
	if (c.at < c.end && !cursor_column(&c, &dec->reads))
		return -EBADMSG;
	dec->time_unit_ns = unit;
	dec->units = unit ? header->first_ns / unit : 0;
	dec->cfa = 0;
	dec->stack_words = 0;
	dec->stack_addr = 0;
	dec->left = header->n;
	return 0;
}

static bool read_snapshot(struct segment_decoder *dec, struct witness_event *event)
{
	uint64_t words, told, v;

	if (!cursor_varint(&dec->snapshots, &event->stack_addr) ||
	    !cursor_varint(&dec->snapshots, &words) || words > SNAPSHOT_MAX_WORDS ||
	    !cursor_varint(&dec->snapshots, &told) || told > words)
		return false;
	if (!dec->stacks)
		dec->stacks = malloc(2 * SNAPSHOT_MAX_WORDS * sizeof(*dec->stacks));
	if (!dec->stacks)
		return false;
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

static bool read_cfa(struct segment_decoder *dec)
{
	uint64_t v;

	if (!cursor_varint(&dec->cfas, &v))
		return false;
	if (!(v & 1)) {
		dec->cfa += (uint64_t)unzigzag(v >> 1) * 8;
		return true;
	}
	if (!cursor_varint(&dec->cfas, &v))
		return false;
	dec->cfa += unzigzag(v);
	return true;
}

/* What only few symbols ask for. */
static bool read_values(struct segment_decoder *dec, uint8_t kind, struct witness_event *event)
{
	if (kind & KIND_VALUE)
		switch (kind & KIND_MASK) {
		case EVENT_WITNESS:
		case EVENT_FORK:
			if (!cursor_varint(&dec->values, &event->val))
				return false;
			break;
		case EVENT_END:
		case EVENT_SIGNAL:
			if (!cursor_varint(&dec->values, &event->cfa) ||
			    !cursor_varint(&dec->values, &event->ret) ||
			    !cursor_varint(&dec->values, &event->val))
				return false;
			if ((kind & KIND_MASK) == EVENT_SIGNAL &&
			    (!cursor_varint(&dec->values, &event->signal.bp) ||
			     !cursor_varint(&dec->values, &event->signal.caller) ||
			     !cursor_varint(&dec->values, &event->signal.alt) ||
			     !cursor_varint(&dec->values, &event->signal.alt_bytes)))
				return false;
			break;
		case EVENT_LOST:
			if (!cursor_varint(&dec->values, &event->lost))
				return false;
			break;
		}
	return !(kind & KIND_SNAPSHOT) || read_snapshot(dec, event);
}

/* What the site read: few sites do. */
static bool read_reads(struct segment_decoder *dec, struct witness_event *event)
{
	uint64_t n;

	if (!cursor_varint(&dec->reads, &n) || n > EVENT_VALUES_MAX)
		return false;
	for (uint64_t i = 0; i < n; i++)
		if (!cursor_varint(&dec->reads, &dec->read[i]))
			return false;
	event->values = dec->read;
	event->n_values = n;
	return true;
}

int segment_decoder_take(struct segment_decoder *dec, struct witness_event **out)
{
	uint64_t number, units;

	if (!dec->left)
		return 0;
	if (!cursor_varint(&dec->stream, &number) || number >= dec->n_symbols)
		goto bad;
	/* What it does not share with the other events of the symbol is written in its place. */
	struct symbol *s = &dec->symbols[number];
	struct witness_event *event = &s->event;
	if (s->event.kind == EVENT_WITNESS) {
		if (!read_cfa(dec))
			goto bad;
		event->cfa = dec->cfa;
	}
	if (dec->time_unit_ns) {
		if (!cursor_varint(&dec->times, &units))
			goto bad;
		dec->units += units;
		event->time_ns = dec->units * dec->time_unit_ns;
	}
	if (s->kind & (KIND_VALUE | KIND_SNAPSHOT) && !read_values(dec, s->kind, event))
		goto bad;
	if (s->reads && !read_reads(dec, event))
		goto bad;
	dec->left--;
	*out = event;
	return 1;
bad:
	dec->left = 0;
	return -EBADMSG;
}

int segment_decoder_next(struct segment_decoder *dec, struct witness_event *event)
{
	struct witness_event *taken;
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

// SPDX-License-Identifier: LGPL-2.1-or-later
/* segment_columns.c: see segment_columns.h. What is read may be any bytes. */
#include "offline/log/segment_columns.h"

#include "offline/log/segment.h"
#include "offline/log/segment_format.h"

#include <errno.h>

enum { SYMBOL_BYTES = 18 }; /* at most: kind, form, module, site, ret */

void segment_columns_deinit(struct segment_columns *c)
{
	bytes_deinit(&c->numbers);
	bytes_deinit(&c->steps);
	bytes_deinit(&c->times);
}

void segment_columns_begin(struct segment_columns *c, uint32_t unit_ns, uint64_t first_ns)
{
	c->numbers.len = c->steps.len = c->times.len = 0;
	c->cfa = 0;
	c->time_ns = first_ns;
	c->unit_ns = unit_ns;
}

/* Whole units from the reader's time to @time_ns, to the nearest; none back. */
static inline uint64_t units_to(const struct segment_columns *c, uint64_t time_ns)
{
	uint64_t took = time_ns > c->time_ns ? time_ns - c->time_ns : 0;

	if (took < UINT32_MAX / 2)
		return ((uint32_t)took + c->unit_ns / 2) / c->unit_ns;
	uint64_t units = took / c->unit_ns;
	return units + (took % c->unit_ns >= c->unit_ns - c->unit_ns / 2);
}

void segment_columns_put(struct segment_columns *c, const struct event_step *event, bool is_witness)
{
	bytes_put_varint(&c->numbers, event->symbol);
	if (is_witness) {
		bytes_put_varint(&c->steps, zigzag((int64_t)(event->cfa - c->cfa)));
		c->cfa = event->cfa;
	}
	if (!c->unit_ns)
		return;
	uint64_t units = units_to(c, event->time_ns);
	bytes_put_varint(&c->times, units);
	c->time_ns += units * c->unit_ns;
}

size_t segment_columns_bytes(const struct segment_columns *c, uint32_t n_symbols)
{
	return c->numbers.len + c->steps.len + c->times.len + (size_t)SYMBOL_BYTES * n_symbols;
}

static void put_symbols(const struct event_symbol *symbols, uint32_t n, struct bytes *out)
{
	uint32_t site = 0;
	uint64_t ret = 0;

	for (const struct event_symbol *s = symbols; s < symbols + n; s++) {
		bytes_put(out, &s->kind, 1);
		if (s->kind & KIND_MASK)
			continue;
		bytes_put(out, &s->form, 1);
		bytes_put_varint(out, s->module);
		bytes_put_varint(out, zigzag((int64_t)s->site - site));
		site = s->site;
		if ((s->form & FORM_RET_MASK) == FORM_RET_RUN)
			bytes_put_varint(out, s->ret);
		if ((s->form & FORM_RET_MASK) != FORM_RET_ELF)
			continue;
		bytes_put_varint(out, zigzag((int64_t)(s->ret - ret)));
		ret = s->ret;
	}
}

static void put_column(struct bytes *out, const struct bytes *column)
{
	bytes_put_varint(out, column->len);
	bytes_put(out, column->data, column->len);
}

int segment_columns_end(const struct segment_columns *c, const struct event_symbol *symbols,
			uint32_t n_symbols, struct bytes *out)
{
	struct bytes described = {0};

	put_symbols(symbols, n_symbols, &described);
	put_column(out, &described);
	put_column(out, &c->numbers);
	put_column(out, &c->steps);
	put_column(out, &c->times);
	bool failed = described.failed || out->failed || c->numbers.failed || c->steps.failed ||
		      c->times.failed;
	bytes_deinit(&described);
	return failed ? -ENOMEM : 0;
}

bool segment_columns_open(struct segment_columns_reader *r, struct cursor *in, uint32_t unit_ns,
			  uint64_t first_ns)
{
	*r = (struct segment_columns_reader){.unit_ns = unit_ns, .time_ns = first_ns};
	return cursor_column(in, &r->symbols) && cursor_column(in, &r->numbers) &&
	       cursor_column(in, &r->steps) && cursor_column(in, &r->times);
}

bool segment_columns_symbol(struct segment_columns_reader *r, struct event_symbol *s)
{
	uint64_t module, site, ret;

	*s = (struct event_symbol){0};
	if (!cursor_byte(&r->symbols, &s->kind))
		return false;
	if (s->kind & KIND_MASK)
		return true;
	if (!cursor_byte(&r->symbols, &s->form) || !cursor_varint(&r->symbols, &module) ||
	    module >= SEGMENT_MAX_MODULES || !cursor_varint(&r->symbols, &site))
		return false;
	s->module = (uint16_t)module;
	s->site = r->site += (uint32_t)unzigzag(site);
	if (!(s->form & FORM_RET_MASK))
		return true;
	if (!cursor_varint(&r->symbols, &ret))
		return false;
	s->ret = ret;
	if ((s->form & FORM_RET_MASK) == FORM_RET_ELF)
		s->ret = r->ret += (uint64_t)unzigzag(ret);
	return true;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* segment_symbols.h: one event's symbol. It is guessed to be what came last after the same six
 * symbols, three, or one; then what else came after those. A symbol that was not guessed is written
 * as a number, and a new one is described. */
#ifndef OFFLINE_SEGMENT_SYMBOLS_H
#define OFFLINE_SEGMENT_SYMBOLS_H

#include "offline/log/segment_model_impl.h"

/* A symbol that is new: what it is. */
static inline __attribute__((always_inline)) void describe(struct segment_model *m, bool decodes,
							   struct event_symbol *s)
{
	struct range_coder *c = &m->coder;

	if (decodes)
		*s = (struct event_symbol){0};
	s->kind = range_bits(c, decodes, m->kind, 8, s->kind);
	if (s->kind & KIND_MASK)
		return;
	s->form = range_bits(c, decodes, m->form, 8, s->form);
	s->module = range_bits(c, decodes, m->module, 6, s->module);
	int64_t to = (int64_t)s->site - m->last_site;
	m->last_site += unzigzag(range_number(c, decodes, m->site, zigzag(to)));
	s->site = m->last_site;
	if (!(s->form & FORM_RET_MASK))
		return;
	if ((s->form & FORM_RET_MASK) != FORM_RET_ELF) {
		s->ret = range_number(c, decodes, m->ret_run, s->ret);
		return;
	}
	m->last_ret += unzigzag(range_number(c, decodes, m->ret, zigzag(s->ret - m->last_ret)));
	s->ret = m->last_ret;
}

/* Codes the number of a known symbol: bit by bit, by how often each bit came before. */
static inline __attribute__((always_inline)) uint32_t known_symbol(struct segment_model *m,
								   bool decodes, uint32_t v)
{
	uint32_t width = m->n_symbols > 1 ? 32 - __builtin_clz(m->n_symbols - 1) : 0, at = 1;

	for (uint32_t i = width; i-- > 0;) {
		uint32_t node = (at << 5 ^ width) * 0x9e3779b1u >> 18;

		at = at << 1 | range_bit(&m->coder, decodes, &m->number[node], v >> i & 1);
	}
	v = at - (1u << width);
	return v < m->n_symbols ? v : 0;
}

static inline uint16_t check_of(uint64_t context)
{
	return (uint16_t)(context >> 34);
}

static inline void learn_follower(struct follower *f, uint16_t check, uint32_t symbol)
{
	if (f->check != check || !f->seen) {
		*f = (struct follower){symbol, symbol, check, 1, 0};
	} else if (f->symbol == symbol) {
		f->seen += f->seen < 255;
		f->missed -= !(f->seen & 15) && f->missed;
	} else {
		f->missed += f->missed < 255;
		f->seen = f->seen > 4 ? f->seen / 2 : 1;
		f->second = f->seen == 1 ? f->symbol : symbol;
		f->symbol = f->seen == 1 ? symbol : f->symbol;
	}
}

/* What was asked for one event. */
struct guesses {
	struct follower *followers[ORDERS]; /* the first `asked` of them */
	uint32_t asked;
	uint32_t symbols[2 * ORDERS], n;
};

static inline bool guessed(const struct guesses *g, uint32_t symbol)
{
	for (uint32_t i = 0; i < g->n; i++)
		if (g->symbols[i] == symbol)
			return true;
	return false;
}

/* Whether one of the contexts guesses the symbol *@v. */
static inline __attribute__((always_inline)) bool guess(struct segment_model *m, bool decodes,
							struct guesses *g, uint32_t *v)
{
	bool right = false, known[ORDERS];

	while (g->asked < ORDERS && !right) {
		uint32_t i = g->asked++;
		struct follower *f = &m->followers[i][m->contexts[i] >> (64 - m->bits)];
		g->followers[i] = f;
		known[i] = f->seen && f->check == check_of(m->contexts[i]);
		if (!known[i] || guessed(g, f->symbol))
			continue;
		uint32_t set = ((i * ORDERS + g->n) * SEEN_CLASSES + seen_class(f->seen)) *
				       MISSED_CLASSES +
			       missed_class(f->missed);
		g->symbols[g->n++] = f->symbol;
		right = range_bit(&m->coder, decodes, &m->is_follower[set], *v == f->symbol);
		*v = right ? f->symbol : *v;
	}
	for (uint32_t i = 0; i < ORDERS && !right; i++) {
		const struct follower *f = g->followers[i];
		if (!known[i] || guessed(g, f->second))
			continue;
		uint32_t set = i * MISSED_CLASSES + missed_class(f->missed);
		g->symbols[g->n++] = f->second;
		right = range_bit(&m->coder, decodes, &m->is_second[set], *v == f->second);
		*v = right ? f->second : *v;
	}
	return right;
}

/* Codes the symbol @v; returns the one that is read. Only contexts that were asked learn from
 * it. */
static inline __attribute__((always_inline)) uint32_t
pass_symbol(struct segment_model *m, bool decodes, uint32_t v, struct event_symbol *description)
{
	struct guesses g = {.n = 0};

	if (guess(m, decodes, &g, &v)) {
	} else if (!m->n_symbols ||
		   range_bit(&m->coder, decodes, &m->is_new[g.n], v == m->n_symbols)) {
		describe(m, decodes, description);
		m->kinds[v = m->n_symbols++] = description->kind;
	} else {
		v = known_symbol(m, decodes, v);
	}
	while (g.asked-- > 0)
		learn_follower(g.followers[g.asked], check_of(m->contexts[g.asked]), v);
	return v;
}

#endif

// SPDX-License-Identifier: LGPL-2.1-or-later
/* segment_model.c: see segment_model.h. An event is first guessed to be the one that followed the
 * last place where the same events came before it (the match). If that is wrong, its symbol and its
 * CFA are each guessed by themselves (segment_symbols.h, segment_steps.h). While a long match is
 * right, which is mostly, nothing else is computed. */
#include "offline/log/segment_model_impl.h"
#include "offline/log/segment_steps.h"
#include "offline/log/segment_symbols.h"

#include <errno.h>
#include <sys/mman.h>

struct segment_model *segment_model_new(void)
{
	struct segment_model *m = calloc(1, sizeof(*m));

	if (m)
		range_rates(m->rates);
	return m;
}

void segment_model_free(struct segment_model *m)
{
	if (!m)
		return;
	free(m->tables);
	free(m->past);
	free(m->moves);
	free(m->kinds);
	free(m);
}

/* Memory that is used all over. @large: in large pages, where the system has any: what is read once
 * would spend a tenth of its time on page faults otherwise. */
static void *room(size_t bytes, bool large)
{
	const size_t page = 2 << 20;

	if (!large || bytes < page / 3)
		return malloc(bytes);
	bytes = (bytes + page - 1) / page * page;
	void *p = aligned_alloc(page, bytes);
	if (p)
		madvise(p, bytes, MADV_HUGEPAGE); /* or not: nothing depends on it */
	return p;
}

/* All in one block. */
static int make_tables(struct segment_model *m, uint32_t bits, bool large)
{
	size_t n = 1ul << bits;

	free(m->tables);
	m->tables = room(n * (sizeof(*m->paces) + sizeof(*m->arrivals) + sizeof(*m->cfas) +
			      sizeof(*m->places) + ORDERS * sizeof(**m->followers)),
			 large);
	m->cap_bits = m->tables ? bits : 0;
	if (!m->tables)
		return -ENOMEM;
	m->paces = m->tables;
	m->arrivals = m->paces + n;
	m->cfas = (uint64_t *)(m->arrivals + n);
	m->places = (struct run_place *)(m->cfas + n);
	m->followers[0] = (struct follower *)(m->places + n);
	for (int i = 1; i < ORDERS; i++)
		m->followers[i] = m->followers[i - 1] + n;
	return 0;
}

/* Room for a past of @n events; what is there stays. */
static int reserve(struct segment_model *m, uint32_t n)
{
	uint32_t *past = realloc(m->past, n * sizeof(*past));
	m->past = past ? past : m->past;
	uint64_t *moves = realloc(m->moves, n * sizeof(*moves));
	m->moves = moves ? moves : m->moves;
	uint8_t *kinds = realloc(m->kinds, n);
	m->kinds = kinds ? kinds : m->kinds;
	if (!past || !moves || !kinds)
		return -ENOMEM;
	m->cap = n;
	return 0;
}

/* The same, where nothing has to be kept. */
static int make_past(struct segment_model *m, uint32_t n, bool large)
{
	free(m->past);
	free(m->moves);
	free(m->kinds);
	m->past = room(n * sizeof(*m->past), large);
	m->moves = room(n * sizeof(*m->moves), large);
	m->kinds = malloc(n);
	m->cap = m->past && m->moves && m->kinds ? n : 0;
	return m->cap == n ? 0 : -ENOMEM;
}

/* For a run of @n events: nothing is known. */
static int begin(struct segment_model *m, uint32_t n, uint32_t unit_ns, uint64_t first_ns,
		 bool large)
{
	uint32_t bits = BITS_LEAST;

	while (bits < BITS_MOST && n >> bits)
		bits++;
	if ((bits > m->cap_bits && make_tables(m, bits, large)) ||
	    (n > m->cap && make_past(m, n, large)))
		return -ENOMEM;
	size_t slots = 1ul << bits;
	memset(m->places, 0, slots * sizeof(*m->places));
	for (int i = 0; i < ORDERS; i++)
		memset(m->followers[i], 0, slots * sizeof(**m->followers));
	memset(m->paces, 0, slots * sizeof(*m->paces));
	if (unit_ns)
		memset(m->arrivals, 0, slots * sizeof(*m->arrivals));
	memset(m->cfas, 0, slots * sizeof(*m->cfas));
	memset(&m->n_symbols, 0,
	       offsetof(struct segment_model, is_match) -
		       offsetof(struct segment_model, n_symbols));
	for (struct bit_odds *o = m->is_match; o < (struct bit_odds *)(m + 1); o++)
		*o = BIT_ODDS_EVEN;
	m->bits = bits;
	m->n = 0;
	m->unit_ns = unit_ns;
	m->time_ns = first_ns;
	return 0;
}

/* ---- the match ---- */

static inline uint32_t length_class(uint32_t len)
{
	return len < 8	    ? len
	       : len < 12   ? 8
	       : len < 16   ? 9
	       : len < 24   ? 10
	       : len < 32   ? 11
	       : len < 64   ? 12
	       : len < 256  ? 13
	       : len < 2048 ? 14
			    : 15;
}

/* Looks for one, unless there is one. */
static inline void find_match(struct segment_model *m)
{
	if (m->match_len || m->n < MATCH_HASHED)
		return;
	struct run_place *place = &m->places[m->context >> (64 - m->bits)];
	uint32_t check = (uint32_t)(m->context >> 20);

	if (place->next && place->check == check) {
		m->missed = m->match == place->next ? m->missed : 0;
		m->match = place->next;
		m->match_len = MATCH_HASHED;
	}
	*place = (struct run_place){m->n, check};
}

static inline void follow_match(struct segment_model *m, uint32_t symbol)
{
	if (!m->match)
		return;
	if (m->past[m->match] == symbol) {
		m->match_len++;
		m->missed = m->match_len == 2 * MATCH_SURE ? 0 : m->missed;
	} else {
		m->match_len = 0;
		m->missed++;
	}
	m->match = m->missed < MATCH_MISSES ? m->match + 1 : 0;
}

/* ---- an event ---- */

static inline bool is_witness(uint8_t kind)
{
	return !(kind & KIND_MASK);
}

/* Moves the hashes of what came before on by @v. Each step multiplies by a power of two, so that
 * old values are shifted out. */
static inline void go_on(struct segment_model *m, uint64_t v)
{
	const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);

	m->contexts[0] = (m->contexts[0] + v) * (odd << 10); /* of six symbols */
	m->contexts[1] = (m->contexts[1] + v) * (odd << 21); /* three */
	m->contexts[2] = v * odd;
	m->context = (m->context + v) * (odd << 8);
}

/* Fetches into the cache what the next event needs if it is not the match, while this one is worked
 * on. */
static inline void fetch_ahead(const struct segment_model *m)
{
	for (int i = 0; i < ORDERS; i++)
		__builtin_prefetch(&m->followers[i][m->contexts[i] >> (64 - m->bits)]);
	__builtin_prefetch(&m->places[m->context >> (64 - m->bits)]);
}

/* Brings those hashes up to date that are not needed while the match is right. */
static void catch_up(struct segment_model *m)
{
	for (uint32_t i = m->n - MATCH_HASHED; i < m->n; i++)
		go_on(m, m->past[i] + 1ull);
	fetch_ahead(m);
	m->behind = false;
}

/* Codes an event that is not the match: its symbol, in step->symbol; returns by how much the CFA
 * moves. */
static inline __attribute__((always_inline)) uint64_t
pass_unmatched(struct segment_model *m, bool decodes, struct event_step *step, uint64_t move,
	       struct event_symbol *description)
{
	bool told = false;

	if (m->behind)
		catch_up(m);
	if (m->match_len >= MATCH_SURE) {
		uint32_t expected = m->past[m->match];

		told = range_bit(&m->coder, decodes, &m->is_its_symbol[length_class(m->match_len)],
				 step->symbol == expected);
		step->symbol = told ? expected : step->symbol;
	}
	if (!told)
		step->symbol = pass_symbol(m, decodes, step->symbol, description);
	if (!is_witness(m->kinds[step->symbol]))
		return 0;
	struct pace *p = pace_of(m, step->symbol);
	uint64_t *old = &m->cfas[slot_of(m, step->symbol)];
	move = pass_move(m, decodes, move, p, *old);
	learn_move(p, move);
	*old = m->cfa + move;
	return move;
}

static inline __attribute__((always_inline)) void pass_event(struct segment_model *m, bool decodes,
							     struct event_step *step,
							     struct event_symbol *description)
{
	bool matched = false;
	uint64_t move = 0;

	if (!decodes && is_witness(description->kind))
		move = step->cfa - m->cfa;
	find_match(m);
	if (m->match_len >= MATCH_SURE) {
		uint32_t symbol = m->past[m->match];
		uint64_t expected = m->moves[m->match];
		uint32_t set =
			MISSED_CLASSES * length_class(m->match_len) + missed_class(m->missed);

		matched = range_bit(&m->coder, decodes, &m->is_match[set],
				    step->symbol == symbol && move == expected);
		if (matched) {
			step->symbol = symbol;
			move = expected;
		}
	}
	if (!matched)
		move = pass_unmatched(m, decodes, step, move, description);
	if (m->unit_ns) {
		pass_time(m, decodes, step->time_ns, pace_of(m, step->symbol),
			  &m->arrivals[slot_of(m, mix(2, step->symbol))]);
	}
	step->time_ns = m->unit_ns ? m->time_ns : 0;
	m->cfa += move;
	uint64_t none = -(uint64_t)!move; /* without a jump that cannot be foreseen */
	m->last_move = move | (m->last_move & none);
	step->cfa = m->cfa;
	follow_match(m, step->symbol);
	m->past[m->n] = step->symbol;
	m->moves[m->n++] = move;
	m->last = step->symbol + 1;
	m->behind |= matched;
	if (!matched) {
		go_on(m, m->last);
		fetch_ahead(m);
	}
}

int segment_model_begin(struct segment_model *m, uint32_t n, uint32_t time_unit_ns,
			uint64_t first_ns, struct bytes *out)
{
	int err = begin(m, n, time_unit_ns, first_ns, false);

	if (!err)
		range_encoder_init(&m->coder, out, m->rates);
	return err;
}

int segment_model_put(struct segment_model *m, const struct event_step *event,
		      const struct event_symbol *description)
{
	struct event_step step = *event;
	struct event_symbol symbol = *description;

	if (m->n == m->cap && reserve(m, 2 * m->cap))
		return -ENOMEM;
	pass_event(m, false, &step, &symbol);
	return m->coder.out->failed ? -ENOMEM : 0;
}

int segment_model_end(struct segment_model *m)
{
	range_finish(&m->coder);
	return m->coder.out->failed ? -ENOMEM : 0;
}

int segment_model_open(struct segment_model *m, struct cursor in, uint32_t n, uint32_t time_unit_ns,
		       uint64_t first_ns)
{
	int err = begin(m, n, time_unit_ns, first_ns, true);

	if (!err)
		range_decoder_init(&m->coder, in, m->rates);
	return err;
}

void segment_model_next(struct segment_model *m, struct event_step *step,
			struct event_symbol *symbol)
{
	if (m->n < m->cap)
		pass_event(m, true, step, symbol);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* segment_model.c: see segment_model.h. An event is guessed to be what came after the last place
 * where as many of the same events came before it (`match`); else its symbol to be what came last
 * after the same four, two, one symbols (`followers`); else it is told. A CFA is guessed to move as
 * it last did between the same two symbols, else to be where it was last at that symbol. A time is
 * guessed to be the mean of those between the same two symbols; what is told is how many units it
 * is off, so that the error neither grows nor is more than half a unit. */
#include "offline/segment_model.h"

#include "offline/range_coder.h"
#include "offline/segment_format.h"

#include <errno.h>

enum {
	MATCH_MISSES = 16, /* then it is given up */
	MATCH_HASHED = 8,  /* symbols that the index of places is by */
	MATCH_LEAST = 5,
	MATCH_SURE = 24, /* then what else is known is not used, and learns nothing */
	MATCH_LENGTHS = 16,
	ORDERS = 4,
	SEEN_CLASSES = 8,
	NUMBER_NODES = 1 << 14,
	BITS_LEAST = 8,
	BITS_MOST = 14,
	SPREADS = 32,
	MEAN_MAX = 1 << 24, /* ns */
};

#define OFF_MAX ((int64_t)1 << 62) /* ns */

/* What came last in a context. */
struct follower {
	uint32_t symbol;
	uint16_t check;
	uint8_t seen, missed;
};

/* From one symbol to another: by how much the CFA moves and how long it takes. */
struct pace {
	uint64_t move;
	int32_t mean_ns, spread_ns;
	uint8_t moves_seen, times_seen;
};

struct past {
	uint64_t move; /* of the CFA */
	uint32_t symbol;
};

struct segment_model {
	struct range_coder coder;
	uint16_t rates[BIT_SEEN_MAX + 1];
	uint32_t bits; /* of the sizes of the tables below */
	struct past *past;
	uint8_t *kinds;	 /* of the symbols */
	uint32_t n, cap; /* of the past */
	uint32_t *places;
	struct follower *followers[ORDERS];
	struct pace *paces, *arrivals; /* by two symbols, by one */
	uint64_t *cfas;		       /* by symbol: the last */
	uint32_t cap_bits;

	uint32_t n_symbols;
	uint32_t match, match_len; /* the place that is expected to come again */
	uint32_t missed;	   /* how often it did not, of late */
	uint64_t context;	   /* a hash of the last MATCH_HASHED symbols */
	uint64_t contexts[ORDERS]; /* of fewer, and fewer */
	uint32_t last;		   /* symbol, plus one */
	uint32_t unit_ns;
	uint32_t last_site; /* of the last description */
	uint64_t last_ret;
	uint64_t cfa, time_ns;

	struct bit_odds is_match[MATCH_LENGTHS * 4], is_its_symbol[MATCH_LENGTHS];
	struct bit_odds is_follower[ORDERS * ORDERS * SEEN_CLASSES * 4], is_new[4];
	struct bit_odds number[NUMBER_NODES];
	struct bit_odds kind[256], form[256], module[64], ret_run[NUMBER_ODDS];
	struct bit_odds site[NUMBER_ODDS], ret[NUMBER_ODDS];
	struct bit_odds is_move[SEEN_CLASSES], is_old_cfa[SEEN_CLASSES], is_aligned[1];
	struct bit_odds words[NUMBER_ODDS], odd_bytes[NUMBER_ODDS];
	struct bit_odds is_on_time[SPREADS], is_late[SPREADS], off[SPREADS / 4][NUMBER_ODDS];
};

struct segment_model *segment_model_new(void)
{
	struct segment_model *m = calloc(1, sizeof(*m));

	if (m)
		range_rates(m->rates);
	return m;
}

static void free_tables(struct segment_model *m)
{
	free(m->places);
	for (int i = 0; i < ORDERS; i++)
		free(m->followers[i]);
	free(m->paces);
	free(m->arrivals);
	free(m->cfas);
}

void segment_model_free(struct segment_model *m)
{
	if (!m)
		return;
	free_tables(m);
	free(m->past);
	free(m->kinds);
	free(m);
}

static int make_tables(struct segment_model *m, uint32_t bits)
{
	size_t n = 1ul << bits;
	bool made = true;

	free_tables(m);
	m->places = malloc(n * sizeof(*m->places));
	for (int i = 0; i < ORDERS; i++) {
		m->followers[i] = malloc(n * sizeof(**m->followers));
		made = made && m->followers[i];
	}
	m->paces = malloc(n * sizeof(*m->paces));
	m->arrivals = malloc(n * sizeof(*m->arrivals));
	m->cfas = malloc(n * sizeof(*m->cfas));
	m->cap_bits = bits;
	return made && m->places && m->paces && m->arrivals && m->cfas ? 0 : -ENOMEM;
}

/* For a run of @n events: nothing is known. */
static int begin(struct segment_model *m, uint32_t n, uint32_t unit_ns, uint64_t first_ns)
{
	uint32_t bits = BITS_LEAST;

	while (bits < BITS_MOST && n >> bits)
		bits++;
	if ((bits > m->cap_bits || !m->cfas) && make_tables(m, bits)) {
		m->cap_bits = 0;
		return -ENOMEM;
	}
	if (n > m->cap) {
		free(m->past);
		free(m->kinds);
		m->past = malloc(n * sizeof(*m->past));
		m->kinds = malloc(n);
		m->cap = m->past && m->kinds ? n : 0;
		if (!m->cap)
			return -ENOMEM;
	}
	size_t slots = 1ul << bits;
	memset(m->places, 0, slots * sizeof(*m->places));
	for (int i = 0; i < ORDERS; i++)
		memset(m->followers[i], 0, slots * sizeof(**m->followers));
	memset(m->paces, 0, slots * sizeof(*m->paces));
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

static inline uint32_t mix(uint32_t h, uint32_t v)
{
	h = (h + v) * 0x9e3779b1u;
	return h ^ h >> 15;
}

static inline uint32_t slot_of(const struct segment_model *m, uint32_t h)
{
	return h * 0x85ebca6bu >> (32 - m->bits);
}

static inline uint16_t check_of(uint64_t context)
{
	return (uint16_t)(context >> 34);
}

/* How often something held, in classes. */
static inline uint32_t seen_class(uint32_t seen)
{
	return seen < 4 ? seen : seen < 8 ? 4 : seen < 16 ? 5 : seen < 64 ? 6 : 7;
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

/* How many of the events before @at are those before now, up to 32. */
static uint32_t length_at(const struct segment_model *m, uint32_t at)
{
	uint32_t n = 0;

	while (n < 32 && n < at && m->past[at - 1 - n].symbol == m->past[m->n - 1 - n].symbol)
		n++;
	return n;
}

/* Looks for a longer one, unless it is long. */
static inline void find_match(struct segment_model *m)
{
	if (m->match_len >= MATCH_SURE || m->n < MATCH_HASHED)
		return;
	uint32_t *place = &m->places[m->context >> (64 - m->bits)];
	uint32_t len = *place ? length_at(m, *place) : 0;

	if (len >= MATCH_LEAST && len > m->match_len) {
		if (m->match != *place)
			m->missed = 0;
		m->match = *place;
		m->match_len = len;
	}
	*place = m->n;
}

static inline void follow_match(struct segment_model *m, uint32_t symbol)
{
	if (!m->match)
		return;
	if (m->past[m->match].symbol == symbol) {
		m->match_len++;
		m->missed = m->match_len == 2 * MATCH_SURE ? 0 : m->missed;
	} else {
		m->match_len = 0;
		m->missed++;
	}
	m->match = m->missed < MATCH_MISSES ? m->match + 1 : 0;
}

/* ---- symbols ---- */

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

/* The number of one that is known: as often as it came, by the bits of the number. */
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

static inline void learn_follower(struct follower *f, uint16_t check, uint32_t symbol)
{
	if (f->check != check || !f->seen) {
		*f = (struct follower){.symbol = symbol, .check = check, .seen = 1};
	} else if (f->symbol == symbol) {
		f->seen += f->seen < 255;
		f->missed -= !(f->seen & 15) && f->missed;
	} else {
		f->missed += f->missed < 255;
		f->seen = f->seen > 4 ? f->seen / 2 : 1;
		if (f->seen == 1)
			f->symbol = symbol;
	}
}

/* The symbol @v; returns what is read for it. Of the contexts only those learn that were asked. */
static inline __attribute__((always_inline)) uint32_t
pass_symbol(struct segment_model *m, bool decodes, uint32_t v, struct event_symbol *description)
{
	uint32_t guesses[ORDERS], n = 0, i = 0;
	struct follower *f[ORDERS];
	bool right = false;

	for (; i < ORDERS && !right; i++) {
		f[i] = &m->followers[i][m->contexts[i] >> (64 - m->bits)];
		bool told = !f[i]->seen || f[i]->check != check_of(m->contexts[i]);

		for (uint32_t k = 0; k < n; k++)
			told = told || guesses[k] == f[i]->symbol;
		if (told)
			continue;
		uint32_t missed = f[i]->missed < 3 ? f[i]->missed : 3;
		uint32_t set = ((i * ORDERS + n) * SEEN_CLASSES + seen_class(f[i]->seen)) * 4;

		guesses[n++] = f[i]->symbol;
		right = range_bit(&m->coder, decodes, &m->is_follower[set + missed],
				  v == f[i]->symbol);
		v = right ? f[i]->symbol : v;
	}
	if (!right) {
		if (!m->n_symbols ||
		    range_bit(&m->coder, decodes, &m->is_new[n], v == m->n_symbols)) {
			describe(m, decodes, description);
			m->kinds[v = m->n_symbols++] = description->kind;
		} else {
			v = known_symbol(m, decodes, v);
		}
	}
	while (i-- > 0)
		learn_follower(f[i], check_of(m->contexts[i]), v);
	return v;
}

/* ---- CFAs and times ---- */

static inline __attribute__((always_inline)) uint64_t
pass_move(struct segment_model *m, bool decodes, uint64_t move, const struct pace *p, uint64_t old)
{
	struct range_coder *c = &m->coder;
	uint32_t seen = seen_class(p->moves_seen);

	if (p->moves_seen && range_bit(c, decodes, &m->is_move[seen], move == p->move))
		return p->move;
	if (old && range_bit(c, decodes, &m->is_old_cfa[seen], m->cfa + move == old))
		return old - m->cfa;
	if (range_bit(c, decodes, m->is_aligned, !(move & 7)))
		return 8 * (uint64_t)unzigzag(
				   range_number(c, decodes, m->words, zigzag((int64_t)move / 8)));
	return unzigzag(range_number(c, decodes, m->odd_bytes, zigzag(move)));
}

/* From the last symbol to @symbol. */
static inline struct pace *pace_of(struct segment_model *m, uint32_t symbol)
{
	return &m->paces[slot_of(m, mix(mix(3, m->last), symbol))];
}

static inline void learn_move(struct pace *p, uint64_t move)
{
	if (p->moves_seen && p->move == move) {
		p->moves_seen += p->moves_seen < 255;
		return;
	}
	p->moves_seen = p->moves_seen > 3 ? p->moves_seen / 2 : 1;
	if (p->moves_seen == 1)
		p->move = move;
}

static inline void learn_time(struct pace *p, int64_t took_ns, uint32_t unit_ns)
{
	took_ns = took_ns > MEAN_MAX ? MEAN_MAX : took_ns;
	if (!p->times_seen) {
		p->mean_ns = (int32_t)took_ns;
		p->spread_ns = 64;
		p->times_seen = 1;
		return;
	}
	int64_t off = took_ns - p->mean_ns, limit = 4 * (int64_t)p->spread_ns + unit_ns;
	uint32_t shift = p->times_seen < 3 ? 1 : p->times_seen < 8 ? 2 : 3;

	off = off > limit ? limit : off < -limit ? -limit : off;
	p->mean_ns += (int32_t)(off / (1 << shift));
	p->spread_ns += (int32_t)((off < 0 ? -off : off) - p->spread_ns) / 8;
	p->spread_ns = p->spread_ns < 1 ? 1 : p->spread_ns;
	p->times_seen += p->times_seen < 255;
}

/* How many units a time is off what was guessed. */
static inline __attribute__((always_inline)) int64_t
pass_units(struct segment_model *m, bool decodes, uint32_t spread, int64_t off)
{
	struct range_coder *c = &m->coder;
	uint32_t class = 31 - (uint32_t)__builtin_clz(spread);

	class = 2 * class + (class ? spread >> (class - 1) & 1 : 0);
	class = class < SPREADS ? class : SPREADS - 1;
	if (range_bit(c, decodes, &m->is_on_time[class], !off))
		return 0;
	bool late = range_bit(c, decodes, &m->is_late[class], off > 0);
	uint64_t by =
		1 + range_number(c, decodes, m->off[class / 4], (uint64_t)(late ? off : -off) - 1);
	return (int64_t)(late ? by : -by);
}

/* The time of the event; what is read for it is in m->time_ns then. */
static inline __attribute__((always_inline)) void pass_time(struct segment_model *m, bool decodes,
							    uint64_t time_ns, struct pace *p,
							    struct pace *arrival)
{
	const struct pace *by = p->times_seen ? p : arrival;
	int64_t guess = by->times_seen ? by->mean_ns : 0, unit = m->unit_ns, off = 0;

	if (!decodes) {
		off = (int64_t)(time_ns - m->time_ns - (uint64_t)guess);
		off = off > OFF_MAX ? OFF_MAX : off < -OFF_MAX ? -OFF_MAX : off;
		off = off < 0 ? -((unit / 2 - off) / unit) : (off + unit / 2) / unit;
	}
	off = pass_units(m, decodes, by->times_seen ? (uint32_t)by->spread_ns : 4096, off);
	off = (int64_t)((uint64_t)off * (uint64_t)unit + (uint64_t)guess);
	off = off < 0 ? 0 : off;
	m->time_ns += (uint64_t)off;
	if (p->times_seen < 4)
		learn_time(arrival, off, m->unit_ns);
	learn_time(p, off, m->unit_ns);
}

/* ---- an event ---- */

static inline bool is_witness(uint8_t kind)
{
	return !(kind & KIND_MASK);
}

/* One that is not the match: its symbol, in step->symbol, and by how much the CFA moves. */
static inline __attribute__((always_inline)) uint64_t
pass_unmatched(struct segment_model *m, bool decodes, struct event_step *step, uint64_t move,
	       struct event_symbol *description)
{
	bool told = false;

	if (m->match_len >= MATCH_SURE) {
		uint32_t expected = m->past[m->match].symbol;

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

/* What came has come: multiplied by so many powers of two, hashes forget what is long ago. */
static inline void go_on(struct segment_model *m, uint64_t v)
{
	const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);

	m->contexts[0] = (m->contexts[0] + v) * (odd << 10); /* of six symbols */
	m->contexts[1] = (m->contexts[1] + v) * (odd << 21); /* three */
	m->contexts[2] = (m->contexts[2] + v) * (odd << 32); /* two */
	m->contexts[3] = v * odd;
	m->context = (m->context + v) * (odd << 8);
	m->last = (uint32_t)v;
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
		const struct past *expected = &m->past[m->match];
		uint32_t set = 4 * length_class(m->match_len) + (m->missed < 3 ? m->missed : 3);

		matched = range_bit(&m->coder, decodes, &m->is_match[set],
				    step->symbol == expected->symbol && move == expected->move);
		if (matched) {
			step->symbol = expected->symbol;
			move = expected->move;
		}
	}
	if (!matched)
		move = pass_unmatched(m, decodes, step, move, description);
	if (m->unit_ns) {
		pass_time(m, decodes, step->time_ns, pace_of(m, step->symbol),
			  &m->arrivals[slot_of(m, mix(2, step->symbol))]);
		step->time_ns = m->time_ns;
	}
	m->cfa += move;
	step->cfa = m->cfa;
	follow_match(m, step->symbol);
	m->past[m->n++] = (struct past){move, step->symbol};
	go_on(m, step->symbol + 1ull);
}

int segment_model_encode(struct segment_model *m, const struct event_symbol *symbols,
			 const struct event_step *steps, uint32_t n, uint32_t time_unit_ns,
			 uint64_t first_ns, struct bytes *out)
{
	int err = begin(m, n, time_unit_ns, first_ns);

	if (err)
		return err;
	range_encoder_init(&m->coder, out, m->rates);
	for (uint32_t i = 0; i < n; i++) {
		struct event_step step = steps[i];
		struct event_symbol symbol = symbols[step.symbol];

		pass_event(m, false, &step, &symbol);
	}
	range_finish(&m->coder);
	return out->failed ? -ENOMEM : 0;
}

int segment_model_open(struct segment_model *m, struct cursor in, uint32_t n, uint32_t time_unit_ns,
		       uint64_t first_ns)
{
	int err = begin(m, n, time_unit_ns, first_ns);

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

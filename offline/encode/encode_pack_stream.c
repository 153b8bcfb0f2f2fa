// SPDX-License-Identifier: LGPL-2.1-or-later
/* encode_pack_stream.c: see encode_pack_stream.h. A token is predicted from the longest match, then
 * by order 5, then by order 2; each guess costs one bit. A token that was not guessed costs a bit
 * that says whether it is new, and then its number or its description. The contexts are the tokens
 * before, and the functions that are open. */
#include "offline/encode/encode_pack_stream.h"

#include "offline/encode/encode_symbols.h"

#include <errno.h>
#include <string.h>

enum {
	LAST_BITS = 20,
	MATCH_MAX = 1 << 16,
	N_ORDERS = 8,
	N_CONTEXTS = 12,
	N_LITERAL = 10, /* of them, those that say what is not guessed */
	N_GUESSES = 3,
	/* Sets of weights; the last 40 are pack_number()'s. */
	SET_GUESS = 0,
	SET_FRESH = 32,
	SET_NUMBER = 64,
	SET_NAME = 128,
	SET_TEXT = 192,
};

static const uint32_t last_length[PACK_LAST] = {24, 12, 5, 2};
static const uint32_t orders[N_ORDERS] = {1, 2, 3, 4, 6, 0, 8, 12};

int pack_stream_init(struct pack_stream *s, struct pack_coder *coder,
		     const struct pack_counts *counts)
{
	*s = (struct pack_stream){.coder = coder};
	for (uint32_t i = 0; i < PACK_LAST; i++) {
		s->last[i] = malloc(sizeof(int32_t) << LAST_BITS);
		if (!s->last[i])
			return -ENOMEM;
		memset(s->last[i], 0xff, sizeof(int32_t) << LAST_BITS);
	}
	while ((counts->tokens - 1) >> s->width)
		s->width++;
	return VEC_PUSH(&s->tokens, (struct pack_token){PACK_END, 0, 1, 0}) ? 0 : -ENOMEM;
}

void pack_stream_deinit(struct pack_stream *s)
{
	for (uint32_t i = 0; i < PACK_LAST; i++)
		free(s->last[i]);
	VEC_FREE(&s->tokens);
	VEC_FREE(&s->past);
	VEC_FREE(&s->parents);
}

/* The hash of the last @n tokens. */
static uint64_t hash_past(const struct pack_stream *s, uint32_t n, uint64_t seed)
{
	uint64_t h = pack_hash(seed, n);
	for (uint32_t i = 1; i <= n && i <= s->past.n; i++)
		h = pack_hash(h, s->past.at[s->past.n - i]);
	return h;
}

static uint32_t before(const struct pack_stream *s, uint32_t i)
{
	return i <= s->past.n ? s->past.at[s->past.n - i] + 1 : 0;
}

/* The contexts for what was not guessed come first. */
static void find_contexts(const struct pack_stream *s, uint64_t contexts[N_CONTEXTS])
{
	uint32_t n = s->parents.n;
	uint32_t parent = n ? s->parents.at[n - 1] : 0, around = n > 1 ? s->parents.at[n - 2] : 0;
	uint64_t in = pack_hash(0x70617265, parent), after = pack_hash(in, before(s, 1));
	uint32_t k = 0;
	for (uint32_t i = 0; i < N_ORDERS - 2; i++)
		contexts[k++] = hash_past(s, orders[i], 1);
	contexts[k++] = in;
	contexts[k++] = after;
	contexts[k++] = pack_hash(pack_hash(after, 2), before(s, 2));
	contexts[k++] = pack_hash(pack_hash(after, 3), around);
	for (uint32_t i = N_ORDERS - 2; i < N_ORDERS; i++)
		contexts[k++] = hash_past(s, orders[i], 1);
}

/* How many tokens before @at are the same as those before the current one, up to 40. */
static uint32_t length_at(const struct pack_stream *s, uint32_t at)
{
	uint32_t n = 0;
	while (n < 40 && n < at && s->past.at[at - 1 - n] == s->past.at[s->past.n - 1 - n])
		n++;
	return n;
}

struct guess {
	uint32_t number, len;
};

static uint32_t find_guesses(struct pack_stream *s, struct guess guesses[N_GUESSES])
{
	uint32_t slots[PACK_LAST], n = 0, now = s->past.n;
	for (uint32_t k = 0; k < PACK_LAST; k++)
		slots[k] = (uint32_t)(hash_past(s, last_length[k], 77) >> (64 - LAST_BITS));
	for (uint32_t k = 0; k < PACK_LAST && !s->match_len; k++) {
		int32_t at = s->last[k][slots[k]];
		uint32_t len = at > 0 ? length_at(s, (uint32_t)at) : 0;
		if (len >= last_length[k]) {
			s->match_at = (uint32_t)at;
			s->match_len = len;
		}
	}
	if (s->match_len)
		guesses[n++] = (struct guess){s->past.at[s->match_at], s->match_len};
	for (uint32_t k = 1; k < PACK_LAST && n < N_GUESSES; k++) {
		int32_t at = s->last[k][slots[k]];
		bool told = at < 0;
		for (uint32_t i = 0; i < n && !told; i++)
			told = guesses[i].number == s->past.at[at];
		if (!told)
			guesses[n++] = (struct guess){s->past.at[at], last_length[k]};
	}
	for (uint32_t k = 0; k < PACK_LAST; k++)
		s->last[k][slots[k]] = (int32_t)now;
	return n;
}

static uint32_t length_class(uint32_t len)
{
	static const uint32_t limits[] = {4, 8, 16, 32, 256, 4096};
	uint32_t i = 0;
	while (i < 6 && len >= limits[i])
		i++;
	return i;
}

/* Whether the token is the guess. */
static bool code_guess(struct pack_stream *s, const uint64_t contexts[N_CONTEXTS], uint32_t rank,
		       const struct guess *g, bool is)
{
	uint64_t with[N_CONTEXTS + 2];
	uint32_t class = length_class(g->len);
	for (uint32_t i = 0; i < N_CONTEXTS; i++)
		with[i] = pack_hash(contexts[i], (uint64_t)g->number << 2 | rank);
	with[N_CONTEXTS] = pack_hash(rank, class);
	with[N_CONTEXTS + 1] = pack_hash(with[N_CONTEXTS], g->number);
	return pack_bit(s->coder, with, N_CONTEXTS + 2, SET_GUESS + rank * 8 + class, is);
}

/* What a new token is. */
static int describe(struct pack_stream *s, const uint64_t *contexts, struct pack_token *t)
{
	struct pack_coder *c = s->coder;
	uint64_t kind = pack_hash(0x6b696e64, before(s, 1) == 1), what;
	t->kind = pack_bit(c, &kind, 1, SET_NAME, t->kind == PACK_NEW) ? PACK_NEW : PACK_OLD;
	if (t->kind == PACK_OLD) {
		uint32_t back = pack_number(c, 1, s->n_nodes - t->what);
		if (!back || back > s->n_nodes)
			return -EBADMSG;
		t->what = s->n_nodes - back;
		t->end = 0;
		t->count = pack_number(c, 2, t->count);
		return t->count ? 0 : -EBADMSG;
	}
	uint32_t name = symbol_name_index(t->what), how = symbol_how(t->what);
	what = pack_hash(0x6e616d65, s->n_names == 0);
	if (pack_bit(c, &what, 1, SET_NAME + 1, name == s->n_names))
		name = s->n_names;
	else
		name = pack_bits(c, contexts, N_LITERAL, SET_NAME + 2, 28, name);
	what = pack_hash(0x686f77, 0);
	how = pack_bits(c, &what, 1, SET_NAME + 32, 2, how);
	what = pack_hash(0x656e64, 0);
	t->end = pack_bits(c, &what, 1, SET_NAME + 36, 2, t->end);
	t->count = pack_number(c, 3, t->count);
	if (name > s->n_names || how > HOW_SIGNAL || t->end > TOKEN_CUT || !t->count)
		return -EBADMSG;
	t->what = symbol_make(name, (enum symbol_how)how);
	return 0;
}

static int code_unguessed(struct pack_stream *s, const uint64_t *contexts, uint32_t *number,
			  struct pack_token *token)
{
	uint64_t fresh[N_LITERAL];
	uint32_t known = s->tokens.n;
	for (uint32_t i = 0; i < N_LITERAL; i++)
		fresh[i] = pack_hash(contexts[i], 0x66726573);
	if (pack_bit(s->coder, fresh, N_LITERAL, SET_FRESH, *number == known)) {
		*number = known;
		int err = describe(s, contexts, token);
		return err || VEC_PUSH(&s->tokens, *token) ? err : -ENOMEM;
	}
	*number = pack_bits(s->coder, contexts, N_LITERAL, SET_NUMBER, s->width, *number);
	return *number < known ? 0 : -EBADMSG;
}

/* Brings up to date what is open and what was seen, after the token. */
static int go_on(struct pack_stream *s, uint32_t number, const struct pack_token *token)
{
	if (token->kind == PACK_NEW) {
		s->n_nodes++;
		s->n_names += symbol_name_index(token->what) == s->n_names;
		if (!VEC_PUSH(&s->parents, number))
			return -ENOMEM;
	} else if (token->kind == PACK_END && s->parents.n) {
		s->parents.n--;
	}
	bool went_on = s->match_len && s->past.at[s->match_at] == number;
	s->match_at++;
	s->match_len = went_on ? s->match_len + (s->match_len < MATCH_MAX) : 0;
	return VEC_PUSH(&s->past, number) ? 0 : -ENOMEM;
}

int pack_stream_token(struct pack_stream *s, uint32_t *number, struct pack_token *token)
{
	uint64_t contexts[N_CONTEXTS];
	struct guess guesses[N_GUESSES];
	find_contexts(s, contexts);
	uint32_t n = find_guesses(s, guesses);
	bool guessed = false;
	int err = 0;
	for (uint32_t i = 0; i < n && !guessed; i++) {
		guessed = code_guess(s, contexts, i, &guesses[i], guesses[i].number == *number);
		if (guessed)
			*number = guesses[i].number;
	}
	if (!guessed)
		err = code_unguessed(s, contexts, number, token);
	if (err)
		return err;
	*token = s->tokens.at[*number];
	return go_on(s, *number, token);
}

void pack_text(struct pack_coder *coder, uint8_t *text, uint32_t len)
{
	uint64_t contexts[7];
	uint64_t word = 0;
	for (uint32_t i = 0; i < len; i++) {
		uint64_t h = 0x74657874;
		for (uint32_t k = 0; k < 6; k++) {
			contexts[k] = pack_hash(h, k);
			h = pack_hash(h, k < i ? text[i - 1 - k] : 256);
		}
		contexts[6] = pack_hash(word, 0x776f7264);
		text[i] = (uint8_t)pack_bits(coder, contexts, 7, SET_TEXT, 8, text[i]);
		bool letter = (text[i] | 32) >= 'a' && (text[i] | 32) <= 'z';
		word = letter ? pack_hash(word, text[i]) : 0;
	}
}

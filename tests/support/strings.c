// SPDX-License-Identifier: LGPL-2.1-or-later
/* strings.c: see strings.h. */
#include "tests/support/strings.h"

#include "offline/encode/encode_symbols.h"

#include <stdlib.h>

uint32_t letter(char c)
{
	return symbol_make(c - 'A', HOW_CALL);
}

char letter_of(uint32_t symbol)
{
	return symbol_closes(symbol) ? ')' : (char)('A' + symbol_name_index(symbol));
}

void string_push(struct string *s, uint32_t symbol)
{
	if (s->n == s->cap) {
		s->cap = 2 * s->cap + 64;
		s->at = realloc(s->at, s->cap * sizeof(*s->at));
		if (!s->at)
			abort();
	}
	s->at[s->n++] = symbol;
}

void string_letters(struct string *s, const char *letters)
{
	for (; *letters; letters++)
		string_push(s, *letters == ')' ? (uint32_t)TOKEN_RETURN : letter(*letters));
}

void string_deinit(struct string *s)
{
	free(s->at);
	*s = (struct string){0};
}

static uint32_t draw(uint64_t *state, uint32_t below)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (uint32_t)(*state >> 33) % below;
}

static void phrases(struct string *s, uint32_t n, uint64_t *state, uint32_t levels)
{
	struct string phrase[4][8] = {0};
	for (uint32_t level = 0; level < levels; level++)
		for (uint32_t i = 0; i < 8; i++) {
			uint32_t parts = 2 + draw(state, 5);
			for (uint32_t k = 0; k < parts; k++) {
				const struct string *below =
					level ? &phrase[level - 1][draw(state, 8)] : NULL;
				for (uint32_t j = 0; below && j < below->n; j++)
					string_push(&phrase[level][i], below->at[j]);
				if (!below)
					string_push(&phrase[level][i],
						    letter('a' + draw(state, 6)));
			}
		}
	for (uint32_t end = s->n + n; s->n < end;) {
		const struct string *p = &phrase[levels - 1][draw(state, 8)];
		for (uint32_t j = 0; j < p->n; j++)
			string_push(s, draw(state, 40) ? p->at[j] : letter('a' + draw(state, 6)));
	}
	for (uint32_t level = 0; level < levels; level++)
		for (uint32_t i = 0; i < 8; i++)
			string_deinit(&phrase[level][i]);
}

/* Function i calls functions above i: how often, its own random number says. */
static void call_tree(struct string *s, uint32_t function, uint32_t end, uint64_t *state)
{
	string_push(s, letter('a' + function));
	if (function < 10)
		for (uint32_t i = draw(state, 5); i-- > 0 && s->n < end;)
			for (uint32_t callee = function + 1 + draw(state, 3),
				      times = draw(state, 4) ? 1 : 1 + draw(state, 9);
			     times-- > 0;)
				call_tree(s, callee, end, state);
	string_push(s, draw(state, 200) ? TOKEN_RETURN : TOKEN_UNWIND);
}

void string_random(struct string *s, enum string_kind kind, uint32_t n, uint64_t seed)
{
	uint64_t state = seed * 0x9e3779b97f4a7c15u + kind;
	uint32_t end = s->n + n, letters = 2 + draw(&state, 6);
	switch (kind) {
	case STRING_NOISE:
		while (s->n < end)
			string_push(s, letter('a' + draw(&state, letters)));
		break;
	case STRING_RUNS:
		while (s->n < end)
			for (uint32_t c = letter('a' + draw(&state, letters)),
				      times = 1 + draw(&state, draw(&state, 4) ? 4 : 40);
			     times-- > 0;)
				string_push(s, c);
		break;
	case STRING_PHRASES:
		phrases(s, n, &state, 1);
		break;
	case STRING_NESTED:
		phrases(s, n, &state, 3);
		break;
	case STRING_STAIRCASE:
		for (uint32_t top = 1; s->n < end; top++)
			for (uint32_t i = top; i-- > 0;)
				string_push(s, symbol_make(i, HOW_CALL));
		break;
	case STRING_BALANCED:
		while (s->n < end)
			call_tree(s, draw(&state, 3), end, &state);
		break;
	default:
		break;
	}
}

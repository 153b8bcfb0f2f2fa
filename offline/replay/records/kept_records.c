// SPDX-License-Identifier: LGPL-2.1-or-later
/* kept_records.c: see kept_records.h. */
#include "offline/replay/records/kept_records.h"

#include "offline/base/large.h"

#include <string.h>

enum { WORDS = sizeof(struct capture) / sizeof(uint64_t) };
_Static_assert(sizeof(struct capture) % sizeof(uint64_t) == 0, "a record is whole words");
_Static_assert(WORDS <= 64, "a mask has a bit for each word of a record");

static bool make_room(uint64_t **at, uint64_t *room, uint64_t needed)
{
	if (needed <= *room)
		return true;
	uint64_t more = *room + *room / 2 + 1024;
	uint64_t *bigger = large_realloc(*at, more * sizeof(**at));
	if (!bigger)
		return false;
	*at = bigger;
	*room = more;
	return true;
}

bool kept_records_add(struct kept_records *k, const struct capture *c)
{
	uint64_t words[WORDS], mask = 0;
	if (!make_room(&k->words, &k->room_words, k->n_words + WORDS + 1) ||
	    !make_room(&k->begins, &k->room_begins, k->n / KEPT_EVERY + 1))
		return false;
	memcpy(words, c, sizeof(words));
	if (k->n % KEPT_EVERY == 0)
		k->begins[k->n / KEPT_EVERY] = k->n_words;
	uint64_t *out = &k->words[k->n_words + 1];
	for (unsigned i = 0; i < WORDS; i++) {
		*out = words[i];
		out += words[i] != 0;
		mask |= (uint64_t)(words[i] != 0) << i;
	}
	k->words[k->n_words] = mask;
	k->n_words = (uint64_t)(out - k->words);
	k->n++;
	return true;
}

const struct capture *kept_records_at(struct kept_records *k, uint64_t i)
{
	struct capture *c = &k->at_hand[i % KEPT_AT_HAND];
	if (k->number[i % KEPT_AT_HAND] == i + 1)
		return c;
	const uint64_t *at = &k->words[k->begins[i / KEPT_EVERY]];
	for (uint64_t before = i % KEPT_EVERY; before; before--)
		at += 1 + __builtin_popcountl(*at);
	uint64_t words[WORDS], mask = *at++;
	for (unsigned w = 0; w < WORDS; w++) {
		uint64_t bit = mask >> w & 1;
		words[w] = bit ? *at : 0;
		at += bit;
	}
	memcpy(c, words, sizeof(words));
	k->number[i % KEPT_AT_HAND] = i + 1;
	return c;
}

void kept_records_deinit(struct kept_records *k)
{
	for (uint64_t i = 0; i < k->n; i++)
		free((void *)kept_records_at(k, i)->ranges);
	free(k->words);
	free(k->begins);
	*k = (struct kept_records){0};
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* insns.c: see insns.h. */
#include "offline/match/insns.h"

#include <string.h>

void match_insns_deinit(struct match_insns *s)
{
	for (uint32_t i = 0; i < s->of.n; i++) {
		free(s->of.at[i].what);
		free(s->of.at[i].when);
	}
	for (uint32_t i = 0; i < s->numbers_of_block.n; i++)
		free(s->numbers_of_block.at[i]);
	VEC_FREE(&s->of);
	VEC_FREE(&s->slots);
	VEC_FREE(&s->numbers_of_block);
}

/* The slot of the instruction at @ip, or a free one. */
static uint32_t *slot_of(const struct match_insns *s, uint64_t ip)
{
	uint32_t at = (uint32_t)(match_mix(0, ip) % s->slots.n);
	while (s->slots.at[at] && s->of.at[s->slots.at[at] - 1].ip != ip)
		at = (at + 1) % s->slots.n;
	return &s->slots.at[at];
}

static bool grow_slots(struct match_insns *s)
{
	uint32_t n = 2 * s->slots.n + 1024;
	uint32_t *slots = calloc(n, sizeof(*slots));
	if (!slots)
		return false;
	VEC_FREE(&s->slots);
	s->slots = (struct vec_u32){slots, n, n};
	for (uint32_t i = 0; i < s->of.n; i++)
		*slot_of(s, s->of.at[i].ip) = i + 1;
	return true;
}

static enum match_kind kind_of(const struct value_insn *insn)
{
	bool writes = false;
	for (int i = 0; i < insn->n_mem; i++)
		writes |= insn->mem[i].write;
	if (insn->kind == VALUE_INSN_JCC)
		return MATCH_JUMP;
	if (writes)
		return MATCH_STORE;
	return insn->n_mem && insn->mem[0].read && insn->flow == VALUE_FLOW_COPY ? MATCH_LOAD
										 : MATCH_RESULT;
}

/* The instruction's number; UINT32_MAX: memory is out. */
static uint32_t number_of(struct match_insns *s, const struct value_insn *insn)
{
	if (2 * s->of.n >= s->slots.n && !grow_slots(s))
		return UINT32_MAX;
	uint32_t *slot = slot_of(s, insn->ip);
	if (*slot)
		return *slot - 1;
	struct match_insn met = {.ip = insn->ip, .mnemonic = insn->mnemonic, .kind = kind_of(insn)};
	if (!VEC_PUSH(&s->of, met))
		return UINT32_MAX;
	*slot = s->of.n;
	return s->of.n - 1;
}

const uint32_t *match_insns_of_block(struct match_insns *s, const struct dep_block *b)
{
	uint32_t number = b->block->number;
	while (s->numbers_of_block.n <= number)
		if (!VEC_PUSH(&s->numbers_of_block, NULL))
			return NULL;
	uint32_t **known = &s->numbers_of_block.at[number];
	if (*known)
		return *known;
	uint32_t *numbers = malloc((b->n_insns + 1) * sizeof(*numbers));
	for (unsigned i = 0; numbers && i < b->n_insns; i++) {
		numbers[i] = number_of(s, &b->block->insns[i]);
		if (numbers[i] == UINT32_MAX) {
			free(numbers);
			return NULL;
		}
	}
	return *known = numbers;
}

bool match_insn_note(struct match_insn *m, uint64_t count, uint32_t what)
{
	uint32_t room = m->room; /* of both arrays: they grow alike */
	if (!vec_make_room((void **)&m->what, m->n, &room, 1, sizeof(*m->what)) ||
	    !vec_make_room((void **)&m->when, m->n, &m->room, 1, sizeof(*m->when)))
		return false;
	m->what[m->n] = what;
	m->when[m->n++] = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
	return true;
}

void match_insn_made_by(struct match_insn *m, uint32_t number, uint32_t maker)
{
	if (!maker || maker == number + 1 || m->n_makers == MATCH_MAKERS)
		return;
	for (unsigned i = 0; i < m->n_makers; i++)
		if (m->makers[i] == maker)
			return;
	m->makers[m->n_makers++] = maker;
}

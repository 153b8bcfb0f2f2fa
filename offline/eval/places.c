// SPDX-License-Identifier: LGPL-2.1-or-later
/* places.c: where the machine may run and where it has to stop: ranges of code, places that the
 * owner wants to see, the place that it expects next. Blocks that were translated before a change
 * are forgotten here. */
#include "offline/eval/machine_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool value_machine_has_code(const struct value_machine *m, uint64_t addr, enum value_side side)
{
	for (size_t i = 0; i < m->n_code; i++)
		if (addr >= m->code[i].start && addr < m->code[i].end && m->code[i].side == side)
			return true;
	return false;
}

bool value_machine_is_code(const struct value_machine *m, uint64_t addr)
{
	return value_machine_has_code(m, addr, m->side);
}

static int add_code(struct value_machine *m, uint64_t start, uint64_t end, enum value_side side,
		    bool made)
{
	struct code_range *code = realloc(m->code, (m->n_code + 1) * sizeof(*code));
	if (!code)
		return -ENOMEM;
	m->code = code;
	m->code[m->n_code++] = (struct code_range){start, end, side, made};
	return 0;
}

int value_machine_code(struct value_machine *m, uint64_t start, uint64_t end)
{
	return add_code(m, start, end, VALUE_SIDE_TRACED, false);
}

int value_machine_library(struct value_machine *m, uint64_t start, uint64_t end)
{
	return add_code(m, start, end, VALUE_SIDE_LIBRARY, false);
}

int value_machine_made(struct value_machine *m, uint64_t start, uint64_t end)
{
	return add_code(m, start, end, VALUE_SIDE_LIBRARY, true);
}

enum value_side value_machine_side_now(const struct value_machine *m)
{
	return m->side;
}

void value_machine_side(struct value_machine *m, enum value_side side)
{
	m->side = side;
	m->jumps = m->jump_tables[side];
}

/* Translated blocks stay where they are, for their numbers, but are not found any more. */
static void forget_translations(struct value_machine *m)
{
	memset(m->table, 0, sizeof(*m->table) << m->table_bits);
	memset(m->jump_tables, 0, sizeof(m->jump_tables));
	for (uint32_t i = 0; i < m->n_live; i++) {
		struct value_block *b = m->blocks[m->live[i]];
		b->link[0] = b->link[1] = NULL;
		b->gone = true;
	}
	m->n_live = m->n_made_live = 0;
}

static void take_out(struct value_machine *m, struct value_block *b)
{
	struct value_block **at = value_table_slot(m, b->ip);
	while (*at && *at != b)
		at = &(*at)->chain;
	if (*at)
		*at = b->chain;
	b->gone = true;
}

void value_take_out(struct value_machine *m, value_block_fn *which, uint64_t of)
{
	uint32_t kept = 0, n = m->n_live;
	for (uint32_t i = 0; i < n; i++) {
		struct value_block *b = m->blocks[m->live[i]];
		if (!b->gone && which(b, of)) {
			take_out(m, b);
			m->n_made_live -= b->made;
		} else {
			m->live[kept++] = m->live[i];
		}
	}
	m->n_live = kept;
	if (kept == n)
		return;
	for (uint32_t i = 0; i < kept; i++) {
		struct value_block *b = m->blocks[m->live[i]];
		for (int k = 0; k < 2; k++)
			if (b->link[k] && b->link[k]->gone)
				b->link[k] = NULL;
	}
	for (int side = 0; side < VALUE_SIDES; side++)
		for (int i = 0; i < JUMPS; i++)
			if (m->jump_tables[side][i] && m->jump_tables[side][i]->gone)
				m->jump_tables[side][i] = NULL;
}

static bool has_insn(const struct value_block *b, uint64_t addr)
{
	const struct value_insn *last = &b->insns[b->n_insns - 1];
	return b->ip <= addr && addr < last->ip + last->len;
}

static void forget_translation(struct value_machine *m, uint64_t addr)
{
	value_take_out(m, has_insn, addr);
}

void value_machine_no_code(struct value_machine *m, uint64_t start, uint64_t end)
{
	size_t kept = 0;
	for (size_t i = 0; i < m->n_code; i++)
		if (m->code[i].side != VALUE_SIDE_TRACED || m->code[i].start >= end ||
		    m->code[i].end <= start)
			m->code[kept++] = m->code[i];
	if (kept != m->n_code)
		forget_translations(m);
	m->n_code = kept;
}

void value_machine_no_libraries(struct value_machine *m)
{
	size_t kept = 0;
	for (size_t i = 0; i < m->n_code; i++)
		if (m->code[i].side != VALUE_SIDE_LIBRARY)
			m->code[kept++] = m->code[i];
	if (kept != m->n_code)
		forget_translations(m);
	m->n_code = kept;
}

static size_t place_slot(const uint64_t *places, size_t room, uint64_t addr)
{
	size_t i = addr * 0x9e3779b97f4a7c15 >> 20 & (room - 1);
	while (places[i] && (places[i] & ~VALUE_SELDOM_BIT) != addr)
		i = (i + 1) & (room - 1);
	return i;
}

/* What stands of @addr; 0: it is no place. */
static uint64_t place_at(const struct value_machine *m, uint64_t addr)
{
	return m->n_places ? m->places[place_slot(m->places, m->room_places, addr)] : 0;
}

bool value_is_place(const struct value_machine *m, uint64_t addr)
{
	return place_at(m, addr);
}

bool value_is_seldom(const struct value_machine *m, uint64_t addr)
{
	return place_at(m, addr) & VALUE_SELDOM_BIT;
}

bool value_machine_stops_at(const struct value_machine *m, uint64_t addr)
{
	return value_is_place(m, addr) && !(m->expected_place && addr == m->expected);
}

static int add_place(struct value_machine *m, uint64_t addr, uint64_t seldom)
{
	if (2 * (m->n_places + 1) > m->room_places) {
		size_t room = m->room_places ? 2 * m->room_places : 256;
		uint64_t *places = calloc(room, sizeof(*places));
		if (!places)
			return -ENOMEM;
		for (size_t i = 0; i < m->room_places; i++)
			if (m->places[i])
				places[place_slot(places, room, m->places[i] & ~VALUE_SELDOM_BIT)] =
					m->places[i];
		free(m->places);
		m->places = places;
		m->room_places = room;
	}
	m->places[place_slot(m->places, m->room_places, addr)] = addr | seldom;
	m->n_places++;
	forget_translation(m, addr);
	return 0;
}

int value_machine_place(struct value_machine *m, uint64_t addr)
{
	if (addr == m->expected) /* from now on it is the owner's */
		m->expected_place = false;
	if (value_is_seldom(m, addr)) {
		m->places[place_slot(m->places, m->room_places, addr)] = addr;
		forget_translation(m, addr);
	}
	return value_is_place(m, addr) ? 0 : add_place(m, addr, 0);
}

int value_machine_seldom(struct value_machine *m, uint64_t addr)
{
	return value_is_place(m, addr) ? 0 : add_place(m, addr, VALUE_SELDOM_BIT);
}

void value_machine_want(struct value_machine *m, const uint64_t addrs[VALUE_WANTED])
{
	memcpy(m->wanted, addrs, sizeof(m->wanted));
}

/* Those behind it that it was in the way of move up. */
static void no_place(struct value_machine *m, uint64_t addr)
{
	size_t mask = m->room_places - 1, hole = place_slot(m->places, m->room_places, addr);
	if ((m->places[hole] & ~VALUE_SELDOM_BIT) != addr)
		return;
	m->places[hole] = 0;
	m->n_places--;
	for (size_t i = (hole + 1) & mask; m->places[i]; i = (i + 1) & mask) {
		uint64_t moved = m->places[i];
		m->places[i] = 0;
		m->places[place_slot(m->places, m->room_places, moved & ~VALUE_SELDOM_BIT)] = moved;
	}
}

void value_expect_nothing(struct value_machine *m)
{
	if (m->expected_place) {
		no_place(m, m->expected);
		forget_translation(m, m->expected);
	}
	m->expected = 0;
	m->expected_place = false;
}

/* Around each call of a library nothing is expected, and then the same again. So what was expected
 * stays a place until something else is, or until the code comes by. */
int value_machine_expect(struct value_machine *m, uint64_t addr, const uint64_t regs[16],
			 uint16_t known)
{
	m->expects = addr;
	if (!addr)
		return 0;
	m->expected_known = known;
	memcpy(m->expected_regs, regs, sizeof(m->expected_regs));
	if (addr == m->expected)
		return 0;
	value_expect_nothing(m);
	bool is_ours = !value_is_place(m, addr);
	if (is_ours && value_machine_place(m, addr))
		return -ENOMEM;
	m->expected_place = is_ours;
	m->expected = addr;
	return 0;
}

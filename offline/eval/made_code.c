// SPDX-License-Identifier: LGPL-2.1-or-later
/* made_code.c: code that may change, as a program makes it while it runs. Pages that a block was
 * translated from are watched (memory.h): before one of them changes, or is known less well, all
 * such blocks are taken out. A block keeps its bytes; where control comes to its address again it
 * is found again if they are there, so that code which stays is translated once, and a run that
 * goes back does not translate it anew.
 *
 *   translated, watched ──change──> gone ──the same bytes at its address──> found, watched */
#include "offline/eval/machine_impl.h"

#include <stdlib.h>
#include <string.h>

static bool may_change(const struct value_machine *m, uint64_t ip)
{
	for (size_t i = 0; i < m->n_code; i++)
		if (m->code[i].made && ip >= m->code[i].start && ip < m->code[i].end)
			return m->code[i].side == m->side;
	return false;
}

static uint64_t end_of(const struct value_block *b)
{
	const struct value_insn *last = &b->insns[b->n_insns - 1];
	return last->ip + last->len;
}

static struct value_block **list_of(const struct value_machine *m, uint64_t ip)
{
	return &m->made[(ip * 0x9e3779b97f4a7c15 >> 32) % MADE_LISTS];
}

static bool watch(struct value_machine *m, const struct value_block *b)
{
	return m->unwatched || (!value_memory_watch(m->memory, b->ip) &&
				!value_memory_watch(m->memory, end_of(b) - 1));
}

static bool is_made(const struct value_block *b, uint64_t of)
{
	(void)of;
	return b->made;
}

void value_made_look_again(struct value_machine *m)
{
	m->made_changes = m->memory->changes;
	if (m->n_made_live)
		value_take_out(m, is_made, 0);
}

void value_machine_no_made(struct value_machine *m)
{
	size_t kept = 0;
	for (size_t i = 0; i < m->n_code; i++)
		if (!m->code[i].made)
			m->code[kept++] = m->code[i];
	m->n_code = kept;
	if (m->n_made_live)
		value_take_out(m, is_made, 0);
}

bool value_made_is_crowded(const struct value_machine *m, uint64_t ip)
{
	return m->memory->crowded && may_change(m, ip);
}

bool value_made_is_full(const struct value_machine *m, uint64_t ip)
{
	return m->makeable < VALUE_BLOCK_INSNS && may_change(m, ip);
}

/* Whether it is what would be translated now. */
static bool is_as_it_was(const struct value_machine *m, const struct value_block *b)
{
	uint8_t bytes[VALUE_BLOCK_INSNS * ZYDIS_MAX_INSTRUCTION_LENGTH], quality;
	const size_t len = end_of(b) - b->ip;
	if (value_memory_read(m->memory, b->ip, bytes, len, &quality) || quality ||
	    memcmp(bytes, b->bytes, len))
		return false;
	for (unsigned i = 1; i < b->n_insns; i++)
		if (value_is_place(m, b->insns[i].ip))
			return false;
	return true;
}

struct value_block *value_made_again(struct value_machine *m, uint64_t ip, bool single)
{
	if (!m->made || m->memory->crowded || !may_change(m, ip))
		return NULL;
	struct value_block *b = *list_of(m, ip);
	while (b && !(b->ip == ip && b->gone && b->single == single && b->side == m->side &&
		      is_as_it_was(m, b)))
		b = b->older;
	if (!b || !watch(m, b))
		return NULL;
	b->gone = false;
	b->link[0] = b->link[1] = NULL;
	b->place = value_is_place(m, ip);
	b->seldom = value_is_seldom(m, ip);
	b->needs &= ~VALUE_PLACE_BIT;
	b->needs |= b->place && !single ? VALUE_PLACE_BIT : 0;
	m->live[m->n_live++] = b->number;
	m->n_made_live++;
	value_put_block(m, b);
	return b;
}

bool value_made_keep(struct value_machine *m, struct value_block *b)
{
	const size_t len = end_of(b) - b->ip;
	if (!may_change(m, b->ip) && !may_change(m, end_of(b) - 1))
		return true;
	uint8_t *bytes = value_arena(m, len);
	if (!m->made)
		m->made = calloc(MADE_LISTS, sizeof(struct value_block *));
	if (!m->made || !bytes || value_memory_read(m->memory, b->ip, bytes, len, NULL) ||
	    !watch(m, b))
		return false;
	struct value_block **list = list_of(m, b->ip);
	b->bytes = bytes;
	b->older = *list;
	*list = b;
	b->made = true;
	m->n_made_live++;
	m->makeable -= b->n_insns < m->makeable ? b->n_insns : m->makeable;
	return true;
}

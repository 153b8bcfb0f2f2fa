// SPDX-License-Identifier: LGPL-2.1-or-later
/* encode_chains.c: see encode_chains.h. A chain is found by hashing the innermost N symbols of what
 * is open; the call keeps its number until it closes. */
#include "offline/encode/encode_chains.h"

#include "offline/base/hash.h"
#include "offline/base/vec.h"

#include <errno.h>
#include <string.h>

struct open_call {
	struct tree_time time;
	uint32_t chain;
};

struct chains {
	uint32_t longest;
	VEC(struct chain) list;
	VEC(uint32_t) symbols;
	VEC(uint32_t) stack; /* symbols of what is open */
	VEC(struct open_call) calls;
	uint32_t *slots; /* chain + 1, or 0 */
	uint32_t mask;
};

int chains_new(uint32_t n, struct chains **out)
{
	struct chains *c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->longest = n;
	c->mask = 1023;
	c->slots = calloc((size_t)c->mask + 1, sizeof(*c->slots));
	if (!c->slots) {
		free(c);
		return -ENOMEM;
	}
	*out = c;
	return 0;
}

void chains_free(struct chains *c)
{
	if (!c)
		return;
	VEC_FREE(&c->list);
	VEC_FREE(&c->symbols);
	VEC_FREE(&c->stack);
	VEC_FREE(&c->calls);
	free(c->slots);
	free(c);
}

const struct chain *chains_list(const struct chains *c, uint32_t *n)
{
	*n = c->list.n;
	return c->list.at;
}

const uint32_t *chains_symbols(const struct chains *c)
{
	return c->symbols.at;
}

static uint32_t *find_slot(const struct chains *c, const uint32_t *symbols, uint32_t n)
{
	uint32_t i = (uint32_t)hash_bytes(symbols, n * sizeof(*symbols)) & c->mask;
	for (; c->slots[i]; i = (i + 1) & c->mask) {
		const struct chain *known = &c->list.at[c->slots[i] - 1];
		if (known->n == n &&
		    !memcmp(c->symbols.at + known->first, symbols, n * sizeof(*symbols)))
			break;
	}
	return &c->slots[i];
}

static int grow(struct chains *c)
{
	uint32_t mask = 2 * c->mask + 1;
	uint32_t *slots = calloc((size_t)mask + 1, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(c->slots);
	c->slots = slots;
	c->mask = mask;
	for (uint32_t i = 0; i < c->list.n; i++) {
		const struct chain *chain = &c->list.at[i];
		*find_slot(c, c->symbols.at + chain->first, chain->n) = i + 1;
	}
	return 0;
}

int chains_begin(struct chains *c)
{
	c->stack.n = c->calls.n = 0;
	return 0;
}

int chains_open(struct chains *c, const struct tree_call *call)
{
	if (!VEC_PUSH(&c->stack, call->symbol))
		return -ENOMEM;
	uint32_t n = c->stack.n < c->longest ? c->stack.n : c->longest;
	const uint32_t *symbols = c->stack.at + c->stack.n - n;
	uint32_t *slot = find_slot(c, symbols, n), chain = *slot - 1;
	if (!*slot) {
		uint32_t first = c->symbols.n;
		if (!VEC_RESERVE(&c->symbols, n) ||
		    !VEC_PUSH(&c->list, (struct chain){.first = first, .n = n}))
			return -ENOMEM;
		memcpy(c->symbols.at + first, symbols, n * sizeof(*symbols));
		c->symbols.n += n;
		chain = c->list.n - 1;
		*slot = c->list.n;
		if (c->list.n > c->mask / 2 && grow(c))
			return -ENOMEM;
	}
	return VEC_PUSH(&c->calls, (struct open_call){call->time, chain}) ? 0 : -ENOMEM;
}

int chains_close(struct chains *c, const struct tree_return *ret)
{
	const struct open_call *call = &c->calls.at[--c->calls.n];
	struct chain *chain = &c->list.at[call->chain];
	c->stack.n--;
	chain->count++;
	dag_times_add(&chain->times, &call->time, &ret->time);
	return 0;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* profile.c: see profile.h. The instructions of a block are looked up when the block is met. */
#include "offline/slice/profile.h"

#include <stdlib.h>
#include <string.h>

struct slice_profile {
	VEC(struct profile_insn) of;
	struct vec_u32 slots;	  /* a hash table of 1 + an index of @of, by address */
	VEC(uint32_t *) of_block; /* by number of the block: the indices of its instructions */
	uint32_t jump;		  /* 1 + the one whose way the next block shows; 0: none */
	uint64_t target;	  /* of it */
	bool no_memory;
};

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15;
	return h ^ h >> 29;
}

struct slice_profile *slice_profile_new(void)
{
	return calloc(1, sizeof(struct slice_profile));
}

void slice_profile_free(struct slice_profile *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; i < p->of_block.n; i++)
		free(p->of_block.at[i]);
	VEC_FREE(&p->of_block);
	VEC_FREE(&p->slots);
	VEC_FREE(&p->of);
	free(p);
}

/* --- by address ------------------------------------------------------------------------------ */

/* The slot of the instruction at @ip, or a free one; there is one. */
static uint32_t *slot_of(const struct slice_profile *p, uint64_t ip)
{
	uint32_t at = (uint32_t)(mix(0, ip) % p->slots.n);
	while (p->slots.at[at] && p->of.at[p->slots.at[at] - 1].ip != ip)
		at = (at + 1) % p->slots.n;
	return &p->slots.at[at];
}

static bool grow(struct slice_profile *p)
{
	uint32_t n = 2 * p->slots.n + 1024;
	uint32_t *slots = calloc(n, sizeof(*slots));
	if (!slots)
		return false;
	VEC_FREE(&p->slots);
	p->slots = (struct vec_u32){slots, n, n};
	for (uint32_t i = 0; i < p->of.n; i++)
		*slot_of(p, p->of.at[i].ip) = i + 1;
	return true;
}

/* Its index; UINT32_MAX: memory is out. */
static uint32_t index_of(struct slice_profile *p, uint64_t ip, bool jump)
{
	struct profile_insn new = {.ip = ip, .jump = jump, .all_values = true};
	if (2 * p->of.n >= p->slots.n && !grow(p))
		return UINT32_MAX;
	uint32_t *slot = slot_of(p, ip);
	if (*slot)
		return *slot - 1;
	if (!VEC_PUSH(&p->of, new))
		return UINT32_MAX;
	*slot = p->of.n;
	return p->of.n - 1;
}

const struct profile_insn *slice_profile_find(const struct slice_profile *p, uint64_t ip)
{
	uint32_t at = p->slots.n ? *slot_of(p, ip) : 0;
	return at ? &p->of.at[at - 1] : NULL;
}

const struct profile_insn *slice_profile_insns(const struct slice_profile *p, uint32_t *n)
{
	*n = p->of.n;
	return p->no_memory ? NULL : p->of.at;
}

static const uint32_t *indices_of(struct slice_profile *p, const struct dep_block *b)
{
	uint32_t number = b->block->number;
	while (p->of_block.n <= number)
		if (!VEC_PUSH(&p->of_block, NULL))
			return NULL;
	if (p->of_block.at[number])
		return p->of_block.at[number];
	uint32_t *at = malloc((b->n_insns + 1) * sizeof(*at));
	for (unsigned i = 0; at && i < b->n_insns; i++) {
		at[i] = index_of(p, b->ip + b->insns[i].ip_off,
				 b->block->insns[i].kind == VALUE_INSN_JCC);
		if (at[i] == UINT32_MAX) {
			free(at);
			return NULL;
		}
	}
	return p->of_block.at[number] = at;
}

/* --- what happens ---------------------------------------------------------------------------- */

/* A number stays what it is from run to run; what is longer may be an address. */
static uint64_t number(uint64_t value)
{
	bool is_number = value >> 32 == 0 || value >> 31 == UINT64_MAX >> 31;
	return is_number ? value : UINT64_MAX >> 1;
}

static void add_value(struct profile_insn *insn, uint32_t hash)
{
	for (unsigned i = 0; i < insn->n_values; i++)
		if (insn->values[i] == hash)
			return;
	if (insn->n_values < PROFILE_VALUES)
		insn->values[insn->n_values++] = hash;
	else
		insn->all_values = false;
}

static void end_jump(struct slice_profile *p, uint64_t ip)
{
	if (p->jump)
		p->of.at[p->jump - 1].ways |= ip == p->target ? PROFILE_TAKEN : PROFILE_NOT_TAKEN;
	p->jump = 0;
}

void slice_profile_watch(void *profile, const struct dep_trace *trace,
			 const struct dep_mark *before, const struct dep_block *b,
			 const struct dep_event *event, const uint64_t *addresses,
			 const uint64_t *results)
{
	struct slice_profile *p = profile;
	(void)trace;
	(void)addresses;
	if (event)
		return;
	end_jump(p, b->ip);
	const uint32_t *at = indices_of(p, b);
	p->no_memory |= !at;
	for (unsigned i = 0; at && i < b->n_insns; i++) {
		struct profile_insn *insn = &p->of.at[at[i]];
		uint64_t hash = 2;
		insn->times++;
		insn->last = before->count + i;
		for (unsigned k = 0; k < b->insns[i].n_results; k++)
			hash = mix(hash, number(results[k]));
		if (b->insns[i].n_results)
			add_value(insn, (uint32_t)(hash >> 32));
		results += b->insns[i].n_results;
		if (insn->jump) {
			p->jump = at[i] + 1;
			p->target = b->block->insns[i].target;
		}
	}
}

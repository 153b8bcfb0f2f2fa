// SPDX-License-Identifier: LGPL-2.1-or-later
/* measured.c: how often blocks and functions run, where a recording has counted some of them. What
 * was counted stays; in between, what flows into a block is split among its ways: ways that were
 * counted get their count, the others share the rest as the static estimate would. */
#include "offline/program.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define ROUNDS 100
#define NEVER 0.01f    /* activations in a run of what the recording never ran */
#define TRACE_OF 1e-4f /* how much of the static estimate is kept, to order what never ran */

struct measurer {
	struct program *p;
	const uint64_t *counts;
	double *flow, *inflow;
	uint32_t *n_preds;
};

static bool counted(const struct measurer *m, uint32_t block, uint64_t *count)
{
	const struct prog_block *b = &m->p->blocks[block];
	if (b->origin == PUGMARK_NONE || b->flags & PROG_VIRTUAL)
		return false;
	*count = m->counts[b->origin];
	return *count != UINT64_MAX;
}

/* Whether all that flows into @to comes from its one predecessor, and how much that is. */
static bool pinned(const struct measurer *m, uint32_t to, double *flow)
{
	uint64_t count;
	if (m->n_preds[to] != 1 || m->p->blocks[to].flags & PROG_ROOT || !counted(m, to, &count))
		return false;
	*flow = (double)count;
	return true;
}

static void send_on(struct measurer *m, uint32_t block)
{
	const struct prog_block *b = &m->p->blocks[block];
	const uint32_t *to = prog_succs(m->p, block);
	double rest = m->flow[block], weights = 0, sure;
	uint32_t open = 0;
	for (uint32_t i = 0; i < b->n_succ; i++) {
		if (pinned(m, to[i], &sure)) {
			rest -= sure;
			continue;
		}
		weights += m->p->blocks[to[i]].freq;
		open++;
	}
	for (uint32_t i = 0; i < b->n_succ && rest > 0; i++)
		if (!pinned(m, to[i], &sure))
			m->inflow[to[i]] += weights > 0 ? rest * m->p->blocks[to[i]].freq / weights
							: rest / open;
}

/* Whether the recording holds each of the function's blocks: it is one of level paths. */
static bool all_counted(const struct measurer *m, const struct prog_func *f)
{
	uint64_t count;
	for (uint32_t b = f->block; b < f->block + f->n_blocks; b++) {
		uint32_t flags = m->p->blocks[b].flags;
		if (flags & PROG_REACHED && !(flags & PROG_VIRTUAL) && !counted(m, b, &count))
			return false;
	}
	return true;
}

static void measure_function(struct measurer *m, struct prog_func *f)
{
	uint64_t activations, count;
	uint32_t end = f->block + f->n_blocks;
	if (!f->n_blocks || !counted(m, f->block, &activations))
		return;
	f->freq = activations ? (float)activations : NEVER;
	if (!activations)
		return;
	for (uint32_t b = f->block; b < end; b++)
		m->flow[b] = counted(m, b, &count) ? (double)count : 0;
	bool more = true;
	for (int round = 0; more && round < ROUNDS; round++) {
		more = false;
		for (uint32_t b = f->block; b < end; b++)
			m->inflow[b] = 0;
		for (uint32_t b = f->block; b < end; b++)
			send_on(m, b);
		for (uint32_t b = f->block; b < end; b++) {
			if (counted(m, b, &count))
				continue;
			more |= fabs(m->inflow[b] - m->flow[b]) > 0.01 * m->inflow[b];
			m->flow[b] = m->inflow[b];
		}
	}
	if (all_counted(m, f))
		f->flags |= PROG_COUNTED;
	for (uint32_t b = f->block; b < end; b++) {
		float *freq = &m->p->blocks[b].freq;
		*freq = (float)(m->flow[b] / (double)activations) +
			TRACE_OF * (*freq < 1 ? *freq : 1);
	}
}

int program_measure(struct program *p, const uint64_t *counts)
{
	struct measurer m = {.p = p, .counts = counts};
	m.flow = calloc(p->n_blocks + 1, sizeof(*m.flow));
	m.inflow = calloc(p->n_blocks + 1, sizeof(*m.inflow));
	m.n_preds = calloc(p->n_blocks + 1, sizeof(*m.n_preds));
	int err = m.flow && m.inflow && m.n_preds ? 0 : -ENOMEM;
	for (uint32_t i = 0; !err && i < p->n_succs; i++)
		m.n_preds[p->succs[i]]++;
	for (uint32_t f = 0; !err && f < p->n_funcs; f++)
		measure_function(&m, &p->funcs[f]);
	free(m.flow);
	free(m.inflow);
	free(m.n_preds);
	return err;
}

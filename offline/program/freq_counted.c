// SPDX-License-Identifier: LGPL-2.1-or-later
/* freq_counted.c: how often blocks and functions run, where a recording has counted some of them.
 * What was counted stays; in between, the flow is that which agrees with all counts and is nearest
 * to the static estimate: the estimate's flows along the edges are scaled, in turns, to what comes
 * into each block and to what leaves it (iterative proportional fitting: Deming and Stephan, "On a
 * least squares adjustment of a sampled frequency table when the expected marginal totals are
 * known", 1940). */
#include "offline/program/program.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define ROUNDS 100
#define EXACT_ENOUGH 0.01 /* of the activations: how far flows may be off in all */
#define NEVER 0.01f	  /* activations in a run of what the recording never ran */
#define TRACE_OF 1e-4f	  /* how much of the static estimate is kept, to order what never ran */
#define UNWOUND 1e-3	  /* how often, per activation, a landing pad is taken to be reached */

struct measurer {
	struct program *p;
	const uint64_t *counts;
	double *along;		/* flow of each edge, as program->succs */
	uint32_t *come, *first; /* edges by where they lead to, and where each block's begin */
	double activations;	/* of the function in hand */
};

static bool counted(const struct measurer *m, uint32_t block, uint64_t *count)
{
	const struct prog_block *b = &m->p->blocks[block];
	if (b->origin == PUGMARK_NONE || b->flags & PROG_VIRTUAL)
		return false;
	*count = m->counts[b->origin];
	return *count != UINT64_MAX;
}

static void begin_with_estimate(struct measurer *m, const struct prog_func *f)
{
	for (uint32_t b = f->block; b < f->block + f->n_blocks; b++) {
		const struct prog_block *block = &m->p->blocks[b];
		for (uint32_t i = block->succ; i < block->succ + block->n_succ; i++)
			m->along[i] = m->activations * (block->freq + TRACE_OF) *
				      (m->p->chances[i] + TRACE_OF);
	}
}

/* What comes from nowhere in the function. */
static double from_outside(const struct measurer *m, const struct prog_func *f, uint32_t block)
{
	uint64_t count;
	if (block == f->block)
		return m->activations;
	if (!(m->p->blocks[block].flags & PROG_ROOT))
		return 0;
	double unwound = UNWOUND * m->activations;
	return counted(m, block, &count) ? fmin(unwound, (double)count) : unwound;
}

static double flow_in(const struct measurer *m, const struct prog_func *f, uint32_t block)
{
	double sum = from_outside(m, f, block);
	for (uint32_t i = m->first[block]; i < m->first[block + 1]; i++)
		sum += m->along[m->come[i]];
	return sum;
}

static double flow_out(const struct measurer *m, const struct prog_block *block)
{
	double sum = 0;
	for (uint32_t i = block->succ; i < block->succ + block->n_succ; i++)
		sum += m->along[i];
	return sum;
}

/* Whether the count of block @b is known. An entry that a loop comes back to runs more often than
 * its function is called, and only the calls are known of it. */
static bool is_known(const struct measurer *m, const struct prog_func *f, uint32_t b,
		     uint64_t *count)
{
	bool again = b == f->block && m->first[b] != m->first[b + 1];
	return !again && counted(m, b, count);
}

/* Scales the block's edges to its count or, where it has none, those that come in and those that go
 * out to one another. Returns how far they were off. */
static double fit_block(struct measurer *m, const struct prog_func *f, uint32_t b)
{
	const struct prog_block *block = &m->p->blocks[b];
	uint64_t count;
	double in = flow_in(m, f, b), out = flow_out(m, block), outside = from_outside(m, f, b);
	double flow = block->n_succ ? sqrt(in * out) : in;
	if (is_known(m, f, b, &count))
		flow = (double)count;
	double off = fabs(flow - in) + (block->n_succ ? fabs(flow - out) : 0);
	double more = in > outside ? fmax(flow - outside, 0) / (in - outside) : 1;
	for (uint32_t i = m->first[b]; i < m->first[b + 1]; i++)
		m->along[m->come[i]] *= more;
	out = flow_out(m, block); /* an edge to itself was scaled already */
	for (uint32_t i = block->succ; out > 0 && i < block->succ + block->n_succ; i++)
		m->along[i] *= flow / out;
	return off;
}

/* One turn, there and back. */
static bool fits(struct measurer *m, const struct prog_func *f)
{
	double off = 0;
	uint32_t end = f->block + f->n_blocks;
	for (uint32_t b = f->block; b < end; b++)
		fit_block(m, f, b);
	for (uint32_t b = end; b-- > f->block;)
		off += fit_block(m, f, b);
	return off < EXACT_ENOUGH * m->activations;
}

static void measure_function(struct measurer *m, struct prog_func *f)
{
	uint64_t activations, count;
	if (!f->n_blocks || !counted(m, f->block, &activations))
		return;
	f->freq = activations ? (float)activations : NEVER;
	if (!activations)
		return;
	f->flags |= PROG_COUNTED;
	m->activations = (double)activations;
	begin_with_estimate(m, f);
	for (int round = 0; round < ROUNDS && !fits(m, f); round++)
		;
	for (uint32_t b = f->block; b < f->block + f->n_blocks; b++) {
		float *freq = &m->p->blocks[b].freq;
		double flow = counted(m, b, &count) ? (double)count : flow_in(m, f, b);
		*freq = (float)(flow / m->activations) + TRACE_OF * (*freq < 1 ? *freq : 1);
	}
}

/* Lists the edges by where they lead to. */
static void turn_edges(struct measurer *m)
{
	const struct program *p = m->p;
	for (uint32_t i = 0; i < p->n_succs; i++)
		m->first[p->succs[i] + 2]++;
	for (uint32_t b = 0; b < p->n_blocks; b++)
		m->first[b + 2] += m->first[b + 1];
	for (uint32_t i = 0; i < p->n_succs; i++)
		m->come[m->first[p->succs[i] + 1]++] = i;
}

int program_measure(struct program *p, const uint64_t *counts)
{
	struct measurer m = {.p = p, .counts = counts};
	m.along = calloc(p->n_succs + 1, sizeof(*m.along));
	m.come = calloc(p->n_succs + 1, sizeof(*m.come));
	m.first = calloc(p->n_blocks + 3, sizeof(*m.first));
	int err = m.along && m.come && m.first ? 0 : -ENOMEM;
	if (!err)
		turn_edges(&m);
	for (uint32_t f = 0; !err && f < p->n_funcs; f++)
		measure_function(&m, &p->funcs[f]);
	free(m.along);
	free(m.come);
	free(m.first);
	return err;
}

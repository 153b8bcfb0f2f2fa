// SPDX-License-Identifier: LGPL-2.1-or-later
/* program_reads.c: what is asked for of calls: the values of arguments and results, where they are
 * read, and up to where they are still there; and when they begin and end. */
#include "offline/program/program_maker.h"

#include "offline/code/semantics.h"

/* What of that is read where the call begins: there the pointers are that are read through when it
 * has returned. */
enum { AT_CALL = PUGMARK_READS_ARGS | PUGMARK_READS_TIME | PUGMARK_READS_OUT };

/* What is asked for of calls from @site. */
static uint8_t reads_of_callee(const struct maker *m, uint32_t site)
{
	const struct pugmark_site *s = &m->model->sites[site];
	if (s->target != PUGMARK_NONE && s->target < m->model->n_funcs && m->options->func_reads)
		return m->options->func_reads[s->target];
	if (s->import != PUGMARK_NONE && m->options->import_reads)
		return m->options->import_reads[s->import];
	return 0;
}

uint8_t maker_reads_at_call(const struct maker *m, uint32_t site)
{
	const struct pugmark_site *s = &m->model->sites[site];
	return s->target == PUGMARK_NONE ? reads_of_callee(m, site) & AT_CALL : 0;
}

/* Whether what a call from @site returns to is to show. The result is read there of an import that
 * is timed too: that is how the trace says that it has come back. */
static bool is_end_read(const struct maker *m, uint32_t site)
{
	uint8_t reads = reads_of_callee(m, site);
	bool outside = m->model->sites[site].target == PUGMARK_NONE;
	return reads & (PUGMARK_READS_RESULT | PUGMARK_READS_OUT) ||
	       (outside && reads & PUGMARK_READS_TIME);
}

bool maker_is_timed_exit(const struct maker *m, uint32_t func, const struct pugmark_block *block)
{
	return m->options->func_reads && m->options->func_reads[func] & PUGMARK_READS_TIME &&
	       (block->end == PUGMARK_END_RET || block->end == PUGMARK_END_TAIL);
}

void maker_find_reads(struct maker *m)
{
	const struct pugmark_model *model = m->model;
	if (!m->options->func_reads && !m->options->import_reads)
		return;
	for (uint32_t f = 0; f < model->n_funcs && m->options->func_reads; f++)
		if (model->funcs[f].n_blocks)
			m->reads[model->funcs[f].block] = m->options->func_reads[f] & AT_CALL;
	for (uint32_t b = 0; b < model->n_blocks; b++) {
		const struct pugmark_block *block = &model->blocks[b];
		if (block->end != PUGMARK_END_CALL || block->site == PUGMARK_NONE ||
		    !is_end_read(m, block->site))
			continue;
		for (uint32_t i = block->edge; i < block->edge + block->n_edges; i++)
			if (model->edges[i].kind == PUGMARK_EDGE_RETURN)
				m->reads[model->edges[i].to] =
					PUGMARK_READS_RESULT |
					(reads_of_callee(m, block->site) & PUGMARK_READS_OUT);
	}
}

static bool may_store(const struct sem *sem)
{
	return sem->op == SEM_OTHER || sem->op == SEM_STORE;
}

uint32_t maker_count_intact(const struct maker *m, const struct pugmark_block *block, uint32_t n,
			    uint8_t reads)
{
	static const uint8_t args[] = {7, 6, 2, 1, 8, 9};
	uint16_t regs = reads & PUGMARK_READS_RESULT ? 1 << REG_AX : 0;
	bool memory = reads & PUGMARK_READS_RESULT && reads & PUGMARK_READS_OUT;
	if (memory) /* the call is told by its stack pointer */
		regs |= 1 << REG_SP;
	ZydisDecoder decoder;
	for (uint32_t i = 0; i < (reads & PUGMARK_READS_ARGS) && i < sizeof(args); i++)
		regs |= 1 << args[i];
	sem_decoder_init(&decoder);
	for (uint32_t i = 0; i < n; i++) {
		const struct pugmark_insn *insn = &m->model->insns[block->insn + i];
		uint64_t addr = m->model->text_addr + insn->off;
		size_t len;
		const uint8_t *bytes = pugmark_model_bytes(m->model, addr, &len);
		struct sem sem;
		if (!bytes || len < insn->len ||
		    !sem_decode(&decoder, bytes, insn->len, addr, &sem) || sem.writes & regs ||
		    (memory && may_store(&sem)))
			return i + 1;
	}
	return n;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* program_opaque.c: functions of a program that are not modelled, or not traced: which of their
 * calls may be found in progress, and which of them come back into what is traced. */
#include "offline/program/foreign_code.h"
#include "offline/program/program_maker.h"

#include <errno.h>
#include <stdlib.h>

static void add_opaque_call(struct maker *m, struct prog_opaque_call call)
{
	struct program *p = m->p;
	if (p->n_opaque_calls == m->cap_opaque) {
		uint32_t cap = m->cap_opaque ? 2 * m->cap_opaque : 256;
		struct prog_opaque_call *calls = realloc(p->opaque_calls, cap * sizeof(*calls));
		if (!calls) {
			m->failed = true;
			return;
		}
		p->opaque_calls = calls;
		m->cap_opaque = cap;
	}
	p->opaque_calls[p->n_opaque_calls++] = call;
}

void maker_make_opaque(struct maker *m, uint32_t func)
{
	const struct pugmark_func *f = &m->model->funcs[func];
	if (!f->n_blocks || m->foreign[func]) {
		add_opaque_call(m, (struct prog_opaque_call){
					   .addr = f->addr,
					   .func = func,
					   .callee = PUGMARK_NONE,
					   .flags = PROG_TAIL,
				   });
	}
	if (m->foreign[func])
		return;
	for (uint32_t i = f->site; i < f->site + f->n_sites; i++) {
		const struct pugmark_site *s = &m->model->sites[i];
		struct prog_block b = {0};
		maker_describe_call(m, i, &b);
		if (b.call == CALL_LEAF)
			continue;
		bool tail = b.flags & PROG_TAIL;
		struct pugmark_cfa cfa = pugmark_model_cfa_at(m->model, s->addr);
		uint32_t above_bp = cfa.reg == PUGMARK_CFA_BP && cfa.offset > 0
					    ? (uint32_t)cfa.offset
					    : PUGMARK_NONE;
		add_opaque_call(m, (struct prog_opaque_call){
					   .addr = s->addr,
					   .func = func,
					   .callee = s->via == PUGMARK_VIA_DIRECT &&
								     s->target < m->model->n_funcs
							     ? m->func_of[s->target]
							     : PUGMARK_NONE,
					   .height = tail ? 0 : s->height,
					   .flags = b.flags & (PROG_TAIL | PROG_NORETURN),
					   .len = b.call_len,
					   .bp = cfa.bp,
					   .above_bp = above_bp,
				   });
	}
}

/* Finds which functions that are not modelled may come back into one that is. Only calls that lead
 * to such functions may be found in progress; the others are dropped. */
static void keep_calls_back(struct program *p, bool *back)
{
	bool grew = true;
	while (grew) {
		grew = false;
		for (uint32_t i = 0; i < p->n_opaque_calls; i++) {
			const struct prog_opaque_call *call = &p->opaque_calls[i];
			bool leads = call->callee == PUGMARK_NONE ||
				     p->funcs[call->callee].n_blocks || back[call->callee];
			if (leads && !back[call->func])
				grew = back[call->func] = true;
		}
	}
	uint32_t n = 0;
	for (uint32_t i = 0; i < p->n_opaque_calls; i++) {
		struct prog_opaque_call call = p->opaque_calls[i];
		if (call.callee == PUGMARK_NONE || p->funcs[call.callee].n_blocks ||
		    back[call.callee])
			p->opaque_calls[n++] = call;
	}
	p->n_opaque_calls = n;
}

int program_settle_opaque(struct program *p)
{
	bool *back = calloc(p->n_funcs + 1, sizeof(*back));
	if (!back)
		return -ENOMEM;
	keep_calls_back(p, back);
	for (uint32_t b = 0; b < p->n_blocks; b++) {
		struct prog_block *block = &p->blocks[b];
		if (block->call != CALL_DIRECT || p->funcs[block->callee].n_blocks)
			continue;
		block->call = back[block->callee] ? CALL_UNKNOWN : CALL_LEAF;
		block->flags |= PROG_TO_OPAQUE;
	}
	free(back);
	return 0;
}

int maker_find_unknown(struct maker *m)
{
	const struct pugmark_model *model = m->model;
	struct program *p = m->p;
	p->unknown = calloc((size_t)model->n_unknown + 1, sizeof(*p->unknown));
	if (!p->unknown)
		return -ENOMEM;
	for (uint32_t i = 0; i < model->n_unknown; i++)
		if (!foreign_code_is_around(model, m->foreign, model->unknown[i]))
			p->unknown[p->n_unknown++] = model->unknown[i];
	return 0;
}

int maker_settle_opaque(struct maker *m)
{
	struct program *p = m->p;
	const struct pugmark_model *model = m->model;
	for (uint32_t s = 0; s < model->n_sites; s++) {
		const struct pugmark_site *site = &model->sites[s];
		bool opaque = m->options->opaque && m->options->opaque[site->func];
		/* it may come back by way of the linker */
		bool by_import = site->via == PUGMARK_VIA_IMPORT && !maker_is_direct(m, site);
		if (site->target != PUGMARK_NONE &&
		    ((opaque && p->funcs[site->target].n_blocks) || by_import))
			p->funcs[site->target].flags |= PROG_ENTRY_WITNESS;
	}
	return program_settle_opaque(p);
}

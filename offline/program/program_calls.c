// SPDX-License-Identifier: LGPL-2.1-or-later
/* program_calls.c: what a call of the model is in the program: a call of a known function, of code
 * that never calls back, or of code that is not known; and which calls have to show, whatever they
 * call. */
#include "offline/program/program_maker.h"

#include "offline/base/leaf_functions.h"

#include <string.h>

static bool forks_or_executes(const char *name)
{
	static const char *const names[] = {"fork",	   "vfork",   "_Fork",	"__fork", "__vfork",
					    "__libc_fork", "forkpty", "daemon", "execl",  "execle",
					    "execlp",	   "execv",   "execve", "execvp", "execvpe",
					    "execveat",	   "fexecve"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* A call under a larger frame has to show. The stack that an event brings would end before that
 * frame does, so that it could not be told that the call is open. */
#define FAR_FRAME_BYTES (16 << 10)

bool maker_is_direct(const struct maker *m, const struct pugmark_site *s)
{
	bool bound = s->via == PUGMARK_VIA_IMPORT && s->import != PUGMARK_NONE &&
		     m->options->bound && m->options->bound[s->import];
	return s->via == PUGMARK_VIA_DIRECT || bound;
}

bool maker_may_switch(const struct maker *m, uint32_t site)
{
	return m->model->sites[site].flags & PUGMARK_SITE_SWITCHES ||
	       (m->options->switches && m->options->switches[site]);
}

void maker_find_resumed(struct maker *m)
{
	const struct pugmark_model *model = m->model;
	for (uint32_t i = 0; i < model->n_sites && m->options->switches; i++) {
		const struct pugmark_site *s = &model->sites[i];
		if (!m->options->switches[i] || s->kind != PUGMARK_SITE_CALL)
			continue;
		uint32_t block = pugmark_model_block_at(model, s->return_addr);
		if (block != PUGMARK_NONE && model->blocks[block].addr == s->return_addr)
			m->resumed[block] = true;
	}
}

void maker_describe_call(const struct maker *m, uint32_t site, struct prog_block *b)
{
	const struct pugmark_model *model = m->model;
	const struct pugmark_site *s = &model->sites[site];
	b->site = site;
	b->call_off = (uint32_t)(s->addr - b->addr);
	b->call_len = s->return_addr - s->addr;
	b->height = s->height;
	b->call = CALL_UNKNOWN;
	if (s->import != PUGMARK_NONE && forks_or_executes(model->imports[s->import].name))
		b->flags |= PROG_FORKS;
	bool never = s->import != PUGMARK_NONE && m->options->never && m->options->never[s->import];
	if (s->flags & PUGMARK_SITE_NORETURN || never)
		b->flags |= PROG_NORETURN;
	if (maker_may_switch(m, site))
		b->flags |= PROG_SWITCHES;
	if (s->kind == PUGMARK_SITE_TAIL) {
		b->flags |= PROG_TAIL;
		b->height = 0;
	}
	if (maker_is_direct(m, s) && s->target != PUGMARK_NONE &&
	    model->funcs[s->target].n_blocks) {
		b->call = CALL_DIRECT;
		b->callee = m->func_of[s->target];
	} else if (s->via == PUGMARK_VIA_INDIRECT) {
		b->flags |= PROG_INDIRECT | (m->p->n_unknown ? PROG_TO_UNKNOWN : 0);
	} else if (s->via == PUGMARK_VIA_DIRECT && s->target == PUGMARK_NONE &&
		   s->kind == PUGMARK_SITE_TAIL) {
		b->flags |= PROG_STRAY;
		if (pugmark_model_func_at(model, s->target_addr) == PUGMARK_NONE)
			b->flags |= PROG_OUTSIDE;
	} else if (s->via == PUGMARK_VIA_IMPORT && s->target == PUGMARK_NONE &&
		   s->import != PUGMARK_NONE && !model->imports[s->import].ifunc &&
		   !(m->options->traced && m->options->traced[s->import]) &&
		   leaf_function(model->imports[s->import].name)) {
		b->call = CALL_LEAF;
	}
	if (b->call != CALL_LEAF && !(b->flags & PROG_TAIL) &&
	    b->height != PUGMARK_HEIGHT_UNKNOWN && b->height > FAR_FRAME_BYTES)
		b->flags |= PROG_FORKS;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* replay_paths.c: see replay_paths.h. A module's model (how long a block is) and source are opened
 * when its first block comes; without them blocks are addresses. An inlined call lasts from the
 * first instruction of it that runs to the first that is not of it. So the rounds of a loop that is
 * nothing but such a call are one call. */
#include "user/view/replay/replay_paths.h"

#include <pugmark/model.h>

#include <stdlib.h>

struct paths_module {
	struct pugmark_model *model; /* NULL: not to be had */
	struct dwarf_lines *source;  /* likewise */
	bool tried;
};

struct replay_paths {
	struct paths_module *modules; /* by number, as they are asked for */
	uint32_t n_modules;
};

int replay_paths_new(struct replay_paths **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -1;
}

void replay_paths_free(struct replay_paths *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; i < p->n_modules; i++) {
		pugmark_model_free(p->modules[i].model);
		dwarf_lines_free(p->modules[i].source);
	}
	free(p->modules);
	free(p);
}

/* The module's model and source; both NULL where the file is gone or another one. */
static const struct paths_module *module_at(struct replay *r, uint32_t module)
{
	struct replay_paths *p = r->paths;
	if (!p->modules) {
		p->modules = calloc(r->view.n_modules + 1, sizeof(*p->modules));
		p->n_modules = p->modules ? r->view.n_modules : 0;
	}
	if (module >= p->n_modules) {
		static const struct paths_module none;
		return &none;
	}
	struct paths_module *m = &p->modules[module];
	struct pugmark_diag diag;
	if (m->tried)
		return m;
	m->tried = true;
	if (block_counts_open_model(&r->view, module, NULL, &m->model, &diag))
		m->model = NULL;
	else if (dwarf_lines_open(m->model->path, &m->source, &diag))
		m->source = NULL;
	return m;
}

/* Ends the inlined calls of @level that do not contain @keep, and begins those that do, down to
 * @keep. */
static void move_to(struct replay *r, uint32_t level, const struct dwarf_lines *source,
		    uint32_t keep)
{
	const struct source_inline *in = dwarf_lines_inlines(source);
	uint32_t *now = &r->levels[level].inlined, path[64], n = 0;
	uint32_t common = *now;
	for (;; common = in[common].parent) {
		uint32_t at = keep;
		while (at != SOURCE_NONE && at != common)
			at = in[at].parent;
		if (at == common)
			break;
	}
	for (; *now != common; *now = in[*now].parent)
		if (r->format->inline_close)
			r->format->inline_close(r, level, in[*now].depth, in[*now].name);
	for (uint32_t at = keep; at != common && n < 64; at = in[at].parent)
		path[n++] = at;
	while (n--) {
		*now = path[n];
		if (r->format->inline_open)
			r->format->inline_open(r, level, in[*now].depth, in[*now].name,
					       dwarf_lines_file(source, in[*now].file),
					       in[*now].line);
	}
}

static void show_block(struct replay *r, uint32_t level, const struct pugmark_trace_event *e,
		       const struct dwarf_lines *source)
{
	struct replay_block b = {
		.from_ns = e->from_ns,
		.to_ns = e->to_ns,
		.addr = e->addr,
		.module = e->module,
		.inlined = replay_paths_depth(r, level),
	};
	const struct source_row *row = source ? dwarf_lines_row_at(source, e->addr) : NULL;
	if (row && row->line) {
		b.file = dwarf_lines_file(source, row->file);
		b.line = row->line;
	}
	if (r->format->block)
		r->format->block(r, level, &b);
}

void replay_paths_block(struct replay *r, uint32_t level, const struct pugmark_trace_event *e)
{
	const struct paths_module *m = module_at(r, e->module);
	struct replay_level *l = &r->levels[level];
	uint32_t index = m->source ? pugmark_model_block_at(m->model, e->addr) : PUGMARK_NONE;
	if (index == PUGMARK_NONE) {
		show_block(r, level, e, NULL);
		return;
	}
	const struct pugmark_block *b = &m->model->blocks[index];
	l->module = e->module;
	for (uint32_t i = 0; i < b->n_insns; i++) {
		uint64_t addr = m->model->text_addr + m->model->insns[b->insn + i].off;
		uint32_t inlined = dwarf_lines_inline_at(m->source, addr);
		if (inlined != l->inlined)
			move_to(r, level, m->source, inlined);
		if (!i)
			show_block(r, level, e, m->source);
	}
}

void replay_paths_leave(struct replay *r, uint32_t level)
{
	if (r->paths && r->levels[level].inlined != SOURCE_NONE)
		move_to(r, level, module_at(r, r->levels[level].module)->source, SOURCE_NONE);
}

uint32_t replay_paths_depth(const struct replay *r, uint32_t level)
{
	const struct replay_level *l = &r->levels[level];
	if (!r->paths || l->inlined == SOURCE_NONE)
		return 0;
	return dwarf_lines_inlines(r->paths->modules[l->module].source)[l->inlined].depth + 1;
}

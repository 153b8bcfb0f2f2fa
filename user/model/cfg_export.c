// SPDX-License-Identifier: LGPL-2.1-or-later
/* cfg_export.c: the whole model as text, one item a line, for tools that check or consume it. */
#include "user/cli/printable.h"
#include "user/model/cfg_names.h"
#include "user/model/cfg_print.h"

#include <inttypes.h>

/* Addresses are hexadecimal without 0x; a missing one is `-`; flags are names joined by commas, or
 * `-`. */
static void print_func(const struct pugmark_model *m, uint32_t func, FILE *out)
{
	const struct pugmark_func *f = &m->funcs[func];
	fprintf(out, "F %" PRIx64 " ", f->addr);
	printable_print(out, f->name, PRINT_TEXT);
	fputc(' ', out);
	cfg_print_flags(out, f->flags, cfg_func_flags);
	fputc('\n', out);
	for (uint32_t i = 0; i < f->n_parts; i++) {
		const struct pugmark_part *p = &m->parts[f->part + i];
		fprintf(out, "P %" PRIx64 " %" PRIx64 " %" PRIx64 "\n", f->addr, p->addr, p->end);
	}
}

static void print_block(const struct pugmark_model *m, uint32_t block, FILE *out)
{
	const struct pugmark_block *b = &m->blocks[block];
	fprintf(out, "B %" PRIx64 " %" PRIx32 " %s %" PRIx64 " ", b->addr, b->size,
		cfg_end_names[b->end], m->funcs[b->func].addr);
	cfg_print_flags(out, b->flags, cfg_block_flags);
	fputc('\n', out);
	for (uint32_t i = 0; i < b->n_edges; i++) {
		const struct pugmark_edge *e = &m->edges[b->edge + i];
		fprintf(out, "E %" PRIx64 " %" PRIx64 " %s\n", b->addr, m->blocks[e->to].addr,
			cfg_edge_names[e->kind]);
	}
}

static void print_site(const struct pugmark_model *m, uint32_t site, FILE *out)
{
	const struct pugmark_site *s = &m->sites[site];
	fprintf(out, "S %" PRIx64 " %s %s ", s->addr, cfg_site_names[s->kind],
		cfg_via_names[s->via]);
	if (s->target != PUGMARK_NONE)
		fprintf(out, "%" PRIx64, m->funcs[s->target].addr);
	else if (s->target_addr)
		fprintf(out, "%" PRIx64, s->target_addr);
	else
		fputc('-', out);
	const char *import = s->import == PUGMARK_NONE ? "-" : m->imports[s->import].name;
	fputc(' ', out);
	printable_print(out, *import ? import : "?", PRINT_TEXT);
	fputc(' ', out);
	cfg_print_flags(out, s->flags, cfg_site_flags);
	if (s->height == PUGMARK_HEIGHT_UNKNOWN)
		fputs(" -\n", out);
	else
		fprintf(out, " %" PRId32 "\n", s->height);
}

void cfg_export(const struct pugmark_model *model, FILE *out)
{
	for (uint32_t i = 0; i < model->n_funcs; i++) {
		const struct pugmark_func *f = &model->funcs[i];
		print_func(model, i, out);
		for (uint32_t k = 0; k < f->n_blocks; k++)
			print_block(model, f->block + k, out);
		for (uint32_t k = 0; k < f->n_sites; k++)
			print_site(model, f->site + k, out);
	}
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* cfg_dot.c: one function as a Graphviz picture. */
#include "offline/code/cscfg.h"
#include "user/cli/printable.h"
#include "user/model/cfg_names.h"
#include "user/model/cfg_print.h"

#include <inttypes.h>
#include <stdlib.h>

/* A name inside a quoted string. */
static void print_quoted(const char *name, FILE *out)
{
	char *plain = pugmark_demangle(name);
	printable_print(out, plain ? plain : name, PRINT_DOT);
	free(plain);
}

static void print_callee(const struct pugmark_model *m, const struct pugmark_site *s, FILE *out)
{
	if (s->import != PUGMARK_NONE)
		print_quoted(m->imports[s->import].name, out);
	else if (s->target != PUGMARK_NONE)
		print_quoted(m->funcs[s->target].name, out);
	else if (s->target_addr)
		fprintf(out, "%" PRIx64, s->target_addr);
	else
		fputs("indirect", out);
}

static void open_graph(const struct pugmark_model *m, uint32_t func, FILE *out)
{
	fputs("digraph \"", out);
	print_quoted(m->funcs[func].name, out);
	fputs("\" {\n\tnode [shape=box, fontname=monospace];\n", out);
}

/* How wide an edge is drawn that was taken @n of at most @most times. */
static double edge_width(uint64_t n, uint64_t most)
{
	return n ? 1 + 4.0 * (double)n / (double)most : 1;
}

int cfg_dot_blocks(const struct pugmark_model *m, uint32_t func, const uint64_t *block_counts,
		   const uint64_t *edge_counts, FILE *out)
{
	const struct pugmark_func *f = &m->funcs[func];
	uint64_t most = 1;
	for (uint32_t i = f->block; edge_counts && i < f->block + f->n_blocks; i++)
		for (uint32_t e = m->blocks[i].edge; e < m->blocks[i].edge + m->blocks[i].n_edges;
		     e++)
			most = edge_counts[e] > most ? edge_counts[e] : most;
	open_graph(m, func, out);
	for (uint32_t i = f->block; i < f->block + f->n_blocks; i++) {
		const struct pugmark_block *b = &m->blocks[i];
		fprintf(out, "\tb%" PRIx64 " [label=\"%" PRIx64 " %s", b->addr, b->addr,
			cfg_end_names[b->end]);
		if (b->site != PUGMARK_NONE) {
			fputc(' ', out);
			print_callee(m, &m->sites[b->site], out);
		}
		bool ran = !block_counts || block_counts[i];
		if (block_counts)
			fprintf(out, "\\n×%" PRIu64, block_counts[i]);
		fputs(b->flags & PUGMARK_BLOCK_UNREACHED ? "\", style=dashed];\n"
		      : ran				 ? "\"];\n"
							 : "\", color=gray, fontcolor=gray];\n",
		      out);
		for (uint32_t k = 0; k < b->n_edges; k++) {
			const struct pugmark_edge *e = &m->edges[b->edge + k];
			fprintf(out, "\tb%" PRIx64 " -> b%" PRIx64 " [label=\"%s", b->addr,
				m->blocks[e->to].addr, cfg_edge_names[e->kind]);
			if (edge_counts) {
				uint64_t n = edge_counts[b->edge + k];
				fprintf(out, " %" PRIu64 "\", penwidth=%.1f%s];\n", n,
					edge_width(n, most),
					n ? "" : ", color=gray, fontcolor=gray");
			} else {
				fputs("\"];\n", out);
			}
		}
	}
	fputs("}\n", out);
	return 0;
}

int cfg_dot_sites(const struct pugmark_model *m, uint32_t func, FILE *out)
{
	struct cscfg g;
	int err = cscfg_build(m, func, &g);
	if (err)
		return err;
	open_graph(m, func, out);
	fprintf(out, "\tn%" PRIu32 " [label=entry, shape=oval];\n", g.entry);
	fprintf(out, "\tn%" PRIu32 " [label=exit, shape=oval];\n", g.exit);
	for (uint32_t i = 0; i < g.n_sites; i++) {
		const struct pugmark_site *s = &m->sites[m->funcs[func].site + i];
		fprintf(out, "\tn%" PRIu32 " [label=\"%" PRIx64 " %s ", i, s->addr,
			cfg_site_names[s->kind]);
		print_callee(m, s, out);
		fputs("\"];\n", out);
	}
	for (uint32_t i = 0; i < g.exit; i++)
		for (uint32_t k = g.first[i]; k < g.first[i + 1]; k++)
			fprintf(out, "\tn%" PRIu32 " -> n%" PRIu32 ";\n", i, g.to[k]);
	fputs("}\n", out);
	cscfg_deinit(&g);
	return 0;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* cfg_text.c: the model for people. */
#include "offline/code/cscfg.h"
#include "user/cli/command.h"
#include "user/model/cfg_names.h"
#include "user/model/cfg_print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void cfg_count(const struct pugmark_model *m, struct cfg_counts *c)
{
	*c = (struct cfg_counts){0};
	for (uint32_t i = 0; i < m->n_funcs; i++) {
		c->text_bytes += m->funcs[i].size;
		c->cold_parts += m->funcs[i].n_parts - 1;
		c->opaque += !!(m->funcs[i].flags & PUGMARK_FUNC_OPAQUE);
		c->address_taken += !!(m->funcs[i].flags & PUGMARK_FUNC_ADDRESS_TAKEN);
		c->noreturn += !!(m->funcs[i].flags & PUGMARK_FUNC_NORETURN);
	}
	for (uint32_t i = 0; i < m->n_blocks; i++) {
		const struct pugmark_block *b = &m->blocks[i];
		c->unreached += !!(b->flags & PUGMARK_BLOCK_UNREACHED);
		c->pads += !!(b->flags & PUGMARK_BLOCK_LANDING_PAD);
		c->setjmp_returns += !!(b->flags & PUGMARK_BLOCK_SETJMP_RETURN);
		c->returns += b->end == PUGMARK_END_RET;
		c->open += b->end == PUGMARK_END_OPEN;
		if (b->end == PUGMARK_END_TABLE)
			++*(b->flags & PUGMARK_BLOCK_TABLE_NATURAL ? &c->natural : &c->proven);
	}
	for (uint32_t i = 0; i < m->n_sites; i++) {
		const struct pugmark_site *s = &m->sites[i];
		c->unknown_heights += s->height == PUGMARK_HEIGHT_UNKNOWN;
		if (s->kind == PUGMARK_SITE_TAIL)
			c->tails++;
		else
			++*(s->via == PUGMARK_VIA_DIRECT   ? &c->direct
			    : s->via == PUGMARK_VIA_IMPORT ? &c->imported
							   : &c->indirect);
	}
	for (uint32_t i = 0; i < m->n_insns; i++)
		c->probes[m->insns[i].probe]++;
}

static int print_summary(const struct pugmark_model *m, FILE *out)
{
	struct cfg_counts c;
	cfg_count(m, &c);
	command_print_safe(out, m->path);
	fputc('\n', out);
	fputs("  build id      ", out);
	for (uint32_t i = 0; i < m->build_id_len; i++)
		fprintf(out, "%02x", m->build_id[i]);
	fprintf(out, "%s\n", m->build_id_len ? "" : "none");
	fprintf(out, "  code          %" PRIu64 " bytes in functions, %s\n", c.text_bytes,
		m->pie ? "position-independent" : "at fixed addresses");
	fprintf(out,
		"  functions     %" PRIu32 " (%" PRIu32 " cold parts; %" PRIu32
		" address-taken, %" PRIu32 " never return, %" PRIu32 " opaque)\n",
		m->n_funcs, c.cold_parts, c.address_taken, c.noreturn, c.opaque);
	fprintf(out, "  blocks        %" PRIu32 " (%" PRIu32 " unreached)\n", m->n_blocks,
		c.unreached);
	fprintf(out, "  edges         %" PRIu32 "\n", m->n_edges);
	fprintf(out,
		"  instructions  %" PRIu32 " (probes: %" PRIu32 " emulated, %" PRIu32
		" stepped, %" PRIu32 " refused, %" PRIu32 " 5-byte nops)\n",
		m->n_insns, c.probes[PUGMARK_PROBE_EMULATED], c.probes[PUGMARK_PROBE_STEPPED],
		c.probes[PUGMARK_PROBE_REFUSED], c.probes[PUGMARK_PROBE_NOP5]);
	fprintf(out,
		"  calls         %" PRIu32 " direct, %" PRIu32 " to imports, %" PRIu32
		" indirect\n",
		c.direct, c.imported, c.indirect);
	fprintf(out, "  leaving       %" PRIu32 " returns, %" PRIu32 " tail jumps\n", c.returns,
		c.tails);
	fprintf(out,
		"  indirect jumps %" PRIu32 " proven tables, %" PRIu32 " by natural end, %" PRIu32
		" open\n",
		c.proven, c.natural, c.open);
	fprintf(out, "  landing pads  %" PRIu32 ", returns of setjmp %" PRIu32 "\n", c.pads,
		c.setjmp_returns);
	fprintf(out, "  stack height  unknown at %" PRIu32 " of %" PRIu32 " sites\n",
		c.unknown_heights, m->n_sites);
	return 0;
}

static void print_name(const char *name, FILE *out)
{
	char *plain = pugmark_demangle(name);
	command_print_safe(out, plain ? plain : name);
	free(plain);
}

static int print_list(const struct pugmark_model *m, FILE *out)
{
	fprintf(out, "%-16s %8s %7s %7s  %s\n", "address", "bytes", "blocks", "sites", "function");
	for (uint32_t i = 0; i < m->n_funcs; i++) {
		const struct pugmark_func *f = &m->funcs[i];
		fprintf(out, "%-16" PRIx64 " %8" PRIu64 " %7" PRIu32 " %7" PRIu32 "  ", f->addr,
			f->size, f->n_blocks, f->n_sites);
		print_name(f->name, out);
		if (f->flags) {
			fputs(" [", out);
			cfg_print_flags(out, f->flags, cfg_func_flags);
			fputc(']', out);
		}
		fputc('\n', out);
	}
	return 0;
}

/* The callee of a site, in words. */
static void print_callee(const struct pugmark_model *m, const struct pugmark_site *s, FILE *out)
{
	if (s->import != PUGMARK_NONE) {
		const char *name = m->imports[s->import].name;
		print_name(*name ? name : "?", out);
		fputs(" (import)", out);
	} else if (s->target != PUGMARK_NONE) {
		print_name(m->funcs[s->target].name, out);
	} else if (s->target_addr) {
		fprintf(out, "%" PRIx64, s->target_addr);
	} else {
		fputs("(indirect)", out);
	}
}

static void print_site(const struct pugmark_model *m, const struct pugmark_site *s, FILE *out)
{
	fprintf(out, "    %" PRIx64 " %s ", s->addr, cfg_site_names[s->kind]);
	print_callee(m, s, out);
	if (s->height == PUGMARK_HEIGHT_UNKNOWN)
		fputs(", height unknown", out);
	else
		fprintf(out, ", height %" PRId32, s->height);
	if (s->flags) {
		fputs(", ", out);
		cfg_print_flags(out, s->flags, cfg_site_flags);
	}
	fputc('\n', out);
}

static int print_function(const struct pugmark_model *m, uint32_t func, FILE *out)
{
	const struct pugmark_func *f = &m->funcs[func];
	print_name(f->name, out);
	fprintf(out, ": %" PRIu64 " bytes, ", f->size);
	cfg_print_flags(out, f->flags, cfg_func_flags);
	fputc('\n', out);
	for (uint32_t i = 0; i < f->n_parts; i++) {
		const struct pugmark_part *p = &m->parts[f->part + i];
		fprintf(out, "  part %" PRIx64 "..%" PRIx64 "%s\n", p->addr, p->end,
			p->cold ? " cold" : "");
	}
	for (uint32_t i = f->block; i < f->block + f->n_blocks; i++) {
		const struct pugmark_block *b = &m->blocks[i];
		fprintf(out, "  block %" PRIx64 " %" PRIu32 " bytes, %" PRIu32 " instructions, %s",
			b->addr, b->size, b->n_insns, cfg_end_names[b->end]);
		if (b->flags) {
			fputs(" [", out);
			cfg_print_flags(out, b->flags, cfg_block_flags);
			fputc(']', out);
		}
		for (uint32_t k = 0; k < b->n_edges; k++) {
			const struct pugmark_edge *e = &m->edges[b->edge + k];
			fprintf(out, "%s %s %" PRIx64, k ? "," : " ->", cfg_edge_names[e->kind],
				m->blocks[e->to].addr);
		}
		fputc('\n', out);
		if (b->site != PUGMARK_NONE)
			print_site(m, &m->sites[b->site], out);
	}
	return 0;
}

static void print_node(const struct pugmark_model *m, const struct cscfg *g, uint32_t node,
		       FILE *out)
{
	if (node == g->entry)
		fputs("entry", out);
	else if (node == g->exit)
		fputs("exit", out);
	else
		fprintf(out, "%" PRIx64, m->sites[m->funcs[g->func].site + node].addr);
}

static int print_call_sites(const struct pugmark_model *m, uint32_t func, FILE *out)
{
	struct cscfg g;
	int err = cscfg_build(m, func, &g);
	if (err)
		return err;
	print_name(m->funcs[func].name, out);
	fprintf(out, ": %" PRIu32 " sites, %" PRIu32 " edges\n", g.n_sites, g.first[g.exit + 1]);
	for (uint32_t i = 0; i < g.exit; i++) {
		uint32_t node = i ? i - 1 : g.entry;
		fputs("  ", out);
		print_node(m, &g, node, out);
		if (node < g.n_sites) {
			fputc(' ', out);
			print_callee(m, &m->sites[m->funcs[func].site + node], out);
		}
		for (uint32_t k = g.first[node]; k < g.first[node + 1]; k++) {
			fputs(k == g.first[node] ? " -> " : ", ", out);
			print_node(m, &g, g.to[k], out);
		}
		fputc('\n', out);
	}
	cscfg_deinit(&g);
	return 0;
}

static int print_call_graph(const struct pugmark_model *m, FILE *out)
{
	struct call_graph g;
	int err = call_graph_build(m, &g);
	if (err)
		return err;
	for (uint32_t i = 0; i < m->n_funcs; i++)
		for (uint32_t k = g.first[i]; k < g.first[i + 1]; k++) {
			print_name(m->funcs[i].name, out);
			fputs(" -> ", out);
			print_name(m->funcs[g.callee[k]].name, out);
			fprintf(out, " (%" PRIu32 ")\n", g.n_sites[k]);
		}
	call_graph_deinit(&g);
	return 0;
}

const struct cfg_format cfg_text = {
	.name = "text",
	.summary = print_summary,
	.list = print_list,
	.function = print_function,
	.call_sites = print_call_sites,
	.call_graph = print_call_graph,
};

// SPDX-License-Identifier: LGPL-2.1-or-later
/* cfg_json.c: the model as JSON. Addresses are strings of hexadecimal digits, as in every other
 * output. Lists go out one element at a time: a big module has millions of items. */
#include "offline/code/cscfg.h"
#include "user/model/cfg_names.h"
#include "user/model/cfg_print.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>

static json_t *address(uint64_t addr)
{
	return json_sprintf("%" PRIx64, addr);
}

static json_t *names_of(uint32_t flags, const struct flag_name *names)
{
	json_t *array = json_array();
	for (; names->name; names++)
		if (flags & names->flag)
			json_array_append_new(array, json_string(names->name));
	return array;
}

/* A string that may not be UTF-8: its bytes then stand for themselves. */
static json_t *text(const char *bytes)
{
	json_t *string = json_string(bytes);
	if (string)
		return string;
	json_t *codes = json_array();
	for (; *bytes; bytes++)
		json_array_append_new(codes, json_integer((unsigned char)*bytes));
	return codes;
}

/* Writes @value, which it takes, and @after. */
static int emit(json_t *value, const char *after, FILE *out)
{
	if (!value)
		return -ENOMEM;
	int failed = json_dumpf(value, out, JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
	json_decref(value);
	fputs(after, out);
	return failed ? -EIO : 0;
}

static int json_summary(const struct pugmark_model *m, FILE *out)
{
	struct cfg_counts c;
	char id[2 * sizeof(m->build_id) + 1] = "";
	cfg_count(m, &c);
	for (uint32_t i = 0; i < m->build_id_len; i++)
		snprintf(id + 2 * i, 3, "%02x", m->build_id[i]);
	json_t *probes = json_object(), *root = json_object();
	for (int i = PUGMARK_PROBE_EMULATED; i <= PUGMARK_PROBE_REFUSED; i++)
		json_object_set_new(probes, cfg_probe_names[i], json_integer(c.probes[i]));
	json_object_set_new(root, "path", text(m->path));
	json_object_set_new(root, "build_id", json_string(id));
	json_object_set_new(root, "pie", json_boolean(m->pie));
	const struct {
		const char *name;
		uint64_t value;
	} numbers[] = {
		{"code_bytes", c.text_bytes},
		{"functions", m->n_funcs},
		{"cold_parts", c.cold_parts},
		{"address_taken", c.address_taken},
		{"noreturn", c.noreturn},
		{"opaque", c.opaque},
		{"instructions", m->n_insns},
		{"blocks", m->n_blocks},
		{"unreached_blocks", c.unreached},
		{"edges", m->n_edges},
		{"direct_calls", c.direct},
		{"import_calls", c.imported},
		{"indirect_calls", c.indirect},
		{"tail_jumps", c.tails},
		{"returns", c.returns},
		{"proven_tables", c.proven},
		{"natural_tables", c.natural},
		{"open_jumps", c.open},
		{"landing_pads", c.pads},
		{"setjmp_returns", c.setjmp_returns},
		{"unknown_heights", c.unknown_heights},
	};
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		json_object_set_new(root, numbers[i].name,
				    json_integer((json_int_t)numbers[i].value));
	json_object_set_new(root, "probes", probes);
	return emit(root, "\n", out);
}

static json_t *function_head(const struct pugmark_model *m, uint32_t func)
{
	const struct pugmark_func *f = &m->funcs[func];
	json_t *parts = json_array();
	for (uint32_t i = 0; i < f->n_parts; i++) {
		const struct pugmark_part *p = &m->parts[f->part + i];
		json_array_append_new(parts,
				      json_pack("{s:o, s:o, s:b}", "address", address(p->addr),
						"end", address(p->end), "cold", p->cold));
	}
	return json_pack("{s:o, s:o, s:I, s:i, s:i, s:o, s:o}", "address", address(f->addr), "name",
			 text(f->name), "bytes", (json_int_t)f->size, "n_blocks", (int)f->n_blocks,
			 "n_sites", (int)f->n_sites, "flags", names_of(f->flags, cfg_func_flags),
			 "parts", parts);
}

static int json_list(const struct pugmark_model *m, FILE *out)
{
	int err = 0;
	fputs("[", out);
	for (uint32_t i = 0; i < m->n_funcs && !err; i++)
		err = emit(function_head(m, i), i + 1 < m->n_funcs ? ",\n" : "", out);
	fputs("]\n", out);
	return err;
}

static json_t *site_of(const struct pugmark_model *m, const struct pugmark_site *s)
{
	json_t *site = json_pack("{s:o, s:s, s:s, s:o, s:o}", "address", address(s->addr), "kind",
				 cfg_site_names[s->kind], "via", cfg_via_names[s->via], "flags",
				 names_of(s->flags, cfg_site_flags), "return_address",
				 address(s->return_addr));
	if (s->target != PUGMARK_NONE) {
		json_object_set_new(site, "target", address(m->funcs[s->target].addr));
		json_object_set_new(site, "target_name", text(m->funcs[s->target].name));
	} else if (s->target_addr) {
		json_object_set_new(site, "target", address(s->target_addr));
	}
	if (s->import != PUGMARK_NONE)
		json_object_set_new(site, "import", text(m->imports[s->import].name));
	json_object_set_new(site, "height",
			    s->height == PUGMARK_HEIGHT_UNKNOWN ? json_null()
								: json_integer(s->height));
	return site;
}

static json_t *block_of(const struct pugmark_model *m, const struct pugmark_block *b)
{
	json_t *edges = json_array();
	for (uint32_t k = 0; k < b->n_edges; k++) {
		const struct pugmark_edge *e = &m->edges[b->edge + k];
		json_array_append_new(edges,
				      json_pack("{s:o, s:s}", "to", address(m->blocks[e->to].addr),
						"kind", cfg_edge_names[e->kind]));
	}
	json_t *block = json_pack("{s:o, s:i, s:i, s:s, s:o, s:o}", "address", address(b->addr),
				  "bytes", (int)b->size, "instructions", (int)b->n_insns, "end",
				  cfg_end_names[b->end], "flags",
				  names_of(b->flags, cfg_block_flags), "edges", edges);
	if (b->site != PUGMARK_NONE)
		json_object_set_new(block, "site", site_of(m, &m->sites[b->site]));
	return block;
}

static int json_function(const struct pugmark_model *m, uint32_t func, FILE *out)
{
	const struct pugmark_func *f = &m->funcs[func];
	json_t *root = function_head(m, func), *blocks = json_array();
	for (uint32_t i = f->block; i < f->block + f->n_blocks; i++)
		json_array_append_new(blocks, block_of(m, &m->blocks[i]));
	json_object_set_new(root, "blocks", blocks);
	return emit(root, "\n", out);
}

static json_t *node_name(const struct pugmark_model *m, const struct cscfg *g, uint32_t node)
{
	if (node == g->entry)
		return json_string("entry");
	if (node == g->exit)
		return json_string("exit");
	return address(m->sites[m->funcs[g->func].site + node].addr);
}

static int json_call_sites(const struct pugmark_model *m, uint32_t func, FILE *out)
{
	struct cscfg g;
	int err = cscfg_build(m, func, &g);
	if (err)
		return err;
	json_t *nodes = json_array();
	for (uint32_t i = 0; i < g.exit; i++) {
		json_t *to = json_array();
		for (uint32_t k = g.first[i]; k < g.first[i + 1]; k++)
			json_array_append_new(to, node_name(m, &g, g.to[k]));
		json_t *node = json_pack("{s:o, s:o}", "node", node_name(m, &g, i), "to", to);
		if (i < g.n_sites)
			json_object_set_new(node, "site",
					    site_of(m, &m->sites[m->funcs[func].site + i]));
		json_array_append_new(nodes, node);
	}
	cscfg_deinit(&g);
	return emit(json_pack("{s:o, s:o, s:o}", "address", address(m->funcs[func].addr), "name",
			      text(m->funcs[func].name), "nodes", nodes),
		    "\n", out);
}

static int json_call_graph(const struct pugmark_model *m, FILE *out)
{
	struct call_graph g;
	int err = call_graph_build(m, &g);
	if (err)
		return err;
	const char *comma = "";
	fputs("[", out);
	for (uint32_t i = 0; i < m->n_funcs && !err; i++)
		for (uint32_t k = g.first[i]; k < g.first[i + 1] && !err; k++) {
			fputs(comma, out);
			comma = ",\n";
			err = emit(json_pack("{s:o, s:o, s:i}", "caller", address(m->funcs[i].addr),
					     "callee", address(m->funcs[g.callee[k]].addr), "sites",
					     (int)g.n_sites[k]),
				   "", out);
		}
	fputs("]\n", out);
	call_graph_deinit(&g);
	return err;
}

const struct cfg_format cfg_json = {
	.name = "json",
	.summary = json_summary,
	.list = json_list,
	.function = json_function,
	.call_sites = json_call_sites,
	.call_graph = json_call_graph,
};

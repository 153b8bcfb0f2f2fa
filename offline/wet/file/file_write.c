// SPDX-License-Identifier: LGPL-2.1-or-later
/* file_write.c: streams as they come, behind a head of fixed size; then the index. All numbers are
 * LEB128:
 *
 *   head    WET_MAGIC, where the index begins, its bytes, the checksum of streams and index: 8
 *           bytes each
 *   index   totals; sizes; modules; statements; nodes; edges; what is executed again; bytes of each
 *           stream
 *
 * Streams have no numbers there: they are met in the order of struct wet_sink. */
#include "offline/wet/file/file_impl.h"

#include "offline/base/checksum.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct writing {
	FILE *out;
	uint64_t at;
	struct bytes index, lengths;
	uint64_t n_streams;
	uint32_t checksum; /* of what was written behind the head */
};

static int put_stream(void *ctx, const uint8_t *bytes, size_t len)
{
	struct writing *w = ctx;
	if (len && fwrite(bytes, len, 1, w->out) != 1)
		return -errno;
	w->at += len;
	w->checksum = checksum_join(w->checksum, checksum(bytes, len), len);
	w->n_streams++;
	bytes_put_varint(&w->lengths, len);
	return w->lengths.failed ? -ENOMEM : 0;
}

static void put_text(struct bytes *to, const char *text)
{
	size_t len = text ? strlen(text) : 0;
	bytes_put_varint(to, len);
	bytes_put(to, text, len);
}

static void put_size(struct bytes *to, const struct wet_size *s)
{
	bytes_put_varint(to, s->original);
	bytes_put_varint(to, s->tier1);
	bytes_put_varint(to, s->tier2);
}

static void put_sizes(struct bytes *to, const struct wet_sizes *s)
{
	put_size(to, &s->times);
	put_size(to, &s->values);
	put_size(to, &s->edges);
	for (int i = 0; i < WET_KINDS; i++) {
		bytes_put_varint(to, s->chosen[i]);
		bytes_put_varint(to, s->bytes[i]);
	}
	for (int i = 0; i < WET_OFS; i++)
		bytes_put_varint(to, s->of[i]);
	for (int i = 0; i < AGAIN_PARTS; i++)
		bytes_put_varint(to, s->again[i]);
	bytes_put_varint(to, s->edge_labels);
	bytes_put_varint(to, s->edge_labels_kept);
}

/* Its ELF address in @module, or (WET_NONE) its run-time one. */
static uint64_t stmt_place(const struct wet_places *places, uint64_t ip, uint32_t *module)
{
	uint64_t addr = ip;
	*module = WET_NONE;
	if (!places->at(places->ctx, ip, module, &addr) && *module >= places->n_modules) {
		*module = WET_NONE;
		addr = ip;
	}
	return addr;
}

static void put_node(struct bytes *to, const struct wet_node *n, const struct wet_stmt *stmts,
		     const struct wet_places *places)
{
	uint32_t module;
	uint64_t addr, before = 0;
	put_text(to, n->n_stmts ? places->at(places->ctx, stmts[n->first_stmt].ip, &module, &addr)
				: NULL);
	bytes_put_varint(to, n->n_stmts);
	for (uint32_t i = n->first_stmt; i < n->first_stmt + n->n_stmts; i++) {
		addr = stmt_place(places, stmts[i].ip, &module);
		bytes_put_varint(to, (uint32_t)(module + 1));
		bytes_put_varint(to, zigzag((int64_t)(addr - before)));
		bytes_put_varint(to, stmts[i].n_results);
		before = addr;
	}
	bytes_put_varint(to, n->executions);
	bytes_put_varint(to, n->n_next);
	for (uint32_t i = 0; i < n->n_next; i++)
		bytes_put_varint(to, n->next[i]);
	bytes_put_varint(to, n->n_groups);
	for (uint32_t i = 0; i < n->n_groups; i++) {
		bytes_put_varint(to, n->groups[i].width);
		bytes_put_varint(to, n->groups[i].executed	? WET_VALUES_EXECUTED
				     : n->groups[i].n_uvals > 1 ? WET_VALUES_STORED
								: WET_VALUES_ONE);
	}
	bytes_put_varint(to, n->n_values);
	for (uint32_t i = 0; i < n->n_values; i++)
		bytes_put_varint(to, n->order[i]);
}

static void put_edge(struct bytes *to, const struct wet_edge *e, bool executed)
{
	bytes_put_varint(to, e->to);
	bytes_put_varint(to, e->from);
	bytes_put_varint(to, e->operand);
	bytes_put_varint(to, e->n);
	executed = executed && e->operand != WET_CONTROL;
	bytes_put_varint(to, e->inferred ? WET_LABELS_INFERRED
			     : executed	 ? WET_LABELS_EXECUTED
			     : e->shares ? WET_LABELS_SHARED + e->shares - 1
					 : WET_LABELS_OWN);
}

/* Of each node the units that something outside has set behind its first execution: 0: none, the
 * number of a set that was there before, or one more and that set. */
static void put_behind(struct bytes *to, const struct wet_node *nodes, uint32_t n)
{
	struct dep_units sets[WET_SETS_MAX];
	uint32_t n_sets = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t k = 0;
		while (k < n_sets && memcmp(&sets[k], &nodes[i].behind, sizeof(*sets)) != 0)
			k++;
		bool any = dep_units_any(&nodes[i].behind) && k < WET_SETS_MAX;
		bytes_put_varint(to, any ? k + 1 : 0);
		if (!any || k < n_sets)
			continue;
		bytes_put(to, &nodes[i].behind, sizeof(*sets));
		sets[n_sets++] = nodes[i].behind;
	}
}

/* Where statements are in memory. */
static void put_ips(struct bytes *to, const struct wet_stmt *stmts, uint32_t n,
		    const struct wet_places *places)
{
	uint64_t before = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t module;
		uint64_t addr = stmt_place(places, stmts[i].ip, &module);
		bytes_put_varint(to, zigzag((int64_t)(stmts[i].ip - addr - before)));
		before = stmts[i].ip - addr;
	}
}

static void put_again(struct bytes *to, const struct wet_graph *graph, const struct noted *noted,
		      const struct wet_places *places)
{
	const struct bytes *executions;
	uint32_t n_cuts;
	const struct wet_cut *cuts = wet_graph_cuts(graph, &n_cuts, &executions);
	bytes_put_varint(to, noted ? noted->n : 0);
	for (uint32_t i = 0; noted && i < noted->n; i++) {
		const struct again_block *b = &noted->blocks[i];
		bytes_put_varint(to, i < n_cuts ? cuts[i].paths : 0);
		bytes_put_varint(to, b->n_results);
		bytes_put_varint(to, b->n_insns);
		bytes_put_varint(to, b->n_told);
		bytes_put_varint(to, b->n_turns);
		bytes_put_varint(to, b->sum);
	}
	bytes_put_varint(to, noted ? noted->n_pages : 0);
	for (uint32_t i = 0; noted && i < noted->n_pages; i++)
		bytes_put_varint(to, noted->addrs[i] / VALUE_PAGE);
	if (!noted || !noted->n)
		return;
	uint32_t n_nodes, n_stmts;
	const struct wet_node *nodes = wet_graph_nodes(graph, &n_nodes);
	const struct wet_stmt *stmts = wet_graph_stmts(graph, &n_stmts);
	put_behind(to, nodes, n_nodes);
	put_ips(to, stmts, n_stmts, places);
}

static void put_index(struct writing *w, const struct wet_graph *graph, const struct noted *noted,
		      const struct wet_places *places, bool partial, const struct wet_sizes *sizes)
{
	struct bytes *to = &w->index;
	struct wet_totals t;
	uint32_t n_nodes, n_stmts, first = wet_graph_first(graph);
	const struct wet_node *nodes = wet_graph_nodes(graph, &n_nodes);
	const struct wet_stmt *stmts = wet_graph_stmts(graph, &n_stmts);
	const struct wet_edges *edges = wet_graph_edges(graph);
	wet_graph_totals(graph, &t);
	/* Whether it is partial is the lowest bit of how many statements are not wholly exact. */
	const uint64_t totals[] = {
		t.statements,
		t.blocks,
		t.paths,
		t.values,
		t.dependences,
		t.decided,
		t.inexact << 1 | partial,
		noted != NULL,
		(uint32_t)(first + 1),
	};
	for (size_t i = 0; i < sizeof(totals) / sizeof(*totals); i++)
		bytes_put_varint(to, totals[i]);
	put_sizes(to, sizes);
	bytes_put_varint(to, places->n_modules);
	for (uint32_t i = 0; i < places->n_modules; i++)
		put_text(to, places->module(places->ctx, i));
	bytes_put_varint(to, n_nodes);
	for (uint32_t i = 0; i < n_nodes; i++)
		put_node(to, &nodes[i], stmts, places);
	bytes_put_varint(to, edges->n);
	for (uint32_t i = 0; i < edges->n; i++)
		put_edge(to, &edges->at[i], noted);
	put_again(to, graph, noted, places);
	bytes_put_varint(to, w->n_streams);
	bytes_put(to, w->lengths.data, w->lengths.len);
}

int wet_file_write(const struct wet_graph *graph, const struct noted *noted,
		   const struct wet_places *places, bool partial, FILE *out,
		   struct wet_sizes *sizes)
{
	struct writing w = {.out = out, .at = sizeof(struct wet_head)};
	struct wet_head head = {.magic = WET_MAGIC};
	int err = fwrite(&head, sizeof(head), 1, out) == 1 ? 0 : -errno;
	if (!err)
		err = wet_sizes_of(graph, noted, &(struct wet_sink){put_stream, &w}, sizes);
	if (!err) {
		put_index(&w, graph, noted, places, partial, sizes);
		err = w.index.failed || w.lengths.failed ? -ENOMEM : 0;
	}
	if (!err) {
		head.index = w.at;
		head.index_len = w.index.len;
		head.checksum =
			checksum_join(w.checksum, checksum(w.index.data, w.index.len), w.index.len);
		if (fwrite(w.index.data, w.index.len, 1, out) != 1 || fseek(out, 0, SEEK_SET) ||
		    fwrite(&head, sizeof(head), 1, out) != 1)
			err = -errno;
	}
	bytes_deinit(&w.index);
	bytes_deinit(&w.lengths);
	return err;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* encode_pack.c: the writer of packed graphs: a walk from the roots, in which a node is said where
 * it first comes, and from then on by its number. encode_unpack.c reads them. */
#include "offline/encode/encode_pack.h"

#include "offline/base/varint.h"
#include "offline/encode/encode_pack_stream.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

struct level {
	uint32_t next, end; /* in the items */
};

struct packer {
	const struct dag_node *nodes;
	const struct dag_item *items;
	const struct dag_root *roots;
	uint32_t n_nodes, n_roots;
	uint32_t *node_at; /* per node: its number + 1, once it has come */
	uint32_t *name_at; /* per name: the same */
	uint32_t n_come, n_names;
	VEC(uint32_t) names; /* by their new numbers */
	VEC(struct pack_token) tokens;
	VEC(uint32_t) stream;
	VEC(struct level) levels;
	uint32_t *slots; /* a hash table of tokens: number + 1, or 0 */
	uint32_t mask;
};

static uint32_t slot_of(const struct packer *p, const struct pack_token *t)
{
	uint64_t h = pack_hash(pack_hash(t->kind, t->what), (uint64_t)t->count << 2 | t->end);
	uint32_t i = (uint32_t)(h >> 32) & p->mask;
	while (p->slots[i] && memcmp(&p->tokens.at[p->slots[i] - 1], t, sizeof(*t)) != 0)
		i = (i + 1) & p->mask;
	return i;
}

static int grow(struct packer *p)
{
	free(p->slots);
	p->mask = p->mask ? 2 * p->mask + 1 : 1023;
	p->slots = calloc((size_t)p->mask + 1, sizeof(*p->slots));
	if (!p->slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->tokens.n; i++)
		p->slots[slot_of(p, &p->tokens.at[i])] = i + 1;
	return 0;
}

static int put(struct packer *p, struct pack_token token)
{
	if (2 * p->tokens.n >= p->mask && grow(p))
		return -ENOMEM;
	uint32_t i = slot_of(p, &token);
	if (!p->slots[i]) {
		if (!VEC_PUSH(&p->tokens, token))
			return -ENOMEM;
		p->slots[i] = p->tokens.n;
	}
	return VEC_PUSH(&p->stream, p->slots[i] - 1) ? 0 : -ENOMEM;
}

static int put_node(struct packer *p, struct dag_item item)
{
	const struct dag_node *node = &p->nodes[item.node];
	if (item.count == DAG_MANY)
		return -EDOM;
	if (p->node_at[item.node])
		return put(p,
			   (struct pack_token){PACK_OLD, p->node_at[item.node] - 1, item.count, 0});
	uint32_t *name = &p->name_at[symbol_name_index(node->symbol)];
	if (!*name) {
		if (!VEC_PUSH(&p->names, symbol_name_index(node->symbol)))
			return -ENOMEM;
		*name = p->names.n;
	}
	p->node_at[item.node] = ++p->n_come;
	uint32_t symbol = symbol_make(*name - 1, symbol_how(node->symbol));
	int err = put(p, (struct pack_token){PACK_NEW, symbol, item.count, node->token});
	if (!err && !VEC_PUSH(&p->levels, (struct level){node->first, node->first + node->n}))
		err = -ENOMEM;
	return err;
}

static int put_root(struct packer *p, const struct dag_root *root)
{
	int err = VEC_PUSH(&p->levels, (struct level){root->first, root->first + root->n})
			  ? 0
			  : -ENOMEM;
	while (p->levels.n && !err) {
		struct level *l = &p->levels.at[p->levels.n - 1];
		if (l->next < l->end) {
			err = put_node(p, p->items[l->next++]);
			continue;
		}
		p->levels.n--;
		err = put(p, (struct pack_token){PACK_END, 0, 1, 0});
	}
	return err;
}

/* Names in the order of coming, then the sequences. */
static void make_text(const struct packer *p, const struct symbols *symbols,
		      const struct pack_sequence *sequences, struct bytes *text)
{
	for (uint32_t i = 0; i < p->names.n; i++) {
		const char *name = symbols_name(symbols, p->names.at[i]);
		bytes_put(text, name, strlen(name) + 1);
	}
	for (uint32_t i = 0; i < p->n_roots; i++) {
		const struct pack_sequence *s = &sequences[i];
		bytes_put_varint(text, (uint32_t)s->place.tid);
		bytes_put_varint(text, (uint32_t)s->place.pid);
		bytes_put_varint(text, s->place.event);
		bytes_put_varint(text, s->place.why);
		bytes_put_varint(text, s->ends);
		bytes_put(text, s->place.thread, strlen(s->place.thread) + 1);
	}
}

static int code_stream(struct packer *p, struct pack_coder *coder, const struct pack_counts *counts)
{
	struct pack_stream stream;
	int err = pack_stream_init(&stream, coder, counts);
	for (uint32_t i = 0; i < p->stream.n && !err; i++) {
		uint32_t number = p->stream.at[i];
		struct pack_token token = p->tokens.at[number];
		err = pack_stream_token(&stream, &number, &token);
	}
	pack_stream_deinit(&stream);
	return err;
}

static int write_file(struct packer *p, struct bytes *text, uint64_t calls, uint8_t **out,
		      size_t *len_bytes)
{
	const struct pack_counts counts = {
		.tokens = p->tokens.n,
		.names = p->names.n,
		.sequences = p->n_roots,
		.text_bytes = (uint32_t)text->len,
		.stream = p->stream.n,
		.calls = calls,
	};
	struct pack_coder *coder;
	size_t n = 0;
	if (text->failed || text->len > UINT32_MAX)
		return -ENOMEM;
	int err = pack_coder_new(NULL, 0, &coder);
	if (err)
		return err;
	pack_text(coder, text->data, counts.text_bytes);
	err = code_stream(p, coder, &counts);
	const uint8_t *coded = err ? NULL : pack_coder_finish(coder, &n);
	uint8_t *file = coded ? malloc(PACK_HEADER_BYTES + n) : NULL;
	if (file) {
		memset(file, 0, PACK_COUNTS_AT);
		memcpy(file, PACK_MAGIC, PACK_CRC_AT);
		memcpy(file + PACK_COUNTS_AT, &counts, sizeof(counts));
		memcpy(file + PACK_HEADER_BYTES, coded, n);
		uint32_t crc = (uint32_t)crc32(0, file + PACK_SUMMED_AT,
					       (uInt)(PACK_HEADER_BYTES - PACK_SUMMED_AT + n));
		memcpy(file + PACK_CRC_AT, &crc, sizeof(crc));
		*out = file;
		*len_bytes = PACK_HEADER_BYTES + n;
	}
	pack_coder_free(coder);
	return err ? err : file ? 0 : -ENOMEM;
}
_Static_assert(sizeof(struct pack_counts) == PACK_HEADER_BYTES - PACK_COUNTS_AT,
	       "the header is a format");

int pack_write(const struct dag *dag, const struct symbols *symbols,
	       const struct pack_sequence *sequences, uint8_t **out, size_t *len_bytes)
{
	struct packer p = {0};
	struct bytes text = {0};
	uint32_t n_items;
	p.nodes = dag_nodes(dag, &p.n_nodes);
	p.roots = dag_roots(dag, &p.n_roots);
	p.items = dag_items(dag, &n_items);
	p.node_at = calloc(p.n_nodes + 1, sizeof(*p.node_at));
	p.name_at = calloc(symbols_count(symbols) + 1, sizeof(*p.name_at));
	int err = p.node_at && p.name_at ? grow(&p) : -ENOMEM;
	if (!err) /* it is token 0, whether it comes first or not */
		err = put(&p, (struct pack_token){PACK_END, 0, 1, 0});
	p.stream.n = 0;
	for (uint32_t i = 0; i < p.n_roots && !err; i++)
		err = put_root(&p, &p.roots[i]);
	if (!err) {
		make_text(&p, symbols, sequences, &text);
		err = write_file(&p, &text, dag_calls(dag), out, len_bytes);
	}
	bytes_deinit(&text);
	free(p.node_at);
	free(p.name_at);
	free(p.slots);
	VEC_FREE(&p.names);
	VEC_FREE(&p.tokens);
	VEC_FREE(&p.stream);
	VEC_FREE(&p.levels);
	return err;
}

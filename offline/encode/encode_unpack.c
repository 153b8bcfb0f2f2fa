// SPDX-License-Identifier: LGPL-2.1-or-later
/* encode_unpack.c: the reader of packed graphs (encode_pack.h). What is read may be anything: every
 * number is checked, a node is used only once it has ended, and the calls are as many as the header
 * says.
 */
#include "offline/encode/encode_pack.h"

#include "offline/base/varint.h"
#include "offline/encode/encode_pack_stream.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

#define CALLS_MAX (UINT64_C(1) << 48)

struct packed_node {
	uint32_t symbol, token;
	uint32_t first, n; /* of the items */
	uint64_t calls;	   /* that it stands for; 0: it has not ended */
};

struct open_node {
	uint32_t node, count;
	uint32_t first; /* in `waiting`: its callees so far */
};

struct packed {
	struct symbols *symbols;
	struct pack_counts counts;
	uint8_t *text;
	uint32_t *names; /* of the table of symbols */
	struct pack_sequence *sequences;
	VEC(struct packed_node) nodes;
	VEC(struct dag_item) items;
	VEC(struct dag_root) roots;
	/* While it is read. */
	VEC(struct open_node) open;
	VEC(struct dag_item) waiting;
	uint64_t calls;
};

void packed_free(struct packed *p)
{
	if (!p)
		return;
	free(p->text);
	free(p->names);
	free(p->sequences);
	VEC_FREE(&p->nodes);
	VEC_FREE(&p->items);
	VEC_FREE(&p->roots);
	VEC_FREE(&p->open);
	VEC_FREE(&p->waiting);
	free(p);
}

uint64_t packed_calls(const struct packed *p)
{
	return p->calls;
}

static const char *next_text(struct cursor *c)
{
	const uint8_t *end = memchr(c->at, 0, (size_t)(c->end - c->at));
	const char *text = (const char *)c->at;
	if (!end)
		return NULL;
	c->at = end + 1;
	return text;
}

static int read_sequence(struct cursor *c, struct pack_sequence *s)
{
	uint64_t tid, pid, event, why, ends;
	if (!cursor_varint(c, &tid) || !cursor_varint(c, &pid) || !cursor_varint(c, &event) ||
	    !cursor_varint(c, &why) || !cursor_varint(c, &ends) || why > EDGE_SWITCH ||
	    ends > EDGE_SWITCH || tid > INT32_MAX || pid > INT32_MAX)
		return -EBADMSG;
	*s = (struct pack_sequence){.ends = (enum tree_edge)ends};
	s->place.tid = (int32_t)tid;
	s->place.pid = (int32_t)pid;
	s->place.event = event;
	s->place.why = (enum tree_edge)why;
	s->place.thread = next_text(c);
	return s->place.thread ? 0 : -EBADMSG;
}

static int read_text(struct packed *p, struct pack_coder *coder)
{
	const struct pack_counts *n = &p->counts;
	p->text = calloc((size_t)n->text_bytes + 1, 1);
	p->names = calloc((size_t)n->names + 1, sizeof(*p->names));
	p->sequences = calloc((size_t)n->sequences + 1, sizeof(*p->sequences));
	if (!p->text || !p->names || !p->sequences)
		return -ENOMEM;
	pack_text(coder, p->text, n->text_bytes);
	struct cursor c = {p->text, p->text + n->text_bytes};
	int err = 0;
	for (uint32_t i = 0; i < n->names && !err; i++) {
		const char *name = next_text(&c);
		err = name ? symbols_intern(p->symbols, name, &p->names[i]) : -EBADMSG;
	}
	for (uint32_t i = 0; i < n->sequences && !err; i++)
		err = read_sequence(&c, &p->sequences[i]);
	return err;
}

/* ---- the stream ---- */

static uint64_t calls_of(const struct packed *p, uint32_t first, uint32_t n)
{
	uint64_t calls = 0;
	for (uint32_t i = first; i < first + n && calls <= CALLS_MAX; i++) {
		const struct dag_item *item = &p->items.at[i];
		uint64_t each = p->nodes.at[item->node].calls;
		calls += each > CALLS_MAX / item->count ? CALLS_MAX : each * item->count;
	}
	return calls;
}

static int begin_node(struct packed *p, const struct pack_token *t)
{
	uint32_t name = symbol_name_index(t->what);
	if (name >= p->counts.names)
		return -EBADMSG;
	struct open_node open = {p->nodes.n, t->count, p->waiting.n};
	struct packed_node node = {
		.symbol = symbol_make(p->names[name], symbol_how(t->what)),
		.token = t->end,
	};
	return VEC_PUSH(&p->open, open) && VEC_PUSH(&p->nodes, node) ? 0 : -ENOMEM;
}

/* Moves what has waited from @first on to the items. */
static int keep_items(struct packed *p, uint32_t first, uint32_t *at, uint32_t *n)
{
	*n = p->waiting.n - first;
	*at = p->items.n;
	if (!VEC_RESERVE(&p->items, *n))
		return -ENOMEM;
	if (*n)
		memcpy(p->items.at + p->items.n, p->waiting.at + first, *n * sizeof(*p->items.at));
	p->items.n += *n;
	p->waiting.n = first;
	return 0;
}

static int end_list(struct packed *p)
{
	uint32_t at, n;
	if (!p->open.n) {
		int err = keep_items(p, 0, &at, &n);
		p->calls += err ? 0 : calls_of(p, at, n);
		return err || VEC_PUSH(&p->roots, (struct dag_root){at, n}) ? err : -ENOMEM;
	}
	struct open_node open = p->open.at[--p->open.n];
	int err = keep_items(p, open.first, &at, &n);
	if (err)
		return err;
	struct packed_node *node = &p->nodes.at[open.node];
	node->first = at;
	node->n = n;
	node->calls = 1 + calls_of(p, at, n);
	return VEC_PUSH(&p->waiting, (struct dag_item){open.node, open.count}) ? 0 : -ENOMEM;
}

static int take_token(struct packed *p, const struct pack_token *t)
{
	if (t->kind == PACK_NEW)
		return begin_node(p, t);
	if (t->kind == PACK_END)
		return end_list(p);
	if (t->what >= p->nodes.n || !p->nodes.at[t->what].calls)
		return -EBADMSG; /* a node inside of itself */
	return VEC_PUSH(&p->waiting, (struct dag_item){t->what, t->count}) ? 0 : -ENOMEM;
}

static int read_stream(struct packed *p, struct pack_coder *coder)
{
	struct pack_stream stream;
	int err = pack_stream_init(&stream, coder, &p->counts);
	for (uint64_t i = 0; i < p->counts.stream && !err; i++) {
		struct pack_token token = {0};
		uint32_t number = 0;
		err = pack_stream_token(&stream, &number, &token);
		if (!err)
			err = take_token(p, &token);
	}
	pack_stream_deinit(&stream);
	if (!err && (p->open.n || p->waiting.n || p->roots.n != p->counts.sequences ||
		     p->calls != p->counts.calls || p->calls > CALLS_MAX))
		err = -EBADMSG;
	return err;
}

static int read_file(struct packed *p, const uint8_t *bytes, size_t len)
{
	struct pack_coder *coder;
	uint32_t crc;
	memcpy(&crc, bytes + PACK_CRC_AT, sizeof(crc));
	memcpy(&p->counts, bytes + PACK_COUNTS_AT, sizeof(p->counts));
	if (crc != crc32(0, bytes + PACK_SUMMED_AT, (uInt)(len - PACK_SUMMED_AT)) ||
	    !p->counts.tokens || p->counts.stream / PACK_TOKENS_PER_BYTE > len ||
	    p->counts.text_bytes / PACK_TEXT_PER_BYTE > len ||
	    p->counts.names > p->counts.text_bytes || p->counts.sequences > p->counts.text_bytes ||
	    p->counts.tokens > p->counts.stream + 1)
		return -EBADMSG;
	int err = pack_coder_new(bytes + PACK_HEADER_BYTES, len - PACK_HEADER_BYTES, &coder);
	if (err)
		return err;
	err = read_text(p, coder);
	if (!err)
		err = read_stream(p, coder);
	pack_coder_free(coder);
	return err;
}

int packed_open(const void *bytes, size_t len_bytes, const char *name, struct symbols *symbols,
		struct packed **out, struct pugmark_diag *diag)
{
	if (len_bytes < PACK_HEADER_BYTES || len_bytes > UINT32_MAX ||
	    memcmp(bytes, PACK_MAGIC, 8) != 0)
		return pugmark_diag_set(diag, -EBADMSG, name, 0, "not a packed graph of calls");
	struct packed *p = calloc(1, sizeof(*p));
	if (!p)
		return pugmark_diag_set(diag, -ENOMEM, name, PUGMARK_NO_OFFSET, "out of memory");
	p->symbols = symbols;
	int err = read_file(p, bytes, len_bytes);
	if (err) {
		packed_free(p);
		return pugmark_diag_set(diag, err, name, PUGMARK_NO_OFFSET,
					err == -ENOMEM ? "out of memory"
						       : "damaged: a packed graph that does not "
							 "hold together");
	}
	*out = p;
	return 0;
}

/* ---- what it says ---- */

/* A list of callees that is being told. */
struct telling {
	uint32_t next, end;  /* of the items */
	uint32_t node, left; /* of the item before: how often it is still to come */
};

static int tell_root(const struct packed *p, const struct dag_root *root,
		     const struct tree_sink *sink)
{
	VEC(struct telling) stack = {0};
	int err = VEC_PUSH(&stack, (struct telling){root->first, root->first + root->n, 0, 0})
			  ? 0
			  : -ENOMEM;
	while (stack.n && !err) {
		struct telling *t = &stack.at[stack.n - 1];
		if (!t->left && t->next < t->end) {
			t->node = p->items.at[t->next].node;
			t->left = p->items.at[t->next++].count;
		}
		if (t->left) {
			const struct packed_node *n = &p->nodes.at[t->node];
			const struct tree_call call = {.symbol = n->symbol};
			t->left--;
			err = sink->open(sink->ctx, &call);
			if (!err &&
			    !VEC_PUSH(&stack, (struct telling){n->first, n->first + n->n, 0, 0}))
				err = -ENOMEM;
			continue;
		}
		if (--stack.n) {
			const struct packed_node *n = &p->nodes.at[stack.at[stack.n - 1].node];
			const struct tree_return ret = {.token = n->token};
			err = sink->close(sink->ctx, &ret);
		}
	}
	VEC_FREE(&stack);
	return err;
}

int packed_tell(const struct packed *p, const struct tree_sink *sink)
{
	int err = 0;
	for (uint32_t i = 0; i < p->roots.n && !err; i++) {
		err = sink->begin(sink->ctx, &p->sequences[i].place);
		if (!err)
			err = tell_root(p, &p->roots.at[i], sink);
		if (!err)
			err = sink->end(sink->ctx, p->sequences[i].ends);
	}
	return err;
}

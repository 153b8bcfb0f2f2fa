// SPDX-License-Identifier: LGPL-2.1-or-later
/* file_read.c: see file.h; file_write.c has the format. Anybody may have written it: a number is
 * believed where that many things can be in what is left. */
#include "offline/wet/file/file_impl.h"

#include "offline/base/checksum.h"
#include "offline/base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct reading {
	struct wet_file *f;
	struct cursor in;
	VEC(struct wet_file_stmt) stmts;
	VEC(struct wet_file_group) groups;
	struct vec_u32 order, next;
	uint32_t streams; /* met so far */
	bool executed;	  /* there are blocks, which tell timestamps */
	size_t text;	  /* bytes of f->texts that are used */
	int err;
};

static uint64_t number(struct reading *r, uint64_t most)
{
	uint64_t v = 0;
	if (!r->err && (!cursor_varint(&r->in, &v) || v > most))
		r->err = -EBADMSG;
	return r->err ? 0 : v;
}

/* How many things follow, each of a byte at least. */
static uint32_t count(struct reading *r)
{
	uint64_t left = (uint64_t)(r->in.end - r->in.at);
	return (uint32_t)number(r, left < UINT32_MAX - 1 ? left : UINT32_MAX - 1);
}

static const char *text(struct reading *r)
{
	uint32_t len = count(r);
	char *at = r->f->texts + r->text;
	if (r->err || len > (uint64_t)(r->in.end - r->in.at)) {
		r->err = r->err ? r->err : -EBADMSG;
		return "";
	}
	memcpy(at, r->in.at, len);
	at[len] = 0;
	r->in.at += len;
	r->text += len + 1;
	return at;
}

static uint32_t streams(struct reading *r, uint32_t n)
{
	uint32_t first = r->streams;
	if (n > UINT32_MAX - 1 - r->streams)
		r->err = -EBADMSG;
	else
		r->streams += n;
	return first;
}

static void read_size(struct reading *r, struct wet_size *s)
{
	s->original = number(r, UINT64_MAX);
	s->tier1 = number(r, UINT64_MAX);
	s->tier2 = number(r, UINT64_MAX);
}

static void read_totals(struct reading *r)
{
	struct wet_totals *t = &r->f->totals;
	struct wet_sizes *s = &r->f->sizes;
	uint64_t *const totals[] = {&t->statements, &t->blocks,	     &t->paths,
				    &t->values,	    &t->dependences, &t->decided};
	for (size_t i = 0; i < sizeof(totals) / sizeof(*totals); i++)
		*totals[i] = number(r, UINT64_MAX);
	uint64_t inexact = number(r, UINT64_MAX);
	r->f->partial = inexact & 1;
	t->inexact = inexact >> 1;
	r->executed = number(r, 1);
	r->f->first = (uint32_t)number(r, UINT32_MAX) - 1;
	read_size(r, &s->times);
	read_size(r, &s->values);
	read_size(r, &s->edges);
	for (int i = 0; i < WET_KINDS; i++) {
		s->streams += s->chosen[i] = number(r, UINT32_MAX);
		s->bytes[i] = number(r, UINT64_MAX);
	}
	for (int i = 0; i < WET_OFS; i++)
		s->of[i] = number(r, UINT64_MAX);
	for (int i = 0; i < AGAIN_PARTS; i++)
		s->again[i] = number(r, UINT64_MAX);
	s->edge_labels = number(r, UINT64_MAX);
	s->edge_labels_kept = number(r, UINT64_MAX);
}

static void read_modules(struct reading *r)
{
	r->f->n_modules = count(r);
	r->f->modules = calloc(r->f->n_modules + (size_t)1, sizeof(*r->f->modules));
	if (!r->f->modules) {
		r->err = -ENOMEM;
		return;
	}
	for (uint32_t i = 0; i < r->f->n_modules; i++)
		r->f->modules[i] = text(r);
}

static void read_stmts(struct reading *r, struct wet_file_node *n, uint32_t node)
{
	uint64_t addr = 0;
	n->first_stmt = r->stmts.n;
	n->n_stmts = count(r);
	for (uint32_t i = 0; i < n->n_stmts && !r->err; i++) {
		struct wet_file_stmt s = {.node = node};
		s.module = (uint32_t)number(r, r->f->n_modules) - 1;
		s.addr = addr += (uint64_t)unzigzag(number(r, UINT64_MAX));
		s.n_results = (uint32_t)number(r, UINT8_MAX);
		if (!r->err && !VEC_PUSH(&r->stmts, s))
			r->err = -ENOMEM;
	}
}

static void read_list(struct reading *r, struct vec_u32 *list, uint32_t n, uint64_t most)
{
	for (uint32_t i = 0; i < n && !r->err; i++) {
		uint32_t v = (uint32_t)number(r, most);
		if (!r->err && !VEC_PUSH(list, v))
			r->err = -ENOMEM;
	}
}

static void read_groups(struct reading *r, struct wet_file_node *n)
{
	uint64_t width = 0;
	n->first_group = r->groups.n;
	n->n_groups = count(r);
	for (uint32_t i = 0; i < n->n_groups && !r->err; i++) {
		struct wet_file_group g = {.width = count(r), .pattern = WET_NONE};
		uint64_t how = number(r, WET_VALUES_EXECUTED);
		g.executed = how == WET_VALUES_EXECUTED;
		if (how == WET_VALUES_STORED)
			g.pattern = streams(r, 1);
		g.uvals = g.executed ? WET_NONE : streams(r, g.width);
		width += g.width;
		if (!r->err && !VEC_PUSH(&r->groups, g))
			r->err = -ENOMEM;
	}
	n->first_value = r->order.n;
	n->n_values = count(r);
	read_list(r, &r->order, n->n_values, n->n_values ? n->n_values - 1 : 0);
	if (!r->err && width != n->n_values)
		r->err = -EBADMSG;
}

static void read_nodes(struct reading *r)
{
	struct wet_file *f = r->f;
	f->n_nodes = count(r);
	f->nodes = calloc(f->n_nodes + (size_t)1, sizeof(*f->nodes));
	if (!f->nodes)
		r->err = -ENOMEM;
	for (uint32_t i = 0; i < f->n_nodes && !r->err; i++) {
		struct wet_file_node *n = &f->nodes[i];
		n->function = text(r);
		read_stmts(r, n, i);
		n->executions = number(r, UINT32_MAX);
		n->first_next = r->next.n;
		n->n_next = count(r);
		read_list(r, &r->next, n->n_next, f->n_nodes - 1);
		n->times = r->executed ? WET_NONE : streams(r, 1);
		read_groups(r, n);
	}
	if (!r->err && f->first != WET_NONE && f->first >= f->n_nodes)
		r->err = -EBADMSG;
}

static void read_edges(struct reading *r)
{
	struct wet_file *f = r->f;
	f->n_edges = count(r);
	f->edges = calloc(f->n_edges + (size_t)1, sizeof(*f->edges));
	if (!f->edges)
		r->err = -ENOMEM;
	uint64_t stmts = r->stmts.n ? r->stmts.n - 1 : 0;
	for (uint32_t i = 0; i < f->n_edges && !r->err; i++) {
		struct wet_file_edge *e = &f->edges[i];
		e->to = (uint32_t)number(r, stmts);
		e->from = (uint32_t)number(r, stmts);
		e->operand = (uint32_t)number(r, UINT32_MAX);
		e->n = number(r, UINT64_MAX);
		uint64_t labels = number(r, WET_LABELS_SHARED + (uint64_t)f->n_edges);
		e->inferred = labels == WET_LABELS_INFERRED;
		e->executed = labels == WET_LABELS_EXECUTED;
		e->labels = WET_NONE;
		if (labels == WET_LABELS_OWN && e->n)
			e->labels = streams(r, 2);
		/* Of an edge that comes before, and has labels. */
		else if (labels >= WET_LABELS_SHARED && labels - WET_LABELS_SHARED < i)
			e->labels = f->edges[labels - WET_LABELS_SHARED].labels;
		if (!r->err && !e->inferred && !e->executed && e->n && e->labels == WET_NONE)
			r->err = -EBADMSG;
	}
	if (!r->err && f->n_edges && !r->stmts.n)
		r->err = -EBADMSG;
}

static void read_behind(struct reading *r)
{
	struct wet_file *f = r->f;
	struct dep_units sets[WET_SETS_MAX];
	uint64_t n = 0;
	f->behind = calloc(f->n_nodes + (size_t)1, sizeof(*f->behind));
	if (!f->behind)
		r->err = -ENOMEM;
	for (uint32_t i = 0; i < f->n_nodes && !r->err; i++) {
		uint64_t k = number(r, n < WET_SETS_MAX ? n + 1 : n);
		if (k > n && (size_t)(r->in.end - r->in.at) < sizeof(*sets)) {
			r->err = -EBADMSG;
		} else if (k > n) {
			memcpy(&sets[n++], r->in.at, sizeof(*sets));
			r->in.at += sizeof(*sets);
		}
		if (k && !r->err)
			f->behind[i] = sets[k - 1];
	}
}

static void read_ips(struct reading *r)
{
	uint64_t bias = 0;
	r->f->ips = calloc(r->stmts.n + (size_t)1, sizeof(*r->f->ips));
	if (!r->f->ips)
		r->err = -ENOMEM;
	for (uint32_t i = 0; i < r->stmts.n && !r->err; i++) {
		bias += (uint64_t)unzigzag(number(r, UINT64_MAX));
		r->f->ips[i] = r->stmts.at[i].addr + bias;
	}
}

static void read_again(struct reading *r)
{
	struct wet_file *f = r->f;
	f->n_again = count(r);
	f->again = calloc(f->n_again + (size_t)1, sizeof(*f->again));
	if (!f->again)
		r->err = -ENOMEM;
	for (uint32_t i = 0; i < f->n_again && !r->err; i++) {
		struct again_block *b = &f->again[i];
		b->paths = number(r, f->totals.paths);
		b->n_results = number(r, AGAIN_RESULTS_MAX);
		b->n_insns = number(r, AGAIN_INSNS_MAX);
		b->n_told = number(r, AGAIN_INSNS_MAX);
		b->n_turns = number(r, AGAIN_TURNS_MAX);
		b->sum = number(r, UINT64_MAX);
		if (!r->err && b->paths < (i ? b[-1].paths : 0))
			r->err = -EBADMSG;
	}
	f->n_code = r->err ? 0 : count(r);
	f->code = calloc(f->n_code + (size_t)1, sizeof(*f->code));
	if (!f->code)
		r->err = -ENOMEM;
	for (uint32_t i = 0; i < f->n_code && !r->err; i++)
		f->code[i] = number(r, ((uint64_t)1 << 47) / VALUE_PAGE - 1) * VALUE_PAGE;
	if (!r->err && r->executed != (f->n_again != 0))
		r->err = -EBADMSG;
	if (!r->err && f->n_again)
		read_behind(r);
	if (!r->err && f->n_again)
		read_ips(r);
	f->again_first = r->streams;
	if (!r->err && f->n_again)
		streams(r, 1);
	for (uint32_t i = 0; i < f->n_again && !r->err; i++)
		streams(r, AGAIN_STREAMS);
}

static void read_streams(struct reading *r, uint64_t end)
{
	struct wet_file *f = r->f;
	uint64_t at = sizeof(struct wet_head);
	f->n_streams = count(r);
	f->streams = calloc(f->n_streams + (size_t)1, sizeof(*f->streams));
	if (!f->streams)
		r->err = -ENOMEM;
	for (uint32_t i = 0; i < f->n_streams && !r->err; i++) {
		f->streams[i] = at;
		at += number(r, end - at);
		f->streams[i + 1] = at;
	}
	bool there = !r->err && f->n_streams == r->streams;
	for (uint32_t i = 0; i < f->n_again && there; i++) {
		uint32_t stream = f->again_first + AGAIN_BLOCK + AGAIN_STREAMS * i;
		f->again[i].at = f->bytes + f->streams[stream];
		f->again[i].len = f->streams[stream + 1] - f->streams[stream];
	}
	if (!r->err && (f->n_streams != r->streams || at != end || r->in.at != r->in.end))
		r->err = -EBADMSG;
}

int wet_file_read(const uint8_t *bytes, size_t len, struct wet_file **out)
{
	struct wet_head head;
	struct wet_file *f = calloc(1, sizeof(*f));
	*out = NULL;
	if (!f)
		return -ENOMEM;
	struct reading r = {.f = f};
	if (len < sizeof(head))
		r.err = -EBADMSG;
	else
		memcpy(&head, bytes, sizeof(head));
	if (!r.err && (head.magic != WET_MAGIC || head.index < sizeof(head) || head.index > len ||
		       head.index_len != len - head.index ||
		       head.checksum != checksum(bytes + sizeof(head), len - sizeof(head))))
		r.err = -EBADMSG;
	f->bytes = bytes;
	f->len = len;
	/* A text has its length before it, so that zeros behind each fit. */
	f->texts = r.err ? NULL : malloc(head.index_len + 1);
	if (!r.err && !f->texts)
		r.err = -ENOMEM;
	if (!r.err) {
		r.in = (struct cursor){bytes + head.index, bytes + len};
		read_totals(&r);
		read_modules(&r);
	}
	if (!r.err)
		read_nodes(&r);
	if (!r.err)
		read_edges(&r);
	if (!r.err)
		read_again(&r);
	if (!r.err)
		read_streams(&r, head.index);
	f->stmts = r.stmts.at;
	f->n_stmts = r.stmts.n;
	f->groups = r.groups.at;
	f->n_groups = r.groups.n;
	f->order = r.order.at;
	f->n_order = r.order.n;
	f->next = r.next.at;
	f->n_next = r.next.n;
	if (r.err) {
		wet_file_close(f);
		return r.err;
	}
	*out = f;
	return 0;
}

int wet_file_open(const char *path, struct wet_file **out, struct pugmark_diag *diag)
{
	struct private_file file;
	int err = private_file_open(path, PRIVATE_FILE_MAX, &file);
	if (err)
		return pugmark_diag_set(diag, err, path, PUGMARK_NO_OFFSET, "%s",
					private_file_why(err));
	err = wet_file_read(file.bytes, file.len_bytes, out);
	if (!err) {
		(*out)->file = file;
		return 0;
	}
	private_file_free(&file);
	return pugmark_diag_set(diag, err, path, PUGMARK_NO_OFFSET, "%s",
				err == -EBADMSG ? "is no WET, or damaged (pugmark wet -o makes one)"
						: strerror(-err));
}

void wet_file_close(struct wet_file *f)
{
	if (!f)
		return;
	private_file_free(&f->file);
	free(f->modules);
	free(f->stmts);
	free(f->nodes);
	free(f->groups);
	free(f->edges);
	free(f->again);
	free(f->code);
	free(f->ips);
	free(f->behind);
	free(f->order);
	free(f->next);
	free(f->streams);
	free(f->texts);
	free(f);
}

int wet_file_stream(const struct wet_file *f, uint32_t stream, struct wet_cursor **out)
{
	*out = NULL;
	return stream < f->n_streams
		       ? wet_cursor_open(f->bytes + f->streams[stream],
					 f->streams[stream + 1] - f->streams[stream], out)
		       : -EBADMSG;
}

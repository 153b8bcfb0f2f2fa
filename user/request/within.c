// SPDX-License-Identifier: LGPL-2.1-or-later
/* within.c: `report --when`: what ran within the requests that certainly took longer, or certainly
 * less, than a limit, by function. */
#include "user/request/show.h"

#include <errno.h>
#include <stdlib.h>

struct within_row {
	uint32_t id;
	uint64_t calls;
	struct time_bounds total, self;
};

/* Whether a call of the same function is around it: then the time is counted there. */
static bool is_recursive(const struct request_tree *t, uint32_t at)
{
	for (uint32_t i = t->nodes[at].parent; i; i = t->nodes[i].parent)
		if (t->nodes[i].id == t->nodes[at].id)
			return true;
	return false;
}

static int most_first(const void *a, const void *b)
{
	const struct within_row *x = a, *y = b;
	if (x->total.min_ns != y->total.min_ns)
		return x->total.min_ns < y->total.min_ns ? 1 : -1;
	if (x->total.max_ns != y->total.max_ns)
		return x->total.max_ns < y->total.max_ns ? 1 : -1;
	return (x->id > y->id) - (x->id < y->id);
}

static uint32_t make_rows(const struct request_show *s, int class, struct within_row *rows)
{
	uint32_t n = 0;
	for (uint32_t i = 1; i < s->tree->n; i++) {
		const struct request_weight *w = &s->tree->nodes[i].of[class];
		struct within_row *row = &rows[s->tree->nodes[i].id];
		row->calls += w->calls;
		time_bounds_add(&row->self, w->self);
		if (!is_recursive(s->tree, i))
			time_bounds_add(&row->total, w->total);
	}
	for (uint32_t id = 0; id < s->requests->of.ids.n; id++)
		if (rows[id].calls) {
			struct within_row row = rows[id];
			row.id = id;
			rows[n++] = row;
		}
	qsort(rows, n, sizeof(*rows), most_first);
	return n;
}

static void put_text(struct request_show *s, int class, const struct within_row *rows, uint32_t n)
{
	const struct requests *r = s->requests;
	outbuf_format(s->out, "%llu of %llu calls of ", (unsigned long long)r->n_of[class],
		      (unsigned long long)r->n);
	outbuf_safe_text(s->out, r->of.spec.text);
	outbuf_text(s->out,
		    class == REQUEST_SLOW ? " certainly took " : " certainly took less than ");
	outbuf_duration(s->out, r->limit_ns);
	outbuf_text(s->out, class == REQUEST_SLOW ? " or longer" : "");
	if (r->n_of[REQUEST_BETWEEN])
		outbuf_format(s->out, "; of %llu more it is not known",
			      (unsigned long long)r->n_of[REQUEST_BETWEEN]);
	if (r->n_of[REQUEST_PART])
		outbuf_format(s->out, "; %llu are not whole in the recording",
			      (unsigned long long)r->n_of[REQUEST_PART]);
	outbuf_format(s->out, "\n%s%10s  %-24s%-24s%s%s\n", tty_style(&s->term, STYLE_DIM), "calls",
		      "total", "self", "function", tty_style(&s->term, STYLE_NONE));
	for (uint32_t i = 0; i < n && (!s->top || i < s->top); i++) {
		outbuf_format(s->out, "%10llu  ", (unsigned long long)rows[i].calls);
		const struct time_bounds *times[] = {&rows[i].total, &rows[i].self};
		for (int t = 0; t < 2; t++) {
			unsigned len = outbuf_bounds(s->out, *times[t]);
			outbuf_spaces(s->out, len < 24 ? 24 - len : 1);
		}
		const struct func_id *id = &r->of.ids.at[rows[i].id];
		outbuf_safe_text(s->out, func_id_name(s->view, id));
		outbuf_text(s->out, id->kind == FUNC_IMPORT ? " (import)\n" : "\n");
	}
}

static void put_json(struct request_show *s, int class, const struct within_row *rows, uint32_t n)
{
	const struct requests *r = s->requests;
	outbuf_json(s->out, "{\"when\":", r->of.spec.text);
	outbuf_format(s->out,
		      ",\"limit_ns\":%llu,\"requests\":%llu,\"taken\":%llu,\"between\":%llu,"
		      "\"part\":%llu,\n\"functions\":[",
		      (unsigned long long)r->limit_ns, (unsigned long long)r->n,
		      (unsigned long long)r->n_of[class],
		      (unsigned long long)r->n_of[REQUEST_BETWEEN],
		      (unsigned long long)r->n_of[REQUEST_PART]);
	for (uint32_t i = 0; i < n && (!s->top || i < s->top); i++) {
		outbuf_text(s->out, i ? ",\n{" : "\n{");
		request_put_function(s, rows[i].id);
		outbuf_format(
			s->out, ",\"calls\":%llu,\"total_ns\":[%llu,%llu],\"self_ns\":[%llu,%llu]}",
			(unsigned long long)rows[i].calls, (unsigned long long)rows[i].total.min_ns,
			(unsigned long long)rows[i].total.max_ns,
			(unsigned long long)rows[i].self.min_ns,
			(unsigned long long)rows[i].self.max_ns);
	}
	outbuf_text(s->out, "]}\n");
}

int request_show_within(struct request_show *s, bool json)
{
	struct within_row *rows = calloc(s->requests->of.ids.n + 1ul, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	int class = s->less ? REQUEST_FAST : REQUEST_SLOW;
	uint32_t n = make_rows(s, class, rows);
	(json ? put_json : put_text)(s, class, rows, n);
	free(rows);
	return 0;
}

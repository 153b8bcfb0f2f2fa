// SPDX-License-Identifier: LGPL-2.1-or-later
/* show_json.c: requests for programs. */
#include "user/request/show.h"

static const char *const class_names[] = {
	[REQUEST_FAST] = "fast",
	[REQUEST_SLOW] = "slow",
	[REQUEST_BETWEEN] = "between",
	[REQUEST_PART] = "part",
};

static void put_pair(struct outbuf *out, const char *key, double min, double max)
{
	outbuf_format(out, ",\"%s\":[%.0f,%.0f]", key, min, max);
}

static void put_means(struct request_show *s, const struct request_means *of, const char *before)
{
	for (int c = 0; c < N_REQUEST_CLASSES; c++) {
		outbuf_format(s->out, "%s\"%s\":{\"calls\":%.3f,\"requests\":%.4f", before,
			      class_names[c], of[c].calls, of[c].requests);
		put_pair(s->out, "total_ns", of[c].total_min_ns, of[c].total_max_ns);
		put_pair(s->out, "self_ns", of[c].self_min_ns, of[c].self_max_ns);
		if (of[c].blocks)
			outbuf_format(s->out, ",\"blocks\":%.1f", of[c].blocks);
		outbuf_char(s->out, '}');
	}
}

static void put_class(struct request_show *s, int class)
{
	const struct requests *r = s->requests;
	static const double shares[] = {.5, .99};
	static const char *const keys[] = {"median_ns", "p99_ns"};
	outbuf_format(s->out, ",\"%s\":{\"requests\":%llu", class_names[class],
		      (unsigned long long)r->n_of[class]);
	for (size_t i = 0; i < 2 && r->n_of[class]; i++) {
		uint64_t min, max, unused;
		durations_quantile(&r->certain[class], shares[i], &min, &unused);
		durations_quantile(&r->possible[class], shares[i], &unused, &max);
		put_pair(s->out, keys[i], (double)min, (double)max);
	}
	if (r->n_of[class])
		put_pair(s->out, "max_ns", (double)r->certain[class].max_ns,
			 (double)r->possible[class].max_ns);
	outbuf_char(s->out, '}');
}

static void put_fault(struct request_show *s)
{
	const struct request_blame *b = s->blame;
	if (!b->n_path)
		return;
	const struct request_node *node = &s->tree->nodes[b->path[b->n_path - 1]];
	struct request_excess e = request_excess_of(s->requests, node);
	struct request_means of[N_REQUEST_CLASSES];
	for (int c = 0; c < N_REQUEST_CLASSES; c++)
		of[c] = request_means_of(s->requests, &node->of[c], c);
	outbuf_text(s->out, ",\n\"fault\":{");
	request_put_function(s, node->id);
	put_pair(s->out, "longer_ns", e.min_ns, e.max_ns);
	put_means(s, of, ",");
	outbuf_text(s->out, ",\"path\":[");
	for (uint32_t i = 0; i < b->n_path; i++) {
		outbuf_text(s->out, i ? ",{" : "{");
		request_put_function(s, s->tree->nodes[b->path[i]].id);
		outbuf_char(s->out, '}');
	}
	outbuf_char(s->out, ']');
	if (b->loop) {
		outbuf_text(s->out, ",\"loop\":{");
		request_put_function(s, s->tree->nodes[b->loop].id);
		outbuf_format(s->out, ",\"calls_each\":{\"fast\":%.3f,\"slow\":%.3f}}",
			      b->loop_calls[REQUEST_FAST], b->loop_calls[REQUEST_SLOW]);
	}
	outbuf_char(s->out, '}');
}

int request_show_json(struct request_show *s)
{
	const struct requests *r = s->requests;
	outbuf_json(s->out, "{\"request\":", r->of.spec.text);
	outbuf_format(s->out, ",\"requests\":%llu,\"limit_ns\":%llu,\"between\":%llu,\"part\":%llu",
		      (unsigned long long)r->n, (unsigned long long)r->limit_ns,
		      (unsigned long long)r->n_of[REQUEST_BETWEEN],
		      (unsigned long long)r->n_of[REQUEST_PART]);
	if (r->explained)
		outbuf_format(s->out, ",\"explained\":%.4f", r->explained);
	put_class(s, REQUEST_FAST);
	put_class(s, REQUEST_SLOW);
	put_fault(s);
	int err = request_show_single(s, true);
	outbuf_text(s->out, ",\n\"functions\":[");
	for (uint32_t i = 0; i < s->blame->n_rows && (!s->top || i < s->top); i++) {
		outbuf_text(s->out, i ? ",\n{" : "\n{");
		request_put_function(s, s->blame->rows[i].id);
		put_pair(s->out, "longer_ns", s->blame->rows[i].self.min_ns,
			 s->blame->rows[i].self.max_ns);
		put_means(s, s->blame->rows[i].of, ",");
		outbuf_char(s->out, '}');
	}
	outbuf_text(s->out, "]}\n");
	return err;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* show_single.c: the slowest requests, and whose they are, as text and as JSON. */
#include "user/request/show.h"
#include "user/request/single.h"

#include <stdlib.h>

enum { SLOWEST = 3, IDENTITIES = 5 };

static const char *const class_names[] = {
	[REQUEST_FAST] = "fast",
	[REQUEST_SLOW] = "slow",
	[REQUEST_BETWEEN] = "between",
	[REQUEST_PART] = "part",
};

/* A small number as such, all else as an address. */
static void put_identity(struct outbuf *out, uint64_t value)
{
	int64_t number = (int64_t)value;
	bool small = number > -1000000000 && number < 1000000000;
	outbuf_format(out, small ? "%lld" : "0x%llx", (long long)number);
}

static uint64_t after_start(const struct request_show *s, uint64_t ns)
{
	return ns > s->view->start_ns ? ns - s->view->start_ns : 0;
}

static void put_slowest_text(struct request_show *s, const struct request_single *list, int64_t n)
{
	if (n)
		outbuf_text(s->out, "\nthe slowest\n");
	for (int64_t i = 0; i < n; i++) {
		const struct request *r = list[i].request;
		outbuf_format(s->out, "  at %.6fs ", (double)after_start(s, r->from_ns) / 1e9);
		outbuf_bounds(s->out, r->took);
		uint64_t goroutine = trace_view_goroutine(s->view, list[i].task);
		if (goroutine)
			outbuf_format(s->out, " in goroutine %llu", (unsigned long long)goroutine);
		else
			outbuf_format(s->out, " in thread %d", s->view->tasks[list[i].task].tid);
		if (r->identified) {
			outbuf_text(s->out, " of ");
			put_identity(s->out, r->identity);
		}
		outbuf_char(s->out, '\n');
	}
}

static void put_identities_text(struct request_show *s, const struct request_identity *list,
				int64_t n)
{
	uint8_t id = s->requests->of.spec.id;
	if (id == REQUEST_RESULT)
		outbuf_format(s->out, "\nby result, %lld different ones\n", (long long)n);
	else if (id >= REQUEST_OUT_1)
		outbuf_format(s->out, "\nby what argument %d points to, %lld different ones\n",
			      id - REQUEST_OUT_1 + 1, (long long)n);
	else
		outbuf_format(s->out, "\nby argument %d, %lld different ones\n", id, (long long)n);
	for (int64_t i = 0; i < n && i < IDENTITIES; i++) {
		outbuf_text(s->out, "  ");
		put_identity(s->out, list[i].identity);
		for (int c = REQUEST_SLOW; c >= REQUEST_FAST; c--)
			outbuf_format(s->out, "%s%llu %s", c == REQUEST_SLOW ? ": " : ", ",
				      (unsigned long long)list[i].n_of[c], class_names[c]);
		outbuf_char(s->out, '\n');
	}
}

static void put_slowest_json(struct request_show *s, const struct request_single *list, int64_t n)
{
	outbuf_text(s->out, ",\n\"slowest\":[");
	for (int64_t i = 0; i < n; i++) {
		const struct request *r = list[i].request;
		outbuf_format(s->out,
			      "%s\n{\"class\":\"%s\",\"tid\":%d,\"start_ns\":[%llu,%llu],"
			      "\"took_ns\":[%llu,%llu]",
			      i ? "," : "", class_names[r->class], s->view->tasks[list[i].task].tid,
			      (unsigned long long)after_start(s, r->from_ns),
			      (unsigned long long)after_start(s, r->to_ns),
			      (unsigned long long)r->took.min_ns,
			      (unsigned long long)r->took.max_ns);
		if (r->identified) {
			outbuf_text(s->out, ",\"id\":\"");
			put_identity(s->out, r->identity);
			outbuf_char(s->out, '"');
		}
		outbuf_char(s->out, '}');
	}
	outbuf_char(s->out, ']');
}

static void put_identities_json(struct request_show *s, const struct request_identity *list,
				int64_t n)
{
	outbuf_text(s->out, ",\n\"ids\":[");
	for (int64_t i = 0; i < n; i++) {
		outbuf_text(s->out, i ? ",\n{\"id\":\"" : "\n{\"id\":\"");
		put_identity(s->out, list[i].identity);
		outbuf_char(s->out, '"');
		for (int c = 0; c <= REQUEST_PART; c++)
			outbuf_format(s->out, ",\"%s\":%llu", class_names[c],
				      (unsigned long long)list[i].n_of[c]);
		outbuf_char(s->out, '}');
	}
	outbuf_char(s->out, ']');
}

int request_show_single(struct request_show *s, bool json)
{
	struct request_single *slowest = NULL;
	struct request_identity *identities = NULL;
	int64_t n = request_slowest(s->requests, s->slowest ? s->slowest : SLOWEST, &slowest);
	int64_t n_ids = n >= 0 ? request_identities(s->requests, &identities) : n;
	if (n_ids >= 0) {
		(json ? put_slowest_json : put_slowest_text)(s, slowest, n);
		if (n_ids)
			(json ? put_identities_json : put_identities_text)(s, identities, n_ids);
	}
	free(slowest);
	free(identities);
	return n_ids < 0 ? (int)n_ids : 0;
}

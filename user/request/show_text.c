// SPDX-License-Identifier: LGPL-2.1-or-later
/* show_text.c: requests as a person reads them: how many and how long, where the slow ones differ,
 * and by what functions. */
#include "user/request/show.h"

#include <math.h>

enum { ROWS = 10, TIMES_WIDTH = 24, CALLS_WIDTH = 18 };

static const char *name_of(struct request_show *s, uint32_t id)
{
	return func_id_name(s->view, &s->requests->of.ids.at[id]);
}

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* A mean: whole numbers as such, small ones with a digit, or three. */
static unsigned put_mean(struct outbuf *out, double value)
{
	char text[32];
	const char *format = value == floor(value) || value >= 10 ? "%.0f"
			     : value < .1			  ? "%.3f"
								  : "%.1f";
	int len = snprintf(text, sizeof(text), format, value);
	outbuf_text(out, text);
	return (unsigned)len;
}

static void put_quantile(struct request_show *s, int class, double share)
{
	uint64_t min, max, unused;
	durations_quantile(&s->requests->certain[class], share, &min, &unused);
	durations_quantile(&s->requests->possible[class], share, &unused, &max);
	outbuf_bounds(s->out, (struct time_bounds){min, max});
}

static void put_class(struct request_show *s, int class)
{
	static const char *const words[] = {"fast", "slow"};
	uint64_t n = s->requests->n_of[class];
	outbuf_format(s->out, "  %s: %llu", words[class], (unsigned long long)n);
	if (n) {
		outbuf_text(s->out, ", median ");
		put_quantile(s, class, .5);
		outbuf_text(s->out, ", 99 % within ");
		put_quantile(s, class, .99);
		outbuf_text(s->out, ", longest ");
		outbuf_bounds(s->out, (struct time_bounds){s->requests->certain[class].max_ns,
							   s->requests->possible[class].max_ns});
	}
	outbuf_char(s->out, '\n');
}

static void put_counts(struct request_show *s)
{
	const struct requests *r = s->requests;
	outbuf_format(s->out, "%s%llu request%s of ", tty_style(&s->term, STYLE_BOLD),
		      (unsigned long long)r->n, plural(r->n));
	outbuf_safe_text(s->out, r->of.spec.text);
	outbuf_format(s->out, "%s, slow from ", tty_style(&s->term, STYLE_NONE));
	outbuf_duration(s->out, r->limit_ns);
	if (r->explained)
		outbuf_format(s->out, " on (this explains %.0f %% of how they spread)",
			      100 * r->explained);
	outbuf_char(s->out, '\n');
	put_class(s, REQUEST_FAST);
	put_class(s, REQUEST_SLOW);
	if (r->n_of[REQUEST_BETWEEN])
		outbuf_format(s->out,
			      "  neither certainly: %llu (their bounds are on both sides)\n",
			      (unsigned long long)r->n_of[REQUEST_BETWEEN]);
	if (r->n_of[REQUEST_PART])
		outbuf_format(s->out, "  not whole in the recording: %llu\n",
			      (unsigned long long)r->n_of[REQUEST_PART]);
}

/* ---- the place at fault ---- */

static void put_path(struct request_show *s)
{
	const struct request_blame *b = s->blame;
	for (uint32_t i = 0; i < b->n_path; i++) {
		outbuf_text(s->out, i ? " > " : "  in ");
		outbuf_safe_text(s->out, name_of(s, s->tree->nodes[b->path[i]].id));
	}
	outbuf_char(s->out, '\n');
}

static void put_longer(struct request_show *s, struct request_excess e)
{
	if (e.min_ns <= 0)
		outbuf_text(s->out, "possibly ");
	request_put_means(s->out, e.min_ns, e.max_ns);
	outbuf_text(s->out, " longer a request");
}

static void put_reasons(struct request_show *s, uint32_t at)
{
	const struct request_blame *b = s->blame;
	const struct request_node *node = &s->tree->nodes[at];
	struct request_means fast =
		request_means_of(s->requests, &node->of[REQUEST_FAST], REQUEST_FAST);
	struct request_means slow =
		request_means_of(s->requests, &node->of[REQUEST_SLOW], REQUEST_SLOW);
	outbuf_text(s->out, "  it took ");
	put_longer(s, request_excess_of(s->requests, node));
	outbuf_text(s->out, ", of ");
	request_put_means(s->out, b->excess.min_ns, b->excess.max_ns);
	outbuf_text(s->out, " in all\n");
	if (!fast.calls) {
		outbuf_format(s->out, "  only slow requests call it: %.0f %% of them, ",
			      100 * slow.requests);
		put_mean(s->out, slow.calls);
		outbuf_text(s->out, " times each\n");
	} else if (slow.calls >= 1.5 * fast.calls) {
		outbuf_text(s->out, "  slow requests call it ");
		put_mean(s->out, slow.calls);
		outbuf_text(s->out, " times, fast ones ");
		put_mean(s->out, fast.calls);
		outbuf_char(s->out, '\n');
	}
	if (b->loop) {
		outbuf_text(s->out, "  its loop goes round more often: each time it calls ");
		outbuf_safe_text(s->out, name_of(s, s->tree->nodes[b->loop].id));
		outbuf_char(s->out, ' ');
		put_mean(s->out, b->loop_calls[REQUEST_SLOW]);
		outbuf_text(s->out, " times");
		if (fast.calls) {
			outbuf_text(s->out, ", in fast requests ");
			put_mean(s->out, b->loop_calls[REQUEST_FAST]);
		}
		outbuf_char(s->out, '\n');
	}
	if (slow.blocks > 1.5 * fast.blocks) {
		outbuf_text(s->out, "  it ran ");
		put_mean(s->out, slow.blocks);
		outbuf_text(s->out, " blocks of its own a request, in fast ones ");
		put_mean(s->out, fast.blocks);
		outbuf_char(s->out, '\n');
	}
	if (s->requests->of.ids.at[node->id].kind == FUNC_IMPORT)
		outbuf_text(s->out, "  it is not traced: it may compute, or wait\n");
}

static void put_fault(struct request_show *s)
{
	const struct request_blame *b = s->blame;
	if (!s->requests->n_of[REQUEST_SLOW] || !s->requests->n_of[REQUEST_FAST]) {
		outbuf_format(s->out, "nothing to compare: no request was certainly %s\n",
			      s->requests->n_of[REQUEST_SLOW] ? "fast" : "slow");
		return;
	}
	if (!b->n_path) {
		outbuf_text(s->out, "no single call explains what the slow ones took longer\n");
		return;
	}
	uint32_t at = b->path[b->n_path - 1];
	outbuf_format(s->out, "\n%sslow because of ", tty_style(&s->term, STYLE_BOLD));
	outbuf_safe_text(s->out, name_of(s, s->tree->nodes[at].id));
	outbuf_format(s->out, "%s\n", tty_style(&s->term, STYLE_NONE));
	put_path(s);
	put_reasons(s, at);
}

/* ---- functions ---- */

static void pad(struct outbuf *out, unsigned len, unsigned width)
{
	outbuf_spaces(out, len < width ? width - len : 0);
}

static void put_row(struct request_show *s, const struct request_row *row)
{
	const struct request_means *fast = &row->of[REQUEST_FAST], *slow = &row->of[REQUEST_SLOW];
	outbuf_text(s->out, "  ");
	pad(s->out, request_put_means(s->out, fast->self_min_ns, fast->self_max_ns), TIMES_WIDTH);
	pad(s->out, request_put_means(s->out, slow->self_min_ns, slow->self_max_ns), TIMES_WIDTH);
	unsigned len = put_mean(s->out, fast->calls);
	outbuf_text(s->out, " -> ");
	pad(s->out, len + 4 + put_mean(s->out, slow->calls), CALLS_WIDTH);
	const struct func_id *id = &s->requests->of.ids.at[row->id];
	if (s->view->n_modules > 1 && id->kind <= FUNC_IMPORT) {
		outbuf_safe_text(s->out, pugmark_trace_module_name(s->view->trace, id->module));
		outbuf_char(s->out, ':');
	}
	outbuf_safe_text(s->out, name_of(s, row->id));
	outbuf_text(s->out, id->kind == FUNC_IMPORT ? " (import)\n" : "\n");
}

static void put_rows(struct request_show *s)
{
	uint32_t most = s->top ? s->top : ROWS, n = 0;
	outbuf_format(s->out, "\n%s  %-*s%-*s%-*s%s%s\n", tty_style(&s->term, STYLE_DIM),
		      TIMES_WIDTH, "self, a fast one", TIMES_WIDTH, "self, a slow one", CALLS_WIDTH,
		      "calls", "function", tty_style(&s->term, STYLE_NONE));
	for (uint32_t i = 0; i < s->blame->n_rows && n < most; i++)
		if (s->blame->rows[i].self.max_ns > 0) {
			put_row(s, &s->blame->rows[i]);
			n++;
		}
}

int request_show_text(struct request_show *s)
{
	put_counts(s);
	put_fault(s);
	if (s->requests->n_of[REQUEST_SLOW] && s->requests->n_of[REQUEST_FAST])
		put_rows(s);
	return request_show_single(s, false);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* callgrind.c: callgrind's profile format, for callgrind_annotate and kcachegrind: for each
 * function its own cost; and for each function that it called how often, and the cost of these
 * calls with all that they called. Costs are calls and ns (as drawn). Of calls between the same two
 * functions inside of one another only the outermost counts in the cost, as `report` counts
 * recursion. */
#include "user/export/call_tree.h"

#include <errno.h>
#include <stdlib.h>

/* What one context adds to a function or to a pair of functions. */
struct share {
	uint32_t caller, callee; /* frames; of a function itself: callee is EXPORT_NO_FRAME */
	uint64_t calls, cost_calls, cost_ns;
};

static int by_frames(const void *a, const void *b)
{
	const struct share *x = a, *y = b;
	if (x->caller != y->caller)
		return x->caller < y->caller ? -1 : 1;
	/* a function's own cost first: EXPORT_NO_FRAME + 1 is 0 */
	uint32_t p = x->callee + 1, q = y->callee + 1;
	return (p > q) - (p < q);
}

/* Whether a call between the same two functions lies around node @i: then that one's cost includes
 * this one's. */
static bool is_inside_same(const struct export_contexts *c, uint32_t i)
{
	uint32_t callee = c->nodes[i].frame, caller = c->nodes[c->nodes[i].parent].frame;
	for (uint32_t at = c->nodes[i].parent; at; at = c->nodes[at].parent)
		if (c->nodes[at].frame == callee && c->nodes[c->nodes[at].parent].frame == caller)
			return true;
	return false;
}

/* Two shares a node: its function's own, and that of its call. */
static size_t collect(const struct export *x, struct share *shares, uint64_t *calls, uint64_t *ns)
{
	const struct export_contexts *c = x->contexts;
	size_t n = 0;
	for (uint32_t i = 0; i < c->n; i++) {
		calls[i] = c->nodes[i].calls;
		ns[i] = c->nodes[i].self_ns;
	}
	for (uint32_t i = c->n; i-- > 1;) {
		calls[c->nodes[i].parent] += calls[i];
		ns[c->nodes[i].parent] += ns[i];
	}
	for (uint32_t i = 1; i < c->n; i++) {
		const struct context_node *node = &c->nodes[i];
		shares[n++] =
			(struct share){node->frame, EXPORT_NO_FRAME, 0, node->calls, node->self_ns};
		if (!node->parent)
			continue;
		bool inside = is_inside_same(c, i);
		shares[n++] = (struct share){c->nodes[node->parent].frame, node->frame, node->calls,
					     inside ? 0 : calls[i], inside ? 0 : ns[i]};
	}
	return n;
}

static void put_frame(struct export *x, const char *prefix, uint32_t frame)
{
	struct outbuf *out = x->replay.out;
	const char *module = frame == EXPORT_GAP_FRAME ? "" : x->frames.at[frame].module;
	outbuf_text(out, prefix);
	outbuf_text(out, "ob=");
	outbuf_text(out, *module ? module : "[outside]");
	outbuf_char(out, '\n');
	outbuf_text(out, prefix);
	outbuf_text(out, *prefix ? "fi=???\n" : "fl=???\n");
	outbuf_text(out, prefix);
	outbuf_text(out, "fn=");
	/* two modules may each have one of that name */
	outbuf_text(out, frame == EXPORT_GAP_FRAME ? "[gap]" : x->frames.at[frame].name);
	if (*module) {
		outbuf_char(out, '\'');
		outbuf_text(out, module);
	}
	outbuf_char(out, '\n');
}

static void put_cost(struct export *x, const struct share *share)
{
	struct outbuf *out = x->replay.out;
	outbuf_text(out, "0 ");
	outbuf_dec(out, share->cost_calls);
	if (x->times) {
		outbuf_char(out, ' ');
		outbuf_dec(out, share->cost_ns);
	}
	outbuf_char(out, '\n');
}

static void put_shares(struct export *x, struct share *shares, size_t n)
{
	struct outbuf *out = x->replay.out;
	qsort(shares, n, sizeof(*shares), by_frames);
	for (size_t i = 0, end; i < n; i = end) {
		struct share sum = shares[i];
		for (end = i + 1; end < n && !by_frames(&shares[i], &shares[end]); end++) {
			sum.calls += shares[end].calls;
			sum.cost_calls += shares[end].cost_calls;
			sum.cost_ns += shares[end].cost_ns;
		}
		if (!i || shares[i].caller != shares[i - 1].caller) {
			outbuf_char(out, '\n');
			put_frame(x, "", sum.caller);
		}
		if (sum.callee != EXPORT_NO_FRAME) {
			put_frame(x, "c", sum.callee);
			outbuf_text(out, "calls=");
			outbuf_dec(out, sum.calls);
			outbuf_text(out, " 0\n");
		}
		put_cost(x, &sum);
	}
}

static void end(struct export *x)
{
	const struct export_contexts *c = x->contexts;
	struct outbuf *out = x->replay.out;
	struct share *shares = malloc(2ul * c->n * sizeof(*shares));
	uint64_t *calls = malloc(c->n * sizeof(*calls)), *ns = malloc(c->n * sizeof(*ns));
	if (shares && calls && ns) {
		outbuf_text(out,
			    "# callgrind format\nversion: 1\ncreator: pugmark\npositions: line\n");
		outbuf_text(out, x->times ? "events: Calls Ns\n" : "events: Calls\n");
		size_t n = collect(x, shares, calls, ns);
		outbuf_text(out, "summary: ");
		outbuf_dec(out, calls[0]);
		if (x->times) {
			outbuf_char(out, ' ');
			outbuf_dec(out, ns[0]);
		}
		outbuf_char(out, '\n');
		put_shares(x, shares, n);
	} else {
		export_fail(x, -ENOMEM, "out of memory");
	}
	free(shares);
	free(calls);
	free(ns);
}

const struct export_format export_callgrind = {
	.name = "callgrind",
	.suffix = "callgrind",
	.brief = "callgrind's profile format (kcachegrind, callgrind_annotate)",
	.adds_up = true,
	.end = end,
};

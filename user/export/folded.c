// SPDX-License-Identifier: LGPL-2.1-or-later
/* folded.c: folded stacks, as flame graph programs read them: a line for each stack, `a;b;c N`, its
 * frames from the outermost in. N is what passed while the last of them was innermost: ns as drawn,
 * or with --weight calls how often it was entered. */
#include "user/export/call_tree.h"

#include <errno.h>
#include <stdlib.h>

/* Names have no character that the format itself uses: they are printable, and so on one line. */
static void put_name(struct outbuf *out, const char *name)
{
	for (; *name; name++)
		outbuf_char(out, *name == ';' ? ',' : *name);
}

static void end(struct export *x)
{
	const struct export_contexts *c = x->contexts;
	uint32_t *path = malloc(c->n * sizeof(*path));
	if (!path) {
		export_fail(x, -ENOMEM, "out of memory");
		return;
	}
	for (uint32_t i = 1; i < c->n; i++) {
		uint64_t weight = export_context_weight(x, &c->nodes[i]);
		if (!weight)
			continue;
		uint32_t n = 0;
		for (uint32_t at = i; at; at = c->nodes[at].parent)
			path[n++] = at;
		while (n-- > 0) {
			put_name(x->replay.out, export_context_name(x, &c->nodes[path[n]]));
			outbuf_char(x->replay.out, n ? ';' : ' ');
		}
		outbuf_dec(x->replay.out, weight);
		outbuf_char(x->replay.out, '\n');
	}
	free(path);
}

const struct export_format export_folded = {
	.name = "folded",
	.suffix = "folded",
	.brief = "folded stacks, for flame graphs",
	.weighs = true,
	.adds_up = true,
	.end = end,
};

// SPDX-License-Identifier: LGPL-2.1-or-later
/* bound_table.c: see bound_table.h. It is small and seldom filled, so it is read from the files
 * each time. */
#include "user/kernel/bound_table.h"

#include "user/kernel/bindings.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

enum { LATER_WORDS = 1 << 14 }; /* of libraries that are loaded later */

static int read_module(const struct recorder_module *module, const struct text_span *span,
		       struct bindings *out, struct pugmark_diag *diag)
{
	*out = (struct bindings){0};
	return module->plan ? bindings_read(module->path, module->plan, span, out, diag) : 0;
}

int bound_table_size(struct bound_table *t, const struct recorder_options *options,
		     const struct text_span *spans, struct pugmark_diag *diag)
{
	bool changes = options->max_overhead > 0 || options->later;
	t->max = options->later ? LATER_WORDS : 1;
	t->halves = changes ? 2 : 1;
	for (uint32_t m = 0; m < options->n_modules; m++) {
		struct bindings b;
		int err = read_module(&options->modules[m], &spans[m], &b, diag);
		if (err)
			return err;
		t->max += b.n;
		bindings_deinit(&b);
	}
	bpf_map__set_max_entries(t->map, t->halves * t->max);
	return 0;
}

int bound_table_fill(struct bound_table *t, const struct recorder_options *options,
		     const struct text_span *spans, uint32_t generation, struct pugmark_diag *diag)
{
	uint32_t n = 0;
	int err = 0;
	for (uint32_t m = 0; !err && m < options->n_modules; m++) {
		struct bindings b;
		err = read_module(&options->modules[m], &spans[m], &b, diag);
		if (err)
			return err;
		t->first[m] = n;
		t->count[m] = b.n;
		t->by_known_programs[m] = b.by_known_programs;
		if (b.n > t->max - n)
			err = -E2BIG;
		for (uint32_t i = 0; !err && i < b.n; i++) {
			uint32_t at = (generation & 1) * t->max + n++;
			if (bpf_map_update_elem(bpf_map__fd(t->map), &at, &b.at[i], BPF_ANY))
				err = -errno;
		}
		bindings_deinit(&b);
	}
	return err ? pugmark_diag_set(diag, err, NULL, PUGMARK_NO_OFFSET,
				      "no room for what is to be looked at")
		   : 0;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* print.c: see why.h. */
#include "user/why/picture.h"
#include "user/why/print.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void print_picture(const struct why_run *w, const struct why_slice *s,
			  const struct why_options *o, uint64_t executed)
{
	char title[400];
	snprintf(title, sizeof(title),
		 "%s slice of %s: %zu places, %" PRIu64 " instances of %" PRIu64, why_direction(o),
		 w->said, s->whole, s->fold.instances, executed);
	struct why_picture p = {title, s->lines, why_shown(s, o), 0, &s->graph};
	p.left_out = s->n - s->pruned - p.n;
	if (o->format == WHY_DOT)
		why_picture_dot(stdout, &p);
	else
		(o->format == WHY_SVG ? why_picture_svg : why_picture_html)(stdout, &p);
}

int why_print(const struct why_options *o, struct pugmark_diag *diag)
{
	struct why_run w;
	struct why_slice s = {0};
	uint64_t executed = 0;
	int err = why_run_init(&w, o, diag);
	if (!err) {
		err = why_slice_compute(&w, &s, o, diag);
		executed = err ? 0 : dep_build_trace(w.build)->count;
		if (!err)
			err = why_lines_values(&w, s.lines, s.n < o->limit ? s.n : o->limit);
		if (err == -ENOMEM)
			pugmark_diag_set(diag, err, o->dir, PUGMARK_NO_OFFSET, "%s",
					 strerror(-err));
	}
	if (!err) {
		static void (*const printers[])(const struct why_run *, const struct why_slice *,
						const struct why_options *,
						uint64_t) = {[WHY_TEXT] = why_print_text,
							     [WHY_JSON] = why_print_json,
							     [WHY_DOT] = print_picture,
							     [WHY_SVG] = print_picture,
							     [WHY_HTML] = print_picture};
		printers[o->format](&w, &s, o, executed);
	}
	bool partial = s.ends || w.partial;
	partial |= !err && !why_threads_whole(&s.threads);
	why_slice_deinit(&s);
	why_run_deinit(&w);
	return err ? err : partial;
}

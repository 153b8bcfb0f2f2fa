// SPDX-License-Identifier: LGPL-2.1-or-later
/* show_words.c: what several ways to show requests write alike. */
#include "user/request/show.h"

unsigned request_put_means(struct outbuf *out, double min_ns, double max_ns)
{
	return outbuf_bounds(out, (struct time_bounds){min_ns > 0 ? (uint64_t)min_ns : 0,
						       max_ns > 0 ? (uint64_t)max_ns : 0});
}

void request_put_function(struct request_show *s, uint32_t id)
{
	const struct func_id *f = &s->requests->of.ids.at[id];
	outbuf_json(s->out, "\"function\":", func_id_name(s->view, f));
	if (f->kind <= FUNC_IMPORT) {
		outbuf_json(s->out,
			    ",\"module\":", pugmark_trace_module_name(s->view->trace, f->module));
	}
	if (f->kind == FUNC_IMPORT)
		outbuf_text(s->out, ",\"import\":true");
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* page_asked.c: see page_asked.h. Each is JSON: what `report --request`, `diff` and `encode --fsa`
 * print, and a listing of blocks. */
#include "user/cmd/page_asked.h"

#include "user/encode/encode.h"
#include "user/request/show.h"
#include "user/view/compare/against.h"
#include "user/view/compare/compare_show.h"
#include "user/view/lines/block_listing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static int collect_requests(struct page_asked *asked, struct trace_view *view, struct outbuf *out,
			    struct pugmark_diag *diag)
{
	size_t bytes;
	const char *format = view->format;
	FILE *file = open_memstream(&asked->requests_json, &bytes);
	if (!file)
		return trace_view_no_memory(view, diag);
	struct request_show show = {.out = out, .slowest = PAGE_SLOWEST};
	outbuf_init(out, file);
	view->format = "json";
	int err = request_report(view, asked->request, asked->longer_ns, &show, diag);
	view->format = format;
	bool whole = outbuf_flush(out);
	if ((fclose(file) || !whole) && !err)
		err = trace_view_no_memory(view, diag);
	return err;
}

static int write_against(struct page_asked *asked, const struct trace_view *view,
			 const struct against *against, struct outbuf *out,
			 struct pugmark_diag *diag)
{
	size_t bytes;
	FILE *file = open_memstream(&asked->against_json, &bytes);
	if (!file)
		return trace_view_no_memory(view, diag);
	outbuf_init(out, file);
	outbuf_json(out, "{\"title\":", asked->against);
	outbuf_text(out, ",\"rows\":");
	compare_show_json(out, &against->compare);
	outbuf_char(out, '}');
	bool whole = outbuf_flush(out);
	return fclose(file) || !whole ? trace_view_no_memory(view, diag) : 0;
}

/* The other recording is the first of the two. */
static int collect_against(struct page_asked *asked, struct trace_view *view, struct outbuf *out,
			   struct pugmark_diag *diag)
{
	struct trace_view other;
	struct against against = {0};
	trace_view_init(&other, view->command, "json");
	int err = trace_view_open(&other, asked->against, diag);
	struct trace_view *const views[2] = {&other, view};
	if (!err)
		err = against_collect(views, false, NULL, 0, &against, diag);
	if (!err)
		err = write_against(asked, view, &against, out, diag);
	against_deinit(&against);
	trace_view_deinit(&other);
	return err;
}

enum { AUTOMATA_TAIL = 3, AUTOMATA_BYTES_MAX = 8 << 20 };

/* As `encode --fsa`. A recording in which no function was called has none, and too many have no
 * room in a page, which then says so. */
static int collect_automata(struct page_asked *asked, struct trace_view *view, struct outbuf *out,
			    struct pugmark_diag *diag)
{
	size_t bytes;
	struct encode *e = calloc(1, sizeof(*e));
	FILE *file = e ? open_memstream(&asked->automata_json, &bytes) : NULL;
	if (!file) {
		free(e);
		return trace_view_no_memory(view, diag);
	}
	outbuf_init(out, file);
	e->out = out;
	e->format = &encode_json;
	e->selection = SELECT_CALLEES;
	e->encoding = ENCODE_FSA;
	e->k = AUTOMATA_TAIL;
	e->view = *view; /* lent: the names that it makes are its own */
	int err = encode_run(e, diag);
	*view = e->view;
	encode_deinit(e);
	free(e);
	bool whole = outbuf_flush(out);
	if (fclose(file) || !whole)
		err = trace_view_no_memory(view, diag);
	bool too_many = !err && bytes > AUTOMATA_BYTES_MAX;
	if (err == -ENODATA || too_many) {
		free(asked->automata_json);
		asked->automata_json = NULL;
		err = 0;
	}
	if (too_many &&
	    asprintf(&asked->automata_json, "{\"automata\":[],\"left_out\":%zu}", bytes) < 0) {
		asked->automata_json = NULL;
		err = trace_view_no_memory(view, diag);
	}
	return err;
}

static int collect_blocks(struct page_asked *asked, struct trace_view *view, struct outbuf *out,
			  struct pugmark_diag *diag)
{
	size_t bytes;
	if (!block_listing_has(view))
		return 0;
	FILE *file = open_memstream(&asked->blocks_json, &bytes);
	if (!file)
		return trace_view_no_memory(view, diag);
	outbuf_init(out, file);
	int err = block_listing_json(view, out, diag);
	bool whole = outbuf_flush(out);
	if ((fclose(file) || !whole) && !err)
		err = trace_view_no_memory(view, diag);
	return err;
}

int page_asked_collect(struct page_asked *asked, struct trace_view *view, struct outbuf *out,
		       struct pugmark_diag *diag)
{
	int err = asked->request ? collect_requests(asked, view, out, diag) : 0;
	if (!err && asked->against)
		err = collect_against(asked, view, out, diag);
	if (!err)
		err = collect_automata(asked, view, out, diag);
	return err ? err : collect_blocks(asked, view, out, diag);
}

void page_asked_deinit(struct page_asked *asked)
{
	free(asked->requests_json);
	free(asked->against_json);
	free(asked->automata_json);
	free(asked->blocks_json);
}

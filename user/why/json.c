// SPDX-License-Identifier: LGPL-2.1-or-later
/* json.c: see print.h. */
#include "user/why/print.h"

#include "user/cli/printable.h"
#include "user/values/names/value_frames.h"

#include <inttypes.h>
#include <stdio.h>

static void json_string(const char *name, const char *text)
{
	printf(",\"%s\":", name);
	printable_json(stdout, text);
}

static void json_line(const struct why_line *l, bool pinned)
{
	printf("{\"times\":%" PRIu64 ",\"first\":%" PRIu64 ",\"last\":%" PRIu64
	       ",\"address\":\"%" PRIx64 "\",\"line\":%u,\"ends\":%s",
	       l->times, l->first, l->last, l->elf, l->line, l->ends ? "true" : "false");
	printf(",\"instances\":%" PRIu64 ",\"pinned\":%" PRIu64, l->instances, l->pinned);
	if (pinned)
		printf(",\"confidence\":%.3f", (double)l->confidence);
	printf(",\"by_data\":%s,\"near\":%" PRIu64, l->by_data ? "true" : "false", l->near);
	if (l->evidence.runs)
		printf(",\"beside\":%s,\"runs\":%u,\"runs_executed\":%u,\"runs_same_ways\":"
		       "%u,\"new_values\":%u",
		       l->beside ? "true" : "false", l->evidence.runs, l->evidence.executed,
		       l->evidence.same_ways, l->evidence.new_values);
	json_string("function", l->function);
	fputs(",\"inlined\":", stdout);
	value_frames_json(stdout, l->frames, l->n_frames);
	json_string("file", l->file);
	json_string("event", l->event);
	json_string("text", l->text);
	json_string("value", l->value);
	putchar('}');
}

static void json_bytes(const struct fold *f)
{
	for (size_t i = 0; i < f->n_bytes; i++)
		printf("%s{\"fd\":%d,\"output\":%s,\"from\":%" PRIu64 ",\"to\":%" PRIu64 "}",
		       i ? "," : "", f->bytes[i].fd, f->bytes[i].output ? "true" : "false",
		       f->bytes[i].from, f->bytes[i].to - 1);
}

static void json_brought(const struct brought *b)
{
	static const char *const names[BROUGHT_ENDS] = {
		[PASSAGE_WRITERS] = "writers", [PASSAGE_READERS] = "readers",
		[PASSAGE_EARLIER] = "earlier", [PASSAGE_OTHERS] = "others",
		[PASSAGE_INSIDE] = "inside",   [BROUGHT_UNTOLD] = "untold",
		[BROUGHT_DIFFER] = "differ",   [BROUGHT_LEFT_OUT] = "left_out"};
	printf("],\"brought\":{\"bytes\":%" PRIu64, b->followed);
	for (unsigned i = PASSAGE_WRITERS; i < BROUGHT_ENDS; i++)
		printf(",\"%s\":%" PRIu64, names[i], b->ends[i]);
	fputs(",\"pieces\":[", stdout);
	bool more = false;
	for (size_t i = 0; i < b->n; i++) {
		const struct brought_piece *p = &b->pieces[i];
		if (p->end)
			continue;
		printf("%s{\"task\":%" PRIu32 ",\"fd\":%d,\"from\":%" PRIu64 ",\"to\":%" PRIu64
		       ",\"writer\":%" PRIu32 ",\"writer_fd\":%d",
		       more ? ",\n" : "\n", p->task, p->fd, p->at, p->at + p->from.bytes - 1,
		       p->from.task, p->writer_fd);
		json_string("by", brought_channel(p->from.channel));
		putchar('}');
		more = true;
	}
	fputs("]}", stdout);
}

static void json_threads(const struct why_slice *s, const struct why_options *o)
{
	const struct why_threads *t = &s->threads;
	json_brought(&t->brought);
	printf(",\"forked_untold\":%" PRIu64, t->forked.untold);
	printf(",\"of_others\":{\"reads\":%" PRIu64 ",\"from_start\":%" PRIu64
	       ",\"beside\":%" PRIu64 ",\"untold\":%" PRIu64 ",\"left_out\":%" PRIu64
	       ",\"calls\":%" PRIu64 "},\"threads\":[",
	       t->reads, t->from_start, t->beside, t->untold, t->left_out, t->calls);
	for (size_t i = 0; i < t->n; i++) {
		printf("%s{\"task\":%" PRIu32 ",\"instances\":%" PRIu64 ",\"inexact\":%" PRIu64
		       ",\"lines\":[",
		       i ? "," : "", t->at[i].task, t->at[i].fold.instances, t->at[i].inexact);
		for (size_t k = 0; k < t->at[i].n && k < o->limit; k++) {
			fputs(k ? ",\n" : "\n", stdout);
			json_line(&t->at[i].lines[k], false);
		}
		fputs("],\"bytes\":[", stdout);
		json_bytes(&t->at[i].fold);
		fputs("]}", stdout);
	}
}

void why_print_json(const struct why_run *w, const struct why_slice *s, const struct why_options *o,
		    uint64_t executed)
{
	printf("{\"direction\":\"%s\"", o->both ? "both" : o->forward ? "forward" : "backward");
	json_string("criterion", w->said);
	printf(",\"executed\":%" PRIu64 ",\"instances\":%" PRIu64
	       ",\"functions\":%zu,\"places\":%zu",
	       executed, s->fold.instances, s->functions, s->whole);
	printf(",\"common\":%zu,\"pruned\":%zu", s->n, s->pruned);
	printf(",\"gap\":%s,\"ends\":%s,\"lines\":[", w->partial ? "true" : "false",
	       s->ends ? "true" : "false");
	for (size_t i = 0; i < why_shown(s, o); i++) {
		fputs(i ? ",\n" : "\n", stdout);
		json_line(&s->lines[i], s->pinned);
	}
	fputs("],\"bytes\":[", stdout);
	json_bytes(&s->fold);
	fputs("],\"edges\":[", stdout);
	for (size_t i = 0; i < s->graph.n; i++) {
		const struct why_edge *e = &s->graph.edges[i];
		printf("%s{\"from\":%" PRIu32 ",\"to\":%" PRIu32
		       ",\"kind\":\"%s\",\"times\":%" PRIu64 "}",
		       i ? ",\n" : "\n", e->from, e->to, why_graph_kind(e->kind), e->times);
	}
	json_threads(s, o);
	puts("]}");
}

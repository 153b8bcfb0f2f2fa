// SPDX-License-Identifier: LGPL-2.1-or-later
/* picture.c: see picture.h. In the SVG the lines are rows, and an edge is an arc at their left,
 * from the row that made something to the row that read it: the longer, the further out. */
#include "user/why/picture.h"

#include "user/cli/printable.h"
#include "user/values/names/value_frames.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the SVG, in pixels. */
enum {
	TOP = 60,
	ROW = 40,
	LEFT = 260,	/* of the rows; what is beside it are arcs */
	WIDTH = 1240,	/* of all */
	TEXT_MAX = 110, /* bytes of a row's text */
	CALLS_MAX = 2,	/* inlined calls around a line that are named */
};

/* "main.c:12 main ×3" */
static void put_place(FILE *out, const struct why_line *l, enum printable_form form)
{
	if (l->file) {
		printable_print(out, why_file_name(l), form);
		fprintf(out, ":%u ", l->line);
	} else if (l->elf) {
		fprintf(out, "0x%" PRIx64 " ", l->elf);
	}
	if (l->function) {
		printable_print(out, l->function, form);
		fputc(' ', out);
	}
	fprintf(out, "\u00d7%" PRIu64, l->times);
	if (l->frames)
		fputs(", ", out);
	value_frames_print(out, l->frames, l->n_frames, CALLS_MAX, form);
}

/* --- DOT ------------------------------------------------------------------------------------- */

/* "\l" ends a line of a box, and puts it at the left. */
static void dot_part(FILE *out, const char *text)
{
	if (!text || !*text)
		return;
	printable_print(out, text, PRINT_DOT);
	fputs("\\l", out);
}

static void dot_line(FILE *out, size_t i, const struct why_line *l)
{
	fprintf(out, "\tn%zu [label=\"", i);
	put_place(out, l, PRINT_DOT);
	fputs("\\l", out);
	dot_part(out, l->text);
	if (l->event)
		dot_part(out, why_event_name(l));
	dot_part(out, l->value);
	fprintf(out, "\"%s%s];\n", l->event ? ",style=rounded" : "",
		l->ends ? ",color=red,tooltip=\"what it depends on is not known\"" : "");
}

void why_picture_dot(FILE *out, const struct why_picture *p)
{
	static const char *const styles[] = {
		[SLICE_EDGE_DATA] = "solid",
		[SLICE_EDGE_ADDRESS] = "dashed",
		[SLICE_EDGE_CONTROL] = "dotted",
	};
	fputs("digraph slice {\n\tlabel=\"", out);
	printable_print(out, p->title, PRINT_DOT);
	if (p->left_out)
		fprintf(out, ", and %zu lines more", p->left_out);
	fputs("\";\n\tlabelloc=t;\n\tnode [shape=box,fontname=monospace,fontsize=10];\n"
	      "\tedge [fontname=monospace,fontsize=9];\n",
	      out);
	for (size_t i = 0; i < p->n; i++)
		dot_line(out, i, &p->lines[i]);
	for (size_t i = 0; i < p->graph->n; i++) {
		const struct why_edge *e = &p->graph->edges[i];
		fprintf(out,
			"\tn%" PRIu32 " -> n%" PRIu32 " [style=%s,label=\"\u00d7%" PRIu64 "\"];\n",
			e->from, e->to, styles[e->kind], e->times);
	}
	fputs("}\n", out);
}

/* --- SVG ------------------------------------------------------------------------------------- */

static long row_at(size_t i)
{
	return TOP + (long)i * ROW;
}

/* Where the arc is met: at the upper part of the row that made it, the lower of the one that read.
 */
static void svg_edge(FILE *out, const struct why_edge *e)
{
	long from = row_at(e->from) + 14, to = row_at(e->to) + 24;
	long far = labs((long)e->from - (long)e->to);
	long out_by = 24 + 8 * (far < 24 ? far : 24);
	fprintf(out, "<path class=\"%s\" d=\"M%d %ld C%ld %ld %ld %ld %d %ld\"><title>",
		why_graph_kind(e->kind), LEFT, from, LEFT - out_by, from, LEFT - out_by, to, LEFT,
		to);
	fprintf(out, "line %" PRIu32 " to line %" PRIu32 ": %s, \u00d7%" PRIu64 "</title></path>\n",
		e->from + 1, e->to + 1, why_graph_kind(e->kind), e->times);
	if (e->times > 1)
		fprintf(out, "<text class=\"count\" x=\"%ld\" y=\"%ld\">\u00d7%" PRIu64 "</text>\n",
			LEFT - 4 - out_by * 3 / 4, (from + to) / 2 + 4, e->times);
}

/* One text of a row, cut where it is long. */
static void svg_text(FILE *out, const char *text)
{
	char cut[TEXT_MAX + PRINTABLE_ESCAPE_MAX];
	printable_copy(cut, TEXT_MAX, text, PRINT_XML);
	fputs(cut, out);
}

static void svg_line(FILE *out, size_t i, const struct why_line *l)
{
	long y = row_at(i);
	fprintf(out,
		"<rect class=\"%s\" x=\"%d\" y=\"%ld\" width=\"%d\" height=\"%d\"/>\n"
		"<text x=\"%d\" y=\"%ld\">",
		l->ends ? "ends" : "row", LEFT, y + 2, WIDTH - LEFT - 10, ROW - 4, LEFT + 8,
		y + 16);
	put_place(out, l, PRINT_XML);
	if (l->ends)
		fputs(": what it depends on is not known", out);
	fprintf(out, "</text>\n<text class=\"what\" x=\"%d\" y=\"%ld\">", LEFT + 8, y + 31);
	const char *parts[] = {l->text, l->event ? why_event_name(l) : NULL, l->value};
	bool any = false;
	for (size_t k = 0; k < sizeof(parts) / sizeof(*parts); k++) {
		if (!parts[k] || !*parts[k])
			continue;
		fputs(any ? "  |  " : "", out);
		svg_text(out, parts[k]);
		any = true;
	}
	fputs("</text>\n", out);
}

static const char svg_style[] =
	"text{font:12px monospace;fill:#222;white-space:pre}text.what{fill:#555}"
	"text.count{font-size:10px;text-anchor:end;fill:#06c}text.title{font-size:15px}"
	"rect.row{fill:#f4f4f4;stroke:#bbb}rect.ends{fill:#fdecea;stroke:#c33}"
	"path{fill:none;stroke:#06c;stroke-width:1.3;marker-end:url(#reads)}"
	"path.address{stroke-dasharray:6 3}path.control{stroke-dasharray:2 3;stroke:#a50}"
	"path.arrow{fill:#06c;stroke:none;marker-end:none}"
	"@media(prefers-color-scheme:dark){svg{background:#1b1b1b}text{fill:#ddd}text.what{fill:#"
	"aaa}"
	"rect.row{fill:#262626;stroke:#555}rect.ends{fill:#402020;stroke:#c66}"
	"path,path.arrow{stroke:#6af}path.arrow{fill:#6af;stroke:none}path.control{stroke:#fa6}"
	"text.count{fill:#6af}}";

void why_picture_svg(FILE *out, const struct why_picture *p)
{
	long height = row_at(p->n) + 30;
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%ld\" viewBox=\"0 "
		"0 "
		"%d %ld\">\n<style>%s</style>\n<title>",
		WIDTH, height, WIDTH, height, svg_style);
	printable_print(out, p->title, PRINT_XML);
	fputs("</title>\n<defs><marker id=\"reads\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" "
	      "markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path class=\"arrow\" d=\"M0 "
	      "0L8 "
	      "4L0 8z\"/></marker></defs>\n<text class=\"title\" x=\"10\" y=\"22\">",
	      out);
	svg_text(out, p->title);
	fputs("</text>\n<text class=\"what\" x=\"10\" y=\"42\">An arc leads from the line that "
	      "made "
	      "something to the line that read it; dashed: addresses, dotted: control.</text>\n",
	      out);
	for (size_t i = 0; i < p->n; i++)
		svg_line(out, i, &p->lines[i]);
	for (size_t i = 0; i < p->graph->n; i++)
		svg_edge(out, &p->graph->edges[i]);
	if (p->left_out)
		fprintf(out, "<text x=\"%d\" y=\"%ld\">and %zu more (--limit)</text>\n", LEFT + 8,
			row_at(p->n) + 18, p->left_out);
	fputs("</svg>\n", out);
}

void why_picture_html(FILE *out, const struct why_picture *p)
{
	fputs("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	      "style-src "
	      "'unsafe-inline'\">\n<meta name=\"viewport\" "
	      "content=\"width=device-width\">\n<title>",
	      out);
	printable_print(out, p->title, PRINT_XML);
	fputs("</title>\n<style>:root{color-scheme:light "
	      "dark}body{margin:1em;overflow-x:auto}</style>"
	      "</head><body>\n",
	      out);
	why_picture_svg(out, p);
	fputs("</body></html>\n", out);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* cmd_diff.c: `pugmark diff`: the options, and how differences are told. */
#include "user/cli/command.h"
#include "user/encode/diff.h"
#include "user/match/match_functions.h"
#include "user/view/compare/against.h"
#include "user/view/compare/compare_show.h"

#include <errno.h>
#include <stdlib.h>

static const char help[] =
	"usage: pugmark diff [options] A B\n"
	"\n"
	"Compares two recordings by what was called in which order: functions that ran in one of "
	"them,\n"
	"calls that were made in one of them, calls that both make but not in the same order, and\n"
	"functions that ran more often in one of them.\n"
	"      --fsa K              order is told by what can follow K calls (3)\n"
	"      --limit N            tell of at most N of a kind (50)\n"
	"      --time               also functions of which a call certainly took longer, or less: "
	"where\n"
	"                           the bounds of the means do not overlap\n"
	"      --match              functions without a name (of stripped builds) are matched, and "
	"not\n"
	"                           taken by their address: by what their instructions did, where "
	"both\n"
	"                           are of level values; else by whom they call and who calls "
	"them\n"
	"      --format text|json   how to print (text)\n" VIEW_HELP_TREE VIEW_HELP_DEPTH
		VIEW_HELP_CALL_TIMES "  -h, --help               this text\n"
	"\n"
	"Exit status: 0 if they did the same, however often; 4 if not; 3 if they did but one has "
	"gaps;\n"
	"1 for an error, 2 for wrong usage.\n";

enum { OPT_LIMIT = VIEW_END, OPT_FSA, OPT_TIME, OPT_MATCH };
enum { DEFAULT_LIMIT = 50, DEFAULT_TAIL = 3 };

struct options {
	struct diff *d;
	uint32_t limit;
	bool time, match;
	struct against against;
	struct match_pair *pairs; /* of functions, by their values */
	struct match_known *known;
	size_t n_pairs;
};

static int take_option(struct options *o, int opt, const char *arg)
{
	struct encode *a = &o->d->sides[0], *b = &o->d->sides[1];
	int status;
	switch (opt) {
	case OPT_LIMIT:
		return trace_view_number(&a->view, arg, UINT32_MAX, &o->limit);
	case OPT_FSA:
		status = trace_view_number(&a->view, arg, FSA_MAX_K, &a->k);
		b->k = a->k;
		return status;
	case OPT_TIME:
		o->time = true;
		return -1;
	case OPT_MATCH:
		o->match = true;
		return -1;
	default:
		status = trace_view_option(&a->view, opt, arg);
		return status >= 0 ? status : trace_view_option(&b->view, opt, arg);
	}
}

static const struct option options[] = {
	VIEW_OPTIONS_PART,
	{"time", no_argument, NULL, OPT_TIME},
	{"match", no_argument, NULL, OPT_MATCH},
	{"limit", required_argument, NULL, OPT_LIMIT},
	{"fsa", required_argument, NULL, OPT_FSA},
	{NULL, 0, NULL, 0},
};
const struct command_words diff_words = {.options = options};

/* Returns an exit status, or -1 if there is something to do. */
static int parse(struct options *o, int argc, char **argv)
{
	int opt;
	command_options_begin();
	while ((opt = command_option(&diff_words, argc, argv)) >= 0) {
		if (opt == 'h') {
			fputs(help, stdout);
			return EXIT_OK;
		}
		if (opt == '?' || opt == ':')
			return command_usage("diff",
					     opt == ':' ? "'%s' needs a value" : "no option '%s'",
					     argv[optind - 1]);
		int status = take_option(o, opt, optarg);
		if (status >= 0)
			return status;
	}
	if (optind + 2 != argc)
		return command_usage("diff", "which two recordings?");
	o->d->sides[0].view.dir = argv[optind];
	o->d->sides[1].view.dir = argv[optind + 1];
	return trace_view_format(&o->d->sides[0].view, (const char *const[]){"text", "json", NULL});
}

/* ---- text ---- */

static const char *name_of(const struct diff *d, uint32_t name)
{
	return symbols_name(d->sides[0].symbols, name);
}

static void put_symbol(struct outbuf *out, const struct diff *d, uint32_t symbol)
{
	if (symbol == DIFF_END) {
		outbuf_text(out, "(returns)");
		return;
	}
	outbuf_text(out, encode_how(symbol));
	outbuf_safe_text(out, name_of(d, symbol_name_index(symbol)));
}

static void put_difference(struct outbuf *out, const struct diff *d, const struct difference *x)
{
	outbuf_text(out, x->kind == DIFF_COUNT ? "* " : x->second ? "+ " : "- ");
	outbuf_safe_text(out, name_of(d, x->function));
	if (x->kind == DIFF_CALL || x->kind == DIFF_ORDER) {
		outbuf_text(out, x->kind == DIFF_CALL ? " -> " : ":");
		for (uint32_t i = 0; i < x->n_path; i++) {
			outbuf_text(out, !i && x->path_cut ? " ... " : " ");
			put_symbol(out, d, x->path[i]);
		}
		outbuf_text(out, x->kind == DIFF_ORDER ? " | " : "");
		put_symbol(out, d, x->callee);
	}
	if (x->kind == DIFF_COUNT)
		outbuf_format(out, "  %llu -> %llu\n", (unsigned long long)x->counts[0],
			      (unsigned long long)x->counts[1]);
	else
		outbuf_format(out, "  %llu\n", (unsigned long long)x->counts[x->second]);
}

static void show_text(struct outbuf *out, const struct diff *d, uint32_t limit,
		      const struct compare *times)
{
	static const char *const titles[N_DIFF_KINDS] = {
		"functions that only one called",
		"calls that only one made",
		"order: what follows | that is different",
		"functions that one called more often",
	};
	for (uint32_t i = 0, end; i < d->found.n; i = end) {
		enum diff_kind kind = d->found.at[i].kind;
		for (end = i; end < d->found.n && d->found.at[end].kind == kind; end++)
			;
		outbuf_format(out, "%s: %u\n", titles[kind], end - i);
		for (uint32_t k = i; k < end && k < i + limit; k++)
			put_difference(out, d, &d->found.at[k]);
		if (end - i > limit)
			outbuf_format(out, "and %u more\n", end - i - limit);
	}
	uint32_t apart = times ? compare_show_text(out, times, limit) : 0;
	if (!d->found.n && !apart)
		outbuf_text(out, "no difference\n");
}

/* ---- JSON ---- */

static void json_symbol(struct outbuf *out, const struct diff *d, uint32_t symbol)
{
	if (symbol == DIFF_END) {
		outbuf_text(out, "null");
		return;
	}
	outbuf_char(out, '"');
	outbuf_text(out, encode_how(symbol));
	outbuf_json_text(out, name_of(d, symbol_name_index(symbol)));
	outbuf_char(out, '"');
}

static void show_matched(struct outbuf *out, const struct options *o)
{
	outbuf_format(out, "functions without a name that were matched: %lld\n",
		      (long long)o->against.matched);
	for (size_t i = 0; i < o->n_pairs; i++) {
		const struct match_pair *p = &o->pairs[i];
		if (!o->known[i].used)
			continue;
		outbuf_text(out, "  ");
		outbuf_safe_text(out, p->second);
		outbuf_text(out, " as ");
		outbuf_safe_text(out, p->first);
		outbuf_format(out, ": %u of its %u instructions have done the same\n", p->matched,
			      p->valued);
	}
}

static void json_matched(struct outbuf *out, const struct options *o)
{
	bool comma = false;
	outbuf_format(out, ",\"matched\":%lld,\"matched_by_values\":[",
		      (long long)o->against.matched);
	for (size_t i = 0; i < o->n_pairs; i++) {
		const struct match_pair *p = &o->pairs[i];
		if (!o->known[i].used)
			continue;
		outbuf_format(out, "%s{\"first\":\"", comma ? "," : "");
		outbuf_json_text(out, p->first);
		outbuf_text(out, "\",\"second\":\"");
		outbuf_json_text(out, p->second);
		outbuf_format(out, "\",\"instructions\":%u,\"of\":%u}", p->matched, p->valued);
		comma = true;
	}
	outbuf_text(out, "]");
}

static void show_json(struct outbuf *out, const struct options *o, const struct compare *times)
{
	const struct diff *d = o->d;
	const uint32_t limit = o->limit;
	static const char *const kinds[N_DIFF_KINDS] = {"function", "call", "order", "count"};
	uint32_t of_kind[N_DIFF_KINDS] = {0};
	bool comma = false;
	outbuf_text(out, "{\"differences\":[");
	for (uint32_t i = 0; i < d->found.n; i++) {
		const struct difference *x = &d->found.at[i];
		if (of_kind[x->kind]++ >= limit)
			continue;
		outbuf_format(out, "%s\n{\"kind\":\"%s\",\"function\":\"", comma ? "," : "",
			      kinds[x->kind]);
		comma = true;
		outbuf_json_text(out, name_of(d, x->function));
		outbuf_format(out, "\",\"counts\":[%llu,%llu]", (unsigned long long)x->counts[0],
			      (unsigned long long)x->counts[1]);
		if (x->kind == DIFF_CALL || x->kind == DIFF_ORDER) {
			outbuf_text(out, ",\"callee\":");
			json_symbol(out, d, x->callee);
		}
		if (x->kind == DIFF_ORDER) {
			outbuf_text(out, ",\"after\":[");
			for (uint32_t k = 0; k < x->n_path; k++) {
				outbuf_text(out, k ? "," : "");
				json_symbol(out, d, x->path[k]);
			}
			outbuf_char(out, ']');
		}
		if (x->kind != DIFF_COUNT)
			outbuf_format(out, ",\"in\":\"%s\"", x->second ? "second" : "first");
		outbuf_char(out, '}');
	}
	if (times) {
		outbuf_text(out, "],\n\"times\":");
		compare_show_json(out, times);
	}
	outbuf_format(out, "%s,\"functions\":%u,\"calls\":%u,\"orders\":%u,\"different_counts\":%u",
		      times ? "" : "]", of_kind[DIFF_FUNCTION], of_kind[DIFF_CALL],
		      of_kind[DIFF_ORDER], of_kind[DIFF_COUNT]);
	if (o->match)
		json_matched(out, o);
	outbuf_text(out, "}\n");
}

/* Where both have values: which functions are the same by these. Without, or where they cannot be
 * replayed, the graphs of calls tell. 0 or -ENOMEM. */
static int match_by_values(struct options *o)
{
	struct pugmark_diag diag;
	const char *const dirs[2] = {o->d->sides[0].view.dir, o->d->sides[1].view.dir};
	if (match_pairs(dirs, &o->pairs, &o->n_pairs, &diag))
		return 0;
	o->known = calloc(o->n_pairs + 1, sizeof(*o->known));
	for (size_t i = 0; o->known && i < o->n_pairs; i++)
		o->known[i] = (struct match_known){o->pairs[i].first, o->pairs[i].second, false};
	return o->known ? 0 : -ENOMEM;
}

static int diff(struct options *o, struct outbuf *out)
{
	struct diff *d = o->d;
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	bool differs = false;
	int err = 0, status = EXIT_OK;
	for (int side = 0; side < 2 && !err; side++)
		err = trace_view_open(&d->sides[side].view, d->sides[side].view.dir, &diag);
	if (!err && o->time && !(d->sides[0].view.info->times && d->sides[1].view.info->times))
		err = pugmark_diag_set(
			&diag, -ENODATA, d->sides[d->sides[0].view.info->times != 0].view.dir,
			PUGMARK_NO_OFFSET,
			"it was recorded without times: --time has nothing to go by");
	struct trace_view *const views[2] = {&d->sides[0].view, &d->sides[1].view};
	if (!err && o->match && match_by_values(o))
		err = trace_view_no_memory(views[0], &diag);
	if (!err && (o->time || o->match))
		err = against_collect(views, o->match, o->known, o->n_pairs, &o->against, &diag);
	if (!err)
		err = diff_run(d, &diag);
	if (err)
		return command_fail(&diag);
	outbuf_init(out, stdout);
	if (!strcmp(d->sides[0].view.format, "json"))
		show_json(out, o, o->time ? &o->against.compare : NULL);
	else
		show_text(out, d, o->limit, o->time ? &o->against.compare : NULL);
	if (o->match && strcmp(d->sides[0].view.format, "json"))
		show_matched(out, o);
	outbuf_flush(out);
	for (uint32_t i = 0; o->time && i < o->against.compare.n; i++)
		differs |= o->against.compare.rows[i].slower != 0;
	for (uint32_t i = 0; i < d->found.n; i++)
		differs |= d->found.at[i].kind != DIFF_COUNT;
	for (int side = 0; side < 2; side++)
		status |= trace_view_status(&d->sides[side].view,
					    tree_walk_gaps(d->sides[side].walk));
	return differs ? EXIT_DIFFERS : status;
}

int cmd_diff(int argc, char **argv)
{
	struct diff *d = calloc(1, sizeof(*d));
	struct outbuf *out = malloc(sizeof(*out));
	struct options o = {.d = d, .limit = DEFAULT_LIMIT};
	int status = -1;
	if (!d || !out) {
		struct pugmark_diag diag;
		pugmark_diag_set(&diag, -ENOMEM, NULL, PUGMARK_NO_OFFSET, "out of memory");
		status = command_fail(&diag);
	} else {
		for (int side = 0; side < 2; side++) {
			trace_view_init(&d->sides[side].view, "diff", "text");
			d->sides[side].k = DEFAULT_TAIL;
		}
		status = parse(&o, argc, argv);
		if (status < 0)
			status = diff(&o, out);
		match_pairs_free(o.pairs, o.n_pairs);
		free(o.known);
		against_deinit(&o.against);
		diff_deinit(d);
		for (int side = 0; side < 2; side++)
			trace_view_deinit(&d->sides[side].view);
	}
	free(d);
	free(out);
	return status;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* cmd_check.c: `pugmark check`: the options, and how deviations are told. */
#include "user/cli/command.h"
#include "user/encode/check.h"

#include <errno.h>
#include <stdlib.h>

static const char help[] =
	"usage: pugmark check [options] DIR --model FILE\n"
	"\n"
	"Holds the recording DIR against a model that pugmark encode made as JSON, and lists\n"
	"where it does what the model has not: calls in another order, functions that are new.\n"
	"      --model FILE         the model: automata, or strings as they are or as a grammar\n"
	"      --limit N            tell of at most N (20)\n"
	"      --format text|json   how to print (text)\n" VIEW_HELP_TREE VIEW_HELP_THREAD
		VIEW_HELP_DEPTH VIEW_HELP_CALL_TIMES "  -h, --help               this text\n"
	"\n"
	"Give the same filters as to encode. Exit status: 0 if all is as in the model, 4 if not, 3 "
	"if\n"
	"it is but the recording has gaps; 1 for an error, 2 for wrong usage.\n";

enum { OPT_MODEL = VIEW_END, OPT_LIMIT };
enum { DEFAULT_LIMIT = 20 };

struct options {
	struct check *c;
	const char *model;
	uint32_t limit;
};

static int own_option(void *ctx, int opt, const char *arg)
{
	struct options *o = ctx;
	switch (opt) {
	case OPT_MODEL:
		o->model = arg;
		return -1;
	case OPT_LIMIT:
		return trace_view_number(&o->c->e.view, arg, UINT32_MAX, &o->limit);
	default:
		return trace_view_option(&o->c->e.view, opt, arg);
	}
}

/* ---- text ---- */

static void put_symbol(struct outbuf *out, const struct check *c, uint32_t symbol)
{
	encode_symbol(out, c->model->symbols, symbol, PRINT_TEXT);
}

static const struct fsa *automaton_of(const struct check *c, const struct deviation *d)
{
	if (c->model->grammar)
		return NULL;
	if (c->model->selection != SELECT_CALLEES)
		return c->model->automata[d->subject];
	return c->model->automata[c->automaton_of.at[symbol_name_index(d->subject)] - 1];
}

static void put_expected(struct outbuf *out, const struct check *c, const struct deviation *d)
{
	const struct fsa *fsa = automaton_of(c, d);
	uint32_t n = 0;
	if (!fsa) {
		if (d->expected == NO_STATE)
			outbuf_text(out, "its end");
		else
			put_symbol(out, c, d->expected);
		return;
	}
	for (uint32_t i = fsa->first[d->state]; i < fsa->first[d->state + 1]; i++) {
		if (n++ == 8) {
			outbuf_format(out, " and %u more",
				      fsa->first[d->state + 1] - fsa->first[d->state] - 8);
			break;
		}
		outbuf_text(out, n > 1 ? ", " : "");
		put_symbol(out, c, fsa->arcs[i].symbol);
	}
	if (fsa->accepted[d->state])
		outbuf_text(out, n ? ", or the end" : "the end");
	else if (!n)
		outbuf_text(out, "nothing: it was cut off there");
}

static void put_subject(struct outbuf *out, const struct check *c, const struct deviation *d)
{
	if (c->model->selection == SELECT_CALLEES)
		put_symbol(out, c, d->subject);
	else if (d->kind == DEVIATES_UNKNOWN)
		outbuf_safe_text(out, d->title ? d->title : d->place.thread);
	else
		outbuf_safe_text(out, c->model->names[d->subject]);
}

static void put_text(struct outbuf *out, const struct check *c, const struct deviation *d)
{
	bool calls = c->model->selection == SELECT_CALLEES;
	put_subject(out, c, d);
	if (d->kind == DEVIATES_UNKNOWN) {
		outbuf_text(out,
			    calls ? ": not a function of the model"
			    : d->title
				    ? ": no such object is in the model"
				    : ": no thread of the model, or it has fewer such sequences");
	} else {
		outbuf_text(out, d->kind == DEVIATES_END ? (calls ? ": returns" : ": ends")
							 : (calls ? ": calls " : ": "));
		if (d->kind == DEVIATES_CALL)
			put_symbol(out, c, d->symbol);
		if (d->before != NO_STATE) {
			outbuf_text(out, " after ");
			put_symbol(out, c, d->before);
		} else {
			outbuf_text(out, " first");
		}
		outbuf_text(out, "; the model has there: ");
		put_expected(out, c, d);
	}
	uint64_t start = c->e.view.start_ns, at = d->place.time_ns;
	outbuf_format(out, "\n  %llu time%s, first in thread %d ", (unsigned long long)d->count,
		      d->count == 1 ? "" : "s", d->place.tid);
	outbuf_safe_text(out, d->place.thread);
	outbuf_format(out, " at event %llu", (unsigned long long)d->place.event);
	if (d->title)
		outbuf_format(out, ", of %llx", (unsigned long long)d->object);
	if (c->e.view.info->times)
		outbuf_format(out, ", %.6f s", at > start ? (double)(at - start) / 1e9 : 0.0);
	outbuf_char(out, '\n');
	for (uint32_t i = 0; i < d->n_path; i++) {
		outbuf_text(out, i ? " > " : d->path_left_out ? "  in ... > " : "  in ");
		put_symbol(out, c, d->path[i]);
	}
	if (d->n_path)
		outbuf_char(out, '\n');
}

static void show_text(struct outbuf *out, const struct check *c, uint32_t limit)
{
	uint32_t n = c->deviations.n;
	for (uint32_t i = 0; i < n && i < limit; i++)
		put_text(out, c, &c->deviations.at[i]);
	if (n > limit)
		outbuf_format(out, "and %u other kinds\n", n - limit);
	if (c->total)
		outbuf_format(out, "%llu deviation%s from the model\n",
			      (unsigned long long)c->total, c->total == 1 ? "" : "s");
	else
		outbuf_text(out, "as in the model\n");
}

/* ---- JSON ---- */

static void json_symbol(struct outbuf *out, const struct check *c, const char *key, uint32_t symbol)
{
	outbuf_format(out, ",\"%s\":\"", key);
	encode_symbol(out, c->model->symbols, symbol, PRINT_JSON);
	outbuf_char(out, '"');
}

static void show_json(struct outbuf *out, const struct check *c, uint32_t limit)
{
	static const char *const kinds[] = {"unknown", "call", "end"};
	outbuf_format(out, "{\"total\":%llu,\"kinds\":%u,\"deviations\":[",
		      (unsigned long long)c->total, c->deviations.n);
	for (uint32_t i = 0; i < c->deviations.n && i < limit; i++) {
		const struct deviation *d = &c->deviations.at[i];
		outbuf_format(out, "%s\n{\"kind\":\"%s\",\"count\":%llu", i ? "," : "",
			      kinds[d->kind], (unsigned long long)d->count);
		if (c->model->selection == SELECT_CALLEES)
			json_symbol(out, c, "function", d->subject);
		if (d->kind == DEVIATES_CALL)
			json_symbol(out, c, "came", d->symbol);
		if (d->kind != DEVIATES_UNKNOWN && d->before != NO_STATE)
			json_symbol(out, c, "after", d->before);
		if (d->title) {
			outbuf_json(out, ",\"of\":", d->title);
			outbuf_format(out, ",\"object\":\"%llx\"", (unsigned long long)d->object);
		}
		outbuf_format(out, ",\"tid\":%d,\"event\":%llu", d->place.tid,
			      (unsigned long long)d->place.event);
		if (c->e.view.info->times)
			outbuf_format(out, ",\"ns\":%llu",
				      (unsigned long long)(d->place.time_ns - c->e.view.start_ns));
		outbuf_text(out, ",\"path\":[");
		for (uint32_t k = 0; k < d->n_path; k++) {
			outbuf_json(out, k ? "," : "",
				    symbols_name(c->model->symbols, symbol_name_index(d->path[k])));
		}
		outbuf_text(out, "]}");
	}
	outbuf_text(out, "]}\n");
}

static const struct option options[] = {
	VIEW_OPTIONS_PART,
	{"model", required_argument, NULL, OPT_MODEL},
	{"limit", required_argument, NULL, OPT_LIMIT},
	{NULL, 0, NULL, 0},
};
const struct command_words check_words = {.options = options};

/* Returns an exit status, or -1 if there is something to do. */
static int parse(struct options *o, int argc, char **argv)
{
	struct trace_view *view = &o->c->e.view;
	int status = trace_view_parse(view, argc, argv, &check_words, help, own_option, o);
	if (status >= 0)
		return status;
	if (!o->model)
		return command_usage("check", "which model? (--model FILE)");
	return trace_view_format(view, (const char *const[]){"text", "json", NULL});
}

static int check(struct options *o, struct outbuf *out)
{
	struct check *c = o->c;
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	int err = encode_model_open(o->model, &c->model, &diag);
	if (!err)
		err = trace_view_open(&c->e.view, c->e.view.dir, &diag);
	if (!err)
		err = check_run(c, &diag);
	if (err)
		return command_fail(&diag);
	outbuf_init(out, stdout);
	(strcmp(c->e.view.format, "json") ? show_text : show_json)(out, c, o->limit);
	outbuf_flush(out);
	return c->total ? EXIT_DIFFERS : trace_view_status(&c->e.view, c->e.gaps);
}

int cmd_check(int argc, char **argv)
{
	struct check *c = calloc(1, sizeof(*c));
	struct outbuf *out = malloc(sizeof(*out));
	struct options o = {.c = c, .limit = DEFAULT_LIMIT};
	int status = -1;
	if (!c || !out) {
		struct pugmark_diag diag;
		pugmark_diag_set(&diag, -ENOMEM, NULL, PUGMARK_NO_OFFSET, "out of memory");
		status = command_fail(&diag);
	} else {
		trace_view_init(&c->e.view, "check", "text");
		status = parse(&o, argc, argv);
		if (status < 0)
			status = check(&o, out);
		check_deinit(c);
		trace_view_deinit(&c->e.view);
	}
	free(c);
	free(out);
	return status;
}

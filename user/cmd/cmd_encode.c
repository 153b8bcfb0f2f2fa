// SPDX-License-Identifier: LGPL-2.1-or-later
/* cmd_encode.c: `pugmark encode`: the options, and which selection goes with which encoding. */
#include "user/cli/command.h"
#include "offline/encode/encode_chains.h"
#include "user/encode/encode.h"

#include <errno.h>
#include <stdlib.h>

static const char help[] =
	"usage: pugmark encode [options] DIR\n"
	"\n"
	"Turns the recording DIR, or a packed file, into something a person can read, or a model "
	"that another trace "
	"can\n"
	"be checked against: what to keep (a selection), and how to say it (an encoding).\n"
	"\n"
	"Selections:\n"
	"      --strings            every call and return, as f(g() h()), thread by thread\n"
	"      --class PATTERN      the calls into the functions or modules that match, from "
	"outside\n"
	"                           of these, thread by thread (repeatable)\n"
	"      --object PATTERN     the same, a sequence for each object: of one value of the "
	"first\n"
	"                           argument (which record has to read)\n"
	"      --handle stdio|sockets|sqlite3|threads|FILE\n"
	"                           the calls that work on such handles, a sequence for each (of\n"
	"                           record --handle)\n"
	"      --dag                the call tree with what is alike folded, and how long it took\n"
	"      --n-level N          chains of up to N functions, a call and what called it: how "
	"often,\n"
	"                           how long (text and json)\n"
	"      --intervals N        N spans of the time: calls of each class or module, "
	"allocations,\n"
	"                           waiting (text and json)\n"
	"      --callees            for each function, what each call of it called\n"
	"Encodings:\n"
	"      --rle [K]            runs counted, those longer than K as \"many\"\n"
	"      --grammar            what repeats as rules (Sequitur)\n"
	"      --grammar-rle [K]    the same with runs counted\n"
	"      --balanced           the same, rules that close what they open\n"
	"      --fsa [K]            automata of what can follow K calls (3)\n"
	"Options:\n"
	"      --format text|json|xml|dot|svg|packed\n"
	"                           how to print (text); pictures are of --dag and --fsa,\n"
	"                           packed is the smallest file of --dag, to be read again\n"
	"      --top N              of a graph only the N nodes with most time (40)\n"
	"      --no-times           without times of nodes and handles\n"
	"      --merge              with --class: all threads in one sequence, by "
	"time\n" VIEW_HELP_TREE VIEW_HELP_THREAD VIEW_HELP_DEPTH VIEW_HELP_CALL_TIMES
	"      --stats              speed and memory, to stderr\n"
	"  -h, --help               this text\n"
	"\n"
	"Exit status: 0, or 3 where what was read has gaps; 1 for an error, 2 for wrong usage.\n";

enum {
	OPT_STRINGS = VIEW_END,
	OPT_CLASS,
	OPT_HANDLE,
	OPT_OBJECT,
	OPT_MERGE,
	OPT_DAG,
	OPT_CALLEES,
	OPT_N_LEVEL,
	OPT_INTERVALS,
	OPT_RLE, /* and on: as enum encode_encoding */
	OPT_GRAMMAR,
	OPT_GRAMMAR_RLE,
	OPT_BALANCED,
	OPT_FSA,
	OPT_STATS,
	OPT_TOP,
	OPT_NO_TIMES,
};

enum { MAX_RUN = 1000000000, MAX_SPANS = 100000, DEFAULT_TAIL = 3, DEFAULT_TOP = 40 };

/* Which selection goes with which encoding. */
static const bool makes_sense[N_SELECTIONS][N_ENCODINGS] = {
	[SELECT_STRINGS] = {true, true, true, true, true, true},
	[SELECT_FACE] = {true, true, true, true, false, true},
	[SELECT_OBJECT] = {true, true, true, true, false, true},
	[SELECT_DAG] = {true, true, true, true, false, false},
	[SELECT_CHAINS] = {true},
	[SELECT_INTERVALS] = {true},
	[SELECT_CALLEES] = {[ENCODE_FSA] = true},
};

struct options {
	struct encode *e;
	char **argv;
	int selection, encoding; /* -1: not given */
};

static int select_option(struct options *o, enum encode_selection selection)
{
	if (o->selection >= 0 && o->selection != (int)selection)
		return command_usage("encode", "--%s and --%s: one selection only",
				     encode_selection_names[o->selection],
				     encode_selection_names[selection]);
	o->selection = (int)selection;
	return -1;
}

/* Options whose number may be left out: it is the next word if that is a number. */
static int encoding_option(struct options *o, enum encode_encoding encoding, const char *arg)
{
	struct encode *e = o->e;
	if (o->encoding >= 0)
		return command_usage("encode", "--%s and --%s: one encoding only",
				     encode_encoding_names[o->encoding],
				     encode_encoding_names[encoding]);
	o->encoding = (int)encoding;
	bool takes_k =
		encoding == ENCODE_RLE || encoding == ENCODE_GRAMMAR_RLE || encoding == ENCODE_FSA;
	const char *next = o->argv[optind];
	if (!takes_k)
		return -1;
	e->k = encoding == ENCODE_FSA ? DEFAULT_TAIL : 0;
	if (!arg && next && *next && strspn(next, "0123456789") == strlen(next)) {
		arg = next;
		optind++;
	}
	uint32_t max = encoding == ENCODE_FSA ? (uint32_t)FSA_MAX_K : (uint32_t)MAX_RUN;
	return arg ? trace_view_number(&e->view, arg, max, &e->k) : -1;
}

static int table_option(struct options *o, enum encode_selection selection, const char *arg)
{
	uint32_t max = selection == SELECT_CHAINS ? (uint32_t)CHAIN_MAX : (uint32_t)MAX_SPANS;
	int status = trace_view_number(&o->e->view, arg, max, &o->e->k);
	return status >= 0 ? status : select_option(o, selection);
}

static int handle_option(struct options *o, const char *arg)
{
	struct encode *e = o->e;
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	if (e->handle.n_rows || e->face.n)
		return command_usage("encode", "--handle: one, and no --class or --object with it");
	int err = handle_read(arg, &e->handle, &diag);
	for (uint32_t i = 0; i < e->handle.n_rows && !err; i++)
		err = patterns_add(&e->face, e->handle.rows[i].pattern, &diag);
	return err ? command_fail(&diag) : select_option(o, SELECT_OBJECT);
}

static int own_option(void *ctx, int opt, const char *arg)
{
	struct options *o = ctx;
	struct encode *e = o->e;
	struct pugmark_diag diag;
	switch (opt) {
	case OPT_STRINGS:
		return select_option(o, SELECT_STRINGS);
	case OPT_DAG:
		return select_option(o, SELECT_DAG);
	case OPT_CALLEES:
		return select_option(o, SELECT_CALLEES);
	case OPT_N_LEVEL:
	case OPT_INTERVALS:
		return table_option(o, opt == OPT_N_LEVEL ? SELECT_CHAINS : SELECT_INTERVALS, arg);
	case OPT_CLASS:
	case OPT_OBJECT:
		if (patterns_add(&e->face, arg, &diag))
			return command_usage("encode", "%s", diag.text);
		return select_option(o, opt == OPT_CLASS ? SELECT_FACE : SELECT_OBJECT);
	case OPT_HANDLE:
		return handle_option(o, arg);
	case OPT_RLE:
	case OPT_GRAMMAR:
	case OPT_GRAMMAR_RLE:
	case OPT_BALANCED:
	case OPT_FSA:
		return encoding_option(o, (enum encode_encoding)(opt - OPT_RLE + ENCODE_RLE), arg);
	case OPT_TOP:
		return trace_view_number(&e->view, arg, UINT32_MAX, &e->top);
	case OPT_MERGE:
		e->merge = true;
		return -1;
	case OPT_NO_TIMES:
		e->show_times = false;
		return -1;
	case OPT_STATS:
		e->show_stats = true;
		return -1;
	default:
		return trace_view_option(&e->view, opt, arg);
	}
}

/* Fills in what was not said, and checks whether all of it goes together. */
static int settle(struct encode *e, const struct options *o)
{
	static const struct encode_format *const formats[] = {
		&encode_text, &encode_json, &encode_xml, &encode_dot, &encode_svg, &encode_packed};
	e->encoding = o->encoding >= 0 ? (enum encode_encoding)o->encoding : ENCODE_PLAIN;
	e->selection = o->selection >= 0	   ? (enum encode_selection)o->selection
		       : o->encoding == ENCODE_FSA ? SELECT_CALLEES
						   : SELECT_STRINGS;
	if (e->selection == SELECT_DAG && e->encoding == ENCODE_FSA)
		e->selection = SELECT_CALLEES; /* the lists of callees of the nodes are the same */
	if (e->selection == SELECT_CALLEES && o->encoding < 0) {
		e->encoding = ENCODE_FSA;
		e->k = DEFAULT_TAIL;
	}
	if (!makes_sense[e->selection][e->encoding])
		return command_usage("encode", "--%s does not go with --%s",
				     encode_selection_names[e->selection],
				     encode_encoding_names[e->encoding]);
	if (e->merge && e->selection != SELECT_FACE)
		return command_usage(
			"encode", "--merge goes with --class: --strings are one for each thread, "
				  "and in the others all threads are together");
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (!strcmp(e->view.format, formats[i]->name))
			e->format = formats[i];
	if (!e->format)
		return command_usage("encode", "no format '%s' (text, json, xml, dot, svg, packed)",
				     e->view.format);
	if (encode_is_table(e) && e->format != &encode_text && e->format != &encode_json)
		return command_usage("encode", "--%s is text or json",
				     encode_selection_names[e->selection]);
	if (e->format == &encode_packed && (e->selection != SELECT_DAG || o->encoding >= 0))
		return command_usage("encode", "--format packed is of --dag alone");
	if (!e->format->items && e->encoding != ENCODE_FSA &&
	    (e->selection != SELECT_DAG || e->encoding == ENCODE_GRAMMAR ||
	     e->encoding == ENCODE_GRAMMAR_RLE))
		return command_usage("encode", "--format %s draws --fsa, --dag and --dag --rle",
				     e->format->name);
	return -1;
}

static const struct option options[] = {
	VIEW_OPTIONS_PART,
	{"strings", no_argument, NULL, OPT_STRINGS},
	{"class", required_argument, NULL, OPT_CLASS},
	{"handle", required_argument, NULL, OPT_HANDLE},
	{"object", required_argument, NULL, OPT_OBJECT},
	{"merge", no_argument, NULL, OPT_MERGE},
	{"dag", no_argument, NULL, OPT_DAG},
	{"n-level", required_argument, NULL, OPT_N_LEVEL},
	{"intervals", required_argument, NULL, OPT_INTERVALS},
	{"callees", no_argument, NULL, OPT_CALLEES},
	{"rle", optional_argument, NULL, OPT_RLE},
	{"grammar", no_argument, NULL, OPT_GRAMMAR},
	{"grammar-rle", optional_argument, NULL, OPT_GRAMMAR_RLE},
	{"balanced", no_argument, NULL, OPT_BALANCED},
	{"fsa", optional_argument, NULL, OPT_FSA},
	{"stats", no_argument, NULL, OPT_STATS},
	{"top", required_argument, NULL, OPT_TOP},
	{"no-times", no_argument, NULL, OPT_NO_TIMES},
	{NULL, 0, NULL, 0},
};
const struct command_words encode_words = {.options = options};

/* Returns an exit status, or -1 if there is something to do. */
static int parse(struct encode *e, int argc, char **argv)
{
	struct options o = {e, argv, -1, -1};
	int status = trace_view_parse(&e->view, argc, argv, &encode_words, help, own_option, &o);
	return status >= 0 ? status : settle(e, &o);
}

/* The whole, written to stdout or through the format's filter. */
static int encode_whole(struct encode *e, struct pugmark_diag *diag)
{
	static const struct pugmark_recording_info no_times;
	const char *filter = e->format->filter;
	int err = 0;
	if (encode_is_packed(e->view.dir))
		e->view.info = &no_times;
	else
		err = trace_view_open(&e->view, e->view.dir, diag);
	if (err)
		return err;
	if (e->selection == SELECT_INTERVALS && !e->view.info->times)
		return pugmark_diag_set(diag, -ENODATA, e->view.dir, PUGMARK_NO_OFFSET,
					"it was recorded without times: there is nothing to cut "
					"into intervals");
	if (e->merge && !e->view.info->times)
		return pugmark_diag_set(
			diag, -ENODATA, e->view.dir, PUGMARK_NO_OFFSET,
			"it was recorded without times: the order of its threads is "
			"not known");
	e->show_times &= e->view.info->times;
	FILE *to = filter ? popen(filter, "w") : stdout;
	if (!to)
		return pugmark_diag_set(diag, -errno, NULL, PUGMARK_NO_OFFSET, "cannot run %s",
					filter);
	outbuf_init(e->out, to);
	err = encode_run(e, diag);
	outbuf_flush(e->out);
	if (filter && pclose(to) && !err)
		err = pugmark_diag_set(diag, -EPIPE, NULL, PUGMARK_NO_OFFSET,
				       "'%s' failed (is graphviz installed?)", filter);
	return err;
}

int cmd_encode(int argc, char **argv)
{
	struct encode *e = calloc(1, sizeof(*e));
	struct outbuf *out = malloc(sizeof(*out));
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	int status = -1;
	if (!e || !out) {
		pugmark_diag_set(&diag, -ENOMEM, NULL, PUGMARK_NO_OFFSET, "out of memory");
		status = command_fail(&diag);
	}
	if (status < 0) {
		e->out = out;
		e->top = DEFAULT_TOP;
		e->show_times = true;
		/* `report --n-level` is this too, and wrong usage is of what was called. */
		trace_view_init(&e->view, strcmp(argv[0], "report") ? "encode" : "report", "text");
		status = parse(e, argc, argv);
	}
	if (status < 0) {
		int err = encode_whole(e, &diag);
		status = err ? command_fail(&diag) : trace_view_status(&e->view, e->gaps);
		if (!err && e->calls_of_none)
			fprintf(stderr,
				"pugmark: %s: of %llu calls of %llu it is not known on which "
				"object "
				"(see record --args, --handle)\n",
				e->view.dir, (unsigned long long)e->calls_of_none,
				(unsigned long long)e->passed);
	}
	if (e) {
		encode_deinit(e);
		trace_view_deinit(&e->view);
	}
	free(out);
	free(e);
	return status;
}

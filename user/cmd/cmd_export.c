// SPDX-License-Identifier: LGPL-2.1-or-later
/* cmd_export.c: `pugmark export`: the options, and which format they ask for. */
#include "user/cli/command.h"
#include "user/export/formats.h"
#include "user/request/choice.h"
#include "user/view/trace/left_out.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static const char help[] =
	"usage: pugmark export --format FORMAT -o FILE [options] DIR\n"
	"\n"
	"Writes the trace of the recording DIR in a format that other programs open:\n"
	"  perfetto    Perfetto's own (ui.perfetto.dev)\n"
	"  chrome      JSON trace events (chrome://tracing, Perfetto, speedscope)\n"
	"  speedscope  speedscope's own\n"
	"  folded      folded stacks, for flame graphs\n"
	"  pprof       a profile for go tool pprof\n"
	"  callgrind   callgrind's profile (kcachegrind, callgrind_annotate)\n"
	"  ctf         Common Trace Format 1.8, a folder (babeltrace2, Trace Compass)\n"
	"  sqlite      a SQLite database, with views\n"
	"  parquet     the same tables as Parquet files, a folder (DuckDB)\n"
	"Only witnessed events have a time of their own. Formats that can say bounds say them; "
	"what "
	"is\n"
	"drawn at one time is drawn at the earliest that it can have been.\n"
	"\n"
	"      --format perfetto|chrome|speedscope|folded|pprof|callgrind|ctf|sqlite|parquet\n"
	"  -o, --output FILE        what to write; - is standard output, where the format is one "
	"file\n"
	"      --split SIZE|TIME    begin another part when a file has SIZE bytes (a number with "
	"k, M\n"
	"                           or G), or after a TIME (a number with s, ms or us): FILE.001,\n"
	"                           FILE.002 before its suffix; each opens by itself\n"
	"      --request FUNC       only calls of FUNC (a glob, or /regular expression/), and what "
	"they\n"
	"                           call\n"
	"      --slow               of these only the slow ones, as report --request finds them\n"
	"      --longer TIME        of --slow: slow is what certainly took TIME or longer\n"
	"      --weight time|calls  of folded and pprof: what a stack weighs (time; calls where "
	"there\n"
	"                           are no times)\n"
	"      --min-duration TIME  only calls that may have taken TIME or longer\n"
	"      --range FROM..TO     as --from FROM --to TO; either may be left out\n" VIEW_HELP_TREE
		VIEW_HELP_THREAD VIEW_HELP_LINES VIEW_HELP_DEPTH
	"      --from TIME          only calls that may "
	"last beyond TIME: from the start in seconds, "
	"or a\n"
	"                           number with s, ms, us or ns; or a time of day, HH:MM:SS\n"
	"      --to TIME            only calls that may begin before TIME\n"
	"  -h, --help               this text\n"
	"\n"
	"Exit status: 0, or 3 where what is written has gaps; 1 for an error, 2 for wrong usage.\n";

enum {
	OPT_SPLIT = VIEW_END,
	OPT_WEIGHT,
	OPT_MIN_DURATION,
	OPT_RANGE,
	OPT_REQUEST,
	OPT_SLOW,
	OPT_LONGER,
};

struct export_command {
	struct export x;
	const char *request;
	bool slow, weight;
	uint64_t longer_ns;
	struct request_choice choice;
};

/* "": none was asked for. */
static int no_format(const char *name)
{
	char all[256];
	int n = 0;
	for (size_t i = 0; export_formats[i]; i++)
		n += snprintf(all + n, sizeof(all) - (size_t)n, "%s%s", i ? ", " : "",
			      export_formats[i]->name);
	return *name ? command_usage("export", "no format '%s' (%s)", name, all)
		     : command_usage("export", "which --format? (%s)", all);
}

static int take_size(const char *arg, uint64_t *out)
{
	static const char units[] = "kMG";
	char *end;
	errno = 0;
	unsigned long long n = strtoull(arg, &end, 10);
	const char *unit = *end ? strchr(units, *end) : NULL;
	unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
	if (end == arg || errno || *arg == '-' || !n || (*end && (!unit || end[1])) ||
	    n > UINT64_MAX >> shift)
		return command_usage("export",
				     "--split: '%s' is neither a size (a number with k, M or G) "
				     "nor a time (with s, ms, us or ns)",
				     arg);
	*out = (uint64_t)n << shift;
	return -1;
}

/* A time has a unit; all else is a size. */
static int take_split(struct export *x, const char *arg)
{
	if (arg[0] && arg[strlen(arg) - 1] == 's') {
		x->split_bytes = 0;
		int status = trace_view_duration(&x->replay.view, arg, &x->split_ns);
		return status < 0 && !x->split_ns
			       ? command_usage("export", "--split: '%s' is no time", arg)
			       : status;
	}
	x->split_ns = 0;
	return take_size(arg, &x->split_bytes);
}

static int take_range(struct trace_view *view, const char *arg)
{
	const char *dots = strstr(arg, "..");
	char from[64];
	if (!dots || (size_t)(dots - arg) >= sizeof(from))
		return command_usage("export", "'%s' is not a range: FROM..TO", arg);
	snprintf(from, sizeof(from), "%.*s", (int)(dots - arg), arg);
	int status = *from ? trace_view_option(view, VIEW_FROM, from) : -1;
	return status < 0 && dots[2] ? trace_view_option(view, VIEW_TO, dots + 2) : status;
}

static int own_option(void *ctx, int opt, const char *arg)
{
	struct export_command *c = ctx;
	struct export *x = &c->x;
	switch (opt) {
	case 'o':
		x->output = arg;
		return -1;
	case OPT_SPLIT:
		return take_split(x, arg);
	case OPT_REQUEST:
		c->request = arg;
		return trace_view_option(&x->replay.view, 'F', arg);
	case OPT_SLOW:
		c->slow = true;
		return -1;
	case OPT_LONGER:
		return trace_view_duration(&x->replay.view, arg, &c->longer_ns);
	case OPT_WEIGHT:
		c->weight = true;
		x->weigh_calls = !strcmp(arg, "calls");
		if (x->weigh_calls || !strcmp(arg, "time"))
			return -1;
		return command_usage("export", "no weight '%s' (time, calls)", arg);
	case OPT_MIN_DURATION:
		return trace_view_duration(&x->replay.view, arg, &x->replay.longer_ns);
	case OPT_RANGE:
		return take_range(&x->replay.view, arg);
	default:
		return trace_view_option(&x->replay.view, opt, arg);
	}
}

/* What the chosen format cannot do is wrong usage, and not silently left out. */
static int check(struct export_command *c)
{
	struct export *x = &c->x;
	if (c->request && x->replay.view.only.n > 1)
		return command_usage("export", "one of --request and --function");
	if ((c->slow && !c->request) || (c->longer_ns && !c->slow))
		return command_usage("export", c->slow ? "--slow goes with --request"
						       : "--longer goes with --slow");
	x->format = export_format_named(x->replay.view.format);
	if (!x->format)
		return no_format(x->replay.view.format);
	if (!x->output)
		return command_usage("export", "where to? -o FILE (for instance trace.%s)",
				     x->format->suffix);
	if (c->weight && !x->format->weighs)
		return command_usage("export",
				     "--weight: %s has no weights (folded and pprof have)",
				     x->format->name);
	bool split = x->split_bytes || x->split_ns;
	if (!strcmp(x->output, "-") && (x->format->makes_path || split))
		return command_usage("export", "%s cannot go to standard output",
				     split ? "what is split" : x->format->name);
	if (x->split_bytes && (x->format->makes_path || x->format->adds_up))
		return command_usage("export", "--split: %s is one %s, whatever its size",
				     x->format->name, x->format->adds_up ? "sum" : "database");
	return -1;
}

static const struct option options[] = {
	VIEW_OPTIONS_PART,
	VIEW_OPTIONS_LINES,
	{"output", required_argument, NULL, 'o'},
	{"split", required_argument, NULL, OPT_SPLIT},
	{"weight", required_argument, NULL, OPT_WEIGHT},
	{"min-duration", required_argument, NULL, OPT_MIN_DURATION},
	{"range", required_argument, NULL, OPT_RANGE},
	{"request", required_argument, NULL, OPT_REQUEST},
	{"slow", no_argument, NULL, OPT_SLOW},
	{"longer", required_argument, NULL, OPT_LONGER},
	{NULL, 0, NULL, 0},
};
const struct command_words export_words = {.options = options, .writes = "output"};

static int parse(struct export_command *c, int argc, char **argv)
{
	int status =
		trace_view_parse(&c->x.replay.view, argc, argv, &export_words, help, own_option, c);
	return status >= 0 ? status : check(c);
}

int cmd_export(int argc, char **argv)
{
	struct export_command c = {0};
	struct export *x = &c.x;
	struct replay *r = &x->replay;
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	trace_view_init(&r->view, "export", "");
	int status = parse(&c, argc, argv);
	if (status < 0) {
		r->out = malloc(sizeof(*r->out));
		int err = r->out ? trace_view_open(&r->view, r->view.dir, &diag)
				 : trace_view_no_memory(&r->view, &diag);
		if (!err && !r->view.info->times) {
			x->weigh_calls = true;
			if (r->longer_ns)
				err = pugmark_diag_set(&diag, -ENODATA, r->view.dir,
						       PUGMARK_NO_OFFSET,
						       "it was recorded without times: "
						       "--min-duration has nothing to go by");
		}
		if (!err && c.slow)
			err = request_choose(&r->view, c.request, c.longer_ns, &c.choice, &diag);
		if (!err && c.slow)
			r->choice = (struct replay_choice){request_choice_takes, &c.choice};
		if (!err) {
			outbuf_init(r->out, stdout);
			err = export_run(x, &diag);
		}
		if (!err && !x->calls && !x->gaps && (r->longer_ns || c.slow))
			say_none_longer(&r->view);
		else if (!err && !x->calls && !x->gaps)
			err = left_out(&r->view, &diag);
		status = err ? command_fail(&diag) : trace_view_status(&r->view, r->gaps);
		if (status == EXIT_GAPS && r->view.n_tasks)
			command_say(stderr, "pugmark: ", r->view.dir,
				    ": what is written of it has gaps, or it is not whole "
				    "(pugmark verify says where)\n");
	}
	export_deinit(x);
	request_choice_deinit(&c.choice);
	free(r->out);
	trace_view_deinit(&r->view);
	return status;
}

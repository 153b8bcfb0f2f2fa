// SPDX-License-Identifier: LGPL-2.1-or-later
/* cmd_replay.c: `pugmark replay`: the options, and the tree that they ask for. */
#include "user/cli/command.h"
#include "user/values/show/values_calls.h"
#include "user/view/replay/replay.h"
#include "user/view/replay/replay_paths.h"
#include "user/view/trace/left_out.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static const char help[] =
	"usage: pugmark replay [options] DIR\n"
	"\n"
	"Prints the calls of the recording DIR as an indented tree, thread by thread. Only what "
	"was\n"
	"witnessed has a time of its own; the rest has bounds, and a call takes between two "
	"times.\n"
	"      --format text|json   how to print (text)\n" VIEW_HELP_TREE VIEW_HELP_THREAD
		VIEW_HELP_LINES VIEW_HELP_DEPTH
	"      --longer TIME        only calls that may have taken TIME or "
	"longer, and what is around "
	"them\n"
	"      --from TIME          only calls that may last beyond TIME: from the start in "
	"seconds, "
	"or a\n"
	"                           number with s, ms, us or ns; or a time of day, HH:MM:SS\n"
	"      --to TIME            only calls that may begin before TIME\n"
	"      --all                on a terminal too, a line for each call: otherwise the same "
	"call\n"
	"                           many times in a row is one\n"
	"      --runs               and where it is no terminal, one line for many\n"
	"      --paths              the basic blocks as well, with their source lines, and "
	"inlined\n"
	"                           calls (of a recording of level paths)\n"
	"      --values             the calls of a recording of level values, each with "
	"arguments\n"
	"                           and result, as in pugmark values (with --format alone)\n"
	"      --no-pager           on a terminal: not through $PAGER (less)\n"
	"      --debuginfod         ask the servers of $DEBUGINFOD_URLS for names and lines\n"
	"  -h, --help               this text\n"
	"\n"
	"Exit status: 0, or 3 where what is shown has gaps; 1 for an error, 2 for wrong usage.\n";

enum { OPT_ALL = VIEW_END, OPT_RUNS, OPT_PATHS, OPT_LONGER, OPT_VALUES };

/* What own_option() fills. */
struct asked {
	struct replay *replay;
	bool values, others; /* --values; and what does not go with it */
};

static int own_option(void *ctx, int opt, const char *arg)
{
	struct asked *asked = ctx;
	struct replay *r = asked->replay;
	asked->others |= opt != OPT_VALUES && opt != VIEW_FORMAT;
	switch (opt) {
	case OPT_VALUES:
		asked->values = true;
		return -1;
	case OPT_ALL:
		r->all = true;
		return -1;
	case OPT_PATHS:
		if (!r->paths && replay_paths_new(&r->paths))
			return command_usage("replay", "out of memory");
		return -1;
	case OPT_RUNS:
		r->all = false;
		return -1;
	case OPT_LONGER:
		return trace_view_duration(&r->view, arg, &r->longer_ns);
	default:
		return trace_view_option(&r->view, opt, arg);
	}
}

static const struct option options[] = {
	VIEW_OPTIONS_PART,
	VIEW_OPTIONS_LINES,
	{"all", no_argument, NULL, OPT_ALL},
	{"runs", no_argument, NULL, OPT_RUNS},
	{"paths", no_argument, NULL, OPT_PATHS},
	{"longer", required_argument, NULL, OPT_LONGER},
	{"values", no_argument, NULL, OPT_VALUES},
	{NULL, 0, NULL, 0},
};
const struct command_words replay_words = {.options = options};

/* Returns an exit status, or -1 if there is something to do. */
static int parse(struct replay *r, bool *values, int argc, char **argv)
{
	struct asked asked = {.replay = r};
	int status =
		trace_view_parse(&r->view, argc, argv, &replay_words, help, own_option, &asked);
	if (status >= 0)
		return status;
	if (asked.values && asked.others)
		return command_usage("replay", "--values goes with --format alone");
	*values = asked.values;
	r->format = strcmp(r->view.format, "json") ? &replay_text : &replay_json;
	return trace_view_format(&r->view, (const char *const[]){"text", "json", NULL});
}

/* Blocks are shown of what was recorded with them. */
static int check_blocks(const struct replay *r, struct pugmark_diag *diag)
{
	uint32_t n;
	const struct pugmark_recording_module *modules = pugmark_recording_modules(r->view.rec, &n);
	bool any = !r->paths;
	for (uint32_t m = 0; m < n && !any; m++)
		any = modules[m].plan && plan_shows_blocks(pugmark_trace_plan(r->view.trace, m));
	return any ? 0
		   : pugmark_diag_set(diag, -ENODATA, r->view.dir, PUGMARK_NO_OFFSET,
				      "--paths: recorded without blocks (record with --level "
				      "paths)");
}

static int check_times(const struct replay *r, struct pugmark_diag *diag)
{
	return r->view.info->times || !r->longer_ns
		       ? 0
		       : pugmark_diag_set(diag, -ENODATA, r->view.dir, PUGMARK_NO_OFFSET,
					  "it was recorded without times: --longer has nothing to "
					  "go by");
}

int cmd_replay(int argc, char **argv)
{
	struct replay r = {.term = tty_of(STDOUT_FILENO)};
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	trace_view_init(&r.view, "replay", "text");
	r.all = !r.term.is_tty;
	bool values = false;
	int status = parse(&r, &values, argc, argv);
	if (status < 0 && values) {
		int err = values_calls_print(r.view.dir, r.format == &replay_json, &diag);
		status = err < 0 ? command_fail(&diag) : err ? EXIT_GAPS : EXIT_OK;
	} else if (status < 0) {
		r.out = malloc(sizeof(*r.out));
		int err = r.out ? trace_view_open(&r.view, r.view.dir, &diag)
				: trace_view_no_memory(&r.view, &diag);
		err = err ? err : check_blocks(&r, &diag);
		err = err ? err : check_times(&r, &diag);
		if (!err) {
			outbuf_init(r.out, stdout);
			if (r.format == &replay_text)
				outbuf_fit(r.out, r.term.width);
			err = replay_show(&r, &diag);
			outbuf_flush(r.out);
		}
		if (!err && !r.any && !r.gaps && r.longer_ns)
			say_none_longer(&r.view);
		else if (!err && !r.any && !r.gaps)
			err = left_out(&r.view, &diag);
		status = err ? command_fail(&diag) : trace_view_status(&r.view, r.gaps);
	}
	replay_paths_free(r.paths);
	free(r.out);
	trace_view_deinit(&r.view);
	return status;
}

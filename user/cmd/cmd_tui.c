// SPDX-License-Identifier: LGPL-2.1-or-later
/* cmd_tui.c: `pugmark tui`: options, and what comes when the terminal is left. */
#include "user/cli/command.h"
#include "user/tui/tui.h"

static const char help[] =
	"usage: pugmark tui [options] DIR\n"
	"\n"
	"Shows the recording DIR in this terminal: the call tree, functions, callers and callees "
	"of "
	"one,\n"
	"the slowest calls and the gaps, below a strip of the time (calls that begin; ! where a "
	"gap "
	"is).\n"
	"Keys: 1 to 5 choose the view; arrows, j, k, page keys, Home and End move; Enter opens a "
	"call, or\n"
	"goes to a function (c: also from the tree); / searches, n goes on; g and s go to the next "
	"gap and\n"
	"the next slowest call, which the strip shows; q leaves.\n" VIEW_HELP_TREE VIEW_HELP_THREAD
	"      --from TIME          only what happened after TIME: from the start in seconds, or a "
	"number\n"
	"                           with s, ms, us or ns; or a time of day, HH:MM:SS\n"
	"      --to TIME            only what happened before TIME\n"
	"  -h, --help               this text\n"
	"\n"
	"Without colours where NO_COLOR is set. Exit status: 0, or 3 where there are gaps; 1 for "
	"an "
	"error,\n"
	"2 for wrong usage.\n";

static int own_option(void *ctx, int opt, const char *arg)
{
	return trace_view_option(ctx, opt, arg);
}

static const struct option options[] = {
	VIEW_OPTIONS_COMMON, VIEW_OPTIONS_FILTER, VIEW_OPTIONS_TIME,
	VIEW_OPTIONS_MODULE, {NULL, 0, NULL, 0},
};
const struct command_words tui_words = {.options = options};

int cmd_tui(int argc, char **argv)
{
	struct trace_view view;
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	uint64_t gaps = 0;
	trace_view_init(&view, "tui", "");
	int status = trace_view_parse(&view, argc, argv, &tui_words, help, own_option, &view);
	if (status < 0 && *view.format)
		status = command_usage("tui", "it has no formats (see: pugmark report)");
	if (status < 0) {
		int err = trace_view_open(&view, view.dir, &diag);
		if (!err)
			err = tui_run(&view, &gaps, &diag);
		status = err ? command_fail(&diag) : trace_view_status(&view, gaps);
	}
	trace_view_deinit(&view);
	return status;
}

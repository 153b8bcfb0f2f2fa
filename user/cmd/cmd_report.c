// SPDX-License-Identifier: LGPL-2.1-or-later
/* cmd_report.c: `pugmark report`: options and order. What is counted is
 * user/view/report/report.c's, how it is shown user/view/report/report_show.h's. */
#include "user/cli/command.h"
#include "user/cmd/page_asked.h"
#include "user/request/show.h"
#include "user/view/report/rates.h"
#include "user/view/lines/report_lines.h"
#include "user/view/report/report_show.h"
#include "user/view/trace/left_out.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

struct report_command {
	struct report_show show;
	bool html;
	bool tables;	     /* --n-level, --intervals: what encode makes */
	const char *request; /* as user/request/spec.h says, or NULL */
	struct request_when when;
	const char *output;   /* --html: the file */
	const char *against;  /* --html: another recording, or NULL */
	bool lines, coverage; /* source lines instead of functions */
	const char *binary;   /* where the module is now, or NULL */
};

static const char help[] =
	"usage: pugmark report [options] DIR\n"
	"\n"
	"Prints for each function that ran in the recording DIR how often it was called, and the\n"
	"bounds of the time spent in it with all that it called (total) and without (self).\n"
	"Where DIR is a folder of recordings by shares (of `record`): its calls a second, by "
	"the\n"
	"time in which they had it, and the interval that holds that with 95 %.\n"
	"      --format text|json   how to print (text); JSON has the callers and callees as well\n"
	"      --sort total|self|calls|name\n"
	"                           the order (total; calls where there are no times)\n"
	"      --top N              only the first N functions\n"
	"      --distribution       of each function's calls the shortest, the median, the 99th "
	"percentile\n"
	"                           and the longest, instead of sums (JSON has both)\n"
	"      --slowest N          the N slowest calls, instead of functions\n"
	"      --outliers           functions of which some calls certainly took ten times the\n"
	"                           median or longer\n"
	"      --n-level N          chains of up to N functions, a call and what called it: how "
	"often,\n"
	"                           how long (as encode says)\n"
	"      --intervals N        N spans of the time: calls of each module, allocations, "
	"waiting\n"
	"      --request FUNC[..FUNC_B][,ID[:ID_B]]\n"
	"                           each call of FUNC (a glob, or /regular expression/) is a "
	"request,\n"
	"                           or from the begin of FUNC to the end of the next FUNC_B of the "
	"thread:\n"
	"                           how many are slow, and what those did that the fast ones did "
	"not.\n"
	"                           ID, 1 to 6 or result: the argument that says whose it is "
	"(record\n"
	"                           --args-of FUNC); of FUNC_B it is ID_B, or the same\n"
	"      --when 'FUNC > TIME' only what ran in calls of FUNC that certainly took longer (or "
	"<)\n"
	"      --longer TIME        of --slowest: only calls that may have taken TIME or longer; "
	"of\n"
	"                           --request: slow is what took TIME or longer (otherwise found)\n"
	"      --from TIME          only what happened after TIME: from the start in seconds, or a "
	"number\n"
	"                           with s, ms, us or ns; or a time of day, HH:MM:SS\n"
	"      --to TIME            only what happened before TIME\n"
	"      --lines              source lines executed, and how often (of a recording of level\n"
	"                           paths, of a program compiled with -g)\n"
	"      --coverage           the same, and what was not executed, in lcov's format\n"
	"      --binary FILE        for these: where the recorded file is now\n"
	"      --html               a page, in one file that needs nothing else: overview, flame "
	"graph,\n"
	"                           timeline, call tree, functions; with -o FILE\n"
	"      --against DIR        of --html: also what is different from that recording\n"
	"  -o, --output FILE        of --html: the file, which must not be there yet\n"
	"      --callers FUNCTION   who called it, how often (a glob, or /regular expression/)\n"
	"      --callees FUNCTION   whom it called, how often\n"
	"  -F, --function PATTERN   only functions that match (repeatable)\n"
	"  -N, --no-function PATTERN\n"
	"                           without functions that match (repeatable)\n"
	"      --module PATTERN     only functions of modules whose name matches (repeatable)\n"
	"      --thread TID         only what that thread did (repeatable)\n" VIEW_HELP_LINES
	"      --no-pager           on a terminal: not through $PAGER (less)\n"
	"      --debuginfod         ask the servers of $DEBUGINFOD_URLS for names and lines\n"
	"  -h, --help               this text\n"
	"\n"
	"Exit status: 0, or 3 where the trace has gaps or is not whole; 1 for an error, 2 for "
	"wrong usage.\n";

enum {
	OPT_SORT = VIEW_END,
	OPT_TOP,
	OPT_CALLERS,
	OPT_CALLEES,
	OPT_LINES,
	OPT_COVERAGE,
	OPT_BINARY,
	OPT_DISTRIBUTION,
	OPT_SLOWEST,
	OPT_LONGER,
	OPT_HTML,
	OPT_REQUEST,
	OPT_WHEN,
	OPT_AGAINST,
	OPT_OUTLIERS,
	OPT_TABLES,
};

static int own_option(void *ctx, int opt, const char *arg)
{
	struct report_command *c = ctx;
	struct report_show *s = &c->show;
	char *end;
	unsigned long n;
	switch (opt) {
	case OPT_SORT:
		for (enum report_order i = 0; i < N_REPORT_ORDERS; i++)
			if (!strcmp(arg, report_order_names[i])) {
				s->order = i;
				s->sorted = true;
				return -1;
			}
		return command_usage("report", "no order '%s' (total, self, calls, name)", arg);
	case OPT_TOP:
		n = strtoul(arg, &end, 10);
		if (end == arg || *end || !n || n > UINT32_MAX || *arg == '-')
			return command_usage("report", "'%s' is not a number of functions", arg);
		s->top = (uint32_t)n;
		return -1;
	case OPT_CALLERS:
		s->callers = arg;
		return -1;
	case OPT_CALLEES:
		s->callees = arg;
		return -1;
	case OPT_LINES:
		c->lines = true;
		return -1;
	case OPT_COVERAGE:
		c->coverage = true;
		return -1;
	case OPT_BINARY:
		c->binary = arg;
		return -1;
	case OPT_DISTRIBUTION:
		s->distribution = true;
		return -1;
	case OPT_SLOWEST:
		return trace_view_number(&s->view, arg, 1000000, &s->wish.slowest);
	case OPT_HTML:
		c->html = true;
		return -1;
	case OPT_REQUEST:
		c->request = arg;
		return -1;
	case OPT_WHEN:
		if (c->when.func || !request_when_parse(arg, &c->when))
			return command_usage("report",
					     "'%s' is no condition: 'FUNC > TIME' or "
					     "'FUNC < TIME', once",
					     arg);
		return -1;
	case OPT_AGAINST:
		c->against = arg;
		return -1;
	case OPT_OUTLIERS:
		s->outliers = true;
		return -1;
	case OPT_TABLES:
		c->tables = true;
		return -1;
	case 'o':
		c->output = arg;
		return -1;
	case OPT_LONGER:
		return trace_view_duration(&s->view, arg, &s->wish.longer_ns);
	default:
		return trace_view_option(&s->view, opt, arg);
	}
}

static const struct option options[] = {
	VIEW_OPTIONS_COMMON,
	VIEW_OPTIONS_FILTER,
	VIEW_OPTIONS_TIME,
	VIEW_OPTIONS_MODULE,
	VIEW_OPTIONS_LINES,
	{"distribution", no_argument, NULL, OPT_DISTRIBUTION},
	{"slowest", required_argument, NULL, OPT_SLOWEST},
	{"longer", required_argument, NULL, OPT_LONGER},
	{"html", no_argument, NULL, OPT_HTML},
	{"request", required_argument, NULL, OPT_REQUEST},
	{"against", required_argument, NULL, OPT_AGAINST},
	{"when", required_argument, NULL, OPT_WHEN},
	{"outliers", no_argument, NULL, OPT_OUTLIERS},
	{"n-level", required_argument, NULL, OPT_TABLES},
	{"intervals", required_argument, NULL, OPT_TABLES},
	{"output", required_argument, NULL, 'o'},
	{"sort", required_argument, NULL, OPT_SORT},
	{"top", required_argument, NULL, OPT_TOP},
	{"callers", required_argument, NULL, OPT_CALLERS},
	{"callees", required_argument, NULL, OPT_CALLEES},
	{"lines", no_argument, NULL, OPT_LINES},
	{"coverage", no_argument, NULL, OPT_COVERAGE},
	{"binary", required_argument, NULL, OPT_BINARY},
	{NULL, 0, NULL, 0},
};
const struct command_words report_words = {.options = options, .writes = "output"};

/* Returns an exit status, or -1 if there is something to do. */
static int parse(struct report_command *c, int argc, char **argv)
{
	struct report_show *s = &c->show;
	int status = trace_view_parse(&s->view, argc, argv, &report_words, help, own_option, c);
	if (status >= 0)
		return status;
	if (strcmp(s->view.format, "text") && strcmp(s->view.format, "json"))
		return command_usage("report", "no format '%s' (text, json)", s->view.format);
	if (!strcmp(s->view.format, "json") && (s->callers || s->callees))
		return command_usage("report", "JSON has all callers and callees: no --callers, "
					       "no --callees");
	if (c->lines && c->coverage)
		return command_usage("report", "either --lines or --coverage");
	if (c->coverage && !strcmp(s->view.format, "json"))
		return command_usage("report", "--coverage has a format of its own");
	if (s->wish.longer_ns && !s->wish.slowest && !c->request)
		return command_usage("report", "--longer goes with --slowest or --request");
	if (c->html != !!c->output)
		return command_usage("report",
				     c->html ? "--html: where to? -o FILE" : "-o goes with --html");
	if (c->html + c->tables + (s->wish.slowest && !c->request) + s->distribution + s->outliers +
		    (c->request && !c->html) + !!c->when.func + (c->lines || c->coverage) +
		    (s->callers || s->callees) >
	    1)
		return command_usage("report",
				     "one of --html, --slowest, --request, --when, --outliers, "
				     "--n-level, --intervals, --distribution, --lines, --coverage, "
				     "--callers and "
				     "--callees");
	if (c->against && !c->html)
		return command_usage("report", "--against goes with --html (for text: pugmark diff "
					       "--time)");
	if (c->html && s->wish.slowest)
		return command_usage("report", "the page has the slowest calls: no --slowest");
	if (c->html && s->view.by_goroutine)
		return command_usage("report", "the page is told by thread: no --by goroutine");
	if (c->binary && !c->lines && !c->coverage)
		return command_usage("report", "--binary goes with --lines or --coverage");
	return -1;
}

static int check_times(const struct report_command *c, struct pugmark_diag *diag)
{
	const struct report_show *s = &c->show;
	if (s->view.info->times || c->html || !(s->wish.slowest || s->distribution || s->outliers))
		return 0;
	return pugmark_diag_set(diag, -ENODATA, s->view.dir, PUGMARK_NO_OFFSET,
				"it was recorded without times: --slowest, --distribution and "
				"--outliers have nothing to go by");
}

/* The page walks the trace once more, for the timeline and the stacks of calls. */
static int html_report(struct report_command *c, struct pugmark_diag *diag)
{
	struct report_show *s = &c->show;
	struct page_asked asked = {
		.request = c->request, .longer_ns = s->wish.longer_ns, .against = c->against};
	int err = page_asked_collect(&asked, &s->view, s->out, diag);
	if (err) {
		page_asked_deinit(&asked);
		return err;
	}
	const struct page_about about = {.report = &s->report,
					 .requests = asked.requests_json,
					 .against = asked.against_json,
					 .automata = asked.automata_json,
					 .blocks = asked.blocks_json};
	struct export x = {
		.format = &page_format, .output = c->output, .about = &about, .diag = diag};
	x.weigh_calls = !s->view.info->times;
	x.replay.view = s->view; /* lent: the names that it makes are its own */
	x.replay.out = s->out;
	outbuf_init(s->out, stdout);
	err = export_run(&x, diag);
	s->view = x.replay.view;
	if (!err && !x.calls && !x.gaps)
		err = left_out(&s->view, diag);
	export_deinit(&x);
	page_asked_deinit(&asked);
	return err;
}

static int requests_report(struct report_command *c, struct pugmark_diag *diag)
{
	struct report_show *s = &c->show;
	struct request_show show = {.out = s->out,
				    .term = s->term,
				    .top = s->top,
				    .slowest = s->wish.slowest,
				    .within = c->when.func,
				    .less = c->when.less};
	outbuf_init(s->out, stdout);
	int err = c->when.func
			  ? request_report(&s->view, c->when.func, c->when.limit_ns, &show, diag)
			  : request_report(&s->view, c->request, s->wish.longer_ns, &show, diag);
	outbuf_flush(s->out);
	return err;
}

static int report(struct report_command *c, struct pugmark_diag *diag)
{
	struct report_show *s = &c->show;
	if (c->html)
		s->wish.slowest = PAGE_SLOWEST;
	int err = trace_view_open(&s->view, s->view.dir, diag);
	if (!err && (c->lines || c->coverage)) {
		outbuf_init(s->out, stdout);
		err = report_lines(&s->view, c->binary,
				   c->coverage			    ? LINES_LCOV
				   : strcmp(s->view.format, "json") ? LINES_TEXT
								    : LINES_JSON,
				   s->out, &s->report.gaps, diag);
		if (!err)
			outbuf_flush(s->out);
		return err;
	}
	if (!err && ((c->request && !c->html) || c->when.func))
		return requests_report(c, diag);
	if (!err)
		err = check_times(c, diag);
	if (!err)
		err = report_collect(&s->view, &s->wish, &s->report, diag);
	if (!err && c->html)
		return html_report(c, diag);
	if (!err)
		err = report_show_rows(s, diag);
	if (err)
		return err;
	outbuf_init(s->out, stdout);
	if (strcmp(s->view.format, "json"))
		outbuf_fit(s->out, s->term.width);
	err = strcmp(s->view.format, "json") ? report_show_text(s, diag)
					     : report_show_json(s, diag);
	outbuf_flush(s->out);
	if (!err && !s->report.calls && !s->report.gaps && !s->n_rows)
		return left_out(&s->view, diag);
	if (!err && s->wish.slowest && s->report.calls && !s->report.n_slow)
		say_none_longer(&s->view);
	return err;
}

/* A folder of recordings, each of which may have some functions only. */
static int rates_report(struct report_command *c)
{
	struct report_show *s = &c->show;
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	struct rates rates = {0};
	struct outbuf *out = malloc(sizeof(*out));
	const struct trace_view *v = &s->view;
	if (c->html || c->request || c->lines || c->coverage || s->callers || s->callees ||
	    s->distribution || s->wish.slowest || s->sorted || v->only.n || v->without.n ||
	    v->modules.n || v->n_tids || v->by_goroutine || v->from.kind || v->to.kind) {
		free(out);
		return command_usage("report",
				     "%s is a folder of recordings: --format and --top are "
				     "for it, the rest for one of them",
				     v->dir);
	}
	int err = out ? rates_read(v->dir, &rates, &diag) : trace_view_no_memory(v, &diag);
	if (!err) {
		outbuf_init(out, stdout);
		err = rates_show(&rates, !strcmp(v->format, "json"), s->top, out);
		outbuf_flush(out);
		if (err)
			trace_view_no_memory(v, &diag);
	}
	int status = err ? command_fail(&diag) : rates.not_whole ? EXIT_GAPS : EXIT_OK;
	rates_deinit(&rates);
	free(out);
	return status;
}

int cmd_report(int argc, char **argv)
{
	struct report_command c = {.show.term = tty_of(STDOUT_FILENO)};
	struct report_show *s = &c.show;
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	trace_view_init(&s->view, "report", "text");
	int status = parse(&c, argc, argv);
	if (status < 0 && c.tables) {
		optind = 1;
		status = cmd_encode(argc, argv);
	} else if (status < 0 && rates_is_folder(s->view.dir)) {
		status = rates_report(&c);
	} else if (status < 0) {
		s->out = malloc(sizeof(*s->out));
		int err = s->out ? report(&c, &diag) : trace_view_no_memory(&s->view, &diag);
		status = err ? command_fail(&diag) : trace_view_status(&s->view, s->report.gaps);
	}
	free(s->out);
	free(c.when.func);
	free(s->rows);
	report_deinit(&s->report);
	trace_view_deinit(&s->view);
	return status;
}

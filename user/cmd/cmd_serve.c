// SPDX-License-Identifier: LGPL-2.1-or-later
/* cmd_serve.c: `pugmark serve`: options and order. The sockets are made first; then the process
 * gives up all but reading, and only then reads the recording, and requests. */
#include "user/cli/command.h"
#include "user/cmd/page_asked.h"
#include "user/sandbox/confine.h"
#include "user/serve/listen.h"
#include "user/serve/serve.h"
#include "user/view/report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
	"usage: pugmark serve [options] DIR\n"
	"\n"
	"Shows the recording DIR in a browser, as the page of `pugmark report` does, however large "
	"it is: what is\n"
	"seen of the timeline is asked for. Prints the page's address, which holds a secret token, "
	"and\n"
	"answers until Ctrl-C. Only this machine can connect.\n"
	"      --port N             on port N of 127.0.0.1 (any that is free)\n"
	"      --socket PATH        at a Unix socket instead, which is made for its owner alone\n"
	"      --request FUNC[..FUNC_B][,ID[:ID_B]]\n"
	"                           also requests: how many are slow, and why (see: pugmark "
	"report)\n"
	"      --longer TIME        of --request: slow is what took TIME or longer (otherwise "
	"found)\n"
	"      --against DIR        also what is different from that recording\n"
	"      --from TIME          only what happened after TIME: from the start in seconds, or a "
	"number\n"
	"                           with s, ms, us or ns; or a time of day, HH:MM:SS\n"
	"      --to TIME            only what happened before TIME\n" VIEW_HELP_TREE
		VIEW_HELP_THREAD "  -h, --help               this text\n"
	"\n"
	"Exit status: 0, or 3 where the trace has gaps or is not whole; 1 for an error, 2 for "
	"wrong usage.\n";

enum { OPT_PORT = VIEW_END, OPT_SOCKET, OPT_REQUEST, OPT_LONGER, OPT_AGAINST };

struct serve_command {
	struct trace_view view;
	struct listener listener;
	struct report report;
	struct served served;
	struct page_asked asked;
	uint32_t port; /* 0: any */
	const char *socket;
	uint64_t gaps;
};

static int own_option(void *ctx, int opt, const char *arg)
{
	struct serve_command *c = ctx;
	switch (opt) {
	case OPT_PORT:
		return trace_view_number(&c->view, arg, UINT16_MAX, &c->port);
	case OPT_LONGER:
		return trace_view_duration(&c->view, arg, &c->asked.longer_ns);
	case OPT_REQUEST:
		c->asked.request = arg;
		return -1;
	case OPT_AGAINST:
		c->asked.against = arg;
		return -1;
	case OPT_SOCKET:
		c->socket = arg;
		return *arg ? -1 : command_usage("serve", "--socket: which path?");
	default:
		return trace_view_option(&c->view, opt, arg);
	}
}

static const struct option options[] = {
	VIEW_OPTIONS_COMMON,
	VIEW_OPTIONS_FILTER,
	VIEW_OPTIONS_TIME,
	VIEW_OPTIONS_MODULE,
	{"port", required_argument, NULL, OPT_PORT},
	{"socket", required_argument, NULL, OPT_SOCKET},
	{"request", required_argument, NULL, OPT_REQUEST},
	{"longer", required_argument, NULL, OPT_LONGER},
	{"against", required_argument, NULL, OPT_AGAINST},
	{NULL, 0, NULL, 0},
};
const struct command_words serve_words = {.options = options, .writes = "socket"};

static int parse(struct serve_command *c, int argc, char **argv)
{
	int status = trace_view_parse(&c->view, argc, argv, &serve_words, help, own_option, c);
	if (status < 0 && *c->view.format)
		return command_usage("serve", "it has no formats (see: pugmark report)");
	if (status < 0 && c->port && c->socket)
		return command_usage("serve", "one of --port and --socket");
	if (status < 0 && c->asked.longer_ns && !c->asked.request)
		return command_usage("serve", "--longer goes with --request");
	return status;
}

/* A file without a name, of this user alone. */
static int unnamed_file(struct pugmark_diag *diag)
{
	const char *folder = getenv("TMPDIR");
	if (!folder || !*folder)
		folder = "/var/tmp";
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	return fd >= 0 ? fd
		       : pugmark_diag_set(diag, -errno, folder, PUGMARK_NO_OFFSET,
					  "no file for the calls can be made there: %s (TMPDIR "
					  "names another folder)",
					  strerror(errno));
}

static int confine(const struct serve_command *c, struct pugmark_diag *diag)
{
	confine_bound(c->view.dir);
	return confine_drop() && confine_refuse(CONFINE_READ)
		       ? 0
		       : pugmark_diag_set(diag, -ENOSYS, c->view.dir, PUGMARK_NO_OFFSET,
					  "is not read: this kernel has no seccomp");
}

/* Counts and walks the recording; the file @fd is taken. */
static int collect(struct serve_command *c, int fd, struct pugmark_diag *diag)
{
	const struct report_wish wish = {.slowest = PAGE_SLOWEST};
	struct export x = {.diag = diag};
	x.replay.out = malloc(sizeof(*x.replay.out));
	int err = x.replay.out ? trace_view_open(&c->view, c->view.dir, diag)
			       : trace_view_no_memory(&c->view, diag);
	if (!err)
		err = report_collect(&c->view, &wish, &c->report, diag);
	if (!err)
		err = page_asked_collect(&c->asked, &c->view, x.replay.out, diag);
	if (err) {
		close(fd);
	} else {
		const struct page_about about = {.report = &c->report,
						 .requests = c->asked.requests_json,
						 .against = c->asked.against_json,
						 .automata = c->asked.automata_json,
						 .blocks = c->asked.blocks_json};
		x.replay.view = c->view; /* lent: the names that it makes are its own */
		err = serve_collect(&x, &about, fd, &c->served, diag);
		c->view = x.replay.view;
		c->gaps = x.replay.gaps;
		export_deinit(&x);
	}
	free(x.replay.out);
	return err;
}

static void say_address(const struct serve_command *c)
{
	const struct request_rules *rules = &c->listener.rules;
	if (c->socket)
		printf("http://localhost/%s/\n", rules->token);
	else
		printf("http://127.0.0.1:%u/%s/\n", rules->port, rules->token);
	fflush(stdout);
}

static int serve(struct serve_command *c, struct pugmark_diag *diag)
{
	int err = listener_open(&c->listener, (uint16_t)c->port, c->socket, diag);
	int fd = err ? -1 : unnamed_file(diag);
	if (!err && fd < 0)
		err = fd;
	if (!err)
		err = confine(c, diag);
	if (!err)
		err = collect(c, fd, diag);
	if (err)
		return err;
	serve_catch_end();
	err = listener_begin(&c->listener, diag);
	if (err)
		return err;
	say_address(c);
	return serve_loop(c->listener.fd, &c->listener.rules, &c->served, diag);
}

int cmd_serve(int argc, char **argv)
{
	struct serve_command c = {.listener = {.fd = -1, .folder = -1}};
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	trace_view_init(&c.view, "serve", "");
	int status = parse(&c, argc, argv);
	if (status < 0)
		status =
			serve(&c, &diag) ? command_fail(&diag) : trace_view_status(&c.view, c.gaps);
	listener_close(&c.listener);
	served_deinit(&c.served);
	page_asked_deinit(&c.asked);
	report_deinit(&c.report);
	trace_view_deinit(&c.view);
	return status;
}

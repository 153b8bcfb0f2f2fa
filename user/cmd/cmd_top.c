// SPDX-License-Identifier: LGPL-2.1-or-later
/* cmd_top.c: `pugmark top`: options; a recorder, if one is to be started (top_recorder.h); and the
 * view (user/tui/top.h), in a process of its own that has given up all that it does not need. */
#include "user/cli/command.h"
#include "user/cmd/top_recorder.h"
#include "user/sandbox/as_owner.h"
#include "user/sandbox/confine.h"
#include "user/tui/top.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char help[] =
	"usage: pugmark top [options] -p PID\n"
	"       pugmark top [options] -a BINARY\n"
	"       pugmark top [options] -- PROGRAM [ARGS]\n"
	"       pugmark top [options] DIR\n"
	"\n"
	"Shows what runs now: each function's calls a second, its own share of a processor, and "
	"how long\n"
	"its calls take, all between bounds; of processes that run, of a program that is started, "
	"or of the\n"
	"recording DIR that is being made. Once a second; keys: 1 to 4 choose the order (time, "
	"calls,\n"
	"99 %, name), arrows, j, k and page keys move, / searches, n goes on, z begins durations "
	"anew, q\n"
	"leaves. In the end, all that ran is printed.\n"
	"      --once               print one table and end: of a second of -p and -a, of a "
	"program's whole\n"
	"                           run, of what is there of DIR (as where there is no terminal)\n"
	"      --top N              at most N functions in what is printed\n"
	"  -o, --output DIR         keep the recording there\n"
	"With DIR:\n" VIEW_HELP_TREE VIEW_HELP_THREAD
	"Else all other options are those of `pugmark record`.\n"
	"  -h, --help               this text\n"
	"\n"
	"Without colours where NO_COLOR is set. Exit status: 0, or 3 where there are gaps; 1 for "
	"an error,\n"
	"2 for wrong usage.\n";

enum { OPT_ONCE = VIEW_END, OPT_TOP };
/* What of a recording that nobody keeps may wait to be read. */
#define ROOM_BYTES (1ull << 30)
#define ONCE_NS 1000000000ull

struct top_args {
	struct trace_view view;
	bool once;
	uint32_t most;
	char *output;
	char *label;  /* heap: what a recording is of that nobody keeps */
	char **words; /* heap: for the recorder, */
	int n;
	bool launches; /* which starts a program */
	bool records;
};

/* ---- the view, in its process ---- */

static int show(struct top_args *a, char *dir, bool release, uint64_t for_ns)
{
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	struct outbuf out;
	struct timespec ts;
	struct top top = {.release_fd = -1};
	int err = as_owner_of(&(struct command_file){.word = &dir}, 1, &diag);
	if (!err) {
		confine_bound(dir);
		if (!confine_refuse(CONFINE_READ))
			err = pugmark_diag_set(&diag, -ENOSYS, dir, PUGMARK_NO_OFFSET,
					       "is not read: this kernel has no seccomp");
	}
	outbuf_init(&out, stdout);
	if (!err)
		err = trace_view_open_growing(&a->view, dir, &diag);
	if (!err && top_init(&top, &a->view))
		err = trace_view_no_memory(&a->view, &diag);
	clock_gettime(CLOCK_MONOTONIC, &ts);
	top.until_ns = (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
	top.until_ns = for_ns == UINT64_MAX ? for_ns : top.until_ns + for_ns;
	top.most = a->most;
	top.label = a->label;
	top.release = release;
	if (!err && a->once) {
		top_catch_signals();
		err = top_print(&top, &out, &diag);
	} else if (!err) {
		err = top_screen(&top, &diag);
		if (!err && top_table(&top, &out))
			err = trace_view_no_memory(&a->view, &diag);
	}
	outbuf_flush(&out);
	bool gaps = top.live.gaps > 0;
	if (a->view.trace)
		top_deinit(&top);
	trace_view_deinit(&a->view);
	return err ? command_fail(&diag) : gaps ? EXIT_GAPS : EXIT_OK;
}

/* ---- the recorder ---- */

static volatile sig_atomic_t ended_by;

static void on_signal(int signal_nr)
{
	ended_by = signal_nr;
}

/* Waits for the view @pid, which the user ends, or the end of the recording. */
static int wait_for_view(struct top_recorder *r, pid_t pid)
{
	bool full = false, told = false;
	int status;
	while (waitpid(pid, &status, WNOHANG) != pid) {
		nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
		top_recorder_ended(r);
		if (ended_by && !told)
			kill(pid, SIGTERM);
		told |= ended_by != 0;
		if (!full && !r->kept && r->pid && top_recorder_bytes(r) > ROOM_BYTES) {
			full = true;
			kill(r->pid, SIGINT);
		}
	}
	if (full)
		fprintf(stderr,
			"pugmark: %llu MiB were recorded that could not be read in time: "
			"recording ended (fewer functions with -F, or --max-overhead PERCENT)\n",
			ROOM_BYTES >> 20);
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_ERROR;
}

static int record_and_show(struct top_args *a)
{
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	struct sigaction action = {.sa_handler = on_signal};
	struct top_recorder r;
	int status = EXIT_ERROR;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	int err = top_recorder_start(&r, a->words, a->n, a->output, !a->once, &diag);
	if (err == -ECANCELED)
		status = WIFEXITED(r.status) && WEXITSTATUS(r.status) ? WEXITSTATUS(r.status)
								      : EXIT_ERROR;
	else if (err)
		command_fail(&diag);
	pid_t view = err ? -1 : fork();
	if (!view) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (nice(10) < 0) /* what is traced goes first */
			errno = 0;
		status = show(a, r.dir, !r.kept, a->launches ? UINT64_MAX : ONCE_NS);
		fflush(NULL);
		_exit(status);
	}
	if (view > 0)
		status = wait_for_view(&r, view);
	top_recorder_stop(&r);
	if (err || r.status)
		top_recorder_tell(&r);
	top_recorder_free(&r);
	return status;
}

/* ---- the command line ---- */

static int own_option(void *ctx, int opt, const char *arg)
{
	struct top_args *a = ctx;
	if (opt == OPT_ONCE)
		a->once = true;
	else if (opt == OPT_TOP)
		return trace_view_number(&a->view, arg, UINT32_MAX, &a->most);
	else
		return trace_view_option(&a->view, opt, arg);
	return -1;
}

static bool begins(const char *word, const char *with)
{
	return !strncmp(word, with, strlen(with));
}

/* Whether something is to be recorded. */
static bool asks_for_recording(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--") || begins(argv[i], "-p") || begins(argv[i], "-a") ||
		    !strcmp(argv[i], "--pid") || begins(argv[i], "--pid=") ||
		    !strcmp(argv[i], "--all") || begins(argv[i], "--all="))
			return true;
	return false;
}

/* The value of the option @name at argv[*i], which may be in the next word; NULL: it is another
 * one. */
static char *value_of(int argc, char **argv, int *i, const char *name)
{
	size_t len = strlen(name);
	if (strncmp(argv[*i], name, len) != 0)
		return NULL;
	if (argv[*i][len] == '=' && len > 2)
		return argv[*i] + len + 1;
	if (argv[*i][len])
		return len == 2 ? argv[*i] + len : NULL;
	return *i + 1 < argc ? argv[++*i] : NULL;
}

/* What the recorder records, in words: the command, or its options. */
static char *make_label(char **words, int n)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int i = 0;
	while (i < n && strcmp(words[i], "--") != 0)
		i++;
	for (i = i < n ? i + 1 : 0; f && i < n; i++)
		fprintf(f, "%s%s", i && strcmp(words[i - 1], "--") ? " " : "", words[i]);
	if (f)
		fclose(f);
	return text;
}

/* Of a program that is started, the recorder looks at the cost only to refuse what is too dear:
 * this is never too dear. Where the cost is bounded, or patches carry the events, it is not asked.
 */
static bool wants_cost(char **words, int n)
{
	for (int i = 0; i < n; i++)
		if (begins(words[i], "--refuse-above") || begins(words[i], "--max-overhead") ||
		    begins(words[i], "--carrier"))
			return false;
	return true;
}

/* Takes its own options out; all others are the recorder's. -1, or the exit status. */
static int parse_recording(struct top_args *a, int argc, char **argv)
{
	int i = 1;
	char *value;
	a->records = true;
	a->words = calloc((size_t)argc + 2, sizeof(*a->words));
	if (!a->words)
		return EXIT_ERROR;
	for (; i < argc && strcmp(argv[i], "--"); i++) {
		if (!strcmp(argv[i], "-h") || !strcmp(argv[i], "--help")) {
			fputs(help, stdout);
			return EXIT_OK;
		}
		if (!strcmp(argv[i], "--once"))
			a->once = true;
		else if ((value = value_of(argc, argv, &i, "-o")) ||
			 (value = value_of(argc, argv, &i, "--output")))
			a->output = value;
		else if ((value = value_of(argc, argv, &i, "--top"))) {
			int status = trace_view_number(&a->view, value, UINT32_MAX, &a->most);
			if (status >= 0)
				return status;
		} else
			a->words[a->n++] = argv[i];
	}
	a->launches = i < argc;
	if (a->launches && wants_cost(a->words, a->n))
		a->words[a->n++] = "--refuse-above=1000000";
	for (; i < argc; i++)
		a->words[a->n++] = argv[i];
	a->label = a->output ? NULL : make_label(a->words, a->n);
	return -1;
}

static const struct option options[] = {
	VIEW_OPTIONS_COMMON,
	VIEW_OPTIONS_FILTER,
	VIEW_OPTIONS_MODULE,
	{"once", no_argument, NULL, OPT_ONCE},
	{"top", required_argument, NULL, OPT_TOP},
	{NULL, 0, NULL, 0},
};
static const struct command_words top_words = {.options = options};

int cmd_top(int argc, char **argv)
{
	struct top_args a = {.once = !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)};
	trace_view_init(&a.view, "top", "");
	int status =
		asks_for_recording(argc, argv)
			? parse_recording(&a, argc, argv)
			: trace_view_parse(&a.view, argc, argv, &top_words, help, own_option, &a);
	if (status < 0 && *a.view.format)
		status = command_usage("top", "it has no formats (see: pugmark report)");
	if (status >= 0)
		trace_view_deinit(&a.view);
	else if (a.records)
		status = record_and_show(&a);
	else
		status = show(&a, (char *)a.view.dir, false, 0);
	free(a.words);
	free(a.label);
	return status;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* cmd_gdb.c: `pugmark gdb DIR`: a recording of level values behind gdb's remote protocol, on
 * standard input and output; from a terminal it starts gdb, which starts it again. */
#include "user/cli/command.h"
#include "user/cli/numbers.h"
#include "user/sandbox/confine.h"
#include "user/values/gdb/gdb_recording.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char help[] =
	"usage: pugmark gdb [options] DIR\n"
	"\n"
	"Debugs the recording DIR, of level values, with gdb, forwards and backwards:\n"
	"reverse-continue, reverse-step, breakpoints and watchpoints in both directions. Nothing\n"
	"can be changed. A register that the replay does not know, gdb calls unavailable; of\n"
	"memory that is known in part, a note names the rest. All threads of a process are "
	"served.\n"
	"      --task N             begin with that task, as `pugmark values` numbers them (the\n"
	"                           first), and serve the threads of its process\n"
	"      --serve              speak the protocol on standard input and output; so does\n"
	"                           gdb's `target remote | pugmark gdb --serve DIR`\n"
	"  -h, --help               this text\n"
	"\n"
	"Exit status: 0; 1 for an error, 2 for wrong usage; gdb's own where it was started.\n";

struct options {
	const char *dir;
	uint32_t task;
	bool any_task, serve;
};

typedef int use_recording(const char *dir, const uint32_t *task, struct pugmark_diag *diag);

/* Gives up for good what reading a recording does not need, and then uses it. */
static int use_confined(const struct options *o, use_recording *use)
{
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	confine_bound(o->dir);
	if (!confine_refuse(CONFINE_READ)) {
		pugmark_diag_set(&diag, -ENOSYS, o->dir, PUGMARK_NO_OFFSET,
				 "is not read: this kernel has no seccomp");
		return command_fail(&diag);
	}
	int err = use(o->dir, o->any_task ? NULL : &o->task, &diag);
	return err ? command_fail(&diag) : EXIT_OK;
}

/* Whether the recording can be served, said before gdb is there: gdb would only say that the other
 * end is gone, and end well. */
static int check_in_child(const struct options *o)
{
	fflush(NULL);
	pid_t pid = fork();
	if (!pid)
		exit(use_confined(o, gdb_check_recording));
	if (pid < 0) {
		struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
		pugmark_diag_set(&diag, -errno, o->dir, PUGMARK_NO_OFFSET,
				 "no process can be started to read it: %s", strerror(errno));
		return command_fail(&diag);
	}
	int status = 0;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_ERROR;
}

/* gdb splits the command of its pipe by the shell's rules. */
static bool quote(char *out, size_t size, const char *word)
{
	size_t n = 0;
	if (size < 3)
		return false;
	out[n++] = '\'';
	for (; *word; word++) {
		if (n + 6 >= size)
			return false;
		if (*word == '\'') {
			memcpy(out + n, "'\\''", 4);
			n += 4;
		} else {
			out[n++] = *word;
		}
	}
	out[n++] = '\'';
	out[n] = 0;
	return true;
}

static int start_gdb(const struct options *o)
{
	int checked = check_in_child(o);
	if (checked != EXIT_OK)
		return checked;
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	char self[4096], dir[4096], command[9000];
	char own[4096];
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
	own[n > 0 ? n : 0] = 0;
	if (n <= 0 || !quote(self, sizeof(self), own) || !quote(dir, sizeof(dir), o->dir)) {
		pugmark_diag_set(&diag, -ENAMETOOLONG, o->dir, PUGMARK_NO_OFFSET,
				 "its name is too long for gdb's command");
		return command_fail(&diag);
	}
	int len = snprintf(command, sizeof(command), "target remote | %s gdb --serve ", self);
	if (!o->any_task)
		len += snprintf(command + len, sizeof(command) - len, "--task %u ", o->task);
	snprintf(command + len, sizeof(command) - len, "-- %s", dir);
	unsetenv("DEBUGINFOD_URLS"); /* nothing is asked for over a network */
	/* A thread may have to be executed for long before its registers are known. */
	execlp("gdb", "gdb", "-q", "-ex", "set remotetimeout 86400", "-ex", command, (char *)NULL);
	pugmark_diag_set(&diag, -errno, "gdb", PUGMARK_NO_OFFSET, "cannot be started: %s",
			 strerror(errno));
	return command_fail(&diag);
}

static const struct option options[] = {
	{"task", required_argument, NULL, 't'},
	{"serve", no_argument, NULL, 's'},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};
const struct command_words gdb_words = {.options = options, .letters = ":h"};

/* Whether gdb's `target remote |` has started this: it speaks over a socket. */
static bool is_asked_by_gdb(void)
{
	struct stat st;
	return !fstat(STDIN_FILENO, &st) && S_ISSOCK(st.st_mode);
}

int cmd_gdb(int argc, char **argv)
{
	struct options o = {.any_task = true};
	int option;
	command_options_begin();
	while ((option = command_option(&gdb_words, argc, argv)) != -1) {
		uint64_t task;
		switch (option) {
		case 't':
			if (!number_is(optarg, UINT32_MAX, &task))
				return command_usage("gdb", "--task: '%s' is no task's number",
						     optarg);
			o.task = (uint32_t)task;
			o.any_task = false;
			break;
		case 's':
			o.serve = true;
			break;
		case 'h':
			fputs(help, stdout);
			return EXIT_OK;
		default:
			return command_usage("gdb", "no such option, or its argument is missing");
		}
	}
	if (optind + 1 != argc)
		return command_usage("gdb", "one recording is needed");
	o.dir = argv[optind];
	return o.serve || is_asked_by_gdb() ? use_confined(&o, gdb_serve_recording) : start_gdb(&o);
}

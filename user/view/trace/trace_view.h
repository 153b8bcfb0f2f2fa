/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* trace_view.h: what the commands that show a recovered trace share: their options (which threads,
 * modules, functions and times), and the recording opened with them. */
#ifndef USER_TRACE_VIEW_H
#define USER_TRACE_VIEW_H

#include <pugmark/trace.h>

#include "user/cli/command_words.h"
#include "user/cli/patterns.h"

#include "user/view/trace/when.h"

enum { VIEW_MAX_THREADS = 256, VIEW_WHO_BYTES = 32 };

/* Values of getopt_long() for the options below; a command's own begin at VIEW_END. */
enum view_opt {
	VIEW_FORMAT = 256,
	VIEW_THREAD,
	VIEW_MODULE,
	VIEW_FROM,
	VIEW_TO,
	VIEW_DEPTH,
	VIEW_BY,
	VIEW_GOROUTINE,
	VIEW_END,
};

/* Rows for a command's table of long options; -F and -N belong into its short ones. */
#define VIEW_OPTIONS_COMMON                                                                        \
	{"format", required_argument, NULL, VIEW_FORMAT},                                          \
	{                                                                                          \
		"help", no_argument, NULL, 'h'                                                     \
	}
#define VIEW_OPTIONS_FILTER                                                                        \
	{"function", required_argument, NULL, 'F'}, {"no-function", required_argument, NULL, 'N'}, \
	{                                                                                          \
		"thread", required_argument, NULL, VIEW_THREAD                                     \
	}
#define VIEW_OPTIONS_TIME                                                                          \
	{"from", required_argument, NULL, VIEW_FROM},                                              \
	{                                                                                          \
		"to", required_argument, NULL, VIEW_TO                                             \
	}
#define VIEW_OPTIONS_MODULE                                                                        \
	{                                                                                          \
		"module", required_argument, NULL, VIEW_MODULE                                     \
	}

/* Those of commands that show what was done line by line: by thread, or by goroutine. */
#define VIEW_OPTIONS_LINES                                                                         \
	{"by", required_argument, NULL, VIEW_BY},                                                  \
	{                                                                                          \
		"goroutine", required_argument, NULL, VIEW_GOROUTINE                               \
	}
#define VIEW_HELP_LINES                                                                            \
	"      --by thread|goroutine\n"                                                            \
	"                           told thread by thread (the default); or, of a program in\n"    \
	"                           Go, goroutine by goroutine, on whatever threads it ran\n"      \
	"      --goroutine N        only that goroutine (repeatable)\n"

#define VIEW_OPTIONS_DEPTH                                                                         \
	{                                                                                          \
		"depth", required_argument, NULL, VIEW_DEPTH                                       \
	}
/* Those of commands that read any part of a trace. */
#define VIEW_OPTIONS_PART                                                                          \
	VIEW_OPTIONS_COMMON, VIEW_OPTIONS_FILTER, VIEW_OPTIONS_TIME, VIEW_OPTIONS_MODULE,          \
		VIEW_OPTIONS_DEPTH

/* What --help says of them, for commands that follow calls as a tree. */
#define VIEW_HELP_TREE                                                                             \
	"  -F, --function PATTERN   only functions that match, and what they call (a glob, or\n"   \
	"                           /regular expression/; repeatable)\n"                           \
	"  -N, --no-function PATTERN\n"                                                            \
	"                           without functions that match, and what they call "             \
	"(repeatable)\n"                                                                           \
	"      --module PATTERN     only functions of modules whose name matches (repeatable)\n"
#define VIEW_HELP_THREAD "      --thread TID         only that thread (repeatable)\n"
#define VIEW_HELP_DEPTH "      --depth N            at most N levels\n"
#define VIEW_HELP_CALL_TIMES                                                                       \
	"      --from TIME          only calls that begin after TIME: from the start in "          \
	"seconds, or a\n"                                                                          \
	"                           number with s, ms, us or ns; or a time of day, HH:MM:SS\n"     \
	"      --to TIME            only calls that begin before TIME\n"

enum trace_view_match {
	VIEW_MATCHES = 1,  /* a pattern of -F, or there is none */
	VIEW_LEFT_OUT = 2, /* a pattern of -N matches */
};

/* The strings of a module's file, once they have been asked for. */
struct view_strings {
	struct loaded_strings *in; /* NULL: the file is not there */
	bool asked;
};

/* What made_code.c has found out of a page of memory. */
enum { VIEW_PAGES = 256 };
struct view_page {
	uint64_t page;
	int32_t pid;
	bool known, no_file;
};

struct trace_view {
	const char *command, *dir, *format;
	struct patterns only, without, modules;
	int32_t tids[VIEW_MAX_THREADS];
	uint32_t n_tids;
	uint64_t goroutines[VIEW_MAX_THREADS];
	uint32_t n_goroutines;
	bool by_goroutine;
	struct when from, to;	 /* as asked for */
	uint64_t from_ns, to_ns; /* once open: CLOCK_MONOTONIC */

	struct pugmark_trace *trace;
	const struct pugmark_recording *rec;
	const struct pugmark_recording_info *info;
	/* Threads; or, told by goroutine, the lines below, as if each were a thread: tid is then
	 * that of the first one it ran on. */
	const struct pugmark_recording_task *tasks;
	const struct pugmark_trace_line *lines;	 /* NULL: told by thread */
	struct pugmark_recording_task *as_tasks; /* heap */
	uint32_t only_module; /* the number + 1 of the one module that counts; 0: all do */
	uint32_t n_tasks, n_modules;
	uint64_t start_ns; /* times are shown relative to this */
	bool timed;	   /* some part of the time is left out */
	uint32_t depth;	   /* at most so many levels; 0: all */
	bool *module_in;
	/* enum trace_view_match for each function of each module's plan, and for each import, at
	 * the place of its name in the plan's strings. NULL: no patterns were given. */
	uint8_t **funcs, **imports;
	/* Demangled names, as they are asked for: per module and function, and per module and place
	 * of the import's name in the plan's strings. */
	char ***plain, ***plain_imports;
	struct view_strings *strings; /* heap, hints.c's: of the first n_strings modules */
	uint32_t n_strings;
	struct view_page pages[VIEW_PAGES]; /* made_code.c's, by page, modulo */
};

/* A view for the command @command, which shows everything as @format. */
void trace_view_init(struct trace_view *view, const char *command, const char *format);
void trace_view_deinit(struct trace_view *view);
/* Takes the option @opt with getopt's optarg. Returns -1, or the exit status of wrong usage, which
 * has been reported. */
int trace_view_option(struct trace_view *view, int opt, const char *arg);
/* Takes a number from 1 to @max, in the same way. */
int trace_view_number(const struct trace_view *view, const char *arg, uint32_t max, uint32_t *out);
/* Takes a duration, as when_parse_duration() reads it, in the same way. */
int trace_view_duration(const struct trace_view *view, const char *arg, uint64_t *out_ns);
/* What a command does with an option of its own (or passes on to trace_view_option()); @ctx is the
 * command's. Returns -1, or the exit status of wrong usage, which has been reported. */
typedef int (*view_own_option)(void *ctx, int opt, const char *arg);
/* Parses a command line of @words and one recording, and prints @help where it is asked for.
 * Returns an exit status, or -1 if there is something to do: view->dir is the recording then. */
int trace_view_parse(struct trace_view *view, int argc, char **argv,
		     const struct command_words *words, const char *help, view_own_option own,
		     void *ctx);
/* Whether the command writes that format: -1, or the exit status of wrong usage as above. @names
 * ends with NULL. */
int trace_view_format(const struct trace_view *view, const char *const *names);
/* Opens the recording and applies the filters to it. Returns 0, or -errno with @diag filled
 * (-ENOENT: a thread, a module or a function that is not in the recording). */
int trace_view_open(struct trace_view *view, const char *dir, struct pugmark_diag *diag);

/* The same of a recording that may still be made. Patterns hold for modules that come later, too.
 */
int trace_view_open_growing(struct trace_view *view, const char *dir, struct pugmark_diag *diag);
/* Takes in what has been written since: as pugmark_trace_more(). */
int trace_view_more(struct trace_view *view, struct pugmark_diag *diag);

/* False: there were @gaps, or the recording is empty, was cut off or damaged, so that what is
 * missing need not be a gap. */
bool trace_view_is_whole(const struct trace_view *view, uint64_t gaps);
/* The exit status of a command that has shown it, by that; says so where nothing was recorded. */
int trace_view_status(const struct trace_view *view, uint64_t gaps);

bool trace_view_has_task(const struct trace_view *view, uint32_t task);
/* The goroutine that @task is; 0: it is a thread, or what that did of which no goroutine is known.
 */
static inline uint64_t trace_view_goroutine(const struct trace_view *view, uint32_t task)
{
	return view->lines ? view->lines[task].goroutine : 0;
}
/* Whose events these are, as one word: the thread's TID, or g and the goroutine's number. */
void trace_view_who(const struct trace_view *view, uint32_t task, char out[VIEW_WHO_BYTES]);
static inline bool trace_view_has_module(const struct trace_view *view, uint32_t module)
{
	return module >= view->n_modules || view->module_in[module];
}
/* How a function matches the patterns: function @func of @module or, if that is PUGMARK_NONE, the
 * import @import of @module (a string of its plan). Only VIEW_MATCHES is shown. */
uint8_t trace_view_match(const struct trace_view *view, uint32_t module, uint32_t func,
			 const char *import);
static inline bool trace_view_has_func(const struct trace_view *view, uint32_t module,
				       uint32_t func)
{
	return trace_view_has_module(view, module) &&
	       trace_view_match(view, module, func, "") == VIEW_MATCHES;
}
/* Whether the function that the call or tail event @e leads to is shown. */
bool trace_view_has_callee(const struct trace_view *view, const struct pugmark_trace_event *e);
static inline bool trace_view_has_time(const struct trace_view *view,
				       const struct pugmark_trace_event *e)
{
	return e->to_ns >= view->from_ns && e->from_ns <= view->to_ns;
}

int trace_view_no_memory(const struct trace_view *view, struct pugmark_diag *diag);
/* Diagnostic for an error in the middle of task @task. Returns @err. */
int trace_view_task_failed(const struct trace_view *view, uint32_t task, int err,
			   struct pugmark_diag *diag);

/* The word for a cause of an entry or a gap. */
const char *trace_view_cause(uint8_t cause);
/* The function's name as people write it, demangled; "?" for PUGMARK_NONE. Borrowed from the view;
 * for one thread at a time. */
const char *trace_view_func_name(struct trace_view *view, uint32_t module, uint32_t func);
/* The same of @import, a string of the plan of @module. */
const char *trace_view_import_name(struct trace_view *view, uint32_t module, const char *import);

#endif

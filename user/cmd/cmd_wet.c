// SPDX-License-Identifier: LGPL-2.1-or-later
/* cmd_wet.c: `pugmark wet DIR`: the whole execution trace of a recording of level values, in a
 * file, and what it takes, as the tables of the WET paper (Zhang and Gupta, MICRO-37, 2004) have
 * it; and `pugmark wet FILE`, which asks such a file. */
#include "offline/wet/file/choose.h"
#include "offline/wet/file/file.h"
#include "offline/wet/again/noting.h"
#include "user/cli/command.h"
#include "user/cli/numbers.h"
#include "user/values/names/value_names.h"
#include "user/values/names/value_texts.h"
#include "user/wet/wet_output.h"
#include "user/wet/wet_show.h"
#include "user/wet/wet_tables.h"
#include "user/why/control.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum wet_question { ASK_SIZES, ASK_BLOCKS, ASK_VALUES, ASK_DEPENDS };

struct wet_options {
	const char *dir; /* or the file */
	const char *output;
	uint64_t from, to;
	enum wet_question question;
	enum wet_how how;
	struct wet_asked asked;
	uint32_t task; /* 0: all */
	bool window, stats, json, control, machine, streams, limit, times;
	bool questions; /* more than one */
};

static void help(void)
{
	puts("usage: pugmark wet [options] DIR\n"
	     "       pugmark wet [options] FILE\n\n"
	     "Makes the whole execution trace of DIR, a recording of level values: nodes with "
	     "timestamps,\nvalues by groups, dependences with labels, each stream compressed so "
	     "that "
	     "it can be walked both\nways; and prints what it takes, as the tables of the paper on "
	     "WETs do. With -o it is kept in a\nfile, which is then asked:\n\n"
	     "      --window FROM:TO   only instructions FROM to TO (all)\n"
	     "      --machine          which jumps a simple processor would have mispredicted, and "
	     "what missed\n                         its cache: Table 4\n"
	     "      --control          who decided that an instruction was executed, among the "
	     "dependences\n"
	     "      --streams best|stored|executed   values and labels are stored, or are executed "
	     "again;\n                         best: executed where that can be\n"
	     "      --task N           of that task alone (all, one by one; with -o in FILE.N)\n"
	     "  -o, --output FILE      write it there\n\n"
	     "Of a FILE that was written so (without any: the tables):\n"
	     "      --stats            the tables\n"
	     "      --blocks           the nodes that were executed, one behind the other\n"
	     "      --values 0xADDRESS   what the instruction there computed, each time\n"
	     "      --depends 0xADDRESS  whose results it read, and when these were made\n"
	     "      --times FROM:TO    only with these timestamps, both counted (all)\n"
	     "      --backward         with --blocks or --values: the last first\n"
	     "      --limit N          at most so many lines (100)\n"
	     "      --format text|json\n\n"
	     "Exit status: 0; 3 where the recording's values end in a gap or are damaged, or a "
	     "task is "
	     "left\nout; 1 for an error, 2 for wrong usage.");
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int out_of_memory(const struct wet_options *o, struct pugmark_diag *diag)
{
	return pugmark_diag_set(diag, -ENOMEM, o->dir, PUGMARK_NO_OFFSET,
				"out of memory (a smaller --window takes less)");
}

/* Where a trace goes as it is made. */
struct fed {
	struct wet_graph *graph;
	struct wet_machine *machine; /* NULL: not asked for */
	uint64_t from, to;
	bool whole; /* the trace is needed at the end */
	struct dep_words live;
	bool no_memory;
};

static void watch(void *ctx, const struct dep_trace *trace, const struct dep_mark *before,
		  const struct dep_block *block, const struct dep_event *event,
		  const uint64_t *addresses, const uint64_t *results)
{
	struct fed *f = ctx;
	wet_graph_watch(f->graph, trace, before, block, event, addresses, results);
	if (f->machine && block && before->count >= f->from && before->count < f->to)
		f->no_memory |= !wet_machine_block(f->machine, block, addresses, results);
}

/* What was told is not needed again. */
static void forget(void *ctx, struct dep_build *build)
{
	struct fed *f = ctx;
	const struct dep_trace *trace = dep_build_trace(build);
	if (wet_graph_wants_live(f->graph, trace)) {
		f->live.n = 0;
		f->no_memory |= !dep_build_live(build, &f->live) ||
				!wet_graph_live(f->graph, trace, f->live.at, f->live.n);
	}
	if (!f->whole)
		dep_build_forget(build);
}

static void told_word(void *ctx, uint64_t block, uint64_t word)
{
	wet_graph_told_word(ctx, block, word);
}

static void told_blocks(void *ctx, uint64_t block, uint32_t n)
{
	wet_graph_told_blocks(ctx, block, n);
}

/* One task's WET while it is made. */
struct making {
	const struct wet_options *o;
	struct value_replay *replay;
	struct value_names *names;
	struct value_run *run;
	struct wet_graph *graph;
	struct noting *noting; /* NULL: all is stored */
	const char *output;    /* NULL: nowhere */
	FILE *file;	       /* of that name */
	uint64_t damaged;      /* bytes of the captures: any task's may be among them */
	struct wet_made *made;
};

/* Not an error: another way is to be taken. */
enum { CANNOT_EXECUTE = 1 };

/* How many of the instructions so far are not wholly exact. */
static uint64_t inexact_so_far(struct value_run *run)
{
	uint64_t assumed, unknown;
	value_machine_inexact(value_run_machine(run), &assumed, &unknown);
	return assumed + unknown + value_run_supposed(run);
}

/* To the end of the window, block by block; paths are the same whether anybody notes or not. Ends
 * early where it turns out that it cannot be executed again. */
static enum value_replay_stop forward(const struct making *m, struct dep_build *build)
{
	const struct wet_options *o = m->o;
	enum value_replay_stop stop =
		o->from ? dep_build_forward(build, o->from) : VALUE_REPLAY_LIMIT;
	const uint64_t before = inexact_so_far(m->run);
	if (m->noting)
		value_run_steps(m->run, noting_step, m->noting);
	while (stop == VALUE_REPLAY_LIMIT && value_run_count(m->run) < o->to) {
		uint64_t until = value_run_count(m->run) + AGAIN_INSNS;
		wet_graph_cut(m->graph);
		if (m->noting && !noting_block(m->noting, true))
			return VALUE_REPLAY_NO_MEMORY;
		if (m->noting && !noting_can(m->noting))
			break;
		stop = dep_build_forward(build, until < o->to ? until : o->to);
	}
	wet_graph_cut(m->graph);
	wet_graph_inexact(m->graph, inexact_so_far(m->run) - before);
	value_run_steps(m->run, NULL, NULL);
	return !m->noting || noting_block(m->noting, false) ? stop : VALUE_REPLAY_NO_MEMORY;
}

static int feed(const struct making *m, struct pugmark_diag *diag)
{
	const struct wet_options *o = m->o;
	struct slice_control *control = NULL;
	struct fed fed = {.graph = m->graph, .from = o->from, .to = o->to, .whole = o->control};
	int err = 0;
	struct dep_build *build;
	if (dep_build_new(m->run, &build))
		return out_of_memory(o, diag);
	value_run_snapshot_every(m->run, UINT64_MAX / 2);
	fed.machine = o->machine ? wet_machine_new() : NULL;
	fed.no_memory = o->machine && !fed.machine;
	dep_build_watch(build, watch, &fed);
	dep_build_pauses(build, forget, &fed);
	enum value_replay_stop stop = forward(m, build);
	m->made->partial = stop == VALUE_REPLAY_GAP || m->damaged;
	const struct dep_trace *trace = dep_build_trace(build);
	if (m->noting && !noting_can(m->noting))
		err = noting_failed(m->noting) ? out_of_memory(o, diag) : CANNOT_EXECUTE;
	if (!err && o->control && stop != VALUE_REPLAY_NO_MEMORY)
		err = control_of_trace(trace, m->names, value_replay_captures(m->replay), o->dir,
				       &control, diag);
	int finished = err ? err : wet_graph_finish(m->graph, trace, control);
	if (!err && finished == -EOVERFLOW)
		err = pugmark_diag_set(diag, finished, o->dir, PUGMARK_NO_OFFSET,
				       "more than %u paths were executed (a smaller --window has "
				       "fewer)",
				       UINT32_MAX);
	else if (!err && (finished || stop == VALUE_REPLAY_NO_MEMORY))
		err = out_of_memory(o, diag);
	if (!err &&
	    (fed.no_memory || (o->machine && wet_machine_sizes(fed.machine, m->made->machine))))
		err = out_of_memory(o, diag);
	wet_machine_free(fed.machine);
	free(fed.live.at);
	slice_control_free(control);
	dep_build_free(build);
	return err;
}

static const char *place_at(void *ctx, uint64_t ip, uint32_t *module, uint64_t *addr)
{
	return value_names_at(ctx, ip, module, addr);
}

static const char *module_name(void *ctx, uint32_t module)
{
	return value_names_file(ctx, module);
}

/* Compresses the graph, to a file if one was asked for. */
static int compress(const struct making *m, struct pugmark_diag *diag)
{
	struct noted noted, *by = m->noting ? &noted : NULL;
	if (by &&
	    (!noting_result(m->noting, by) || !wet_can_execute(m->graph, by, &m->made->again_ns)))
		return CANNOT_EXECUTE;
	if (!m->output)
		return wet_sizes_of(m->graph, by, NULL, &m->made->sizes) ? out_of_memory(m->o, diag)
									 : 0;
	struct wet_places places = {place_at, module_name, value_names_modules(m->names), m->names};
	int err = wet_file_write(m->graph, by, &places, m->made->partial, m->file, &m->made->sizes);
	return err ? wet_output_failed(m->output, err, diag) : 0;
}

/* One way: executed again, or stored. */
static int make_so(struct making *m, bool executed, struct pugmark_diag *diag)
{
	const struct wet_options *o = m->o;
	double start = now();
	int err = value_run_new(m->replay, m->made->task, &m->run, diag);
	m->made->no_run = err != 0;
	if (err)
		return err;
	m->graph = wet_graph_new(o->from, o->to, o->control, executed);
	struct noting_watch watch = {told_word, told_blocks, m->graph};
	m->noting = executed ? noting_new(&watch) : NULL;
	err = m->graph && (m->noting || !executed) ? feed(m, diag) : out_of_memory(o, diag);
	m->made->built_s += now() - start;
	start = now();
	if (!err)
		err = compress(m, diag);
	m->made->compressed_s += now() - start;
	if (!err) {
		wet_graph_totals(m->graph, &m->made->totals);
		wet_graph_nodes(m->graph, &m->made->nodes);
		m->made->executed = executed;
	}
	noting_free(m->noting);
	wet_graph_free(m->graph);
	value_run_free(m->run);
	m->run = NULL;
	m->graph = NULL;
	m->noting = NULL;
	return err;
}

static int make(struct making *m, struct pugmark_diag *diag)
{
	int err = m->o->how == WET_STORED ? CANNOT_EXECUTE : make_so(m, true, diag);
	if (err == CANNOT_EXECUTE && m->o->how == WET_EXECUTED)
		return pugmark_diag_set(diag, -ENOTSUP, m->o->dir, PUGMARK_NO_OFFSET,
					"cannot be executed again: its code changes, or it "
					"touches too much memory (--streams stored)");
	return err == CANNOT_EXECUTE ? make_so(m, false, diag) : err;
}

/* The name of the file that the trace of @task goes to, in @file. */
static int output_of(const struct wet_options *o, uint32_t task, bool several, char file[PATH_MAX],
		     struct pugmark_diag *diag)
{
	int len = several ? snprintf(file, PATH_MAX, "%s.%u", o->output, task)
			  : snprintf(file, PATH_MAX, "%s", o->output);
	return len < PATH_MAX ? 0 : wet_output_failed(o->output, -ENAMETOOLONG, diag);
}

/* One task's, with its tables; @several: one of several tasks. */
static int make_task(struct making *m, bool several, struct pugmark_diag *diag)
{
	const struct wet_options *o = m->o;
	struct wet_output out = {.parent = -1};
	char file[PATH_MAX];
	int err = o->output ? output_of(o, m->made->task, several, file, diag) : 0;
	m->output = o->output ? file : NULL;
	if (!err && m->output)
		err = wet_output_create(m->output, &out, diag);
	m->file = out.file;
	if (!err)
		err = wet_output_end(&out, make(m, diag), diag);
	if (err)
		return err;
	if (o->window && !m->made->totals.statements)
		fprintf(stderr, "pugmark: task %u: nothing was executed in that window\n",
			m->made->task);
	if (several && !o->json)
		printf("Task %u%s%s\n\n", m->made->task, m->output ? ": " : "",
		       m->output ? m->output : "");
	(o->json ? wet_tables_json : wet_tables_text)(m->made);
	if (several && !o->json)
		putchar('\n');
	return 0;
}

/* The files of those of the first @n tasks that are @written. */
static void remove_written(const struct wet_options *o, const uint32_t *tasks, const bool *written,
			   uint32_t n)
{
	struct pugmark_diag ignored;
	char file[PATH_MAX];
	for (uint32_t i = 0; o->output && i < n; i++)
		if (written[i] && !output_of(o, tasks[i], true, file, &ignored))
			wet_output_remove(file);
}

static int no_values(const struct wet_options *o, uint64_t damaged, struct pugmark_diag *diag)
{
	if (o->task)
		return pugmark_diag_set(diag, -ENODATA, o->dir, PUGMARK_NO_OFFSET,
					"no task %u has values", o->task);
	return pugmark_diag_set(diag, -ENODATA, o->dir, PUGMARK_NO_OFFSET, "%s",
				damaged ? "what was captured is damaged or cut, and of no task"
					: "no task has values (record with --level values)");
}

/* The tasks that are asked for, one by one. *@partial: one of them is left out, ends in a gap, or
 * may, as captures are damaged. */
static int make_all(const struct wet_options *o, bool *partial, struct pugmark_diag *diag)
{
	struct making m = {.o = o};
	uint32_t n_tasks, n = 0;
	int err = value_replay_open(o->dir, &m.replay, diag);
	if (err)
		return err;
	const uint32_t *tasks = captures_tasks(value_replay_captures(m.replay), &n_tasks);
	for (uint32_t i = 0; i < n_tasks; i++)
		n += !o->task || tasks[i] == o->task;
	m.damaged = captures_damaged_bytes(value_replay_captures(m.replay));
	err = n ? 0 : no_values(o, m.damaged, diag);
	err = err ? err : value_names_open(o->dir, value_replay_captures(m.replay), &m.names, diag);
	*partial = !err && value_text_rest(value_names_damage(m.names));
	bool several = n > 1, *written = calloc(n_tasks + 1, sizeof(*written));
	uint32_t left = n;
	err = err || written ? err : out_of_memory(o, diag);
	for (uint32_t i = 0; i < n_tasks && !err; i++) {
		struct wet_made made = {.task = tasks[i]};
		if (o->task && tasks[i] != o->task)
			continue;
		m.made = &made;
		err = make_task(&m, several, diag);
		written[i] = !err;
		/* One of several is left out; that all are is an error. */
		if (err && made.no_run && several && --left)
			err = value_text_no_run(made.task, err, diag, partial);
		*partial |= made.partial;
		if (err && several)
			remove_written(o, tasks, written, i);
	}
	free(written);
	bool none = true;
	if (!err && !o->json)
		value_text_damage(m.damaged, n, false, &none);
	value_names_free(m.names);
	value_replay_free(m.replay);
	return err;
}

/* FROM:TO */
static bool read_range(const char *text, uint64_t *from, uint64_t *to)
{
	const char *end;
	return number_begins(text, UINT64_MAX, &end, from) && *end == ':' &&
	       number_is(end + 1, UINT64_MAX, to) && *to >= *from;
}

/* What the answer does not say: that values may not be exact, or that no time is among those that
 * are asked for. */
static void tell_what_is_asked(const struct wet_options *o, const struct wet_file *file)
{
	const struct wet_totals *t = &file->totals;
	if (o->asked.from > t->paths)
		fprintf(stderr, "pugmark: %s: its timestamps are 1 to %" PRIu64 "\n", o->dir,
			t->paths);
	if (o->question != ASK_BLOCKS && t->inexact)
		fprintf(stderr,
			"pugmark: %s: %" PRIu64 " of its %" PRIu64 " statements are not wholly "
			"exact, and nothing says which (pugmark values of the recording does)\n",
			o->dir, t->inexact, t->statements);
}

static int ask(struct wet_options *o, struct pugmark_diag *diag)
{
	struct wet_file *file;
	int err = wet_file_open(o->dir, &file, diag);
	if (err)
		return err;
	o->asked.path = o->dir;
	o->asked.json = o->json;
	struct wet_made made = {.totals = file->totals,
				.sizes = file->sizes,
				.nodes = file->n_nodes,
				.partial = file->partial,
				.read = true};
	if (o->question == ASK_SIZES)
		(o->json ? wet_tables_json : wet_tables_text)(&made);
	else if (o->question == ASK_BLOCKS)
		err = wet_show_blocks(file, &o->asked, diag);
	else if (o->question == ASK_VALUES)
		err = wet_show_values(file, &o->asked, diag);
	else
		err = wet_show_depends(file, &o->asked, diag);
	if (!err && o->question != ASK_SIZES)
		tell_what_is_asked(o, file);
	bool partial = file->partial;
	wet_file_close(file);
	return err ? err : partial;
}

static const struct option options[] = {
	{"window", required_argument, NULL, 'w'},  {"control", no_argument, NULL, 'c'},
	{"machine", no_argument, NULL, 'm'},	   {"output", required_argument, NULL, 'o'},
	{"stats", no_argument, NULL, 's'},	   {"blocks", no_argument, NULL, 'b'},
	{"values", required_argument, NULL, 'v'},  {"depends", required_argument, NULL, 'd'},
	{"streams", required_argument, NULL, 'S'}, {"task", required_argument, NULL, 'T'},
	{"times", required_argument, NULL, 't'},   {"backward", no_argument, NULL, 'B'},
	{"limit", required_argument, NULL, 'l'},   {"format", required_argument, NULL, 'f'},
	{"help", no_argument, NULL, 'h'},	   {NULL, 0, NULL, 0}};
const struct command_words wet_words = {.options = options, .letters = ":o:h", .writes = "output"};

static const char *const hows[] = {"best", "stored", "executed"};

static int take_option(struct wet_options *o, int opt)
{
	const char *end;
	uint64_t number;
	switch (opt) {
	case 'w':
		o->window = true;
		if (!read_range(optarg, &o->from, &o->to) || o->to == o->from)
			return command_usage("wet", "--window: '%s' is no FROM:TO", optarg);
		return 0;
	case 'c':
		o->control = true;
		return 0;
	case 'm':
		o->machine = true;
		return 0;
	case 'o':
		o->output = optarg;
		return 0;
	case 's':
		o->stats = true;
		return 0;
	case 'b':
		o->questions |= o->question != ASK_SIZES;
		o->question = ASK_BLOCKS;
		return 0;
	case 'v':
	case 'd':
		o->questions |= o->question != ASK_SIZES;
		o->question = opt == 'v' ? ASK_VALUES : ASK_DEPENDS;
		if (!number_begins(optarg, UINT64_MAX, &end, &o->asked.addr) || *end)
			return command_usage("wet", "--%s: '%s' is no address",
					     opt == 'v' ? "values" : "depends", optarg);
		return 0;
	case 'S':
		o->streams = true;
		for (o->how = WET_BEST; o->how <= WET_EXECUTED; o->how++)
			if (!strcmp(optarg, hows[o->how]))
				return 0;
		return command_usage("wet", "no streams '%s' (stored, executed, best)", optarg);
	case 'T':
		if (!number_is(optarg, UINT32_MAX, &number) || !number)
			return command_usage("wet", "--task: '%s' is no number", optarg);
		o->task = (uint32_t)number;
		return 0;
	case 't':
		o->times = true;
		if (!read_range(optarg, &o->asked.from, &o->asked.to))
			return command_usage("wet", "--times: '%s' is no FROM:TO", optarg);
		return 0;
	case 'B':
		o->asked.backward = true;
		return 0;
	case 'l':
		o->limit = true;
		if (!number_is(optarg, UINT64_MAX - 1, &o->asked.limit))
			return command_usage("wet", "--limit: '%s' is no number", optarg);
		return 0;
	case 'f':
		o->json = !strcmp(optarg, "json");
		if (!o->json && strcmp(optarg, "text") != 0)
			return command_usage("wet", "no format '%s' (text, json)", optarg);
		return 0;
	default:
		return EXIT_USAGE;
	}
}

/* Whether it is a folder; what is not there is said when it is opened. */
static bool is_folder(const char *path)
{
	struct stat st;
	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* What goes with a recording, and what with a file. */
static int check_together(const struct wet_options *o, bool folder)
{
	if (folder && (o->question != ASK_SIZES || o->asked.backward || o->times))
		return command_usage("wet", "a file is asked, not a recording: pugmark wet -o FILE "
					    "DIR writes one");
	if (o->question == ASK_SIZES && (o->limit || o->times))
		return command_usage("wet",
				     "--%s goes with a file and a question to it: --blocks, "
				     "--values or --depends",
				     o->limit ? "limit" : "times");
	if (!folder &&
	    (o->window || o->output || o->streams || o->task || o->machine || o->control))
		return command_usage("wet",
				     "--window, --machine, --control, --streams, --task and -o go "
				     "with a recording: '%s' is no folder",
				     o->dir);
	if (o->asked.backward && o->question != ASK_BLOCKS && o->question != ASK_VALUES)
		return command_usage("wet", "--backward goes with --blocks and --values");
	if (o->questions)
		return command_usage("wet", "one of --blocks, --values and --depends, and once");
	if (o->stats && o->question != ASK_SIZES)
		return command_usage("wet", "--stats goes with no other question");
	return 0;
}

int cmd_wet(int argc, char **argv)
{
	struct wet_options o = {.to = UINT64_MAX / 4, .asked = {.to = UINT64_MAX, .limit = 100}};
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	bool partial = false;
	int opt;

	command_options_begin();
	while ((opt = command_option(&wet_words, argc, argv)) != -1) {
		if (opt == 'h') {
			help();
			return EXIT_OK;
		}
		if (opt == '?' || opt == ':')
			return command_usage("wet", "unknown or incomplete option '%s'",
					     argv[optind - 1]);
		int usage = take_option(&o, opt);
		if (usage)
			return usage;
	}
	if (argc - optind != 1)
		return command_usage("wet", "one recording, or one file, is needed");
	o.dir = argv[optind];
	bool folder = is_folder(o.dir);
	int usage = check_together(&o, folder);
	if (usage)
		return usage;
	if (!folder) {
		int status = ask(&o, &diag);
		return status < 0 ? command_fail(&diag) : status ? EXIT_GAPS : EXIT_OK;
	}
	if (make_all(&o, &partial, &diag))
		return command_fail(&diag);
	return partial ? EXIT_GAPS : EXIT_OK;
}

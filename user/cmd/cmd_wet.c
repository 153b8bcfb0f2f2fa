// SPDX-License-Identifier: LGPL-2.1-or-later
/* cmd_wet.c: `pugmark wet DIR`: the whole execution trace of a recording of level values, in a
 * file, and what it takes, as the tables of the WET paper (Zhang and Gupta, MICRO-37, 2004) have
 * it; and `pugmark wet FILE`, which asks such a file. */
#include "offline/wet/choose.h"
#include "offline/wet/file.h"
#include "offline/wet/machine.h"
#include "offline/wet/noting.h"
#include "user/cli/command.h"
#include "user/cli/numbers.h"
#include "user/values/show/value_names.h"
#include "user/wet/wet_output.h"
#include "user/wet/wet_show.h"
#include "user/why/control.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum wet_question { ASK_SIZES, ASK_BLOCKS, ASK_VALUES, ASK_DEPENDS };

struct wet_options {
	const char *dir; /* or the file */
	const char *output;
	uint64_t from, to;
	enum wet_question question;
	enum wet_how how;
	struct wet_asked asked;
	bool window, stats, json, control, machine, streams;
};

struct wet_made {
	struct wet_totals totals;
	struct wet_sizes sizes;
	struct wet_chosen chosen;
	struct wet_machine_size machine[WET_HISTORIES];
	uint32_t nodes;
	double built_s, compressed_s;
	bool partial;
	bool read; /* from a file: nothing was timed */
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
	     "      --streams stored|executed|best   values are stored, or are computed again by "
	     "executing\n                         the window, or what takes less (stored)\n"
	     "  -o, --output FILE      write it there\n\n"
	     "Of a FILE that was written so (without any: the tables):\n"
	     "      --stats            the tables\n"
	     "      --blocks           the nodes that were executed, one behind the other\n"
	     "      --values 0xADDRESS   what the instruction there computed, each time\n"
	     "      --depends 0xADDRESS  whose results it read, and when these were made\n"
	     "      --times FROM:TO    only with these timestamps, both counted (all)\n"
	     "      --backward         with --blocks: the last first\n"
	     "      --limit N          at most so many lines (100)\n"
	     "      --format text|json\n\n"
	     "Exit status: 0; 3 where the recording's values end in a gap; 1 for an error, 2 for "
	     "wrong\nusage.");
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

/* To the end of the window, block by block; paths are the same whether anybody notes or not. */
static enum value_replay_stop forward(const struct wet_options *o, struct value_run *run,
				      struct dep_build *build, struct wet_graph *graph,
				      struct noting *noting)
{
	enum value_replay_stop stop =
		o->from ? dep_build_forward(build, o->from) : VALUE_REPLAY_LIMIT;
	if (noting)
		value_run_steps(run, noting_step, noting);
	while (stop == VALUE_REPLAY_LIMIT && value_run_count(run) < o->to) {
		uint64_t until = value_run_count(run) + AGAIN_INSNS;
		wet_graph_cut(graph);
		if (noting && !noting_block(noting, true))
			return VALUE_REPLAY_NO_MEMORY;
		stop = dep_build_forward(build, until < o->to ? until : o->to);
	}
	wet_graph_cut(graph);
	value_run_steps(run, NULL, NULL);
	return !noting || noting_block(noting, false) ? stop : VALUE_REPLAY_NO_MEMORY;
}

static int feed(const struct wet_options *o, struct value_replay *replay,
		const struct value_names *names, struct value_run *run, struct wet_graph *graph,
		struct noting *noting, struct wet_made *made, struct pugmark_diag *diag)
{
	struct slice_control *control = NULL;
	struct fed fed = {.graph = graph, .from = o->from, .to = o->to, .whole = o->control};
	int err = 0;
	struct dep_build *build;
	if (dep_build_new(run, &build))
		return out_of_memory(o, diag);
	value_run_snapshot_every(run, UINT64_MAX / 2);
	fed.machine = o->machine ? wet_machine_new() : NULL;
	fed.no_memory = o->machine && !fed.machine;
	dep_build_watch(build, watch, &fed);
	dep_build_pauses(build, forget, &fed);
	enum value_replay_stop stop = forward(o, run, build, graph, noting);
	made->partial = stop == VALUE_REPLAY_GAP;
	const struct dep_trace *trace = dep_build_trace(build);
	if (o->control && stop != VALUE_REPLAY_NO_MEMORY)
		err = control_of_trace(trace, names, value_replay_captures(replay), o->dir,
				       &control, diag);
	int finished = err ? err : wet_graph_finish(graph, trace, control);
	if (!err && finished == -EOVERFLOW)
		err = pugmark_diag_set(diag, finished, o->dir, PUGMARK_NO_OFFSET,
				       "more than %u paths were executed (a smaller --window has "
				       "fewer)",
				       UINT32_MAX);
	else if (!err && (finished || stop == VALUE_REPLAY_NO_MEMORY))
		err = out_of_memory(o, diag);
	if (!err &&
	    (fed.no_memory || (o->machine && wet_machine_sizes(fed.machine, made->machine))))
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

/* Compresses @graph, to @out if a file was asked for. */
static int compress(const struct wet_options *o, struct wet_graph *graph, struct noting *noting,
		    struct value_names *names, FILE *out, struct wet_made *made,
		    struct pugmark_diag *diag)
{
	struct noted noted;
	bool can = noting && noting_result(noting, &noted);
	if (wet_choose(graph, can ? &noted : NULL, o->how, &made->chosen))
		return out_of_memory(o, diag);
	const struct noted *by = made->chosen.executed ? &noted : NULL;
	if (o->how == WET_EXECUTED && !by)
		return pugmark_diag_set(diag, -ENOTSUP, o->dir, PUGMARK_NO_OFFSET,
					"cannot be executed again: its code changes, or it "
					"touches too much memory (--streams stored)");
	if (!out)
		return wet_sizes_of(graph, by, NULL, &made->sizes) ? out_of_memory(o, diag) : 0;
	struct wet_places places = {place_at, module_name, value_names_modules(names), names};
	int err = wet_file_write(graph, by, &places, made->partial, out, &made->sizes);
	return err ? wet_output_failed(o->output, err, diag) : 0;
}

static int make(const struct wet_options *o, FILE *out, struct wet_made *made,
		struct pugmark_diag *diag)
{
	struct value_replay *replay;
	struct value_names *names = NULL;
	struct value_run *run = NULL;
	struct wet_graph *graph = NULL;
	struct noting *noting = NULL;
	double start = now();
	uint32_t n_tasks;
	int err = value_replay_open(o->dir, &replay, diag);
	if (err)
		return err;
	const uint32_t *tasks = captures_tasks(value_replay_captures(replay), &n_tasks);
	if (!n_tasks)
		err = pugmark_diag_set(diag, -ENODATA, o->dir, PUGMARK_NO_OFFSET,
				       "no task has values (record with --level values)");
	err = err ? err : value_names_open(o->dir, value_replay_captures(replay), &names, diag);
	err = err ? err : value_run_new(replay, tasks[0], &run, diag);
	if (!err)
		graph = wet_graph_new(o->from, o->to, o->control);
	if (!err && o->how != WET_STORED)
		noting = noting_new();
	if (!err)
		err = graph && (noting || o->how == WET_STORED)
			      ? feed(o, replay, names, run, graph, noting, made, diag)
			      : out_of_memory(o, diag);
	made->built_s = now() - start;
	if (!err)
		err = compress(o, graph, noting, names, out, made, diag);
	made->compressed_s = now() - start - made->built_s;
	if (!err) {
		wet_graph_totals(graph, &made->totals);
		wet_graph_nodes(graph, &made->nodes);
	}
	noting_free(noting);
	wet_graph_free(graph);
	value_names_free(names);
	value_run_free(run);
	value_replay_free(replay);
	return err;
}

static double ratio(uint64_t a, uint64_t b)
{
	return b ? (double)a / (double)b : 0;
}

static double megabytes(uint64_t bytes)
{
	return (double)bytes / 1e6;
}

static const char *const histories[] = {"branches", "loads", "stores"};

static void print_machine(const struct wet_machine_size *s)
{
	if (!s[WET_BRANCHES].executions && !s[WET_LOADS].executions)
		return;
	puts("Table 4. A bit an execution          uncompressed (MB) / compressed (MB)   misses");
	for (int i = 0; i < WET_HISTORIES; i++)
		printf("%-36s %16.3f %17.3f %7.2f %%\n", histories[i], megabytes(s[i].bytes),
		       megabytes(s[i].packed), 100 * ratio(s[i].misses, s[i].executions));
	putchar('\n');
}

static void print_text(const struct wet_made *m)
{
	static const char *const stores[] = {"FCM",	      "differential FCM", "last n",
					     "last n stride", "as it is",	  "blocks",
					     "executed again"};
	const struct wet_sizes *s = &m->sizes;
	const struct wet_totals *t = &m->totals;
	uint64_t original = s->times.original + s->values.original + s->edges.original;
	uint64_t tier1 = s->times.tier1 + s->values.tier1 + s->edges.tier1;
	uint64_t tier2 = s->times.tier2 + s->values.tier2 + s->edges.tier2;
	printf("Table 1. Sizes\n"
	       "statements executed (millions)  %12.3f\n"
	       "uncompressed (MB)               %12.3f\n"
	       "compressed (MB)                 %12.3f\n"
	       "uncompressed / compressed       %12.2f\n"
	       "bytes for 1,000 statements      %12.1f\n\n",
	       (double)t->statements / 1e6, megabytes(original), megabytes(tier2),
	       ratio(original, tier2), 1000 * ratio(tier2, t->statements));
	puts("Table 2. Labels of nodes            uncompressed (MB)  / tier 1   / tier 2");
	printf("timestamps                           %16.3f %9.2f %10.2f\n",
	       megabytes(s->times.original), ratio(s->times.original, s->times.tier1),
	       ratio(s->times.original, s->times.tier2));
	printf("values                               %16.3f %9.2f %10.2f\n\n",
	       megabytes(s->values.original), ratio(s->values.original, s->values.tier1),
	       ratio(s->values.original, s->values.tier2));
	puts("Table 3. Labels of edges            uncompressed (MB)  / tier 1   / tier 2");
	printf("%-36s %16.3f %9.2f %10.2f\n\n",
	       t->decided ? "data and control dependences" : "data dependences",
	       megabytes(s->edges.original), ratio(s->edges.original, s->edges.tier1),
	       ratio(s->edges.original, s->edges.tier2));
	print_machine(m->machine);
	printf("tier 1 (MB)                     %12.3f: timestamps %.3f, values %.3f, edges %.3f\n",
	       megabytes(tier1), megabytes(s->times.tier1), megabytes(s->values.tier1),
	       megabytes(s->edges.tier1));
	printf("tier 2 (MB)                     %12.3f: timestamps %.3f, values %.3f, edges %.3f\n",
	       megabytes(tier2), megabytes(s->times.tier2), megabytes(s->values.tier2),
	       megabytes(s->edges.tier2));
	printf("nodes %u, their executions %" PRIu64 ", of blocks %" PRIu64 "; labels %" PRIu64
	       ", kept %" PRIu64 "\n",
	       m->nodes, t->paths, t->blocks, s->edge_labels, s->edge_labels_kept);
	printf("streams %" PRIu64 ":", s->streams);
	for (int i = 0; i < WET_KINDS; i++)
		printf(" %s %" PRIu64 " (%.3f MB)%s", stores[i], s->chosen[i],
		       megabytes(s->bytes[i]), i + 1 < WET_KINDS ? "," : "\n");
	if (m->partial)
		puts("the values of the recording end in a gap");
	if (m->read)
		return;
	if (m->chosen.executed_bytes && m->chosen.stored)
		printf("values: stored %.3f MB, executed again %.3f MB, %.1f ns a step\n",
		       megabytes(m->chosen.stored), megabytes(m->chosen.executed_bytes),
		       m->chosen.step_ns);
	printf("made in %.2f s, compressed and walked in %.2f s; a step of a predictor %.1f ns, of "
	       "a "
	       "block %.1f ns\n",
	       m->built_s, m->compressed_s, s->step_ns[0], s->step_ns[1]);
	double blocks = ratio(t->blocks, t->paths) * (double)s->walked;
	printf("control flow walked both ways%s, %" PRIu64
	       " executions: %.1f and %.1f million blocks a second\n",
	       s->walk_right ? "" : ", wrongly", s->walked,
	       s->forward_s ? blocks / s->forward_s / 1e6 : 0,
	       s->backward_s ? blocks / s->backward_s / 1e6 : 0);
}

static void print_size(const char *name, const struct wet_size *s)
{
	printf(",\"%s\":{\"original\":%" PRIu64 ",\"tier1\":%" PRIu64 ",\"tier2\":%" PRIu64 "}",
	       name, s->original, s->tier1, s->tier2);
}

static void print_json(const struct wet_made *m)
{
	const struct wet_totals *t = &m->totals;
	printf("{\"statements\":%" PRIu64 ",\"blocks\":%" PRIu64 ",\"executions\":%" PRIu64
	       ",\"nodes\":%u,\"values\":%" PRIu64 ",\"dependences\":%" PRIu64
	       ",\"control_dependences\":%" PRIu64,
	       t->statements, t->blocks, t->paths, m->nodes, t->values, t->dependences, t->decided);
	print_size("timestamps", &m->sizes.times);
	print_size("value_labels", &m->sizes.values);
	print_size("edge_labels", &m->sizes.edges);
	for (int i = 0; i < WET_HISTORIES && m->machine[WET_LOADS].executions; i++)
		printf(",\"%s\":{\"executions\":%" PRIu64 ",\"misses\":%" PRIu64
		       ",\"bytes\":%" PRIu64 ",\"packed\":%" PRIu64 "}",
		       histories[i], m->machine[i].executions, m->machine[i].misses,
		       m->machine[i].bytes, m->machine[i].packed);
	printf(",\"walk\":%s,\"forward_s\":%.6f,\"backward_s\":%.6f,\"made_s\":%.6f,"
	       "\"compressed_s\":%.6f,\"gap\":%s}\n",
	       m->sizes.walk_right ? "true" : "false", m->sizes.forward_s, m->sizes.backward_s,
	       m->built_s, m->compressed_s, m->partial ? "true" : "false");
}

/* FROM:TO */
static bool read_range(const char *text, uint64_t *from, uint64_t *to)
{
	const char *end;
	return number_begins(text, UINT64_MAX, &end, from) && *end == ':' &&
	       number_is(end + 1, UINT64_MAX, to) && *to >= *from;
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
		(o->json ? print_json : print_text)(&made);
	else if (o->question == ASK_BLOCKS)
		err = wet_show_blocks(file, &o->asked, diag);
	else if (o->question == ASK_VALUES)
		err = wet_show_values(file, &o->asked, diag);
	else
		err = wet_show_depends(file, &o->asked, diag);
	bool partial = file->partial;
	wet_file_close(file);
	return err ? err : partial;
}

static const struct option options[] = {{"window", required_argument, NULL, 'w'},
					{"control", no_argument, NULL, 'c'},
					{"machine", no_argument, NULL, 'm'},
					{"output", required_argument, NULL, 'o'},
					{"stats", no_argument, NULL, 's'},
					{"blocks", no_argument, NULL, 'b'},
					{"values", required_argument, NULL, 'v'},
					{"depends", required_argument, NULL, 'd'},
					{"streams", required_argument, NULL, 'S'},
					{"times", required_argument, NULL, 't'},
					{"backward", no_argument, NULL, 'B'},
					{"limit", required_argument, NULL, 'l'},
					{"format", required_argument, NULL, 'f'},
					{"help", no_argument, NULL, 'h'},
					{NULL, 0, NULL, 0}};
const struct command_words wet_words = {.options = options, .letters = ":o:h", .writes = "output"};

static const char *const hows[] = {"stored", "executed", "best"};

static int take_option(struct wet_options *o, int opt)
{
	const char *end;
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
		o->question = ASK_BLOCKS;
		return 0;
	case 'v':
	case 'd':
		o->question = opt == 'v' ? ASK_VALUES : ASK_DEPENDS;
		if (!number_begins(optarg, UINT64_MAX, &end, &o->asked.addr) || *end)
			return command_usage("wet", "--%s: '%s' is no address",
					     opt == 'v' ? "values" : "depends", optarg);
		return 0;
	case 'S':
		o->streams = true;
		for (o->how = WET_STORED; o->how <= WET_BEST; o->how++)
			if (!strcmp(optarg, hows[o->how]))
				return 0;
		return command_usage("wet", "no streams '%s' (stored, executed, best)", optarg);
	case 't':
		if (!read_range(optarg, &o->asked.from, &o->asked.to))
			return command_usage("wet", "--times: '%s' is no FROM:TO", optarg);
		return 0;
	case 'B':
		o->asked.backward = true;
		return 0;
	case 'l':
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
	if (folder && (o->question != ASK_SIZES || o->asked.backward || o->asked.from ||
		       o->asked.to != UINT64_MAX))
		return command_usage("wet", "a file is asked, not a recording: pugmark wet -o FILE "
					    "DIR writes one");
	if (!folder && (o->window || o->output || o->streams))
		return command_usage("wet",
				     "--window, --streams and -o go with a recording: '%s' is no "
				     "folder",
				     o->dir);
	if (o->asked.backward && o->question != ASK_BLOCKS)
		return command_usage("wet", "--backward goes with --blocks");
	if (o->stats && o->question != ASK_SIZES)
		return command_usage("wet", "--stats goes with no other question");
	return 0;
}

int cmd_wet(int argc, char **argv)
{
	struct wet_options o = {.to = UINT64_MAX / 4, .asked = {.to = UINT64_MAX, .limit = 100}};
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	struct wet_made made = {0};
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
	struct wet_output out = {.parent = -1};
	int err = o.output ? wet_output_create(o.output, &out, &diag) : 0;
	if (!err)
		err = wet_output_end(&out, make(&o, out.file, &made, &diag), &diag);
	if (err)
		return command_fail(&diag);
	(o.json ? print_json : print_text)(&made);
	return made.partial ? EXIT_GAPS : EXIT_OK;
}

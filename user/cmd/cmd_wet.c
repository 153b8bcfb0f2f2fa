// SPDX-License-Identifier: LGPL-2.1-or-later
/* cmd_wet.c: `pugmark wet DIR`: the whole execution trace of a recording of level values, and what
 * it takes, as the tables of the WET paper (Zhang and Gupta, MICRO-37, 2004) have it. */
#include "offline/wet/sizes.h"
#include "user/cli/command.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct wet_options {
	const char *dir;
	uint64_t from, to;
	bool json;
};

struct wet_made {
	struct wet_totals totals;
	struct wet_sizes sizes;
	uint32_t nodes;
	double built_s, compressed_s;
	bool partial;
};

static void help(void)
{
	puts("usage: pugmark wet [options] DIR\n\n"
	     "Makes the whole execution trace of a recording of level values: nodes with "
	     "timestamps, "
	     "values by\ngroups, dependences with labels, each stream compressed so that it can be "
	     "walked both ways;\nand prints what it takes, as the tables of the paper on WETs "
	     "do.\n\n"
	     "      --window FROM:TO   only instructions FROM to TO (all)\n"
	     "      --format text|json\n\n"
	     "Exit status: 0; 3 where the recording's values end in a gap; 1 for an error, 2 for "
	     "wrong "
	     "usage.");
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

static int feed(const struct wet_options *o, struct value_run *run, struct wet_graph *graph,
		struct wet_made *made, struct pugmark_diag *diag)
{
	struct dep_build *build;
	if (dep_build_new(run, &build))
		return out_of_memory(o, diag);
	value_run_snapshot_every(run, UINT64_MAX / 2);
	dep_build_watch(build, wet_graph_watch, graph);
	enum value_replay_stop stop = dep_build_forward(build, o->to);
	made->partial = stop == VALUE_REPLAY_GAP;
	int err = stop == VALUE_REPLAY_NO_MEMORY || wet_graph_finish(graph, dep_build_trace(build));
	dep_build_free(build);
	return err ? out_of_memory(o, diag) : 0;
}

static int make(const struct wet_options *o, struct wet_made *made, struct pugmark_diag *diag)
{
	struct value_replay *replay;
	struct value_run *run = NULL;
	struct wet_graph *graph = NULL;
	double start = now();
	uint32_t n_tasks;
	int err = value_replay_open(o->dir, &replay, diag);
	if (err)
		return err;
	const uint32_t *tasks = captures_tasks(value_replay_captures(replay), &n_tasks);
	if (!n_tasks)
		err = pugmark_diag_set(diag, -ENODATA, o->dir, PUGMARK_NO_OFFSET,
				       "no task has values (record with --level values)");
	err = err ? err : value_run_new(replay, tasks[0], &run, diag);
	if (!err)
		graph = wet_graph_new(o->from, o->to);
	if (!err)
		err = graph ? feed(o, run, graph, made, diag) : out_of_memory(o, diag);
	made->built_s = now() - start;
	if (!err && wet_sizes_of(graph, &made->sizes))
		err = out_of_memory(o, diag);
	made->compressed_s = now() - start - made->built_s;
	if (!err) {
		wet_graph_totals(graph, &made->totals);
		wet_graph_nodes(graph, &made->nodes);
	}
	wet_graph_free(graph);
	value_run_free(run);
	value_replay_free(replay);
	return err;
}

static double ratio(uint64_t a, uint64_t b)
{
	return b ? (double)a / (double)b : 0;
}

static double mib(uint64_t bytes)
{
	return (double)bytes / 1e6;
}

static void print_text(const struct wet_made *m)
{
	static const char *const stores[] = {"FCM",	      "differential FCM", "last n",
					     "last n stride", "as it is",	  "blocks"};
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
	       (double)t->statements / 1e6, mib(original), mib(tier2), ratio(original, tier2),
	       1000 * ratio(tier2, t->statements));
	puts("Table 2. Labels of nodes            uncompressed (MB)  / tier 1   / tier 2");
	printf("timestamps                           %16.3f %9.2f %10.2f\n", mib(s->times.original),
	       ratio(s->times.original, s->times.tier1), ratio(s->times.original, s->times.tier2));
	printf("values                               %16.3f %9.2f %10.2f\n\n",
	       mib(s->values.original), ratio(s->values.original, s->values.tier1),
	       ratio(s->values.original, s->values.tier2));
	puts("Table 3. Labels of edges            uncompressed (MB)  / tier 1   / tier 2");
	printf("data dependences                     %16.3f %9.2f %10.2f\n\n",
	       mib(s->edges.original), ratio(s->edges.original, s->edges.tier1),
	       ratio(s->edges.original, s->edges.tier2));
	printf("tier 1 (MB)                     %12.3f: timestamps %.3f, values %.3f, edges %.3f\n",
	       mib(tier1), mib(s->times.tier1), mib(s->values.tier1), mib(s->edges.tier1));
	printf("tier 2 (MB)                     %12.3f: timestamps %.3f, values %.3f, edges %.3f\n",
	       mib(tier2), mib(s->times.tier2), mib(s->values.tier2), mib(s->edges.tier2));
	printf("nodes %u, their executions %" PRIu64 ", of blocks %" PRIu64 "; labels %" PRIu64
	       ", kept %" PRIu64 "\n",
	       m->nodes, t->paths, t->blocks, s->edge_labels, s->edge_labels_kept);
	printf("streams %" PRIu64 ":", s->streams);
	for (int i = 0; i < WET_STORES; i++)
		printf(" %s %" PRIu64 " (%.3f MB)%s", stores[i], s->chosen[i], mib(s->bytes[i]),
		       i + 1 < WET_STORES ? "," : "\n");
	printf("made in %.2f s, compressed and walked in %.2f s; a step of a predictor %.1f ns, of "
	       "a "
	       "block %.1f ns\n",
	       m->built_s, m->compressed_s, s->step_ns[0], s->step_ns[1]);
	printf("control flow walked both ways%s: %.1f and %.1f million blocks a second\n",
	       s->walk_right ? "" : ", wrongly",
	       s->forward_s ? (double)t->blocks / s->forward_s / 1e6 : 0,
	       s->backward_s ? (double)t->blocks / s->backward_s / 1e6 : 0);
	if (m->partial)
		puts("the values of the recording end in a gap");
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
	       ",\"nodes\":%u,\"values\":%" PRIu64 ",\"dependences\":%" PRIu64,
	       t->statements, t->blocks, t->paths, m->nodes, t->values, t->dependences);
	print_size("timestamps", &m->sizes.times);
	print_size("value_labels", &m->sizes.values);
	print_size("edge_labels", &m->sizes.edges);
	printf(",\"walk\":%s,\"forward_s\":%.6f,\"backward_s\":%.6f,\"made_s\":%.6f,"
	       "\"compressed_s\":%.6f,\"gap\":%s}\n",
	       m->sizes.walk_right ? "true" : "false", m->sizes.forward_s, m->sizes.backward_s,
	       m->built_s, m->compressed_s, m->partial ? "true" : "false");
}

/* FROM:TO */
static bool read_window(const char *text, struct wet_options *o)
{
	char *end;
	o->from = strtoull(text, &end, 0);
	if (end == text || *end != ':')
		return false;
	text = end + 1;
	o->to = strtoull(text, &end, 0);
	return end != text && !*end && o->to > o->from;
}

static const struct option options[] = {{"window", required_argument, NULL, 'w'},
					{"format", required_argument, NULL, 'f'},
					{"help", no_argument, NULL, 'h'},
					{NULL, 0, NULL, 0}};
const struct command_words wet_words = {.options = options, .letters = ":h"};

int cmd_wet(int argc, char **argv)
{
	struct wet_options o = {.to = UINT64_MAX / 4};
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	struct wet_made made = {0};
	int opt;

	command_options_begin();
	while ((opt = command_option(&wet_words, argc, argv)) != -1) {
		switch (opt) {
		case 'w':
			if (!read_window(optarg, &o))
				return command_usage("wet", "--window: '%s' is no FROM:TO", optarg);
			break;
		case 'f':
			o.json = !strcmp(optarg, "json");
			if (!o.json && strcmp(optarg, "text") != 0)
				return command_usage("wet", "no format '%s' (text, json)", optarg);
			break;
		case 'h':
			help();
			return EXIT_OK;
		default:
			return command_usage("wet", "unknown or incomplete option '%s'",
					     argv[optind - 1]);
		}
	}
	if (argc - optind != 1)
		return command_usage("wet", "one directory is needed");
	o.dir = argv[optind];
	if (make(&o, &made, &diag))
		return command_fail(&diag);
	(o.json ? print_json : print_text)(&made);
	return made.partial ? EXIT_GAPS : EXIT_OK;
}

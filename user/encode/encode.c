// SPDX-License-Identifier: LGPL-2.1-or-later
/* encode.c: the pass over the trace: thread by thread through the walk and the filter to the
 * selection. */
#include "offline/encode/encode_pack.h"
#include "user/encode/encode_lanes.h"
#include "user/encode/encode_tables.h"
#include "user/view/trace/left_out.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static int run_task(struct encode *e, uint32_t task)
{
	const struct pugmark_recording_task *t = &e->view.tasks[task];
	const struct tree_place place = {
		.task = task, .tid = t->tid, .pid = t->pid, .thread = t->comm};
	struct pugmark_trace_iter *it;
	const struct pugmark_trace_event *event;
	uint64_t seen = 0, told = 0;
	int err = pugmark_trace_iter_new(e->view.trace, task, &it), got = 0;
	if (err)
		return err;
	err = tree_walk_begin(e->walk, &place);
	while (!err && (got = pugmark_trace_next(it, &event)) == 1) {
		err = tree_walk_event(e->walk, event);
		if (!(++seen & 0xffff)) {
			uint64_t witnesses = pugmark_trace_witnesses(it);
			progress_step(&e->progress, witnesses - told);
			told = witnesses;
		}
	}
	pugmark_trace_iter_free(it);
	if (!err)
		err = got < 0 ? got : tree_walk_end(e->walk);
	return err;
}

static int set_up(struct encode *e, struct tree_sink *sink)
{
	int err = e->symbols ? 0 : symbols_new(&e->symbols);
	if (!err)
		err = symbol_map_new(e->view.trace, e->symbols, &e->map);
	if (e->instead)
		*sink = *e->instead;
	else if (!err)
		err = encode_selection_init(e, sink);
	return err || encode_has_lanes(e) ? err : encode_pipe_new(e, sink, &e->filter, &e->walk);
}

static void print_stats(const struct encode *e, double seconds)
{
	struct rusage usage;
	size_t bytes = e->dag ? dag_bytes(e->dag) : 0;
	bytes += e->sequitur ? sequitur_bytes(e->sequitur) : 0;
	bytes += e->fsa ? fsa_builder_bytes(e->fsa) : 0;
	getrusage(RUSAGE_SELF, &usage);
	fprintf(stderr, "%llu trace events, %llu calls kept, %.2f s, %.1f M events/s\n",
		(unsigned long long)e->events, (unsigned long long)e->passed, seconds,
		(double)e->events / seconds / 1e6);
	fprintf(stderr, "%zu bytes of model, %ld KiB in all\n", bytes, usage.ru_maxrss);
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int read_tasks(struct encode *e, struct pugmark_diag *diag)
{
	uint64_t total = 0;
	int err = 0;
	for (uint32_t i = 0; i < e->view.n_tasks; i++)
		total += trace_view_has_task(&e->view, i) ? e->view.tasks[i].n_events : 0;
	bool streams = e->encoding == ENCODE_PLAIN || e->encoding == ENCODE_RLE;
	progress_start(&e->progress, "reading the recording", total,
		       streams && isatty(STDOUT_FILENO));
	if (encode_has_lanes(e)) {
		err = encode_lanes_read(e, diag);
		progress_end(&e->progress);
		return err;
	}
	for (uint32_t i = 0; i < e->view.n_tasks && !err && !(e->out && e->out->failed); i++)
		if (trace_view_has_task(&e->view, i)) {
			err = run_task(e, i);
			if (err)
				trace_view_task_failed(&e->view, i, err, diag);
		}
	progress_end(&e->progress);
	e->events = tree_walk_events(e->walk);
	e->gaps = tree_walk_gaps(e->walk);
	e->passed = filter_passed(e->filter);
	return err;
}

int encode_read(struct encode *e, struct pugmark_diag *diag)
{
	struct tree_sink sink;
	if (!e->view.trace)
		return encode_packed_read(e, diag);
	if (set_up(e, &sink))
		return trace_view_no_memory(&e->view, diag);
	int err = read_tasks(e, diag);
	if (e->out && e->out->failed)
		return 0; /* main() says so */
	if (err || e->passed)
		return err;
	if (trace_view_is_whole(&e->view, e->gaps))
		return left_out(&e->view, diag);
	return pugmark_diag_set(diag, -ENODATA, e->view.dir, PUGMARK_NO_OFFSET,
				"the selection keeps none of the calls that can be read: it is not "
				"complete (`pugmark verify` says where)");
}

int encode_run(struct encode *e, struct pugmark_diag *diag)
{
	double start = now();
	int err = encode_read(e, diag);
	if (err || e->out->failed)
		return err;
	if (!encode_is_table(e))
		encode_begin(e);
	if (encode_selection_finish(e) || e->pack_err == -ENOMEM)
		return trace_view_no_memory(&e->view, diag);
	if (!encode_is_table(e) && e->format->end)
		e->format->end(e);
	if (e->show_stats)
		print_stats(e, now() - start);
	return 0;
}

void encode_deinit(struct encode *e)
{
	tree_walk_free(e->walk);
	filter_free(e->filter);
	packed_free(e->packed);
	encode_tables_free(e->tables);
	encode_objects_free(e);
	dag_free(e->dag);
	sequitur_free(e->sequitur);
	fsa_builder_free(e->fsa);
	symbol_map_free(e->map);
	if (!e->shares_symbols)
		symbols_free(e->symbols);
	for (uint32_t i = 0; i < e->sequences.n; i++) {
		VEC_FREE(&e->sequences.at[i].held);
		VEC_FREE(&e->sequences.at[i].times);
	}
	VEC_FREE(&e->sequences);
	VEC_FREE(&e->closed);
	VEC_FREE(&e->automata);
	VEC_FREE(&e->titles);
	VEC_FREE(&e->frames);
	VEC_FREE(&e->runs);
	patterns_deinit(&e->face);
	handle_deinit(&e->handle);
}

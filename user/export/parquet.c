// SPDX-License-Identifier: LGPL-2.1-or-later
/* parquet.c: the tables of sqlite.c as Apache Parquet files in a folder, for DuckDB and whatever
 * else reads columns: calls.parquet, functions.parquet, threads.parquet, gaps.parquet,
 * events.parquet and recording.parquet. Columns are named as there, and mean the same; a call is
 * written when it ends. How a file is laid out is parquet_file.c's. */
#include "user/export/export.h"
#include "user/export/parquet_file.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { CALLS, FUNCTIONS, THREADS, GAPS, EVENTS, RECORDING, N_TABLES };

enum {
	CALL_ID,
	CALL_THREAD,
	CALL_STACK,
	CALL_PARENT,
	CALL_LEVEL,
	CALL_FUNCTION,
	CALL_HOW,
	CALL_CAUSE,
	CALL_SITE,
	CALL_BEGIN,
	CALL_END_AT = CALL_BEGIN + 2,
	CALL_ENDED = CALL_END_AT + 2,
	CALL_ARGUMENTS,
	N_CALL_COLUMNS,
};
static const struct parquet_column call_columns[N_CALL_COLUMNS] = {
	{"id", PARQUET_INT},	       {"thread", PARQUET_INT},
	{"stack", PARQUET_INT},	       {"parent", PARQUET_INT},
	{"level", PARQUET_INT},	       {"function", PARQUET_INT},
	{"how", PARQUET_WORD},	       {"cause", PARQUET_WORD},
	{"site", PARQUET_INT},	       {"begin_earliest", PARQUET_INT},
	{"begin_latest", PARQUET_INT}, {"end_earliest", PARQUET_INT},
	{"end_latest", PARQUET_INT},   {"ended", PARQUET_WORD},
	{"arguments", PARQUET_TEXT},
};
static const struct parquet_column function_columns[] = {{"id", PARQUET_INT},
							 {"name", PARQUET_TEXT},
							 {"module", PARQUET_TEXT},
							 {"outside", PARQUET_INT}};
static const struct parquet_column thread_columns[] = {
	{"id", PARQUET_INT},	  {"pid", PARQUET_INT},	      {"tid", PARQUET_INT},
	{"name", PARQUET_TEXT},	  {"parent", PARQUET_INT},    {"attached", PARQUET_INT},
	{"exited", PARQUET_INT},  {"exit_code", PARQUET_INT}, {"first_ns", PARQUET_INT},
	{"last_ns", PARQUET_INT}, {"goroutine", PARQUET_INT},
};
static const struct parquet_column gap_columns[] = {
	{"thread", PARQUET_INT},   {"stack", PARQUET_INT},  {"cause", PARQUET_WORD},
	{"earliest", PARQUET_INT}, {"latest", PARQUET_INT}, {"lost", PARQUET_INT}};
static const struct parquet_column event_columns[] = {
	{"thread", PARQUET_INT},   {"stack", PARQUET_INT},  {"kind", PARQUET_WORD},
	{"earliest", PARQUET_INT}, {"latest", PARQUET_INT}, {"call", PARQUET_INT}};
static const struct parquet_column recording_columns[] = {{"key", PARQUET_TEXT},
							  {"value", PARQUET_INT}};

#define TABLE(table, columns)                                                                      \
	[table] = {#columns, columns##_columns,                                                    \
		   sizeof(columns##_columns) / sizeof(columns##_columns[0])}
static const struct {
	const char *of;
	const struct parquet_column *columns;
	uint32_t n;
} tables[N_TABLES] = {TABLE(CALLS, call), TABLE(FUNCTIONS, function), TABLE(THREADS, thread),
		      TABLE(GAPS, gap),	  TABLE(EVENTS, event),	      TABLE(RECORDING, recording)};

struct parquet_out {
	struct parquet_file *of[N_TABLES];
};

static void fail(struct export *x, uint32_t table, int err)
{
	export_fail(x, err, "%s%s.parquet in it cannot be written: %s", tables[table].of,
		    table == RECORDING ? "" : "s", strerror(-err));
}

static void row_end(struct export *x, uint32_t table)
{
	struct parquet_out *s = x->state;
	int err = parquet_row_end(s->of[table]);
	if (err)
		fail(x, table, err);
}

static void begin(struct export *x)
{
	struct parquet_out *s = x->state;
	int dir = export_create_folder(x);
	for (uint32_t i = 0; dir >= 0 && i < N_TABLES && !x->err; i++) {
		char name[32];
		snprintf(name, sizeof(name), "%s%s.parquet", tables[i].of,
			 i == RECORDING ? "" : "s");
		int err = parquet_new(dir, name, tables[i].columns, tables[i].n, &s->of[i]);
		if (err)
			fail(x, i, err);
	}
	if (dir >= 0)
		close(dir);
}

static void put_time(struct export *x, struct parquet_file *to, uint32_t column,
		     struct export_time time)
{
	if (!x->times)
		return;
	parquet_int(to, column, (int64_t)time.earliest_ns);
	parquet_int(to, column + 1, (int64_t)time.latest_ns);
}

static void put_event(struct export *x, const char *kind, struct export_time time, uint64_t call)
{
	struct parquet_file *to = ((struct parquet_out *)x->state)->of[EVENTS];
	parquet_int(to, 0, export_task(x, x->on->task)->number);
	parquet_int(to, 1, x->on->stack);
	parquet_word(to, 2, kind);
	put_time(x, to, 3, time);
	parquet_int(to, 5, (int64_t)call);
	row_end(x, EVENTS);
}

static void ret(struct export *x, const struct export_call *call, const struct export_end *end)
{
	struct parquet_file *to = ((struct parquet_out *)x->state)->of[CALLS];
	if (x->err)
		return;
	parquet_int(to, CALL_ID, (int64_t)call->id);
	parquet_int(to, CALL_THREAD, export_task(x, x->on->task)->number);
	parquet_int(to, CALL_STACK, x->on->stack);
	if (call->parent)
		parquet_int(to, CALL_PARENT, (int64_t)call->parent);
	parquet_int(to, CALL_LEVEL, call->level);
	parquet_int(to, CALL_FUNCTION, call->frame);
	parquet_word(to, CALL_HOW, export_how_word(call->how));
	if (call->how == PUGMARK_TRACE_ENTER)
		parquet_word(to, CALL_CAUSE, trace_view_cause(call->cause));
	if (call->site)
		parquet_int(to, CALL_SITE, (int64_t)call->site);
	put_time(x, to, CALL_BEGIN, call->begin);
	put_time(x, to, CALL_END_AT, end->end);
	parquet_text(to, CALL_ARGUMENTS, call->arguments);
	parquet_word(to, CALL_ENDED,
		     end->how == CALL_RETURNED ? "returned" : export_end_word(end->how));
	row_end(x, CALLS);
	if (call->how == PUGMARK_TRACE_ENTER)
		put_event(x, trace_view_cause(call->cause), call->begin, call->id);
	if (end->how == CALL_UNWOUND || end->how == CALL_GIVEN_UP)
		put_event(x, export_end_word(end->how), end->end, call->id);
}

static void gap(struct export *x, const struct export_gap *gap)
{
	struct parquet_file *to = ((struct parquet_out *)x->state)->of[GAPS];
	if (x->err)
		return;
	parquet_int(to, 0, export_task(x, x->on->task)->number);
	parquet_int(to, 1, x->on->stack);
	parquet_word(to, 2, trace_view_cause(gap->cause));
	put_time(x, to, 3, gap->span);
	parquet_int(to, 5, (int64_t)gap->lost);
	row_end(x, GAPS);
}

static void put_functions(struct export *x, struct parquet_file *to)
{
	for (uint32_t i = 0; i < x->frames.n && !x->err; i++) {
		const struct export_frame *frame = &x->frames.at[i];
		parquet_int(to, 0, i);
		parquet_text(to, 1, frame->name);
		parquet_text(to, 2, *frame->module ? frame->module : NULL);
		parquet_int(to, 3, frame->outside);
		row_end(x, FUNCTIONS);
	}
}

static void put_threads(struct export *x, struct parquet_file *to)
{
	const struct trace_view *view = &x->replay.view;
	for (uint32_t i = 0; i < view->n_tasks && !x->err; i++) {
		const struct pugmark_recording_task *task = &view->tasks[i];
		uint64_t start = view->start_ns;
		char comm[EXPORT_COMM_BYTES];
		if (!trace_view_has_task(view, i))
			continue;
		export_comm(task, comm);
		parquet_int(to, 0, task->number);
		parquet_int(to, 1, task->pid);
		parquet_int(to, 2, task->tid);
		parquet_text(to, 3, comm);
		if (task->parent)
			parquet_int(to, 4, task->parent);
		parquet_int(to, 5, task->attached);
		parquet_int(to, 6, task->exited);
		parquet_int(to, 7, task->exit_code);
		parquet_int(to, 8, (int64_t)(task->first_ns > start ? task->first_ns - start : 0));
		parquet_int(to, 9, (int64_t)(task->last_ns > start ? task->last_ns - start : 0));
		if (trace_view_goroutine(view, i))
			parquet_int(to, 10, (int64_t)trace_view_goroutine(view, i));
		row_end(x, THREADS);
	}
}

static void put_recording(struct export *x, struct parquet_file *to)
{
	const struct pugmark_recording_info *info = x->replay.view.info;
	const struct {
		const char *key;
		uint64_t value;
	} facts[] = {{"start_realtime_ns", info->start_realtime_ns},
		     {"start_monotonic_ns", info->start_monotonic_ns},
		     {"times", info->times},
		     {"events", info->events},
		     {"lost", info->lost}};
	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts) && !x->err; i++) {
		parquet_text(to, 0, facts[i].key);
		parquet_int(to, 1, (int64_t)facts[i].value);
		row_end(x, RECORDING);
	}
}

static void end(struct export *x)
{
	struct parquet_out *s = x->state;
	put_functions(x, s->of[FUNCTIONS]);
	put_threads(x, s->of[THREADS]);
	put_recording(x, s->of[RECORDING]);
	for (uint32_t i = 0; i < N_TABLES && !x->err; i++) {
		int err = parquet_finish(s->of[i]);
		if (err)
			fail(x, i, err);
	}
}

static void deinit(struct export *x)
{
	struct parquet_out *s = x->state;
	for (uint32_t i = 0; i < N_TABLES; i++)
		parquet_free(s->of[i]);
}

const struct export_format export_parquet = {
	.name = "parquet",
	.suffix = "parquet",
	.brief = "the same tables as Parquet files, a folder (DuckDB)",
	.state_bytes = sizeof(struct parquet_out),
	.makes_path = true,
	.says_arguments = true,
	.begin = begin,
	.ret = ret,
	.gap = gap,
	.end = end,
	.deinit = deinit,
};

// SPDX-License-Identifier: LGPL-2.1-or-later
/* sqlite.c: a SQLite database, so that SQL is the query language: tables of calls, functions,
 * threads, gaps and events, and views over them. All times are in ns after the recording's start,
 * each with both bounds. A call is written when it ends, and has the number by which its callees
 * name it as `parent`. */
#include "user/export/export.h"

#include <dirent.h>
#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char schema[] =
	"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;\n"
	"PRAGMA page_size = 16384; PRAGMA cache_size = -65536;\n"
	"CREATE TABLE recording (key TEXT PRIMARY KEY, value) WITHOUT ROWID;\n"
	"CREATE TABLE functions (id INTEGER PRIMARY KEY, name TEXT NOT NULL, module TEXT,\n"
	"  outside INTEGER NOT NULL);\n"
	"CREATE TABLE threads (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, name TEXT,\n"
	"  parent INTEGER REFERENCES threads, attached INTEGER, exited INTEGER, exit_code "
	"INTEGER,\n"
	"  first_ns INTEGER, last_ns INTEGER, goroutine INTEGER);\n"
	"CREATE TABLE calls (id INTEGER PRIMARY KEY, thread INTEGER NOT NULL REFERENCES threads,\n"
	"  stack INTEGER NOT NULL, parent INTEGER REFERENCES calls, level INTEGER NOT NULL,\n"
	"  function INTEGER NOT NULL REFERENCES functions, how TEXT NOT NULL, cause TEXT,\n"
	"  site INTEGER, begin_earliest INTEGER, begin_latest INTEGER, end_earliest INTEGER,\n"
	"  end_latest INTEGER, ended TEXT NOT NULL, arguments TEXT);\n"
	"CREATE TABLE gaps (thread INTEGER NOT NULL REFERENCES threads, stack INTEGER NOT NULL,\n"
	"  cause TEXT NOT NULL, earliest INTEGER, latest INTEGER, lost INTEGER NOT NULL);\n"
	"CREATE TABLE events (thread INTEGER NOT NULL REFERENCES threads, stack INTEGER NOT NULL,\n"
	"  kind TEXT NOT NULL, earliest INTEGER, latest INTEGER,\n"
	"  call INTEGER NOT NULL REFERENCES calls);\n"
	"CREATE VIEW durations AS SELECT c.*, f.name, f.module,\n"
	"  max(c.end_earliest - c.begin_latest, 0) AS min_ns, c.end_latest - c.begin_earliest AS "
	"max_ns\n"
	"  FROM calls c JOIN functions f ON f.id = c.function;\n"
	"CREATE VIEW by_function AS SELECT name, module, count(*) AS calls, sum(min_ns) AS "
	"min_ns,\n"
	"  sum(max_ns) AS max_ns, max(min_ns) AS slowest_min_ns FROM durations\n"
	"  GROUP BY function ORDER BY 4 DESC, 5 DESC;\n"
	"CREATE VIEW callers AS SELECT callee.name AS callee, caller.name AS caller, count(*) AS "
	"calls\n"
	"  FROM calls c JOIN functions callee ON callee.id = c.function\n"
	"  LEFT JOIN calls p ON p.id = c.parent LEFT JOIN functions caller ON caller.id = "
	"p.function\n"
	"  GROUP BY c.function, p.function ORDER BY 3 DESC;\n"
	"CREATE VIEW slowest AS SELECT id, name, module, thread, min_ns, max_ns, begin_earliest,\n"
	"  begin_latest FROM durations ORDER BY min_ns DESC, max_ns DESC;\n"
	"BEGIN;\n";

/* There is no index: what the views join is asked for by `id`, and sorting all calls by another
 * column would take a quarter of the time. */

/* CALLS_AT_ONCE: rows of one statement. Most of a statement's cost is its begin and end. */
enum { CALL_COLUMNS = 15, CALLS_AT_ONCE = 16 };

/* A value stays bound until another one takes its place: these are bound where they change. */
struct bound {
	bool any;
	uint32_t thread, stack;
	const char *how, *cause, *ended;
	bool arguments;
};

/* A call that has ended, and is to be written. */
struct ended {
	uint64_t id, parent, site;
	uint32_t level, frame;
	struct export_time begin, end;
	struct bound words;
	char *arguments; /* heap, or NULL */
};

struct sqlite_out {
	sqlite3 *db;
	sqlite3_stmt *calls, *call, *gap, *event; /* ->calls: CALLS_AT_ONCE of them */
	struct bound bound[CALLS_AT_ONCE];	  /* to ->calls */
	struct ended ended[CALLS_AT_ONCE];
	uint32_t n_ended;
};

static void fail(struct export *x)
{
	struct sqlite_out *s = x->state;
	export_fail(x, -EIO, "%s", s->db ? sqlite3_errmsg(s->db) : "out of memory");
}

static void prepare(struct export *x, const char *sql, sqlite3_stmt **out)
{
	struct sqlite_out *s = x->state;
	if (!x->err && sqlite3_prepare_v2(s->db, sql, -1, out, NULL) != SQLITE_OK)
		fail(x);
}

static void run(struct export *x, sqlite3_stmt *stmt)
{
	if (x->err)
		return;
	if (sqlite3_step(stmt) != SQLITE_DONE)
		fail(x);
	sqlite3_reset(stmt);
}

/* Whether another descriptor than @fd is of its file: SQLite opens by the path, where somebody may
 * have put something else meanwhile. It has written nothing by then. */
static bool is_opened(int fd)
{
	struct stat ours, st;
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	bool found = false;
	if (!dir || fstat(fd, &ours))
		return false;
	while (!found && (entry = readdir(dir))) {
		int other = atoi(entry->d_name);
		found = other > 2 && other != fd && !fstat(other, &st) &&
			st.st_dev == ours.st_dev && st.st_ino == ours.st_ino;
	}
	closedir(dir);
	return found;
}

#define CALL_ROW "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
#define CALL_ROWS_4 CALL_ROW "," CALL_ROW "," CALL_ROW "," CALL_ROW

static void begin(struct export *x)
{
	struct sqlite_out *s = x->state;
	char path[EXPORT_MADE_PATH_BYTES];
	int fd = export_create(x);
	if (fd < 0)
		return;
	export_made_path(x, path);
	if (sqlite3_open_v2(path, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) !=
	    SQLITE_OK)
		fail(x);
	else if (!is_opened(fd))
		export_fail(x, -ESTALE, "was exchanged while it was made");
	else if (sqlite3_exec(s->db, schema, NULL, NULL, NULL) != SQLITE_OK)
		fail(x);
	close(fd);
	prepare(x, "INSERT INTO calls VALUES " CALL_ROW, &s->call);
	prepare(x,
		"INSERT INTO calls VALUES " CALL_ROWS_4 "," CALL_ROWS_4 "," CALL_ROWS_4
		"," CALL_ROWS_4,
		&s->calls);
	prepare(x, "INSERT INTO gaps VALUES (?,?,?,?,?,?)", &s->gap);
	prepare(x, "INSERT INTO events VALUES (?,?,?,?,?,?)", &s->event);
}

static void bind_time(struct export *x, sqlite3_stmt *stmt, int at, struct export_time time)
{
	if (!x->times) {
		sqlite3_bind_null(stmt, at);
		sqlite3_bind_null(stmt, at + 1);
		return;
	}
	sqlite3_bind_int64(stmt, at, (sqlite3_int64)time.earliest_ns);
	sqlite3_bind_int64(stmt, at + 1, (sqlite3_int64)time.latest_ns);
}

static void bind_word(sqlite3_stmt *stmt, int at, const char *word)
{
	if (word)
		sqlite3_bind_text(stmt, at, word, -1, SQLITE_STATIC);
	else
		sqlite3_bind_null(stmt, at);
}

static uint32_t thread_of(const struct export *x)
{
	return export_task(x, x->on->task)->number;
}

static void put_event(struct export *x, const char *kind, struct export_time time, uint64_t call)
{
	struct sqlite_out *s = x->state;
	sqlite3_bind_int64(s->event, 1, thread_of(x));
	sqlite3_bind_int64(s->event, 2, x->on->stack);
	bind_word(s->event, 3, kind);
	bind_time(x, s->event, 4, time);
	sqlite3_bind_int64(s->event, 6, (sqlite3_int64)call);
	run(x, s->event);
}

/* 0: there is none. */
static void bind_number(sqlite3_stmt *stmt, int at, uint64_t number)
{
	if (number)
		sqlite3_bind_int64(stmt, at, (sqlite3_int64)number);
	else
		sqlite3_bind_null(stmt, at);
}

/* @was: what is bound already. @at: before the row's first column. */
static void bind_what_changes(sqlite3_stmt *stmt, int at, struct bound *was,
			      const struct bound *now)
{
	if (!was->any || was->thread != now->thread)
		sqlite3_bind_int64(stmt, at + 2, now->thread);
	if (!was->any || was->stack != now->stack)
		sqlite3_bind_int64(stmt, at + 3, now->stack);
	if (!was->any || was->how != now->how)
		bind_word(stmt, at + 7, now->how);
	if (!was->any || was->cause != now->cause)
		bind_word(stmt, at + 8, now->cause);
	if (!was->any || was->ended != now->ended)
		bind_word(stmt, at + 14, now->ended);
	if (was->arguments && !now->arguments)
		sqlite3_bind_null(stmt, at + 15);
	*was = *now;
}

static void bind_call(struct export *x, sqlite3_stmt *stmt, int at, struct bound *was,
		      const struct ended *call)
{
	bind_what_changes(stmt, at, was, &call->words);
	sqlite3_bind_int64(stmt, at + 1, (sqlite3_int64)call->id);
	bind_number(stmt, at + 4, call->parent);
	sqlite3_bind_int(stmt, at + 5, (int)call->level);
	sqlite3_bind_int64(stmt, at + 6, call->frame);
	bind_number(stmt, at + 9, call->site);
	bind_time(x, stmt, at + 10, call->begin);
	bind_time(x, stmt, at + 12, call->end);
	if (call->arguments)
		sqlite3_bind_text(stmt, at + 15, call->arguments, -1, SQLITE_STATIC);
}

static void free_arguments(struct sqlite_out *s)
{
	for (uint32_t i = 0; i < s->n_ended; i++)
		free(s->ended[i].arguments);
	s->n_ended = 0;
}

static void put_calls(struct export *x)
{
	struct sqlite_out *s = x->state;
	struct bound none = {0};
	if (s->n_ended == CALLS_AT_ONCE) {
		for (int i = 0; i < CALLS_AT_ONCE; i++)
			bind_call(x, s->calls, i * CALL_COLUMNS, &s->bound[i], &s->ended[i]);
		run(x, s->calls);
	} else {
		for (uint32_t i = 0; i < s->n_ended; i++) {
			bind_call(x, s->call, 0, &none, &s->ended[i]);
			run(x, s->call);
		}
	}
	free_arguments(s);
}

static void ret(struct export *x, const struct export_call *call, const struct export_end *end)
{
	struct sqlite_out *s = x->state;
	struct ended *ended = &s->ended[s->n_ended++];
	*ended = (struct ended){
		.id = call->id,
		.parent = call->parent,
		.site = call->site,
		.level = call->level,
		.frame = call->frame,
		.begin = call->begin,
		.end = end->end,
		.words = {.any = true,
			  .thread = thread_of(x),
			  .stack = x->on->stack,
			  .how = export_how_word(call->how),
			  .cause = call->how == PUGMARK_TRACE_ENTER ? trace_view_cause(call->cause)
								    : NULL,
			  .ended = end->how == CALL_RETURNED ? "returned"
							     : export_end_word(end->how),
			  .arguments = call->arguments},
		.arguments = call->arguments ? strdup(call->arguments) : NULL,
	};
	if (call->arguments && !ended->arguments)
		export_fail(x, -ENOMEM, "out of memory");
	if (s->n_ended == CALLS_AT_ONCE)
		put_calls(x);
	if (call->how == PUGMARK_TRACE_ENTER)
		put_event(x, trace_view_cause(call->cause), call->begin, call->id);
	if (end->how == CALL_UNWOUND || end->how == CALL_GIVEN_UP)
		put_event(x, export_end_word(end->how), end->end, call->id);
}

static void gap(struct export *x, const struct export_gap *gap)
{
	struct sqlite_out *s = x->state;
	sqlite3_bind_int64(s->gap, 1, thread_of(x));
	sqlite3_bind_int64(s->gap, 2, x->on->stack);
	bind_word(s->gap, 3, trace_view_cause(gap->cause));
	bind_time(x, s->gap, 4, gap->span);
	sqlite3_bind_int64(s->gap, 6, (sqlite3_int64)gap->lost);
	run(x, s->gap);
}

static void put_functions(struct export *x)
{
	struct sqlite_out *s = x->state;
	sqlite3_stmt *stmt = NULL;
	prepare(x, "INSERT INTO functions VALUES (?,?,?,?)", &stmt);
	for (uint32_t i = 0; i < x->frames.n && !x->err; i++) {
		const struct export_frame *frame = &x->frames.at[i];
		sqlite3_bind_int64(stmt, 1, i);
		bind_word(stmt, 2, frame->name);
		bind_word(stmt, 3, *frame->module ? frame->module : NULL);
		sqlite3_bind_int(stmt, 4, frame->outside);
		run(x, stmt);
	}
	sqlite3_finalize(stmt);
	(void)s;
}

static void put_threads(struct export *x)
{
	const struct trace_view *view = &x->replay.view;
	sqlite3_stmt *stmt = NULL;
	prepare(x, "INSERT INTO threads VALUES (?,?,?,?,nullif(?,0),?,?,?,?,?,nullif(?,0))", &stmt);
	for (uint32_t i = 0; i < view->n_tasks && !x->err; i++) {
		const struct pugmark_recording_task *task = &view->tasks[i];
		if (!trace_view_has_task(view, i))
			continue;
		uint64_t start = view->start_ns;
		sqlite3_bind_int64(stmt, 1, task->number);
		sqlite3_bind_int64(stmt, 2, task->pid);
		sqlite3_bind_int64(stmt, 3, task->tid);
		char comm[EXPORT_COMM_BYTES];
		export_comm(task, comm);
		sqlite3_bind_text(stmt, 4, comm, -1, SQLITE_TRANSIENT);
		sqlite3_bind_int64(stmt, 5, task->parent);
		sqlite3_bind_int(stmt, 6, task->attached);
		sqlite3_bind_int(stmt, 7, task->exited);
		sqlite3_bind_int(stmt, 8, task->exit_code);
		sqlite3_bind_int64(
			stmt, 9,
			(sqlite3_int64)(task->first_ns > start ? task->first_ns - start : 0));
		sqlite3_bind_int64(
			stmt, 10,
			(sqlite3_int64)(task->last_ns > start ? task->last_ns - start : 0));
		sqlite3_bind_int64(stmt, 11, (sqlite3_int64)trace_view_goroutine(view, i));
		run(x, stmt);
	}
	sqlite3_finalize(stmt);
}

static void put_fact(struct export *x, sqlite3_stmt *stmt, const char *key, uint64_t value)
{
	if (x->err)
		return;
	bind_word(stmt, 1, key);
	sqlite3_bind_int64(stmt, 2, (sqlite3_int64)value);
	run(x, stmt);
}

static void end(struct export *x)
{
	struct sqlite_out *s = x->state;
	const struct pugmark_recording_info *info = x->replay.view.info;
	sqlite3_stmt *stmt = NULL;
	put_calls(x);
	put_functions(x);
	put_threads(x);
	prepare(x, "INSERT INTO recording VALUES (?,?)", &stmt);
	put_fact(x, stmt, "start_realtime_ns", info->start_realtime_ns);
	put_fact(x, stmt, "start_monotonic_ns", info->start_monotonic_ns);
	put_fact(x, stmt, "times", info->times);
	put_fact(x, stmt, "events", info->events);
	put_fact(x, stmt, "lost", info->lost);
	sqlite3_finalize(stmt);
	if (!x->err && sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
		fail(x);
}

static void deinit(struct export *x)
{
	struct sqlite_out *s = x->state;
	free_arguments(s);
	sqlite3_finalize(s->calls);
	sqlite3_finalize(s->call);
	sqlite3_finalize(s->gap);
	sqlite3_finalize(s->event);
	sqlite3_close(s->db);
}

const struct export_format export_sqlite = {
	.name = "sqlite",
	.suffix = "sqlite",
	.brief = "a SQLite database: calls, functions, threads, gaps, events, and views",
	.state_bytes = sizeof(struct sqlite_out),
	.makes_path = true,
	.says_arguments = true,
	.begin = begin,
	.ret = ret,
	.gap = gap,
	.end = end,
	.deinit = deinit,
};

// SPDX-License-Identifier: LGPL-2.1-or-later
/* trace.c: ties a recording, its plans and a parser together: one parser a thread, fed as its
 * trace is asked for. */
#include <pugmark/trace.h>

#include "offline/log/recording_impl.h"
#include "offline/plan/plan_file.h"
#include "offline/recover/parser.h"
#include "offline/trace/fork_states.h"
#include "offline/trace/lines.h"
#include "offline/trace/losses.h"
#include "offline/trace/table_sets.h"
#include "offline/trace/told_times.h"
#include "offline/trace/trace_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct pugmark_trace {
	struct pugmark_recording *rec;
	struct pugmark_plan **plans; /* one a module; NULL where recorded without one */
	char ***names;		     /* per module and function: given later, or NULL */
	uint32_t n_modules;
	uint32_t only; /* only this module; PUGMARK_NONE: all */
	struct fork_states *forks;
	struct table_sets *sets;
	struct lines *lines;	  /* told by goroutine; or NULL */
	struct table_set *shared; /* of one that grows, whose iterators share it */
	bool growing;
};

struct pugmark_trace_iter {
	const struct pugmark_trace *trace;
	struct line_reader *line;		   /* of a line: all else is not used; or NULL */
	const struct pugmark_recording_info *info; /* of the trace's recording */
	struct pugmark_recording_iter *events;
	struct table_set *set;	      /* its own, unless the trace grows */
	struct parse_tables **tables; /* those of the set */
	uint32_t n_modules;	      /* which have tables */
	struct parser *parser;
	const struct pugmark_trace_event *of_line; /* a line's, as `queue` */
	struct pugmark_trace_event *queue; /* what the last witness events decided; the parser's */
	uint32_t n, next;
	/* recording_opened() when the parser was told the load bases; 0: it was not */
	uint32_t biases_of;
	uint64_t witnesses;
	uint64_t begin_ns, last_ns;
	uint64_t told_ns, before_ns; /* where times are bounds: the first of those told last, which
				     may be the same one, and of those before */
	struct told_times told;
	struct losses *losses; /* NULL: each is told where it was, or what follows is not known */
	struct pugmark_witness_event stop; /* the last event, where the recording has none */
	uint32_t task;
	bool ended;
	int state; /* 1: there may be more; 0: there is none; or -errno */
};

/* How many trace events are made at once: few enough to stay in the cache. */
#define BATCH 128

static int open_plans(struct pugmark_trace *t, struct pugmark_diag *diag)
{
	uint32_t n;
	const struct pugmark_recording_module *modules = pugmark_recording_modules(t->rec, &n);
	for (; t->n_modules < n; t->n_modules++) {
		uint32_t i = t->n_modules;
		if (!modules[i].plan)
			return pugmark_diag_set(
				diag, -ENODATA, t->rec->dir, PUGMARK_NO_OFFSET,
				"it has no file `plan-%u.pmp`, the plan of module %s "
				"(copy that from where it was recorded)",
				i, modules[i].name);
		int err = plan_open_recorded(modules[i].plan, &t->plans[i], diag);
		if (err)
			return err;
		if (t->plans[i]->share) {
			uint32_t share = t->plans[i]->share, n_shares = t->plans[i]->n_shares;
			pugmark_plan_free(t->plans[i]);
			t->plans[i] = NULL;
			return pugmark_diag_set(
				diag, -ENOTSUP, t->rec->dir, PUGMARK_NO_OFFSET,
				"recorded under share %u of %u, which alone does not tell the "
				"trace "
				"(pugmark merge -o WHOLE, with a recording under each)",
				share, n_shares);
		}
	}
	return 0;
}

static int open_trace(const char *dir, bool growing, struct pugmark_trace **out,
		      struct pugmark_diag *diag)
{
	struct pugmark_trace *t = calloc(1, sizeof(*t));
	if (!t)
		return pugmark_diag_set(diag, -ENOMEM, dir, PUGMARK_NO_OFFSET, "out of memory");
	t->only = PUGMARK_NONE;
	t->growing = growing;
	int err = growing ? recording_open_growing(dir, &t->rec, diag)
			  : pugmark_recording_open(dir, &t->rec, diag);
	int more = growing && !err ? recording_more(t->rec, diag) : 0;
	err = more < 0 ? more : err;
	if (!err) {
		t->plans = calloc(SEGMENT_MAX_MODULES + 1, sizeof(*t->plans));
		bool room = t->plans && !table_sets_new(&t->sets) &&
			    (!growing || (t->shared = table_sets_take(t->sets)));
		err = room ? open_plans(t, diag)
			   : pugmark_diag_set(diag, -ENOMEM, dir, PUGMARK_NO_OFFSET,
					      "out of memory");
	}
	if (!err && fork_states_new(t->rec, &t->forks))
		err = pugmark_diag_set(diag, -ENOMEM, dir, PUGMARK_NO_OFFSET, "out of memory");
	if (err) {
		pugmark_trace_free(t);
		return err;
	}
	*out = t;
	return 0;
}

int pugmark_trace_open(const char *dir, struct pugmark_trace **out, struct pugmark_diag *diag)
{
	return open_trace(dir, false, out, diag);
}

int pugmark_trace_open_growing(const char *dir, struct pugmark_trace **out,
			       struct pugmark_diag *diag)
{
	return open_trace(dir, true, out, diag);
}

int pugmark_trace_more(struct pugmark_trace *t, struct pugmark_diag *diag)
{
	int more = recording_more(t->rec, diag);
	if (more < 0)
		return more;
	int err = open_plans(t, diag);
	if (!err && fork_states_grow(t->forks))
		err = pugmark_diag_set(diag, -ENOMEM, t->rec->dir, PUGMARK_NO_OFFSET,
				       "out of memory");
	return err ? err : more;
}

void pugmark_trace_free(struct pugmark_trace *t)
{
	if (!t)
		return;
	lines_free(t->lines);
	for (uint32_t i = 0; t->names && i < t->n_modules; i++) {
		for (uint32_t f = 0; t->names[i] && f < t->plans[i]->n_funcs; f++)
			free(t->names[i][f]);
		free(t->names[i]);
	}
	free(t->names);
	for (uint32_t i = 0; t->plans && i < t->n_modules; i++)
		pugmark_plan_free(t->plans[i]);
	free(t->plans);
	if (t->sets)
		table_sets_give_back(t->sets, t->shared);
	table_sets_free(t->sets);
	fork_states_free(t->forks);
	if (t->rec)
		pugmark_recording_free(t->rec);
	free(t);
}

int pugmark_trace_select(struct pugmark_trace *t, uint32_t module)
{
	if (module >= t->n_modules)
		return -ENOENT;
	t->only = module;
	return 0;
}

const struct pugmark_recording *pugmark_trace_recording(const struct pugmark_trace *t)
{
	return t->rec;
}

const struct pugmark_plan *pugmark_trace_plan(const struct pugmark_trace *t, uint32_t module)
{
	return module < t->n_modules ? t->plans[module] : NULL;
}

const char *pugmark_trace_module_name(const struct pugmark_trace *t, uint32_t module)
{
	uint32_t n;
	const struct pugmark_recording_module *modules = pugmark_recording_modules(t->rec, &n);
	return module < n ? modules[module].name : "?";
}

const char *pugmark_trace_func_name(const struct pugmark_trace *t, uint32_t module, uint32_t func)
{
	const struct pugmark_plan *plan = pugmark_trace_plan(t, module);
	if (!plan || func >= plan->n_funcs)
		return "?";
	if (t->names && t->names[module] && t->names[module][func])
		return t->names[module][func];
	return plan->strings + plan->funcs[func].name;
}

int pugmark_trace_rename_func(struct pugmark_trace *t, uint32_t module, uint32_t func,
			      const char *name)
{
	const struct pugmark_plan *plan = pugmark_trace_plan(t, module);
	if (!plan || func >= plan->n_funcs)
		return -EINVAL;
	if (!t->names)
		t->names = calloc(SEGMENT_MAX_MODULES + 1, sizeof(*t->names));
	if (t->names && !t->names[module])
		t->names[module] = calloc(plan->n_funcs, sizeof(char *));
	char *copy = strdup(name);
	if (!t->names || !t->names[module] || !copy) {
		free(copy);
		return -ENOMEM;
	}
	free(t->names[module][func]);
	t->names[module][func] = copy;
	return 0;
}

/* Tells the parser the load bases: the caller of an event's function may be in any module that is
 * loaded. */
static void set_biases(struct pugmark_trace_iter *it)
{
	uint64_t bias;
	uint32_t only = it->trace->only;
	it->biases_of = recording_opened(it->events);
	for (uint32_t m = 0; m < it->trace->n_modules; m++)
		if ((only == PUGMARK_NONE || m == only) &&
		    pugmark_recording_bias(it->events, m, &bias))
			parser_set_bias(it->parser, m, bias);
}

/* Parses all of @task, for the states that its children start from. */
static int parse_for_forks(const struct pugmark_trace *t, uint32_t task)
{
	struct pugmark_trace_iter *it;
	const struct pugmark_trace_event *event;
	int err = pugmark_trace_iter_new(t, task, &it);
	if (err)
		return err;
	while ((err = pugmark_trace_next(it, &event)) == 1)
		;
	pugmark_trace_iter_free(it);
	return err;
}

/* A child's stack is its parent's, whose own may be its parent's: the oldest is parsed first. */
static int parse_ancestors(const struct pugmark_trace *t, uint32_t task)
{
	uint32_t parent, older;
	int err = 0;
	if (t->rec->growing)
		return fork_states_missing(t->forks, task) == PUGMARK_NONE ? 0 : -EAGAIN;
	while (!err && (parent = fork_states_missing(t->forks, task)) != PUGMARK_NONE) {
		while ((older = fork_states_missing(t->forks, parent)) != PUGMARK_NONE)
			parent = older;
		err = parse_for_forks(t, parent);
	}
	return err;
}

static int start_parser(const struct pugmark_trace *t, struct pugmark_trace_iter *it)
{
	const struct parser *parent = fork_states_of(t->forks, it->task);
	if (!parent)
		return parser_new(it->tables, (const struct pugmark_plan *const *)t->plans,
				  t->n_modules, &it->parser);
	int err = parser_fork(parent, it->tables, &it->parser);
	if (!err)
		parser_add_modules(it->parser, t->n_modules);
	return err;
}

/* Makes the tables of modules that have none yet. 0 or -ENOMEM. */
static int add_tables(struct pugmark_trace_iter *it)
{
	int err = 0;
	for (; !err && it->n_modules < it->trace->n_modules; it->n_modules += !err) {
		struct parse_tables **tables = &it->tables[it->n_modules];
		if (!*tables)
			err = parse_tables_new(it->trace->plans[it->n_modules], tables);
	}
	return err;
}

static int line_iter_new(const struct pugmark_trace *t, uint32_t line,
			 struct pugmark_trace_iter **out)
{
	struct pugmark_trace_iter *it = calloc(1, sizeof(*it));
	if (!it)
		return -ENOMEM;
	it->trace = t;
	it->state = 1;
	it->ended = true;
	int err = line_reader_new(t->lines, line, &it->line);
	if (err)
		free(it);
	else
		*out = it;
	return err;
}

int pugmark_trace_iter_new(const struct pugmark_trace *t, uint32_t task,
			   struct pugmark_trace_iter **out)
{
	if (t->lines)
		return line_iter_new(t, task, out);
	int err = parse_ancestors(t, task);
	if (err)
		return err;
	struct pugmark_trace_iter *it = calloc(1, sizeof(*it));
	if (!it)
		return -ENOMEM;
	it->trace = t;
	it->info = pugmark_recording_info(t->rec);
	it->task = task;
	it->state = 1;
	if (it->info->times)
		it->begin_ns = it->info->start_monotonic_ns;
	it->set = t->growing ? t->shared : table_sets_take(t->sets);
	it->tables = it->set ? it->set->tables : NULL;
	err = it->set ? pugmark_recording_iter_new(t->rec, task, &it->events) : -ENOMEM;
	if (!err && it->info->losses_follow && !t->growing)
		err = losses_new(t->rec, task, &it->losses);
	if (!err)
		err = add_tables(it);
	if (!err)
		err = start_parser(t, it);
	if (err) {
		pugmark_trace_iter_free(it);
		return err;
	}
	*out = it;
	return 0;
}

void pugmark_trace_iter_free(struct pugmark_trace_iter *it)
{
	if (!it)
		return;
	if (it->line) {
		line_reader_free(it->line);
		free(it);
		return;
	}
	parser_free(it->parser);
	losses_free(it->losses);
	if (!it->trace->growing)
		table_sets_give_back(it->trace->sets, it->set);
	if (it->events)
		pugmark_recording_iter_free(it->events);
	free(it);
}

/* When the task's last event was, whether it could be read or not. */
static uint64_t end_ns(const struct pugmark_trace_iter *it)
{
	uint32_t n;
	uint64_t said_ns = pugmark_recording_tasks(it->trace->rec, &n)[it->task].last_ns;
	return said_ns > it->last_ns ? said_ns : it->last_ns;
}

/* The next witness event, or the end of the task. Returns 1, or 0 where there is nothing left. */
static inline int read_event(struct pugmark_trace_iter *it, struct pugmark_witness_event **event)
{
	if (it->ended)
		return 0;
	int got = recording_take(it->events, event);
	if (got || recording_may_go_on(it->events))
		return got;
	/* the recording stops while the task runs on: no more is known */
	it->stop =
		(struct pugmark_witness_event){.kind = PUGMARK_EVENT_STOP, .time_ns = end_ns(it)};
	*event = &it->stop;
	it->ended = true;
	return 1;
}

/* Where modules are may change with a segment. */
static inline void follow_biases(struct pugmark_trace_iter *it)
{
	if (it->biases_of != recording_opened(it->events))
		set_biases(it);
}

/* An event that is no witness. Returns 1 or -errno. */
static __attribute__((noinline)) int feed_other(struct pugmark_trace_iter *it,
						const struct pugmark_witness_event *e)
{
	if (e->kind == PUGMARK_EVENT_ATTACH || e->kind == PUGMARK_EVENT_SIGNAL)
		follow_biases(it);
	if (e->kind == PUGMARK_EVENT_EXEC || e->kind == PUGMARK_EVENT_PAUSE)
		it->biases_of = 0; /* the parser forgets them */
	int err = parser_feed_more(it->parser, e);
	it->queue = parser_events(it->parser, &it->n);
	if (!err && e->kind == PUGMARK_EVENT_FORK && pugmark_event_child(e) <= UINT32_MAX)
		err = fork_states_keep(it->trace->forks, pugmark_event_child(e), it->parser);
	return err ? err : 1;
}

/* Where times are bounds: those of the event. Returns whether a time is all that it tells. */
static bool set_bounds(struct pugmark_trace_iter *it, struct pugmark_witness_event *e)
{
	uint64_t slack_ns = it->info->slack_ns;
	bool exact = e->kind != PUGMARK_EVENT_WITNESS;

	/* The same time comes back differently for each of its events, by the unit at most. */
	if (e->time_ns > it->told_ns + 2 * slack_ns) {
		it->before_ns = it->told_ns;
		it->told_ns = e->time_ns;
	}
	if (e->kind == PUGMARK_EVENT_TIME) {
		it->before_ns = it->told_ns = e->time_ns;
		return true;
	}
	uint64_t since_ns = exact ? e->time_ns : it->before_ns;
	since_ns = since_ns > slack_ns ? since_ns - slack_ns : 0;
	e->time_ns += slack_ns;
	e->early_ns = e->time_ns - since_ns;
	return false;
}

/* Feeds the parser @e. Returns 1 or -errno. */
static inline int feed_one(struct pugmark_trace_iter *it, struct pugmark_witness_event *e)
{
	it->last_ns = e->time_ns;
	if (it->info->bounded && set_bounds(it, e))
		return 1;
	if (e->kind != PUGMARK_EVENT_WITNESS)
		return feed_other(it, e);
	if (it->trace->only != PUGMARK_NONE && e->module != it->trace->only)
		return 1;
	it->witnesses++;
	follow_biases(it);
	uint32_t before = it->n;
	int err = parser_feed_more(it->parser, e);
	it->queue = parser_events(it->parser, &it->n);
	if (it->info->times && !err && e->module < it->trace->n_modules &&
	    e->site < it->trace->plans[e->module]->n_sites)
		told_times_set(&it->told, it->tables[e->module], e, it->queue + before,
			       it->n - before);
	return err ? err : 1;
}

/* Feeds the parser the next event. Returns 1, 0 at the end, or -errno. */
static inline int feed(struct pugmark_trace_iter *it)
{
	struct pugmark_witness_event *e;
	uint32_t before = it->n;
	int got = read_event(it, &e);
	if (got == 1)
		got = feed_one(it, e);
	if (got == 1 && it->losses)
		losses_blame(it->losses, it->queue + before, it->n - before);
	return got;
}

/* The recording's start comes before the first witness. */
static void begin_at_start(struct pugmark_trace_iter *it)
{
	for (uint32_t i = 0; i < it->n; i++) {
		struct pugmark_trace_event *e = &it->queue[i];
		if (!e->from_ns)
			e->from_ns = it->begin_ns < e->to_ns ? it->begin_ns : e->to_ns;
	}
}

/* Takes in modules that have been added. Returns 1, or -ENOMEM. */
static int go_on(struct pugmark_trace_iter *it)
{
	int err = add_tables(it);
	parser_add_modules(it->parser, it->n_modules);
	return err ? err : 1;
}

/* Makes the next events, at least @n unless there are fewer. Returns 1, 0 at the end, or
 * -errno, once what was decided before it has been taken. */
static int fill(struct pugmark_trace_iter *it, uint32_t n)
{
	it->next = it->n = 0;
	parser_drop_events(it->parser);
	if (!it->state && !it->ended) /* what it had come to the end of may have grown */
		it->state = go_on(it);
	while (it->n < n && it->state == 1)
		it->state = feed(it);
	if (it->n) {
		if (it->begin_ns)
			begin_at_start(it);
		return 1;
	}
	if (!it->state && it->ended)
		fork_states_parsed(it->trace->forks, it->task);
	return it->state;
}

/* The same of a line. */
static int take_line(struct pugmark_trace_iter *it, const struct pugmark_trace_event **events,
		     uint32_t want, uint32_t *n)
{
	if (it->next == it->n) {
		it->next = it->n = 0;
		it->state = line_reader_batch(it->line, &it->of_line, &it->n);
		if (it->state != 1)
			return it->state;
	}
	*events = it->of_line + it->next;
	*n = it->n - it->next < want ? it->n - it->next : want;
	it->next += *n;
	return 1;
}

int pugmark_trace_next(struct pugmark_trace_iter *it, const struct pugmark_trace_event **event)
{
	uint32_t n;
	if (it->line)
		return take_line(it, event, 1, &n);
	int got = it->next < it->n ? 1 : fill(it, 1);
	if (got == 1)
		*event = &it->queue[it->next++];
	return got;
}

int pugmark_trace_batch(struct pugmark_trace_iter *it, const struct pugmark_trace_event **events,
			uint32_t *n)
{
	if (it->line)
		return take_line(it, events, UINT32_MAX, n);
	int got = it->next < it->n ? 1 : fill(it, BATCH);
	if (got == 1) {
		*events = it->queue + it->next;
		*n = it->n - it->next;
		it->next = it->n;
	}
	return got;
}

void trace_tell_lines(struct pugmark_trace *t, struct lines *lines)
{
	t->lines = lines;
}

const struct pugmark_plan *const *trace_plans(const struct pugmark_trace *t)
{
	return (const struct pugmark_plan *const *)t->plans;
}

const struct pugmark_trace_line *pugmark_trace_lines(const struct pugmark_trace *t, uint32_t *n)
{
	return lines_list(t->lines, n);
}

uint64_t pugmark_trace_witnesses(const struct pugmark_trace_iter *it)
{
	return it->witnesses;
}

bool pugmark_trace_ended(const struct pugmark_trace_iter *it)
{
	return it->ended && it->next == it->n && it->state != 1;
}

uint64_t pugmark_trace_taken_bytes(const struct pugmark_trace *t)
{
	return t->rec->scanned;
}

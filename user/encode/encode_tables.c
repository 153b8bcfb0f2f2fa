// SPDX-License-Identifier: LGPL-2.1-or-later
/* encode_tables.c: see encode_tables.h. A call began between two times; it belongs to the span that
 * holds the middle between them. Which functions wait and which allocate is known by name:
 * functions of the C library that block, and those that hand out memory. */
#include "user/encode/encode_tables.h"

#include "offline/encode/encode_chains.h"

#include <errno.h>
#include <stdlib.h>

enum group_kind { PLAIN = 0, WAITS = 1, ALLOCATES = 2, FREES = 4 };

/* What is counted together: a class, or a module. */
struct name_info {
	uint32_t group; /* + 1; 0: not asked yet */
	uint8_t kind;
};

struct span {
	uint64_t waiting_ns, allocations, frees, calls;
};

struct open_wait {
	uint64_t from_ns;
	uint32_t name;
};

struct encode_tables {
	struct chains *chains;
	struct span *spans;
	uint64_t *counts; /* per group and span; n_groups * n_spans of room_groups */
	uint32_t room_groups;
	VEC(uint32_t) groups; /* names */
	VEC(struct name_info) names;
	VEC(struct open_wait) stack;
	uint64_t first_ns, last_ns;
};

/* ---- chains ---- */

static int chain_begin(void *ctx, const struct tree_place *place)
{
	(void)place;
	return chains_begin(((struct encode *)ctx)->tables->chains);
}

static int chain_open(void *ctx, const struct tree_call *call)
{
	return chains_open(((struct encode *)ctx)->tables->chains, call);
}

static int chain_close(void *ctx, const struct tree_return *ret)
{
	return chains_close(((struct encode *)ctx)->tables->chains, ret);
}

static int nothing_ends(void *ctx, enum tree_edge why)
{
	(void)ctx, (void)why;
	return 0;
}

/* ---- spans ---- */

static bool is_one_of(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(name, *list))
			return true;
	return false;
}

static uint8_t kind_of(const char *name)
{
	static const char *const waits[] = {"poll",
					    "ppoll",
					    "select",
					    "pselect",
					    "epoll_wait",
					    "epoll_pwait",
					    "nanosleep",
					    "usleep",
					    "sleep",
					    "wait",
					    "waitpid",
					    "wait4",
					    "pause",
					    "sigwait",
					    "sigtimedwait",
					    "sem_wait",
					    "sem_timedwait",
					    "accept",
					    "accept4",
					    "connect",
					    "pthread_join",
					    "pthread_mutex_lock",
					    "pthread_cond_wait",
					    "pthread_cond_timedwait",
					    "pthread_rwlock_rdlock",
					    "pthread_rwlock_wrlock",
					    "fsync",
					    "fdatasync",
					    "clock_nanosleep",
					    "flock",
					    NULL};
	static const char *const allocates[] = {"malloc",
						"calloc",
						"realloc",
						"strdup",
						"strndup",
						"posix_memalign",
						"aligned_alloc",
						"memalign",
						"mmap",
						"operator new(unsigned long)",
						"operator new[](unsigned long)",
						NULL};
	static const char *const frees[] = {"free",
					    "munmap",
					    "operator delete(void*)",
					    "operator delete(void*, unsigned long)",
					    "operator delete[](void*)",
					    NULL};
	return (is_one_of(name, waits) ? WAITS : 0) | (is_one_of(name, allocates) ? ALLOCATES : 0) |
	       (is_one_of(name, frees) ? FREES : 0);
}

/* "a::b::f(int)" is of "a::b"; what is of no class is of its module. */
static int group_name(struct encode *e, uint32_t name, uint32_t *out)
{
	const char *text = symbols_name(e->symbols, name);
	size_t len = encode_class_length(text);
	const struct symbol_origin *o = symbol_map_origin(e->map, name);
	if (len) {
		char *class = strndup(text, len);
		int err = class ? symbols_intern(e->symbols, class, out) : -ENOMEM;
		free(class);
		return err;
	}
	bool outside = !o || o->import;
	return symbols_intern(e->symbols,
			      outside ? "(other modules)"
				      : pugmark_trace_module_name(e->view.trace, o->module),
			      out);
}

static int make_room(struct encode_tables *t, uint32_t n_spans)
{
	if (t->groups.n <= t->room_groups)
		return 0;
	uint32_t room = 2 * t->room_groups + 8;
	uint64_t *counts = realloc(t->counts, (size_t)room * n_spans * sizeof(*counts));
	if (!counts)
		return -ENOMEM;
	memset(counts + (size_t)t->room_groups * n_spans, 0,
	       (size_t)(room - t->room_groups) * n_spans * sizeof(*counts));
	t->counts = counts;
	t->room_groups = room;
	return 0;
}

static int info_of(struct encode *e, uint32_t name, struct name_info *out)
{
	struct encode_tables *t = e->tables;
	while (t->names.n <= name)
		if (!VEC_PUSH(&t->names, (struct name_info){0}))
			return -ENOMEM;
	if (!t->names.at[name].group) {
		uint32_t group, i = 0;
		int err = group_name(e, name, &group);
		if (err)
			return err;
		while (i < t->groups.n && t->groups.at[i] != group)
			i++;
		if (i == t->groups.n && !VEC_PUSH(&t->groups, group))
			return -ENOMEM;
		err = make_room(t, e->k);
		if (err)
			return err;
		t->names.at[name] =
			(struct name_info){i + 1, kind_of(symbols_name(e->symbols, name))};
	}
	*out = t->names.at[name];
	return 0;
}

static uint32_t span_at(const struct encode *e, uint64_t ns)
{
	const struct encode_tables *t = e->tables;
	if (ns <= t->first_ns)
		return 0;
	uint64_t at = ns - t->first_ns, all = t->last_ns - t->first_ns + 1;
	uint32_t span = (uint32_t)((__uint128_t)at * e->k / all);
	return span < e->k ? span : e->k - 1;
}

static int span_begin(void *ctx, const struct tree_place *place)
{
	(void)place;
	((struct encode *)ctx)->tables->stack.n = 0;
	return 0;
}

static int span_open(void *ctx, const struct tree_call *call)
{
	struct encode *e = ctx;
	struct encode_tables *t = e->tables;
	uint32_t name = symbol_name_index(call->symbol);
	uint64_t middle = call->time.from_ns + (call->time.to_ns - call->time.from_ns) / 2;
	struct name_info info;
	int err = info_of(e, name, &info);
	if (err)
		return err;
	uint32_t span = span_at(e, middle);
	t->spans[span].calls++;
	t->spans[span].allocations += !!(info.kind & ALLOCATES);
	t->spans[span].frees += !!(info.kind & FREES);
	t->counts[(size_t)(info.group - 1) * e->k + span]++;
	return VEC_PUSH(&t->stack, (struct open_wait){middle, name}) ? 0 : -ENOMEM;
}

/* Where a span begins. */
static uint64_t span_start(const struct encode *e, uint32_t span)
{
	const struct encode_tables *t = e->tables;
	uint64_t all = t->last_ns - t->first_ns + 1;
	return t->first_ns + (uint64_t)(((__uint128_t)all * span + e->k - 1) / e->k);
}

static int span_close(void *ctx, const struct tree_return *ret)
{
	struct encode *e = ctx;
	struct encode_tables *t = e->tables;
	struct open_wait call = t->stack.at[--t->stack.n];
	uint64_t end = ret->time.from_ns + (ret->time.to_ns - ret->time.from_ns) / 2;
	if (!(t->names.at[call.name].kind & WAITS))
		return 0;
	for (uint32_t i = span_at(e, call.from_ns); i < e->k && call.from_ns < end; i++) {
		uint64_t next = i + 1 < e->k ? span_start(e, i + 1) : end;
		uint64_t until = next < end ? next : end;
		if (until > call.from_ns)
			t->spans[i].waiting_ns += until - call.from_ns;
		call.from_ns = until;
	}
	return 0;
}

/* ---- both ---- */

int encode_tables_init(struct encode *e, struct tree_sink *sink)
{
	struct encode_tables *t = e->tables = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	if (e->selection == SELECT_CHAINS) {
		*sink = (struct tree_sink){e,		chain_begin,  chain_open,
					   chain_close, nothing_ends, NULL};
		return chains_new(e->k, &t->chains);
	}
	*sink = (struct tree_sink){e, span_begin, span_open, span_close, nothing_ends, NULL};
	t->first_ns = UINT64_MAX;
	for (uint32_t i = 0; i < e->view.n_tasks; i++) {
		const struct pugmark_recording_task *task = &e->view.tasks[i];
		if (!trace_view_has_task(&e->view, i) || !task->n_events)
			continue;
		t->first_ns = task->first_ns < t->first_ns ? task->first_ns : t->first_ns;
		t->last_ns = task->last_ns > t->last_ns ? task->last_ns : t->last_ns;
	}
	uint64_t from_ns = e->view.timed ? e->view.from_ns : e->view.start_ns;
	t->first_ns = from_ns > t->first_ns ? from_ns : t->first_ns;
	t->last_ns = e->view.to_ns < t->last_ns ? e->view.to_ns : t->last_ns;
	t->last_ns = t->last_ns < t->first_ns ? t->first_ns : t->last_ns;
	t->spans = calloc(e->k, sizeof(*t->spans));
	return t->spans ? 0 : -ENOMEM;
}

void encode_tables_free(struct encode_tables *t)
{
	if (!t)
		return;
	chains_free(t->chains);
	free(t->spans);
	free(t->counts);
	VEC_FREE(&t->groups);
	VEC_FREE(&t->names);
	VEC_FREE(&t->stack);
	free(t);
}

/* ---- output ---- */

static int by_cost(const void *a, const void *b)
{
	const struct chain *x = *(const struct chain *const *)a;
	const struct chain *y = *(const struct chain *const *)b;
	double p = x->times.min + x->times.max, q = y->times.min + y->times.max;
	if (p != q)
		return p > q ? -1 : 1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static void chain_text(struct encode *e, const struct chain *c, const uint32_t *symbols)
{
	outbuf_format(e->out, "%12llu  ", (unsigned long long)c->count);
	if (e->show_times) {
		const double values[] = {
			c->times.min, c->times.max, c->times.min / (double)c->count,
			c->times.max / (double)c->count, dag_times_deviation(&c->times, c->count)};
		for (int i = 0; i < 5; i++) {
			unsigned n = outbuf_duration(e->out, (uint64_t)values[i]);
			outbuf_text(e->out, i == 0 || i == 2 ? ".." : "  ");
			if (i == 1 || i == 3 || i == 4)
				outbuf_spaces(e->out, n < 9 ? 9 - n : 0);
		}
	}
	for (uint32_t i = c->first; i < c->first + c->n; i++) {
		outbuf_text(e->out, i > c->first ? " > " : "");
		encode_symbol(e->out, e->symbols, symbols[i], PRINT_TEXT);
	}
	outbuf_char(e->out, '\n');
}

static void chain_json(struct encode *e, const struct chain *c, const uint32_t *symbols, bool first)
{
	outbuf_text(e->out, first ? "\n{\"chain\":[" : ",\n{\"chain\":[");
	for (uint32_t i = c->first; i < c->first + c->n; i++) {
		outbuf_text(e->out, i > c->first ? ",\"" : "\"");
		encode_symbol(e->out, e->symbols, symbols[i], PRINT_JSON);
		outbuf_char(e->out, '"');
	}
	outbuf_format(e->out, "],\"calls\":%llu", (unsigned long long)c->count);
	if (e->show_times)
		outbuf_format(e->out,
			      ",\"ns\":{\"min\":%.0f,\"max\":%.0f,\"squares\":%.6g,"
			      "\"deviation\":%.0f}",
			      c->times.min, c->times.max, c->times.squares,
			      dag_times_deviation(&c->times, c->count));
	outbuf_char(e->out, '}');
}

static int write_chains(struct encode *e, bool json)
{
	uint32_t n;
	const struct chain *list = chains_list(e->tables->chains, &n);
	const uint32_t *symbols = chains_symbols(e->tables->chains);
	const struct chain **order = malloc((n + 1) * sizeof(struct chain *));
	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		order[i] = &list[i];
	qsort(order, n, sizeof(struct chain *), by_cost);
	if (!json)
		outbuf_text(e->out, e->show_times
					    ? "       calls  took in all       each, between   "
					      "   deviation  chain\n"
					    : "       calls  chain\n");
	else
		outbuf_text(e->out, "{\"chains\":[");
	for (uint32_t i = 0; i < n; i++)
		if (json)
			chain_json(e, order[i], symbols, !i);
		else
			chain_text(e, order[i], symbols);
	outbuf_text(e->out, json ? "]}\n" : "");
	free(order);
	return 0;
}

static void span_text(struct encode *e, uint32_t i)
{
	const struct encode_tables *t = e->tables;
	const struct span *s = &t->spans[i];
	outbuf_format(e->out, "%12.6f %10llu %9llu %9llu  ",
		      (double)(span_start(e, i) - e->view.start_ns) / 1e9,
		      (unsigned long long)s->calls, (unsigned long long)s->allocations,
		      (unsigned long long)s->frees);
	unsigned n = outbuf_duration(e->out, s->waiting_ns);
	outbuf_spaces(e->out, n < 9 ? 9 - n : 0);
	for (uint32_t g = 0; g < t->groups.n; g++) {
		uint64_t count = t->counts[(size_t)g * e->k + i];
		if (!count)
			continue;
		outbuf_text(e->out, " ");
		outbuf_safe_text(e->out, symbols_name(e->symbols, t->groups.at[g]));
		outbuf_format(e->out, " %llu", (unsigned long long)count);
	}
	outbuf_char(e->out, '\n');
}

static void span_json(struct encode *e, uint32_t i)
{
	const struct encode_tables *t = e->tables;
	const struct span *s = &t->spans[i];
	bool comma = false;
	outbuf_format(e->out,
		      "%s\n{\"from_ns\":%llu,\"calls\":%llu,\"allocations\":%llu,\"frees\":%llu,"
		      "\"waiting_ns\":%llu,\"of\":{",
		      i ? "," : "", (unsigned long long)(span_start(e, i) - e->view.start_ns),
		      (unsigned long long)s->calls, (unsigned long long)s->allocations,
		      (unsigned long long)s->frees, (unsigned long long)s->waiting_ns);
	for (uint32_t g = 0; g < t->groups.n; g++) {
		uint64_t count = t->counts[(size_t)g * e->k + i];
		if (!count)
			continue;
		outbuf_json(e->out, comma ? "," : "", symbols_name(e->symbols, t->groups.at[g]));
		outbuf_format(e->out, ":%llu", (unsigned long long)count);
		comma = true;
	}
	outbuf_text(e->out, "}}");
}

int encode_tables_finish(struct encode *e)
{
	bool json = e->format == &encode_json;
	if (e->selection == SELECT_CHAINS)
		return write_chains(e, json);
	outbuf_text(e->out,
		    json ? "{\"intervals\":["
			 : "       start      calls    allocs     frees  waiting   calls of\n");
	for (uint32_t i = 0; i < e->k; i++)
		if (json)
			span_json(e, i);
		else
			span_text(e, i);
	outbuf_text(e->out, json ? "]}\n" : "");
	return 0;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* rates.c: see rates.h. Recordings are read one after the other; of each only counts are kept. */
#include "user/view/report/rates.h"

#include "user/view/report/report.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	DEPTH_MAX = 3,	 /* folder, host, turn */
	SHARES_MAX = 64, /* a bit each */
};

/* 97.5 % of Student's distribution lies below it. */
static double student(uint32_t freedom)
{
	static const double table[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365,
				       2.306,  2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
				       2.131,  2.120, 2.110, 2.101, 2.093, 2.086};
	enum { N = sizeof(table) / sizeof(*table) };
	return freedom <= N ? table[freedom - 1] : 1.96 + 2.5 / freedom;
}

void rate_settle(struct rate *r)
{
	const double z = 1.96;
	double c = r->least, t = r->on_s, most = r->most + 1;
	r->mean = t > 0 ? r->told / t : 0;
	if (t <= 0)
		return;
	/* Byar's approximation of the interval of a Poisson count. */
	r->low = c > 0 ? c * pow(1 - 1 / (9 * c) - z / (3 * sqrt(c)), 3) / t : 0;
	r->high = most * pow(1 - 1 / (9 * most) + z / (3 * sqrt(most)), 3) / t;
	if (r->n < 2)
		return;
	double spread = r->squares - r->mean * r->mean * t;
	double half = student(r->n - 1) * sqrt(fmax(spread, 0) / (r->n - 1) / t);
	r->low = fmax(0, fmin(r->low, r->mean - half));
	r->high = fmax(r->high, r->mean + half);
}

static bool is_recording(const char *dir)
{
	char *path;
	if (asprintf(&path, "%s/meta.json", dir) < 0)
		return false;
	bool is = !access(path, F_OK);
	free(path);
	return is;
}

typedef int (*each_fn)(void *ctx, const char *dir, struct pugmark_diag *diag);

/* Each recording in @dir, in the order of their names. */
static int each_recording(const char *dir, uint32_t depth, each_fn fn, void *ctx,
			  struct pugmark_diag *diag)
{
	struct dirent **names;
	int n = scandir(dir, &names, NULL, alphasort), err = 0;
	for (int i = 0; i < n; i++) {
		char *path = NULL;
		struct stat st;
		if (!err && *names[i]->d_name != '.' &&
		    asprintf(&path, "%s/%s", dir, names[i]->d_name) < 0)
			err = pugmark_diag_set(diag, -ENOMEM, dir, PUGMARK_NO_OFFSET,
					       "out of memory");
		else if (!err && path && !lstat(path, &st) && S_ISDIR(st.st_mode))
			err = is_recording(path) ? fn(ctx, path, diag)
			      : depth + 1 < DEPTH_MAX
				      ? each_recording(path, depth + 1, fn, ctx, diag)
				      : 0;
		free(path);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	return err;
}

static int found(void *ctx, const char *dir, struct pugmark_diag *diag)
{
	(void)ctx, (void)dir, (void)diag;
	return 1;
}

bool rates_is_folder(const char *dir)
{
	return !is_recording(dir) && each_recording(dir, 0, found, NULL, NULL) == 1;
}

/* Which share of how many a recording is of. */
static void note_share(struct rates *r, const json_t *meta)
{
	json_int_t share = json_integer_value(json_object_get(meta, "share"));
	json_int_t shares = json_integer_value(json_object_get(meta, "shares"));
	if (share < 1 || share > shares || shares > SHARES_MAX || shares < r->shares)
		return;
	if (shares > r->shares)
		r->seen = 0; /* of another number of them: not the same shares */
	r->shares = (uint32_t)shares;
	r->seen |= 1ull << (share - 1);
}

/* What a recording's meta.json says of how its calls count. */
struct weight {
	double seconds; /* in which all of its probes were on */
	double missing; /* lost events by those that there are */
};

/* Reads it, and has the view show the time in which all probes of the recording were on. */
static int weigh(struct rates *r, struct trace_view *view, struct weight *out,
		 struct pugmark_diag *diag)
{
	json_t *meta = json_loads(view->info->meta, 0, NULL);
	json_int_t from = json_integer_value(json_object_get(meta, "probed_from_ns"));
	json_int_t to = json_integer_value(json_object_get(meta, "probed_to_ns"));
	json_int_t events = json_integer_value(json_object_get(meta, "events"));
	json_int_t lost = json_integer_value(json_object_get(meta, "lost"));
	note_share(r, meta);
	json_decref(meta);
	*out = (struct weight){.seconds = (to - from) / 1e9};
	if (events > 0 && lost > 0)
		out->missing = (double)lost / events;
	r->n_lossy += lost > 0;
	if (view->info->times) {
		view->from_ns = from;
		view->to_ns = to;
	}
	if (from > 0 && to > from)
		return 0;
	return pugmark_diag_set(diag, -EINVAL, view->dir, PUGMARK_NO_OFFSET,
				"it does not say how long its probes were on (it did not end well, "
				"or is of an older pugmark): take it out of the folder");
}

static bool is_same(const struct rates_module *m, const struct pugmark_recording_module *other)
{
	return m->build_id_len == other->build_id_len &&
	       !memcmp(m->build_id, other->build_id, m->build_id_len) &&
	       (m->build_id_len || !strcmp(m->name, other->name));
}

/* The entry of a recording's module, which is made where there is none. */
static struct rates_module *module_of(struct rates *r, const struct pugmark_recording_module *of,
				      const struct pugmark_plan *plan)
{
	for (uint32_t i = 0; i < r->n_modules; i++)
		if (is_same(&r->modules[i], of))
			return &r->modules[i];
	struct rates_module *all = realloc(r->modules, (r->n_modules + 1) * sizeof(*all));
	if (!all)
		return NULL;
	r->modules = all;
	struct rates_module *m = &all[r->n_modules];
	*m = (struct rates_module){.n_funcs = plan->n_funcs, .build_id_len = of->build_id_len};
	memcpy(m->build_id, of->build_id, sizeof(m->build_id));
	m->name = strdup(of->name);
	m->funcs = calloc(m->n_funcs + 1, sizeof(*m->funcs));
	r->n_modules++;
	return m->name && m->funcs ? m : NULL;
}

/* The functions that the recording has of its module @module. */
static int add_module(struct rates *r, struct trace_view *view, const struct report *report,
		      uint32_t module, const struct weight *weight, struct pugmark_diag *diag)
{
	uint32_t n;
	const struct pugmark_recording_module *mod =
		&pugmark_recording_modules(view->rec, &n)[module];
	for (uint32_t i = 0; i < module; i++) {
		const struct pugmark_recording_module *other =
			&pugmark_recording_modules(view->rec, &n)[i];
		if (other->build_id_len == mod->build_id_len &&
		    !memcmp(other->build_id, mod->build_id, mod->build_id_len) &&
		    !strcmp(other->name, mod->name))
			return pugmark_diag_set(diag, -ENOTSUP, view->dir, PUGMARK_NO_OFFSET,
						"what is probed was changed while it was recorded "
						"(--max-overhead, --module): how long a function "
						"was traced is not known");
	}
	const struct pugmark_plan *plan = pugmark_trace_plan(view->trace, module);
	if (!plan)
		return 0;
	struct rates_module *m = module_of(r, mod, plan);
	if (!m)
		return trace_view_no_memory(view, diag);
	if (m->n_funcs != plan->n_funcs)
		return pugmark_diag_set(diag, -EINVAL, view->dir, PUGMARK_NO_OFFSET,
					"its plan has other functions of %s than the recordings "
					"before",
					m->name);
	for (uint32_t f = 0; f < m->n_funcs; f++)
		if (!(plan->funcs[f].flags & PUGMARK_PLAN_FUNC_OPAQUE)) {
			m->funcs[f].on_s += weight->seconds;
			m->funcs[f].n++;
		}
	for (uint32_t i = 0; i < report->n_funcs; i++) {
		const struct report_func *f = &report->funcs[i];
		if (f->id.kind != FUNC_OF_PLAN || f->id.module != module ||
		    !(f->calls + f->hidden) ||
		    plan->funcs[f->id.func].flags & PUGMARK_PLAN_FUNC_OPAQUE)
			continue;
		struct rate *rate = &m->funcs[f->id.func];
		if (!rate->name)
			rate->name = strdup(trace_view_func_name(view, module, f->id.func));
		if (!rate->name)
			return trace_view_no_memory(view, diag);
		double told = f->calls * (1 + weight->missing);
		rate->calls += f->calls;
		rate->told += told;
		rate->least += f->calls - f->unsure;
		rate->most += f->calls + f->hidden + 2 * (told - f->calls);
		rate->squares += told * told / weight->seconds;
	}
	return 0;
}

static int add(void *ctx, const char *dir, struct pugmark_diag *diag)
{
	struct rates *r = ctx;
	struct trace_view view;
	struct report report = {0};
	struct report_wish wish = {0};
	struct weight weight;
	trace_view_init(&view, "report", "text");
	view.dir = dir;
	int err = trace_view_open(&view, dir, diag);
	if (!err)
		err = weigh(r, &view, &weight, diag);
	if (!err)
		err = report_collect(&view, &wish, &report, diag);
	for (uint32_t m = 0; !err && m < view.n_modules; m++)
		err = add_module(r, &view, &report, m, &weight, diag);
	if (!err) {
		r->n_recordings++;
		r->seconds += weight.seconds;
		r->gaps += report.gaps;
		r->not_whole |= trace_view_status(&view, report.gaps) != 0;
	}
	report_deinit(&report);
	trace_view_deinit(&view);
	return err;
}

int rates_read(const char *dir, struct rates *out, struct pugmark_diag *diag)
{
	int err = each_recording(dir, 0, add, out, diag);
	for (uint32_t m = 0; !err && m < out->n_modules; m++)
		for (uint32_t f = 0; f < out->modules[m].n_funcs; f++)
			rate_settle(&out->modules[m].funcs[f]);
	return err;
}

struct shown {
	const struct rate *rate;
	const struct rates_module *module;
};

static int by_mean(const void *a, const void *b)
{
	const struct shown *x = a, *y = b;
	if (x->rate->mean != y->rate->mean)
		return x->rate->mean < y->rate->mean ? 1 : -1;
	return strcmp(x->rate->name, y->rate->name);
}

static void put_text(const struct rates *r, const struct shown *at, uint32_t n, struct outbuf *out)
{
	char line[200];
	outbuf_text(out, "       calls   on s  n      calls/s  95% from           to  function\n");
	for (uint32_t i = 0; i < n; i++) {
		const struct rate *f = at[i].rate;
		snprintf(line, sizeof(line), "%12llu %6.1f %2u %12.1f %9.1f %12.1f  ",
			 (unsigned long long)f->calls, f->on_s, f->n, f->mean, f->low, f->high);
		outbuf_text(out, line);
		outbuf_safe_text(out, f->name);
		outbuf_text(out, "\n");
	}
	snprintf(line, sizeof(line), "%u recording%s, %.1f s, gaps %llu", r->n_recordings,
		 r->n_recordings == 1 ? "" : "s", r->seconds, (unsigned long long)r->gaps);
	outbuf_text(out, line);
	uint32_t seen = (uint32_t)__builtin_popcountll(r->seen);
	if (seen < r->shares) {
		snprintf(line, sizeof(line),
			 "; of %u shares %u: functions of the others were never traced", r->shares,
			 seen);
		outbuf_text(out, line);
	}
	outbuf_text(out, "\n");
	if (!r->n_lossy)
		return;
	snprintf(line, sizeof(line),
		 "%u of the recordings lost events: calls/s has as large a share added, and the "
		 "interval "
		 "reaches from what was seen to twice as much more\n",
		 r->n_lossy);
	outbuf_text(out, line);
}

static void put_json(const struct rates *r, const struct shown *at, uint32_t n, struct outbuf *out)
{
	char line[300];
	snprintf(line, sizeof(line),
		 "{\"recordings\":%u,\"seconds\":%.3f,\"gaps\":%llu,\"shares\":%u,"
		 "\"shares_seen\":%u,\"lossy\":%u,\"functions\":[",
		 r->n_recordings, r->seconds, (unsigned long long)r->gaps, r->shares,
		 (uint32_t)__builtin_popcountll(r->seen), r->n_lossy);
	outbuf_text(out, line);
	for (uint32_t i = 0; i < n; i++) {
		const struct rate *f = at[i].rate;
		outbuf_json(out, i ? ",\n{\"function\":" : "\n{\"function\":", f->name);
		outbuf_text(out, ",\"module\":\"");
		outbuf_json_text(out, at[i].module->name);
		snprintf(line, sizeof(line),
			 "\",\"calls\":%llu,\"least\":%.0f,\"most\":%.0f,\"on_s\":%.6f,\"n\":%u,"
			 "\"calls_s\":%.6g,\"low\":%.6g,"
			 "\"high\":%.6g}",
			 (unsigned long long)f->calls, f->least, f->most, f->on_s, f->n, f->mean,
			 f->low, f->high);
		outbuf_text(out, line);
	}
	outbuf_text(out, "]}\n");
}

int rates_show(const struct rates *r, bool json, uint32_t top, struct outbuf *out)
{
	uint32_t n = 0, room = 1;
	for (uint32_t m = 0; m < r->n_modules; m++)
		room += r->modules[m].n_funcs;
	struct shown *at = calloc(room, sizeof(*at));
	if (!at)
		return -ENOMEM;
	for (uint32_t m = 0; m < r->n_modules; m++)
		for (uint32_t f = 0; f < r->modules[m].n_funcs; f++)
			if (r->modules[m].funcs[f].calls)
				at[n++] = (struct shown){&r->modules[m].funcs[f], &r->modules[m]};
	qsort(at, n, sizeof(*at), by_mean);
	(json ? put_json : put_text)(r, at, top && top < n ? top : n, out);
	free(at);
	return 0;
}

void rates_deinit(struct rates *r)
{
	for (uint32_t m = 0; m < r->n_modules; m++) {
		for (uint32_t f = 0; r->modules[m].funcs && f < r->modules[m].n_funcs; f++)
			free(r->modules[m].funcs[f].name);
		free(r->modules[m].funcs);
		free(r->modules[m].name);
	}
	free(r->modules);
	*r = (struct rates){0};
}

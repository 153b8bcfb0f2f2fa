// SPDX-License-Identifier: LGPL-2.1-or-later
/* untraced.c: see untraced.h. */
#include "user/view/report/untraced.h"

#include "user/file/exports_name.h"

#include <string.h>

enum { ASKED = 8 }; /* so many imports, those with most time, are looked up */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static bool is_c_library(const char *name)
{
	return !strncmp(name, "libc.so", 7) || !strncmp(name, "libc-", 5) ||
	       !strncmp(name, "ld-", 3) || !strncmp(name, "libpthread", 10);
}

/* The mapped library that has the import, if it is not traced; NULL: none. */
static const char *library_of(const struct trace_view *view, const char *import)
{
	uint32_t n, n_modules;
	const struct pugmark_recording_map *maps = pugmark_recording_maps(view->rec, &n);
	const struct pugmark_recording_module *modules =
		pugmark_recording_modules(view->rec, &n_modules);
	for (uint32_t i = 0; i < n; i++) {
		bool again = *maps[i].path != '/';
		for (uint32_t k = 0; k < i && !again; k++)
			again = !strcmp(maps[i].path, maps[k].path);
		for (uint32_t m = 0; m < n_modules && !again; m++)
			again = !strcmp(maps[i].path, modules[m].path);
		if (!again && file_exports_name(maps[i].path, import))
			return is_c_library(base_name(maps[i].path)) ? NULL
								     : base_name(maps[i].path);
	}
	return NULL;
}

/* The import that may have taken most time of those that come behind @before: with less, or as much
 * and a higher number; UINT32_MAX: there is none. */
static uint32_t next_import(const struct report *r, uint32_t before)
{
	uint32_t best = UINT32_MAX;
	for (uint32_t i = 0; i < r->n_funcs; i++) {
		uint64_t ns = r->funcs[i].self.max_ns;
		uint64_t limit = before == UINT32_MAX ? UINT64_MAX : r->funcs[before].self.max_ns;
		if (r->funcs[i].id.kind != FUNC_IMPORT || !ns || ns > limit ||
		    (ns == limit && i <= before))
			continue;
		if (best == UINT32_MAX || ns > r->funcs[best].self.max_ns)
			best = i;
	}
	return best;
}

/* How long the threads that are shown ran, together. */
static uint64_t threads_ns(const struct trace_view *view)
{
	uint64_t ns = 0;
	for (uint32_t i = 0; i < view->n_tasks; i++) {
		const struct pugmark_recording_task *t = &view->tasks[i];
		/* an event without a time may be the first */
		uint64_t from_ns = t->first_ns > view->start_ns ? t->first_ns : view->start_ns;
		if (trace_view_has_task(view, i) && t->last_ns > from_ns)
			ns += t->last_ns - from_ns;
	}
	return ns;
}

bool untraced_most(const struct trace_view *view, const struct report *r, struct untraced *out)
{
	uint64_t all_ns = threads_ns(view);
	uint32_t func = UINT32_MAX;
	for (int asked = 0; asked < ASKED && all_ns; asked++) {
		func = next_import(r, func);
		if (func == UINT32_MAX || r->funcs[func].self.max_ns <= all_ns / 2)
			return false;
		const char *library = library_of(view, r->funcs[func].id.import);
		if (!library)
			continue;
		struct time_bounds self = r->funcs[func].self;
		double most = 100.0 * (double)self.max_ns / (double)all_ns;
		*out = (struct untraced){
			.library = library,
			.func = func,
			.percent = most < 100 ? (unsigned)most : 100,
			.certain = self.min_ns > all_ns / 2,
		};
		return true;
	}
	return false;
}

/* The time of the calls that are around all others. */
static uint64_t outermost_ns(const struct report *r)
{
	uint64_t ns = 0;
	for (uint32_t i = 0; i < r->n_funcs; i++)
		if (r->funcs[i].total.max_ns > ns)
			ns = r->funcs[i].total.max_ns;
	return ns;
}

/* What is certainly around most of the time hides nothing: others inside of it are to be told. */
static bool is_untold(const struct report_func *f, uint64_t all_ns)
{
	return (f->id.kind == FUNC_IMPORT || f->id.kind == FUNC_OF_PLAN) &&
	       f->self.max_ns > all_ns / 2 && f->self.min_ns < f->self.max_ns / 10 &&
	       f->total.min_ns < all_ns / 2;
}

uint32_t untold_most(const struct report *r, uint32_t funcs[UNTOLD_MAX], unsigned *percent)
{
	uint64_t all_ns = outermost_ns(r), most_ns = 0;
	uint32_t n = 0;
	for (int imports = 1; imports >= 0; imports--)
		for (uint32_t i = 0; i < r->n_funcs && n < UNTOLD_MAX; i++) {
			const struct report_func *f = &r->funcs[i];
			if ((f->id.kind == FUNC_IMPORT) != imports || !is_untold(f, all_ns))
				continue;
			funcs[n++] = i;
			if (f->self.max_ns > most_ns)
				most_ns = f->self.max_ns;
		}
	double most = all_ns ? 100.0 * (double)most_ns / (double)all_ns : 0;
	*percent = most < 100 ? (unsigned)most : 100;
	return n > 1 ? n : 0;
}

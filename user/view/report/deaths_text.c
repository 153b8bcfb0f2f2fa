// SPDX-License-Identifier: LGPL-2.1-or-later
/* deaths_text.c: see deaths_text.h. */
#include "user/view/report/deaths_text.h"

#include <string.h>

typedef struct pugmark_recording_death death_t;

enum { HITS_TOLD = 4 };

/* The function that @addr of @module is in. @func: if it is known; else PUGMARK_NONE. */
static uint32_t func_of(const struct trace_view *view, uint32_t module, uint64_t addr)
{
	const struct pugmark_plan *plan =
		module < view->n_modules ? pugmark_trace_plan(view->trace, module) : NULL;

	return plan ? pugmark_plan_func_of(plan, addr) : PUGMARK_NONE;
}

/* The ELF address of the site of @hit. False: it is in no plan of the recording. */
static bool hit_addr(const struct trace_view *view, const struct pugmark_recording_hit *hit,
		     uint64_t *addr, uint32_t *func)
{
	const struct pugmark_plan *plan =
		hit->module < view->n_modules ? pugmark_trace_plan(view->trace, hit->module) : NULL;

	if (!plan || hit->site >= plan->n_sites)
		return false;
	*addr = plan->sites[hit->site].addr;
	*func = plan->sites[hit->site].func;
	return true;
}

/* ---- text ---- */

/* MODULE:FUNCTION+OFFSET, or MODULE:ADDRESS. */
static void text_place(struct trace_view *view, struct outbuf *out, uint32_t module, uint32_t func,
		       uint64_t addr)
{
	const struct pugmark_plan *plan = pugmark_trace_plan(view->trace, module);

	outbuf_safe_text(out, pugmark_trace_module_name(view->trace, module));
	outbuf_char(out, ':');
	if (!plan || func >= plan->n_funcs || addr < plan->funcs[func].addr) {
		outbuf_format(out, "%llx", (unsigned long long)addr);
		return;
	}
	outbuf_safe_text(out, trace_view_func_name(view, module, func));
	outbuf_format(out, "+0x%llx", (unsigned long long)(addr - plan->funcs[func].addr));
}

static void text_hits(struct trace_view *view, struct outbuf *out, const death_t *d)
{
	uint64_t until_ns = d->signal ? d->at_ns : d->time_ns;

	outbuf_text(out, "; the last probes that it hit: ");
	outbuf_text(out, d->n_hits ? "" : "none");
	for (uint32_t i = 0; i < d->n_hits && i < HITS_TOLD; i++) {
		const struct pugmark_recording_hit *hit = &d->hits[d->n_hits - 1 - i];
		uint64_t addr;
		uint32_t func;

		outbuf_text(out, i ? ", " : "");
		if (hit_addr(view, hit, &addr, &func))
			text_place(view, out, hit->module, func, addr);
		else
			outbuf_format(out, "site %u of module %u", hit->site, hit->module);
		if (!view->info->times || hit->time_ns > until_ns)
			continue;
		outbuf_text(out, " (");
		outbuf_duration(out, until_ns - hit->time_ns);
		outbuf_text(out, " before)");
	}
	outbuf_char(out, '\n');
}

static void text_fault(struct trace_view *view, struct outbuf *out, const death_t *d)
{
	outbuf_text(out, ", at ");
	if (d->module < view->n_modules) {
		text_place(view, out, d->module, func_of(view, d->module, d->addr), d->addr);
	} else {
		const struct pugmark_recording_map *map =
			pugmark_recording_map_at(view->rec, d->pid, d->ip, d->at_ns);
		if (map && *map->path) {
			outbuf_safe_text(out, map->path);
			outbuf_format(out, "+0x%llx",
				      (unsigned long long)(d->ip - map->start + map->off_file));
		} else {
			outbuf_format(out, "%llx", (unsigned long long)d->ip);
		}
	}
	if (d->si_code <= 0)
		outbuf_text(out, ", by a signal that was sent to it");
	else
		outbuf_format(out, ", address %llx", (unsigned long long)d->si_addr);
}

void deaths_text(struct trace_view *view, struct outbuf *out)
{
	uint32_t n;
	const death_t *deaths = pugmark_recording_deaths(view->rec, &n);

	for (const death_t *d = deaths; d < deaths + n; d++) {
		outbuf_format(out, "died   thread %d of process %d ", d->tid, d->pid);
		outbuf_safe_text(out, d->comm);
		if (d->code & 0x7f)
			outbuf_format(out, ": SIG%s", sigabbrev_np(d->code & 0x7f));
		else
			outbuf_format(out, ": status %d", d->code >> 8 & 0xff);
		if (!d->signal)
			outbuf_text(out, ", with another thread of the process");
		else if (d->signal != (d->code & 0x7f))
			outbuf_format(out, " after its handler of SIG%s", sigabbrev_np(d->signal));
		if (d->signal)
			text_fault(view, out, d);
		text_hits(view, out, d);
	}
}

/* ---- JSON ---- */

static void json_place(struct trace_view *view, struct outbuf *out, uint32_t module, uint32_t func,
		       uint64_t addr)
{
	outbuf_json(out, "\"module\":", pugmark_trace_module_name(view->trace, module));
	outbuf_format(out, ",\"address\":\"%llx\"", (unsigned long long)addr);
	if (func == PUGMARK_NONE)
		return;
	outbuf_json(out, ",\"function\":", trace_view_func_name(view, module, func));
}

static void json_hits(struct trace_view *view, struct outbuf *out, const death_t *d)
{
	outbuf_text(out, ",\"last_probes\":[");
	for (uint32_t i = 0, told = 0; i < d->n_hits; i++) {
		const struct pugmark_recording_hit *hit = &d->hits[d->n_hits - 1 - i];
		uint64_t addr;
		uint32_t func;

		if (!hit_addr(view, hit, &addr, &func))
			continue;
		outbuf_text(out, told++ ? ",{" : "{");
		json_place(view, out, hit->module, func, addr);
		if (view->info->times)
			outbuf_format(out, ",\"time_ns\":%llu",
				      (unsigned long long)(hit->time_ns - view->start_ns));
		outbuf_char(out, '}');
	}
	outbuf_char(out, ']');
}

void deaths_json(struct trace_view *view, struct outbuf *out)
{
	uint32_t n;
	const death_t *deaths = pugmark_recording_deaths(view->rec, &n);

	outbuf_text(out, ",\"deaths\":[");
	for (const death_t *d = deaths; d < deaths + n; d++) {
		outbuf_format(out, "%s{\"tid\":%d,\"pid\":%d,\"name\":\"", d > deaths ? ",\n" : "",
			      d->tid, d->pid);
		outbuf_json_text(out, d->comm);
		outbuf_char(out, '"');
		if (d->code & 0x7f)
			outbuf_format(out, ",\"died_of\":\"SIG%s\"", sigabbrev_np(d->code & 0x7f));
		else
			outbuf_format(out, ",\"status\":%d", d->code >> 8 & 0xff);
		if (d->signal) {
			outbuf_format(out, ",\"signal\":\"SIG%s\",\"sent\":%s,\"ip\":\"%llx\"",
				      sigabbrev_np(d->signal), d->si_code > 0 ? "false" : "true",
				      (unsigned long long)d->ip);
			if (d->si_code > 0)
				outbuf_format(out, ",\"fault_address\":\"%llx\"",
					      (unsigned long long)d->si_addr);
			if (d->module < view->n_modules) {
				outbuf_char(out, ',');
				json_place(view, out, d->module, func_of(view, d->module, d->addr),
					   d->addr);
			}
		}
		json_hits(view, out, d);
		outbuf_char(out, '}');
	}
	outbuf_char(out, ']');
}

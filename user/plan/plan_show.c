// SPDX-License-Identifier: LGPL-2.1-or-later
/* plan_show.c: the numbers of a plan, and its probes one by one. */
#include "user/plan/plan_show.h"
#include "user/plan/foreign_functions.h"
#include "user/plan/unknown_code.h"

#include "user/file/packed.h"
#include "user/plan/plan_refusals.h"

#include "user/model/cfg_names.h"

#include <stdlib.h>

enum { N_KINDS = PUGMARK_WITNESS_RETURN + 1, N_CLASSES = PUGMARK_PROBE_REFUSED + 1 };

struct tally {
	uint32_t functions, call_sites; /* of the scope */
	uint32_t foreign, left_out;	/* functions that are not: as foreign code, as was asked */
	uint32_t kinds[N_KINDS], classes[N_CLASSES];
	double fewer, cheaper; /* than mode full: shares of it; 0 where full has none */
};

static struct tally tally_of(const struct planning_result *r)
{
	struct tally t = {.fewer = 0};
	for (uint32_t i = 0; i < r->plan->n_sites; i++) {
		const struct pugmark_plan_site *s = &r->plan->sites[i];
		if (s->kind < N_KINDS)
			t.kinds[s->kind]++;
		if (s->probe < N_CLASSES)
			t.classes[s->probe]++;
	}
	for (uint32_t i = 0; i < r->plan->n_funcs; i++) {
		const struct pugmark_plan_func *f = &r->plan->funcs[i];
		uint32_t func = pugmark_model_func_at(r->model, f->addr);
		if (f->flags & PUGMARK_PLAN_FUNC_OPAQUE || func == PUGMARK_NONE)
			continue;
		t.functions++;
		t.call_sites += r->model->funcs[func].n_sites;
	}
	t.foreign = foreign_functions_of(r->plan);
	if (t.functions + t.foreign < r->model->n_funcs)
		t.left_out = r->model->n_funcs - t.functions - t.foreign;
	if (r->full_sites)
		t.fewer = 1 - (double)r->plan->n_sites / r->full_sites;
	if (r->full_cost_ns > 0)
		t.cheaper = 1 - r->plan->expected_cost_ns / r->full_cost_ns;
	return t;
}

/* ---- text ---- */

static void text_counts(struct outbuf *out, const uint32_t *counts, const char *const *names,
			unsigned n)
{
	const char *comma = "";
	for (unsigned i = 0; i < n; i++)
		if (counts[i]) {
			outbuf_format(out, "%s%s %u", comma, names[i], counts[i]);
			comma = ", ";
		}
	if (!*comma)
		outbuf_text(out, "none");
	outbuf_char(out, '\n');
}

/* Which instructions are never probed, and why. */
static void text_refusals(const struct plan_shown *s)
{
	struct plan_refusals *r = malloc(sizeof(*r));
	if (!r || plan_refusals_count(s->result->model, s->result->plan, s->binary, r))
		r = (free(r), NULL);
	for (uint32_t i = 0; r && i < r->n; i++)
		outbuf_format(s->out, "%s%u: %s (Linux %s)\n",
			      i ? "                 " : "  never probed   ", r->at[i].n,
			      r->at[i].reason.why, r->at[i].reason.kernels);
	free(r);
}

/* Functions that are too large to choose for. */
static void text_whole(const struct plan_shown *s)
{
	enum { NAMED = 8 };
	const struct pugmark_plan *p = s->result->plan;
	uint32_t n = 0;
	for (uint32_t i = 0; i < p->n_funcs; i++) {
		if (!(p->funcs[i].flags & PUGMARK_PLAN_FUNC_WHOLE))
			continue;
		outbuf_text(s->out, n == 0	 ? "  marked whole   "
				    : n < NAMED	 ? ", "
				    : n == NAMED ? ", ..."
						 : "");
		if (n++ < NAMED)
			outbuf_safe_text(s->out, p->strings + p->funcs[i].name);
	}
	if (n)
		outbuf_format(s->out, ": %u too large to choose for, so each block is probed\n", n);
}

static void text_stats(const struct plan_shown *s)
{
	const struct planning_result *r = s->result;
	struct tally t = tally_of(r);
	struct outbuf *out = s->out;
	outbuf_safe_text(out, s->binary);
	outbuf_format(out, "\n  mode           %s%s\n", planning_mode_name(r->plan->mode),
		      s->options->returns_apart ? ", returns apart" : "");
	outbuf_format(out, "  functions      %u", t.functions);
	if (t.functions < r->model->n_funcs)
		outbuf_format(out, " of %u:", r->model->n_funcs);
	if (t.left_out)
		outbuf_text(out, " the scope");
	if (t.foreign)
		outbuf_format(out, "%s %u are taken for another module's", t.left_out ? ";" : "",
			      t.foreign);
	outbuf_format(out, "\n  call sites     %u\n", t.call_sites);
	outbuf_format(out, "  probes         %u, %.1f %% fewer than the %u of mode full\n",
		      r->plan->n_sites, 100 * t.fewer, r->full_sites);
	outbuf_text(out, "    by kind      ");
	text_counts(out, t.kinds, plan_kind_names, N_KINDS);
	outbuf_text(out, "    by class     ");
	text_counts(out, t.classes, cfg_probe_names, N_CLASSES);
	outbuf_text(out, "  expected cost  ");
	outbuf_duration(out, (uint64_t)r->plan->expected_cost_ns);
	outbuf_text(out, s->options->n_profiles ? " in such a run, by its counts"
						: " in a run, by estimates");
	outbuf_format(out, ": %.1f %% less than mode full\n", 100 * t.cheaper);
	outbuf_text(out, "  a probe costs  ");
	outbuf_duration(out, (uint64_t)r->costs.emulated_ns);
	outbuf_text(out, " emulated, ");
	outbuf_duration(out, (uint64_t)r->costs.stepped_ns);
	outbuf_text(out, r->costs_measured ? " stepped, as measured here\n"
					   : " stepped, as assumed (pugmark doctor measures it)\n");
	text_refusals(s);
	text_whole(s);
	if (file_is_packed(s->binary))
		outbuf_text(out, "  packed         this " PACKED_WORDS "\n");
	uint32_t unresolved = pugmark_plan_unknown_code(r->plan);
	if (unresolved)
		outbuf_format(
			out,
			"  unresolved     %u places: nothing there can be probed that tells what "
			"happens, and the trace may have gaps (--check lists them)\n",
			unresolved);
	struct unknown_code unknown = unknown_code_of(r->plan);
	if (unknown.n)
		outbuf_format(out, "  unknown code   " UNKNOWN_CODE_WORDS "\n", unknown.n,
			      unknown.n == 1 ? "" : "s", (unsigned long long)unknown.bytes,
			      (unsigned long long)unknown.first);
	outbuf_format(out, "  planned in     %.3f s%s\n", r->seconds,
		      r->cached ? ", from the cache" : "");
	if (r->plugin) {
		outbuf_text(out, "  exports        all may be called: ");
		outbuf_safe_text(out, r->plugin);
		outbuf_text(out, ", for one, is made for this file (--exports needed: those that "
				 "linked libraries name)\n");
	}
	outbuf_text(out, r->path ? "  plan           " : "  plan           not kept: ");
	outbuf_safe_text(out, r->path ? r->path : r->not_kept);
	outbuf_char(out, '\n');
}

static void text_list(const struct plan_shown *s)
{
	const struct pugmark_plan *p = s->result->plan;
	outbuf_format(s->out, "%-16s %-7s %-9s %-18s %s\n", "address", "kind", "class", "captures",
		      "function");
	for (uint32_t i = 0; i < p->n_sites; i++) {
		const struct pugmark_plan_site *site = &p->sites[i];
		char captures[64];
		struct outbuf *out = s->out;
		outbuf_format(out, "%-16llx %-7s %-9s ", (unsigned long long)site->addr,
			      plan_kind_names[site->kind], cfg_probe_names[site->probe]);
		outbuf_room(out, sizeof(captures));
		char *start = out->at;
		plan_put_captures(out, site);
		unsigned len = (unsigned)(out->at - start);
		outbuf_spaces(out, len < 19 ? 19 - len : 1);
		outbuf_safe_text(out, p->strings + p->funcs[site->func].name);
		outbuf_char(out, '\n');
	}
}

/* ---- JSON ---- */

static void json_counts(struct outbuf *out, const char *key, const uint32_t *counts,
			const char *const *names, unsigned n)
{
	outbuf_format(out, ",\"%s\":{", key);
	for (unsigned i = 0; i < n; i++)
		outbuf_format(out, "%s\"%s\":%u", i ? "," : "", names[i], counts[i]);
	outbuf_char(out, '}');
}

static void json_refusals(const struct plan_shown *s)
{
	struct plan_refusals *r = malloc(sizeof(*r));
	if (!r || plan_refusals_count(s->result->model, s->result->plan, s->binary, r))
		r = (free(r), NULL);
	outbuf_text(s->out, "\"refused\":[");
	for (uint32_t i = 0; r && i < r->n; i++)
		outbuf_format(
			s->out, "%s{\"instructions\":%u,\"reason\":\"%s\",\"kernels\":\"%s\"}",
			i ? "," : "", r->at[i].n, r->at[i].reason.why, r->at[i].reason.kernels);
	outbuf_text(s->out, "],");
	free(r);
}

static void json_whole(const struct plan_shown *s)
{
	const struct pugmark_plan *p = s->result->plan;
	const char *comma = "";
	outbuf_text(s->out, "\"whole\":[");
	for (uint32_t i = 0; i < p->n_funcs; i++) {
		if (!(p->funcs[i].flags & PUGMARK_PLAN_FUNC_WHOLE))
			continue;
		outbuf_format(s->out, "%s\"", comma);
		outbuf_json_text(s->out, p->strings + p->funcs[i].name);
		outbuf_char(s->out, '"');
		comma = ",";
	}
	outbuf_text(s->out, "],");
}

static void json_stats(const struct plan_shown *s)
{
	const struct planning_result *r = s->result;
	struct tally t = tally_of(r);
	struct outbuf *out = s->out;
	outbuf_json(out, "{\"binary\":", s->binary);
	outbuf_format(out,
		      ",\"mode\":\"%s\",\"returns_apart\":%s,\"functions\":%u,\"call_sites\":%u,"
		      "\"foreign\":%u,\"sites\":%u",
		      planning_mode_name(r->plan->mode),
		      s->options->returns_apart ? "true" : "false", t.functions, t.call_sites,
		      t.foreign, r->plan->n_sites);
	json_counts(out, "sites_by_kind", t.kinds, plan_kind_names, N_KINDS);
	json_counts(out, "sites_by_class", t.classes, cfg_probe_names, N_CLASSES);
	outbuf_format(out,
		      ",\"full_sites\":%u,\"reduction\":%.6f,\"expected_cost\":%.0f,"
		      "\"full_expected_cost\":%.0f,\"cost_reduction\":%.6f,",
		      r->full_sites, t.fewer, r->plan->expected_cost_ns, r->full_cost_ns,
		      t.cheaper);
	outbuf_format(out, "\"emulated_ns\":%.0f,\"stepped_ns\":%.0f,\"costs_measured\":%s,",
		      r->costs.emulated_ns, r->costs.stepped_ns,
		      r->costs_measured ? "true" : "false");
	json_refusals(s);
	json_whole(s);
	outbuf_format(out, "\"packed\":%s,", file_is_packed(s->binary) ? "true" : "false");
	if (r->plugin) {
		outbuf_json(out, "\"plugin\":", r->plugin);
		outbuf_text(out, ",");
	}
	struct unknown_code unknown = unknown_code_of(r->plan);
	outbuf_format(out, "\"unknown_code\":{\"places\":%u,\"bytes\":%llu},", unknown.n,
		      (unsigned long long)unknown.bytes);
	outbuf_format(out, "\"unresolved\":%u,\"seconds\":%.6f,\"cached\":%s,\"plan\":",
		      pugmark_plan_unknown_code(r->plan), r->seconds, r->cached ? "true" : "false");
	if (r->path) {
		outbuf_json(out, "", r->path);
	} else {
		outbuf_json(out, "null,\"not_kept\":", r->not_kept);
	}
	outbuf_text(out, "}\n");
}

static void json_list(const struct plan_shown *s)
{
	const struct pugmark_plan *p = s->result->plan;
	struct outbuf *out = s->out;
	outbuf_char(out, '[');
	for (uint32_t i = 0; i < p->n_sites; i++) {
		const struct pugmark_plan_site *site = &p->sites[i];
		outbuf_text(out, i ? ",\n{\"address\":\"" : "{\"address\":\"");
		outbuf_hex(out, site->addr);
		outbuf_format(out, "\",\"kind\":\"%s\",\"class\":\"%s\",\"captures\":\"",
			      plan_kind_names[site->kind], cfg_probe_names[site->probe]);
		plan_put_captures(out, site);
		outbuf_json(out, "\",\"function\":", p->strings + p->funcs[site->func].name);
		outbuf_text(out, "}");
	}
	outbuf_text(out, "]\n");
}

const struct plan_format plan_text = {"text", text_stats, text_list, plan_explain_text};
const struct plan_format plan_json = {"json", json_stats, json_list, plan_explain_json};

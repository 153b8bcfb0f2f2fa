// SPDX-License-Identifier: LGPL-2.1-or-later
/* plan_checked.c: see plan_checked.h. The proof itself is offline/prove/plan_check.h. */
#include "user/plan/plan_checked.h"

#include "offline/plan/plan_places.h"
#include "offline/prove/plan_check.h"
#include "user/plan/planning.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FAULTS_PRINTED = 20 };

static const char *const fault_names[] = {
	[FAULT_TABLES] = "tables",	 [FAULT_SILENT] = "silent", [FAULT_EVENT] = "event",
	[FAULT_FOLLOW] = "follow",	 [FAULT_JUMP] = "jump",	    [FAULT_LOOP] = "loop",
	[FAULT_RECURSION] = "recursion", [FAULT_STOP] = "stop",
};

struct printer {
	const struct pugmark_plan *plan;
	struct outbuf *out;
	bool json;
	uint32_t n; /* faults */
};

static const char *const unresolved_names[PUGMARK_UNRESOLVED_KINDS] = {
	[PUGMARK_UNRESOLVED_ENTRY] = "entry",	[PUGMARK_UNRESOLVED_LANDING] = "landing",
	[PUGMARK_UNRESOLVED_JUMP] = "jump",	[PUGMARK_UNRESOLVED_STOP] = "stop",
	[PUGMARK_UNRESOLVED_FRAME] = "frame",	[PUGMARK_UNRESOLVED_WAY] = "way",
	[PUGMARK_UNRESOLVED_ROUNDS] = "rounds", [PUGMARK_UNRESOLVED_END] = "end",
	[PUGMARK_UNRESOLVED_CODE] = "code",
};

static const char *const unresolved_texts[PUGMARK_UNRESOLVED_KINDS] = {
	[PUGMARK_UNRESOLVED_ENTRY] = "that it was entered, and from where",
	[PUGMARK_UNRESOLVED_LANDING] = "that the unwinder landed there, or in which frame",
	[PUGMARK_UNRESOLVED_JUMP] = "where the jump goes",
	[PUGMARK_UNRESOLVED_STOP] = "that what never returns was reached",
	[PUGMARK_UNRESOLVED_FRAME] = "where the frame of what is called lies",
	[PUGMARK_UNRESOLVED_WAY] = "which way is taken from there",
	[PUGMARK_UNRESOLVED_ROUNDS] = "how often the call is made",
	[PUGMARK_UNRESOLVED_END] = "whether what is called there has ended",
	[PUGMARK_UNRESOLVED_CODE] = "that it runs, if it is code: no known function has it",
};

static void put_node(const struct printer *p, uint32_t node, char text[64])
{
	const struct pugmark_plan_node *n = &p->plan->nodes[node];
	if (n->kind == PUGMARK_NODE_KIND_EXIT)
		snprintf(text, 64, "the return");
	else
		snprintf(text, 64, "0x%llx", (unsigned long long)n->addr);
}

/* What is wrong, in words. */
static void describe(const struct printer *p, const struct plan_fault *f, char text[256])
{
	char node[64] = "?", other[64] = "?", site[64] = "an entry from anywhere";
	if (f->node != PUGMARK_NONE)
		put_node(p, f->node, node);
	if (f->other != PUGMARK_NONE)
		put_node(p, f->other, other);
	if (f->site != PUGMARK_NONE)
		snprintf(site, sizeof(site), "the probe at 0x%llx",
			 (unsigned long long)p->plan->sites[f->site].addr);
	switch (f->kind) {
	case FAULT_TABLES:
		snprintf(text, 256, "%s (%s)", f->text, f->node != PUGMARK_NONE ? node : site);
		break;
	case FAULT_SILENT:
		snprintf(text, 256, "by way of %s or of %s it can return, and nothing shows which",
			 node, other);
		break;
	case FAULT_EVENT:
		snprintf(text, 256, "%s can say %s or %s", site, node, other);
		break;
	case FAULT_FOLLOW:
		snprintf(text, 256, "%s, after the call at %s, can be inside of it as well", site,
			 node);
		break;
	case FAULT_JUMP:
		snprintf(text, 256, "%s can be a jump there or another call from outside", site);
		break;
	case FAULT_LOOP:
		snprintf(text, 256, "%s can run again and again, and nothing shows how often",
			 node);
		break;
	case FAULT_RECURSION:
		snprintf(text, 256, "it can call itself before anything shows");
		break;
	case FAULT_STOP:
		snprintf(text, 256, "%s never returns, and no probe says that it was reached",
			 node);
		break;
	}
}

static void print_fault(void *ctx, const struct plan_fault *f)
{
	struct printer *p = ctx;
	char text[256];
	if (f->told) /* put_unresolved() names the place */
		return;
	describe(p, f, text);
	const char *func = "";
	if (f->func != PUGMARK_NONE)
		func = p->plan->strings + p->plan->funcs[f->func].name;
	if (p->json) {
		outbuf_format(p->out, "%s{\"kind\":\"%s\",\"function\":\"", p->n ? "," : "",
			      fault_names[f->kind]);
		outbuf_json_text(p->out, func);
		outbuf_json(p->out, "\",\"text\":", text);
		outbuf_text(p->out, "}");
	} else if (p->n < FAULTS_PRINTED) {
		outbuf_text(p->out, "  ");
		outbuf_safe_text(p->out, func);
		outbuf_text(p->out, ": ");
		outbuf_text(p->out, text);
		outbuf_char(p->out, '\n');
	}
	p->n++;
}

/* Whether each probe stands where @model has an instruction of that kind that may be probed. */
static void check_places(struct printer *p, const struct pugmark_model *model)
{
	for (uint32_t i = 0; i < p->plan->n_sites; i++) {
		enum plan_place place = plan_place_of(p->plan, i, model);
		if (place == PLACE_HOLDS)
			continue;
		print_fault(p, &(struct plan_fault){
				       .kind = FAULT_TABLES,
				       .func = p->plan->sites[i].func,
				       .node = PUGMARK_NONE,
				       .other = PUGMARK_NONE,
				       .site = i,
				       .text = place == PLACE_NO_FRAME
						       ? "a probe whose frame is not where it says"
						       : "a probe that is on no such instruction",
			       });
	}
}

/* The places at which the plan says that nothing tells what happens. */
static void put_unresolved(const struct printer *p)
{
	const struct pugmark_plan *plan = p->plan;
	uint32_t n = plan->unresolved_at ? plan->unresolved : 0;
	for (uint32_t i = 0; i < n && (p->json || i < FAULTS_PRINTED); i++) {
		const struct pugmark_plan_unresolved *u = &plan->unresolved_at[i];
		const char *func = u->kind == PUGMARK_UNRESOLVED_CODE
					   ? "code"
					   : plan->strings + plan->funcs[u->func].name;
		outbuf_text(p->out,
			    p->json ? (i ? ",{\"function\":\"" : "{\"function\":\"") : "  ");
		if (p->json)
			outbuf_json_text(p->out, func);
		else
			outbuf_safe_text(p->out, func);
		outbuf_format(p->out,
			      p->json ? "\",\"address\":\"%llx\",\"kind\":\"%s\"}"
				      : ", unresolved at 0x%llx: nothing tells %s\n",
			      (unsigned long long)u->addr,
			      p->json ? unresolved_names[u->kind] : unresolved_texts[u->kind]);
	}
	if (!p->json && n > FAULTS_PRINTED)
		outbuf_format(p->out, "  and %u more that are unresolved\n", n - FAULTS_PRINTED);
}

static void put_id(const uint8_t *id, uint32_t len, char text[65])
{
	snprintf(text, 65, "none");
	for (uint32_t i = 0; i < len && i < 32; i++)
		snprintf(text + 2 * i, 3, "%02x", id[i]);
}

static int check_origin(const char *path, const struct pugmark_plan *plan,
			const struct pugmark_model *model, struct pugmark_diag *diag)
{
	char of_plan[65], of_model[65];
	if (plan->build_id_len == model->build_id_len &&
	    !memcmp(plan->build_id, model->build_id, model->build_id_len))
		return 0;
	put_id(plan->build_id, plan->build_id_len, of_plan);
	put_id(model->build_id, model->build_id_len, of_model);
	return pugmark_diag_set(
		diag, -ESTALE, path, PUGMARK_NO_OFFSET,
		"a plan of another binary: its build-id is %s, that of %s is %s (plan again)",
		of_plan, model->path, of_model);
}

static double now_s(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static int check(struct printer *p, const char *path, const struct pugmark_model *model,
		 struct pugmark_diag *diag)
{
	struct plan_check_counts counts;
	double start = now_s();
	struct outbuf *out = p->out;
	if (p->json) {
		outbuf_json(out, "{\"plan\":", path);
		outbuf_format(out, ",\"mode\":\"%s\",\"places\":[",
			      planning_mode_name(p->plan->mode));
	}
	check_places(p, model);
	int err = plan_check(p->plan, print_fault, p, &counts);
	if (err)
		return pugmark_diag_set(diag, err, path, PUGMARK_NO_OFFSET, "cannot check: %s",
					strerror(-err));
	if (p->json) {
		outbuf_text(out, "],\"unresolved_places\":[");
		put_unresolved(p);
		outbuf_format(out,
			      "],\"faults\":%u,\"unresolved\":%u,\"probes\":%u,\"decisions\":%llu,"
			      "\"calls\":%llu,"
			      "\"facts\":%llu,\"seconds\":%.6f}\n",
			      p->n, p->plan->unresolved, p->plan->n_sites,
			      (unsigned long long)counts.decisions,
			      (unsigned long long)counts.calls, (unsigned long long)counts.facts,
			      now_s() - start);
		return p->n ? -EILSEQ : 0;
	}
	if (p->n > FAULTS_PRINTED)
		outbuf_format(out, "  and %u more\n", p->n - FAULTS_PRINTED);
	put_unresolved(p);
	outbuf_safe_text(out, path);
	outbuf_format(out, ": mode %s, %u probes, %llu decisions, %llu calls: ",
		      planning_mode_name(p->plan->mode), p->plan->n_sites,
		      (unsigned long long)counts.decisions, (unsigned long long)counts.calls);
	if (p->n)
		outbuf_format(out, "%u faults", p->n);
	else
		outbuf_text(out, "every log can be read in one way only");
	if (p->plan->unresolved)
		outbuf_format(out,
			      ", but for %u unresolved place%s: what is not told there is a gap",
			      p->plan->unresolved, p->plan->unresolved == 1 ? "" : "s");
	outbuf_format(out, " (%.2f s)\n", now_s() - start);
	return p->n ? -EILSEQ : 0;
}

int plan_checked(const struct pugmark_plan *plan, const char *path,
		 const struct pugmark_model *model, bool json, struct outbuf *out,
		 struct pugmark_diag *diag)
{
	struct printer p = {.plan = plan, .out = out, .json = json};
	int err = check_origin(path, plan, model, diag);
	return err ? err : check(&p, path, model, diag);
}

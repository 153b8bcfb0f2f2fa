// SPDX-License-Identifier: LGPL-2.1-or-later
/* plan_explain_json.c: one function of a plan as JSON. */
#include "user/plan/plan_explain.h"
#include "user/model/cfg_names.h"

#include <errno.h>

static void json_node(const struct explainer *x, uint32_t index)
{
	const struct pugmark_plan_node *node = &x->plan->nodes[index];
	struct outbuf *out = x->out;
	outbuf_format(out, "{\"node\":%u,\"address\":\"%llx\",\"kind\":\"%s\"", index,
		      (unsigned long long)node->addr, explainer_kind_of(node));
	if (*explainer_callee_of(x, node)) {
		outbuf_json(out, ",\"callee\":", explainer_callee_of(x, node));
	}
	outbuf_text(out, ",\"next\":[");
	for (uint32_t k = 0; k < explainer_n_ways(node); k++)
		outbuf_format(out, "%s%u", k ? "," : "",
			      explainer_number_of(x, explainer_way(x, node, k)));
	outbuf_char(out, ']');
	if (node->site != PUGMARK_NONE) {
		const struct pugmark_plan_site *site = &x->plan->sites[node->site];
		outbuf_format(out,
			      ",\"probe\":{\"address\":\"%llx\",\"kind\":\"%s\",\"class\":\"%s\","
			      "\"captures\":\"",
			      (unsigned long long)site->addr, plan_kind_names[site->kind],
			      cfg_probe_names[site->probe]);
		plan_put_captures(out, site);
		outbuf_text(out, "\",\"why\":\"");
		explainer_put_reasons(x, index);
		outbuf_text(out, "\"}");
	}
	outbuf_char(out, '}');
}

static void json_term(const struct explainer *x, const struct first_entry *t)
{
	struct outbuf *out = x->out;
	if (t->site == FIRST_ANY_ENTRY)
		outbuf_text(out, "{\"site\":null");
	else
		outbuf_format(out, "{\"site\":\"%llx\"",
			      (unsigned long long)x->plan->sites[t->site].addr);
	if (t->depth == FIRST_DEPTH_UNKNOWN)
		outbuf_text(out, ",\"depth\":null");
	else
		outbuf_format(out, ",\"depth\":%d", t->depth);
	if (t->ret != FIRST_SELF)
		outbuf_format(out, ",\"called_at\":\"%llx\"",
			      (unsigned long long)x->plan->nodes[t->ret].addr);
	outbuf_char(out, '}');
}

static int json_decision(const struct explainer *x, uint32_t number)
{
	const struct pugmark_plan_decision *d = &x->plan->decisions[x->decisions[number]];
	const struct decision_table *t = parse_tables_at(x->tables, x->decisions[number]);
	uint32_t told[N_TOLD] = {0};
	struct outbuf *out = x->out;
	const char *comma = "";
	if (!t)
		return -ENOMEM;
	outbuf_format(out, "{\"decision\":%u,\"bounded\":%s,\"told_apart_by\":[", number,
		      t->top ? "false" : "true");
	if (d->n > 1 && !t->top)
		explainer_compare(x, t, told);
	for (int i = 0; i < N_TOLD; i++)
		if (told[i]) {
			outbuf_format(out, "%s\"%s\"", comma, explainer_told_names[i]);
			comma = ",";
		}
	outbuf_text(out, "],\"alternatives\":[");
	for (uint32_t i = 0; i < d->n; i++) {
		uint32_t alt = x->plan->alternatives[d->first + i];
		outbuf_format(out, "%s{\"node\":", i ? "," : "");
		if (alt)
			outbuf_dec(out, alt);
		else
			outbuf_text(out, "\"exit\"");
		outbuf_format(out, ",\"silent\":%s,\"first\":[",
			      t->empty == alt ? "true" : "false");
		comma = "";
		for (uint32_t k = 0; k < t->n; k++)
			if (t->entries[k].alt == alt) {
				outbuf_text(out, comma);
				json_term(x, &t->entries[k]);
				comma = ",";
			}
		outbuf_text(out, "]}");
	}
	outbuf_text(out, "]}");
	return 0;
}

int plan_explain_json(const struct plan_shown *s, uint32_t func)
{
	struct explainer x;
	int err = explainer_init(&x, s, func);
	if (!err) {
		outbuf_json(x.out, "{\"function\":", x.plan->strings + x.func->name);
		outbuf_format(x.out, ",\"address\":\"%llx\",\"entered\":%s,\"nodes\":[\n",
			      (unsigned long long)x.func->addr,
			      x.func->flags & PUGMARK_PLAN_FUNC_ENTERED ? "true" : "false");
		for (uint32_t i = 0; i < x.func->n_nodes; i++) {
			outbuf_text(x.out, i ? ",\n" : "");
			json_node(&x, x.func->node + i);
		}
		outbuf_text(x.out, "],\"decisions\":[\n");
	}
	for (uint32_t i = 0; i < x.n && !err; i++) {
		outbuf_text(x.out, i ? ",\n" : "");
		err = json_decision(&x, i);
	}
	outbuf_text(x.out, err ? "" : "]}\n");
	explainer_deinit(&x);
	return err;
}

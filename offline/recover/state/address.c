// SPDX-License-Identifier: LGPL-2.1-or-later
/* address.c: what a run-time address is of, in any of the traced modules. */
#include "offline/recover/state/state.h"

static uint32_t return_in(const struct parser *p, uint16_t module, uint64_t ret)
{
	const struct pugmark_plan *plan = p->plans[module];
	uint64_t bias;
	if (!module_bias(p, module, &bias) || ret - bias < plan->text_addr ||
	    ret - bias > plan->text_end)
		return PUGMARK_NONE;
	return parse_tables_return_to(p->tables[module], ret - bias);
}

uint32_t parser_return_to(const struct parser *p, uint16_t first, uint64_t ret, uint16_t *module)
{
	uint32_t node = return_in(p, first, ret);
	*module = first;
	for (uint16_t m = 0; node == PUGMARK_NONE && m < p->n_modules; m++) {
		node = return_in(p, m, ret);
		*module = m;
	}
	return node;
}

uint32_t parser_call_before(const struct parser *p, uint16_t first, uint64_t ret, uint16_t *module)
{
	uint32_t node = parser_return_to(p, first, ret, module);
	bool opaque =
		node != PUGMARK_NONE && node_at(p, *module, node)->kind == PUGMARK_NODE_KIND_OPAQUE;
	return opaque ? PUGMARK_NONE : node;
}

uint32_t parser_function_at(const struct parser *p, uint64_t addr, uint16_t *module)
{
	uint32_t func = PUGMARK_NONE;
	uint64_t bias;
	if (module_bias(p, *module, &bias))
		func = pugmark_plan_func_at(p->plans[*module], addr - bias);
	for (uint16_t m = 0; func == PUGMARK_NONE && m < p->n_modules; m++) {
		if (!module_bias(p, m, &bias))
			continue;
		func = pugmark_plan_func_at(p->plans[m], addr - bias);
		*module = m;
	}
	return func;
}

bool parser_in_unknown_code(const struct parser *p, uint64_t addr, uint16_t *module,
			    uint64_t *addr_elf)
{
	uint64_t bias;
	for (uint16_t m = 0; m < p->n_modules; m++)
		if (module_bias(p, m, &bias) &&
		    pugmark_plan_in_unknown_code(p->plans[m], addr - bias)) {
			*module = m;
			*addr_elf = addr - bias;
			return true;
		}
	return false;
}

static void at_point(struct place *at, const struct pugmark_plan_point *point, uint64_t sp,
		     uint64_t bp)
{
	enum pugmark_cfa_reg reg = point->cfa & 3;
	at->func = point->func;
	at->next = point->next;
	if (reg == PUGMARK_CFA_SP)
		at->cfa = sp + (point->cfa >> 2);
	else if (reg == PUGMARK_CFA_BP && bp)
		at->cfa = bp + (point->cfa >> 2);
}

bool parser_place_at(const struct parser *p, uint64_t sp, uint64_t ip, uint64_t bp,
		     struct place *at)
{
	*at = (struct place){.func = PUGMARK_NONE, .next = PUGMARK_NONE};
	for (uint16_t m = 0; m < p->n_modules; m++) {
		const struct pugmark_plan *plan = p->plans[m];
		uint64_t bias;
		if (!module_bias(p, m, &bias) || ip - bias < plan->text_addr ||
		    ip - bias >= plan->text_end)
			continue;
		uint64_t off = ip - bias - plan->text_addr;
		uint32_t lo = 0, hi = plan->n_points;
		while (lo < hi) {
			uint32_t mid = (lo + hi) / 2;
			if (plan->points[mid].off <= off)
				lo = mid + 1;
			else
				hi = mid;
		}
		at->module = m;
		if (lo)
			at_point(at, &plan->points[lo - 1], sp, bp);
		return plan->n_points > 0;
	}
	return true;
}

static bool has(const struct pugmark_plan *plan, uint32_t decision, uint32_t node)
{
	const struct pugmark_plan_decision *d = &plan->decisions[decision];
	for (uint32_t i = d->first; i < d->first + d->n; i++)
		if (plan->alternatives[i] == node)
			return true;
	return false;
}

static bool has_all(const struct pugmark_plan *plan, uint32_t decision, uint32_t of)
{
	const struct pugmark_plan_decision *d = &plan->decisions[of];
	for (uint32_t i = d->first; i < d->first + d->n; i++)
		if (!has(plan, decision, plan->alternatives[i]))
			return false;
	return true;
}

/* Whether @decision is one of function @func by which @node can be next. */
static bool leads_to(const struct pugmark_plan *plan, uint32_t decision, uint32_t func,
		     uint32_t node)
{
	const struct pugmark_plan_decision *d = &plan->decisions[decision];
	if (!has(plan, decision, node))
		return false;
	for (uint32_t i = d->first; i < d->first + d->n; i++)
		if (plan->alternatives[i] && plan->nodes[plan->alternatives[i]].func != func)
			return false;
	return true;
}

bool parser_is_entry(const struct parser *p, const struct place *at)
{
	const struct pugmark_plan *plan = p->plans[at->module];
	if (at->func == PUGMARK_NONE ||
	    !(plan->funcs[at->func].flags & PUGMARK_PLAN_FUNC_ENTERED) ||
	    plan->funcs[at->func].entry == PUGMARK_NONE)
		return false;
	const struct pugmark_plan_decision *d = &plan->decisions[plan->funcs[at->func].entry];
	return d->n == 1 && plan->alternatives[d->first] == at->next;
}

uint32_t parser_decision_before(const struct pugmark_plan *plan, uint32_t func, uint32_t node)
{
	uint32_t widest = PUGMARK_NONE;
	for (uint32_t d = 0; d < plan->n_decisions; d++)
		if ((widest == PUGMARK_NONE || plan->decisions[d].n > plan->decisions[widest].n) &&
		    leads_to(plan, d, func, node))
			widest = d;
	for (uint32_t d = 0; d < plan->n_decisions; d++)
		if (leads_to(plan, d, func, node) && !has_all(plan, widest, d))
			return PUGMARK_NONE;
	return widest;
}

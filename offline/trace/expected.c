// SPDX-License-Identifier: LGPL-2.1-or-later
/* expected.c: which events would have fitted where one did not, by the tables that the parser asks.
 */
#include "offline/recover/tables/parse_tables.h"

#include <pugmark/certificate.h>

#include <errno.h>
#include <stdlib.h>

struct pugmark_expectations {
	const struct pugmark_trace *trace;
	struct parse_tables **tables; /* one a module; NULL: not asked for yet */
	uint32_t n;
};

int pugmark_expectations_new(const struct pugmark_trace *trace, struct pugmark_expectations **out)
{
	struct pugmark_expectations *x = calloc(1, sizeof(*x));

	if (!x)
		return -ENOMEM;
	x->trace = trace;
	while (pugmark_trace_plan(trace, x->n))
		x->n++;
	x->tables = calloc(x->n + 1, sizeof(*x->tables));
	if (!x->tables) {
		free(x);
		return -ENOMEM;
	}
	*out = x;
	return 0;
}

void pugmark_expectations_free(struct pugmark_expectations *x)
{
	for (uint32_t i = 0; x && i < x->n; i++)
		if (x->tables[i])
			parse_tables_free(x->tables[i]);
	if (x)
		free(x->tables);
	free(x);
}

/* The table of the decision that was next; NULL: none was, or memory is out. */
static const struct decision_table *table_of(struct pugmark_expectations *x,
					     const struct pugmark_gap *gap)
{
	const struct pugmark_plan *plan = pugmark_trace_plan(x->trace, gap->was_module);

	if (gap->was_module >= x->n || gap->was.func == PUGMARK_NONE ||
	    gap->was.decision >= plan->n_decisions)
		return NULL;
	struct parse_tables **tables = &x->tables[gap->was_module];
	if (!*tables && parse_tables_new(plan, tables))
		return NULL;
	return parse_tables_at(*tables, gap->was.decision);
}

struct pugmark_expected pugmark_expectations_at(struct pugmark_expectations *x,
						const struct pugmark_gap *gap)
{
	const struct decision_table *t = table_of(x, gap);
	struct pugmark_expected e = {0};

	if (!t)
		return e;
	e.any = t->top;
	e.end = t->empty != PUGMARK_NONE;
	for (uint32_t i = 0; i < t->n; i++) {
		uint32_t site = t->entries[i].site;

		if (site == FIRST_ANY_ENTRY) {
			e.entry = true;
		} else if (i && t->entries[i - 1].site == site) {
			continue;
		} else if (e.n < PUGMARK_EXPECTED_MAX) {
			const struct pugmark_plan *plan =
				pugmark_trace_plan(x->trace, gap->was_module);
			e.addr[e.n] = plan->sites[site].addr;
			e.func[e.n++] = plan->sites[site].func;
		} else {
			e.more++;
		}
	}
	return e;
}

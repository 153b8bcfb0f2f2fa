// SPDX-License-Identifier: LGPL-2.1-or-later
/* path_reads.c: see path_reads.h. */
#include "offline/wet/reads/path_reads.h"

#include "offline/base/vec.h"

#include <stdlib.h>

/* While statements are looked at in order. */
struct looking {
	uint16_t stmt[WET_UNITS]; /* 1 + the statement that has written the unit; 0: none here */
	VEC(struct wet_outer) outer;
};

struct dep_units wet_insn_reads(const struct dep_insn *d)
{
	struct dep_units u = d->data;
	dep_units_add(&u, &d->address);
	dep_units_add(&u, &d->moves_by);
	return u;
}

struct dep_units wet_insn_writes(const struct dep_insn *d)
{
	struct dep_units u = d->writes;
	dep_units_add(&u, &d->moved);
	return u;
}

static inline bool has(const struct dep_units *units, unsigned u)
{
	return units->w[u / 64] >> u % 64 & 1;
}

/* Statement @s reads its registers, and writes others. */
static bool look(struct looking *l, struct wet_reads *r, const struct dep_insn *d, uint16_t s)
{
	struct dep_units reads = wet_insn_reads(d), writes = wet_insn_writes(d);
	uint16_t before = 0;
	for (unsigned u = 0; u < WET_UNITS; u++) {
		if (!has(&reads, u))
			continue;
		if (l->stmt[u]) {
			r->n_inner += l->stmt[u] != before;
			before = l->stmt[u];
		} else if (!VEC_PUSH(&l->outer, (struct wet_outer){s, u, 1, 0})) {
			return false;
		}
	}
	for (unsigned u = 0; u < WET_UNITS; u++)
		if (has(&writes, u))
			l->stmt[u] = s + 1;
	return true;
}

static void add_access(struct wet_reads *r, const struct wet_path_insn *p, uint16_t s)
{
	const struct dep_insn *d = p->dep;
	if (!d->n_loads && !d->n_stores && !d->string && !d->direction)
		return;
	struct wet_access a = {.stmt = s,
			       .n_loads = d->n_loads,
			       .n_stores = d->n_stores,
			       .string = d->string,
			       .direction = d->direction,
			       .addresses = r->addresses[s],
			       .loads = {d->loads[0], d->loads[1]},
			       .stores = {d->stores[0], d->stores[1]}};
	a.size = d->string && p->insn->n_mem ? p->insn->mem[0].len : 1;
	for (unsigned i = 0; d->string && i < p->insn->n_mem; i++)
		a.writes |= p->insn->mem[i].write;
	r->accesses[r->n_accesses++] = a;
	r->n_loads += d->n_loads;
}

/* Of the outer registers, from which on how many are alike. */
static void find_runs(struct wet_outer *outer, uint32_t n)
{
	for (uint32_t i = n; i-- > 1;)
		if (outer[i - 1].stmt == outer[i].stmt && outer[i - 1].unit + 1 == outer[i].unit)
			outer[i - 1].run = outer[i].run + 1;
}

static void list_last(struct wet_reads *r, const uint16_t *stmt)
{
	for (unsigned u = 0; u < WET_UNITS; u++) {
		struct wet_last *last = r->n_last ? &r->last[r->n_last - 1] : NULL;
		if (!stmt[u])
			continue;
		if (last && last->stmt == stmt[u] - 1 && last->unit + last->run == u)
			last->run++;
		else
			r->last[r->n_last++] = (struct wet_last){u, 1, stmt[u] - 1};
	}
}

bool wet_reads_make(const struct wet_path_insn *insns, uint32_t n, struct wet_reads *out)
{
	struct looking *l = calloc(1, sizeof(*l));
	*out = (struct wet_reads){.n_stmts = n};
	out->accesses = malloc((n + (size_t)1) * sizeof(*out->accesses));
	out->addresses = malloc((n + (size_t)1) * sizeof(*out->addresses));
	out->last = malloc(WET_UNITS * sizeof(*out->last));
	bool fine = l && out->accesses && out->addresses && out->last;
	if (fine)
		out->addresses[0] = 0;
	for (uint32_t s = 0; fine && s < n; s++) {
		out->addresses[s + 1] = out->addresses[s] + insns[s].dep->n_addresses;
		add_access(out, &insns[s], s);
		fine = look(l, out, insns[s].dep, s);
	}
	if (fine) {
		out->outer = l->outer.at;
		out->n_outer = l->outer.n;
		l->outer.at = NULL;
		find_runs(out->outer, out->n_outer);
		list_last(out, l->stmt);
	} else {
		wet_reads_deinit(out);
	}
	if (l)
		free(l->outer.at);
	free(l);
	return fine;
}

void wet_reads_deinit(struct wet_reads *r)
{
	free(r->outer);
	free(r->accesses);
	free(r->addresses);
	free(r->last);
	*r = (struct wet_reads){0};
}

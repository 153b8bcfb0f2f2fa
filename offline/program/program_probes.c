// SPDX-License-Identifier: LGPL-2.1-or-later
/* program_probes.c: where a block of a program can be probed, and at what cost. */
#include "offline/program/program_maker.h"

#include "offline/code/stack_switch.h"

/* Of what is patched the price of its probe decides only between equals: a process that cannot be
 * patched pays it. */
#define PROBE_SHARE 1e-4f

struct prog_probe maker_probe(const struct maker *m, const struct pugmark_insn *insn)
{
	const struct probe_costs *costs = &m->options->costs;
	struct prog_probe probe = {.off = insn->off, .cost_ns = INFINITY};
	if (insn->probe == PUGMARK_PROBE_EMULATED)
		probe.cost_ns = costs->emulated_ns;
	else if (insn->probe == PUGMARK_PROBE_STEPPED)
		probe.cost_ns = costs->stepped_ns;
	else
		return probe;
	if (m->options->patchable && m->options->patchable[insn - m->model->insns])
		probe.cost_ns = costs->patched_ns + PROBE_SHARE * probe.cost_ns;
	probe.cfa_known = pugmark_model_cfa_at(m->model, m->model->text_addr + insn->off).reg !=
			  PUGMARK_CFA_UNKNOWN;
	return probe;
}

struct prog_probe maker_cheapest(const struct maker *m, const struct pugmark_block *block,
				 uint32_t n)
{
	struct prog_probe best = MAKER_NO_PROBE;
	for (uint32_t i = 0; i < n; i++) {
		struct prog_probe probe = maker_probe(m, &m->model->insns[block->insn + i]);
		bool better = probe.cost_ns < best.cost_ns ||
			      (probe.cost_ns == best.cost_ns && probe.cfa_known && !best.cfa_known);
		if (better && isfinite(probe.cost_ns))
			best = probe;
	}
	return best;
}

struct prog_probe maker_cheapest_in_frame(const struct maker *m, const struct pugmark_block *block,
					  uint32_t n)
{
	struct prog_probe best = maker_cheapest(m, block, n);
	float least = INFINITY;
	if (best.cfa_known)
		return best;
	for (uint32_t i = 0; i < n; i++) {
		struct prog_probe probe = maker_probe(m, &m->model->insns[block->insn + i]);
		if (!probe.cfa_known || !(probe.cost_ns < least))
			continue;
		least = probe.cost_ns;
		best = probe;
	}
	return best;
}

uint32_t maker_count_on_stack(const struct maker *m, const struct pugmark_block *block)
{
	uint32_t n = 0;
	for (; n < block->n_insns; n++) {
		const struct pugmark_insn *insn = &m->model->insns[block->insn + n];
		size_t len;
		const uint8_t *bytes =
			pugmark_model_bytes(m->model, m->model->text_addr + insn->off, &len);
		if (!bytes || len < insn->len)
			return n;
		if (stack_switch_may_load(bytes, insn->len))
			return n + 1; /* a probe on it is hit before it is executed */
	}
	return n;
}

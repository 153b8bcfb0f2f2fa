// SPDX-License-Identifier: LGPL-2.1-or-later
/* suspects.c: see suspects.h. */
#include "offline/match/suspects.h"

#include <stdlib.h>

static const float never_common = 8, follows_from_another = 0.5F;

static int by_suspicion(const void *x, const void *y)
{
	const struct match_suspect *a = x, *b = y;
	if (a->suspicion != b->suspicion)
		return a->suspicion > b->suspicion ? -1 : 1;
	if (a->when != b->when)
		return a->when < b->when ? -1 : 1;
	return (a->insn > b->insn) - (a->insn < b->insn);
}

/* Whether an operand was made by what was strange already. */
static bool may_follow(const struct match_side *b, const struct match_parting *p,
		       const uint32_t *left, uint32_t insn)
{
	const struct match_insn *m = &b->insns[insn];
	for (unsigned i = 0; i < m->n_makers; i++) {
		uint32_t maker = m->makers[i] - 1;
		if (!(m->makers[i] & MATCH_MAKER_CALL) && left[maker] != UINT32_MAX &&
		    p->strange[maker] <= left[insn])
			return true;
	}
	return false;
}

uint32_t match_suspects(const struct match_side *b, const struct match_parting *p,
			const uint32_t *left, struct match_suspect *out)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < b->n; i++) {
		if (left[i] == UINT32_MAX)
			continue;
		struct match_suspect s = {i, left[i], match_parting_follows(p, left[i])};
		s.suspicion *= p->common[i] ? 1 : never_common;
		s.suspicion *= may_follow(b, p, left, i) ? follows_from_another : 1;
		out[n++] = s;
	}
	if (n)
		qsort(out, n, sizeof(*out), by_suspicion);
	return n;
}

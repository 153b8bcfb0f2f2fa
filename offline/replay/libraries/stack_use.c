// SPDX-License-Identifier: LGPL-2.1-or-later
/* stack_use.c: see stack_use.h. Of an instruction that has rsp as an operand, or as part of one,
 * any is taken for one that writes there, but for the return. */
#include "offline/replay/libraries/stack_use.h"

#include <stdlib.h>

/* The largest string function of glibc 2.41 has some 800 instructions. */
enum { INSNS = 1 << 12 };

struct walk {
	uint64_t seen[2 * INSNS]; /* a hash set; 0: free */
	uint64_t todo[INSNS];
	unsigned n_seen, n_todo;
};

/* False: there is no room. */
static bool go(struct walk *w, uint64_t ip)
{
	size_t i = ip * 0x9e3779b97f4a7c15 >> 20 & (2 * INSNS - 1);
	while (w->seen[i] && w->seen[i] != ip)
		i = (i + 1) & (2 * INSNS - 1);
	if (w->seen[i])
		return true;
	if (w->n_seen == INSNS)
		return false;
	w->seen[i] = ip;
	w->todo[w->n_todo++] = ip;
	w->n_seen++;
	return true;
}

static bool has_stack(const struct value_insn *insn)
{
	for (int i = 0; i < insn->n_access; i++)
		if (insn->access[i].kind == VALUE_ACCESS_GPR && insn->access[i].reg == VALUE_RSP)
			return true;
	return false;
}

/* Goes on behind @insn; false: the stack may be written, or nothing tells. */
static bool follow(struct walk *w, const struct value_insn *insn)
{
	const uint64_t next = insn->ip + insn->len;
	switch (insn->kind) {
	case VALUE_INSN_RET:
		return true;
	case VALUE_INSN_PLAIN:
	case VALUE_INSN_STRING:
	case VALUE_INSN_CHANCE:
		return !has_stack(insn) && go(w, next);
	case VALUE_INSN_JUMP:
		return go(w, insn->target);
	case VALUE_INSN_JCC:
		return go(w, insn->target) && go(w, next);
	default:
		return false;
	}
}

bool value_may_use_stack(struct value_machine *m, uint64_t ip)
{
	struct walk *w = calloc(1, sizeof(*w));
	bool leaves = w && go(w, ip);
	while (leaves && w->n_todo) {
		const struct value_insn *insn = value_machine_insn(m, w->todo[--w->n_todo]);
		leaves = insn && follow(w, insn);
	}
	free(w);
	return !leaves;
}

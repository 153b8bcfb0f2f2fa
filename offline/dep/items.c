// SPDX-License-Identifier: LGPL-2.1-or-later
/* items.c: what the items of a trace say of themselves. */
#include "offline/base/search.h"
#include "offline/dep/build_impl.h"

const struct dep_mark *dep_trace_mark(const struct dep_trace *t, uint64_t count)
{
	uint64_t behind = SEARCH_FIRST_NOT(0, t->n_marks, i, t->marks[i].count <= count);
	return behind ? &t->marks[behind - 1] : NULL;
}

struct dep_units dep_event_reads(const struct dep_event *e)
{
	struct dep_units u = {{0}};
	for (unsigned i = 0; i < DEP_ARGS; i++)
		if (e->regs >> i & 1)
			u.w[DEP_WORD_GPR] |= (uint64_t)15 << 4 * dep_args[i];
	for (unsigned i = 0; i < 8; i++)
		if (e->regs >> (8 + i) & 1)
			u.w[DEP_WORD_VEC] |= (uint64_t)7 << 4 * i;
	return u;
}

struct dep_units dep_event_writes(const struct dep_event *e)
{
	static const uint8_t kept[] = {VALUE_RBX, VALUE_RSP, VALUE_RBP, 12, 13, 14, 15};
	const struct dep_units all = {{UINT64_MAX, UINT64_MAX, UINT64_MAX}};
	const struct dep_units bound = {{(uint64_t)0xff << 4 * 10 /* r10, r11 */, 0, 0x3f}};
	struct dep_units call = {{UINT64_MAX, UINT64_MAX, 0x3f}};
	for (unsigned i = 0; i < sizeof(kept); i++)
		call.w[DEP_WORD_GPR] &= ~((uint64_t)15 << 4 * kept[i]);
	switch (e->kind) {
	case DEP_CALL:
		return call;
	case DEP_ENTER:
		return all;
	case DEP_BOUND:
		return bound;
	case DEP_KERNEL:
		if (e->flags & DEP_SETS_RAX)
			return dep_units_gpr(VALUE_RAX, 0, 8);
		/* fallthrough */
	default:
		return (struct dep_units){{0}};
	}
}

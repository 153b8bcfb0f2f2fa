// SPDX-License-Identifier: LGPL-2.1-or-later
/* bound.c: the first call through a lazy PLT stub. The stub leads to the dynamic linker, which
 * looks the function up and jumps to it, with the arguments that the call has. */
#include "offline/dep/build_impl.h"

const uint8_t dep_args[DEP_ARGS] = {VALUE_RDI, VALUE_RSI, VALUE_RDX, VALUE_RCX, 8, 9};

/* The linker finds two words above the return address. */
void dep_read_return(struct dep_build *b, struct dep_pending *p)
{
	enum { PUSHED = 16 };
	uint64_t words[3] = {0};
	if (value_memory_read(b->memory, p->sp, words, sizeof(words), NULL))
		return;
	bool lazy = !value_machine_has_code(b->machine, words[0], VALUE_SIDE_TRACED) &&
		    value_machine_has_code(b->machine, words[2], VALUE_SIDE_TRACED) &&
		    words[1] <= UINT32_MAX;
	p->ret = lazy ? words[2] : words[0];
	p->bound = !lazy;
	p->sp += lazy ? PUSHED : 0;
}

bool dep_call_bound(struct dep_build *b)
{
	const struct value_state *s = value_machine_state(b->machine);
	const struct dep_pending *p = b->n_calls ? &b->calls[b->n_calls - 1] : NULL;
	if (!p || p->bound || p->spans || p->sp != s->gpr[VALUE_RSP])
		return false;
	for (unsigned i = 0; i < DEP_ARGS; i++)
		if (p->args[i] != s->gpr[dep_args[i]])
			return false;
	b->n_calls--; /* it returns from traced code */
	dep_add_event(
		b, &(struct dep_event){.kind = DEP_BOUND, .flags = DEP_READS_KNOWN, .ip = p->ret});
	return true;
}

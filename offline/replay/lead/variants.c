// SPDX-License-Identifier: LGPL-2.1-or-later
/* variants.c: a function that has variants for several kinds of processors is executed as the one
 * for any (libraries.h); what it leaves in registers is that of the one that ran (residue.h). */
#include "offline/replay/lead/variants.h"

#include "offline/replay/lead/blind.h"
#include "offline/replay/lead/calls.h"
#include "offline/replay/libraries/libraries.h"
#include "offline/replay/libraries/residue.h"
#include "offline/replay/models/models.h"
#include "offline/replay/run/run.h"

/* Another variant of a function is executed than the one that ran. It ends at an address that
 * nothing else has, where what only the other one would have left in registers is forgotten. */
int value_run_begin_variant(struct value_run *run, const struct library_function *f)
{
	struct value_state *s = value_machine_state(run->machine);
	uint64_t end = VALUE_VARIANT_END;
	if (run->n_variants == VARIANTS)
		return value_run_go_blind(run, "too many functions with variants in each other");
	struct variant *v = &run->variants[run->n_variants++];
	value_residue_begin(&v->call, run->machine, s->rip);
	v->sp = s->gpr[VALUE_RSP];
	v->compares = f->compares;
	v->stack = value_libraries_stack(&run->libraries, run->machine, f, true);
	if (value_memory_read(&run->memory, v->sp, &v->ret, 8, NULL) ||
	    value_memory_write(&run->memory, v->sp, &end, 8, VALUE_EXACT))
		return value_run_go_blind(run, "no stack");
	s->rip = f->plain;
	return VALUE_REPLAY_LIMIT;
}

int value_run_end_variant(struct value_run *run)
{
	struct value_machine *m = run->machine;
	const struct variant *v = &run->variants[--run->n_variants];
	uint64_t rax = value_machine_state(m)->gpr[VALUE_RAX];
	uint8_t quality = value_quality(m, 1 << VALUE_RAX);
	if (value_machine_state(m)->gpr[VALUE_RSP] != v->sp + 8)
		return value_run_go_blind(run, "a variant that does not return");
	value_memory_write(&run->memory, v->sp, &v->ret, 8, VALUE_EXACT);
	import_clobber(m);
	if (v->stack)
		value_run_dead_stack(run, v->sp);
	/* Which number it is a record says, if there is one. */
	if (v->compares && rax && quality == VALUE_EXACT)
		quality = VALUE_ASSUMED;
	value_set_gpr(m, VALUE_RAX, rax, quality);
	value_residue_end(&run->residues, m, &v->call);
	value_machine_state(m)->rip = v->ret;
	return VALUE_REPLAY_LIMIT;
}

bool value_run_recall(void *ctx, unsigned reg, uint64_t said, uint64_t *value)
{
	struct value_run *run = ctx;
	if (!run->walker)
		run->walker = value_residue_walker_new(&run->memory);
	return run->walker && value_residue_recall(&run->residues, run->walker, reg, said, value);
}

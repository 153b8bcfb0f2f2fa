// SPDX-License-Identifier: LGPL-2.1-or-later
/* judge.c: whether the evaluator has semantics for an instruction, without running anything. */
#include "offline/eval/machine_impl.h"

#include <stdlib.h>

struct value_judge {
	struct value_memory memory;
	struct value_machine *machine;
};

struct value_judge *value_judge_new(void)
{
	struct value_judge *judge = calloc(1, sizeof(*judge));
	if (!judge)
		return NULL;
	if (value_memory_init(&judge->memory, NULL, NULL)) {
		free(judge);
		return NULL;
	}
	judge->machine = value_machine_new(&judge->memory);
	if (!judge->machine) {
		value_memory_deinit(&judge->memory);
		free(judge);
		return NULL;
	}
	return judge;
}

void value_judge_free(struct value_judge *judge)
{
	if (!judge)
		return;
	value_machine_free(judge->machine);
	value_memory_deinit(&judge->memory);
	free(judge);
}

bool value_judge_insn(struct value_judge *judge, const ZydisDecodedInstruction *zi,
		      const ZydisDecodedOperand *ops, const uint8_t *bytes)
{
	struct value_access access[VALUE_ACCESSES];
	struct value_op out[PER_INSN];
	struct value_insn insn;
	value_insn_describe(zi, ops, 0x400000, access, &insn);
	return value_lower(judge->machine, zi, ops, bytes, &insn, false, out) > 0;
}

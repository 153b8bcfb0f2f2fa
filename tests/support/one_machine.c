// SPDX-License-Identifier: LGPL-2.1-or-later
/* one_machine.c: see one_machine.h. */
#include "tests/support/one_machine.h"

#include "tests/support/small_machine.h"

struct value_memory memory;
struct value_machine *machine;

int one_machine_begin(void **state)
{
	(void)state;
	machine = small_machine(&memory, CODE, SIZE, DATA, true);
	return machine ? 0 : -1;
}

int one_machine_end(void **state)
{
	(void)state;
	value_machine_free(machine);
	value_memory_deinit(&memory);
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* small_machine.h: an evaluator for tests: a region of code that can be written, and a page of
 * data. */
#ifndef TESTS_SMALL_MACHINE_H
#define TESTS_SMALL_MACHINE_H

#include "offline/eval/machine.h"

/* Of @code_bytes at @code and a page at @data, of which nothing is known; @zeros: they are zeros,
 * and known. NULL: out of memory. The caller frees the machine, and then @memory. */
struct value_machine *small_machine(struct value_memory *memory, uint64_t code, uint64_t code_bytes,
				    uint64_t data, bool zeros);

#endif

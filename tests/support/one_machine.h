/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* one_machine.h: the evaluator that all tests of one file use, one after the other
 * (small_machine.h): a page of code and a page of data, all zeros. For cmocka's set-up and
 * tear-down. */
#ifndef TESTS_ONE_MACHINE_H
#define TESTS_ONE_MACHINE_H

#include "offline/eval/machine.h"

enum { CODE = 0x400000, DATA = 0x500000, SIZE = VALUE_PAGE };

extern struct value_memory memory;
extern struct value_machine *machine;

int one_machine_begin(void **state);
int one_machine_end(void **state);

#endif

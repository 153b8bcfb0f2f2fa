// SPDX-License-Identifier: LGPL-2.1-or-later
/* Whether a frame is still there, by a snapshot that keeps, far up, addresses of one module alone:
 * a word that is not known was no address of the module that the event is of; of another module it
 * may have been one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "offline/recover/stack/snapshot.h"

enum { MODULES = 2, CFA = 0x7ffc2000, FIRST = 0x10000000, SECOND = 0x20000000 };

static bool holds(uint8_t kind, uint16_t module, uint64_t word, uint64_t ret)
{
	const struct pugmark_plan plan = {.text_addr = 0x1000, .text_end = 0x9000};
	const struct pugmark_plan *const plans[MODULES] = {&plan, &plan};
	const struct parser p = {.plans = plans,
				 .n_modules = MODULES,
				 .bias = {FIRST, SECOND},
				 .bias_known = (1 << MODULES) - 1};
	const struct pugmark_witness_event e = {.kind = kind,
						.module = module,
						.stack = &word,
						.stack_words = 1,
						.stack_addr = CFA - 8};
	return stack_slot_holds(&p, &e, CFA, ret);
}

static void words_that_are_not_known(void **state)
{
	const uint64_t unknown = PUGMARK_EVENT_STACK_UNKNOWN;
	(void)state;
	assert_false(holds(PUGMARK_EVENT_WITNESS, 0, unknown, FIRST + 0x2000));
	assert_false(holds(PUGMARK_EVENT_WITNESS, 1, unknown, SECOND + 0x2000));
	assert_true(holds(PUGMARK_EVENT_WITNESS, 0, unknown, SECOND + 0x2000));
	assert_true(holds(PUGMARK_EVENT_WITNESS, 0, unknown, FIRST + 0xa000)); /* no code of it */
	/* Of a signal nothing says which module's addresses were kept. */
	assert_true(holds(PUGMARK_EVENT_SIGNAL, 0, unknown, FIRST + 0x2000));
}

static void words_that_are_known(void **state)
{
	(void)state;
	assert_true(holds(PUGMARK_EVENT_WITNESS, 0, SECOND + 0x2000, SECOND + 0x2000));
	assert_false(holds(PUGMARK_EVENT_WITNESS, 0, SECOND + 0x2001, SECOND + 0x2000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_that_are_not_known),
		cmocka_unit_test(words_that_are_known),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

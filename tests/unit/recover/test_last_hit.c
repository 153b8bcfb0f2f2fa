// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_last_hit.c: claims that a parser which has had no event has no last hit, and that the one of
 * a forked child has not its parent's: site 0 of module 0 is a site like any other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "offline/recover/parser.h"
#include "offline/recover/state/state.h"

static void none_before_the_first_event(void **state)
{
	struct parser *p, *child;
	(void)state;
	assert_int_equal(parser_new(NULL, NULL, 0, &p), 0);
	assert_int_equal(p->last_hit.site, PUGMARK_NONE);
	p->last_hit = (struct hit){.cfa = 0x7000};
	assert_int_equal(parser_fork(p, NULL, &child), 0);
	assert_int_equal(child->last_hit.site, PUGMARK_NONE);
	parser_free(child);
	parser_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(none_before_the_first_event),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

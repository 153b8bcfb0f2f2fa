// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_stack_switch.c: which functions leave their stack, and which calls may come back on one, by
 * code whose answer is in its names (snippets/switches.S) and by what compilers make of C. */
#include "tests/unit/code/model_helper.h"

#include <string.h>

static const struct pugmark_func *func_of(const struct pugmark_model *m, const char *name)
{
	uint32_t func = pugmark_model_func_named(m, name);
	if (func == PUGMARK_NONE)
		fail_msg("no function %s", name);
	return &m->funcs[func];
}

static void what_takes_the_stack_pointer_from_elsewhere_switches(void **state)
{
	(void)state;
	struct pugmark_model *m = compiled("gcc", "", "switches.S");
	uint32_t yes = 0, no = 0;
	for (uint32_t i = 0; i < m->n_funcs; i++) {
		const struct pugmark_func *f = &m->funcs[i];
		bool flagged = f->flags & PUGMARK_FUNC_SWITCHES,
		     named = !strncmp(f->name, "yes_", 4);
		if (flagged != named)
			fail_msg("%s is %sflagged", f->name, flagged ? "" : "not ");
		yes += named;
		no += !strncmp(f->name, "no_", 3);
	}
	assert_int_equal(yes, 10);
	assert_int_equal(no, 11);
	pugmark_model_free(m);
}

static uint32_t calls_that_switch(const struct pugmark_model *m, const char *name)
{
	const struct pugmark_func *f = func_of(m, name);
	uint32_t n = 0;
	for (uint32_t i = f->site; i < f->site + f->n_sites; i++) {
		const struct pugmark_site *s = &m->sites[i];
		if (!(s->flags & PUGMARK_SITE_SWITCHES))
			continue;
		n++;
		if (s->kind == PUGMARK_SITE_TAIL)
			continue;
		uint32_t back = pugmark_model_block_at(m, s->return_addr);
		assert_true(m->blocks[back].flags & PUGMARK_BLOCK_SETJMP_RETURN);
	}
	return n;
}

static void calls_of_such_may_come_back_on_another_stack(void **state)
{
	(void)state;
	struct pugmark_model *m = compiled("gcc", "", "switches.S");
	assert_int_equal(calls_that_switch(m, "calls_it"), 1);
	assert_int_equal(calls_that_switch(m, "jumps_to_it"), 1);
	assert_int_equal(calls_that_switch(m, "calls_what_jumps_to_it"), 1);
	/* No address of one is taken. */
	assert_int_equal(calls_that_switch(m, "calls_by_pointer"), 0);
	assert_int_equal(calls_that_switch(m, "yes_after_call"), 0);
	pugmark_model_free(m);
	m = compiled("gcc", "-DPOINTER", "switches.S");
	assert_int_equal(calls_that_switch(m, "calls_by_pointer"), 1);
	pugmark_model_free(m);
}

/* Compilers set the stack pointer in many ways; none of them leaves the stack. */
static void nothing_that_compilers_make_switches(void **state)
{
	static const char *const ways[] = {"-O0",
					   "-O0 -fomit-frame-pointer",
					   "-O2",
					   "-O3 -fno-omit-frame-pointer",
					   "-O2 -fstack-clash-protection",
					   "-O2 -mstackrealign"};
	(void)state;
	for (size_t i = 0; i < 2 * (sizeof(ways) / sizeof(*ways)); i++) {
		struct pugmark_model *m =
			compiled(i % 2 ? "clang" : "gcc", ways[i / 2], "frames.c");
		for (uint32_t f = 0; f < m->n_funcs; f++)
			if (m->funcs[f].flags & PUGMARK_FUNC_SWITCHES)
				fail_msg("%s %s: %s", i % 2 ? "clang" : "gcc", ways[i / 2],
					 m->funcs[f].name);
		pugmark_model_free(m);
	}
}

/* In a static program without names setjmp() and longjmp() are what they are with them. */
static void a_c_library_without_names_jumps_as_one_with_them(void **state)
{
	static const char source[] = "../../../programs/cases/longjmp.c";
	uint32_t n = 0;
	(void)state;
	if (system("echo 'int main(void) { return 0; }' | gcc -static -x c - -o /dev/null 2>&1"))
		skip();
	struct pugmark_model *named = compiled("gcc", "-O2 -static -no-pie", source);
	struct pugmark_model *m = compiled("gcc", "-O2 -static -no-pie -s", source);
	for (uint32_t i = 0; i < named->n_sites; i++) {
		const struct pugmark_site *s = &named->sites[i];
		if (s->kind != PUGMARK_SITE_CALL || s->target == PUGMARK_NONE ||
		    !strstr(named->funcs[s->target].name, "setjmp"))
			continue;
		uint32_t back = pugmark_model_block_at(m, s->return_addr);
		assert_int_not_equal(back, PUGMARK_NONE);
		assert_true(m->blocks[back].flags & PUGMARK_BLOCK_SETJMP_RETURN);
		n++;
	}
	assert_true(n > 2);
	uint32_t func = pugmark_model_func_at(m, func_of(named, "__longjmp")->addr);
	assert_int_not_equal(func, PUGMARK_NONE);
	assert_true(m->funcs[func].flags & PUGMARK_FUNC_NORETURN);
	pugmark_model_free(named);
	pugmark_model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_takes_the_stack_pointer_from_elsewhere_switches),
		cmocka_unit_test(calls_of_such_may_come_back_on_another_stack),
		cmocka_unit_test(nothing_that_compilers_make_switches),
		cmocka_unit_test(a_c_library_without_names_jumps_as_one_with_them),
	};
	return cmocka_run_group_tests_name("stack switches", tests, NULL, NULL);
}

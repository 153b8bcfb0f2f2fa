// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_switching_calls.c: claims that a call may switch stacks if what it calls leads to code of a
 * library that does, by way of functions of that library, of another one, or of a jump of the
 * program's own; and that other calls into the same libraries may not. */
#include "tests/unit/code/model_helper.h"

#include "offline/link/switching_calls.h"

static char dir[] = "/tmp/pugmark-switching-XXXXXX";

static int set_up(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(dir));
	compile_text(dir, "switches.so", "-O2 -shared -fPIC",
		     "__asm__(\"go: push %rbp\\n mov %rsp,(%rdi)\\n mov (%rsi),%rsp\\n pop %rbp\\n "
		     "ret\\n\");\n"
		     "void go(void **, void **) __attribute__((visibility(\"hidden\")));\n"
		     "void *here, *there;\n"
		     "int yield(void) { go(&here, &there); return 1; }\n"
		     "int quiet(void) { return here == there; }\n");
	compile_text(dir, "over.so", "-O2 -shared -fPIC",
		     "int yield(void); int quiet(void);\n"
		     "int wait_for(int n) { while (n--) yield(); return 2; }\n"
		     "int ask(void) { return quiet() + 1; }\n");
	char with[128];
	snprintf(with, sizeof(with), "-O2 -Wl,--allow-shlib-undefined %s/switches.so %s/over.so",
		 dir, dir);
	compile_text(dir, "main", with,
		     "int yield(void); int quiet(void); int wait_for(int); int ask(void);\n"
		     "__attribute__((noipa)) int jumps(void) { return yield(); }\n"
		     "__attribute__((noipa)) int calls_jumps(void) { return jumps() + 1; }\n"
		     "__attribute__((noipa)) int calls_wait(void) { return wait_for(3) + 1; }\n"
		     "__attribute__((noipa)) int calls_others(void) { return quiet() + ask(); }\n"
		     "int main(void) { return calls_jumps() + calls_wait() + calls_others(); }\n");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	shell("rm -r %s", dir);
	return 0;
}

/* How many calls and jumps of the program's function @name may switch, where it is loaded with @n
 * of the libraries. */
static uint32_t marked(const char *name, uint32_t n)
{
	char path[3][64];
	snprintf(path[0], sizeof(path[0]), "%s/over.so", dir);
	snprintf(path[1], sizeof(path[1]), "%s/switches.so", dir);
	snprintf(path[2], sizeof(path[2]), "%s/main", dir);
	const char *files[] = {path[0], path[1]};
	struct pugmark_model *m = model_of(path[2]);
	uint8_t *out = calloc(m->n_sites + 1, 1);
	assert_non_null(out);
	assert_int_equal(switching_calls_mark(m, files, n, out), 0);
	uint32_t func = pugmark_model_func_named(m, name), found = 0;
	assert_int_not_equal(func, PUGMARK_NONE);
	for (uint32_t i = 0; i < m->n_sites; i++)
		found += m->sites[i].func == func && out[i];
	free(out);
	pugmark_model_free(m);
	return found;
}

static void what_leads_to_a_switch_may_switch(void **state)
{
	(void)state;
	assert_int_equal(marked("jumps", 2), 1);
	assert_int_equal(marked("calls_jumps", 2), 1);
	assert_int_equal(marked("calls_wait", 2), 1);
}

static void other_calls_do_not(void **state)
{
	(void)state;
	assert_int_equal(marked("calls_others", 2), 0);
	assert_int_equal(marked("main", 2), 0);
	/* Nothing tells what a library does that is not there. */
	assert_int_equal(marked("calls_wait", 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_leads_to_a_switch_may_switch),
		cmocka_unit_test(other_calls_do_not),
	};
	return cmocka_run_group_tests_name("calls that may switch stacks", tests, set_up,
					   tear_down);
}

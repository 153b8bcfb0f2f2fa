// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_never_returns.c: claims that an import never returns whose one definition ends in a call of
 * the unwinder, or of another function that may end in a call of itself; and that it may where
 * another library defines it too, in whatever order they are searched: one that calls the unwinder
 * and returns, or one that does not call it. */
#include "tests/unit/code/model_helper.h"

#include "offline/link/never_returns.h"

static char dir[] = "/tmp/pugmark-never-XXXXXX";

static int set_up(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(dir));
	compile_text(dir, "raises.so", "-O1 -shared -fPIC",
		     "void abort(void); int _Unwind_RaiseException(void *);\n"
		     "void leave(void *e) { _Unwind_RaiseException(e); abort(); }\n");
	compile_text(dir, "may.so", "-O1 -shared -fPIC",
		     "int _Unwind_RaiseException(void *);\n"
		     "void leave(void *e) { if (e) _Unwind_RaiseException(e); }\n");
	compile_text(dir, "round.so", "-O1 -shared -fPIC",
		     "void abort(void); int _Unwind_RaiseException(void *);\n"
		     "__attribute__((noreturn)) void leave(void *);\n"
		     "__attribute__((noinline, noreturn)) void last(void *e)\n"
		     "{ if (!e) abort(); leave(e); }\n"
		     "void leave(void *e) { _Unwind_RaiseException(e); last(e); }\n");
	compile_text(
		dir, "round_may.so", "-O1 -shared -fPIC",
		"int _Unwind_RaiseException(void *); void leave(void *);\n"
		"__attribute__((noinline)) void last(void *e) { if (e) leave(e); asm(\"\"); }\n"
		"void leave(void *e) { _Unwind_RaiseException(e); last(e); asm(\"\"); }\n");
	compile_text(dir, "returns.so", "-O1 -shared -fPIC", "void leave(void *e) {}\n");
	compile_text(dir, "others.so", "-O1 -shared -fPIC",
		     "void leave(void *); void stay(void) { leave(0); }\n");
	char with[64];
	snprintf(with, sizeof(with), "-O1 -Wl,--no-as-needed %s/raises.so", dir);
	compile_text(dir, "main", with,
		     "void leave(void *); int main(void) { leave(0); return 1; }\n");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	shell("rm -r %s", dir);
	return 0;
}

static bool never(const char *first, const char *second)
{
	char path[3][64];
	snprintf(path[0], sizeof(path[0]), "%s/%s", dir, first);
	snprintf(path[1], sizeof(path[1]), "%s/%s", dir, second);
	snprintf(path[2], sizeof(path[2]), "%s/main", dir);
	const char *files[] = {path[0], path[1]};
	struct pugmark_model *m = model_of(path[2]);
	uint8_t *out = calloc(m->n_imports + 1, 1);
	bool is = false, found = false;
	assert_non_null(out);
	assert_int_equal(never_returns_mark(m, files, 2, out), 0);
	for (uint32_t i = 0; i < m->n_imports; i++)
		if (!strcmp(m->imports[i].name, "leave")) {
			found = true;
			is = out[i];
		}
	assert_true(found);
	free(out);
	pugmark_model_free(m);
	return is;
}

static void what_raises_never_returns(void **state)
{
	(void)state;
	assert_true(never("raises.so", "others.so"));
	assert_true(never("others.so", "raises.so"));
	assert_false(never("may.so", "others.so"));
}

static void what_ends_in_itself_never_returns(void **state)
{
	(void)state;
	assert_true(never("round.so", "others.so"));
	assert_false(never("round_may.so", "others.so"));
}

static void another_definition_may_return(void **state)
{
	(void)state;
	assert_false(never("raises.so", "may.so"));
	assert_false(never("may.so", "raises.so"));
	assert_false(never("raises.so", "returns.so"));
	assert_false(never("returns.so", "raises.so"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_raises_never_returns),
		cmocka_unit_test(what_ends_in_itself_never_returns),
		cmocka_unit_test(another_definition_may_return),
	};
	return cmocka_run_group_tests_name("imports that never return", tests, set_up, tear_down);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_needed.c: claims that of the functions that a program exports, just those are taken to be
 * entered from outside that a library on its way names: directly, by way of another library, by
 * $ORIGIN, as one that it defines itself too; and all of them where a library cannot be found. The
 * files are made by the compiler, so what they name is known. */
#include <errno.h>
#include "tests/unit/elf_helper.h"

#include "offline/needed.h"

static void write_text(const char *dir, const char *name, const char *text)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

/* main -> near/liba.so -> near/libb.so; plugin.so apart. Each export is named by one of them. */
static void make_files(const char *dir)
{
	const char *cc = getenv("CC") ? getenv("CC") : "cc";
	write_text(dir, "a.c",
		   "int by_a(void), in_b(void); int in_a(void) { return by_a() + in_b(); }\n");
	write_text(dir, "b.c",
		   "int by_b(void); int both(void) { return 1; }\n"
		   "int in_b(void) { return by_b() + both(); }\n");
	write_text(dir, "plugin.c",
		   "int by_plugin(void); int in_plugin(void) { return by_plugin(); }\n");
	write_text(dir, "main.c",
		   "int by_a(void) { return 1; } int by_b(void) { return 2; }\n"
		   "int both(void) { return 3; } int by_plugin(void) { return 4; }\n"
		   "int by_nobody(void) { return 5; } int in_a(void);\n"
		   "int main(void) { return in_a(); }\n");
	shell("cd %s && mkdir near && %s -shared -fPIC -o near/libb.so b.c && "
	      "%s -shared -fPIC -o near/liba.so a.c -Lnear -lb -Wl,-rpath,'$ORIGIN' && "
	      "%s -shared -fPIC -o plugin.so plugin.c && "
	      "%s -rdynamic -o main main.c -Lnear -la -Wl,-rpath-link,near "
	      "-Wl,--enable-new-dtags,-rpath,'$ORIGIN/near'",
	      dir, cc, cc, cc, cc);
}

struct entered {
	struct pugmark_model *model;
	uint8_t *bytes;
};

static struct entered mark(const char *dir, const struct needed_options *options)
{
	struct entered e;
	struct pugmark_diag diag;
	char path[512];
	snprintf(path, sizeof(path), "%s/main", dir);
	assert_int_equal(pugmark_model_open(path, &e.model, &diag), 0);
	e.bytes = calloc(e.model->n_funcs, 1);
	assert_int_equal(needed_mark_entered(e.model, options, e.bytes, &diag), 0);
	return e;
}

static bool is_entered(const struct entered *e, const char *name)
{
	uint32_t func = pugmark_model_func_named(e->model, name);
	assert_int_not_equal(func, PUGMARK_NONE);
	return e->bytes[func];
}

static void entered_deinit(struct entered *e)
{
	pugmark_model_free(e->model);
	free(e->bytes);
}

static void named_by_libraries(void **state)
{
	make_files(*state);
	struct entered e = mark(*state, &(struct needed_options){0});
	assert_true(is_entered(&e, "by_a"));
	assert_true(is_entered(&e, "by_b"));
	assert_true(is_entered(&e, "both"));
	assert_false(is_entered(&e, "by_plugin"));
	assert_false(is_entered(&e, "by_nobody"));
	assert_false(is_entered(&e, "main"));
	entered_deinit(&e);
}

static void named_by_plugin(void **state)
{
	char path[512];
	make_files(*state);
	snprintf(path, sizeof(path), "%s/plugin.so", (char *)*state);
	const char *plugins[] = {path};
	struct entered e =
		mark(*state, &(struct needed_options){.plugins = plugins, .n_plugins = 1});
	assert_true(is_entered(&e, "by_plugin"));
	assert_false(is_entered(&e, "by_nobody"));
	entered_deinit(&e);
}

static void named_by_plugins_in_a_folder(void **state)
{
	char path[512];
	struct pugmark_diag diag;
	make_files(*state);
	shell("mkdir -p %s/mods/deep %s/none && cp %s/plugin.so %s/mods/deep/p.so.1 && "
	      "touch %s/mods/empty.so %s/none/text",
	      (char *)*state, (char *)*state, (char *)*state, (char *)*state, (char *)*state,
	      (char *)*state);
	snprintf(path, sizeof(path), "%s/mods", (char *)*state);
	const char *plugins[] = {path};
	const struct needed_options options = {.plugins = plugins, .n_plugins = 1};
	struct entered e = mark(*state, &options);
	assert_true(is_entered(&e, "by_plugin"));
	assert_false(is_entered(&e, "by_nobody"));
	snprintf(path, sizeof(path), "%s/none", (char *)*state);
	assert_int_equal(needed_mark_entered(e.model, &options, e.bytes, &diag), -ENOEXEC);
	assert_non_null(strstr(diag.text, "no module"));
	snprintf(path, sizeof(path), "%s/nosuch", (char *)*state);
	assert_int_equal(needed_mark_entered(e.model, &options, e.bytes, &diag), -ENOENT);
	entered_deinit(&e);
}

static void missing_library(void **state)
{
	char path[512];
	make_files(*state);
	shell("mv %s/near/libb.so %s/elsewhere.so", (char *)*state, (char *)*state);
	struct entered e = mark(*state, &(struct needed_options){0});
	assert_true(is_entered(&e, "by_nobody"));
	entered_deinit(&e);
	/* Found again by the path of the environment. */
	shell("mkdir %s/far && mv %s/elsewhere.so %s/far/libb.so", (char *)*state, (char *)*state,
	      (char *)*state);
	snprintf(path, sizeof(path), "/nowhere::%s/far", (char *)*state);
	e = mark(*state, &(struct needed_options){.library_path = path});
	assert_true(is_entered(&e, "by_b"));
	assert_false(is_entered(&e, "by_nobody"));
	entered_deinit(&e);
}

static void damaged_library(void **state)
{
	make_files(*state);
	shell("head -c 200 %s/near/libb.so >%s/cut && mv %s/cut %s/near/libb.so", (char *)*state,
	      (char *)*state, (char *)*state, (char *)*state);
	struct entered e = mark(*state, &(struct needed_options){0});
	assert_true(is_entered(&e, "by_nobody"));
	entered_deinit(&e);
}

int main(void)
{
	if (system("${CC:-cc} --version >/dev/null 2>&1")) {
		puts("no compiler here");
		return 77;
	}
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(named_by_libraries, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(named_by_plugin, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(named_by_plugins_in_a_folder, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(missing_library, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(damaged_library, scratch_setup, scratch_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

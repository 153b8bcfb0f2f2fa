// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_model_damage.c: damaged files, and sound ones made to be slow. Either there is no model and
 * one line that says why, or there is one that holds together; and both within ten seconds. */
#include "tests/unit/code/model_helper.h"

#include <errno.h>
#include <time.h>

enum { LIMIT_S = 10 };

/* Processor time: what else the machine does is no part of it. */
static double spent_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Returns whether there is a model of it. */
static bool try_model(const char *path)
{
	struct pugmark_diag diag = {.text = ""};
	struct pugmark_model *model;
	double start = spent_s();
	int err = pugmark_model_open(path, &model, &diag);
	assert_true(spent_s() - start < LIMIT_S);
	if (err) {
		assert_true(err == -ENOEXEC || err == -EBADMSG);
		assert_true(*diag.text && *diag.file && !strchr(diag.text, '\n'));
		return false;
	}
	check_model(model);
	pugmark_model_free(model);
	return true;
}

struct bytes {
	uint8_t *at;
	size_t n;
};

static struct bytes read_file(const char *path)
{
	struct bytes b = {0};
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	b.n = (size_t)ftell(file);
	rewind(file);
	b.at = malloc(b.n);
	assert_int_equal(fread(b.at, 1, b.n, file), b.n);
	fclose(file);
	return b;
}

static void write_file(const char *path, const uint8_t *at, size_t n)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(at, 1, n, file), n);
	assert_int_equal(fclose(file), 0);
}

static void a_file_cut_anywhere_is_modelled_or_refused(void **state)
{
	(void)state;
	char path[] = "/tmp/pugmark-damage-XXXXXX";
	need_file("/usr/bin/gzip");
	struct bytes file = read_file("/usr/bin/gzip");
	close(mkstemp(path));
	uint32_t n_models = 0;
	for (size_t percent = 0; percent <= 100; percent++) {
		write_file(path, file.at, file.n * percent / 100);
		n_models += try_model(path);
	}
	print_message("%u of 101 have a model\n", n_models);
	assert_true(n_models >= 1);
	unlink(path);
	free(file.at);
}

/* Bytes changed at places that matter: headers, unwind tables and code alike. */
static void bytes_changed_at_random_do_no_harm(void **state)
{
	(void)state;
	char path[] = "/tmp/pugmark-damage-XXXXXX";
	need_file("/usr/bin/gzip");
	struct bytes file = read_file("/usr/bin/gzip");
	uint8_t *copy = malloc(file.n);
	close(mkstemp(path));
	srandom(1);
	for (int round = 0; round < 300; round++) {
		memcpy(copy, file.at, file.n);
		size_t n = (size_t)1 << (random() % 8);
		for (size_t i = 0; i < n; i++) {
			size_t from = random() % 3 ? 0 : file.n - 2048;
			size_t span = random() % 3 ? file.n - from : 1024;
			copy[from + (size_t)random() % span] = (uint8_t)random();
		}
		write_file(path, copy, file.n);
		try_model(path);
	}
	unlink(path);
	free(copy);
	free(file.at);
}

/* Assembly: a head, @n times the lines @each with the number in it, a tail. */
struct piece {
	const char *text;
	int n;
};

static void assemble_and_try(const struct piece *pieces)
{
	char dir[] = "/tmp/pugmark-damage-XXXXXX", source[64], program[64];
	assert_non_null(mkdtemp(dir));
	snprintf(source, sizeof(source), "%s/s.S", dir);
	snprintf(program, sizeof(program), "%s/p", dir);
	FILE *file = fopen(source, "w");
	assert_non_null(file);
	for (; pieces->text; pieces++)
		for (int i = 0; i < pieces->n; i++) {
			for (const char *c = pieces->text; *c; c++) {
				if (*c == '@')
					fprintf(file, "%d", i);
				else if (*c == '#') /* some other number, spread */
					fprintf(file, "%d", (int)((i * 7919L + 1) % pieces->n));
				else
					fputc(*c, file);
			}
			fputc('\n', file);
		}
	assert_int_equal(fclose(file), 0);
	command_end(command("gcc -no-pie -w -o %s %s", program, source));
	assert_true(try_model(program));
	unlink(source);
	unlink(program);
	rmdir(dir);
}

#define MAIN                                                                                       \
	{                                                                                          \
		".text\n.globl main\nmain: .cfi_startproc", 1                                      \
	}
#define END                                                                                        \
	{                                                                                          \
		"ret\n.cfi_endproc\n.section .note.GNU-stack,\"\",%progbits\n.text", 1             \
	}

static void many_jumps_through_one_long_table(void **state)
{
	(void)state;
	assemble_and_try((struct piece[]){
		MAIN,
		{"L@: cmp $65000,%eax; ja L0; jmp *T(,%rax,8)", 20000},
		END,
		{".section .rodata\nT:", 1},
		{".quad L@", 20000},
		{0},
	});
}

static void a_table_whose_entries_point_anywhere(void **state)
{
	(void)state;
	assemble_and_try((struct piece[]){
		MAIN,
		{"cmp $500,%eax; ja 1f; jmp *T(,%rax,8)", 1},
		{"nop", 100},
		{"1:", 1},
		END,
		{".section .rodata\nT:", 1},
		{".quad main + # * 977 - 100000", 501},
		{0},
	});
}

static void a_function_of_fragments(void **state)
{
	(void)state;
	assemble_and_try((struct piece[]){
		MAIN,
		{"je F@", 30000},
		END,
		{".cfi_startproc\n.cfi_adjust_cfa_offset 8\nF@: jmp main + 2\n.cfi_endproc", 30000},
		{0},
	});
}

static void calls_that_do_not_return_one_after_the_other(void **state)
{
	(void)state;
	assemble_and_try((struct piece[]){
		MAIN,
		{"je 1f; call f@; 1:", 20000},
		END,
		{".cfi_startproc\nf@: je f#; call f# ; ud2\n.cfi_endproc", 20000},
		{0},
	});
}

static void jumps_into_the_middle_of_everything(void **state)
{
	(void)state;
	assemble_and_try((struct piece[]){
		MAIN,
		{"call g@; je g# + 1", 20000},
		END,
		{".cfi_startproc\ng@: nop; nop; je g# + 1; nop; ret\n.cfi_endproc", 20000},
		{0},
	});
}

static void bases_that_no_path_shows(void **state)
{
	(void)state;
	assemble_and_try((struct piece[]){
		MAIN,
		{"L@: je L#; movslq (%rbx,%rax,4),%rax; add %rbx,%rax; jmp *%rax", 20000},
		END,
		{0},
	});
}

static void pointers_into_code_that_does_not_decode(void **state)
{
	(void)state;
	assemble_and_try((struct piece[]){
		MAIN,
		END,
		{"G@: inc %eax", 50000},
		{".byte 6\n.data\n.balign 8", 1},
		{".quad G@", 50000},
		{0},
	});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_cut_anywhere_is_modelled_or_refused),
		cmocka_unit_test(bytes_changed_at_random_do_no_harm),
		cmocka_unit_test(many_jumps_through_one_long_table),
		cmocka_unit_test(a_table_whose_entries_point_anywhere),
		cmocka_unit_test(a_function_of_fragments),
		cmocka_unit_test(calls_that_do_not_return_one_after_the_other),
		cmocka_unit_test(jumps_into_the_middle_of_everything),
		cmocka_unit_test(bases_that_no_path_shows),
		cmocka_unit_test(pointers_into_code_that_does_not_decode),
	};
	return cmocka_run_group_tests_name("damaged and hostile files", tests, NULL, NULL);
}

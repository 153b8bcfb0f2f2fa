/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* elf_helper.h: what the tests of the ELF reader share: a scratch folder, the output of binutils
 * line by line, files made in memory, and the claims that hold for every image, sound or damaged.
 */
#ifndef TESTS_UNIT_ELF_HELPER_H
#define TESTS_UNIT_ELF_HELPER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "offline/elf/elf_image.h"
#include "tests/support/sanitized.h"

/* Skips the test, and says why, unless this machine has @path. */
static inline void need_file(const char *path)
{
	if (access(path, R_OK)) {
		print_message("%s is not on this machine\n", path);
		skip();
	}
}

/* The output of a shell command, which must succeed: close with command_end(). */
static inline FILE *__attribute__((format(printf, 1, 2))) command(const char *format, ...)
{
	char line[4096];
	va_list args;
	va_start(args, format);
	assert_in_range(vsnprintf(line, sizeof(line), format, args), 1, sizeof(line) - 1);
	va_end(args);
	FILE *out = popen(line, "r");
	assert_non_null(out);
	return out;
}

static inline void command_end(FILE *out)
{
	assert_int_equal(pclose(out), 0);
}

static inline void __attribute__((format(printf, 1, 2))) shell(const char *format, ...)
{
	char line[4096];
	va_list args;
	va_start(args, format);
	assert_in_range(vsnprintf(line, sizeof(line), format, args), 1, sizeof(line) - 1);
	va_end(args);
	if (system(line))
		fail_msg("this command failed: %s", line);
}

static inline int scratch_setup(void **state)
{
	const char *tmp = getenv("TMPDIR");
	char *dir;
	if (asprintf(&dir, "%s/pugmark-elf-XXXXXX", tmp ? tmp : "/tmp") < 0 || !mkdtemp(dir))
		return -1;
	*state = dir;
	return 0;
}

static inline int scratch_teardown(void **state)
{
	shell("rm -rf '%s'", (char *)*state);
	free(*state);
	return 0;
}

static inline void __attribute__((format(printf, 3, 4)))
write_source(const char *dir, const char *name, const char *format, ...)
{
	char path[512];
	va_list args;
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	va_start(args, format);
	vfprintf(file, format, args);
	va_end(args);
	assert_int_equal(fclose(file), 0);
}

/* Compiles @text into the file @name in @dir; @flags stand behind the source. */
static inline void compile_text(const char *dir, const char *name, const char *flags,
				const char *text)
{
	write_source(dir, "source.c", "%s", text);
	shell("${CC:-cc} -w -o %s/%s %s/source.c %s", dir, name, dir, flags);
}

static inline struct elf_image *open_image(const char *path)
{
	struct elf_image *image = NULL;
	struct pugmark_diag diag = {0};
	if (elf_image_open(path, &image, &diag))
		fail_msg("%s: %s", path, diag.text);
	return image;
}

/* The whole of @path, to be freed. */
static inline uint8_t *read_whole(const char *path, size_t *len)
{
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	*len = ftell(file);
	rewind(file);
	uint8_t *bytes = malloc(*len + 1);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, *len, file), *len);
	fclose(file);
	return bytes;
}

/* elf_image_open() of a file in memory that holds @bytes. */
static inline int open_bytes(const uint8_t *bytes, size_t len, struct elf_image **image,
			     struct pugmark_diag *diag)
{
	char path[64];
	int fd = memfd_create("elf", MFD_CLOEXEC);
	assert_true(fd >= 0);
	for (size_t at = 0; at < len;) {
		ssize_t n = write(fd, bytes + at, len - at);
		assert_true(n > 0);
		at += n;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	int err = elf_image_open(path, image, diag);
	close(fd);
	return err;
}

static inline bool in_code(const struct elf_code *code, uint32_t n, uint64_t addr)
{
	uint32_t low = 0, high = n;
	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		if (code[mid].addr <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low && addr < code[low - 1].end;
}

/* A note that holds @words, or NULL. */
static inline const char *find_note(const struct elf_image *image, const char *words)
{
	const char *note;
	for (uint32_t i = 0; (note = elf_image_note(image, i)); i++)
		if (strstr(note, words))
			return note;
	return NULL;
}

static inline void check_code(const struct elf_image *image)
{
	uint32_t n;
	uint8_t sum = 0;
	const struct elf_code *code = elf_image_code(image, &n);
	assert_true(n > 0);
	for (uint32_t i = 0; i < n; i++) {
		size_t there;
		assert_true(code[i].addr < code[i].end);
		assert_true(!i || code[i - 1].end <= code[i].addr);
		assert_ptr_equal(code[i].bytes, elf_image_bytes(image, code[i].addr, &there));
		assert_true(there >= code[i].end - code[i].addr);
		for (uint64_t at = 0; at < code[i].end - code[i].addr; at++)
			sum += code[i].bytes[at];
	}
	*(volatile uint8_t *)&sum = sum; /* every byte can be read */
}

static inline void check_fdes(const struct elf_image *image)
{
	static struct elf_cfa_row rows[1024];
	uint32_t n, n_code;
	const struct elf_fde *fdes = elf_image_fdes(image, &n);
	const struct elf_code *code = elf_image_code(image, &n_code);
	for (uint32_t i = 0; i < n; i++) {
		assert_true(fdes[i].addr < fdes[i].end);
		assert_true(!i || fdes[i - 1].end <= fdes[i].addr);
		assert_true(in_code(code, n_code, fdes[i].addr));
		assert_true(in_code(code, n_code, fdes[i].end - 1));
		uint32_t n_rows = elf_image_cfa_rows(image, fdes[i].index, rows, 1024);
		assert_true(n_rows > 0);
		assert_int_equal(rows[0].addr, fdes[i].addr);
		for (uint32_t k = 0; k < n_rows && k < 1024; k++) {
			assert_true(rows[k].addr < rows[k].end);
			assert_true(!k || rows[k].addr == rows[k - 1].end);
		}
		if (n_rows <= 1024)
			assert_int_equal(rows[n_rows - 1].end, fdes[i].end);
	}
}

static inline void check_symbols(const struct elf_image *image)
{
	uint32_t n, n_code;
	const struct elf_symbol *symbols = elf_image_symbols(image, &n);
	const struct elf_code *code = elf_image_code(image, &n_code);
	for (uint32_t i = 0; i < n; i++) {
		assert_true(in_code(code, n_code, symbols[i].addr));
		assert_true(symbols[i].name[0] != 0);
		if (i) {
			assert_true(symbols[i - 1].addr <= symbols[i].addr);
			if (symbols[i - 1].addr == symbols[i].addr)
				assert_true(symbols[i - 1].global >= symbols[i].global);
		}
	}
}

static inline void check_references(const struct elf_image *image)
{
	uint32_t n, n_code;
	const struct elf_code *code = elf_image_code(image, &n_code);
	const struct elf_landing *landings = elf_image_landings(image, &n);
	for (uint32_t i = 0; i < n; i++) {
		assert_true(landings[i].addr < landings[i].end);
		assert_true(in_code(code, n_code, landings[i].addr));
		assert_true(in_code(code, n_code, landings[i].pad));
		assert_true(!i || landings[i - 1].addr <= landings[i].addr);
	}
	const struct pugmark_import *imports = elf_image_imports(image, &n);
	const uint64_t *local = elf_image_import_local(image);
	for (uint32_t i = 0; i < n; i++) {
		assert_non_null(imports[i].name);
		assert_true(strlen(imports[i].name) < SIZE_MAX);
		assert_int_equal(elf_image_import_at(image, imports[i].got_addr), i);
		if (imports[i].plt_addr)
			assert_int_equal(elf_image_import_at(image, imports[i].plt_addr), i);
		assert_true(!local[i] || in_code(code, n_code, local[i]));
	}
	const uint64_t *pointers = elf_image_code_pointers(image, &n);
	for (uint32_t i = 0; i < n; i++)
		assert_true(in_code(code, n_code, pointers[i]) &&
			    (!i || pointers[i - 1] < pointers[i]));
	const uint64_t *values, *places = elf_image_pointer_slots(image, &values, &n);
	for (uint32_t i = 0; i < n; i++)
		assert_true(in_code(code, n_code, values[i]) && (!i || places[i - 1] < places[i]));
}

/* What elf_image.h promises of every image. */
static inline void check_image(const struct elf_image *image)
{
	const char *note;
	uint32_t len;
	for (uint32_t i = 0; (note = elf_image_note(image, i)); i++)
		assert_null(strchr(note, '\n'));
	const uint8_t *id = elf_image_build_id(image, &len);
	assert_true(!id == !len);
	check_code(image);
	check_fdes(image);
	check_symbols(image);
	check_references(image);
}

#endif

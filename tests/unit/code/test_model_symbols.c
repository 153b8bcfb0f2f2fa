// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_model_symbols.c: functions found without symbols, against the symbols: libc's and python's
 * are in detached debug files of matching version. The model is made of copies whose build-id is
 * another, so that it cannot find those files itself. What differs is named below, all of it. */
#include "tests/unit/elf/elf_helper.h"

#define DEBUG_FILE "/usr/lib/debug/.build-id/%.2s/%s.debug"

/* Assembly that others jump into the middle of, or whose FDE ends early: the model has it in
 * several functions. Their extent is theirs up to the first such place. */
static const char *const libc_split[] = {
	"__memmove_*", "__memset_*", "__clone", "__clone3", "__setcontext", "__restore_rt", NULL,
};
/* Cold parts that look like functions: no frame, no jump back, not among other cold parts. */
static const char *const libc_lone_cold[] = {"round_away.cold", NULL};
static const char *const python_lone_cold[] = {
	"PyByteArray_AsString.cold",
	"PyBytes_Size.cold",
	"PyImport_GetModuleDict.cold",
	"PyInterpreterState_GetID.cold",
	"PyMem_GetAllocator.cold",
	"PyModule_Create2.cold",
	"PyNumber_Invert.cold",
	"PyObject_GC_Track.cold",
	"PyZlib_Malloc.lto_priv.0.cold",
	"_BlocksOutputBuffer_OnError.lto_priv.0.cold",
	"_PyFrame_GetState.isra.0.cold",
	"_PyUnicode_IsDigit.cold",
	"_PyUnicode_IsNumeric.cold",
	"_Py_HashPointer.cold",
	"buffered_mode_get.lto_priv.0.cold",
	"bytesiobuf_traverse.lto_priv.0.cold",
	"dictview_traverse.lto_priv.0.cold",
	"fast_save_enter.lto_priv.0.cold",
	"fast_save_leave.lto_priv.0.cold",
	"format_exc_unbound.lto_priv.0.cold",
	"frame_getlasti.lto_priv.0.cold",
	"getnextarg.cold",
	"instancemethod_traverse.lto_priv.0.cold",
	"match_lastgroup_get.lto_priv.0.cold",
	"odictitems_iter.lto_priv.0.cold",
	"odictvalues_iter.lto_priv.0.cold",
	"sys_get_coroutine_origin_tracking_depth.lto_priv.0.cold",
	"sys_getrefcount.lto_priv.0.cold",
	"textiowrapper_errors_get.lto_priv.0.cold",
	"unicode_capitalize.lto_priv.0.cold",
	"unicode_casefold.lto_priv.0.cold",
	"unicode_isascii.lto_priv.0.cold",
	"unknown_presentation_type.lto_priv.0.cold",
	NULL,
};
static const char *const none[] = {NULL};

struct symbol {
	uint64_t addr, size;
	char name[120];
};

struct symbols {
	struct symbol *at; /* by address */
	size_t n;
};

static bool is_listed(const char *const *list, const char *name)
{
	for (; *list; list++) {
		size_t len = strlen(*list);
		bool prefix = (*list)[len - 1] == '*';
		if (prefix ? !strncmp(*list, name, len - 1) : !strcmp(*list, name))
			return true;
	}
	return false;
}

static int by_address(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Function symbols as readelf has them. */
static struct symbols read_symbols(const char *debug_file)
{
	struct symbols symbols = {0};
	FILE *out = command("readelf -sW %s 2>/dev/null", debug_file);
	char line[1024];
	size_t room = 0;
	while (fgets(line, sizeof(line), out)) {
		struct symbol s;
		unsigned long long addr;
		char size[32], type[32], section[32];
		if (sscanf(line, " %*[0-9]: %llx %31s %31s %*s %*s %31s %119[^@\n ]", &addr, size,
			   type, section, s.name) != 5 ||
		    (strcmp(type, "FUNC") && strcmp(type, "IFUNC")) || !strcmp(section, "UND"))
			continue;
		s.addr = addr;
		s.size = strtoull(size, NULL, 0);
		if (symbols.n == room) {
			room = room ? 2 * room : 4096; /* sanitizers copy each time */
			symbols.at = realloc(symbols.at, room * sizeof(s));
			assert_non_null(symbols.at);
		}
		symbols.at[symbols.n++] = s;
	}
	command_end(out);
	qsort(symbols.at, symbols.n, sizeof(*symbols.at), by_address);
	return symbols;
}

/* Copies @path to @copy with its build-id changed; returns the debug file's path in @debug_file. */
static void copy_anonymous(const char *path, const char *copy, char *debug_file, size_t len)
{
	struct elf_image *image;
	struct pugmark_diag diag;
	uint32_t n_id;
	char id[65] = "";
	assert_int_equal(elf_image_open(path, &image, &diag), 0);
	const uint8_t *bytes = elf_image_build_id(image, &n_id);
	assert_in_range(n_id, 8, 32);
	uint8_t note[32];
	memcpy(note, bytes, n_id);
	elf_image_free(image);
	for (uint32_t i = 0; i < n_id; i++)
		snprintf(id + 2 * i, 3, "%02x", note[i]);
	assert_in_range(snprintf(debug_file, len, DEBUG_FILE, id, id + 2), 1, len - 1);
	command_end(command("cp -L %s %s", path, copy));
	FILE *file = fopen(copy, "r+");
	assert_non_null(file);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	size_t size = (size_t)ftell(file);
	uint8_t *data = malloc(size);
	rewind(file);
	assert_int_equal(fread(data, 1, size, file), size);
	uint8_t *at = memmem(data, size, note, n_id);
	assert_non_null(at);
	assert_int_equal(fseek(file, at - data, SEEK_SET), 0);
	assert_int_equal(fputc(note[0] ^ 0xff, file), note[0] ^ 0xff);
	fclose(file);
	free(data);
}

struct comparison {
	const struct pugmark_model *model;
	struct symbols symbols;
	const char *const *split, *const *lone_cold;
	uint32_t n_equal, n_named, n_failed;
};

/* The symbols at the same address as symbol @i: returns how many; a listed name, if any, in *name,
 * else the first. */
static size_t group_at(const struct comparison *c, size_t i, const char *const *list,
		       const char **name)
{
	size_t n = 0;
	*name = c->symbols.at[i].name;
	while (i + n < c->symbols.n && c->symbols.at[i + n].addr == c->symbols.at[i].addr) {
		if (is_listed(list, c->symbols.at[i + n].name))
			*name = c->symbols.at[i + n].name;
		n++;
	}
	return n;
}

static void differs(struct comparison *c, bool named, const char *what, const char *name)
{
	c->n_named += named;
	if (named)
		return;
	c->n_failed++;
	print_error("%s: %s: %s\n", c->model->path, what, name);
}

/* Every function symbol is a function with the symbol's extent. */
static void check_each_symbol(struct comparison *c)
{
	const struct pugmark_model *m = c->model;
	const char *name;
	for (size_t i = 0, n; i < c->symbols.n; i += n) {
		const struct symbol *s = &c->symbols.at[i];
		n = group_at(c, i, c->split, &name);
		uint32_t func = pugmark_model_func_at(m, s->addr);
		bool starts = func != PUGMARK_NONE && m->funcs[func].addr == s->addr;
		if (strstr(s->name, ".cold")) {
			if (starts)
				differs(c, is_listed(c->lone_cold, s->name), "a cold part alone",
					s->name);
			continue;
		}
		if (!starts) {
			differs(c, false, "no function starts at", name);
			continue;
		}
		const struct pugmark_part *part = &m->parts[m->funcs[func].part];
		bool same = !s->size; /* _init and its like */
		for (size_t k = 0; k < n; k++)
			same |= c->symbols.at[i + k].size == part->end - part->addr;
		if (same)
			c->n_equal++;
		else
			differs(c, is_listed(c->split, name), "another extent", name);
	}
}

/* Every function starts at a symbol, or lies in one that is split. */
static void check_each_function(struct comparison *c)
{
	const struct pugmark_model *m = c->model;
	for (uint32_t i = 0; i < m->n_funcs; i++) {
		uint64_t addr = m->funcs[i].addr;
		bool starts = false, named = false;
		for (size_t k = 0; k < c->symbols.n; k++) {
			const struct symbol *s = &c->symbols.at[k];
			starts |= s->addr == addr;
			named |= addr > s->addr && addr < s->addr + s->size &&
				 is_listed(c->split, s->name);
		}
		if (!starts)
			differs(c, named, "no symbol at", m->funcs[i].name);
	}
}

static void compare(const char *path, const char *const *split, const char *const *lone_cold,
		    uint32_t at_least)
{
	char dir[] = "/tmp/pugmark-symbols-XXXXXX", copy[64], debug_file[256];
	need_file(path);
	assert_non_null(mkdtemp(dir));
	snprintf(copy, sizeof(copy), "%s/copy", dir);
	copy_anonymous(path, copy, debug_file, sizeof(debug_file));
	if (access(debug_file, R_OK)) {
		unlink(copy);
		rmdir(dir);
		print_message("SKIP: the debug symbols of %s are not installed\n", path);
		skip();
	}
	struct pugmark_model *model;
	struct pugmark_diag diag;
	assert_int_equal(pugmark_model_open(copy, &model, &diag), 0);
	struct comparison c = {
		.model = model,
		.symbols = read_symbols(debug_file),
		.split = split,
		.lone_cold = lone_cold,
	};
	check_each_symbol(&c);
	check_each_function(&c);
	print_message("%s: %u functions equal, %u differences, all named\n", path, c.n_equal,
		      c.n_named);
	pugmark_model_free(model);
	free(c.symbols.at);
	unlink(copy);
	rmdir(dir);
	assert_int_equal(c.n_failed, 0);
	assert_true(c.n_equal > at_least);
}

static void functions_of_libc_are_its_symbols(void **state)
{
	(void)state;
	compare("/lib/x86_64-linux-gnu/libc.so.6", libc_split, libc_lone_cold, 3000);
}

static void functions_of_python_are_its_symbols(void **state)
{
	(void)state;
	compare("/usr/bin/python3.11", none, python_lone_cold, 6000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_of_libc_are_its_symbols),
		cmocka_unit_test(functions_of_python_are_its_symbols),
	};
	return cmocka_run_group_tests_name("functions against symbols", tests, NULL, NULL);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_needed.c: claims that of the functions that a program exports, just those are taken to be
 * entered from outside that a library on its way names: directly, by way of another library, by
 * $ORIGIN, as one that it defines itself too; and all of them where a library cannot be found, or
 * not all of its names be read. And that a library's calls of its own exports are taken for direct
 * where no other file defines them, and its exports to be entered by those that name them only
 * where all who may are known. The files are made by the compiler, so what they name is known. */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <sys/resource.h>
#include "tests/unit/elf/elf_helper.h"

#include "offline/elf/dynamic_symbols.h"
#include "offline/elf/private_elf.h"
#include "offline/link/callers_by_name.h"
#include "offline/link/module_files.h"
#include "offline/link/plugin_interface.h"

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
	uint8_t *bytes, *bound;
};

static struct entered mark_file(const char *dir, const char *name,
				const struct library_options *options)
{
	struct entered e;
	struct pugmark_diag diag;
	char path[512];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(pugmark_model_open(path, &e.model, &diag), 0);
	e.bytes = calloc(e.model->n_funcs, 1);
	e.bound = calloc(e.model->n_imports + 1, 1);
	assert_int_equal(callers_by_name_mark(e.model, options, e.bytes, e.bound, &diag), 0);
	return e;
}

static struct entered mark(const char *dir, const struct library_options *options)
{
	return mark_file(dir, "main", options);
}

static bool is_entered(const struct entered *e, const char *name)
{
	uint32_t func = pugmark_model_func_named(e->model, name);
	assert_int_not_equal(func, PUGMARK_NONE);
	return e->bytes[func];
}

/* Whether some import called @name is bound; it has to be there. */
static bool is_bound(const struct entered *e, const char *name)
{
	bool bound = false, there = false;
	for (uint32_t i = 0; i < e->model->n_imports; i++)
		if (!strcmp(e->model->imports[i].name, name)) {
			there = true;
			bound |= e->bound[i];
		}
	assert_true(there);
	return bound;
}

static void entered_deinit(struct entered *e)
{
	pugmark_model_free(e->model);
	free(e->bytes);
	free(e->bound);
}

static void named_by_libraries(void **state)
{
	make_files(*state);
	struct entered e = mark(*state, &(struct library_options){0});
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
		mark(*state, &(struct library_options){.plugins = plugins, .n_plugins = 1});
	assert_true(is_entered(&e, "by_plugin"));
	assert_false(is_entered(&e, "by_nobody"));
	entered_deinit(&e);
}

/* A program that loads a library names it in its constant data; one that loads none may name what
 * it likes. */
static void named_by_what_is_loaded(void **state)
{
	static const char text[] = "int by_plugin(void) { return 4; }\n"
				   "int by_nobody(void) { return 5; }\n"
				   "void *dlopen(const char *, int); int puts(const char *);\n";
	const char *cc = getenv("CC") ? getenv("CC") : "cc", *dir = *state;
	make_files(dir);
	write_text(dir, "loads.c", text);
	write_text(dir, "names.c", text);
	shell("cd %s && echo 'int main(void) { return !dlopen(\"plug-in.so\", 1); }' >>loads.c && "
	      "echo 'int main(void) { return !puts(\"plug-in.so\"); }' >>names.c && "
	      "cp plugin.so plug-in.so && %s -rdynamic -o loads loads.c && "
	      "%s -rdynamic -o names names.c",
	      dir, cc, cc);
	const struct library_options options = {.library_path = dir};
	struct entered e = mark_file(dir, "loads", &options);
	assert_true(is_entered(&e, "by_plugin"));
	assert_false(is_entered(&e, "by_nobody"));
	entered_deinit(&e);
	e = mark_file(dir, "names", &options);
	assert_false(is_entered(&e, "by_plugin"));
	entered_deinit(&e);
	e = mark_file(dir, "loads", &(struct library_options){0}); /* where it is not found */
	assert_false(is_entered(&e, "by_plugin"));
	assert_false(is_entered(&e, "by_nobody"));
	entered_deinit(&e);
}

static void named_by_plugins_in_a_folder(void **state)
{
	struct module_files files = {0};
	char path[512];
	struct pugmark_diag diag;
	make_files(*state);
	shell("mkdir -p %s/mods/deep %s/none && cp %s/plugin.so %s/mods/deep/p.so.1 && "
	      "touch %s/mods/empty.so %s/none/text",
	      (char *)*state, (char *)*state, (char *)*state, (char *)*state, (char *)*state,
	      (char *)*state);
	snprintf(path, sizeof(path), "%s/mods", (char *)*state);
	assert_int_equal(module_files_add(&files, path, &diag), 0);
	assert_int_equal(files.n, 1); /* empty.so is no ELF file */
	struct entered e =
		mark(*state, &(struct library_options){.plugins = (const char *const *)files.at,
						       .n_plugins = files.n});
	assert_true(is_entered(&e, "by_plugin"));
	assert_false(is_entered(&e, "by_nobody"));
	entered_deinit(&e);
	snprintf(path, sizeof(path), "%s/none", (char *)*state);
	assert_int_equal(module_files_add(&files, path, &diag), -ENOEXEC);
	assert_non_null(strstr(diag.text, "no module"));
	snprintf(path, sizeof(path), "%s/nosuch", (char *)*state);
	assert_int_equal(module_files_add(&files, path, &diag), -ENOENT);
	module_files_deinit(&files);
}

static bool lists(const struct module_files *files, const char *dir, const char *name)
{
	char path[512];
	bool found = false;
	snprintf(path, sizeof(path), "%s/lib/%s", dir, name);
	for (uint32_t i = 0; i < files->n; i++)
		found |= !strcmp(files->at[i], path);
	return found;
}

/* As slapd's: back_mdb.so leads to back_mdb-2.5.so.0.1.8. And as janus': libNAME.so in a folder
 * that holds no libraries. */
static void modules_with_a_version(void **state)
{
	struct module_files files = {0};
	const char *dir = *state;
	char program[512];
	shell("cd %s && mkdir -p bin lib/mods && touch bin/p lib/mods/one.so lib/mods/two-2.so.0.1 "
	      "lib/libc.so.6 lib/mods/libfour.so.1.2 lib/mods/three.so.1 && "
	      "ln -s two-2.so.0.1 lib/mods/two.so && ln -s libc.so.6 lib/libc.so && "
	      "ln -s libfour.so.1.2 lib/mods/libfour.so && ln -s ../mods/three.so.1 "
	      "lib/mods/three.so",
	      dir);
	snprintf(program, sizeof(program), "%s/bin/p", dir);
	assert_int_equal(module_files_add_host(&files, program), 0);
	assert_true(lists(&files, dir, "mods/one.so"));
	assert_true(lists(&files, dir, "mods/two-2.so.0.1"));
	assert_true(lists(&files, dir, "mods/libfour.so.1.2"));
	assert_false(lists(&files, dir, "libc.so.6"));
	assert_false(lists(&files, dir, "mods/three.so.1"));
	module_files_deinit(&files);
}

/* The first of @modules, files in @dir, that is made for the program @dir/host; "": none. None is
 * where the program alone says that it asks for none. */
static const char *made_for_host(const char *dir, const char *const *modules, uint32_t n,
				 bool *asks)
{
	struct entered e = mark_file(dir, "host", &(struct library_options){0});
	struct pugmark_diag diag;
	char *paths[3];
	uint32_t at;
	assert_true(n <= 3);
	for (uint32_t i = 0; i < n; i++)
		assert_true(asprintf(&paths[i], "%s/%s", dir, modules[i]) > 0);
	assert_int_equal(plugin_interface_find(e.model, e.bytes, paths, n, &at, &diag), 0);
	assert_int_equal(plugin_interface_asks(e.model, e.bytes, asks, &diag), 0);
	assert_true(*asks || at == n);
	for (uint32_t i = 0; i < n; i++)
		free(paths[i]);
	entered_deinit(&e);
	return at < n ? modules[at] : "";
}

static void made_to_be_loaded(void **state)
{
	const char *dir = *state, *cc = getenv("CC") ? getenv("CC") : "cc";
	static const char *const modules[] = {"apart/good.so", "extras/plain.so",
					      "extras/alien.so"};
	bool asks;
	write_text(dir, "host.c",
		   "#include <dlfcn.h>\n#include <stdio.h>\n"
		   "int by_module(int x) { return x + 1; }\n"
		   "int main(int n, char **v) { char p[99]; snprintf(p, 99, \"%s/extras/m\", v[0]);"
		   " return !dlopen(p, 1); }\n");
	write_text(dir, "good.c",
		   "#include <math.h>\nint by_module(int);\n"
		   "int good(double x) { return by_module(1) + (int)exp(x); }\n");
	write_text(dir, "plain.c", "int plain(void) { return 1; }\n");
	write_text(dir, "alien.c",
		   "int by_module(int), other_host(void);\n"
		   "int alien(void) { return by_module(1) + other_host(); }\n");
	shell("cd %s && mkdir apart extras && %s -rdynamic -o host host.c && "
	      "%s -shared -fPIC -o apart/good.so good.c -lm && "
	      "for m in plain alien; do %s -shared -fPIC -o extras/$m.so $m.c || exit; done",
	      dir, cc, cc, cc);
	assert_string_equal(made_for_host(dir, modules, 3, &asks), ""); /* good.so is elsewhere */
	assert_true(asks);
	shell("cp %s/apart/good.so %s/extras/alien.so", dir, dir);
	assert_string_equal(made_for_host(dir, modules, 3, &asks), "extras/alien.so");
	/* A program that loads nothing is made for nobody's modules. */
	shell("cd %s && %s -rdynamic -Ddlopen=fputs_ -include stdio.h -o host host.c "
	      "-Wl,--defsym,fputs_=main",
	      dir, cc);
	assert_string_equal(made_for_host(dir, modules, 3, &asks), "");
	assert_false(asks);
	/* A library that it is linked with loads them for it, as libltdl does. */
	write_text(dir, "loader.c",
		   "#include <dlfcn.h>\nvoid *load(const char *p) { return dlopen(p, 1); }\n");
	shell("cd %s && %s -shared -fPIC -o libloader.so loader.c && "
	      "%s -rdynamic -Ddlopen=load_ -include stdio.h -o host host.c -Wl,--defsym,load_=main "
	      "-Wl,--no-as-needed,-rpath,%s -L. -lloader",
	      dir, cc, cc, dir);
	assert_string_equal(made_for_host(dir, modules, 3, &asks), "extras/alien.so");
}

static void missing_library(void **state)
{
	char path[512];
	make_files(*state);
	shell("mv %s/near/libb.so %s/elsewhere.so", (char *)*state, (char *)*state);
	struct entered e = mark(*state, &(struct library_options){0});
	assert_true(is_entered(&e, "by_nobody"));
	entered_deinit(&e);
	/* Found again by the path of the environment. */
	shell("mkdir %s/far && mv %s/elsewhere.so %s/far/libb.so", (char *)*state, (char *)*state,
	      (char *)*state);
	snprintf(path, sizeof(path), "/nowhere::%s/far", (char *)*state);
	e = mark(*state, &(struct library_options){.library_path = path});
	assert_true(is_entered(&e, "by_b"));
	assert_false(is_entered(&e, "by_nobody"));
	entered_deinit(&e);
}

static void damaged_library(void **state)
{
	make_files(*state);
	shell("head -c 200 %s/near/libb.so >%s/cut && mv %s/cut %s/near/libb.so", (char *)*state,
	      (char *)*state, (char *)*state, (char *)*state);
	struct entered e = mark(*state, &(struct library_options){0});
	assert_true(is_entered(&e, "by_nobody"));
	entered_deinit(&e);
}

/* Larger than any file that is read: what it names is not known, and that is no error. */
static void large_library(void **state)
{
	make_files(*state);
	shell("truncate -s 5G %s/near/libb.so", (char *)*state);
	struct entered e = mark(*state, &(struct library_options){0});
	assert_true(is_entered(&e, "by_nobody"));
	entered_deinit(&e);
}

/* An error of a file that is loaded first is not said of the module that is looked at behind it. */
static void library_that_cannot_be_read(void **state)
{
	char plugin[512];
	const char *const plugins[] = {plugin};
	struct pugmark_diag diag = {0};
	make_files(*state);
	snprintf(plugin, sizeof(plugin), "%s/plugin.so", (char *)*state);
	struct entered e = mark(*state, &(struct library_options){0});
	struct library_options options = {
		.preloaded = "/proc/self/mem", .plugins = plugins, .n_plugins = 1};
	assert_int_equal(callers_by_name_mark(e.model, &options, e.bytes, e.bound, &diag), -EIO);
	assert_string_equal(diag.file, "/proc/self/mem");
	entered_deinit(&e);
}

enum { CONSTANT = SHT_NUM }; /* what changes: constant data, else sections of that type */

/* Makes the headers of @dir/@name say that sections are elsewhere in the file. */
static void move_sections(const char *dir, const char *name, uint32_t type, uint64_t offset,
			  uint64_t bytes)
{
	char path[512];
	Elf64_Ehdr eh;
	uint32_t moved = 0;
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	FILE *f = fopen(path, "r+");
	assert_non_null(f);
	assert_int_equal(fread(&eh, sizeof(eh), 1, f), 1);
	for (uint32_t i = 0; i < eh.e_shnum; i++) {
		Elf64_Shdr sh;
		long at = (long)(eh.e_shoff + i * sizeof(sh));
		assert_int_equal(fseek(f, at, SEEK_SET), 0);
		assert_int_equal(fread(&sh, sizeof(sh), 1, f), 1);
		bool constant = sh.sh_type == SHT_PROGBITS && sh.sh_flags & SHF_ALLOC &&
				!(sh.sh_flags & (SHF_EXECINSTR | SHF_WRITE));
		if (type == CONSTANT ? !constant : sh.sh_type != type)
			continue;
		sh.sh_offset = offset;
		sh.sh_size = bytes;
		assert_int_equal(fseek(f, at, SEEK_SET), 0);
		assert_int_equal(fwrite(&sh, sizeof(sh), 1, f), 1);
		moved++;
	}
	assert_int_equal(fclose(f), 0);
	assert_true(moved > 0);
}

static void check_asked(const char *dir, bool all)
{
	struct entered e = mark_file(dir, "asked", &(struct library_options){0});
	assert_true(is_entered(&e, "by_text"));
	assert_int_equal(is_entered(&e, "by_nobody"), all);
	entered_deinit(&e);
}

/* A library asks for a function by a text. Where that is not in the file, or the sections together
 * are larger than it is, the text may be any. */
static void texts_that_cannot_be_read(void **state)
{
	const char *cc = getenv("CC") ? getenv("CC") : "cc", *dir = *state;
	write_text(dir, "asks.c",
		   "void *dlsym(void *, const char *);\n"
		   "int in_asks(void) { return !dlsym(0, \"by_text\"); }\n");
	write_text(dir, "asked.c",
		   "int by_text(void) { return 1; } int by_nobody(void) { return 2; }\n"
		   "int in_asks(void); int main(void) { return in_asks(); }\n");
	shell("cd %s && %s -shared -fPIC -o libasks.so asks.c && cp libasks.so sound.so && "
	      "%s -rdynamic -o asked asked.c -L. -lasks -Wl,-rpath,'$ORIGIN'",
	      dir, cc, cc);
	check_asked(dir, false);
	move_sections(dir, "libasks.so", CONSTANT, 1 << 28, 64);
	check_asked(dir, true);
	shell("cp %s/sound.so %s/libasks.so", dir, dir);
	move_sections(dir, "libasks.so", CONSTANT, 0, 12000); /* each is there */
	check_asked(dir, true);
}

/* The same where there is no memory for the texts. */
static void texts_that_there_is_no_memory_for(void **state)
{
	const char *cc = getenv("CC") ? getenv("CC") : "cc", *dir = *state;
	struct rlimit limit, before;
	unsigned long pages;
	if (SANITIZED) {
		print_message("sanitizers need more memory than can be limited\n");
		skip();
	}
	write_text(dir, "asks.c",
		   "void *dlsym(void *, const char *);\n"
		   "__attribute__((used)) static const char much[64 << 20] = {1};\n"
		   "int in_asks(void) { return !dlsym(0, \"by_text\"); }\n");
	write_text(dir, "asked.c",
		   "int by_text(void) { return 1; } int by_nobody(void) { return 2; }\n"
		   "int in_asks(void); int main(void) { return in_asks(); }\n");
	shell("cd %s && %s -shared -fPIC -o holes.so asks.c && cp --sparse=never holes.so "
	      "libasks.so && %s -rdynamic -o asked asked.c -L. -lasks -Wl,-rpath,'$ORIGIN'",
	      dir, cc, cc);
	/* What is given back is given back to the kernel, whatever the environment asks for. */
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
	check_asked(dir, false);
	FILE *f = fopen("/proc/self/statm", "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%lu", &pages), 1);
	fclose(f);
	assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
	limit = before;
	limit.rlim_cur = pages * (rlim_t)sysconf(_SC_PAGESIZE) + (32 << 20);
	assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
	struct entered e = mark_file(dir, "asked", &(struct library_options){0});
	assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
	assert_true(is_entered(&e, "by_nobody"));
	entered_deinit(&e);
}

/* How many files the program is linked with while @more descriptors are left, or -errno. */
static int linked_with(const char *dir, int more)
{
	struct library_options options = {0};
	struct pugmark_diag diag = {0};
	struct rlimit limit, before;
	char path[512], **files;
	uint32_t n;
	snprintf(path, sizeof(path), "%s/main", dir);
	int lowest = dup(0);
	assert_true(lowest >= 0);
	close(lowest);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	limit = before;
	limit.rlim_cur = (rlim_t)(lowest + more);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	int err = library_files(path, &options, &files, &n, &diag);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	for (uint32_t i = 0; !err && i < n; i++)
		free(files[i]);
	if (!err)
		free(files);
	return err ? err : (int)n;
}

/* A library that cannot be opened for want of descriptors is none that is not there. */
static void libraries_that_no_descriptor_is_left_for(void **state)
{
	const char *dir = *state;
	make_files(dir);
	int all = linked_with(dir, 8);
	assert_true(all > 0);
	for (int more = 0; more < 8; more++) {
		int n = linked_with(dir, more);
		assert_true(n == all || n == -EMFILE);
	}
	assert_int_equal(linked_with(dir, 2), -EMFILE);
}

/* libelf's, but that it may have no memory. */
static bool no_memory;
Elf *elf_begin(int fd, Elf_Cmd cmd, Elf *ref)
{
	Elf *(*next)(int, Elf_Cmd, Elf *) = dlsym(RTLD_NEXT, "elf_begin");
	errno = no_memory ? ENOMEM : errno;
	return no_memory ? NULL : next(fd, cmd, ref);
}
Elf *elf_memory(char *image, size_t len)
{
	Elf *(*next)(char *, size_t) = dlsym(RTLD_NEXT, "elf_memory");
	errno = no_memory ? ENOMEM : errno;
	return no_memory ? NULL : next(image, len);
}

static void files_that_libelf_has_no_memory_for(void **state)
{
	const char *dir = *state;
	struct private_elf file = {.elf = NULL};
	char library[512];
	make_files(dir);
	snprintf(library, sizeof(library), "%s/near/liba.so", dir);
	no_memory = true;
	int whole = private_elf_open(library, &file),
	    parts = private_elf_open_parts(library, &file);
	no_memory = false;
	assert_int_equal(whole, -ENOMEM);
	assert_int_equal(parts, -ENOMEM);
	assert_int_equal(private_elf_open("/etc/passwd", &file), -ENOEXEC);
	assert_int_equal(private_elf_open_parts("/etc/passwd", &file), -ENOEXEC);
}

/* What a library exports is not known while no descriptor is left: that is no answer. */
static void files_that_no_descriptor_is_left_for(void **state)
{
	const char *dir = *state;
	struct rlimit limit, before;
	struct pugmark_diag diag = {0};
	uint8_t traced[64] = {0}, entered[64] = {0};
	uint32_t at;
	make_files(dir);
	char library[512];
	snprintf(library, sizeof(library), "%s/near/liba.so", dir);
	const char *files[] = {library};
	char *modules[] = {library};
	struct entered e = mark(dir, &(struct library_options){0});
	const struct pugmark_model *m = e.model;
	assert_true(m->n_imports < 64 && m->n_funcs < 64);
	int lowest = dup(0);
	assert_true(lowest >= 0);
	close(lowest);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	limit = before;
	limit.rlim_cur = (rlim_t)lowest;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	int by_name = callers_by_name_mark_traced(m, files, 1, traced);
	int interface = plugin_interface_find(m, entered, modules, 1, &at, &diag);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(by_name, -EMFILE);
	assert_int_equal(interface, -EMFILE);
	assert_int_equal(callers_by_name_mark_traced(m, files, 1, traced), 0);
	assert_non_null(memchr(traced, 1, m->n_imports));
	entered_deinit(&e);
}

static bool count_symbol(void *ctx, const char *name, const GElf_Sym *sym)
{
	(void)name;
	(void)sym;
	++*(uint32_t *)ctx;
	return true;
}

/* Neither symbols nor names that are not in the file are taken for none. */
static void symbols_that_cannot_be_read(void **state)
{
	const char *cc = getenv("CC") ? getenv("CC") : "cc", *dir = *state;
	static const uint32_t types[] = {SHT_NULL, SHT_DYNSYM, SHT_STRTAB};
	write_text(dir, "own.c", "int mine(int i) { return i; }\n");
	shell("cd %s && %s -shared -fPIC -o own.so own.c && cp own.so sound.so", dir, cc);
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		private_elf_guard struct private_elf file = {.elf = NULL};
		char path[512];
		uint32_t n = 0;
		shell("cp %s/sound.so %s/own.so", dir, dir);
		if (types[i] != SHT_NULL)
			move_sections(dir, "own.so", types[i], 1 << 28, 48);
		snprintf(path, sizeof(path), "%s/own.so", dir);
		assert_int_equal(private_elf_open_parts(path, &file), 0);
		assert_int_equal(dynamic_symbols_each(file.elf, count_symbol, &n),
				 i ? -EBADMSG : 0);
		assert_int_equal(n > 0, !i);
	}
}

/* A library that calls its own exports `mine` and `yours`, and runs of it. */
static void make_library(const char *dir)
{
	const char *cc = getenv("CC") ? getenv("CC") : "cc";
	write_text(
		dir, "own.c",
		"int mine(int i) { return i; } int yours(int i) { return i + 1; }\n"
		"int calls(int i) { return mine(i) + yours(i); } int dark(void) { return 1; }\n");
	write_text(dir, "runs.c", "int calls(int); int main(void) { return calls(1); }\n");
	write_text(dir, "asks.c",
		   "int calls(int); void *dlsym(void *, const char *);\n"
		   "int main(void) { return calls(1) + !dlsym(0, \"dark\"); }\n");
	write_text(dir, "alone.c", "int main(void) { return 0; }\n");
	write_text(dir, "takes.c", "int yours(int i) { return i + 2; }\n");
	shell("cd %s && for z in now lazy; do %s -O1 -fno-inline -fno-ipa-cp "
	      "-fsemantic-interposition -shared -fPIC "
	      "-Wl,-z,$z -o libown-$z.so own.c; done && cp libown-now.so libown.so && "
	      "%s -o runs runs.c -L. -lown -Wl,-rpath,'$ORIGIN' && "
	      "%s -o asks asks.c -L. -lown -ldl -Wl,-rpath,'$ORIGIN' && %s -o alone alone.c && "
	      "%s -shared -fPIC -o takes.so takes.c && rm libown.so && ln libown-now.so libown.so",
	      dir, cc, cc, cc, cc, cc);
}

static struct entered mark_library(const char *dir, const char *name, const char *user,
				   struct library_options options)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/%s", dir, user);
	const char *plugins[] = {path};
	options.plugins = plugins;
	options.n_plugins = 1;
	return mark_file(dir, name, &options);
}

static void own_calls_of_a_library(void **state)
{
	char path[512];
	make_library(*state);
	struct entered e = mark_file(*state, "libown-now.so", &(struct library_options){0});
	assert_true(is_bound(&e, "mine") && is_bound(&e, "yours"));
	entered_deinit(&e);
	e = mark_file(*state, "libown-lazy.so", &(struct library_options){0});
	assert_false(is_bound(&e, "mine") || is_bound(&e, "yours"));
	entered_deinit(&e);
	e = mark_library(*state, "libown-now.so", "takes.so", (struct library_options){0});
	assert_true(is_bound(&e, "mine"));
	assert_false(is_bound(&e, "yours"));
	entered_deinit(&e);
	snprintf(path, sizeof(path), "/nowhere/gone.so:%s/takes.so", (char *)*state);
	e = mark_library(*state, "libown-now.so", "runs",
			 (struct library_options){.preloaded = path});
	assert_true(is_bound(&e, "mine"));
	assert_false(is_bound(&e, "yours"));
	entered_deinit(&e);
}

static void a_library_as_its_programs_enter_it(void **state)
{
	make_library(*state);
	struct entered e =
		mark_library(*state, "libown-now.so", "runs", (struct library_options){0});
	assert_true(is_entered(&e, "calls"));
	assert_false(is_entered(&e, "mine"));
	assert_false(is_entered(&e, "dark"));
	entered_deinit(&e);
	/* Any of them: by nobody known, by name, by a program that is not linked with it. */
	const char *const users[] = {"takes.so", "asks", "alone"};
	for (int i = 0; i < 3; i++) {
		e = mark_library(*state, "libown-now.so", users[i], (struct library_options){0});
		assert_true(is_entered(&e, "mine") && is_entered(&e, "dark"));
		entered_deinit(&e);
	}
	e = mark_library(*state, "libown-now.so", "runs",
			 (struct library_options){.any_program = true});
	assert_true(is_entered(&e, "dark"));
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
		cmocka_unit_test_setup_teardown(named_by_what_is_loaded, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(named_by_plugins_in_a_folder, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(modules_with_a_version, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(made_to_be_loaded, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(missing_library, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(large_library, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(library_that_cannot_be_read, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(damaged_library, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(texts_that_cannot_be_read, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(texts_that_there_is_no_memory_for, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(files_that_no_descriptor_is_left_for, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(libraries_that_no_descriptor_is_left_for,
						scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(files_that_libelf_has_no_memory_for, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(symbols_that_cannot_be_read, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(own_calls_of_a_library, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(a_library_as_its_programs_enter_it, scratch_setup,
						scratch_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* needed.c: follows DT_NEEDED as the dynamic linker does (DT_RPATH, LD_LIBRARY_PATH, DT_RUNPATH,
 * /etc/ld.so.cache, the standard folders), each file once, and looks its .dynsym's names up among
 * the program's exported ones: those that are asked for may be entered, those that are defined may
 * come first where the program's own code asks. Files are read by libelf; the cache, which anyone
 * may have written, is checked here. */
#include "offline/needed.h"

#include "offline/needed_strings.h"
#include "offline/vec.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_MAX = 4096, CACHE_X86_64 = 0x0303 };

/* An exported name of the program; several may be of one function. */
struct exported {
	char *name;
	uint32_t func;	/* PUGMARK_NONE: of none */
	bool elsewhere; /* another file defines it as well */
};

/* A file that was looked at, or is to be. */
struct file {
	dev_t dev;
	ino_t ino;
	char *path;
};

struct search {
	const struct pugmark_model *model; /* NULL: only files are looked for */
	const struct needed_options *options;
	const char *program; /* where it is: for $ORIGIN */
	uint8_t *entered;
	VEC(struct exported) exported;
	VEC(struct file) files;
	struct file own; /* the program's: what needs it leads back to it */
	char *rpath;	 /* DT_RPATH of the program: holds for its libraries as well */
	bool missing, failed;
	bool eager;    /* the program's slots are filled before any of its code runs */
	bool linked;   /* something that is run needs it */
	bool run;      /* a file that is run is among the others */
	bool by_names; /* one of them asks for functions at run time, by their names */
	bool asks;     /* the file at hand does */
	bool asked;    /* one of all files does */
};

/* glibc's sysdeps/generic/dl-cache.h, the format since 2.2. */
struct cache_entry {
	int32_t flags;
	uint32_t key, value; /* offsets of strings in the file */
	uint32_t os_version;
	uint64_t hwcap;
};
struct cache_header {
	char magic[20]; /* with the version */
	uint32_t n_libs, len_strings;
	uint32_t rest[5];
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static void end_elf(Elf **elf)
{
	elf_end(*elf);
}

static char *copied(struct search *s, const char *text)
{
	char *copy = strdup(text);
	s->failed |= !copy;
	return copy;
}

/* Puts the file at @path on the list, unless it is there. Returns whether it is an ELF file of
 * x86-64. */
static bool add_file(struct search *s, const char *path)
{
	__attribute__((cleanup(close_fd))) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	Elf64_Ehdr eh;
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) ||
	    pread(fd, &eh, sizeof(eh), 0) != sizeof(eh) || memcmp(eh.e_ident, ELFMAG, SELFMAG) ||
	    eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_machine != EM_X86_64)
		return false;
	if (s->own.path && s->own.dev == st.st_dev && s->own.ino == st.st_ino) {
		s->linked = true;
		return true;
	}
	for (uint32_t i = 0; i < s->files.n; i++)
		if (s->files.at[i].dev == st.st_dev && s->files.at[i].ino == st.st_ino)
			return true;
	if (s->files.n == FILES_MAX) {
		s->missing = true;
		return true;
	}
	struct file file = {st.st_dev, st.st_ino, copied(s, path)};
	if (!file.path || !VEC_PUSH(&s->files, file)) {
		free(file.path);
		s->failed = true;
	}
	return true;
}

/* @folder with $ORIGIN, and what else may stand there, in place. */
static bool expand(const char *folder, size_t len, const char *origin, char *out, size_t room)
{
	static const char *const names[] = {"$ORIGIN", "${ORIGIN}", "$LIB", "${LIB}"};
	const char *const values[] = {origin, origin, "lib/x86_64-linux-gnu",
				      "lib/x86_64-linux-gnu"};
	size_t n = 0;
	for (const char *end = folder + len; folder < end;) {
		const char *value = NULL;
		for (int i = 0; i < 4 && !value; i++) {
			size_t name_len = strlen(names[i]);
			if (name_len <= (size_t)(end - folder) &&
			    !memcmp(folder, names[i], name_len)) {
				value = values[i];
				folder += name_len;
			}
		}
		size_t add = value ? strlen(value) : 1;
		if (n + add >= room)
			return false;
		memcpy(out + n, value ? value : folder, add);
		n += add;
		folder += value ? 0 : 1;
	}
	out[n] = 0;
	return n > 0;
}

/* Looks for @name in the folders of @list, which are separated by colons. */
static bool find_in(struct search *s, const char *list, const char *name, const char *user)
{
	char origin[PATH_MAX], folder[PATH_MAX], path[2 * PATH_MAX];
	if (!list)
		return false;
	snprintf(origin, sizeof(origin), "%s", user);
	char *slash = strrchr(origin, '/');
	if (slash)
		*slash = 0;
	else
		strcpy(origin, ".");
	while (*list) {
		size_t len = strcspn(list, ":");
		if (expand(list, len, origin, folder, sizeof(folder))) {
			snprintf(path, sizeof(path), "%s/%s", folder, name);
			if (add_file(s, path))
				return true;
		}
		list += len + (list[len] == ':');
	}
	return false;
}

static const char *cache_string(const char *map, size_t size, uint32_t off)
{
	return off < size && memchr(map + off, 0, size - off) ? map + off : NULL;
}

static bool find_in_cache(struct search *s, const char *name)
{
	__attribute__((cleanup(close_fd))) int fd = open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC);
	struct stat st;
	struct cache_header h;
	if (fd < 0 || fstat(fd, &st) || (size_t)st.st_size < sizeof(h))
		return false;
	size_t size = st.st_size;
	char *map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return false;
	memcpy(&h, map, sizeof(h));
	bool found = false;
	if (!memcmp(h.magic, "glibc-ld.so.cache1.1", sizeof(h.magic)) &&
	    h.n_libs <= (size - sizeof(h)) / sizeof(struct cache_entry))
		for (uint32_t i = 0; i < h.n_libs && !found; i++) {
			struct cache_entry e;
			memcpy(&e, map + sizeof(h) + i * sizeof(e), sizeof(e));
			const char *key = cache_string(map, size, e.key);
			const char *path = cache_string(map, size, e.value);
			if (e.flags == CACHE_X86_64 && key && path && !strcmp(key, name))
				found = add_file(s, path);
		}
	munmap(map, size);
	return found;
}

static void find_library(struct search *s, const char *name, const char *user, const char *rpath,
			 const char *runpath)
{
	static const char standard[] = "/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu:/lib64:"
				       "/usr/lib64:/lib:/usr/lib";
	if (strchr(name, '/')) {
		s->missing |= !add_file(s, name);
		return;
	}
	/* DT_RPATH is ignored where there is a DT_RUNPATH. */
	if (!runpath && (find_in(s, rpath, name, user) || find_in(s, s->rpath, name, s->program)))
		return;
	if (find_in(s, s->options->library_path, name, user) || find_in(s, runpath, name, user) ||
	    find_in_cache(s, name) || find_in(s, standard, name, user))
		return;
	s->missing = true;
}

/* The string of the next entry with @tag, from entry *@at on. */
static const char *dynamic_string(Elf *elf, const GElf_Shdr *sh, Elf_Data *data, int64_t tag,
				  size_t *at)
{
	size_t n = sh->sh_entsize ? data->d_size / sh->sh_entsize : 0;
	GElf_Dyn dyn;
	while (*at < n && gelf_getdyn(data, (*at)++, &dyn))
		if (dyn.d_tag == tag)
			return elf_strptr(elf, sh->sh_link, dyn.d_un.d_val);
	return NULL;
}

/* Whether all of the file's slots are filled before any of its code runs. */
static bool binds_at_once(const GElf_Shdr *sh, Elf_Data *data)
{
	size_t n = sh->sh_entsize ? data->d_size / sh->sh_entsize : 0;
	GElf_Dyn dyn;
	for (size_t i = 0; i < n && gelf_getdyn(data, i, &dyn); i++)
		if (dyn.d_tag == DT_BIND_NOW ||
		    (dyn.d_tag == DT_FLAGS && dyn.d_un.d_val & DF_BIND_NOW) ||
		    (dyn.d_tag == DT_FLAGS_1 && dyn.d_un.d_val & DF_1_NOW))
			return true;
	return false;
}

static void read_dynamic(struct search *s, Elf *elf, const GElf_Shdr *sh, Elf_Data *data,
			 const char *user)
{
	size_t at = 0;
	const char *rpath = dynamic_string(elf, sh, data, DT_RPATH, &at);
	at = 0;
	const char *runpath = dynamic_string(elf, sh, data, DT_RUNPATH, &at);
	if (user == s->program && rpath && !runpath && !s->rpath)
		s->rpath = copied(s, rpath);
	if (user == s->program)
		s->eager = binds_at_once(sh, data);
	at = 0;
	for (const char *name; (name = dynamic_string(elf, sh, data, DT_NEEDED, &at));)
		find_library(s, name, user, rpath, runpath);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct exported *)a)->name, ((const struct exported *)b)->name);
}

/* The first of the program's exported names that is @name, and in *@n how many are. */
static struct exported *exported_named(struct search *s, const char *name, uint32_t *n)
{
	struct exported key = {.name = (char *)name};
	struct exported *e =
		s->exported.n ? bsearch(&key, s->exported.at, s->exported.n, sizeof(key), by_name)
			      : NULL;
	*n = 0;
	if (!e)
		return NULL;
	while (e > s->exported.at && !strcmp(e[-1].name, name))
		e--;
	while (e + *n < s->exported.at + s->exported.n && !strcmp(e[*n].name, name))
		++*n;
	return e;
}

/* What the file imports to ask for functions by their names. */
static void note_asking(struct search *s, const char *name, bool own)
{
	s->asks |= !strcmp(name, "dlsym") || !strcmp(name, "dlvsym");
	s->by_names |= !own && (s->asks || !strcmp(name, "dlopen") || !strcmp(name, "dlmopen"));
}

/* A text that dlsym() may be asked for. */
static void mark_text(void *ctx, const char *text)
{
	struct search *s = ctx;
	uint32_t n;
	struct exported *e = exported_named(s, text, &n);
	for (uint32_t i = 0; i < n; i++)
		if (e[i].func != PUGMARK_NONE)
			s->entered[e[i].func] = 1;
}

static void mark_name(struct search *s, const char *name, bool defined)
{
	uint32_t n;
	struct exported *e = exported_named(s, name, &n);
	for (uint32_t i = 0; i < n; i++) {
		e[i].elsewhere |= defined;
		if (e[i].func != PUGMARK_NONE)
			s->entered[e[i].func] = 1;
	}
}

static void export_name(struct search *s, const char *name, uint64_t addr)
{
	uint32_t func = pugmark_model_func_at(s->model, addr);
	if (func != PUGMARK_NONE && s->model->funcs[func].addr != addr)
		func = PUGMARK_NONE;
	struct exported e = {.name = copied(s, name), .func = func};
	if (!e.name || !VEC_PUSH(&s->exported, e)) {
		free(e.name);
		s->failed = true;
	}
}

/* The program's own table says what it exports; the others', what they name. */
static void read_symbols(struct search *s, Elf *elf, const GElf_Shdr *sh, Elf_Data *data, bool own)
{
	size_t n = sh->sh_entsize ? data->d_size / sh->sh_entsize : 0;
	GElf_Sym sym;
	for (size_t i = 1; i < n && gelf_getsym(data, i, &sym); i++) {
		const char *name = elf_strptr(elf, sh->sh_link, sym.st_name);
		if (!name || GELF_ST_BIND(sym.st_info) == STB_LOCAL)
			continue;
		if (sym.st_shndx == SHN_UNDEF)
			note_asking(s, name, own);
		if (!own)
			mark_name(s, name, sym.st_shndx != SHN_UNDEF);
		else if (sym.st_shndx != SHN_UNDEF)
			export_name(s, name, sym.st_value);
	}
	if (own && s->exported.n)
		qsort(s->exported.at, s->exported.n, sizeof(*s->exported.at), by_name);
}

/* Whether the kernel runs it: it names the dynamic linker. */
static bool is_run(Elf *elf)
{
	GElf_Phdr ph;
	size_t n = 0;
	elf_getphdrnum(elf, &n);
	for (size_t i = 0; i < n && gelf_getphdr(elf, i, &ph); i++)
		if (ph.p_type == PT_INTERP)
			return true;
	return false;
}

static int read_file(struct search *s, const char *path, bool own)
{
	__attribute__((cleanup(close_fd))) int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	__attribute__((cleanup(end_elf))) Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF)
		return -ENOEXEC;
	bool any = false;
	s->asks = false;
	s->run |= !own && is_run(elf);
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn)) && !s->failed;) {
		GElf_Shdr sh;
		if (!gelf_getshdr(scn, &sh) ||
		    (sh.sh_type != SHT_DYNAMIC && sh.sh_type != SHT_DYNSYM))
			continue;
		Elf_Data *data = elf_getdata(scn, NULL);
		if (!data)
			return -EBADMSG;
		any = true;
		if (sh.sh_type == SHT_DYNAMIC)
			read_dynamic(s, elf, &sh, data, own ? s->program : path);
		else if (s->model)
			read_symbols(s, elf, &sh, data, own);
	}
	s->asked |= s->asks;
	if (s->asks && s->exported.n)
		needed_strings(elf, mark_text, s);
	return any || own ? 0 : -ENODATA;
}

/* Some library asks for functions by names that the program, which does not, may have given it. */
static void read_own_strings(struct search *s, const char *path)
{
	__attribute__((cleanup(close_fd))) int fd = open(path, O_RDONLY | O_CLOEXEC);
	__attribute__((cleanup(end_elf))) Elf *elf =
		fd < 0 ? NULL : elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF && s->exported.n)
		needed_strings(elf, mark_text, s);
}

static void close_fts(FTS **fts)
{
	if (*fts)
		fts_close(*fts);
}

/* Puts a module that is loaded later on the list, or all those below a folder of them. */
static int add_plugin(struct search *s, const char *path, struct pugmark_diag *diag)
{
	struct stat st;
	if (stat(path, &st))
		return pugmark_diag_set(diag, -errno, path, PUGMARK_NO_OFFSET, "%s",
					strerror(errno));
	if (!S_ISDIR(st.st_mode)) {
		if (add_file(s, path))
			return 0;
		return pugmark_diag_set(diag, -ENOEXEC, path, PUGMARK_NO_OFFSET,
					"not an ELF file of x86-64");
	}
	char *const roots[] = {(char *)path, NULL};
	__attribute__((cleanup(close_fts))) FTS *fts =
		fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	FTSENT *at;
	bool any = false;
	while (fts && (at = fts_read(fts)))
		if (at->fts_info == FTS_F && strstr(at->fts_name, ".so"))
			any |= add_file(s, at->fts_path);
	if (any)
		return 0;
	return pugmark_diag_set(diag, -ENOEXEC, path, PUGMARK_NO_OFFSET,
				"no module of x86-64 is below this folder");
}

/* Puts those on the list that the dynamic linker loads first. What of them is not found, it goes
 * without. */
static void add_preloaded(struct search *s, const char *list)
{
	char name[PATH_MAX];
	bool missing = s->missing;
	while (list && *list) {
		size_t len = strcspn(list, " :\t\n");
		if (len && len < sizeof(name)) {
			memcpy(name, list, len);
			name[len] = 0;
			find_library(s, name, s->program, NULL, NULL);
		}
		list += len + (list[len] != 0);
	}
	s->missing = missing;
}

static void add_preloaded_everywhere(struct search *s)
{
	char list[PATH_MAX] = "";
	__attribute__((cleanup(close_fd))) int fd =
		open("/etc/ld.so.preload", O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && read(fd, list, sizeof(list) - 1) > 0)
		add_preloaded(s, list);
}

/* Follows DT_NEEDED from @path on through all that is found. */
static int follow(struct search *s, const char *path, struct pugmark_diag *diag)
{
	const struct needed_options *options = s->options;
	struct stat st;
	s->program = options->origin ? options->origin : path;
	if (s->model && !stat(path, &st))
		s->own = (struct file){st.st_dev, st.st_ino, (char *)path};
	elf_version(EV_CURRENT);
	int err = read_file(s, path, true);
	if (err == -EBADMSG || err == -ENOEXEC)
		pugmark_diag_set(diag, err, path, PUGMARK_NO_OFFSET,
				 "damaged: its dynamic sections cannot be read, and so not what it "
				 "needs (get a whole copy, or plan with --exports all)");
	else if (err)
		pugmark_diag_set(diag, err, path, PUGMARK_NO_OFFSET, "%s", strerror(-err));
	if (!err && s->model) {
		add_preloaded(s, options->preloaded);
		add_preloaded_everywhere(s);
	}
	for (uint32_t i = 0; !err && i < options->n_plugins; i++)
		err = add_plugin(s, options->plugins[i], diag);
	for (uint32_t i = 0; !err && i < s->files.n && !s->failed; i++)
		s->missing |= read_file(s, s->files.at[i].path, false) != 0;
	return !err && s->failed ? -ENOMEM : err;
}

static void search_deinit(struct search *s)
{
	for (uint32_t i = 0; i < s->exported.n; i++)
		free(s->exported.at[i].name);
	for (uint32_t i = 0; i < s->files.n; i++)
		free(s->files.at[i].path);
	VEC_FREE(&s->exported);
	VEC_FREE(&s->files);
	free(s->rpath);
}

/* Of the imports that the file defines itself, those that no other file does. */
static void mark_bound(struct search *s, uint8_t *bound)
{
	const struct pugmark_model *model = s->model;
	bool chooses = false;
	for (uint32_t f = 0; f < model->n_funcs; f++)
		chooses |= model->funcs[f].flags & FUNC_IFUNC; /* runs while slots are filled */
	for (uint32_t i = 0; s->eager && !chooses && i < model->n_imports; i++) {
		const struct pugmark_import *import = &model->imports[i];
		uint32_t n;
		const struct exported *e = exported_named(s, import->name, &n);
		bound[i] = n == 1 && !e->elsewhere && !import->ifunc &&
			   import->local_func != PUGMARK_NONE && e->func == import->local_func;
	}
}

int needed_mark(const struct pugmark_model *model, const struct needed_options *options,
		uint8_t *entered, uint8_t *bound, struct pugmark_diag *diag)
{
	struct search s = {.model = model, .options = options, .entered = entered};
	int err = follow(&s, model->path, diag);
	bool by_whom = model->entry || (s.run && s.linked && !s.by_names && !options->any_program);
	if (!err && s.asked)
		read_own_strings(&s, model->path);
	if (!err)
		mark_bound(&s, bound);
	for (uint32_t i = 0; (s.missing || !by_whom) && i < s.exported.n; i++)
		if (s.exported.at[i].func != PUGMARK_NONE)
			entered[s.exported.at[i].func] = 1;
	search_deinit(&s);
	return err;
}

int needed_files(const char *path, const struct needed_options *options, char ***out, uint32_t *n,
		 struct pugmark_diag *diag)
{
	struct search s = {.options = options};
	int err = follow(&s, path, diag);
	char **files = err ? NULL : calloc(s.files.n + 1, sizeof(*files));
	if (!err && !files)
		err = -ENOMEM;
	for (uint32_t i = 0; !err && i < s.files.n; i++) {
		files[i] = s.files.at[i].path;
		s.files.at[i].path = NULL;
	}
	if (!err) {
		*out = files;
		*n = s.files.n;
	}
	search_deinit(&s);
	return err;
}

static void mark_exports(const struct pugmark_model *model, Elf *elf, uint8_t *traced)
{
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr sh;
		GElf_Sym sym;
		Elf_Data *data;
		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_DYNSYM ||
		    !(data = elf_getdata(scn, NULL)))
			continue;
		size_t n = sh.sh_entsize ? data->d_size / sh.sh_entsize : 0;
		for (size_t i = 1; i < n && gelf_getsym(data, i, &sym); i++) {
			const char *name = elf_strptr(elf, sh.sh_link, sym.st_name);
			if (!name || sym.st_shndx == SHN_UNDEF ||
			    GELF_ST_BIND(sym.st_info) == STB_LOCAL)
				continue;
			for (uint32_t k = 0; k < model->n_imports; k++)
				traced[k] |= !strcmp(model->imports[k].name, name);
		}
	}
}

void needed_mark_traced(const struct pugmark_model *model, const char *const *files, uint32_t n,
			uint8_t *traced)
{
	elf_version(EV_CURRENT);
	for (uint32_t i = 0; i < n; i++) {
		__attribute__((cleanup(close_fd))) int fd = open(files[i], O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		__attribute__((cleanup(end_elf))) Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
		if (elf && elf_kind(elf) == ELF_K_ELF)
			mark_exports(model, elf, traced);
	}
}

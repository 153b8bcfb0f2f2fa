// SPDX-License-Identifier: LGPL-2.1-or-later
/* callers_by_name.c: follows DT_NEEDED through the files that library_search.c finds, each once,
 * and looks the names of each .dynsym up among the names that the program exports. A function whose
 * name a file imports may be entered by it; a name that a file defines may come first where the
 * program's own code asks for it. */
#include "offline/link/callers_by_name.h"

#include "offline/base/hash.h"
#include "offline/elf/dynamic_symbols.h"
#include "offline/elf/private_elf.h"
#include "offline/elf/section_data.h"
#include "offline/link/constant_strings.h"
#include "offline/link/library_search.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* An exported name of the program; several may be of one function. */
struct exported {
	char *name;
	uint64_t hash;	/* of the name; names are in the order of these */
	uint32_t func;	/* PUGMARK_NONE: of none */
	bool elsewhere; /* another file defines it as well */
};

struct search {
	const struct pugmark_model *model; /* NULL: only files are looked for */
	struct library_search found;
	uint8_t *entered;
	VEC(struct exported) exported;
	bool eager;    /* the program's slots are filled before any of its code runs */
	bool run;      /* a file that is run is among the others */
	bool by_names; /* one of them asks for functions at run time, by their names */
	bool asks;     /* the file at hand does */
	bool asked;    /* one of all files does */
	bool loads;    /* the program loads libraries at run time */
};

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
	if (user == s->found.program && rpath && !runpath && !s->found.rpath) {
		s->found.rpath = strdup(rpath);
		s->found.failed = s->found.rpath ? s->found.failed : -ENOMEM;
	}
	if (user == s->found.program)
		s->eager = binds_at_once(sh, data);
	at = 0;
	for (const char *name; (name = dynamic_string(elf, sh, data, DT_NEEDED, &at));)
		library_search_library(&s->found, name, user, rpath, runpath);
}

static int by_name(const void *a, const void *b)
{
	const struct exported *x = a, *y = b;
	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* The first of the program's exported names that is @name, and in *@n how many are. */
static struct exported *exported_named(struct search *s, const char *name, uint32_t *n)
{
	struct exported key = {.name = (char *)name, .hash = hash_bytes(name, strlen(name))};
	struct exported *e =
		s->exported.n ? bsearch(&key, s->exported.at, s->exported.n, sizeof(key), by_name)
			      : NULL;
	*n = 0;
	if (!e)
		return NULL;
	while (e > s->exported.at && !by_name(e - 1, &key))
		e--;
	while (e + *n < s->exported.at + s->exported.n && !by_name(e + *n, &key))
		++*n;
	return e;
}

/* Notes imports by which a file asks for functions at run time, by their names. */
static void note_asking(struct search *s, const char *name, bool own)
{
	s->asks |= !strcmp(name, "dlsym") || !strcmp(name, "dlvsym");
	bool loads = !strcmp(name, "dlopen") || !strcmp(name, "dlmopen");
	s->loads |= own && loads;
	s->by_names |= !own && (s->asks || loads);
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

/* A text that dlopen() may be asked for. */
static void add_named(void *ctx, const char *text)
{
	struct search *s = ctx;
	const char *suffix = strstr(text, ".so");
	if (suffix && (!suffix[3] || suffix[3] == '.'))
		library_search_named(&s->found, text);
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
	struct exported e = {
		.name = strdup(name), .hash = hash_bytes(name, strlen(name)), .func = func};
	if (!e.name || !VEC_PUSH(&s->exported, e)) {
		free(e.name);
		s->found.failed = -ENOMEM;
	}
}

/* Reads a dynamic symbol table: the program's own says what it exports, another file's what it
 * imports and defines. */
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

/* Where not all texts can be read, any name may be among the others. */
static void read_texts(struct search *s, const struct private_elf *file, enum needed_text what)
{
	s->found.missing |=
		constant_strings(file, what, what == TEXT_SYMBOL ? mark_text : add_named, s) != 0;
}

static int read_file(struct search *s, const char *path, bool own)
{
	private_elf_guard struct private_elf file = {.elf = NULL};
	int err = private_elf_open_parts(path, &file);
	if (err)
		return err;
	Elf *elf = file.elf;
	bool any = false;
	s->asks = false;
	s->run |= !own && is_run(elf);
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn)) && !s->found.failed;) {
		GElf_Shdr sh;
		Elf_Data *data;
		if (!gelf_getshdr(scn, &sh) ||
		    (sh.sh_type != SHT_DYNAMIC && sh.sh_type != SHT_DYNSYM))
			continue;
		err = section_table(elf, scn, &sh, &data);
		if (err)
			return err;
		if (!data)
			continue;
		any = true;
		if (sh.sh_type == SHT_DYNAMIC)
			read_dynamic(s, elf, &sh, data, own ? s->found.program : path);
		else if (s->model)
			read_symbols(s, elf, &sh, data, own);
	}
	s->asked |= s->asks;
	if (s->asks && s->exported.n)
		read_texts(s, &file, TEXT_SYMBOL);
	if (own && s->loads && s->model->entry)
		read_texts(s, &file, TEXT_LIBRARY);
	return any || own ? 0 : -ENODATA;
}

/* Takes the texts of the program's own constant data as names that may be asked for: some library
 * asks by names, and the program, which does not, may have given it the name. */
static void read_own_strings(struct search *s, const char *path)
{
	private_elf_guard struct private_elf file = {.elf = NULL};
	if (!s->exported.n)
		return;
	if (private_elf_open_parts(path, &file)) /* any name may be there */
		s->found.missing = true;
	else
		read_texts(s, &file, TEXT_SYMBOL);
}

/* Whether the recorder has too little to read any file: that is no fault of the one that it read.
 * Whatever stands in a file that is too large, or damaged, or being written to, is `missing`. */
static bool is_of_recorder(int err)
{
	return err == -ENOMEM || err == -EMFILE || err == -ENFILE;
}

/* Follows DT_NEEDED from @path on through all that is found. */
static int follow(struct search *s, const char *path, struct pugmark_diag *diag)
{
	const struct library_options *options = s->found.options;
	struct stat st;
	s->found.program = options->origin ? options->origin : path;
	if (s->model && !stat(path, &st))
		s->found.own = (struct library_file){st.st_dev, st.st_ino, (char *)path};
	int err = read_file(s, path, true);
	if (err == -EBADMSG || err == -ENOEXEC)
		pugmark_diag_set(diag, err, path, PUGMARK_NO_OFFSET,
				 "damaged: its dynamic sections cannot be read, and so not what it "
				 "needs (get a whole copy, or plan with --exports all)");
	else if (err)
		pugmark_diag_set(diag, err, path, PUGMARK_NO_OFFSET, "%s", private_file_why(err));
	if (!err && s->model)
		library_search_preloaded(&s->found);
	for (uint32_t i = 0; !err && i < options->n_plugins; i++)
		err = library_search_plugin(&s->found, options->plugins[i], diag);
	for (uint32_t i = 0; !err && i < s->found.files.n && !s->found.failed; i++) {
		int unread = read_file(s, s->found.files.at[i].path, false);
		if (is_of_recorder(unread))
			err = pugmark_diag_set(diag, unread, s->found.files.at[i].path,
					       PUGMARK_NO_OFFSET, "%s", private_file_why(unread));
		s->found.missing |= unread != 0;
	}
	if (!err && s->found.failed)
		err = pugmark_diag_set(
			diag, s->found.failed, s->found.failed_path ? s->found.failed_path : path,
			PUGMARK_NO_OFFSET, "a library or list of them that cannot be looked at: %s",
			private_file_why(s->found.failed));
	return err;
}

static void search_deinit(struct search *s)
{
	for (uint32_t i = 0; i < s->exported.n; i++)
		free(s->exported.at[i].name);
	VEC_FREE(&s->exported);
	library_search_deinit(&s->found);
}

/* Sets @bound for the imports that the file itself defines and no other file does. */
static void mark_bound(struct search *s, uint8_t *bound)
{
	const struct pugmark_model *model = s->model;
	bool chooses = false;
	for (uint32_t f = 0; f < model->n_funcs; f++)
		chooses |= model->funcs[f].flags &
			   PUGMARK_FUNC_IFUNC; /* runs while slots are filled */
	for (uint32_t i = 0; s->eager && !chooses && i < model->n_imports; i++) {
		const struct pugmark_import *import = &model->imports[i];
		uint32_t n;
		const struct exported *e = exported_named(s, import->name, &n);
		bound[i] = n == 1 && !e->elsewhere && !import->ifunc &&
			   import->local_func != PUGMARK_NONE && e->func == import->local_func;
	}
}

int callers_by_name_mark(const struct pugmark_model *model, const struct library_options *options,
			 uint8_t *entered, uint8_t *bound, struct pugmark_diag *diag)
{
	struct search s = {.model = model, .found.options = options, .entered = entered};
	int err = follow(&s, model->path, diag);
	bool by_whom =
		model->entry || (s.run && s.found.linked && !s.by_names && !options->any_program);
	if (!err && s.asked)
		read_own_strings(&s, model->path);
	if (!err)
		mark_bound(&s, bound);
	for (uint32_t i = 0; (s.found.missing || !by_whom) && i < s.exported.n; i++)
		if (s.exported.at[i].func != PUGMARK_NONE)
			entered[s.exported.at[i].func] = 1;
	search_deinit(&s);
	return err;
}

int library_files(const char *path, const struct library_options *options, char ***out, uint32_t *n,
		  struct pugmark_diag *diag)
{
	struct search s = {.found.options = options};
	int err = follow(&s, path, diag);
	char **files = err ? NULL : calloc(s.found.files.n + 1, sizeof(*files));
	if (!err && !files)
		err = -ENOMEM;
	for (uint32_t i = 0; !err && i < s.found.files.n; i++) {
		files[i] = s.found.files.at[i].path;
		s.found.files.at[i].path = NULL;
	}
	if (!err) {
		*out = files;
		*n = s.found.files.n;
	}
	search_deinit(&s);
	return err;
}

struct traced {
	const struct pugmark_model *model;
	uint8_t *imports; /* one byte an import */
};

static bool mark_export(void *ctx, const char *name, const GElf_Sym *sym)
{
	const struct traced *t = ctx;
	for (uint32_t k = 0; k < t->model->n_imports && sym->st_shndx != SHN_UNDEF; k++)
		t->imports[k] |= !strcmp(t->model->imports[k].name, name);
	return true;
}

int callers_by_name_mark_traced(const struct pugmark_model *model, const char *const *files,
				uint32_t n, uint8_t *traced)
{
	struct traced t = {.model = model, .imports = traced};
	int err = 0;
	for (uint32_t i = 0; i < n && !private_file_unknown(err); i++) {
		private_elf_guard struct private_elf file = {.elf = NULL};
		err = private_elf_open_parts(files[i], &file);
		if (!err)
			err = dynamic_symbols_each(file.elf, mark_export, &t);
	}
	return private_file_unknown(err) ? err : 0;
}

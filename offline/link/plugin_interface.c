// SPDX-License-Identifier: LGPL-2.1-or-later
/* plugin_interface.c: see plugin_interface.h. Of a module only its dynamic symbols are read: there
 * are a thousand modules on a host, and a few of them are large. */
#include "offline/link/plugin_interface.h"

#include "offline/base/vec.h"
#include "offline/elf/dynamic_symbols.h"
#include "offline/elf/private_elf.h"
#include "offline/link/callers_by_name.h"
#include "offline/link/named_folders.h"

#include <errno.h>
#include <string.h>

struct names {
	char **at; /* sorted once they are complete */
	uint32_t n, max;
};

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static char **find(const struct names *names, const char *name)
{
	return names->n ? bsearch(&name, names->at, names->n, sizeof(*names->at), by_text) : NULL;
}

/* 1 and the file is open; 0: it is none of this machine's; or -errno: nobody knows
 * (private_file_unknown()). */
static int open_64(const char *path, struct private_elf *out)
{
	int err = private_elf_open_parts(path, out);
	if (err)
		return private_file_unknown(err) ? err : 0;
	return gelf_getclass(out->elf) == ELFCLASS64;
}

struct own {
	const struct pugmark_model *model;
	const uint8_t *entered;
	struct names exported, free; /* free: of functions that nobody is known to call */
	struct names libraries;	     /* paths of what the program itself is linked with */
	bool failed;
};

/* False: no memory. */
static bool add(struct names *names, const char *name)
{
	char *copy = strdup(name);
	if (copy && VEC_PUSH(names, copy))
		return true;
	free(copy);
	return false;
}

static bool take_own(void *ctx, const char *name, const GElf_Sym *sym)
{
	struct own *own = ctx;
	if (sym->st_shndx == SHN_UNDEF)
		return true;
	uint32_t f = pugmark_model_func_at(own->model, sym->st_value);
	bool is_free =
		f != PUGMARK_NONE && !own->entered[f] && own->model->funcs[f].addr == sym->st_value;
	own->failed |= !add(&own->exported, name) || (is_free && !add(&own->free, name));
	return !own->failed;
}

/* A module's imports. */
struct imports {
	const struct own *own;
	struct names others; /* that the program does not export */
	bool calls, failed;
};

static bool take_import(void *ctx, const char *name, const GElf_Sym *sym)
{
	struct imports *im = ctx;
	if (sym->st_shndx != SHN_UNDEF || GELF_ST_BIND(sym->st_info) == STB_WEAK)
		return true;
	im->calls |= find(&im->own->free, name) != NULL;
	im->failed |= !find(&im->own->exported, name) && !add(&im->others, name);
	return !im->failed;
}

static void sort(struct names *names)
{
	if (names->n)
		qsort(names->at, names->n, sizeof(*names->at), by_text);
}

static void free_names(struct names *names)
{
	for (uint32_t i = 0; i < names->n; i++)
		free(names->at[i]);
	VEC_FREE(names);
}

/* Takes a name that a library defines off the list. */
static bool take_definition(void *ctx, const char *name, const GElf_Sym *sym)
{
	struct names *wanted = ctx;
	char **at = sym->st_shndx == SHN_UNDEF ? NULL : find(wanted, name);
	if (at) {
		free(*at);
		wanted->n--;
		memmove(at, at + 1, (size_t)(wanted->at + wanted->n - at) * sizeof(*at));
	}
	return wanted->n;
}

/* What is no library, or has symbols that cannot be read, defines nothing. Returns 0 or -errno as
 * open_64(). */
static int drop_defined(const struct names *libraries, struct names *wanted)
{
	int err = 0;
	for (uint32_t i = 0; i < libraries->n && wanted->n && !private_file_unknown(err); i++) {
		private_elf_guard struct private_elf file = {.elf = NULL};
		err = open_64(libraries->at[i], &file);
		if (err > 0)
			err = dynamic_symbols_each(file.elf, take_definition, wanted);
	}
	return private_file_unknown(err) ? err : 0;
}

/* What the file @path is linked with; nothing where that cannot be told. Returns 0 or -errno as
 * open_64(). */
static int list_libraries(const char *path, struct names *out)
{
	struct library_options options = {.origin = path};
	struct pugmark_diag diag;
	int err = library_files(path, &options, &out->at, &out->n, &diag);
	if (!err)
		out->max = out->n;
	return private_file_unknown(err) ? err : 0;
}

/* Whether the module @path calls a free function, and finds all else that it imports in the
 * program, and what that and the module are linked with: it is made for this program, and not for
 * another that has a function of the same name; or -errno as open_64(). */
static int is_made_for(const char *path, const struct own *own)
{
	struct imports im = {.own = own};
	struct names libraries = {0};
	private_elf_guard struct private_elf file = {.elf = NULL};
	int opened = open_64(path, &file);
	if (opened <= 0)
		return opened;
	int err = dynamic_symbols_each(file.elf, take_import, &im);
	private_elf_close(&file);
	if (im.failed)
		err = -ENOMEM;
	bool calls = !err && im.calls;
	if (calls) {
		sort(&im.others);
		err = list_libraries(path, &libraries);
	}
	if (calls && !err)
		err = drop_defined(&own->libraries, &im.others);
	if (calls && !err)
		err = drop_defined(&libraries, &im.others);
	int made = private_file_unknown(err) ? err : calls && !im.others.n;
	free_names(&libraries);
	free_names(&im.others);
	return made;
}

static bool loads_libraries(const struct pugmark_model *model)
{
	for (uint32_t i = 0; i < model->n_imports; i++)
		if (!strcmp(model->imports[i].name, "dlopen") ||
		    !strcmp(model->imports[i].name, "dlmopen"))
			return true;
	return false;
}

static bool take_loader(void *ctx, const char *name, const GElf_Sym *sym)
{
	bool *found = ctx;
	*found |=
		sym->st_shndx == SHN_UNDEF && (!strcmp(name, "dlopen") || !strcmp(name, "dlmopen"));
	return !*found;
}

/* Whether a library that the program is linked with loads others: as libltdl and libgmodule do for
 * whoever asks them. One that cannot be read, or whose symbols cannot be, may. */
static bool linked_with_loader(const struct names *libraries)
{
	bool found = false;
	for (uint32_t i = 0; i < libraries->n && !found; i++) {
		private_elf_guard struct private_elf file = {.elf = NULL};
		int opened = open_64(libraries->at[i], &file);
		if (opened < 0 || (opened && dynamic_symbols_each(file.elf, take_loader, &found)))
			found = true;
	}
	return found;
}

/* Sets @named for the modules in folders that @file names: any may be, where not all of its data
 * can be read. Returns 0 or -ENOMEM. */
static int mark_named(const struct private_elf *file, char *const *modules, uint32_t n,
		      uint8_t *named)
{
	int err = named_folders_mark(file, modules, n, named);
	if (err && err != -ENOMEM)
		memset(named, 1, n);
	return err == -ENOMEM ? err : 0;
}

/* Looks through the modules that @named says. */
static int look(struct own *own, char *const *modules, const uint8_t *named, uint32_t n,
		uint32_t *at)
{
	const uint8_t *first = memchr(named, 1, n);
	int made = 0;
	if (!first || !own->free.n)
		return 0;
	sort(&own->exported);
	sort(&own->free);
	for (uint32_t i = (uint32_t)(first - named); !made && i < n; i++) {
		made = named[i] ? is_made_for(modules[i], own) : 0;
		if (made > 0)
			*at = i;
	}
	return made < 0 ? made : 0;
}

/* Reads what @own and @file are of its model: *@asks: some module may be made for it, as something
 * loads libraries and finds functions that nobody is known to call. @own is released with
 * free_own() either way. Returns 0 or -errno. */
static int read_own(struct own *own, struct private_elf *file, bool *asks)
{
	const char *path = own->model->path;
	*asks = false;
	int err = private_elf_open_parts(path, file);
	if (err)
		return private_file_unknown(err) ? err : 0;
	err = dynamic_symbols_each(file->elf, take_own, own);
	if (!err && own->free.n)
		err = list_libraries(path, &own->libraries);
	if (!err && own->free.n)
		*asks = loads_libraries(own->model) || linked_with_loader(&own->libraries);
	return own->failed ? -ENOMEM : err;
}

static void free_own(struct own *own)
{
	free_names(&own->exported);
	free_names(&own->free);
	free_names(&own->libraries);
}

static int cannot_read(const struct pugmark_model *model, int err, struct pugmark_diag *diag)
{
	return pugmark_diag_set(diag, err, model->path, PUGMARK_NO_OFFSET,
				"reading what it exports and names: %s", strerror(-err));
}

int plugin_interface_asks(const struct pugmark_model *model, const uint8_t *entered, bool *asks,
			  struct pugmark_diag *diag)
{
	struct own own = {.model = model, .entered = entered};
	private_elf_guard struct private_elf file = {.elf = NULL};
	int err = read_own(&own, &file, asks);
	free_own(&own);
	return err ? cannot_read(model, err, diag) : 0;
}

int plugin_interface_find(const struct pugmark_model *model, const uint8_t *entered,
			  char *const *modules, uint32_t n, uint32_t *at, struct pugmark_diag *diag)
{
	struct own own = {.model = model, .entered = entered};
	private_elf_guard struct private_elf file = {.elf = NULL};
	uint8_t *named = calloc(n + 1, 1);
	bool asks = false;
	*at = n;
	int err = named ? read_own(&own, &file, &asks) : -ENOMEM;
	if (!err && asks)
		err = mark_named(&file, modules, n, named);
	if (!err && asks)
		err = look(&own, modules, named, n, at);
	free(named);
	free_own(&own);
	return err ? cannot_read(model, err, diag) : 0;
}

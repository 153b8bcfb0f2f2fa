// SPDX-License-Identifier: LGPL-2.1-or-later
/* callers_apart.c: see callers_apart.h. The child has the names and the bytes of the files from
 * this process; it hands back numbers, or names, each of which may be made up: a number is one of a
 * name that there is, a name is compared and, in a note, printed as names are. If it dies, each
 * file is looked at by a child of its own, so that the one which killed it is the only one that is
 * not known. */
#include "user/record/probed/callers_apart.h"

#include "offline/elf/dynamic_symbols.h"
#include "offline/elf/private_elf.h"
#include "user/sandbox/sandbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 1 << 20 };

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct own_name *)a)->name, ((const struct own_name *)b)->name);
}

static int run(const struct sandbox *s, sandbox_work *work, void *ctx, void **bytes, size_t *len)
{
	struct pugmark_diag diag;
	*bytes = NULL;
	return sandbox_or_here(s, work, ctx, bytes, len, &diag);
}

/* ---- our own names ---- */

struct reading {
	const struct recorder_module *modules;
	uint32_t n, module;
	FILE *out;
};

static bool is_own(const struct pugmark_plan *plan, uint32_t f)
{
	return plan->funcs[f].flags & PUGMARK_PLAN_FUNC_EXPORTED &&
	       !(plan->funcs[f].flags & (PUGMARK_PLAN_FUNC_ENTERED | PUGMARK_PLAN_FUNC_OPAQUE));
}

static bool put_own(void *ctx, const char *name, const GElf_Sym *sym)
{
	struct reading *r = ctx;
	const struct pugmark_plan *plan = r->modules[r->module].plan;
	uint32_t f = sym->st_shndx == SHN_UNDEF ? PUGMARK_NONE
						: pugmark_plan_func_at(plan, sym->st_value);
	if (f != PUGMARK_NONE && is_own(plan, f)) {
		fwrite(&r->module, sizeof(r->module), 1, r->out);
		fwrite(name, strlen(name) + 1, 1, r->out);
	}
	return true;
}

static int put_all_own(void *ctx, FILE *out, struct pugmark_diag *diag)
{
	struct reading *r = ctx;
	(void)diag;
	int err = 0;
	r->out = out;
	for (r->module = 0; r->module < r->n && err != -ENOMEM; r->module++) {
		private_elf_guard struct private_elf file = {.elf = NULL};
		const struct recorder_module *m = &r->modules[r->module];
		if (m->plan && !private_elf_open(m->path, &file))
			err = dynamic_symbols_each(file.elf, put_own, r);
	}
	return err == -ENOMEM ? err : 0;
}

static bool has_own(const struct recorder_module *modules, uint32_t n)
{
	for (uint32_t m = 0; m < n; m++)
		for (uint32_t f = 0; modules[m].plan && f < modules[m].plan->n_funcs; f++)
			if (is_own(modules[m].plan, f))
				return true;
	return false;
}

/* Takes what put_own() wrote, as far as it is that. */
static int take_own(const char *at, const char *end, uint32_t n_modules, struct own_names *out)
{
	struct own_name own;
	uint32_t room = 0;
	while ((size_t)(end - at) > sizeof(own.module) && out->n < NAMES_MAX) {
		memcpy(&own.module, at, sizeof(own.module));
		at += sizeof(own.module);
		size_t len = strnlen(at, (size_t)(end - at));
		if (at + len == end || own.module >= n_modules)
			return 0;
		if (out->n == room) {
			struct own_name *more =
				realloc(out->at, (room = 2 * room + 16) * sizeof(*more));
			if (!more)
				return -ENOMEM;
			out->at = more;
		}
		own.name = strdup(at);
		if (!own.name)
			return -ENOMEM;
		out->at[out->n++] = own;
		at += len + 1;
	}
	return 0;
}

int own_names_read(const struct recorder_module *modules, uint32_t n_modules, struct own_names *out)
{
	struct reading r = {.modules = modules, .n = n_modules};
	struct own_names names = {0};
	const char *paths[64];
	struct sandbox s = {.subject = "names", .grants = paths};
	void *bytes;
	size_t len;
	*out = names;
	if (!has_own(modules, n_modules))
		return 0;
	for (uint32_t m = 0; m < n_modules && s.n_grants < 64; m++)
		if (modules[m].path)
			paths[s.n_grants++] = modules[m].path;
	int err = run(&s, put_all_own, &r, &bytes, &len);
	if (!err)
		err = take_own(bytes, (const char *)bytes + len, n_modules, &names);
	free(bytes);
	if (names.n)
		qsort(names.at, names.n, sizeof(*names.at), by_name);
	*out = names;
	return err == -ENOMEM ? err : 0;
}

void own_names_deinit(struct own_names *names)
{
	for (uint32_t i = 0; i < names->n; i++)
		free(names->at[i].name);
	free(names->at);
	*names = (struct own_names){0};
}

/* ---- who may call them ---- */

struct search {
	const struct own_names *names;
	const struct caller_file *files;
	uint32_t n;
	const struct own_name *found;
};

/* One name is enough to say so of the file. */
static bool take_foreign(void *ctx, const char *name, const GElf_Sym *sym)
{
	struct search *s = ctx;
	struct own_name key = {.name = (char *)name};
	if (sym->st_shndx == SHN_UNDEF)
		s->found = bsearch(&key, s->names->at, s->names->n, sizeof(key), by_name);
	return !s->found;
}

static int find_inside(void *ctx, FILE *out, struct pugmark_diag *diag)
{
	struct search *s = ctx;
	int err = 0;
	(void)diag;
	for (uint32_t i = 0; i < s->n && err != -ENOMEM; i++) {
		uint32_t found = PUGMARK_NONE;
		Elf *elf = private_elf_of(&s->files[i].file);
		s->found = NULL;
		if (elf)
			err = dynamic_symbols_each(elf, take_foreign, s);
		if (s->found)
			found = (uint32_t)(s->found - s->names->at);
		elf_end(elf);
		fwrite(&found, sizeof(found), 1, out);
	}
	return err == -ENOMEM ? err : 0;
}

void callers_find(const struct own_names *names, struct caller_file *files, uint32_t n)
{
	struct search search = {.names = names, .files = files, .n = n};
	struct sandbox s = {.subject = "callers"};
	uint32_t *found;
	size_t len;
	if (!n)
		return;
	int err = run(&s, find_inside, &search, (void **)&found, &len);
	if (err && n > 1) {
		free(found);
		for (uint32_t i = 0; i < n; i++)
			callers_find(names, &files[i], 1);
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		bool sound = !err && len == n * sizeof(*found) &&
			     (found[i] < names->n || found[i] == PUGMARK_NONE);
		files[i].found = sound ? found[i] : PUGMARK_NONE;
		files[i].err = sound ? 0 : err ? err : -EBADMSG;
	}
	free(found);
}

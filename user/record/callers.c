// SPDX-License-Identifier: LGPL-2.1-or-later
/* callers.c: see callers.h. The undefined names in the .dynsym of each file that is mapped are
 * looked up among the names of those functions. What an opaque function is called by does not
 * matter. */
#include "user/record/callers.h"

#include "offline/base/vec.h"
#include "user/kernel/mappings.h"
#include "user/proc/running.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMED_MAX = 4, FILES_MAX = 4096, PIDS_MAX = 1024 };

/* A function that nobody outside is taken to call. */
struct own_name {
	char *name;
	uint32_t module;
};

struct seen_file {
	dev_t dev;
	ino_t ino;
	const struct own_name *found; /* one that it may call; NULL: none */
	char *file;		      /* then: its name, as a process sees it */
	bool ours;		      /* a traced process has mapped it */
};

/* A process that mapped such a file and could not be told to be traced: it has ended, maybe. */
struct stranger {
	uint32_t file;
	pid_t pid;
};

struct callers {
	const struct recorder_options *options;
	const struct probes *probes;
	struct mappings *mappings;
	struct mapping next;
	VEC(struct own_name) names; /* sorted */
	VEC(struct seen_file) seen;
	VEC(struct stranger) strangers;
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

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct own_name *)a)->name, ((const struct own_name *)b)->name);
}

/* Calls @take for each global symbol of the .dynsym of @path until it says no. */
static void each_symbol(const char *path,
			bool (*take)(void *ctx, const char *name, const GElf_Sym *sym), void *ctx)
{
	__attribute__((cleanup(close_fd))) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return;
	elf_version(EV_CURRENT);
	__attribute__((cleanup(end_elf))) Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	for (Elf_Scn *scn = NULL; elf && (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr sh;
		GElf_Sym sym;
		Elf_Data *data;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_DYNSYM || !sh.sh_entsize ||
		    !(data = elf_getdata(scn, NULL)))
			continue;
		size_t n = data->d_size / sh.sh_entsize;
		for (size_t i = 1; i < n && gelf_getsym(data, i, &sym); i++) {
			const char *name = elf_strptr(elf, sh.sh_link, sym.st_name);
			if (name && GELF_ST_BIND(sym.st_info) != STB_LOCAL &&
			    !take(ctx, name, &sym))
				return;
		}
	}
}

struct reading {
	struct callers *c;
	uint32_t module;
	bool failed;
};

static bool take_own(void *ctx, const char *name, const GElf_Sym *sym)
{
	struct reading *r = ctx;
	const struct pugmark_plan *plan = r->c->options->modules[r->module].plan;
	uint32_t f = sym->st_shndx == SHN_UNDEF ? PUGMARK_NONE
						: pugmark_plan_func_at(plan, sym->st_value);

	if (f == PUGMARK_NONE || !(plan->funcs[f].flags & PUGMARK_PLAN_FUNC_EXPORTED) ||
	    plan->funcs[f].flags & (PUGMARK_PLAN_FUNC_ENTERED | PUGMARK_PLAN_FUNC_OPAQUE))
		return true;
	struct own_name own = {strdup(name), r->module};
	r->failed |= !own.name || !VEC_PUSH(&r->c->names, own);
	if (r->failed)
		free(own.name);
	return !r->failed;
}

static int read_own(struct callers *c)
{
	struct reading r = {.c = c};

	for (; r.module < c->options->n_modules && !r.failed; r.module++)
		if (c->options->modules[r.module].plan)
			each_symbol(c->options->modules[r.module].path, take_own, &r);
	if (c->names.n)
		qsort(c->names.at, c->names.n, sizeof(*c->names.at), by_name);
	return r.failed ? -ENOMEM : 0;
}

int callers_new(const struct recorder_options *options, const struct probes *probes,
		struct callers **out)
{
	struct callers *c = calloc(1, sizeof(*c));
	int err = c ? 0 : -ENOMEM;

	if (c) {
		c->options = options;
		c->probes = probes;
		err = read_own(c);
	}
	if (err || !c->names.n || mappings_open(&c->mappings)) {
		callers_free(c);
		c = NULL;
	}
	*out = c;
	return err;
}

void callers_free(struct callers *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; i < c->names.n; i++)
		free(c->names.at[i].name);
	for (uint32_t i = 0; i < c->seen.n; i++)
		free(c->seen.at[i].file);
	VEC_FREE(&c->names);
	VEC_FREE(&c->seen);
	VEC_FREE(&c->strangers);
	mappings_free(c->mappings);
	free(c);
}

int callers_fd(const struct callers *c)
{
	return c ? mappings_fd(c->mappings) : -1;
}

struct search {
	const struct callers *c;
	const struct own_name *found;
};

/* One name is enough to say so of the file. */
static bool take_foreign(void *ctx, const char *name, const GElf_Sym *sym)
{
	struct search *s = ctx;
	struct own_name key = {.name = (char *)name};

	if (sym->st_shndx == SHN_UNDEF)
		s->found = bsearch(&key, s->c->names.at, s->c->names.n, sizeof(key), by_name);
	return !s->found;
}

/* The place in `seen` of the file that process @pid knows as @file, or PUGMARK_NONE. */
static uint32_t look_at(struct callers *c, pid_t pid, const char *file)
{
	char path[PATH_MAX + 32];
	struct stat st;
	struct search search = {.c = c};

	/* Which may be in another mount namespace. */
	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid, file);
	if (stat(path, &st)) {
		snprintf(path, sizeof(path), "%s", file);
		if (stat(path, &st))
			return PUGMARK_NONE;
	}
	for (uint32_t i = 0; i < c->seen.n; i++)
		if (c->seen.at[i].dev == st.st_dev && c->seen.at[i].ino == st.st_ino)
			return i;
	if (c->seen.n >= FILES_MAX)
		return PUGMARK_NONE;
	each_symbol(path, take_foreign, &search);
	struct seen_file seen = {st.st_dev, st.st_ino, .found = search.found};
	seen.file = seen.found ? strdup(file) : NULL;
	if ((seen.found && !seen.file) || !VEC_PUSH(&c->seen, seen)) {
		free(seen.file);
		return PUGMARK_NONE;
	}
	return c->seen.n - 1;
}

static bool is_traced(const struct callers *c, pid_t pid)
{
	const struct recorder_options *o = c->options;

	return o->all ? running_runs(pid, o->program) : probes_tracks(c->probes, pid);
}

void callers_look(struct callers *c)
{
	while (c && mappings_next(c->mappings, &c->next)) {
		const struct recorder_options *o = c->options;

		/* What is asked for is planned together with all others. */
		if (!c->next.pid || (o->later && o->wants(o->replan_ctx, c->next.file)))
			continue;
		uint32_t file = look_at(c, c->next.pid, c->next.file);
		struct seen_file *seen = file == PUGMARK_NONE ? NULL : &c->seen.at[file];

		if (!seen || !seen->found || seen->ours)
			continue;
		seen->ours = is_traced(c, c->next.pid);
		if (!seen->ours && c->strangers.n < FILES_MAX)
			(void)VEC_PUSH(&c->strangers, (struct stranger){file, c->next.pid});
	}
}

/* Processes whose events have come are traced, or were. */
static void know_strangers(struct callers *c, struct collector *collector)
{
	int32_t pids[PIDS_MAX];

	if (!c->strangers.n)
		return;
	collector_flush(collector);
	uint32_t n = collector_processes(collector, pids, PIDS_MAX);
	for (uint32_t i = 0; i < c->strangers.n; i++)
		for (uint32_t k = 0; k < n; k++)
			c->seen.at[c->strangers.at[i].file].ours |=
				pids[k] == c->strangers.at[i].pid;
}

static const char *module_name(const struct recorder_module *m)
{
	const char *name = m->name ? m->name : m->path, *slash = strrchr(name, '/');

	return slash ? slash + 1 : name;
}

char *callers_words(struct callers *c, struct collector *collector)
{
	const struct own_name *name = NULL;
	char *words = NULL;
	size_t len = 0;
	uint32_t n = 0;
	FILE *f = c ? open_memstream(&words, &len) : NULL;

	if (!f)
		return NULL;
	callers_look(c);
	know_strangers(c, collector);
	for (uint32_t i = 0; i < c->seen.n; i++) {
		if (!c->seen.at[i].ours)
			continue;
		name = name ? name : c->seen.at[i].found;
		if (n++ < NAMED_MAX)
			fprintf(f, "%s%s", n > 1 ? ", " : "", c->seen.at[i].file);
	}
	if (n > NAMED_MAX)
		fprintf(f, " and %u more", n - NAMED_MAX);
	if (n)
		fprintf(f,
			" %s loaded and may call functions of %s that it was not planned for (%s, "
			"for "
			"one): there may be gaps, or calls that are missed (name what is loaded "
			"with "
			"--plugin, or record with --exports all)",
			n == 1 ? "was" : "were", module_name(&c->options->modules[name->module]),
			name->name);
	fclose(f);
	if (n)
		return words;
	free(words);
	return NULL;
}

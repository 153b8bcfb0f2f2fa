// SPDX-License-Identifier: LGPL-2.1-or-later
/* callers.c: see callers.h. The undefined names in the .dynsym of each file that is mapped are
 * looked up among the names of those functions. What an opaque function is called by does not
 * matter. */
#include "user/record/probed/callers.h"

#include "offline/base/open_regular.h"
#include "offline/base/vec.h"
#include "offline/elf/dynamic_symbols.h"
#include "offline/elf/private_elf.h"
#include "user/kernel/mappings.h"
#include "user/proc/running.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMED_MAX = 4, FILES_MAX = 4096, PIDS_MAX = 1024, BURST_MAX = 4096 };

/* A function that the plan assumes nobody outside to call. */
struct own_name {
	char *name;
	uint32_t module;
};

struct seen_file {
	dev_t dev;
	ino_t ino;
	const struct own_name *found; /* one that it may call; NULL: none */
	char *file;		      /* then: its name, as a process sees it */
};

/* A mapping of a process that ended before anybody could ask whether it is traced. */
struct stranger {
	pid_t pid;
	uint64_t ino;
	char *file;
};

struct callers {
	const struct recorder_options *options;
	const struct probes *probes;
	struct mappings *mappings;
	struct mapping next;
	VEC(struct own_name) names; /* sorted */
	VEC(struct seen_file) seen;
	VEC(struct stranger) strangers;
	bool missed;   /* the kernel had no room to tell of some mappings */
	bool not_seen; /* of a traced process: there is no more room, or it could not be read */
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct own_name *)a)->name, ((const struct own_name *)b)->name);
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

	for (; r.module < c->options->n_modules && !r.failed; r.module++) {
		const struct recorder_module *m = &c->options->modules[r.module];
		private_elf_guard struct private_elf file = {.elf = NULL};

		if (m->plan && !private_elf_open(m->path, &file))
			dynamic_symbols_each(file.elf, take_own, &r);
	}
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

static void forget_strangers(struct callers *c)
{
	for (uint32_t i = 0; i < c->strangers.n; i++)
		free(c->strangers.at[i].file);
	c->strangers.n = 0;
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
	forget_strangers(c);
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

static bool is_seen(struct callers *c, const struct stat *st)
{
	for (uint32_t i = 0; i < c->seen.n; i++)
		if (c->seen.at[i].dev == st->st_dev && c->seen.at[i].ino == st->st_ino)
			return true;
	return false;
}

/* Checks the file @fd, which a traced process has mapped and knows as @file. */
static void look_at(struct callers *c, int fd, const struct stat *st, const char *file)
{
	private_elf_guard struct private_elf elf = {.elf = NULL};
	struct search search = {.c = c};

	if (is_seen(c, st))
		return;
	int err = private_elf_read(fd, &elf);
	if (!err)
		dynamic_symbols_each(elf.elf, take_foreign, &search);
	struct seen_file seen = {st->st_dev, st->st_ino, search.found, NULL};
	seen.file = seen.found ? strdup(file) : NULL;
	c->not_seen |= err && err != -ENOEXEC;
	if (c->seen.n >= FILES_MAX || (seen.found && !seen.file) || !VEC_PUSH(&c->seen, seen)) {
		c->not_seen = true;
		free(seen.file);
	}
}

/* False: a path means something else there than here. Of what has ended nobody can tell. */
static bool has_our_mounts(pid_t pid)
{
	char path[32];
	struct stat its, ours;

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
	return stat(path, &its) ? errno == ENOENT
				: !stat("/proc/self/ns/mnt", &ours) && its.st_ino == ours.st_ino;
}

/* Opens what was mapped: by the mapping while there is one, else by its name, if that still leads
 * to it. Returns a descriptor or -errno. */
static int open_mapped(pid_t pid, uint64_t addr, uint64_t len, uint64_t ino, const char *file,
		       struct stat *st)
{
	char path[96];

	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)pid,
		 (unsigned long long)addr, (unsigned long long)(addr + len));
	int fd = len ? open_regular(path, st) : -ENOENT;
	if (fd >= 0)
		return fd;
	fd = has_our_mounts(pid) ? open_regular(file, st) : -ENOENT;
	if (fd < 0 || st->st_ino == ino)
		return fd;
	close(fd);
	return -ENOENT;
}

static bool is_traced(const struct callers *c, pid_t pid)
{
	const struct recorder_options *o = c->options;

	return o->all ? running_runs(pid, o->program) : probes_tracks(c->probes, pid);
}

/* Whether the process is there: one that has ended has no program, also before its parent has
 * waited for it. */
static bool is_there(pid_t pid)
{
	char path[32], to[2];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	return readlink(path, to, sizeof(to)) >= 0 || errno == EACCES || errno == EPERM;
}

/* Checks mappings of processes that have ended: those of which events came were traced. */
static void know_strangers(struct callers *c, struct collector *collector)
{
	int32_t pids[PIDS_MAX];

	if (!c->strangers.n)
		return;
	collector_flush(collector);
	uint32_t n = collector_processes(collector, pids, PIDS_MAX);
	for (uint32_t i = 0; i < c->strangers.n; i++) {
		const struct stranger *s = &c->strangers.at[i];
		bool ours = false;

		for (uint32_t k = 0; k < n; k++)
			ours |= pids[k] == s->pid;
		if (!ours)
			continue;
		struct stat st;
		int fd = open_mapped(s->pid, 0, 0, s->ino, s->file, &st);
		if (fd >= 0) {
			look_at(c, fd, &st, s->file);
			close(fd);
		} else {
			c->not_seen = true;
		}
	}
	forget_strangers(c);
}

/* Takes in one mapping. Nothing that a process which is not traced has mapped is opened. Of a
 * process that has ended its events may yet tell that it was traced. */
static void take_mapping(struct callers *c, struct collector *collector, const struct mapping *m)
{
	struct stat st;

	if (is_traced(c, m->pid)) {
		int fd = open_mapped(m->pid, m->addr, m->len, m->ino, m->file, &st);
		if (fd >= 0) {
			look_at(c, fd, &st, m->file);
			close(fd);
		}
		return;
	}
	if (is_there(m->pid))
		return;
	if (c->strangers.n >= FILES_MAX)
		know_strangers(c, collector);
	struct stranger s = {m->pid, m->ino, strdup(m->file)};
	if (!s.file || !VEC_PUSH(&c->strangers, s)) {
		free(s.file);
		c->not_seen = true;
	}
}

void callers_look(struct callers *c, struct collector *collector)
{
	for (int i = 0; c && i < BURST_MAX && mappings_next(c->mappings, &c->next); i++) {
		const struct recorder_options *o = c->options;

		c->missed |= !c->next.pid;
		/* Anonymous memory has no file; what is asked for is planned together with all
		 * others. */
		if (!c->next.pid || !c->next.ino ||
		    (o->later && o->wants(o->replan_ctx, c->next.file)))
			continue;
		take_mapping(c, collector, &c->next);
	}
}

/* Where mappings were missed, checks all that the traced processes have mapped now. One that has
 * ended may have mapped anything. */
static void look_at_all(struct callers *c, struct collector *collector)
{
	int32_t pids[PIDS_MAX];

	collector_flush(collector);
	uint32_t n = collector_processes(collector, pids, PIDS_MAX);
	for (uint32_t i = 0; i < n; i++) {
		struct targets loaded = {0};

		c->not_seen |= !is_there(pids[i]) || running_add_modules(&loaded, pids[i], NULL);
		for (uint32_t k = 0; k < loaded.n; k++) {
			struct stat st;
			if (!fstat(loaded.at[k].fd, &st))
				look_at(c, loaded.at[k].fd, &st, loaded.at[k].name);
		}
		targets_deinit(&loaded);
	}
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
	callers_look(c, collector);
	know_strangers(c, collector);
	if (c->missed)
		look_at_all(c, collector);
	for (uint32_t i = 0; i < c->seen.n; i++) {
		if (!c->seen.at[i].found)
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
	if (c->not_seen)
		fprintf(f,
			"%sof what traced processes loaded not all could be looked at: something "
			"else may call functions that it was not planned for (record with "
			"--exports "
			"all)",
			n ? "; " : "");
	fclose(f);
	if (n || c->not_seen)
		return words;
	free(words);
	return NULL;
}

bool callers_not_whole(const struct callers *c)
{
	return c && c->not_seen;
}

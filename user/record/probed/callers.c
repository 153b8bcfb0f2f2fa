// SPDX-License-Identifier: LGPL-2.1-or-later
/* callers.c: see callers.h. The undefined names in the .dynsym of each file that is mapped are
 * looked up among the names of those functions, by a child (callers_apart.h). What an opaque
 * function is called by does not matter. */
#include "user/record/probed/callers.h"

#include "offline/base/clock.h"
#include "offline/base/open_regular.h"
#include "offline/base/vec.h"
#include "offline/elf/dynamic_symbols.h"
#include "user/kernel/mappings.h"
#include "user/proc/running.h"
#include "user/record/probed/callers_apart.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMED_MAX = 4, FILES_MAX = 4096, PIDS_MAX = 1024, BURST_MAX = 4096 };
/* What waits to be looked at, by one child. */
enum { WAITING_MAX = 48, BYTES_MAX = 16 << 20 };
#define EVERY_NS UINT64_C(1000000000)
#define ALL_BYTES_MAX PRIVATE_FILE_MAX /* of all files that are looked at */

struct seen_file {
	dev_t dev;
	ino_t ino;
	uint32_t found; /* of the names: one that it may call; PUGMARK_NONE: none */
	int fd;		/* it is yet to be looked at; -1: it was */
	char *file;	/* while it is, and where one is found: its name, as a process sees it */
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
	struct own_names names;
	VEC(struct seen_file) seen;
	uint64_t bytes;	 /* of all that were seen, by their length */
	uint32_t looked; /* at so many of them; the others wait to be looked at together */
	VEC(struct stranger) strangers;
	bool missed;	  /* the kernel had no room to tell of some mappings */
	uint64_t next_ns; /* not before that all mappings are looked at for that */
	bool not_seen;	  /* of a traced process: there is no more room, or it could not be read */
};

int callers_new(const struct recorder_options *options, const struct probes *probes,
		struct callers **out)
{
	struct callers *c = calloc(1, sizeof(*c));
	int err = c ? 0 : -ENOMEM;

	if (c) {
		c->options = options;
		c->probes = probes;
		err = own_names_read(options->modules, options->n_modules, &c->names);
	}
	if (err || !c->names.n || mappings_open(&c->mappings)) {
		callers_free(c);
		c = NULL;
	}
	*out = c;
	return err;
}

static void forget_file(struct seen_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	free(f->file);
	f->fd = -1;
	f->file = NULL;
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
	for (uint32_t i = 0; i < c->seen.n; i++)
		forget_file(&c->seen.at[i]);
	own_names_deinit(&c->names);
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

static bool is_seen(struct callers *c, const struct stat *st)
{
	for (uint32_t i = 0; i < c->seen.n; i++)
		if (c->seen.at[i].dev == st->st_dev && c->seen.at[i].ino == st->st_ino)
			return true;
	return false;
}

/* Reads the next files that wait, up to @max bytes of them or one: their bytes, for a child.
 * Returns how many. */
static uint32_t read_waiting(struct callers *c, uint64_t max, struct caller_file files[WAITING_MAX])
{
	uint64_t bytes = 0;
	uint32_t n = 0;

	for (; c->looked + n < c->seen.n && n < WAITING_MAX && bytes < max; n++) {
		struct private_file *file = &files[n].file;

		*file = (struct private_file){0};
		c->not_seen |= dynamic_symbols_read(c->seen.at[c->looked + n].fd, file) != 0;
		bytes += file->read_bytes;
	}
	return n;
}

/* Looks at all that waits. */
static void look_at_waiting(struct callers *c)
{
	struct caller_file files[WAITING_MAX];

	while (c->looked < c->seen.n) {
		uint32_t n = read_waiting(c, BYTES_MAX, files);

		callers_find(&c->names, files, n);
		for (uint32_t i = 0; i < n; i++, c->looked++) {
			struct seen_file *f = &c->seen.at[c->looked];

			c->not_seen |= files[i].err != 0;
			f->found = files[i].found;
			private_file_free(&files[i].file);
			close(f->fd);
			f->fd = -1;
			if (f->found == PUGMARK_NONE)
				forget_file(f);
		}
	}
}

/* The file @fd, which a traced process has mapped and knows as @file, is to be looked at: together
 * with others, and at the latest when what was found is asked for. */
static void look_at(struct callers *c, int fd, const struct stat *st, const char *file)
{
	if (is_seen(c, st))
		return;
	if ((uint64_t)st->st_size > ALL_BYTES_MAX - c->bytes) {
		c->not_seen = true;
		return;
	}
	c->bytes += (uint64_t)st->st_size;
	struct seen_file seen = {st->st_dev, st->st_ino, PUGMARK_NONE,
				 fcntl(fd, F_DUPFD_CLOEXEC, 3), strdup(file)};
	if (c->seen.n >= FILES_MAX || !seen.file || seen.fd < 0 || !VEC_PUSH(&c->seen, seen)) {
		c->not_seen = true;
		forget_file(&seen);
	}
	if (c->seen.n - c->looked >= WAITING_MAX)
		look_at_waiting(c);
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

/* What is asked for is planned together with all others when it is mapped. */
static bool is_planned_later(const struct recorder_options *o, const char *file)
{
	return o->later && o->wants(o->replan_ctx, file);
}

/* Where mappings were missed, checks all that the traced processes have mapped now. One that has
 * ended may have mapped anything. */
static void look_at_all(struct callers *c, struct collector *collector)
{
	const struct recorder_options *o = c->options;
	int32_t pids[PIDS_MAX];

	c->missed = false;
	collector_flush(collector);
	uint32_t n = collector_processes(collector, pids, PIDS_MAX);
	for (uint32_t i = 0; i < n; i++) {
		struct targets loaded = {0};

		c->not_seen |= !is_there(pids[i]) || running_add_modules(&loaded, pids[i], NULL);
		for (uint32_t k = 0; k < loaded.n; k++) {
			struct stat st;
			if (!is_planned_later(o, loaded.at[k].name) && !fstat(loaded.at[k].fd, &st))
				look_at(c, loaded.at[k].fd, &st, loaded.at[k].name);
		}
		targets_deinit(&loaded);
	}
}

void callers_look(struct callers *c, struct collector *collector)
{
	for (int i = 0; c && i < BURST_MAX && mappings_next(c->mappings, &c->next); i++) {
		c->missed |= !c->next.pid;
		/* Anonymous memory has no file. */
		if (c->next.pid && c->next.ino && !is_planned_later(c->options, c->next.file))
			take_mapping(c, collector, &c->next);
	}
	/* At once, while processes have what they have mapped; but on a machine where much is
	 * mapped all the time, not all the time. */
	if (c && c->missed && clock_now_ns() >= c->next_ns) {
		look_at_all(c, collector);
		c->next_ns = clock_now_ns() + EVERY_NS;
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
	c->not_seen |= c->options->not_all_loaded && *c->options->not_all_loaded;
	if (c->missed)
		look_at_all(c, collector);
	look_at_waiting(c);
	for (uint32_t i = 0; i < c->seen.n; i++) {
		if (c->seen.at[i].found == PUGMARK_NONE)
			continue;
		name = name ? name : &c->names.at[c->seen.at[i].found];
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

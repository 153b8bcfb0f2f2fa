// SPDX-License-Identifier: LGPL-2.1-or-later
/* carrier.c: see carrier.h. */
#include "user/patch/carrier.h"

#include "offline/base/clock.h"
#include "offline/patch/runtime.h"
#include "user/patch/area.h"
#include "user/patch/attach.h"
#include "user/patch/detach.h"
#include "user/patch/file_turns.h"
#include "user/patch/foreign.h"
#include "user/patch/late.h"
#include "user/patch/object.h"
#include "user/patch/patch_modules.h"
#include "user/patch/text/patches.h"
#include "user/patch/possible.h"
#include "user/patch/remains.h"
#include "user/patch/process/start.h"
#include "user/patch/process/threads.h"
#include "user/patch/tsc_clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHUNKS = 256 };

struct carrier {
	const struct recorder_options *options;
	struct probes *probes;
	struct patch_modules modules;
	struct patch_settings settings;
	struct lanes *lanes;
	char *folder;		       /* of the recording, absolute */
	struct area *areas[AREAS_MAX]; /* whatever was given memory */
	uint32_t n_areas, n_patched;
	bool *foreign;		     /* by site: somebody else has a breakpoint there */
	uint32_t n_left;	     /* for that, in the last process */
	uint32_t n_detached, n_kept; /* processes; those that keep some of the code */
	uint32_t n_failed;	     /* those whose patches could not be taken out */
	int stop_err;		     /* why, or why none were; 0: all were */
	uint64_t stopped_ns, placed_ns;
	bool later;	 /* no probe is in place yet */
	const char *why; /* the last process was not patched; NULL: it was */
	int why_err;
	pid_t why_pid;
};

static int no_room(const struct recorder_options *options, int err, struct pugmark_diag *diag)
{
	return pugmark_diag_set(diag, err, options->output, PUGMARK_NO_OFFSET,
				"room for what patched instructions write: %s", strerror(-err));
}

int carrier_new(const struct recorder_options *options, const struct text_span *spans,
		struct carrier **out, struct pugmark_diag *diag)
{
	struct carrier *c = calloc(1, sizeof(*c));
	int err = c ? 0 : -ENOMEM;

	if (!err) {
		c->options = options;
		c->settings.objects_fd = -1;
		err = patch_modules_init(&c->modules, options, spans, diag);
	}
	if (!err) {
		c->foreign = calloc(c->modules.n_sites + 1, sizeof(*c->foreign));
		err = c->foreign ? 0 : -ENOMEM;
	}
	if (!err) {
		*out = c;
		return 0;
	}
	carrier_free(c);
	return err == -ENOMEM ? no_room(options, err, diag) : err;
}

int carrier_open(struct carrier *c, struct probes *probes, bool later, struct pugmark_diag *diag)
{
	const struct recorder_options *options = c->options;
	bool stamps = options->time_unit_ns && tsc_is_clock();

	c->probes = probes;
	c->later = later;
	c->settings = (struct patch_settings){
		.shared.n_chunks = options->lane_bytes > PATCH_CHUNK
					   ? options->lane_bytes / PATCH_CHUNK
				   : options->lane_bytes ? 1
							 : CHUNKS,
		.shared.waits = options->on_full_wait,
		.shared.stamp_bytes = stamps ? PATCH_STAMP_BYTES : PATCH_CHUNK,
		.poison = options->carrier_poison,
		.objects_fd = -1,
	};
	int dir = open(options->output, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int err = dir < 0 ? -errno : lanes_new(dir, stamps, &c->lanes);
	c->folder = realpath(options->output, NULL);
	c->settings.objects_fd = c->folder ? dir : -1;
	c->settings.objects_path = c->folder;
	if (!c->folder && dir >= 0)
		close(dir);
	return err ? no_room(options, err, diag) : 0;
}

/* What debuggers were told of the code of an area; it is no part of the recording. */
static void remove_objects(const struct carrier *c, const struct area *a)
{
	char name[OBJECT_NAME_BYTES];

	for (uint32_t i = 0; i < a->n_regions; i++) {
		object_name(name, a->pid, i);
		if (a->regions[i].object)
			unlinkat(c->settings.objects_fd, name, 0);
	}
}

void carrier_free(struct carrier *c)
{
	if (!c)
		return;
	lanes_free(c->lanes);
	for (uint32_t i = 0; i < c->n_areas; i++) {
		remove_objects(c, c->areas[i]);
		area_free(c->areas[i]);
	}
	if (c->settings.objects_fd >= 0)
		close(c->settings.objects_fd);
	free(c->folder);
	patch_modules_deinit(&c->modules);
	free(c->foreign);
	free(c);
}

struct lanes *carrier_lanes(struct carrier *c)
{
	return c->lanes;
}

/* The probes of the runtimes: what a patched instruction leaves to the kernel. */
static int probe_area(struct carrier *c, const struct area *a, uint32_t number)
{
	uint32_t rare = PATCH_CODE_START + pugmark_patch_rare, n = 0;
	unsigned long offsets[64];
	__u64 cookies[64];
	char path[40];

	for (uint32_t i = 0; i < a->n_regions; i++) {
		if (!a->regions[i].addr)
			continue;
		offsets[n] = a->regions[i].off_fd + rare;
		cookies[n++] = (uint64_t)rare << 32 | number;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", a->fd);
	return probes_attach_patched(c->probes, path, offsets, cookies, n);
}

/* Whether it runs one of the programs that libraries were planned for. */
static bool is_known(const struct carrier *c, pid_t pid)
{
	struct stat its, known;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	if (stat(path, &its))
		return false;
	for (uint32_t i = 0; i < c->options->n_program_fds; i++)
		if (!fstat(c->options->program_fds[i], &known) && known.st_dev == its.st_dev &&
		    known.st_ino == its.st_ino)
			return true;
	return false;
}

/* The process, which runs, needs nothing of what it was given. What cannot be taken back now is
 * when recording ends. */
static void take_back(struct area *a)
{
	struct detached *given = NULL;

	if (!detach_process(a->record, a->fd, a->pid, &given) && !given->kept)
		a->number = 0;
	detached_free(given);
}

/* Gives the process its memory; nothing is patched yet. Returns 0 or -errno, with c->why. */
static int prepare(struct carrier *c, const struct tracee *t, bool runs, uint64_t *stopped_ns,
		   struct area **out)
{
	struct patch_settings settings = c->settings;
	struct lanes_image image;
	struct area *a;

	c->why = patch_forbidden(t->pid);
	if (c->why)
		return -EPERM;
	c->why = "too many processes are patched";
	if (c->n_areas == AREAS_MAX)
		return -ENOSPC;
	settings.known = is_known(c, t->pid);
	int err = area_new(t, runs, c->modules.at, c->modules.n, c->modules.n_sites, &settings, &a,
			   stopped_ns, &c->why);
	if (err)
		return err;
	c->areas[c->n_areas++] = a;
	area_image(a, c->modules.at, &image);
	a->number = c->n_areas;
	c->why = "what it writes cannot be read";
	int number = lanes_add(c->lanes, a->chunks_fd, &c->settings.shared, &image);
	err = number < 0 ? number : 0;
	if (!err) {
		a->number = number;
		c->why = "its rare events cannot be probed (uprobe_multi is needed: Linux 6.6)";
		err = probe_area(c, a, number);
	}
	if (!err) {
		*out = a;
		c->n_left = foreign_leave(a, c->foreign);
	} else if (runs) {
		take_back(a);
	}
	return err;
}

/* Which sites are to be patched in @a. */
static bool *patched_of(const struct carrier *c, const struct area *a)
{
	bool *patched = calloc(c->modules.n_sites + 1, sizeof(*patched));

	for (uint32_t m = 0; patched && m < a->n_regions; m++) {
		const struct area_region *r = &a->regions[m];

		for (uint32_t i = 0; r->entries && i < c->modules.at[m].placing.n; i++)
			patched[c->modules.at[m].first_site + i] = r->entries[i] != NULL;
	}
	return patched;
}

/* Places all probes, if none is in place yet: in the stopped process, which is to be patched by @a,
 * if that can be, only where it is not. */
static int place(struct carrier *c, const struct tracee *t, const struct area *a,
		 struct pugmark_diag *diag)
{
	uint64_t before_ns = clock_now_ns();
	bool *patched = a && c->later ? patched_of(c, a) : NULL;
	int err = 0;

	if (!c->later)
		return 0;
	c->later = false;
	if (patched) {
		late_writable(t, a, c->modules.at, true);
		err = probes_place(c->probes, c->options, patched, true, diag);
		int left = late_writable(t, a, c->modules.at, false);
		if (!err && left && left != -ESRCH)
			err = pugmark_diag_set(diag, left, NULL, PUGMARK_NO_OFFSET,
					       "process %d: its code stays writable: %s", t->pid,
					       strerror(-left));
	}
	if (!err)
		err = probes_place(c->probes, c->options, patched, false, diag);
	free(patched);
	c->placed_ns += clock_now_ns() - before_ns;
	return err;
}

/* What was to be patched and is not, in a process that has no probes there. */
static bool has_unwritten(const struct area *a)
{
	for (uint32_t i = 0; i < a->record->n_entries; i++)
		if (!a->record->entries[i].written)
			return true;
	return false;
}

/* Patches the stopped process. Its probes are in place then, whatever is returned; or *@placed is
 * -errno, with @diag filled. */
static int patch(struct carrier *c, const struct tracee *t, int *placed, struct pugmark_diag *diag)
{
	bool later = c->later;
	uint64_t stopped_ns;
	struct area *a = NULL;
	int err = prepare(c, t, false, &stopped_ns, &a);

	*placed = place(c, t, a, diag);
	if (err || *placed)
		return err;
	c->why = "its code cannot be written";
	err = patches_write(a->record, t);
	if (later && (err < 0 || has_unwritten(a))) {
		patches_restore(a->record, t);
		probes_unplace(c->probes);
		*placed = probes_place(c->probes, c->options, NULL, false, diag);
		err = *placed ? err : patches_write(a->record, t);
	}
	if (err < 0)
		return err;
	c->why = NULL;
	c->n_patched += err;
	return 0;
}

static int look_at(struct carrier *c, pid_t pid, struct pugmark_diag *diag)
{
	int err = foreign_find(pid, c->modules.at, c->modules.n, c->foreign);

	return err ? pugmark_diag_set(diag, err, NULL, PUGMARK_NO_OFFSET, "out of memory") : 0;
}

int carrier_look(struct carrier *c, struct pugmark_diag *diag)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < c->options->n_pids; i++)
		err = look_at(c, c->options->pids[i], diag);
	return err;
}

int carrier_seize(struct carrier *c, pid_t pid, struct pugmark_diag *diag)
{
	(void)c;
	return ptrace(PTRACE_SEIZE, pid, NULL, (void *)PTRACE_O_TRACEEXEC)
		       ? pugmark_diag_set(diag, -errno, NULL, PUGMARK_NO_OFFSET,
					  "--carrier patch: process %d cannot be traced: %s", pid,
					  strerror(errno))
		       : 0;
}

/* Nobody else changes the files until the process is patched, and its probes are in place. */
static int take_turn(struct carrier *c, pid_t pid, struct file_turns *turns,
		     struct pugmark_diag *diag)
{
	if (!c->later)
		return file_turns_wait(turns, c->options, diag);
	int err = file_turns_to_probe(turns, c->options, diag);
	return err ? err : look_at(c, pid, diag);
}

int carrier_start(struct carrier *c, pid_t pid, int *status, struct pugmark_diag *diag)
{
	struct tracee t = {.pid = pid, .mem_fd = -1};
	struct file_turns turns = {0};
	int err = start_reach(&t), placed = 0;
	bool stopped = err != -ESRCH;

	c->why_pid = pid;
	c->why = err == -ENOENT ? "it has no dynamic linker of glibc" : NULL;
	if (stopped)
		placed = take_turn(c, pid, &turns, diag);
	if (!err && !placed)
		err = patch(c, &t, &placed, diag);
	else if (stopped && !placed)
		placed = place(c, &t, NULL, diag);
	file_turns_end(&turns);
	if (placed)
		kill(pid, SIGKILL);
	if (stopped)
		ptrace(PTRACE_DETACH, pid, NULL, NULL);
	c->why_err = err == -EPERM || err == -ENODATA || err == -ENOENT ? 0 : err;
	tracee_close(&t);
	if (err == -ESRCH && !placed)
		waitpid(pid, status, __WALL);
	return placed ? placed : err == -ESRCH ? err : 0;
}

uint64_t carrier_placed_ns(const struct carrier *c)
{
	return c->placed_ns;
}

/* Patches the process that runs. */
static int patch_running(struct carrier *c, const struct tracee *t, struct attached *done,
			 uint64_t *stopped_ns)
{
	struct area *a;

	c->why = "it has no dynamic linker of glibc";
	if (!tracee_is_of_glibc(t->pid))
		return -ENOENT;
	c->why = "another pugmark patches it, or what one has left there is still in use";
	if (remains_remove(t->pid) < 0)
		return -EPERM;
	c->why = "one of its threads sleeps where nothing interrupts it (vfork?)";
	if (threads_stuck(t->pid))
		return -EPERM;
	int err = prepare(c, t, true, stopped_ns, &a);
	if (err)
		return err;
	err = attach_process(a->record, t->pid, done);
	if (err) {
		take_back(a);
		c->why = done->why;
		return err;
	}
	c->why = NULL;
	return 0;
}

char *carrier_attach(struct carrier *c, pid_t pid)
{
	struct tracee t = {.mem_fd = -1};
	struct attached done = {0};
	uint64_t given_ns = 0; /* how long it was stopped, to be given memory */
	char *words = NULL;
	int err = tracee_open(&t, pid);

	c->why_pid = pid;
	c->why = "its memory cannot be reached";
	if (!err)
		err = patch_running(c, &t, &done, &given_ns);
	c->why_err = err == -EPERM || err == -ENODATA || err == -ENOENT ? 0 : err;
	tracee_close(&t);
	if (err)
		return carrier_words(c);
	if (asprintf(&words,
		     "process %d: %u of %u witnesses patched, %u left to probes since a thread was "
		     "there, %u since somebody else has a breakpoint there; its %u threads were "
		     "stopped twice: for %.1f ms, in which it was given "
		     "memory, and for %.1f ms, in which it was patched",
		     pid, done.patched, c->modules.n_sites, done.left - c->n_left, c->n_left,
		     done.n_threads, given_ns / 1e6, done.stopped_ns / 1e6) < 0)
		return NULL;
	return words;
}

static void stop_probes(void *ctx)
{
	const struct carrier *c = ctx;

	probes_disable(c->probes);
}

static void note_ends(void *ctx, const struct detached *each, uint32_t n)
{
	struct carrier *c = ctx;

	for (uint32_t k = 0; k < n; k++)
		for (uint32_t i = 0; i < each[k].n_ends; i++)
			lanes_note_end(c->lanes, each[k].ends[i].tid, each[k].area,
				       each[k].ends[i].lane, each[k].ends[i].pos,
				       each[k].ends[i].lost);
}

void carrier_stop(struct carrier *c)
{
	struct detached_all *all = NULL;

	if (c->n_areas)
		c->stop_err = detach_all(c->areas, c->n_areas, stop_probes, note_ends, c, &all);
	for (uint32_t i = 0; all && i < all->n; i++) {
		const struct detached *d = &all->each[i];

		c->n_detached += !d->err && (d->restored || d->left);
		c->n_kept += !d->err && d->kept;
		c->n_failed += d->err && d->kept;
		if (d->err && d->kept && !c->stop_err)
			c->stop_err = d->err;
		if (d->stopped_ns > c->stopped_ns)
			c->stopped_ns = d->stopped_ns;
	}
	if (all && all->n_over) {
		c->n_failed += all->n_over;
		c->stop_err = c->stop_err ? c->stop_err : -E2BIG;
	}
	detached_all_free(all);
}

char *carrier_stop_words(const struct carrier *c)
{
	struct lanes_totals totals = lanes_totals(c->lanes);
	char detached[256] = "", failed[160] = "", unwritten[160] = "", *words;

	if (!c->n_areas)
		return NULL;
	if (c->n_detached)
		snprintf(detached, sizeof(detached),
			 "; patches taken out of %u process%s, whose threads were stopped for at "
			 "most %.1f ms%s",
			 c->n_detached, c->n_detached == 1 ? "" : "es", c->stopped_ns / 1e6,
			 c->n_kept ? "; the code of some stays, for a signal that interrupted it "
				     "returns there, or somebody has changed what was patched"
				   : "");
	if (c->stop_err)
		snprintf(failed, sizeof(failed),
			 "; %s processes keep their patches, which the next recorder takes out: %s",
			 c->n_failed ? "some" : "all", strerror(-c->stop_err));
	if (totals.write_err)
		snprintf(unwritten, sizeof(unwritten),
			 "; some of what threads wrote could not be put aside in the recording's "
			 "folder: "
			 "%s; what they lost meanwhile is counted",
			 strerror(-totals.write_err));
	if (asprintf(&words,
		     "%.1f MiB of memory for the patches and %u thread%s, of which each holds %u "
		     "KiB "
		     "at most beside what waits to be read (--lane-memory)%s%s%s",
		     totals.memory / 1048576.0, totals.lanes, totals.lanes == 1 ? "" : "s",
		     PATCH_CHUNK >> 10, detached, failed, unwritten) < 0)
		return NULL;
	return words;
}

char *carrier_words(const struct carrier *c)
{
	uint32_t n_places[N_PATCH_REASONS] = {0};
	char *words = NULL;

	for (uint32_t m = 0; m < c->modules.n; m++)
		for (int i = 0; i < N_PATCH_REASONS; i++)
			n_places[i] += c->modules.at[m].placing.n_by_reason[i];
	if (c->why)
		return asprintf(&words,
				"process %d was not patched, so its events came by probes: "
				"%s%s%s",
				c->why_pid, c->why, c->why_err ? ": " : "",
				c->why_err ? strerror(-c->why_err) : "") < 0
			       ? NULL
			       : words;
	if (asprintf(&words,
		     "%u of %u witnesses patched (no room at %u, read by probes %u, in code "
		     "that is not known %u, somebody else has a breakpoint at %u)",
		     c->n_patched, c->modules.n_sites, n_places[PATCH_SHORT], n_places[PATCH_READS],
		     n_places[PATCH_UNKNOWN], c->n_left) < 0)
		return NULL;
	return words;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* giving.c: see giving.h. */
#include "user/patch/giving.h"

#include "offline/base/clock.h"
#include "offline/base/write_all.h"
#include "user/patch/process/filters.h"
#include "user/patch/process/threads.h"
#include "user/patch/process/tracee_call.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

enum { PAGE = 4096 };
#define GIVEN_NAME "pugmark" /* as GIVEN_MAPPED has it */

/* A system call of the process. Returns its result, or -errno whoever's. */
static int64_t call(const struct tracee *t, long number, uint64_t a, uint64_t b, uint64_t c,
		    uint64_t d, uint64_t e, uint64_t f)
{
	int64_t result;
	int err = tracee_syscall(t, number, (uint64_t[]){a, b, c, d, e, f}, &result);

	return err ? err : result;
}

/* The rings, behind a page that a child of fork has a copy of. */
static int give_rings(const struct tracee *t, struct giving *g)
{
	uint64_t bytes = PATCH_RINGS * (uint64_t)PATCH_RING_BYTES;

	g->local = g->old_local;
	if (g->local)
		return 0;
	int64_t at = call(t, SYS_mmap, 0, PATCH_LOCAL_BYTES + bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	g->why = "it may not have more memory (mmap is refused)";
	if (at < 0)
		return (int)at;
	struct patch_local local = {.magic = PATCH_MAGIC, .self = at};
	g->why = "this kernel cannot wipe memory on fork";
	int err =
		(int)call(t, SYS_madvise, at + PATCH_LOCAL_BYTES, bytes, MADV_WIPEONFORK, 0, 0, 0);
	if (!err)
		err = tracee_write(t, at, &local, sizeof(local));
	if (err)
		call(t, SYS_munmap, at, PATCH_LOCAL_BYTES + bytes, 0, 0, 0, 0);
	else
		g->local = at;
	return err;
}

static int give_mappings(const struct tracee *t, struct giving *g, int fd, int chunks_fd,
			 uint32_t *n_code)
{
	for (uint32_t i = 0; i < g->n_code; i++, ++*n_code) {
		const struct giving_code *code = &g->code[i];
		int64_t got = call(t, SYS_mmap, code->addr, code->bytes, PROT_READ | PROT_EXEC,
				   MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, code->off);

		g->why =
			"it may not have more code (mmap is refused: a seccomp filter, or SELinux)";
		if (got < 0)
			return (int)got;
	}
	int64_t shared = call(t, SYS_mmap, 0, g->record.chunks_bytes, PROT_READ | PROT_WRITE,
			      MAP_SHARED, chunks_fd, 0);
	g->why = "it may not have so much more memory (mmap is refused: a limit?)";
	if (shared < 0)
		return (int)shared;
	g->record.shared = shared;
	int err = give_rings(t, g);
	if (!err)
		g->record.rings = g->local + PATCH_LOCAL_BYTES;
	return err;
}

/* Opens what the process has as @its_fd. */
static int open_its(const struct tracee *t, int its_fd)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", t->pid, its_fd);
	return giving_open(path);
}

static int write_record(const struct tracee *t, struct giving *g, int its_fd)
{
	const struct patch_header header = {.magic = PATCH_MAGIC, .off_record = g->off_record};

	g->why = "its memory cannot be shared";
	int fd = open_its(t, its_fd);
	if (fd < 0)
		return fd;
	int err = pwrite_all(fd, &g->record, sizeof(g->record), g->off_record);
	if (!err)
		err = pwrite_all(fd, &header, sizeof(header), 0);
	close(fd);
	return err;
}

static int size_chunks(const struct tracee *t, struct giving *g, int its_fd)
{
	struct stat st;

	g->why = "its memory cannot be shared";
	int fd = open_its(t, its_fd);
	if (fd < 0)
		return fd;
	/* What lies behind that nobody can fill. */
	int err = ftruncate(fd, PATCH_CHUNK * (off_t)(1 + g->n_chunks)) || fstat(fd, &st) ? -errno
											  : 0;
	if (!err)
		g->record.chunks_ino = st.st_ino;
	close(fd);
	return err;
}

/* Two memfds of the process. */
static int make_memfds(const struct tracee *t, struct giving *g, int64_t fds[2])
{
	static const char name[] = GIVEN_NAME;

	g->why = "its memory cannot be reached";
	int64_t at = call(t, SYS_mmap, 0, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	if (at < 0)
		return (int)at;
	int err = tracee_write(t, at, name, sizeof(name));
	for (int i = 0; i < 2 && !err; i++) {
		g->why = "it may not have memory to share (memfd_create is refused: a seccomp "
			 "filter, or vm.memfd_noexec)";
		fds[i] = call(t, SYS_memfd_create, at, MFD_CLOEXEC | MFD_ALLOW_SEALING, 0, 0, 0, 0);
		err = fds[i] < 0 ? (int)fds[i] : 0;
	}
	call(t, SYS_munmap, at, PAGE, 0, 0, 0, 0);
	return err;
}

int giving_to_stopped(const struct tracee *t, struct giving *g)
{
	int64_t fds[2] = {-1, -1};
	uint32_t n_code = 0;

	int err = make_memfds(t, g, fds);
	if (!err)
		err = size_chunks(t, g, (int)fds[1]);
	if (!err)
		err = write_record(t, g, (int)fds[0]);
	if (!err)
		err = give_mappings(t, g, (int)fds[0], (int)fds[1], &n_code);
	if (!err)
		err = write_record(t, g, (int)fds[0]);
	for (uint32_t i = 0; err && i < n_code; i++)
		call(t, SYS_munmap, g->code[i].addr, g->code[i].bytes, 0, 0, 0, 0);
	if (err && g->record.shared)
		call(t, SYS_munmap, g->record.shared, g->record.chunks_bytes, 0, 0, 0, 0);
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			call(t, SYS_close, fds[i], 0, 0, 0, 0, 0);
	return err;
}

int giving_to_running(void *ctx)
{
	struct giving *g = ctx;
	struct threads all = {0};
	struct tracee t = {.mem_fd = -1};
	int err = threads_stop(&all, g->pid);

	g->why = "it cannot be stopped";
	if (!err)
		err = tracee_open(&t, g->pid);
	if (!err) {
		t.pid = all.at[0].tid;
		g->why = "a seccomp filter of its own may forbid what it would have to do";
		err = filters_forbid_any(g->pid) ? -EPERM : giving_to_stopped(&t, g);
	}
	uint64_t since_ns = all.since_ns;
	threads_release(&all);
	g->stopped_ns = since_ns ? clock_now_ns() - since_ns : 0;
	tracee_close(&t);
	return err;
}

int giving_open(const char *path)
{
	static const char made[] = GIVEN_MAPPED;
	char link[32], name[sizeof(made) + 1] = "";
	int found = open(path, O_PATH | O_CLOEXEC), fd = -1;
	int ours = memfd_create(GIVEN_NAME, MFD_CLOEXEC);
	struct stat its, st;

	if (found < 0 || ours < 0) {
		int err = errno;

		close(found < 0 ? ours : found);
		return -err;
	}
	/* A file system of somebody's own may have a file of that name, and never answer; nor is
	 * it to be one of large pages. */
	bool other = fstat(found, &its) || fstat(ours, &st) || !S_ISREG(its.st_mode) ||
		     its.st_dev != st.st_dev;
	close(ours);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", found);
	errno = EPERM;
	if (!other && readlink(link, name, sizeof(name) - 1) > 0 && !strcmp(name, made))
		fd = open(link, O_RDWR | O_CLOEXEC);
	if (fd >= 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK)) {
		close(fd);
		fd = -1;
	}
	int err = errno;
	close(found);
	return fd < 0 ? -err : fd;
}

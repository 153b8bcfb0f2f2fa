// SPDX-License-Identifier: LGPL-2.1-or-later
/* call_memory.c: see call_memory.h. */
#include "user/values/calls/call_memory.h"

#include "user/file/maps_lines.h"
#include "user/patch/process/tracee_call.h"
#include "user/proc/status_number.h"
#include "user/values/calls/call_room.h"
#include "user/values/calls/call_stubs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

enum { FIRST_ORDER = 16 };

#define LANES_BYTES ((uint64_t)CALL_LANES << CALL_LANE_SHIFT)
#define KEPT_BYTES ((uint64_t)CALL_LANES << CALL_KEPT_SHIFT)

static int64_t call(const struct tracee *t, long number, uint64_t a, uint64_t b, uint64_t c,
		    uint64_t d, uint64_t e, uint64_t f)
{
	int64_t result;
	int err = tracee_syscall(t, number, (uint64_t[]){a, b, c, d, e, f}, &result);

	return err ? err : result;
}

/* Opens the memfd that the process has as @its_fd. Another process with the tracee's descriptors
 * may have put any file in its place. */
static int open_its(const struct tracee *t, int its_fd)
{
	char path[40], link[32], name[sizeof(CALL_MEMORY_NAME_MAPPED) + 1] = "";
	int found, fd = -1, ours = memfd_create(CALL_MEMORY_NAME, MFD_CLOEXEC);
	struct stat its, st;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", t->pid, its_fd);
	found = open(path, O_PATH | O_CLOEXEC);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", found);
	bool same = found >= 0 && ours >= 0 && !fstat(found, &its) && !fstat(ours, &st) &&
		    S_ISREG(its.st_mode) && its.st_dev == st.st_dev;
	if (same && readlink(link, name, sizeof(name) - 1) > 0 &&
	    !strcmp(name, CALL_MEMORY_NAME_MAPPED))
		fd = open(link, O_RDWR | O_CLOEXEC);
	if (found >= 0)
		close(found);
	if (ours >= 0)
		close(ours);
	return fd < 0 ? -EPERM : fd;
}

/* A memfd of the process, of @bytes; *@ours is the same here. */
static int make_memfd(const struct tracee *t, uint64_t bytes, int64_t *its, int *ours)
{
	static const char name[] = CALL_MEMORY_NAME;
	int64_t at = call(t, SYS_mmap, 0, CALL_PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1, 0);
	if (at < 0)
		return (int)at;
	int err = tracee_write(t, at, name, sizeof(name));
	*its = err ? err
		   : call(t, SYS_memfd_create, at, MFD_CLOEXEC | MFD_ALLOW_SEALING, 0, 0, 0, 0);
	call(t, SYS_munmap, at, CALL_PAGE, 0, 0, 0, 0);
	if (*its < 0)
		return (int)*its;
	*ours = open_its(t, (int)*its);
	if (*ours < 0)
		return *ours;
	/* Whoever has kept a descriptor cannot cut it short under what is mapped of it. */
	return ftruncate(*ours, (off_t)bytes) || fcntl(*ours, F_ADD_SEALS, F_SEAL_SHRINK) ? -errno
											  : 0;
}

static int map(const struct tracee *t, uint64_t at, uint64_t bytes, int prot, int flags, int64_t fd,
	       uint64_t off)
{
	int64_t got = call(t, SYS_mmap, at, bytes, prot, flags | MAP_FIXED_NOREPLACE, fd, off);

	return got < 0 ? (int)got : (uint64_t)got != at ? -ENOMEM : 0;
}

/* Unmaps what of the line is ours within @bytes from @at. */
static int unmap_line(const struct tracee *t, const struct maps_line *line, uint64_t at,
		      uint64_t bytes)
{
	uint64_t start = line->start > at ? line->start : at;
	uint64_t end = line->end < at + bytes ? line->end : at + bytes;

	return start < end ? (int)call(t, SYS_munmap, start, end - start, 0, 0, 0, 0) : 0;
}

static bool is_local(const struct call_patches *p, const struct maps_line *line)
{
	return line->start == p->local && line->end == p->local + CALL_PAGE && !line->inode &&
	       !line->shared;
}

/* A child of fork() has no lanes, and may have put its own memory where they would be: what is not
 * ours stays. */
int call_memory_unmap(const struct call_patches *p, const struct tracee *t)
{
	struct maps_lines lines;
	struct maps_line line;
	int err = maps_lines_open(&lines, t->pid);

	if (err)
		return err;
	while (!err && maps_lines_next(&lines, &line)) {
		if (is_local(p, &line))
			err = unmap_line(t, &line, p->local, CALL_PAGE);
		if (err || strcmp(line.name, CALL_MEMORY_NAME_MAPPED) != 0)
			continue;
		err = unmap_line(t, &line, p->code, p->code_end - p->code);
		if (!err)
			err = unmap_line(t, &line, p->shared, CALL_PAGE + KEPT_BYTES);
		if (!err)
			err = unmap_line(t, &line, p->lanes, LANES_BYTES);
	}
	maps_lines_close(&lines);
	return err;
}

/* What a process maps after mlockall(MCL_FUTURE) is locked, and all of it given memory at once: the
 * first pages tell, before the lanes are mapped. */
static int map_all(const struct tracee *t, const struct call_patches *p, int64_t code_fd,
		   int64_t lanes_fd, const char **why)
{
	const long locked = status_number(t->pid, "VmLck");
	int err = map(t, p->code, p->code_end - p->code, PROT_READ | PROT_EXEC, MAP_PRIVATE,
		      code_fd, 0);
	if (!err)
		err = map(t, p->local, CALL_PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!err)
		err = (int)call(t, SYS_madvise, p->local, CALL_PAGE, MADV_WIPEONFORK, 0, 0, 0);
	if (!err)
		err = map(t, p->shared, CALL_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, lanes_fd, 0);
	if (!err)
		err = map(t, p->kept, KEPT_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, code_fd,
			  p->code_end - p->code);
	if (!err && (locked < 0 || status_number(t->pid, "VmLck") != locked)) {
		*why = "it locks all that it maps (mlockall)";
		err = -EPERM;
	}
	if (!err)
		err = map(t, p->lanes, LANES_BYTES, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_NORESERVE, lanes_fd, CALL_PAGE);
	/* A child may have given up rights that its parent has. */
	if (!err)
		err = (int)call(t, SYS_madvise, p->shared, CALL_PAGE, MADV_DONTFORK, 0, 0, 0);
	if (!err)
		err = (int)call(t, SYS_madvise, p->lanes, LANES_BYTES, MADV_DONTFORK, 0, 0, 0);
	if (!err)
		err = (int)call(t, SYS_madvise, p->lanes, LANES_BYTES, MADV_DONTDUMP, 0, 0, 0);
	if (err)
		call_memory_unmap(p, t);
	return err;
}

static int write_fd(int fd, const void *bytes, size_t len)
{
	ssize_t n = pwrite(fd, bytes, len, 0);

	return n < 0 ? -errno : (size_t)n != len ? -EIO : 0;
}

static int choose_places(struct call_patches *p, const struct tracee *t)
{
	struct tracee_map *maps = NULL;
	int n = tracee_ranges(t->pid, &maps);
	const uint64_t bytes = call_stubs_bytes(p) + 2 * CALL_PAGE + KEPT_BYTES;

	if (n > 0) {
		p->code = call_room_near(maps, n, p->sites[0].at, bytes);
		p->lanes = call_room_most(maps, n, LANES_BYTES);
	}
	free(maps);
	p->code_end = p->code + call_stubs_bytes(p);
	p->kinds = p->code + call_stubs_kinds(p);
	p->local = p->code_end;
	p->shared = p->local + CALL_PAGE;
	p->kept = p->shared + CALL_PAGE;
	if (!p->code || !p->lanes)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->n; i++) {
		int64_t by = (int64_t)(p->sites[i].at - p->code);

		if (by > (int64_t)CALL_ROOM_REACH || by < -(int64_t)CALL_ROOM_REACH)
			return -ERANGE;
	}
	return 0;
}

int call_memory_give(struct call_patches *p, const struct tracee *t, const char **why)
{
	const struct call_shared shared = {.order = FIRST_ORDER};
	int64_t its[2] = {-1, -1};
	uint8_t *code = NULL;
	int err = choose_places(p, t);

	*why = err == -ERANGE
		       ? "its own code makes system calls, and lies too far from that of its "
			 "libraries"
		       : "there is no room in reach of its libraries";
	if (!err) {
		*why = "it may not have memory to share (a seccomp filter, or vm.memfd_noexec)";
		err = make_memfd(t, call_stubs_bytes(p) + KEPT_BYTES, &its[0], &p->code_fd);
	}
	if (!err)
		err = make_memfd(t, CALL_PAGE + LANES_BYTES, &its[1], &p->lanes_fd);
	if (!err)
		err = (code = call_stubs_make(p)) ? write_fd(p->code_fd, code, call_stubs_bytes(p))
						  : -ENOMEM;
	/* Nor write to what others execute. */
	if (!err && fcntl(p->code_fd, F_ADD_SEALS, F_SEAL_WRITE))
		err = -errno;
	if (!err)
		err = write_fd(p->lanes_fd, &shared, sizeof(shared));
	if (!err) {
		*why = "it may not have more memory and code (mmap is refused: a limit, or "
		       "SELinux)";
		err = map_all(t, p, its[0], its[1], why);
	}
	free(code);
	for (int i = 0; i < 2; i++)
		if (its[i] >= 0)
			call(t, SYS_close, its[i], 0, 0, 0, 0, 0);
	return err;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* file_turns.c: see file_turns.h. A turn is a lock of the file itself, so it is the same by
 * whatever path, and ends with a recorder that is killed. It is none that programs take of their
 * own file, as by `flock ./program ./program`: a shared lock of one byte far behind the end of any
 * file, which belongs to the open file (fcntl(2), F_OFD_SETLK). Of a file that is open for reading
 * there are no exclusive ones. So a recorder takes it, looks whether somebody else has one as well,
 * and if so lets go of it and tries again: of two that come at once neither or one goes on. */
#include "user/patch/file_turns.h"

#include "offline/base/clock.h"
#include "user/patch/remains.h"
#include "user/patch/turn_holder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FILES = 64, WAIT_S = 10, LOOK_NS = 20000000 };
#define BYTE ((off_t)1 << 62)

struct traced_file {
	const char *path;
	struct stat st;
};

static int by_inode(const void *a, const void *b)
{
	const struct stat *x = &((const struct traced_file *)a)->st,
			  *y = &((const struct traced_file *)b)->st;

	if (x->st_dev != y->st_dev)
		return x->st_dev < y->st_dev ? -1 : 1;
	return x->st_ino < y->st_ino ? -1 : x->st_ino > y->st_ino;
}

/* Each file once, by inode. All recorders lock files in this order, so that no two of them wait for
 * one another. */
static uint32_t find_files(const struct recorder_options *o, struct traced_file files[FILES])
{
	uint32_t n = 0, n_each = 0;

	for (uint32_t m = 0; m < o->n_modules && n < FILES; m++) {
		files[n].path = o->modules[m].path;
		n += !stat(files[n].path, &files[n].st);
	}
	if (n)
		qsort(files, n, sizeof(files[0]), by_inode);
	for (uint32_t i = 0; i < n; i++)
		if (!n_each || by_inode(&files[n_each - 1], &files[i]))
			files[n_each++] = files[i];
	return n_each;
}

static int ask(int fd, int command, short type, struct flock *out)
{
	*out = (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = BYTE, .l_len = 1};
	return fcntl(fd, command, out) ? -errno : 0;
}

/* Whether another recorder has the lock too. Locks of other programs, most of all those of a whole
 * file, may reach the byte. The kernel tells of one lock alone; behind somebody else's a recorder's
 * is looked for by its process. */
static int is_shared(int fd)
{
	struct flock other;
	struct stat st;
	int err = ask(fd, F_OFD_GETLK, F_WRLCK, &other);

	if (err || other.l_type == F_UNLCK)
		return err;
	if (other.l_pid == -1 && other.l_start == BYTE && other.l_len == 1)
		return 1;
	return !fstat(fd, &st) && turn_holder(&st, BYTE);
}

/* 1: the lock is taken; 0: somebody else has it; -errno: it cannot be taken, as where another
 * program has locked the whole file to write it (-EAGAIN). */
static int try_lock(int fd)
{
	struct flock own;
	int err = ask(fd, F_OFD_SETLK, F_RDLCK, &own);
	int shared = err ? err : is_shared(fd);

	if (shared == 1)
		return ask(fd, F_OFD_SETLK, F_UNLCK, &own);
	return shared ? shared : 1;
}

/* Who keeps this process from taking its turn. 0: not known. */
static pid_t find_holder(int fd)
{
	struct flock other;
	struct stat st;

	if (!ask(fd, F_OFD_GETLK, F_RDLCK, &other) && other.l_type != F_UNLCK && other.l_pid > 0)
		return other.l_pid;
	return fstat(fd, &st) ? 0 : turn_holder(&st, BYTE);
}

/* False: another process still holds the lock at @end_ns. True: it is ours, or the file cannot have
 * one. Two that wait look at other times. */
static bool lock(int fd, uint64_t end_ns)
{
	for (uint64_t at = (uint64_t)getpid();; at = at * 0x9e3779b97f4a7c15 + 1) {
		int got = try_lock(fd);

		if (got == 1 || (got && got != -EINTR && got != -EAGAIN && got != -EACCES))
			return true;
		if (clock_now_ns() >= end_ns)
			return false;
		nanosleep(&(struct timespec){.tv_nsec = LOOK_NS / 2 + (at >> 32) % LOOK_NS}, NULL);
	}
}

int file_turns_wait(struct file_turns *turns, const struct recorder_options *options,
		    struct pugmark_diag *diag)
{
	uint64_t end_ns = clock_now_ns() + WAIT_S * 1000000000ull;
	struct traced_file files[FILES];
	uint32_t n = find_files(options, files);

	*turns = (struct file_turns){0};
	for (uint32_t i = 0; i < n; i++) {
		int fd = open(files[i].path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

		if (fd < 0)
			continue;
		turns->fds[turns->n++] = fd;
		if (lock(fd, end_ns))
			continue;
		char who[32] = "another process";
		pid_t pid = find_holder(fd);
		if (pid)
			snprintf(who, sizeof(who), "process %d", pid);
		file_turns_end(turns);
		return pugmark_diag_set(diag, -EBUSY, files[i].path, PUGMARK_NO_OFFSET,
					"%s places probes or patches there, or has locked it, "
					"since more than %d s (try again, or end it)",
					who, WAIT_S);
	}
	return 0;
}

/* The kernel takes a probe away by writing the first byte that the file has there. In a patched
 * process that byte would stand before the rest of the patch's jump, and be executed with it. */
static int refuse_patched(const struct recorder_options *options, struct pugmark_diag *diag)
{
	struct traced_file files[FILES];
	struct stat stats[FILES];
	uint32_t n = find_files(options, files);

	for (uint32_t i = 0; i < n; i++)
		stats[i] = files[i].st;
	pid_t pid = remains_of_files(stats, n);
	return pid ? pugmark_diag_set(diag, -EBUSY, NULL, PUGMARK_NO_OFFSET,
				      "process %d is patched by another pugmark, which probes in "
				      "the same file would break (end that recording first; if its "
				      "recorder was killed, try again or end the process)",
				      pid)
		   : 0;
}

int file_turns_to_probe(struct file_turns *turns, const struct recorder_options *options,
			struct pugmark_diag *diag)
{
	int err = file_turns_wait(turns, options, diag);

	if (!err)
		err = refuse_patched(options, diag);
	if (err)
		file_turns_end(turns);
	return err;
}

void file_turns_end(struct file_turns *turns)
{
	for (uint32_t i = 0; i < turns->n; i++) {
		struct flock own;
		ask(turns->fds[i], F_OFD_SETLK, F_UNLCK, &own); /* a child may have a copy of it */
		close(turns->fds[i]);
	}
	turns->n = 0;
}

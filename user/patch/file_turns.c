// SPDX-License-Identifier: LGPL-2.1-or-later
/* file_turns.c: see file_turns.h. A turn is a lock of the file itself (flock), so it is the same by
 * whatever path, and ends with a recorder that is killed. */
#include "user/patch/file_turns.h"

#include "offline/base/clock.h"
#include "user/patch/remains.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FILES = 64, WAIT_S = 10, LOOK_NS = 20000000 };

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

/* False: another process still holds the lock at @end_ns. True: it is ours, or the file has none.
 */
static bool lock(int fd, uint64_t end_ns)
{
	while (flock(fd, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return true;
		if (clock_now_ns() >= end_ns)
			return false;
		nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
	}
	return true;
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
		file_turns_end(turns);
		return pugmark_diag_set(diag, -EBUSY, files[i].path, PUGMARK_NO_OFFSET,
					"another process holds a lock on it (flock) since more "
					"than %d s, as a recorder does while it places probes or "
					"patches there (try again, or end the process that lslocks "
					"names)",
					WAIT_S);
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
		flock(turns->fds[i], LOCK_UN); /* a child may have a copy of it */
		close(turns->fds[i]);
	}
	turns->n = 0;
}

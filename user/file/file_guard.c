// SPDX-License-Identifier: LGPL-2.1-or-later
/* file_guard.c: see file_guard.h. */
#include "user/file/file_guard.h"

#include <fcntl.h>
#include <signal.h>

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

void file_guard_take(struct file_guard *guard, int fd)
{
	sigset_t io;
	*guard = (struct file_guard){.fd = fd};
	sigemptyset(&io);
	sigaddset(&io, SIGIO);
	pthread_sigmask(SIG_BLOCK, &io, NULL);
	guard->leased = !fcntl(fd, F_SETLEASE, F_RDLCK);
	guard->changed = fstat(fd, &guard->was) != 0;
}

/* Whether the file differs from what was guarded. ctime also changes when a link or name does, so
 * with a lease, which tells of writes, it is not compared. Without a lease it is: the owner of a
 * file can set mtime to anything. */
static bool is_other(const struct file_guard *g)
{
	struct stat now;
	if (fstat(g->fd, &now))
		return true;
	if (now.st_size != g->was.st_size || !same_time(&now.st_mtim, &g->was.st_mtim))
		return true;
	return !g->leased && !same_time(&now.st_ctim, &g->was.st_ctim) &&
	       now.st_nlink == g->was.st_nlink && now.st_mode == g->was.st_mode;
}

bool file_guard_changed(struct file_guard *guard)
{
	if (guard->fd < 0 || guard->changed)
		return guard->changed;
	/* While somebody waits for the lease, F_GETLEASE returns what it is being broken to. */
	bool breaking = guard->leased && fcntl(guard->fd, F_GETLEASE) != F_RDLCK;
	guard->changed = breaking || is_other(guard);
	return guard->changed;
}

void file_guard_release(struct file_guard *guard)
{
	if (guard->fd >= 0 && guard->leased)
		fcntl(guard->fd, F_SETLEASE, F_UNLCK);
	guard->leased = false;
}

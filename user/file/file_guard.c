// SPDX-License-Identifier: LGPL-2.1-or-later
/* file_guard.c: see file_guard.h. */
#include "user/file/file_guard.h"

#include "offline/base/private_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef ZFS_SUPER_MAGIC
#define ZFS_SUPER_MAGIC 0x2fc12fc1
#endif

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* Of what is in the file, as far as any file is read (nothing larger is analysed). False: it cannot
 * be read. */
static bool digest_of(int fd, uint8_t out[DIGEST_BYTES])
{
	uint8_t bytes[1 << 16];
	struct digest d;
	off_t at = 0;
	ssize_t n;
	digest_init(&d);
	while ((n = pread(fd, bytes, sizeof(bytes), at)) > 0 && (uint64_t)at < PRIVATE_FILE_MAX) {
		digest_add(&d, bytes, (size_t)n);
		at += n;
	}
	digest_end(&d, out);
	return n >= 0;
}

/* Whether a file of this file system is written to only through itself, so that a lease on it holds
 * up whoever writes. Below a file of an overlay lies another one, which may be anybody's; that of a
 * network may be written to elsewhere. */
static bool has_own_files(int fd)
{
	static const uint32_t kinds[] = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC,   BTRFS_SUPER_MAGIC,
					 F2FS_SUPER_MAGIC, TMPFS_MAGIC,	      RAMFS_MAGIC,
					 SQUASHFS_MAGIC,   ISOFS_SUPER_MAGIC, ZFS_SUPER_MAGIC};
	struct statfs fs;
	if (fstatfs(fd, &fs))
		return false;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if ((uint32_t)fs.f_type == kinds[i])
			return true;
	return false;
}

void file_guard_take(struct file_guard *guard, int fd)
{
	sigset_t io;
	*guard = (struct file_guard){.fd = fd};
	sigemptyset(&io);
	sigaddset(&io, SIGIO);
	pthread_sigmask(SIG_BLOCK, &io, NULL);
	guard->leased = !fcntl(fd, F_SETLEASE, F_RDLCK);
	guard->told = guard->leased && has_own_files(fd);
	guard->changed = fstat(fd, &guard->was) != 0;
	if (!guard->told)
		guard->changed |= !digest_of(fd, guard->digest);
}

/* Whether the file differs from what was guarded. ctime also changes when a link, a name or the
 * mode does, so where the lease tells of writes it is not compared. Elsewhere it is, and whatever
 * has changed it counts: the owner of a file can set mtime to anything, and the mode too. */
static bool is_other(const struct file_guard *g)
{
	struct stat now;
	if (fstat(g->fd, &now))
		return true;
	if (now.st_size != g->was.st_size || !same_time(&now.st_mtim, &g->was.st_mtim))
		return true;
	return !g->told && !same_time(&now.st_ctim, &g->was.st_ctim);
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

bool file_guard_changed_at_end(struct file_guard *guard)
{
	uint8_t digest[DIGEST_BYTES];
	if (file_guard_changed(guard) || guard->fd < 0 || guard->told)
		return guard->changed;
	guard->changed =
		!digest_of(guard->fd, digest) || memcmp(digest, guard->digest, sizeof(digest)) != 0;
	return guard->changed;
}

void file_guard_release(struct file_guard *guard)
{
	if (guard->fd >= 0 && guard->leased)
		fcntl(guard->fd, F_SETLEASE, F_UNLCK);
	guard->leased = false;
}

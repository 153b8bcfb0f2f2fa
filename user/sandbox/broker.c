// SPDX-License-Identifier: LGPL-2.1-or-later
/* broker.c: see broker.h. A path is read once, out of the child's memory, and what is opened by it
 * is handed over as a descriptor: the child has no second chance to change it.
 * open_regular() finds by O_PATH; for the child that is a descriptor to read from already (seccomp
 * hands over none of the other kind). */
#include "user/sandbox/broker.h"

#include "offline/base/open_regular.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* At @addr in the child, to its NUL, a page at a time: the next one may not be there. */
static int read_path(pid_t pid, uint64_t addr, char path[PATH_MAX])
{
	const size_t page = 4096;
	size_t n = 0;
	while (n < PATH_MAX) {
		size_t len = page - (addr + n) % page;
		len = len < PATH_MAX - n ? len : PATH_MAX - n;
		struct iovec to = {path + n, len}, from = {(void *)(addr + n), len};
		if (process_vm_readv(pid, &to, 1, &from, 1, 0) != (ssize_t)len)
			return -EFAULT;
		if (memchr(path + n, 0, len))
			return 0;
		n += len;
	}
	return -ENAMETOOLONG;
}

static int give(pid_t pid, uint64_t addr, const void *bytes, size_t len)
{
	struct iovec from = {(void *)bytes, len}, to = {(void *)addr, len};
	return process_vm_writev(pid, &from, 1, &to, 1, 0) == (ssize_t)len ? 0 : -EFAULT;
}

static bool is_granted(const struct sandbox *s, const char *path)
{
	static const char *const everybodys[] = {"/etc/ld.so.cache", "/etc/ld.so.preload"};
	for (uint32_t i = 0; i < sizeof(everybodys) / sizeof(*everybodys); i++)
		if (!strcmp(path, everybodys[i]))
			return true;
	for (uint32_t i = 0; i < s->n_grants; i++) {
		size_t len = strlen(s->grants[i]);
		while (len > 1 && s->grants[i][len - 1] == '/')
			len--;
		if (!strncmp(path, s->grants[i], len) &&
		    (!path[len] || (path[len] == '/' && !strstr(path + len, "/.."))))
			return true;
	}
	return false;
}

/* What is analysed are ELF files, but no memory of processes. */
static bool is_elf(int fd)
{
	Elf64_Ehdr e;
	return pread(fd, &e, sizeof(e), 0) == sizeof(e) && !memcmp(e.e_ident, ELFMAG, SELFMAG) &&
	       e.e_type != ET_CORE;
}

/* A descriptor of ours, or -errno. */
static int open_for(const struct broker *b, const char *path, int flags)
{
	if ((flags & O_ACCMODE) != O_RDONLY || flags & (O_CREAT | O_TRUNC | O_DIRECTORY))
		return -EACCES;
	int fd = open_regular(path, NULL);
	if (fd < 0 || is_granted(b->sandbox, path) || is_elf(fd))
		return fd;
	close(fd);
	return -EACCES;
}

/* Hands @fd over, as what the call returns, and closes it. */
static void hand_over(const struct broker *b, const struct seccomp_notif *n, int fd)
{
	struct seccomp_notif_addfd add = {
		.id = n->id,
		.flags = SECCOMP_ADDFD_FLAG_SEND,
		.srcfd = (uint32_t)fd,
		.newfd_flags = O_CLOEXEC,
	};
	ioctl(b->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add);
	close(fd);
}

/* Looks, and gives what there is. Returns what the call returns. */
static int64_t look(const struct seccomp_notif *n, const char *path, const uint64_t args[])
{
	char text[PATH_MAX];
	struct stat st;
	int err = 0;
	switch (n->data.nr) {
	case SYS_stat:
		err = stat(path, &st) ? -errno : 0;
		break;
	case SYS_lstat:
		err = lstat(path, &st) ? -errno : 0;
		break;
	case SYS_newfstatat:
		err = fstatat(AT_FDCWD, path, &st, (int)args[2] & AT_SYMLINK_NOFOLLOW) ? -errno : 0;
		break;
	case SYS_readlink:
	case SYS_readlinkat: {
		ssize_t len = readlink(path, text, sizeof(text));
		if (len < 0)
			return -errno;
		len = (uint64_t)len < args[2] ? len : (ssize_t)args[2];
		return give((pid_t)n->pid, args[1], text, (size_t)len) ? -EFAULT : len;
	}
	default:
		return faccessat(AT_FDCWD, path, (int)args[1], 0) ? -errno : 0;
	}
	return err ? err : give((pid_t)n->pid, args[1], &st, sizeof(st));
}

static bool is_relative_to_folder(int nr)
{
	return nr == SYS_openat || nr == SYS_newfstatat || nr == SYS_readlinkat ||
	       nr == SYS_faccessat || nr == SYS_faccessat2;
}

void broker_answer(struct broker *b)
{
	struct seccomp_notif n;
	char path[PATH_MAX];
	memset(&n, 0, sizeof(n));
	if (ioctl(b->listener, SECCOMP_IOCTL_NOTIF_RECV, &n))
		return;
	bool has_folder = is_relative_to_folder(n.data.nr);
	/* The path, and what follows it. */
	uint64_t args[4] = {0};
	memcpy(args, n.data.args + has_folder, sizeof(args));
	int64_t answer = read_path((pid_t)n.pid, args[0], path);
	if (!answer && has_folder && (int)n.data.args[0] != AT_FDCWD && *path != '/')
		answer = -EACCES;
	/* It may have ended while its memory was read, and its number be another's. */
	if (!answer && ioctl(b->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &n.id))
		return;
	if (!answer && (n.data.nr == SYS_open || n.data.nr == SYS_openat)) {
		int fd = open_for(b, path, (int)args[1]);
		if (fd >= 0) {
			hand_over(b, &n, fd);
			return;
		}
		answer = fd;
	} else if (!answer) {
		answer = look(&n, path, args);
	}
	struct seccomp_notif_resp resp = {.id = n.id};
	resp.error = answer < 0 ? (int)answer : 0;
	resp.val = answer < 0 ? 0 : answer;
	ioctl(b->listener, SECCOMP_IOCTL_NOTIF_SEND, &resp);
}

void broker_deinit(struct broker *b)
{
	if (b->listener >= 0)
		close(b->listener);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* broker.c: see broker.h. A path is read once, out of the child's memory, and what is opened by it
 * is handed over as a descriptor: the child has no second chance to change it.
 * A path is followed as this process sees it, so that /proc/self is this process: a grant may be
 * one of its descriptors (/proc/self/fd/5), which the child has not. Nothing else of any process is
 * shown: neither what lies in /proc, nor what its links lead to.
 * open_regular() finds by O_PATH; for the child that is a descriptor to read from already (seccomp
 * hands over none of the other kind). */
#include "user/sandbox/broker.h"

#include "offline/base/open_regular.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
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

static bool is_everybodys(const char *path)
{
	return !strcmp(path, "/etc/ld.so.cache") || !strcmp(path, "/etc/ld.so.preload");
}

static bool is_granted(const struct sandbox *s, const char *path)
{
	if (is_everybodys(path))
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

/* Whether @path is that or a folder on the way there: realpath() asks for each. */
static bool leads_to(const char *path, const char *there)
{
	size_t len = strlen(path);
	return !strncmp(path, there, len) && (!there[len] || there[len] == '/');
}

/* Whether the child may see @path in /proc, as one that it is granted or that leads there. */
static bool is_granted_in_proc(const struct sandbox *s, const char *path)
{
	static const char own[] = "/proc/self/";
	char numbered[PATH_MAX];
	for (uint32_t i = 0; i < s->n_grants; i++) {
		if (strncmp(s->grants[i], own, strlen(own)) != 0)
			continue;
		snprintf(numbered, sizeof(numbered), "/proc/%d/%s", (int)getpid(),
			 s->grants[i] + strlen(own));
		if (leads_to(path, s->grants[i]) || leads_to(path, numbered))
			return true;
	}
	return false;
}

/* A descriptor of O_PATH, with @flags, or -errno: -EACCES where it is in /proc or a link there is
 * on the way (-ELOOP), unless that is granted. */
static int find(const struct sandbox *s, const char *path, int flags)
{
	struct open_how how = {.flags = (uint64_t)(O_PATH | O_CLOEXEC | flags)};
	struct statfs fs;
	bool granted = is_granted(s, path) || is_granted_in_proc(s, path);
	if (!granted)
		how.resolve = RESOLVE_NO_MAGICLINKS;
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
	if (fd < 0)
		return -errno;
	if (granted || (!fstatfs(fd, &fs) && fs.f_type != PROC_SUPER_MAGIC))
		return fd;
	close(fd);
	return -EACCES;
}

/* What is analysed are ELF files, but no memory of processes. */
static bool is_elf(int fd)
{
	Elf64_Ehdr e;
	return pread(fd, &e, sizeof(e), 0) == sizeof(e) && !memcmp(e.e_ident, ELFMAG, SELFMAG) &&
	       e.e_type != ET_CORE;
}

/* Where @fd leads to. */
static bool path_of(int fd, char path[PATH_MAX])
{
	char link[32];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, PATH_MAX - 1);
	path[n > 0 ? n : 0] = 0;
	return n > 0;
}

/* Whether the file @fd lies where a grant leads to. Below a granted folder, which may be anybody's,
 * there may be a link to any file. */
static bool lies_in_grant(const struct sandbox *s, int fd)
{
	char path[PATH_MAX], grant[PATH_MAX];
	bool lies = false;
	if (!path_of(fd, path))
		return false;
	for (uint32_t i = 0; i < s->n_grants && !lies; i++) {
		int to = open(s->grants[i], O_PATH | O_CLOEXEC);
		lies = to >= 0 && path_of(to, grant) && leads_to(grant, path);
		if (to >= 0)
			close(to);
	}
	return lies;
}

/* A descriptor of ours, or -errno. */
static int open_for(const struct broker *b, const char *path, int flags)
{
	if ((flags & O_ACCMODE) != O_RDONLY || flags & (O_CREAT | O_TRUNC | O_DIRECTORY))
		return -EACCES;
	int found = find(b->sandbox, path, 0);
	int fd = found < 0 ? found : open_regular_found(found, NULL);
	if (fd < 0 || is_elf(fd) || is_everybodys(path))
		return fd;
	if (is_granted(b->sandbox, path) && lies_in_grant(b->sandbox, fd))
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

static bool follows(const struct seccomp_notif *n, const uint64_t args[])
{
	int nr = n->data.nr;
	return nr != SYS_lstat && nr != SYS_readlink && nr != SYS_readlinkat &&
	       !(nr == SYS_newfstatat && args[2] & AT_SYMLINK_NOFOLLOW);
}

/* Gives what there is to see of @fd, which @path led to. Returns what the call returns. */
static int64_t show(const struct seccomp_notif *n, int fd, const uint64_t args[])
{
	char text[PATH_MAX];
	struct stat st;
	ssize_t len;
	switch (n->data.nr) {
	case SYS_stat:
	case SYS_lstat:
	case SYS_newfstatat:
		return fstat(fd, &st) ? -errno : give((pid_t)n->pid, args[1], &st, sizeof(st));
	case SYS_readlink:
	case SYS_readlinkat:
		len = readlinkat(fd, "", text, sizeof(text));
		if (len < 0)
			return errno == ENOENT ? -EINVAL : -errno; /* it is there, and no link */
		len = (uint64_t)len < args[2] ? len : (ssize_t)args[2];
		return give((pid_t)n->pid, args[1], text, (size_t)len) ? -EFAULT : len;
	default:
		return syscall(SYS_faccessat2, fd, "", (int)args[1], AT_EMPTY_PATH) ? -errno : 0;
	}
}

static int64_t look(const struct broker *b, const struct seccomp_notif *n, const char *path,
		    const uint64_t args[])
{
	int fd = find(b->sandbox, path, follows(n, args) ? 0 : O_NOFOLLOW);
	if (fd < 0)
		return fd;
	int64_t answer = show(n, fd, args);
	close(fd);
	return answer;
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
		answer = look(b, &n, path, args);
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

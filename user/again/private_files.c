// SPDX-License-Identifier: LGPL-2.1-or-later
/* private_files.c: see private_files.h. */
#include "user/again/private_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

struct stage {
	const char *dir;
	char *why;
	size_t room;
	unsigned n; /* overlays made */
};

static int fail(struct stage *s, const char *what, const char *path)
{
	int err = -errno;
	snprintf(s->why, s->room, "%s %s: %s", what, path, strerror(-err));
	return err;
}

/* \040 and its like, as mountinfo writes blanks. */
static void unescape(char *text)
{
	char *to = text;
	for (const char *at = text; *at; at++) {
		if (at[0] == '\\' && at[1] >= '0' && at[1] <= '3' && at[2] && at[3]) {
			*to++ = (char)((at[1] - '0') << 6 | (at[2] - '0') << 3 | (at[3] - '0'));
			at += 3;
		} else {
			*to++ = *at;
		}
	}
	*to = 0;
}

/* File systems that hold no files of anybody's. */
static bool is_virtual(const char *type)
{
	static const char *const types[] = {"proc",	"sysfs",       "devtmpfs",   "devpts",
					    "cgroup",	"cgroup2",     "securityfs", "debugfs",
					    "tracefs",	"bpf",	       "mqueue",     "pstore",
					    "configfs", "efivarfs",    "autofs",     "hugetlbfs",
					    "fusectl",	"binfmt_misc", "rpc_pipefs"};
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (!strcmp(type, types[i]))
			return true;
	return false;
}

/* @point again at @to, for reading alone. */
static int show(struct stage *s, const char *point, const char *to, bool writable)
{
	if (mount(point, to, NULL, MS_BIND, NULL))
		return fail(s, "cannot show", point);
	if (!writable && mount(NULL, to, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL))
		return fail(s, "cannot protect", point);
	return 0;
}

static int overlay(struct stage *s, const char *point, const char *to)
{
	char upper[PATH_MAX], work[PATH_MAX], options[3 * PATH_MAX];
	snprintf(upper, sizeof(upper), "%s/up%u", s->dir, s->n);
	snprintf(work, sizeof(work), "%s/work%u", s->dir, s->n++);
	struct stat st;
	if (stat(point, &st) || mkdir(upper, st.st_mode & 07777) || mkdir(work, 0700))
		return fail(s, "cannot prepare", point);
	if (chown(upper, st.st_uid, st.st_gid) || chmod(upper, st.st_mode & 07777))
		return fail(s, "cannot prepare", point);
	/* Colons and commas mean something in the options. */
	if (strpbrk(point, ":,\\"))
		return show(s, point, to, false);
	snprintf(options, sizeof(options), "lowerdir=%s,upperdir=%s,workdir=%s", point, upper,
		 work);
	if (mount("overlay", to, "overlay", 0, options))
		return strcmp(point, "/") ? show(s, point, to, false)
					  : fail(s, "no overlay over", point);
	return 0;
}

/* One line of mountinfo: its mount point and the type of its file system. */
static int take_mount(struct stage *s, char *line)
{
	char *point = line, *rest, to[PATH_MAX];
	for (int i = 0; i < 4 && point; i++)
		point = strchr(point + (i != 0), ' ');
	rest = point ? strchr(point + 1, ' ') : NULL;
	char *type = rest ? strstr(rest, " - ") : NULL;
	if (!type)
		return 0;
	point++;
	*rest = 0;
	type += 3;
	type[strcspn(type, " ")] = 0;
	unescape(point);
	if (!strncmp(point, s->dir, strlen(s->dir)))
		return 0;
	struct stat st;
	snprintf(to, sizeof(to), "%s/root%s", s->dir, point);
	if (stat(point, &st) || access(to, F_OK))
		return 0; /* under something else, or not ours to see */
	if (is_virtual(type))
		return show(s, point, to, true);
	return S_ISDIR(st.st_mode) ? overlay(s, point, to) : show(s, point, to, false);
}

static int take_mounts(struct stage *s)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	size_t room = 0;
	int err = f ? 0 : fail(s, "cannot read", "/proc/self/mountinfo");
	while (!err && getline(&line, &room, f) > 0)
		if (!strstr(line, " / / ")) /* the root is there already */
			err = take_mount(s, line);
	free(line);
	if (f)
		fclose(f);
	return err;
}

static int put_input(struct stage *s, const char *path, int input)
{
	static char bytes[1 << 16];
	int fd = open(path, O_WRONLY | O_TRUNC | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return fail(s, "cannot write", path);
	ssize_t n;
	off_t at = 0;
	while ((n = pread(input, bytes, sizeof(bytes), at)) > 0) {
		if (write(fd, bytes, n) != n)
			return fail(s, "cannot write", path);
		at += n;
	}
	close(fd);
	return 0;
}

int private_files_enter(const char *dir, uint64_t bytes, const char *path, int input, char *why,
			size_t room)
{
	struct stage s = {dir, why, room, 0};
	char options[64], root[PATH_MAX], here[PATH_MAX];
	if (!getcwd(here, sizeof(here)))
		return fail(&s, "cannot name", "the working directory");
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return fail(&s, "cannot part from", "/");
	snprintf(options, sizeof(options), "mode=0755,size=%llu", (unsigned long long)bytes);
	if (mount("pugmark", dir, "tmpfs", MS_NOSUID, options))
		return fail(&s, "cannot use", dir);
	snprintf(root, sizeof(root), "%s/root", dir);
	if (mkdir(root, 0755))
		return fail(&s, "cannot make", root);
	int err = overlay(&s, "/", root);
	err = err ? err : take_mounts(&s);
	if (err)
		return err;
	if (chroot(root) || chdir(here))
		return fail(&s, "cannot go into", here);
	/* Those of this namespace of processes. Where that is not allowed the old one stays. */
	mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	return path ? put_input(&s, path, input) : 0;
}

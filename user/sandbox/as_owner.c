// SPDX-License-Identifier: LGPL-2.1-or-later
/* as_owner.c: see as_owner.h. A path is walked by hand: whoever owns a folder or a link on the way
 * may lead it elsewhere after it was looked at, so that all of it has to be root's for root to
 * read. What is not there when it is looked at is not there later either, for root: in a folder
 * that others write to anybody may have taken his file away for that moment. */
#include "user/sandbox/as_owner.h"

#include "user/sandbox/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LINKS_MAX = 40 };

struct owner {
	uid_t uid; /* 0: nobody but root so far */
	gid_t gid;
	bool several;
	bool led; /* by a link of somebody else */
};

/* A word of the command line as a path. */
struct walk {
	char path[PATH_MAX]; /* without the links on the way */
	bool missing;	     /* it is not there, in a folder in which others make files */
};

/* Whether others can make files in this folder. */
static bool is_shared(const struct stat *st)
{
	return st->st_uid || st->st_mode & (S_IWGRP | S_IWOTH);
}

static void take(struct owner *o, const struct stat *st)
{
	/* In a folder with the sticky bit only the owner of a name may change it. */
	bool loose = S_ISDIR(st->st_mode) && st->st_mode & (S_IWGRP | S_IWOTH) &&
		     !(st->st_mode & S_ISVTX);
	if (st->st_uid && (!o->uid || o->uid == st->st_uid))
		*o = (struct owner){st->st_uid, st->st_gid, o->several, o->led};
	else if (st->st_uid)
		o->several = true;
	o->several |= loose && !st->st_uid;
	o->led |= st->st_uid && S_ISLNK(st->st_mode);
}

/* Puts what the link at @path leads to in place of it, with @rest behind. */
static bool follow(char path[PATH_MAX], const char *rest)
{
	char to[PATH_MAX], whole[2 * PATH_MAX];
	ssize_t len = readlink(path, to, sizeof(to) - 1);
	if (len <= 0)
		return false;
	to[len] = 0;
	char *slash = strrchr(path, '/');
	int before = *to == '/' || !slash ? 0 : (int)(slash - path + 1);
	int n = snprintf(whole, sizeof(whole), "%.*s%s%s", before, path, to, rest);
	if (n < 0 || n >= PATH_MAX)
		return false;
	strcpy(path, whole);
	return true;
}

static void look(struct owner *o, const char *start, struct walk *w)
{
	char rest[PATH_MAX], *path = w->path;
	struct stat st;
	bool shared = false;
	*w = (struct walk){.missing = false};
	if (snprintf(path, PATH_MAX, "%s", start) >= PATH_MAX)
		return;
	if (*path != '/' && !stat(".", &st)) {
		take(o, &st);
		shared = is_shared(&st);
	}
	for (size_t at = 0, links = 0; links < LINKS_MAX;) {
		at += strspn(path + at, "/");
		at += strcspn(path + at, "/");
		strcpy(rest, path + at);
		path[at] = 0;
		if (lstat(path, &st)) {
			w->missing = shared;
			return;
		}
		take(o, &st);
		if (S_ISLNK(st.st_mode)) {
			if (!follow(path, rest))
				return;
			links++;
			at = 0;
			continue;
		}
		shared = is_shared(&st);
		strcpy(path + at, rest);
		if (!path[at])
			return;
	}
}

/* What is root's own may lie in a folder of somebody else, who can put another in its place: root
 * then reads what was opened, by its descriptor. Returns a path to it, or NULL: it is not root's.
 * Not for what a link of somebody else leads to: he has chosen what that is. */
static char *hold_own(const struct walk *w)
{
	/* No link, where there was none when it was looked at. */
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};
	struct stat st;
	char *held = NULL;
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, w->path, &how, sizeof(how));
	bool own = fd >= 0 && !fstat(fd, &st) && !st.st_uid && !(st.st_mode & (S_IWGRP | S_IWOTH));
	if (own && asprintf(&held, "/proc/self/fd/%d", fd) >= 0)
		return held;
	if (fd >= 0)
		close(fd);
	return NULL;
}

/* ---- the words ---- */

static const char *name_in(const struct command_file *f)
{
	return *f->word + f->at;
}

/* Puts @path in place of the file's name. */
static bool replace(const struct command_file *f, const char *path)
{
	char *whole;
	if (asprintf(&whole, "%.*s%s", (int)f->at, *f->word, path) < 0)
		return false;
	*f->word = whole;
	return true;
}

static int cannot(struct pugmark_diag *diag, int err, const char *path, const char *why)
{
	return pugmark_diag_set(diag, err, path, PUGMARK_NO_OFFSET, "%s", why);
}

/* Relative names lead from the root folder from now on, in which nobody else makes files: those
 * that were there, or are written, are made absolute before. */
static int leave_folder(const struct command_file *files, int n, const bool *missing,
			struct pugmark_diag *diag)
{
	char here[PATH_MAX], whole[2 * PATH_MAX];
	if (!getcwd(here, sizeof(here)) || *here != '/')
		return cannot(diag, -EACCES, ".", "this folder has no name (go elsewhere)");
	for (int i = 0; i < n; i++) {
		const char *path = name_in(&files[i]);
		if (!*path || *path == '/' || !strcmp(path, "-") ||
		    (!files[i].written && missing[i]))
			continue;
		snprintf(whole, sizeof(whole), "%s/%s", here, path);
		if (!replace(&files[i], whole))
			return cannot(diag, -ENOMEM, path, "out of memory");
	}
	return chdir("/") ? cannot(diag, -errno, "/", strerror(errno)) : 0;
}

/* Looks at the file @f, and adds who owns it. @missing: a relative one is not there now. */
static int take_file(struct owner *o, const struct command_file *f, bool *missing,
		     struct pugmark_diag *diag)
{
	struct owner before = *o;
	struct walk w;
	look(o, name_in(f), &w);
	if (w.missing) {
		*o = before;
		*missing = true;
		return *name_in(f) != '/' ? 0 : cannot(diag, -ENOENT, name_in(f), strerror(ENOENT));
	}
	if (!o->several && o->uid == before.uid)
		return 0;
	char *held = o->led ? NULL : hold_own(&w);
	if (held) {
		bool replaced = replace(f, held);
		free(held);
		*o = before;
		return replaced ? 0 : cannot(diag, -ENOMEM, name_in(f), "out of memory");
	}
	return !o->several
		       ? 0
		       : cannot(diag, -EPERM, name_in(f),
				"several users can change it or the way to it, so that root does "
				"not read it (read it as one of them, or copy it to a folder of "
				"root)");
}

/* @missing: for each file, at first false. */
static int as_owner_of_all(const struct command_file *files, int n, bool *missing,
			   struct pugmark_diag *diag)
{
	struct owner o = {0};
	const char *last = NULL;
	bool any_missing = false;
	int err = 0;
	for (int i = 0; i < n && !err; i++) {
		uid_t before = o.uid;
		if (files[i].written || !*name_in(&files[i]))
			continue;
		err = take_file(&o, &files[i], &missing[i], diag);
		any_missing |= missing[i];
		if (o.uid != before)
			last = name_in(&files[i]);
	}
	if (err || (!o.uid && !any_missing))
		return err;
	if (!o.uid)
		return leave_folder(files, n, missing, diag);
	if (confine_become(o.uid, o.gid))
		return 0;
	return pugmark_diag_set(diag, -EPERM, last, PUGMARK_NO_OFFSET,
				"belongs to user %u, and this process cannot become that user to "
				"read it (read it as that user)",
				o.uid);
}

int as_owner_of(const struct command_file *files, int n, struct pugmark_diag *diag)
{
	if (geteuid()) {
		confine_drop();
		return 0;
	}
	bool *missing = calloc((size_t)n + 1, sizeof(*missing));
	int err = missing ? as_owner_of_all(files, n, missing, diag)
			  : cannot(diag, -ENOMEM, NULL, "out of memory");
	free(missing);
	return err;
}

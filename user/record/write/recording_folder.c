// SPDX-License-Identifier: LGPL-2.1-or-later
/* recording_folder.c: see recording_folder.h. Only what is a recording, and the owner's, is ever
 * moved or removed. */
#include "user/record/write/recording_folder.h"

#include "offline/base/open_regular.h"
#include "offline/base/private_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { META_MAX_BYTES = 1 << 28, OLD_MAX = 9999 };

/* The name of a folder that is being made: its name, this, and digits. */
static const char made_mark[] = ".pugmark-new";

/* The files of a recording beside its plans. meta.json is removed last: it is what makes the folder
 * a recording. */
static const char *const files[] = {"events", "captures", "reserve", "meta.json.new", "meta.json"};

static bool parse_id(const char *text, unsigned *out)
{
	char *end;
	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	unsigned long id = strtoul(text, &end, 10);
	*out = (unsigned)id;
	return !*end && !errno && id < UINT_MAX;
}

struct folder_owner recording_owner(void)
{
	unsigned uid, gid;
	bool sudo = !geteuid() && parse_id(getenv("SUDO_UID"), &uid) &&
		    parse_id(getenv("SUDO_GID"), &gid);
	return sudo ? (struct folder_owner){uid, gid} : FOLDER_OWN;
}

/* Whether somebody else has locked the file @fd, which is closed here. */
static bool is_locked(int fd)
{
	bool is = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return is;
}

/* Whether a recorder still writes it: it keeps locks on the folder and on its events. Some file
 * systems have no locks. */
static bool is_in_use(int folder_fd)
{
	return is_locked(openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) ||
	       is_locked(open_regular_at(folder_fd, "events", NULL));
}

static bool is_recording(int folder_fd)
{
	struct stat st;

	return !fstatat(folder_fd, "meta.json", &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode);
}

static bool is_owners(int folder_fd, struct folder_owner owner)
{
	struct stat st;

	return !fstat(folder_fd, &st) && (st.st_uid == geteuid() || st.st_uid == owner.uid);
}

/* How many plans the recording lists; of one that lists nothing, which was never whole, any. */
static unsigned count_plans(int folder_fd)
{
	struct private_file file;

	if (private_file_open_at(folder_fd, "meta.json", META_MAX_BYTES, &file))
		return UINT_MAX;
	json_t *meta =
		file.bytes ? json_loadb((const char *)file.bytes, file.len_bytes, 0, NULL) : NULL;
	unsigned n = (unsigned)json_array_size(json_object_get(meta, "modules"));
	json_decref(meta);
	private_file_free(&file);
	return n;
}

/* Whether a recording of @n_plans has such a file, or has left it half written. */
static bool is_listed(const char *name, unsigned n_plans)
{
	char own[32] = "";
	unsigned number;

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (!strcmp(name, files[i]) || folder_is_half_written(name, files[i]))
			return true;
	if (sscanf(name, "plan-%u.pmp", &number) == 1 && number < n_plans)
		snprintf(own, sizeof(own), "plan-%u.pmp", number);
	else if (sscanf(name, "arguments-%u.json", &number) == 1 && number < n_plans)
		snprintf(own, sizeof(own), "arguments-%u.json", number);
	return *own && (!strcmp(name, own) || folder_is_half_written(name, own));
}

/* Removes the recording @name, whose folder is @folder_fd. If it has other files, these and the
 * folder stay. */
static void remove_recording(int parent_fd, const char *name, int folder_fd)
{
	int copy = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	unsigned n_plans = count_plans(folder_fd);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (is_listed(entry->d_name, n_plans) && strcmp(entry->d_name, "meta.json") != 0)
			unlinkat(folder_fd, entry->d_name, 0);
	unlinkat(folder_fd, "meta.json", 0);
	if (dir)
		closedir(dir);
	else if (copy >= 0)
		close(copy);
	unlinkat(parent_fd, name, AT_REMOVEDIR);
}

/* What recorders left that were killed while they made this. */
static void remove_half_made(const struct recording_folder *f)
{
	int copy = openat(f->parent_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	size_t len = strlen(f->name), mark = sizeof(made_mark) - 1;
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, f->name, len) != 0 ||
		    strncmp(entry->d_name + len, made_mark, mark) != 0)
			continue;
		int fd = folder_open(f->parent_fd, entry->d_name);
		if (fd >= 0 && is_owners(fd, f->owner) && !is_in_use(fd))
			remove_recording(f->parent_fd, entry->d_name, fd);
		if (fd >= 0)
			close(fd);
	}
	if (dir)
		closedir(dir);
	else if (copy >= 0)
		close(copy);
}

static int cannot_make(const struct recording_folder *f, int err, struct pugmark_diag *diag)
{
	if (err == -EPERM)
		return pugmark_diag_set(diag, err, f->output, PUGMARK_NO_OFFSET,
					"cannot make this folder: a link on the way belongs to "
					"another user, or this one may not (choose another with "
					"-o)");
	return pugmark_diag_set(diag, err, f->output, PUGMARK_NO_OFFSET,
				"cannot make this folder: %s", strerror(-err));
}

int recording_folder_make(const char *output, struct recording_folder *out,
			  struct pugmark_diag *diag)
{
	struct recording_folder f = {.fd = -1, .output = output, .owner = recording_owner()};
	char prefix[FOLDER_NAME_MAX];

	f.parent_fd = folder_parent(output, f.owner, f.name);
	if (f.parent_fd < 0)
		return cannot_make(&f, f.parent_fd, diag);
	int err = 0;
	if (snprintf(prefix, sizeof(prefix), "%s%s-", f.name, made_mark) >= (int)sizeof(prefix))
		err = -ENAMETOOLONG;
	if (!err) {
		remove_half_made(&f);
		f.fd = folder_make_new(f.parent_fd, prefix, f.owner, f.made);
		err = f.fd < 0 ? f.fd : 0;
		if (!err)
			flock(f.fd, LOCK_EX | LOCK_NB);
	}
	if (err) {
		close(f.parent_fd);
		return cannot_make(&f, err, diag);
	}
	*out = f;
	return 0;
}

int recording_folder_create(const struct recording_folder *folder, const char *name)
{
	return folder_create(folder->fd, name, folder->owner);
}

int recording_folder_write(const struct recording_folder *folder, const char *name,
			   const void *bytes, size_t len, bool sync)
{
	return folder_write(folder->fd, name, bytes, len, folder->owner, sync);
}

/* Of the folder @fd that has the name. */
static int check_there(const struct recording_folder *f, int fd, struct pugmark_diag *diag)
{
	if (!is_recording(fd))
		return pugmark_diag_set(diag, -EEXIST, f->output, PUGMARK_NO_OFFSET,
					"is there and is not a recording (choose another with -o)");
	if (!is_owners(fd, f->owner))
		return pugmark_diag_set(diag, -EPERM, f->output, PUGMARK_NO_OFFSET,
					"is there and belongs to another user (choose another with "
					"-o)");
	if (is_in_use(fd))
		return pugmark_diag_set(diag, -EBUSY, f->output, PUGMARK_NO_OFFSET,
					"is being recorded (choose another with -o)");
	return 0;
}

/* Without replacing anything, where the file system can do that. */
static int rename_without_replacing(int parent_fd, const char *from, const char *to)
{
	struct stat st;

	if (!renameat2(parent_fd, from, parent_fd, to, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (!fstatat(parent_fd, to, &st, AT_SYMLINK_NOFOLLOW))
		return -EEXIST;
	return renameat(parent_fd, from, parent_fd, to) ? -errno : 0;
}

/* The first of NAME.old, NAME.old.2, NAME.old.3 ... that is free. */
static int rename_to_old(struct recording_folder *f, struct pugmark_diag *diag)
{
	int err = -EEXIST;

	for (unsigned i = 1; err == -EEXIST && i <= OLD_MAX; i++) {
		if (i == 1)
			snprintf(f->moved, sizeof(f->moved), "%s.old", f->name);
		else
			snprintf(f->moved, sizeof(f->moved), "%s.old.%u", f->name, i);
		err = rename_without_replacing(f->parent_fd, f->name, f->moved);
	}
	if (err)
		pugmark_diag_set(diag, err, f->output, PUGMARK_NO_OFFSET,
				 "moving the last recording to %s: %s", f->moved, strerror(-err));
	return err;
}

/* Moves what has the name aside. */
static int move_aside(struct recording_folder *f, struct pugmark_diag *diag)
{
	int fd = folder_open(f->parent_fd, f->name);

	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return pugmark_diag_set(diag, -EEXIST, f->output, PUGMARK_NO_OFFSET,
					"is there and is not a recording (choose another with -o)");
	bool empty = !is_recording(fd) && !unlinkat(f->parent_fd, f->name, AT_REMOVEDIR);
	int err = empty ? 0 : check_there(f, fd, diag);
	close(fd);
	if (empty || err)
		return err;
	return rename_to_old(f, diag);
}

int recording_folder_place(struct recording_folder *folder, struct pugmark_diag *diag)
{
	struct stat placed, own;
	int err = move_aside(folder, diag);

	if (err)
		return err;
	err = rename_without_replacing(folder->parent_fd, folder->made, folder->name);
	if (err)
		return cannot_make(folder, err, diag);
	if (fstat(folder->fd, &own) ||
	    fstatat(folder->parent_fd, folder->name, &placed, AT_SYMLINK_NOFOLLOW) ||
	    own.st_ino != placed.st_ino || own.st_dev != placed.st_dev)
		return pugmark_diag_set(diag, -ESTALE, folder->output, PUGMARK_NO_OFFSET,
					"another user has put something else in its place (choose "
					"a folder of your own with -o)");
	return 0;
}

void recording_folder_discard(const struct recording_folder *folder)
{
	struct stat named, own;

	if (folder->fd < 0)
		return;
	bool same = !fstat(folder->fd, &own) &&
		    !fstatat(folder->parent_fd, folder->made, &named, AT_SYMLINK_NOFOLLOW) &&
		    own.st_ino == named.st_ino && own.st_dev == named.st_dev;
	if (same)
		remove_recording(folder->parent_fd, folder->made, folder->fd);
}

void recording_folder_close(struct recording_folder *folder)
{
	if (folder->fd >= 0)
		close(folder->fd);
	if (folder->parent_fd >= 0)
		close(folder->parent_fd);
	*folder = RECORDING_FOLDER_NONE;
}

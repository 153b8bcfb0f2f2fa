/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* folder.h: makes, replaces and removes files by the descriptor of their folder. A path is walked
 * anew at each call, through folders that others may rename and links that they may lay; a
 * descriptor stays the folder it is. Names are single ones, without a slash, and no link in the
 * place of one is ever followed. */
#ifndef OFFLINE_BASE_FOLDER_H
#define OFFLINE_BASE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Whom what is made belongs to. {-1, -1}: whoever makes it. */
struct folder_owner {
	uid_t uid;
	gid_t gid;
};
#define FOLDER_OWN ((struct folder_owner){(uid_t)-1, (gid_t)-1})

enum { FOLDER_NAME_MAX = 256 };

/* Opens the folder that @path lies in, and says what it is called there. A link on the way, and one
 * in the place of @path itself, is followed if it belongs to this process's user, to root or to
 * @owner: one of anybody else could lead anywhere at any time.
 * Returns a descriptor or -errno: -EPERM such a link, -EINVAL @path ends with no name. */
int folder_parent(const char *path, struct folder_owner owner, char name[FOLDER_NAME_MAX]);
/* Makes the folder @name in @parent_fd, mode 0700 whatever the umask. Returns its descriptor, or
 * -errno: -EEXIST; -ESTALE where somebody else has put another in its place meanwhile. */
int folder_make(int parent_fd, const char *name, struct folder_owner owner);
/* Makes one with a name that nobody can know before, @prefix and 16 digits, in @name. */
int folder_make_new(int parent_fd, const char *prefix, struct folder_owner owner,
		    char name[FOLDER_NAME_MAX]);
/* Opens the folder @name of @parent_fd. Returns a descriptor or -errno: -ELOOP or -ENOTDIR, it is a
 * link or no folder. */
int folder_open(int parent_fd, const char *name);
/* Whether the folder @fd belongs to this process's user, or to @owner, and nobody else may write
 * in it. */
bool folder_is_ours(int fd, struct folder_owner owner);
/* Makes the file @name, which must not be there, mode 0600 whatever the umask. Returns a descriptor
 * to write to, or -errno. */
int folder_create(int fd, const char *name, struct folder_owner owner);
/* The same with a name that nobody can know before, as folder_make_new(). */
int folder_create_new(int fd, const char *prefix, struct folder_owner owner,
		      char name[FOLDER_NAME_MAX]);
/* Whether anything has the name, a link too. */
bool folder_has(int fd, const char *name);
/* Gives what is called @from the name @to, which nothing must have. 0 or -errno: -EEXIST. */
int folder_name_new(int fd, const char *from, const char *to);
/* Removes the file @name, or the folder with the files in it; others it has stay, and so does it
 * then. */
void folder_remove(int fd, const char *name);
/* Makes @name a file of these bytes, written under a name that nobody can know before and renamed;
 * @sync: only when they are on the disk. Returns 0 or -errno; a file that was there is then as it
 * was. */
int folder_write(int fd, const char *name, const void *bytes, size_t len, struct folder_owner owner,
		 bool sync);
/* The same with this @mode. */
int folder_write_as(int fd, const char *name, const void *bytes, size_t len,
		    struct folder_owner owner, mode_t mode);
/* Whether @name is such a name of a file @of, which a process left that was killed. */
bool folder_is_half_written(const char *name, const char *of);

#endif

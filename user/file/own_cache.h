/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* own_cache.h: the files that Pugmark keeps for its user: $XDG_CACHE_HOME/pugmark, else
 * ~/.cache/pugmark. What is read there is believed only as far as nobody else can have written it:
 * folder and file belong to this process's user, and nobody else may write to them. Folders are
 * made 0700, files 0600. */
#ifndef USER_OWN_CACHE_H
#define USER_OWN_CACHE_H

#include "offline/base/private_file.h"

#include <stddef.h>

/* Where the file @name of the folder @what (NULL: of the cache itself) belongs. The caller frees;
 * NULL: there is no home. */
char *own_cache_path(const char *what, const char *name);
/* Reads the file at such a path, at most @max_bytes. Returns 0, and @out is freed by
 * private_file_free(), or -errno: -EPERM it, or its folder, is somebody else's or may be written by
 * others. */
int own_cache_read(const char *path, uint64_t max_bytes, struct private_file *out);
/* Puts these bytes there, and makes the folders that lead to it. Returns 0 or -errno (-EPERM as
 * above). */
int own_cache_write(const char *path, const void *bytes, size_t len);
void own_cache_remove(const char *path);
/* What a sandbox's child asks for when it calls these (sandbox->answer; they are none of its own):
 * a cost, and files whose names begin with @tag, a text: what is made of one binary is none of
 * another's. */
int own_cache_answer(void *tag, char op, const char *path, int sent, int *fd);
/* Why, in words. Borrowed, until the next call. */
const char *own_cache_why(int err);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* library_search.h: finds the files that a program is loaded with, each once. Private to
 * callers_by_name.c, which reads them. */
#ifndef OFFLINE_LIBRARY_SEARCH_H
#define OFFLINE_LIBRARY_SEARCH_H

#include "offline/base/private_file.h"
#include "offline/base/vec.h"
#include "offline/link/callers_by_name.h"

#include <sys/types.h>
#include <unistd.h>

/* A file that was looked at, or is to be. */
struct library_file {
	dev_t dev;
	ino_t ino;
	char *path;
};

struct library_search {
	const struct library_options *options;
	const char *program; /* where it is: for $ORIGIN */
	VEC(struct library_file) files;
	struct library_file own; /* the program itself: a library may need it in turn; its path may
				    be NULL, and is not owned */
	char *rpath;		 /* DT_RPATH of the program: holds for its libraries as well */
	struct private_file cache; /* /etc/ld.so.cache, read when it is first looked through */
	bool cache_asked;
	bool missing; /* something was not found */
	bool linked;  /* something that is run needs the program's own file */
	int failed;   /* -errno: of some file nobody knows (private_file_unknown()), or -ENOMEM */
	char *failed_path; /* that file; or NULL */
};

void library_search_deinit(struct library_search *search);
/* Puts the library @name on the list, that the file @user needs, whose DT_RPATH and DT_RUNPATH (or
 * NULL) are given. */
void library_search_library(struct library_search *search, const char *name, const char *user,
			    const char *rpath, const char *runpath);
/* Puts the files on the list that the dynamic linker loads first (LD_PRELOAD). One that is not
 * found is skipped, as the dynamic linker does. */
void library_search_preloaded(struct library_search *search);
/* Puts the library on the list that the program may load by @name, where it is found. */
void library_search_named(struct library_search *search, const char *name);
/* Puts a module that is loaded later on the list. Returns 0, or -errno with @diag filled. */
int library_search_plugin(struct library_search *search, const char *path,
			  struct pugmark_diag *diag);

/* For cleanup. */
static inline void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#endif

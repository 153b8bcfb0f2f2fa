/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* needed_search.h: finds the files that a program is loaded with, each once. Private to needed.c,
 * which reads them. */
#ifndef OFFLINE_NEEDED_SEARCH_H
#define OFFLINE_NEEDED_SEARCH_H

#include "offline/needed.h"
#include "offline/vec.h"

#include <libelf.h>
#include <sys/types.h>
#include <unistd.h>

/* A file that was looked at, or is to be. */
struct needed_file {
	dev_t dev;
	ino_t ino;
	char *path;
};

struct needed_search {
	const struct needed_options *options;
	const char *program; /* where it is: for $ORIGIN */
	VEC(struct needed_file) files;
	struct needed_file own; /* the program's: what needs it leads back to it; its path may be
				   NULL, and is not owned */
	char *rpath;		/* DT_RPATH of the program: holds for its libraries as well */
	bool missing, failed;	/* something was not found; memory is out */
	bool linked;		/* something that is run needs the program's own file */
};

void needed_search_deinit(struct needed_search *search);
/* Puts the library @name on the list, that the file @user needs, whose DT_RPATH and DT_RUNPATH (or
 * NULL) are given. */
void needed_search_library(struct needed_search *search, const char *name, const char *user,
			   const char *rpath, const char *runpath);
/* Puts those on the list that the dynamic linker loads first. What of them is not found, it goes
 * without. */
void needed_search_preloaded(struct needed_search *search);
/* Puts the library on the list that the program may load by @name, where it is found. */
void needed_search_named(struct needed_search *search, const char *name);
/* Puts a module that is loaded later on the list, or all those below a folder of them. Returns 0,
 * or -errno with @diag filled. */
int needed_search_plugin(struct needed_search *search, const char *path, struct pugmark_diag *diag);

/* For cleanup. */
static inline void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void end_elf(Elf **elf)
{
	elf_end(*elf);
}

#endif

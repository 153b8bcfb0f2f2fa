/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* needed.h: which functions of a program its libraries may call by name. Almost every symbol that
 * an executable exports is there for plugins that are never loaded; the few that a library on its
 * DT_NEEDED list names, directly or by way of others, are entered from outside. */
#ifndef OFFLINE_NEEDED_H
#define OFFLINE_NEEDED_H

#include <pugmark/model.h>

struct needed_options {
	const char *library_path;   /* as LD_LIBRARY_PATH; NULL: none */
	const char *origin;	    /* where the program is, if it is opened under another path */
	const char *const *plugins; /* modules that are loaded later, or folders of them, and what
				       they need */
	uint32_t n_plugins;
};

/* Sets @entered (one byte a function of @model) for each exported function whose name is in the
 * dynamic symbol table of a library that the file needs. Whether the library defines that name as
 * well does not matter: the program's definition comes first. Where a library cannot be found or
 * read, every exported function is set.
 * Returns 0, -ENOMEM, or -errno with @diag filled where the file itself or a plugin cannot be
 * read. */
int needed_mark_entered(const struct pugmark_model *model, const struct needed_options *options,
			uint8_t *entered, struct pugmark_diag *diag);

/* Sets @traced (one byte an import of @model) for each import that one of @files exports. What
 * cannot be read exports nothing. */
void needed_mark_traced(const struct pugmark_model *model, const char *const *files, uint32_t n,
			uint8_t *traced);
/* The libraries that the program @path needs, directly or by way of others, and the plugins: those
 * that are found. Returns 0 and @n paths, which the caller frees with their array, or -errno as
 * above. */
int needed_files(const char *path, const struct needed_options *options, char ***out, uint32_t *n,
		 struct pugmark_diag *diag);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* callers_by_name.h: which functions of a program its libraries may call by name. Almost every
 * symbol that an executable exports is there for plugins that are never loaded; the few that a
 * library on its DT_NEEDED list names, directly or by way of others, are entered from outside. The
 * same holds for a library, as seen from the programs that are linked with it; and which of its
 * calls by way of a PLT stub end in itself is told by what else is loaded. */
#ifndef OFFLINE_CALLERS_BY_NAME_H
#define OFFLINE_CALLERS_BY_NAME_H

#include <pugmark/model.h>

struct library_options {
	const char *library_path;   /* as LD_LIBRARY_PATH; NULL: none */
	const char *origin;	    /* where the program is, if it is opened under another path */
	const char *const *plugins; /* modules that are loaded later; what they need comes with
				       them */
	uint32_t n_plugins;
	const char *preloaded; /* as LD_PRELOAD; NULL: none */
	bool any_program;      /* programs that nobody has named may be linked with it as well */
};

/* Sets @entered (one byte a function of @model) for each exported function whose name is in the
 * dynamic symbol table of a library that the file needs, or that a program which loads libraries
 * (dlopen) names in its constant data and that is found, or, where one of these or the file itself
 * asks for functions by name (dlsym), in the constant data of one that asks, or of the file.
 * Whether the library defines that name as well does not matter: the program's definition comes
 * first. Where a library cannot be found or read, or not all of such constant data, every exported
 * function is set; for a library also where no program among the plugins is linked with it, or one
 * of the other modules may ask for functions by name (dlsym) or load more. Sets @bound (one byte an
 * import of @model) for each import that the file defines itself, and nobody else, if its slots are
 * filled before its code runs. What else a process loads may differ: a recorder has to look at the
 * slots. Returns 0, -ENOMEM, or -errno with @diag filled where the file itself or a plugin cannot
 * be read. */
int callers_by_name_mark(const struct pugmark_model *model, const struct library_options *options,
			 uint8_t *entered, uint8_t *bound, struct pugmark_diag *diag);

/* Sets @traced (one byte an import of @model) for each import that one of @files exports. What
 * is no ELF file exports nothing. Returns 0, or -errno where that is unknown
 * (private_file_unknown()). */
int callers_by_name_mark_traced(const struct pugmark_model *model, const char *const *files,
				uint32_t n, uint8_t *traced);
/* The libraries that the program @path needs, directly or by way of others, and the plugins: those
 * that are found. Returns 0 and @n paths, which the caller frees with their array, or -errno as
 * above. */
int library_files(const char *path, const struct library_options *options, char ***out, uint32_t *n,
		  struct pugmark_diag *diag);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* callers_apart.h: dynamic symbols of files that others made, read in a sandbox (user/sandbox). */
#ifndef USER_CALLERS_APART_H
#define USER_CALLERS_APART_H

#include "offline/base/private_file.h"
#include "user/record/recorder.h"

/* A function that the plan assumes nobody outside to call. */
struct own_name {
	char *name;
	uint32_t module;
};

struct own_names {
	struct own_name *at; /* sorted by name; heap, and so are the names */
	uint32_t n;
};

/* Those of @modules; none of a file that cannot be read. Returns 0 and @out, released with
 * own_names_deinit(), or -ENOMEM. */
int own_names_read(const struct recorder_module *modules, uint32_t n_modules,
		   struct own_names *out);
void own_names_deinit(struct own_names *names);

/* A file that may call one of them. */
struct caller_file {
	struct private_file file; /* borrowed */
	uint32_t found;		  /* which one: the first that is seen; PUGMARK_NONE: none */
	int err;		  /* it could not be read: -errno; what is no ELF file has none */
};

/* Fills found and err of all @files. */
void callers_find(const struct own_names *names, struct caller_file *files, uint32_t n);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* wet_output.h: the file that a trace is written to. It holds what memory held: nobody else may
 * read it, no file that is there is written to, no link of another user is followed, and of what
 * has failed nothing is left. */
#ifndef USER_WET_OUTPUT_H
#define USER_WET_OUTPUT_H

#include <pugmark/diag.h>

#include <stdio.h>

#include "offline/base/folder.h"

struct wet_output {
	const char *path; /* borrowed */
	int parent;	  /* the file's folder; -1: there is none */
	char name[FOLDER_NAME_MAX];
	FILE *file;
};

/* Makes the file. 0, or -errno with @diag filled; end with wet_output_end(). */
int wet_output_create(const char *path, struct wet_output *out, struct pugmark_diag *diag);
/* Fills @diag: the file cannot be written. Returns @err. */
int wet_output_failed(const char *path, int err, struct pugmark_diag *diag);
/* Closes the file, and removes it if @err or if it cannot be closed. Returns @err, or -errno with
 * @diag filled. */
int wet_output_end(struct wet_output *out, int err, struct pugmark_diag *diag);
/* Removes the file that was made at @path, as another one of the same run has failed. */
void wet_output_remove(const char *path);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* staged.h: what the nodes of a cluster need for their runs, in a folder that all of them see.
 * Files lie there under their SHA-256, and who takes one compares it. `job` lists them, with the
 * command and its environment, as pairs of texts that end with a NUL:
 *
 *   program   SUM NAME          what is run
 *   stdin     SUM               its standard input, if it has one
 *   input     SUM PATH          a file that it finds by this path, relative to where it runs
 *   argument  TEXT              of the command, argv[0] not counted
 *   variable  NAME=VALUE        of its environment
 *
 * and whatever else the job is about. */
#ifndef USER_CLUSTER_STAGED_H
#define USER_CLUSTER_STAGED_H

#include <pugmark/diag.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { STAGED_SUM = 65 }; /* SHA-256 in hexadecimal, and a NUL */

struct staged_list {
	char *text; /* pairs; heap */
	size_t len;
};

/* Adds a pair to a list that began zeroed. Returns 0 or -ENOMEM. */
int staged_add(struct staged_list *list, const char *key, const char *value);
/* The pair behind @key, which is one of the list's, or NULL to begin; NULL at the end. A key's
 * value is behind its NUL. */
const char *staged_next(const struct staged_list *list, const char *key);
const char *staged_value(const char *key);
/* As many pairs of this key as there are. */
uint32_t staged_count(const struct staged_list *list, const char *key);

/* Each returns 0, or -errno with @diag filled. */
/* Puts a copy of the file @path into @folder. */
int staged_put(const char *folder, const char *path, char sum[STAGED_SUM],
	       struct pugmark_diag *diag);
int staged_put_list(const char *folder, const struct staged_list *list, char sum[STAGED_SUM],
		    struct pugmark_diag *diag);
/* Takes a copy of the file that has this sum to @to, and of the list. -EBADMSG: what is there has
 * another sum. */
int staged_take(const char *folder, const char *sum, const char *to, mode_t mode,
		struct pugmark_diag *diag);
int staged_take_list(const char *folder, const char *sum, struct staged_list *out,
		     struct pugmark_diag *diag);
/* Copies a folder of files under a name of its own, and then gives it the name @to. */
int staged_copy(const char *from, const char *to, uint64_t *bytes, struct pugmark_diag *diag);
/* Removes a folder that this program has made, with all in it. */
void staged_remove(const char *folder);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* share_files.h: a set of shares as files: share-K.pmp each, and manifest.json, which says what
 * they are of. A share is a plan file of its own: a recorder and a merge need nothing else. */
#ifndef USER_SHARE_SHARE_FILES_H
#define USER_SHARE_SHARE_FILES_H

#include "offline/share/share.h"

struct share_files_options {
	const char *binary;
	const char *grouping;
	bool paths;
	uint32_t machines, bound, tellers;
};

/* Writes @set into the folder @dir, which is made if it is not there. 0, or -errno with @diag
 * filled. */
int share_files_write(const struct share_set *set, const struct share_files_options *options,
		      const char *dir, struct pugmark_diag *diag);
/* How many sites share @k, from 0, probes. */
uint32_t share_files_sites(const struct share_set *set, uint32_t k);

#endif

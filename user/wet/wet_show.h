/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* wet_show.h: what is in a WET file, printed. All return 0, -ENOENT: the address is not in it,
 * -EBADMSG: a stream is damaged, or -ENOMEM, with @diag filled. */
#ifndef USER_WET_SHOW_H
#define USER_WET_SHOW_H

#include "offline/wet/file/file.h"

struct wet_asked {
	const char *path;  /* of the file */
	uint64_t from, to; /* timestamps, both counted */
	uint64_t addr;	   /* ELF address of an instruction */
	uint64_t limit;	   /* lines at most */
	bool backward;	   /* the last first, of nodes and of values */
	bool json;
};

/* The nodes that were executed, one behind the other. */
int wet_show_blocks(const struct wet_file *file, const struct wet_asked *asked,
		    struct pugmark_diag *diag);
/* What the instruction computed each time. */
int wet_show_values(const struct wet_file *file, const struct wet_asked *asked,
		    struct pugmark_diag *diag);
/* Whose results it read, and when those were made. */
int wet_show_depends(const struct wet_file *file, const struct wet_asked *asked,
		     struct pugmark_diag *diag);

#endif

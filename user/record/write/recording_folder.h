/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* recording_folder.h: the folder of a recording, while it is made. It is reached by its descriptor
 * alone (offline/base/folder.h), so that others who may write to its parent can move names, but no
 * files. It is made under a name that nobody knows before, mode 0700, its files 0600; it gets its
 * own name once it is a whole recording. So whenever the recorder is killed, what has that name can
 * be read. */
#ifndef USER_RECORDING_FOLDER_H
#define USER_RECORDING_FOLDER_H

#include "offline/base/folder.h"

#include <pugmark/diag.h>

struct recording_folder {
	int parent_fd; /* the folder that it lies in */
	int fd;	       /* itself, whatever its name is by now */
	struct folder_owner owner;
	char name[FOLDER_NAME_MAX];	  /* in the end */
	char made[FOLDER_NAME_MAX];	  /* until then */
	char moved[FOLDER_NAME_MAX + 16]; /* where the recording is now that had the name; "" */
	const char *output;		  /* for messages; borrowed */
};
#define RECORDING_FOLDER_NONE ((struct recording_folder){.parent_fd = -1, .fd = -1})

/* Whom recordings belong to: under sudo the user who called it, else whoever runs this. */
struct folder_owner recording_owner(void);
/* Makes it beside @output, whose links are followed where folder_parent() does. Returns 0, or
 * -errno with @diag filled. */
int recording_folder_make(const char *output, struct recording_folder *out,
			  struct pugmark_diag *diag);
/* A file of it. Returns a descriptor or -errno. */
int recording_folder_create(const struct recording_folder *folder, const char *name);
int recording_folder_write(const struct recording_folder *folder, const char *name,
			   const void *bytes, size_t len, bool sync);
/* Gives it its name; a recording of the same owner that has it becomes NAME.old, or if that is
 * there NAME.old.2, and so on: nothing is deleted. */
int recording_folder_place(struct recording_folder *folder, struct pugmark_diag *diag);
/* Removes it again: it has not been placed. */
void recording_folder_discard(const struct recording_folder *folder);
void recording_folder_close(struct recording_folder *folder);

#endif

// SPDX-License-Identifier: LGPL-2.1-or-later
/* wet_output.c: see wet_output.h. */
#include "user/wet/wet_output.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int wet_output_failed(const char *path, int err, struct pugmark_diag *diag)
{
	const char *why = err == -EEXIST  ? "it is there already (remove it, or choose another)"
			  : err == -EPERM ? "a link on the way belongs to another user, or this "
					    "one may not"
					  : strerror(-err);
	return pugmark_diag_set(diag, err, path, PUGMARK_NO_OFFSET, "cannot write: %s", why);
}

int wet_output_create(const char *path, struct wet_output *out, struct pugmark_diag *diag)
{
	*out = (struct wet_output){.path = path};
	out->parent = folder_parent(path, FOLDER_OWN, out->name);
	if (out->parent < 0)
		return wet_output_failed(path, out->parent == -EINVAL ? -EISDIR : out->parent,
					 diag);
	int fd = folder_create(out->parent, out->name, FOLDER_OWN);
	if (fd >= 0 && (out->file = fdopen(fd, "w")))
		return 0;
	int err = fd < 0 ? fd : -ENOMEM;
	if (fd >= 0) {
		close(fd);
		unlinkat(out->parent, out->name, 0);
	}
	close(out->parent);
	out->parent = -1;
	return wet_output_failed(path, err, diag);
}

int wet_output_end(struct wet_output *out, int err, struct pugmark_diag *diag)
{
	if (out->parent < 0)
		return err;
	if (fclose(out->file) && !err)
		err = wet_output_failed(out->path, -errno, diag);
	if (err)
		unlinkat(out->parent, out->name, 0);
	close(out->parent);
	out->parent = -1;
	return err;
}

void wet_output_remove(const char *path)
{
	char name[FOLDER_NAME_MAX];
	int parent = folder_parent(path, FOLDER_OWN, name);

	if (parent < 0)
		return;
	unlinkat(parent, name, 0);
	close(parent);
}

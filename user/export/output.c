// SPDX-License-Identifier: LGPL-2.1-or-later
/* output.c: see output.h. */
#include "user/export/output.h"

#include <errno.h>
#include <unistd.h>

void export_output_name(struct export *x, uint32_t part)
{
	if (!x->split_bytes && !x->split_ns) {
		snprintf(x->path, sizeof(x->path), "%s", x->output);
		return;
	}
	const char *slash = strrchr(x->output, '/'), *base = slash ? slash + 1 : x->output;
	const char *dot = strrchr(base, '.');
	size_t stem = dot && dot > base ? (size_t)(dot - x->output) : strlen(x->output);
	snprintf(x->path, sizeof(x->path), "%.*s.%03u%s", (int)stem, x->output, part,
		 x->output + stem);
}

/* Fails as @err says of making the part's file or folder. */
static int cannot_create(struct export *x, int err)
{
	errno = -err;
	export_fail(x, err,
		    err == -EEXIST  ? "is there already (remove it, or choose another with -o)"
		    : err == -EPERM ? "cannot be created: a link on the way belongs to another user"
				    : "cannot be created: %m");
	return err;
}

typedef int make_new(int parent_fd, const char *prefix, struct folder_owner owner,
		     char name[FOLDER_NAME_MAX]);

/* Opens the folder that the part is to be in, and makes the part there under another name. */
static int create(struct export *x, make_new *make)
{
	struct export_made *m = &x->made;
	char prefix[FOLDER_NAME_MAX];
	m->parent = folder_parent(x->path, FOLDER_OWN, m->name);
	if (m->parent < 0)
		return cannot_create(x, m->parent == -EINVAL ? -EEXIST : m->parent);
	snprintf(prefix, sizeof(prefix), "%.200s.new-", m->name);
	int fd = folder_has(m->parent, m->name) ? -EEXIST
						: make(m->parent, prefix, FOLDER_OWN, m->temp);
	if (fd >= 0) {
		m->any = true;
		return fd;
	}
	close(m->parent);
	return cannot_create(x, fd);
}

int export_create(struct export *x)
{
	return create(x, folder_create_new);
}

int export_create_folder(struct export *x)
{
	return create(x, folder_make_new);
}

void export_made_path(const struct export *x, char out[EXPORT_MADE_PATH_BYTES])
{
	snprintf(out, EXPORT_MADE_PATH_BYTES, "/proc/self/fd/%d/%s", x->made.parent, x->made.temp);
}

static void forget_made(struct export_made *m)
{
	close(m->parent);
	m->any = false;
}

void export_output_keep(struct export *x)
{
	if (!x->made.any || x->err)
		return;
	int err = folder_name_new(x->made.parent, x->made.temp, x->made.name);
	if (err) {
		cannot_create(x, err);
		return;
	}
	forget_made(&x->made);
	x->kept = x->part;
}

void export_output_remove(struct export *x)
{
	if (x->made.any) {
		folder_remove(x->made.parent, x->made.temp);
		forget_made(&x->made);
	}
	for (; x->kept; x->kept--) {
		char name[FOLDER_NAME_MAX];
		export_output_name(x, x->kept);
		int parent = folder_parent(x->path, FOLDER_OWN, name);
		if (parent < 0)
			continue;
		folder_remove(parent, name);
		close(parent);
	}
}

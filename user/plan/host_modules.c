// SPDX-License-Identifier: LGPL-2.1-or-later
/* host_modules.c: see host_modules.h. The child gets the paths one behind the other, each with its
 * NUL. */
#include "user/plan/host_modules.h"

#include "offline/base/private_file.h"
#include "offline/base/vec.h"
#include "offline/base/write_all.h"
#include "user/sandbox/sandbox.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- in the child ---- */

static int take_paths(const struct private_file *file, struct module_files *out)
{
	const char *at = (const char *)file->bytes, *end = at + file->len_bytes;
	for (const char *nul; at < end && (nul = memchr(at, 0, (size_t)(end - at))); at = nul + 1) {
		char *path = strdup(at);
		if (path && VEC_PUSH(out, path))
			continue;
		free(path);
		return -ENOMEM;
	}
	return 0;
}

static int ask(struct module_files *out)
{
	struct private_file file;
	int fd, err = sandbox_ask(HOST_MODULES_OP, "", -1, &fd);
	if (err || fd < 0)
		return err ? err : -EIO;
	err = private_file_read(fd, SANDBOX_RESULT_MAX, &file);
	close(fd);
	if (err)
		return err;
	err = take_paths(&file, out);
	private_file_free(&file);
	return err;
}

int host_modules_list(const char *program, struct module_files *out)
{
	*out = (struct module_files){0};
	int err = sandbox_is_inside() ? ask(out) : module_files_add_host(out, program);
	if (err)
		module_files_deinit(out);
	return err;
}

/* ---- in the process that asked for the child ---- */

int host_modules_answer(const char *program, int *fd)
{
	struct module_files files = {0};
	int err = module_files_add_host(&files, program);
	int memory = err ? -1 : memfd_create("pugmark-modules", MFD_CLOEXEC);
	if (!err && memory < 0)
		err = -errno;
	for (uint32_t i = 0; !err && i < files.n; i++)
		err = write_all(memory, files.at[i], strlen(files.at[i]) + 1);
	module_files_deinit(&files);
	if (err && memory >= 0)
		close(memory);
	if (!err)
		*fd = memory;
	return err;
}

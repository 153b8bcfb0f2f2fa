/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* module_files.h: lists modules that a program may load later, by the folders that they lie in. */
#ifndef OFFLINE_MODULE_FILES_H
#define OFFLINE_MODULE_FILES_H

#include <pugmark/diag.h>

#include <stdint.h>

struct module_files {
	char **at; /* paths */
	uint32_t n, max;
};

/* Adds @path, or, if that is a folder, the ELF files below it whose names have ".so" in them.
 * Returns 0, or -errno with @diag filled (-ENOEXEC: there is none below the folder). */
int module_files_add(struct module_files *files, const char *path, struct pugmark_diag *diag);
/* Adds the files NAME.so, and those beside them that links NAME.so lead to, below the folders of
 * this host's libraries and below the folder lib beside that of @program (NULL: none): the nearest
 * first, as many as a bounded look finds; none is opened. Returns 0 or -ENOMEM. */
int module_files_add_host(struct module_files *files, const char *program);
void module_files_deinit(struct module_files *files);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* debuginfod.h: brings debug files from the servers of $DEBUGINFOD_URLS here, for the files of this
 * run and only if the user has asked for it. Whoever asks the servers is a child of its own that
 * has no privileges (the user who called sudo, else nobody, where this process is root), because
 * what a server answers is read by libcurl; and it is the child, too, that looks whether a file has
 * names and lines already. What it got lies in a folder that goes when this process does. */
#ifndef USER_FILE_DEBUGINFOD_H
#define USER_FILE_DEBUGINFOD_H

#include <pugmark/diag.h>

#include <stdbool.h>

/* Starts that child; before this process gives anything up or has threads. 0 or -errno with @diag
 * filled: no server is named, or there is no libdebuginfod. */
int debuginfod_begin(struct pugmark_diag *diag);
bool debuginfod_is_on(void);
/* Where it is on, and the file @path has a build-id but no symbols or no lines: its debug file is
 * where offline/base/debug_roots.h says afterwards, if a server has it; that none has it is said on
 * standard error. A file is asked for once. */
void debuginfod_fetch(const char *path);

#endif

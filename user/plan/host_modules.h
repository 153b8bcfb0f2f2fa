/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* host_modules.h: the modules that lie in this host's folders of libraries, as a sandbox's child
 * gets them, which sees no folder. They are listed when somebody asks: few programs are made to be
 * called by modules, and there are thousands of folders. */
#ifndef USER_PLAN_HOST_MODULES_H
#define USER_PLAN_HOST_MODULES_H

#include "offline/link/module_files.h"

/* What a child asks by sandbox_ask(). */
enum { HOST_MODULES_OP = 'H' };

/* Lists those that @program may load, in a child and outside. Returns 0 and @out, which the caller
 * releases, or -errno. */
int host_modules_list(const char *program, struct module_files *out);
/* Answers the child: *@fd is the list, in memory. Returns 0 or -errno. */
int host_modules_answer(const char *program, int *fd);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* foreign.h: witnesses at which somebody else has a breakpoint. A patch would overwrite it: another
 * recorder's probe would be met no longer. */
#ifndef USER_PATCH_FOREIGN_H
#define USER_PATCH_FOREIGN_H

#include "user/patch/area.h"

/* Sets @sites (by site, over all modules) where process @pid has a breakpoint that the file has
 * not. To be called before our own probes are placed, which are such breakpoints as well. Sets none
 * where the memory of the process cannot be read; such a process is not patched. Returns 0 or
 * -ENOMEM. */
int foreign_find(pid_t pid, const struct patch_module *modules, uint32_t n_modules, bool *sites);
/* Marks the patches at @sites as left out of @area. Returns how many. */
uint32_t foreign_leave(struct area *area, const bool *sites);

#endif

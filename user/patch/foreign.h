/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* foreign.h: witnesses at which somebody else has a breakpoint: a patch would take it away, and
 * with it the events of another recorder. */
#ifndef USER_PATCH_FOREIGN_H
#define USER_PATCH_FOREIGN_H

#include "user/patch/area.h"

/* Notes in @sites (by site, over all modules) where process @pid has a breakpoint, before probes of
 * ours are there. Nothing is noted where its memory cannot be reached, which is not patched either.
 * Returns 0 or -ENOMEM. */
int foreign_find(pid_t pid, const struct patch_module *modules, uint32_t n_modules, bool *sites);
/* Leaves their patches out of @area. Returns how many. */
uint32_t foreign_leave(struct area *area, const bool *sites);

#endif

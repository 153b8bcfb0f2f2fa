/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* remains.h: processes that still have the patches of a recorder which has ended without taking
 * them out, as one that was killed. */
#ifndef USER_PATCH_REMAINS_H
#define USER_PATCH_REMAINS_H

#include <stdint.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/* When process @pid began, in ticks since boot; 0: there is none. */
uint64_t remains_start_of(pid_t pid);
/* Whether process @pid is patched by a recorder that still runs. */
bool remains_is_recorded(pid_t pid);
/* A process in which code of one of the @n files is patched, by another recorder, so that a probe's
 * byte in it would tear a patch; 0: there is none. */
pid_t remains_of_files(const struct stat *files, uint32_t n);
/* Takes them out of @pid, with the memory that it was given. Returns how many instructions were
 * restored, 0: it had none patched; -EBUSY: another recorder patches it now; -EBADMSG: what is said
 * to be restored is not as it is in its files; -EAGAIN: some are still needed, for a signal's frame
 * leads back to them or somebody has changed what was patched; or -errno. */
int remains_remove(pid_t pid);
/* Takes them out of every process that may be looked at. Returns out of how many; *@failed: how
 * many keep some. */
uint32_t remains_remove_all(uint32_t *failed);

#endif

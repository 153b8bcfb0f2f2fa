/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* patches.h: writing what struct patch_record (offline/patch/layout.h) says into a process whose
 * threads are stopped, and taking it back. */
#ifndef USER_PATCH_TEXT_PATCHES_H
#define USER_PATCH_TEXT_PATCHES_H

#include "offline/patch/layout.h"
#include "user/patch/process/tracee.h"

/* Where a thread must not stand while patches are written: behind the start of one, or between a
 * witness and the instruction that carries it, where its event would be told twice, or not at all.
 */
struct patches_midst;
/* NULL: out of memory. Patches that are left are in it as well. */
struct patches_midst *patches_midst_new(const struct patch_record *record);
void patches_midst_free(struct patches_midst *midst);
bool patches_midst_has(const struct patches_midst *midst, uint64_t ip);

/* Has the patches that @ip is in the midst of stay unwritten. */
void patches_leave(struct patch_record *record, uint64_t ip);
/* Writes all patches but those that are left, or takes back what was written. What is not as it is
 * expected to be in the process is left alone. Returns how many witnesses, or -errno. */
int patches_write(struct patch_record *record, const struct tracee *t);
int patches_restore(struct patch_record *record, const struct tracee *t);
/* Where the islands that are written begin, in order: a thread there is about to jump from one. */
struct patches_islands {
	uint32_t n;
	uint64_t at[];
};
/* NULL: out of memory; to be freed with free(). */
struct patches_islands *patches_islands_new(const struct patch_record *record);
bool patches_islands_has(const struct patches_islands *islands, uint64_t ip);
/* patches_restore() passes over the island at @ip from now on; over none any more. */
void patches_keep_island(struct patch_record *record, uint64_t ip);
void patches_keep_none(struct patch_record *record);

#endif

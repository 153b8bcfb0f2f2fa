/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* record_check.h: whether a record (offline/patch/layout.h) that was found in a process says what
 * is true of that process. The memory it stands in is shared with children by fork, which may have
 * given up rights that the process has: what they write there must change nothing in it. So bytes
 * are restored only where the process's file has them, words only where they lead to our code. That
 * the record's counts and lengths hold together is the caller's to see before. */
#ifndef USER_PATCH_TEXT_RECORD_CHECK_H
#define USER_PATCH_TEXT_RECORD_CHECK_H

#include "offline/patch/layout.h"

#include <sys/types.h>

/* @memory: the memfd that @record was read from. 0; -EBADMSG: it is not true; or -errno. */
int record_check(const struct patch_record *record, int memory, pid_t pid);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* turn_holder.h: which process holds a lock that belongs to an open file. The kernel names none;
 * what is told of each descriptor (/proc/PID/fdinfo) has the locks of its open file. */
#ifndef USER_PATCH_TURN_HOLDER_H
#define USER_PATCH_TURN_HOLDER_H

#include <sys/stat.h>
#include <sys/types.h>

/* Another process that has the file @st open with such a lock of exactly the byte at @byte. 0:
 * there is none, or it may not be looked at, or has a /proc of its own. */
pid_t turn_holder(const struct stat *st, off_t byte);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* status_number.h: a number that /proc/PID/status has. */
#ifndef USER_STATUS_NUMBER_H
#define USER_STATUS_NUMBER_H

#include <sys/types.h>

/* The number behind "@name:" of process or thread @pid; -1: there is none. */
long status_number(pid_t pid, const char *name);

#endif

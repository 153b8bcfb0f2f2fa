/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* doctor_process.h: `pugmark doctor PID`: which carrier of events is possible in a process, and
 * why. The process is looked at and not stopped. */
#ifndef USER_CMD_DOCTOR_PROCESS_H
#define USER_CMD_DOCTOR_PROCESS_H

#include <stdbool.h>

/* Whether @text is the number of a process rather than a file's name. */
bool doctor_is_process(const char *text);
/* Returns an exit status. */
int doctor_process(const char *pid, bool json);

#endif

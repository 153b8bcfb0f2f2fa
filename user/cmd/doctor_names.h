/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* doctor_names.h: `pugmark doctor BINARY`: which functions of a file have names, and what would
 * bring those of the others. */
#ifndef USER_CMD_DOCTOR_NAMES_H
#define USER_CMD_DOCTOR_NAMES_H

#include <stdbool.h>

/* Returns an exit status. */
int doctor_names(const char *path, bool json);

#endif

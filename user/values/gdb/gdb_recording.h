/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gdb_recording.h: a recording of level values behind gdb's remote protocol. */
#ifndef USER_VALUES_GDB_RECORDING_H
#define USER_VALUES_GDB_RECORDING_H

#include <stdint.h>

#include <pugmark/diag.h>

/* Whether gdb_serve_recording() can begin: that @dir holds values, and a start of @task (NULL: of
 * the first one). Returns 0, or -errno with @diag filled. */
int gdb_check_recording(const char *dir, const uint32_t *task, struct pugmark_diag *diag);

/* Serves the task @task (NULL: the first) of the recording in @dir on standard input and output.
 * Returns 0 when gdb has let go, or -errno with @diag filled. */
int gdb_serve_recording(const char *dir, const uint32_t *task, struct pugmark_diag *diag);

#endif

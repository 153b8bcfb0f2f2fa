/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* late_names.h: names for functions that had none when the recording was made. */
#ifndef USER_VIEW_LATE_NAMES_H
#define USER_VIEW_LATE_NAMES_H

#include <pugmark/trace.h>

/* With --debuginfod (user/file/debuginfod.h): asks for the debug file of each module of @trace that
 * has functions without a name and is still the file that was recorded, and names them by it.
 * 0 or -ENOMEM. */
int late_names_take(struct pugmark_trace *trace);

#endif

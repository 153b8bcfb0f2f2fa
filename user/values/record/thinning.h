/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* thinning.h: a thread that takes away the probes that are met often and tell what follows without
 * (capture_programs_thin()). That waits for the kernel, for much longer than what a process notes
 * of its calls has room: whoever drains must not wait with it. */
#ifndef USER_THINNING_H
#define USER_THINNING_H

#include "user/values/record/capture_programs.h"

#include <stdatomic.h>
#include <stdbool.h>

struct thinning;

/* Begins. All is borrowed until thinning_end(); @has_no_vdso: what capture_programs_thin() is told.
 * NULL: there is no such thread. */
struct thinning *thinning_begin(struct capture_programs *programs, const atomic_bool *has_no_vdso);
/* Ends, and returns whether there were such probes. NULL: false. */
bool thinning_end(struct thinning *thinning);

#endif

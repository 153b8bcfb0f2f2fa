/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* control.h: what decided that each instruction of a trace was executed, by the models of the files
 * that were traced. */
#ifndef USER_WHY_CONTROL_H
#define USER_WHY_CONTROL_H

#include "offline/slice/control.h"
#include "user/values/names/value_names.h"

/* Of @trace, which was built of a recording in @dir with these names and captures. Returns 0, or
 * -errno with @diag: such a file is not there any more. The caller frees *@out. */
int control_of_trace(const struct dep_trace *trace, const struct value_names *names,
		     const struct captures *captures, const char *dir, struct slice_control **out,
		     struct pugmark_diag *diag);

#endif

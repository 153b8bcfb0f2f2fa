/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* late.h: probes of a program that is started here, placed only when the program is mapped and
 * about to begin. What is patched there needs no probe in that process; the kernel, which would
 * write a breakpoint for each, passes over text that can be written. */
#ifndef USER_PATCH_LATE_H
#define USER_PATCH_LATE_H

#include "user/kernel/record_options.h"
#include "user/patch/area.h"
#include "user/patch/process/tracee.h"

/* *@possible: this kernel places many probes at once, no values are captured, and nothing of the
 * modules runs before the program begins: none has a function that the dynamic linker calls to find
 * another one (IFUNC). Returns 0, or -errno with @diag filled. */
int late_find(const struct recorder_options *options, bool *possible, struct pugmark_diag *diag);
/* The text that is to be patched in the stopped process can be written from now on (@can), as long
 * as none of it runs; or no more. Returns 0 or -errno: the kernel probes all of it. */
int late_writable(const struct tracee *t, const struct area *area,
		  const struct patch_module *modules, bool can);

#endif

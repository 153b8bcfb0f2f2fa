/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* site_bytes.h: the last look at the instructions that are about to get a probe. */
#ifndef USER_KERNEL_SITE_BYTES_H
#define USER_KERNEL_SITE_BYTES_H

#include "user/kernel/record_options.h"

/* Checks that each site of @module stands on an instruction that may be probed, by the bytes that
 * its file has now and by this build's table of probe classes: a plan may be older than either.
 * Returns 0, or -errno with @diag filled: -EINVAL where a site may not be probed, -EIO where the
 * file ends before it. */
int site_bytes_check(const struct recorder_module *module, struct pugmark_diag *diag);

#endif

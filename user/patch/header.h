/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* header.h: what stands at the start of each region's code (struct patch_header). Unwinders and
 * debuggers are led to the first region (unwinders.h), and from each one to the next. */
#ifndef USER_PATCH_HEADER_H
#define USER_PATCH_HEADER_H

#include "user/patch/area.h"
#include "user/patch/text/unwinders.h"

/* Completes @header, which is that of the region before, or a new one, for region @i, and puts it
 * in the region's code; writes the file that debuggers are to find. */
void header_write(struct area *area, uint32_t i, const struct unwinders *u,
		  const struct patch_settings *settings, struct patch_header *header);
/* Records which words of the process lead to the first region. 0 or -errno. */
int header_record(struct area *area, const struct tracee *t, const struct unwinders *u);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* site_list.h: sites from a text file, for tests of recording without a plan. */
#ifndef USER_SITE_LIST_H
#define USER_SITE_LIST_H

#include <pugmark/plan.h>

/* One site a line: `ADDR KIND CAPTURE CFA_REG CFA_OFF COND`, the address in hex, the rest in
 * decimal;
 * `#` starts a comment. @binary tells where an address lies in the file. The caller frees *@out. */
int site_list_read(const char *path, const char *binary, struct pugmark_plan_site **out,
		   uint32_t *n, struct pugmark_diag *diag);

#endif

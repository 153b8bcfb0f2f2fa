/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* captures_text.h: the records of captures, one a line, as they are: for those who work on Pugmark
 * itself, and for tests. */
#ifndef USER_CAPTURES_TEXT_H
#define USER_CAPTURES_TEXT_H

#include <pugmark/diag.h>

/* Prints those of the recording in @dir. Returns 0, or -errno with @diag filled. */
int captures_text_print(const char *dir, struct pugmark_diag *diag);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* encode_handles.h: which functions of C libraries work on a handle, as data. */
#ifndef USER_ENCODE_HANDLES_H
#define USER_ENCODE_HANDLES_H

/* The patterns of the functions of @name, NULL after the last; or NULL: none of that name. */
const char *const *encode_handle(const char *name);

#endif

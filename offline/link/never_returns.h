/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* never_returns.h: which imports never return, by the code of the libraries that define them. Only
 * libraries that raise exceptions are looked at: what comes back from a call in no other way than
 * by an exception is not known by a list of names. */
#ifndef OFFLINE_NEVER_RETURNS_H
#define OFFLINE_NEVER_RETURNS_H

#include <pugmark/model.h>

/* Sets @never (one byte an import of @model) for each import that one of @files defines and that
 * returns in none of those that define it: one that does not call the unwinder is taken to return.
 * What is no ELF file defines nothing; what cannot be read, or has symbols that cannot be, may
 * define any.
 * Returns 0 or -ENOMEM. */
int never_returns_mark(const struct pugmark_model *model, const char *const *files, uint32_t n,
		       uint8_t *never);

#endif

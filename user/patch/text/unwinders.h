/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* unwinders.h: where those who unwind a patched process ask for the frames of trampolines.
 *
 *   in the process    libgcc and LLVM's libunwind ask _dl_find_object() of glibc 2.35 and later,
 * whose libc calls a function of the dynamic linker by a pointer: that one leads to the runtime's
 *   a debugger        reads the list that starts at _r_debug: one more namespace stands in it, with
 *                     an ELF file for each region (object.h)
 *
 * Both are words of data. No text of these libraries is changed. */
#ifndef USER_PATCH_TEXT_UNWINDERS_H
#define USER_PATCH_TEXT_UNWINDERS_H

#include "offline/patch/layout.h"
#include "user/patch/process/tracee.h"

struct unwinders {
	uint64_t find, find_was; /* the pointer's address and value; 0: it is not there */
	uint64_t debug;		 /* struct r_debug_extended; 0: this glibc has none */
	uint64_t version_was, next_was;
};

/* What there is of them in the process. */
void unwinders_find(const struct tracee *t, struct unwinders *out);
/* Records which words are to lead to @find, the runtime's, and to the maps that begin at @map (0:
 * none), by way of @objects in the process, which is written. 0 or -errno. */
int unwinders_record(const struct unwinders *u, const struct tracee *t, uint64_t find, uint64_t map,
		     uint64_t objects, struct patch_record *record);
/* Whether the words of @record, which another process may have written to, are such words of the
 * process @t. Where its code and its rings are is known to be true. */
bool unwinders_are(const struct patch_record *record, const struct tracee *t);
/* Writes these words, in a process whose threads are stopped, or takes them back. A word that is
 * not as it is expected to be is left alone. The second returns how many of those that were written
 * are that, or -errno. */
void unwinders_write(struct patch_record *record, const struct tracee *t);
int unwinders_restore(struct patch_record *record, const struct tracee *t);

#endif

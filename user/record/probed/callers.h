/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* callers.h: notices when traced processes load a file, while they are recorded, that may call
 * exported functions which the plans assume nobody outside calls. Such a call is a gap, or is
 * missed. */
#ifndef USER_CALLERS_H
#define USER_CALLERS_H

#include "user/kernel/probes.h"
#include "user/record/write/collector.h"

struct callers;

/* Begins to listen; *@out is NULL where nothing needs to be noticed: all functions that the modules
 * export may be called, or the kernel does not tell of mappings. Borrows both; after
 * probes_attach(). Returns 0 or -errno. */
int callers_new(const struct recorder_options *options, const struct probes *probes,
		struct callers **out);
void callers_free(struct callers *c);
/* Becomes readable when there may be something; -1 for NULL. */
int callers_fd(const struct callers *c);
/* Looks at what traced processes have mapped since. Nothing for NULL. */
void callers_look(struct callers *c, struct collector *collector);
/* What has been found, for the recording and the user: heap; NULL: nothing, or no memory. */
char *callers_words(struct callers *c, struct collector *collector);
/* After that: whether there may have been something that was not found. */
bool callers_not_whole(const struct callers *c);

#endif

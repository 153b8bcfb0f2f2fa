/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* families.h: which tasks of a recording are of one process, and which forked which. */
#ifndef OFFLINE_CAPTURE_FAMILIES_H
#define OFFLINE_CAPTURE_FAMILIES_H

#include <pugmark/diag.h>

#include <stdbool.h>
#include <stdint.h>

struct family_task {
	uint32_t number, parent; /* 0: none, or not known */
	int32_t tid, pid;
	uint32_t threads; /* of its process that are told of, with this one */
	bool alone;	  /* its process has no other thread that is told of */
};

struct families {
	struct family_task *at;
	uint32_t n;
};

/* Of the recording in @dir, those whose process it tells. 0 or -errno with @diag filled; free with
 * families_deinit(). */
int families_read(const char *dir, struct families *out, struct pugmark_diag *diag);
void families_deinit(struct families *families);
/* A task is not among them: it may be a thread of any. */
void families_lack(struct families *families);
/* NULL: there is no such task. */
const struct family_task *families_find(const struct families *families, uint32_t task);

#endif

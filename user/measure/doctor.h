/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* doctor.h: what recording needs of this kernel and this user, item by item. */
#ifndef USER_DOCTOR_H
#define USER_DOCTOR_H

#include <stdbool.h>

enum { DOCTOR_MAX = 24 };

enum doctor_state { DOCTOR_OK, DOCTOR_LACKS, DOCTOR_NOTE };

struct doctor_item {
	const char *name;
	enum doctor_state state; /* LACKS: recording does not work; NOTE: it does, with less */
	char value[128];	 /* what was found */
	char advice[256];	 /* what to do about it; "" where nothing */
};

struct doctor_report {
	struct doctor_item items[DOCTOR_MAX];
	unsigned n;
	bool can_record;
};

void doctor_examine(struct doctor_report *report);
/* Only what this user may do, which takes no time. */
void doctor_examine_rights(struct doctor_report *report);

#endif

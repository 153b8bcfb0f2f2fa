/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* must.h: what holds of any bytes that a fuzz target is given; if it does not, that is a crash. */
#ifndef FUZZ_MUST_H
#define FUZZ_MUST_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static inline void must_hold(bool holds, const char *claim)
{
	if (holds)
		return;
	fprintf(stderr, "does not hold: %s\n", claim);
	abort();
}
#define MUST(claim) must_hold(claim, #claim)

#endif

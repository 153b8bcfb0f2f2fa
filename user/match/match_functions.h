/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* match_functions.h: which functions of two builds are the same, by what their instructions have
 * done: those of which most instructions of the second that match at all match in the first, and
 * the other way round. */
#ifndef USER_MATCH_MATCH_FUNCTIONS_H
#define USER_MATCH_MATCH_FUNCTIONS_H

#include <pugmark/diag.h>

#include <stddef.h>
#include <stdint.h>

struct match_pair {
	char *first, *second; /* names in the two recordings; heap */
	uint32_t matched;     /* instructions of the second that match in the first, */
	uint32_t valued;      /* of those that have a history */
};

/* Of two recordings of level values. Returns 0 and *@n pairs, to be freed with
 * match_pairs_free(); -ENOENT: one of them has no values; or -errno; with @diag filled. */
int match_pairs(const char *const dirs[2], struct match_pair **out, size_t *n,
		struct pugmark_diag *diag);
void match_pairs_free(struct match_pair *pairs, size_t n);

#endif

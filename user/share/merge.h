/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* merge.h: one recording out of recordings of the same run, one under each share of a plan. */
#ifndef USER_SHARE_MERGE_H
#define USER_SHARE_MERGE_H

#include <pugmark/diag.h>

#include <stdbool.h>
#include <stdint.h>

struct merge_result {
	uint32_t shares, threads;
	uint32_t diverged;  /* threads in which two runs were not the same */
	uint64_t taken;	    /* events read */
	uint64_t landmarks; /* of them all parts had, and the same */
	uint64_t events;    /* written */
	uint64_t alone; /* decisions that one run alone tells: in these all are taken to agree */
	double seconds;
	char *first_divergence; /* heap, or NULL: what the first of them was */
};

/* Merges the @n recordings @parts into @out. Returns 0, also where runs diverge (the recording then
 * has gaps, and says where), or -errno with @diag filled: -EINVAL where the parts are not those of
 * one set: one is missing, is there twice, is of another build, set or command. */
int merge_recordings(const char *const *parts, uint32_t n, const char *out,
		     struct merge_result *result, struct pugmark_diag *diag);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* profile.h: what each instruction of a run has done: how often it was executed, which ways a
 * conditional jump went, which values were computed. Two profiles of one program say in what two
 * runs differ. */
#ifndef OFFLINE_SLICE_PROFILE_H
#define OFFLINE_SLICE_PROFILE_H

#include "offline/base/vec.h"
#include "offline/dep/dep.h"

enum {
	PROFILE_VALUES = 32, /* of an instruction that has more, not all are known */
	PROFILE_NOT_TAKEN = 1,
	PROFILE_TAKEN = 2,
};

struct profile_insn {
	uint64_t ip;	      /* run-time */
	uint64_t times, last; /* executions; instructions before the last of them */
	uint8_t ways;	      /* of a conditional jump */
	bool jump;
	bool all_values; /* @values are all that there were */
	uint8_t n_values;
	uint32_t
		values[PROFILE_VALUES]; /* hashes; everything that may be an address is one value */
};

struct slice_profile;

/* To be fed by dep_build_watch() with slice_profile_watch. NULL: memory is out. */
struct slice_profile *slice_profile_new(void);
void slice_profile_free(struct slice_profile *profile);
void slice_profile_watch(void *profile, const struct dep_trace *trace,
			 const struct dep_mark *before, const struct dep_block *block,
			 const struct dep_event *event, const uint64_t *addresses,
			 const uint64_t *results);
/* All that were executed, in the order in which they were met. NULL: memory was out. Borrowed. */
const struct profile_insn *slice_profile_insns(const struct slice_profile *profile, uint32_t *n);
/* NULL: it was not executed. Borrowed. */
const struct profile_insn *slice_profile_find(const struct slice_profile *profile, uint64_t ip);

#endif

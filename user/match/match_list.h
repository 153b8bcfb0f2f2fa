/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* match_list.h: unmatched instructions as lines of source, the most suspicious first. */
#ifndef USER_MATCH_MATCH_LIST_H
#define USER_MATCH_MATCH_LIST_H

#include "offline/match/parting.h"
#include "user/match/match_run.h"

/* What became of an instruction on the input on which both programs did the same, in the order in
 * which they are listed: that it is unmatched is news, may be, or is none. */
enum match_on_others { OTHERS_MATCHED, OTHERS_UNKNOWN, OTHERS_UNMATCHED };

/* Instructions of one line and of the same inlined calls; without DWARF one. */
struct match_line {
	uint32_t from, n; /* of match_list.insns, the most suspicious first */
};

struct match_list {
	struct match_parting parting;
	uint32_t *insns; /* of the second run, those of a line in a row */
	struct match_line *lines;
	uint32_t n_insns, n_lines;
};

/* @on_others: enum match_on_others of each instruction of @runs[1]; @going_on: the runs are not
 * over. 0 or -ENOMEM; to be freed with match_list_deinit() in both cases. */
int match_list_init(struct match_list *list, struct match_run runs[2],
		    const struct match_found *found, const uint8_t *on_others, bool going_on);
void match_list_deinit(struct match_list *list);

#endif

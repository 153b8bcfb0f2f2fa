/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* history.h: what each instruction of a run has done, each time: its signature. Noted are
 *
 *   results     of instructions that compute
 *   loads       outside of the stack: address and value
 *   stores      outside of the stack: address and value
 *   jumps       conditional ones: what was compared, and whether it was taken
 *
 * each as a hash of values in a common form (layout.h). Instructions that only move a value between
 * registers or to and from the stack, and constants, have no history: where compilers keep a value
 * is not what the program does. Who reads such a copy counts as reading from the instruction that
 * first computed the value, its *maker*; makers are the structure of a run. */
#ifndef OFFLINE_MATCH_HISTORY_H
#define OFFLINE_MATCH_HISTORY_H

#include "offline/match/insns.h"
#include "offline/match/layout.h"

struct match_history;

/* To be fed by dep_build_watch() with match_history_watch. @run's program is mapped from
 * @image_start to @image_end. NULL: memory is out. */
struct match_history *match_history_new(struct value_run *run, uint64_t image_start,
					uint64_t image_end);
void match_history_free(struct match_history *h);
void match_history_watch(void *history, const struct dep_trace *trace,
			 const struct dep_mark *before, const struct dep_block *block,
			 const struct dep_event *event, const uint64_t *addresses,
			 const uint64_t *results);
/* All instructions that were executed; those without a history have n 0. NULL: memory was out. */
const struct match_insn *match_history_insns(const struct match_history *h, uint32_t *n);

#endif

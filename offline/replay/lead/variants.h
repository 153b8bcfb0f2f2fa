/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* variants.h: variants of a function that are executed in place of one another. */
#ifndef OFFLINE_REPLAY_LEAD_VARIANTS_H
#define OFFLINE_REPLAY_LEAD_VARIANTS_H

#include "offline/replay/libraries/libraries.h"
#include "offline/replay/replay.h"

/* The variant that any processor has is executed instead of @f, up to
 * VALUE_VARIANT_END; there it ends. An enum value_replay_stop each. */
#define VALUE_VARIANT_END 0
int value_run_begin_variant(struct value_run *run, const struct library_function *f);
int value_run_end_variant(struct value_run *run);
/* A value_recall_fn, of a run (residue.h). */
bool value_run_recall(void *run, unsigned reg, uint64_t said, uint64_t *value);

#endif

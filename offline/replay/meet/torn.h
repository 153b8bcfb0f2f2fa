/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* torn.h: the task has lost the processor in a function that a model does. */
#ifndef OFFLINE_REPLAY_MEET_TORN_H
#define OFFLINE_REPLAY_MEET_TORN_H

#include "offline/replay/replay.h"

/* At a function that the model @name does, before a record of a loss of the processor:
 * whether that was in this call. HERE: the record is taken, and the place is met once more. */
bool value_run_may_be_in(struct value_run *run, const struct capture *c);
enum value_torn { VALUE_TORN_NOT, VALUE_TORN_HERE, VALUE_TORN_UNSURE };
enum value_torn value_run_torn(struct value_run *run, const char *name);
/* As import_model(), also of such a call. */
int value_run_model(struct value_run *run, const char *name);

#endif

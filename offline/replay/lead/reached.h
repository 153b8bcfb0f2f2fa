/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* reached.h: how many instructions were executed before each record. */
#ifndef OFFLINE_REPLAY_LEAD_REACHED_H
#define OFFLINE_REPLAY_LEAD_REACHED_H

#include "offline/replay/replay.h"

/* Notes from now on; false: memory is out. @next may have changed. */
bool value_run_begin_noting(struct value_run *run);
/* Those taken since it was called last. */
void value_run_note_reached(struct value_run *run);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vectors.h: vector registers that are saved and restored. */
#ifndef OFFLINE_REPLAY_LEAD_VECTORS_H
#define OFFLINE_REPLAY_LEAD_VECTORS_H

#include "offline/replay/replay.h"

/* xsavec, xrstor: they are executed here, and true is returned. */
bool value_run_vectors(struct value_run *run, const struct value_insn *insn);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* library_writes.h: which memory code of libraries writes, for whoever follows who wrote what
 * (replay.h: value_run_library_writes()). */
#ifndef OFFLINE_REPLAY_LIBRARIES_LIBRARY_WRITES_H
#define OFFLINE_REPLAY_LIBRARIES_LIBRARY_WRITES_H

#include "offline/eval/machine.h"

struct library_writes;

/* Who is told from now on; NULL: nobody. *@writes is made where it is needed. 0 or -ENOMEM. */
int value_writes_ask(struct library_writes **writes, value_wrote_fn *fn, void *ctx);
void value_writes_free(struct library_writes *writes);
/* An empty trace to run with; NULL: nobody asks. */
struct value_trace *value_writes_trace(struct library_writes *writes);
/* Tells what the instructions have written that are in it. */
void value_writes_tell(struct library_writes *writes, struct value_machine *m);
/* Before (@begins) and behind a model that stands for a function. */
void value_writes_model(const struct library_writes *writes, struct value_memory *memory,
			bool begins);

#endif

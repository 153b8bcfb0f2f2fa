/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gdb_state.h: registers and memory of a replayed thread as gdb wants them. */
#ifndef USER_VALUES_GDB_STATE_H
#define USER_VALUES_GDB_STATE_H

#include "offline/replay/replay.h"
#include "user/values/gdb/gdb_packets.h"

/* The target description of all registers; the caller frees it. NULL: memory is out. */
char *gdb_state_description(void);
/* All registers in the order of the description; of no run (NULL) none is known. */
void gdb_state_put_registers(struct gdb_packets *p, struct value_run *run);

/* Reads up to @len bytes and the quality of each; what is not mapped is VALUE_UNKNOWN. Of the
 * memory at the moment, which is that of @moved, what is exact; else that of @own, if it is known
 * better there: what another thread has written since is not in it. */
void gdb_state_read(struct value_run *moved, struct value_run *own, uint64_t addr, size_t len,
		    uint8_t *bytes, uint8_t *quality);

#endif

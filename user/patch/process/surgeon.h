/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* surgeon.h: what is done to stopped processes is done by a child of the recorder, which no signal
 * meant for that reaches: a recorder that is killed meanwhile leaves nothing half done. Where the
 * child itself is killed the kernel lets all go that it had stopped, and they go on as they would
 * have: so nothing here steps a thread, nor leaves one anywhere but where it was (way_back.h). */
#ifndef USER_PATCH_PROCESS_SURGEON_H
#define USER_PATCH_PROCESS_SURGEON_H

#include <stddef.h>

/* Memory that the child shares, all 0, or NULL. */
void *surgeon_memory(size_t bytes);
void surgeon_free(void *memory, size_t bytes);
/* Runs @operate in a child and waits for that. Only what it writes to surgeon_memory() is seen
 * here. Returns what it returned, or -errno (-EINTR: the child was killed). */
int surgeon_run(int (*operate)(void *ctx), void *ctx);
/* The same; as the child calls surgeon_tell(), @told is called here, and the child waits for that
 * as long as there is somebody to wait for. */
int surgeon_run_telling(int (*operate)(void *ctx), void (*told)(void *ctx), void *ctx);
void surgeon_tell(void);

#endif

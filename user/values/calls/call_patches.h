/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* call_patches.h: system calls of a process are made by stubs that the recorder has placed: the
 * `syscall` instructions of the libraries that it has mapped become jumps there
 * (offline/capture/call_area.h). What is written is private to the process. */
#ifndef USER_CALL_PATCHES_H
#define USER_CALL_PATCHES_H

#include "user/values/calls/call_layout.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Takes out what a recorder that was killed has left in process @pid, whose threads are stopped as
 * below; its memory stays while a thread is in it. 0: nothing is left that jumps there; -EBUSY:
 * that recorder is still there; -EPERM: another build has placed it; -EAGAIN: another process has
 * the same memory. */
int call_patches_clear(pid_t pid, const pid_t *tids, uint32_t n);
/* Finds what is to be patched in process @pid, which may run. Returns 0, or -errno and in *@why
 * what stands against it. */
int call_patches_find(pid_t pid, struct call_patches **out, const char **why);
/* All threads of process @pid, @tids, are stopped by this thread's ptrace. Returns 0, with nothing
 * patched yet but memory given; or -errno, and then the process is as it was and *@why says what
 * stands against it. @clocks: where it has the slots that clocks are noted in; 0: nowhere. */
int call_patches_give(struct call_patches *p, pid_t pid, const pid_t *tids, uint32_t n,
		      uint64_t clocks, const char **why);
/* The memory goes back, unless call_patches_place() has failed. */
void call_patches_take_back(const struct call_patches *p, pid_t pid, const pid_t *tids);
/* The sites become jumps; threads that sleep in a call of theirs go on in a stub. Or not, as above.
 */
int call_patches_place(const struct call_patches *p, pid_t pid, const pid_t *tids, uint32_t n,
		       const char **why);
/* Whether calls are noted: CALL_ENDING: those that have begun so. */
enum { CALL_NOT_ARMED, CALL_ARMED, CALL_ENDING };
int call_patches_arm(const struct call_patches *p, pid_t pid, int armed);
/* Whether process @pid jumps to the stubs, as a child does that was forked meanwhile: 1, 0, or
 * -errno where its memory cannot be opened. */
int call_patches_has(const struct call_patches *p, pid_t pid);
/* The sites are as they were. Returns 0 if the memory is given back too, -EBUSY while a thread may
 * still be in it, or -errno, as -EAGAIN while another process has the same memory: then no site is
 * changed. -ESRCH: the process does not have the code, as it executes another program. All threads
 * are stopped, as above. */
int call_patches_remove(const struct call_patches *p, pid_t pid, const pid_t *tids, uint32_t n);
void call_patches_free(struct call_patches *p);

#endif

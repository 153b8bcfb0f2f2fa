/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* call_threads.h: the stopped threads of a process whose system calls are made by stubs: where they
 * stand, and how they are moved to stubs and from there. All threads are stopped by the ptrace of
 * the thread that calls this. */
#ifndef USER_CALL_THREADS_H
#define USER_CALL_THREADS_H

#include "user/patch/process/tracee.h"
#include "user/values/calls/call_layout.h"

#include <stdbool.h>
#include <sys/user.h>

/* The thread pointer of a thread; 0: none. */
uint64_t call_threads_pointer(pid_t tid);
/* Reads the registers of @n threads to @was, and notes in the lanes that a call of theirs has begun
 * before. 0, -EBUSY: one stands amid a site, or a signal has interrupted one there; or -errno. */
int call_threads_read(const struct call_patches *p, const struct tracee *t, const pid_t *tids,
		      uint32_t n, struct user_regs_struct *was);
/* Threads behind a call of theirs, with registers @was, go to its stub. Calls and what follows are
 * the same there, whether the sites are jumps or not. 0 or -errno: some may be moved. */
int call_threads_move(const struct call_patches *p, const pid_t *tids, uint32_t n,
		      const struct user_regs_struct *was);
/* Those that call_threads_move() has moved go back. One that was killed needs nothing. 0 or
 * -errno. */
int call_threads_put_back(const struct call_patches *p, const pid_t *tids, uint32_t n,
			  const struct user_regs_struct *was);
/* Threads that wait in a stub's call go on behind the site. Returns 0 if then no thread is in the
 * code, nor returns there from a handler; else -EBUSY, as one will leave it when it runs. */
int call_threads_leave(const struct call_patches *p, const struct tracee *t, const pid_t *tids,
		       uint32_t n);
/* Whether the thread with these registers waits in a stub's call; then they become what they would
 * be without the stub. */
bool call_threads_waits(const struct call_patches *p, struct user_regs_struct *regs);
/* Where the process would stand without patches that stands at @ip: at an address of its own; 0: it
 * stands in no stub. *@rcx: what that register is to be, behind the call; 0: what it is. */
uint64_t call_threads_told(const struct call_patches *p, uint64_t ip, uint64_t *rcx);

#endif

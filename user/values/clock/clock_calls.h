/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* clock_calls.h: has a running process note what the kernel's image of clock functions tells it:
 * the functions' first instructions become jumps to the area of offline/capture/clock_area.h. */
#ifndef USER_CLOCK_CALLS_H
#define USER_CLOCK_CALLS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct clock_calls {
	uint64_t area;	/* its address in the process; 0: nothing was placed */
	uint64_t image; /* of the process: what its functions are called at */
};

/* Takes out what a recorder that was killed has left in process @pid, whose threads are stopped as
 * below. Its memory stays while a thread is in it, or if another build has placed it; then, or if
 * that recorder is still there, clock_calls_place() says what can be done. */
void clock_calls_clear(pid_t pid, const pid_t *tids, uint32_t n);
/* All threads of process @pid, @tids, are stopped by this thread's ptrace. Returns 0, or -errno,
 * and then the process is as it was, and @out says so: -ENOSYS (no thread pointer can be read
 * there), -ENOENT (it has no such image, or another one than this process), -EPERM (a seccomp
 * filter), -EBUSY (a thread stands in what would be written), -ENOMEM (no memory in reach). */
int clock_calls_place(pid_t pid, const pid_t *tids, uint32_t n, struct clock_calls *out);
/* Whether the address @ip is of the area. */
bool clock_calls_in(const struct clock_calls *calls, uint64_t ip);
/* Whether a thread that stands there has nothing left to do but to return from a function whose
 * call has been noted, or has been made as a system call. */
bool clock_calls_over(const struct clock_calls *calls, uint64_t ip);
/* Whether a thread that stands there is in the copy of the image. */
bool clock_calls_in_copy(const struct clock_calls *calls, uint64_t ip);
/* Whether process @pid jumps to the area, as a child does that was forked meanwhile: 1 or 0; or
 * -errno: it could not be looked at. */
int clock_calls_has(const struct clock_calls *calls, pid_t pid);
/* The functions are as they were. Returns 0 if the memory is given back too, -EBUSY while a thread
 * may still be in it, or -errno (-EPERM: a seccomp filter has come meanwhile). All threads are
 * stopped, as above. */
int clock_calls_remove(const struct clock_calls *calls, pid_t pid, const pid_t *tids, uint32_t n);

#endif

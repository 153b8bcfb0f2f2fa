// SPDX-License-Identifier: LGPL-2.1-or-later
/* call_patches.c: see call_patches.h. In which order a process gets its stubs and loses them. What
 * is done there: sites are found (call_finding.h), memory is given (call_memory.h), threads are
 * moved (call_threads.h), and jumps are written (call_jumps.h). */
#include "user/values/calls/call_patches.h"

#include "user/patch/process/filters.h"
#include "user/proc/memory_sharing.h"
#include "user/values/calls/call_code.h"
#include "user/values/calls/call_finding.h"
#include "user/values/calls/call_frames.h"
#include "user/values/calls/call_jumps.h"
#include "user/values/calls/call_left.h"
#include "user/values/calls/call_memory.h"
#include "user/values/calls/call_threads.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

enum { HWCAP2_FSGSBASE_BIT = 2 };

/* A filter may know nothing of the calls that are made in the name of the process. */
static bool are_filtered(const pid_t *tids, uint32_t n)
{
	bool filtered = false;

	for (uint32_t i = 0; i < n; i++)
		filtered |= filters_has(tids[i]);
	return filtered;
}

int call_patches_find(pid_t pid, struct call_patches **out, const char **why)
{
	struct call_patches *p = calloc(1, sizeof(*p));
	struct tracee t;
	int err = p ? 0 : -ENOMEM;

	*why = "there is no memory";
	if (!p)
		return err;
	p->code_fd = p->lanes_fd = -1;
	if (!(getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE_BIT)) {
		*why = "this processor or kernel has no instructions for thread pointers "
		       "(FSGSBASE)";
		err = -ENOSYS;
	}
	if (!err) {
		*why = "its memory cannot be reached";
		err = tracee_open(&t, pid);
	}
	if (!err) {
		err = call_finding_sites(p, &t, why);
		tracee_close(&t);
	}
	if (err)
		call_patches_free(p);
	else
		*out = p;
	return err;
}

int call_patches_give(struct call_patches *p, pid_t pid, const pid_t *tids, uint32_t n,
		      uint64_t clocks, const char **why)
{
	struct tracee t;

	p->clocks = clocks;
	*why = "it has a seccomp filter";
	if (!n || are_filtered(tids, n))
		return -EPERM;
	/* Its threads run while those of this one stand. */
	*why = "another process has the same memory (vfork, or CLONE_VM)";
	if (memory_sharing(tids[0]))
		return -EBUSY;
	*why = "its memory cannot be reached";
	int err = tracee_open(&t, pid);
	if (err)
		return err;
	t.pid = tids[0];
	*why = "its libraries were changed while they were looked at";
	err = call_jumps_may_be_written(p, &t) ? call_memory_give(p, &t, why) : -EAGAIN;
	tracee_close(&t);
	return err;
}

void call_patches_take_back(const struct call_patches *p, pid_t pid, const pid_t *tids)
{
	struct tracee t;

	if (tracee_open(&t, pid))
		return;
	t.pid = tids[0];
	call_memory_unmap(p, &t);
	tracee_close(&t);
}

/* As the threads are where they go on in any case before a site is written to, a recorder that is
 * killed meanwhile leaves none amid a jump. */
static int place(const struct call_patches *p, const struct tracee *t, const pid_t *tids,
		 uint32_t n, struct user_regs_struct *was, const char **why)
{
	int err = call_threads_read(p, t, tids, n, was);

	*why = "a thread of it stands where a jump was to be";
	if (err) {
		call_memory_unmap(p, t);
		return err;
	}
	err = call_frames_lead(p, t);
	if (!err)
		err = call_threads_move(p, tids, n, was);
	if (!err) {
		*why = "its code cannot be written to";
		err = call_jumps_write(p, t);
	}
	if (!err)
		return 0;
	int jumps = call_jumps_undo(p, t);
	int away = call_threads_put_back(p, tids, n, was);
	if (!jumps && !away && !call_frames_unlead(p, t)) {
		call_memory_unmap(p, t);
	} else { /* somebody may come there: calls are made, and not noted */
		const struct call_local local = {.armed = CALL_NOT_ARMED};
		tracee_write(t, p->local, &local, sizeof(local));
	}
	return err;
}

int call_patches_place(const struct call_patches *p, pid_t pid, const pid_t *tids, uint32_t n,
		       const char **why)
{
	struct user_regs_struct *was;
	struct tracee t;
	int err = tracee_open(&t, pid);

	*why = "its memory cannot be reached";
	if (err)
		return err;
	t.pid = tids[0];
	was = calloc(n, sizeof(*was));
	if (was) {
		err = place(p, &t, tids, n, was, why);
	} else {
		*why = "there is no memory";
		err = -ENOMEM;
		call_memory_unmap(p, &t);
	}
	free(was);
	tracee_close(&t);
	return err;
}

/* Whether the code is there. What @t has open is memory of the program that the process executed
 * when it was opened. */
static bool is_there(const struct call_patches *p, const struct tracee *t)
{
	uint64_t base;

	return p->code && !tracee_read(t, p->code + call_code_places.base, &base, sizeof(base)) &&
	       base == p->code;
}

static bool is_jumped_to(const struct call_patches *p, const struct tracee *t)
{
	bool leads = false;

	for (uint32_t i = 0; !leads && is_there(p, t) && i < p->n; i++)
		leads = call_jumps_lead(p, t, i);
	return leads;
}

int call_patches_arm(const struct call_patches *p, pid_t pid, int armed)
{
	const struct call_local local = {.armed = armed};
	struct tracee t;
	int err = tracee_open(&t, pid);

	if (err)
		return err;
	/* It may execute another program by now, or its number be another's. */
	if (armed == CALL_ENDING && !is_jumped_to(p, &t))
		err = -ESRCH;
	else
		err = tracee_write(&t, p->local, &local, sizeof(local));
	tracee_close(&t);
	return err;
}

int call_patches_has(const struct call_patches *p, pid_t pid)
{
	struct tracee t;
	int err = tracee_open(&t, pid);

	if (err)
		return err;
	bool has = is_jumped_to(p, &t);
	tracee_close(&t);
	return has;
}

/* All that is done once it is known that the code is there. */
static int take_out(const struct call_patches *p, struct tracee *t, const pid_t *tids, uint32_t n)
{
	/* What is left here for long reads no clocks that are gone. */
	const uint64_t none = 0;
	int err = tracee_write(t, p->code + call_code_places.clocks, &none, sizeof(none));

	/* Threads of the other process may be in it, and run. */
	if (!err && (err = memory_sharing(tids[0])) > 0)
		err = -EAGAIN;
	if (!err)
		err = call_jumps_remove(p, t);
	if (!err)
		err = call_threads_leave(p, t, tids, n);
	if (!err)
		err = call_frames_unlead(p, t);
	t->pid = filters_without(tids, n);
	if (!err && !t->pid)
		err = -EPERM;
	return err ? err : call_memory_unmap(p, t);
}

int call_patches_remove(const struct call_patches *p, pid_t pid, const pid_t *tids, uint32_t n)
{
	struct tracee t;
	int err = tracee_open(&t, pid);

	if (err)
		return err;
	t.pid = tids[0];
	err = is_there(p, &t) ? take_out(p, &t, tids, n) : -ESRCH;
	tracee_close(&t);
	return err;
}

int call_patches_clear(pid_t pid, const pid_t *tids, uint32_t n)
{
	struct call_patches p = {.code_fd = -1, .lanes_fd = -1};
	struct tracee t;

	if (!call_left_find(pid, &p))
		return 0;
	int err = tracee_open(&t, pid);
	if (err)
		return err;
	err = call_left_read(&t, &p);
	tracee_close(&t);
	if (!err) {
		err = call_patches_remove(&p, pid, tids, n);
		if (err == -EBUSY) /* the memory stays, and nothing jumps there */
			err = 0;
	}
	free(p.sites);
	return err;
}

void call_patches_free(struct call_patches *p)
{
	if (!p)
		return;
	if (p->code_fd >= 0)
		close(p->code_fd);
	if (p->lanes_fd >= 0)
		close(p->lanes_fd);
	free(p->sites);
	free(p);
}

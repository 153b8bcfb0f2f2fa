/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* capture_programs.h: bpf/values.bpf.c in the kernel: loading, placing its probes, taking them
 * away.
 */
#ifndef USER_CAPTURE_PROGRAMS_H
#define USER_CAPTURE_PROGRAMS_H

#include "user/file/text_span.h"
#include "user/kernel/record_options.h"
#include "user/values/calls/call_patches.h"
#include "user/values/record/capture_plan.h"

struct capture_programs;

/* Loads the programs and fills their tables. @spans: of the options' modules; @tasks_fd: the map of
 * the recorded tasks. */
int capture_programs_load(const struct recorder_options *options, const struct text_span *spans,
			  int tasks_fd, struct capture_programs **out, struct pugmark_diag *diag);
/* Puts the probes in place; nothing is captured before capture_programs_enable(). */
int capture_programs_attach(struct capture_programs *programs, const struct capture_plan *plan,
			    const struct recorder_module *modules, struct pugmark_diag *diag);
/* With options->stubs nothing sees system calls until one of these. 0 or -errno. The second:
 * process makes them by stubs, which are in place; @patches is borrowed until
 * capture_programs_no_calls().
 */
int capture_programs_hooks(struct capture_programs *programs);
int capture_programs_calls(struct capture_programs *programs, const struct call_patches *patches);
void capture_programs_no_calls(struct capture_programs *programs);
void capture_programs_enable(struct capture_programs *programs, bool enabled);
/* To be called once, when nothing is captured any more: adds an END of each task that waits in a
 * system call. 0 or -errno. */
int capture_programs_end(struct capture_programs *programs);
/* The threads that are recorded now, those of children too. The caller frees *@out. 0 or -errno. */
int capture_programs_tasks(const struct capture_programs *programs, struct task_number **out,
			   uint32_t *n);
/* The number of the task of @tasks whose thread is @tid. 0, or -ESRCH: it is not recorded. */
int task_number_of(const struct task_number *tasks, uint32_t n, pid_t tid, uint32_t *out);
/* Takes probes away that were hit often and tell what follows from executing libraries again: at
 * functions that were never entered from outside, and at calls out; but not of what may read a
 * clock, unless the process @has_no_vdso, or notes itself what that tells. Takes tens of
 * milliseconds where there are some; nothing is missed meanwhile. Returns whether there were. */
bool capture_programs_thin(struct capture_programs *programs, bool has_no_vdso);
/* Whether the place of that index is watched no longer. */
bool capture_programs_thinned(const struct capture_programs *programs, uint32_t place);
/* The process has code of no file, as one that is made here later is noticed to have: results of
 * calls out are watched on. */
void capture_programs_code(struct capture_programs *programs);
/* The process notes itself what clocks tell, at the address @area (clock_area.h). */
void capture_programs_clocks(struct capture_programs *programs, uint64_t area);
int capture_programs_ring_fd(const struct capture_programs *programs);
void capture_programs_counters(const struct capture_programs *programs,
			       struct capture_counters *out);
void capture_programs_free(struct capture_programs *programs);

#endif

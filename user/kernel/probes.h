/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* probes.h: the BPF programs in the kernel: loading, attaching to files, taking away again. */
#ifndef USER_PROBES_H
#define USER_PROBES_H

#include "user/file/text_span.h"
#include "user/kernel/record_options.h"

#include <linux/types.h>
#include "bpf/protocol.h"
#include <stdbool.h>

struct probes;
struct bpf_link;

/* Loads the programs for these options; nothing is attached. @spans has one entry a module. */
int probes_load(const struct recorder_options *options, const struct text_span *spans,
		struct probes **out, struct pugmark_diag *diag);
/* Runs the iterator program of @link over all that it iterates. 0 or -errno. */
int probes_iterate(const struct bpf_link *link);
/* Puts every probe in place, but with @later none: probes_place() is to do that. No event is taken
 * before probes_enable(). */
int probes_attach(struct probes *probes, const struct recorder_options *options, bool later,
		  struct pugmark_diag *diag);
/* Places probes, as probe_links_place() does. */
int probes_place(struct probes *probes, const struct recorder_options *options, const bool *only,
		 bool value, struct pugmark_diag *diag);
/* Takes those away that are in place. */
void probes_unplace(struct probes *probes);
/* Places the probes of a patched process's runtimes (offline/patch/runtime.h), at @offsets of the
 * file @path. Returns 0 or -errno (-ENOTSUP: this kernel has no uprobe_multi). */
int probes_attach_patched(struct probes *probes, const char *path, const unsigned long *offsets,
			  const __u64 *cookies, uint32_t n);
/* How long it will take to remove the probes one by one, in seconds; 0 where they go all at once,
 * or if that cannot be found out. */
double probes_removing_s(struct probes *probes, const struct recorder_options *options);
/* Takes the process @pid (in our pid namespace) in; @running: it runs the traced code already.
 * Returns how many threads, or -errno. */
int probes_adopt(struct probes *probes, pid_t pid, bool running, struct pugmark_diag *diag);
/* Changes what is probed to the modules of @options: those that were, and new ones behind them;
 * @spans has one entry for each. They must fit into the room that was made when the programs were
 * loaded. Each task changes from its next hit on, and its log says so. */
int probes_change(struct probes *probes, const struct recorder_options *options,
		  const struct text_span *spans, struct pugmark_diag *diag);
/* Whether process @pid (in our pid namespace) was taken in, or forked from one that was. */
bool probes_tracks(const struct probes *probes, pid_t pid);
/* All probes go, until probes_change(). */
void probes_pause(struct probes *probes);
/* How often what is probed has changed. */
uint32_t probes_generation(const struct probes *probes);
/* When the last pause began, or the last change held. */
uint64_t probes_changed_ns(const struct probes *probes);
void probes_enable(struct probes *probes);
/* Closes every task's log, as the first thing that probes_stop() does. */
void probes_disable(struct probes *probes);
/* Closes every task's log at once, takes the probes away and has each task's rest sent. The rings
 * must be read meanwhile. */
void probes_stop(struct probes *probes);
/* Takes everything away, stopped or not. */
void probes_free(struct probes *probes);

/* What the program at a probe took so far, on average; 0: not measured. */
struct program_ns {
	double hit;   /* each time */
	double stack; /* and in addition, where it sends the stack */
};
struct program_ns probes_program_ns(const struct probes *probes);
int probes_events_fd(const struct probes *probes);
int probes_process_fd(const struct probes *probes);
/* The map of the tasks that are recorded. */
int probes_tasks_fd(const struct probes *probes);
const volatile struct batch_counters *probes_counters(const struct probes *probes);

#endif

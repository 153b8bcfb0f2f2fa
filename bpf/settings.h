/* SPDX-License-Identifier: GPL-2.0 */
/* settings.h: what the collector sets before loading and while it runs, and what it reads. */
#ifndef BPF_SETTINGS_H
#define BPF_SETTINGS_H

#include <vmlinux.h>
#include <bpf/bpf_helpers.h>
#include "bpf/protocol.h"

const volatile bool with_times = true;
const volatile bool with_costs = false; /* what sending stacks takes is measured */
const volatile bool trace_all = false;
const volatile bool follow = true;
const volatile __u64 in_cgroup = 0;	   /* trace_all: only what is in cgroups[0]; its number */
const volatile __u32 in_pid_namespace = 0; /* trace_all: only what is in it; its number */
/* The tables of sites and of returns have two halves of this size: while what is probed changes,
 * one is in use and the other is filled. */
const volatile __u32 half_sites = 0;
const volatile __u32 half_returns = 0;
const volatile __u32 half_bound = 0;
const volatile __u32 known_program_fds[KNOWN_PROGRAMS]; /* the collector's */
const volatile __u32 n_known_programs = 0;

/* Set by the collector while it runs. Modules may be added at the end, before probes of theirs. */
volatile __u64 module_bytes[BATCH_MODULES] = {};  /* length of text_addr..text_end */
volatile __u32 returns_first[BATCH_MODULES] = {}; /* of its words in the map `returns` */
volatile __u32 goid_at[BATCH_MODULES] = {}; /* Go: where runtime.g has its number; 0: not known */
volatile __u32 n_modules = 0;
/* What has to be checked before a module's events count (bindings.h): two halves as well. */
volatile __u32 bound_first[2 * BATCH_MODULES] =
	{}; /* of its words in the half of the map `bound` */
volatile __u32 bound_count[2 * BATCH_MODULES] = {};
volatile bool by_known_programs[2 * BATCH_MODULES] = {};
volatile bool enabled = false;
volatile bool closing = false; /* for good */
volatile __u32 generation = 0; /* of the probes in use: those of another are of no effect */
volatile __u64 enabled_boot_ns = ~0ull; /* after that: tasks older than this ran before */
volatile __u32 adopt_pid = 0;		/* for adopt(): in the collector's own pid namespace */
volatile bool adopt_running = false;

/* Read by the collector. */
struct batch_counters counters = {};
volatile __u32 adopted = 0;
volatile __u32 stop_pending = 0;

static __always_inline void count(__u64 *counter)
{
	__sync_fetch_and_add(counter, 1);
}

#endif

// SPDX-License-Identifier: LGPL-2.1-or-later
/* probes.c: loads bpf/witness.bpf.c, fills its tables and attaches it. */
#include "user/kernel/probes.h"

#include "user/kernel/bound_table.h"
#include "user/kernel/probe_limits.h"
#include "user/kernel/probe_links.h"
#include "user/kernel/probe_tables.h"
#include "user/kernel/scope.h"

#include "bpf/witness.skel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(DESC_CFA_BP == PUGMARK_CFA_BP && DESC_RET == PUGMARK_CAPTURE_RET &&
		       DESC_FLAGS == PUGMARK_CAPTURE_FLAGS &&
		       DESC_TARGET == PUGMARK_CAPTURE_TARGET &&
		       DESC_SNAPSHOT == PUGMARK_CAPTURE_SNAPSHOT &&
		       DESC_STACK == PUGMARK_CAPTURE_STACK &&
		       DESC_IF_AGAIN == PUGMARK_CAPTURE_IF_AGAIN &&
		       DESC_BELOW == PUGMARK_CAPTURE_BELOW &&
		       DESC_READS_ARGS == PUGMARK_READS_ARGS &&
		       DESC_READS_RESULT == PUGMARK_READS_RESULT &&
		       DESC_AT_CALL > PUGMARK_CAPTURE_STACK && DESC_CFA_REG >= PUGMARK_CFA_BP,
	       "protocol.h repeats plan.h for the BPF programs");

struct probes {
	struct witness_bpf *skel;
	struct probe_links links;
	struct bpf_link *adopt, *stop;
	struct bpf_link **patched; /* of the runtimes of patched processes, heap */
	uint32_t n_patched;
	struct probe_tables tables;
	struct bound_table bound;
	uint64_t changed_ns;
	bool paused; /* the next generation is in use, and has no probes yet */
	bool in_first_namespace;
};

/* Whether pids are here what they are for the kernel: the inode of the first pid namespace is the
 * same everywhere (PROC_PID_INIT_INO, since Linux 3.8). */
static bool in_first_namespace(void)
{
	enum { FIRST_PID_NAMESPACE = 0xeffffffc };
	struct stat st;

	return !stat("/proc/self/ns/pid", &st) && st.st_ino == FIRST_PID_NAMESPACE;
}

static int quiet_print(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level, (void)format, (void)args;
	return 0;
}

static uint64_t time_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static int load_failed(int err, struct pugmark_diag *diag)
{
	if (err == -EPERM || err == -EACCES)
		return pugmark_diag_set(diag, err, NULL, PUGMARK_NO_OFFSET,
					"not allowed to load BPF programs: CAP_BPF and CAP_PERFMON "
					"are needed (or root; `pugmark doctor` has details)");
	if (err == -ESRCH || err == -ENOENT || err == -EOPNOTSUPP)
		return pugmark_diag_set(diag, -ENOTSUP, NULL, PUGMARK_NO_OFFSET,
					"this kernel lacks BTF or a BPF feature (see `pugmark "
					"doctor`): %s",
					strerror(-err));
	return pugmark_diag_set(diag, err, NULL, PUGMARK_NO_OFFSET,
				"loading the BPF programs: %s%s", strerror(-err),
				err == -EMFILE ? "" : " (see `pugmark doctor`)");
}

/* What the programs are told before they are loaded. */
static void configure(struct probes *p, const struct recorder_options *options, int cgroup_fd,
		      uint32_t pid_namespace)
{
	struct witness_bpf *skel = p->skel;
	struct stat cgroup;

	skel->rodata->with_times = options->time_unit_ns != 0;
	skel->rodata->with_costs = options->max_overhead > 0;
	skel->rodata->trace_all = options->all;
	skel->rodata->follow = !options->no_follow;
	if (cgroup_fd >= 0 && !fstat(cgroup_fd, &cgroup))
		skel->rodata->in_cgroup = cgroup.st_ino;
	skel->rodata->in_pid_namespace = pid_namespace;
	for (uint32_t i = 0; i < options->n_program_fds && i < KNOWN_PROGRAMS; i++) {
		skel->rodata->known_program_fds[i] = options->program_fds[i];
		skel->rodata->n_known_programs = i + 1;
	}
	if (!p->links.multi)
		bpf_program__set_expected_attach_type(skel->progs.witness, 0);
	if (!p->links.multi || !options->carrier)
		bpf_program__set_autoload(skel->progs.witness_patched, false);
	if (!options->carrier || !options->time_unit_ns)
		bpf_program__set_autoload(skel->progs.on_switch, false);
	bpf_program__set_autoattach(skel->progs.witness, false);
	bpf_program__set_autoattach(skel->progs.witness_patched, false);
	bpf_program__set_autoattach(skel->progs.adopt, false);
	bpf_program__set_autoattach(skel->progs.stop, false);
	if (libbpf_find_vmlinux_btf_id("sched_prepare_exec", BPF_TRACE_RAW_TP) <= 0)
		bpf_program__set_autoload(skel->progs.on_prepare_exec, false);
}

/* How much room the tables have: after what is traced is known, and before anything is loaded. */
static int make_room(struct probes *p, const struct recorder_options *options,
		     const struct text_span *spans, struct pugmark_diag *diag)
{
	p->tables.sites = p->skel->maps.sites;
	p->tables.operands = p->skel->maps.operands;
	p->tables.returns = p->skel->maps.returns;
	p->tables.arg_reads = p->skel->maps.arg_reads;
	p->bound.map = p->skel->maps.bound;
	int err = probe_tables_add_modules(&p->tables, options, spans, diag);
	if (!err)
		err = bound_table_size(&p->bound, options, spans, diag);
	if (err)
		return err;
	probe_tables_size(&p->tables, options);
	p->skel->rodata->half_sites = p->tables.max_sites;
	p->skel->rodata->half_returns = p->tables.max_words;
	p->skel->rodata->half_bound = p->bound.max;
	if (options->ring_bytes)
		bpf_map__set_max_entries(p->skel->maps.events, options->ring_bytes);
	return 0;
}

/* Tells the programs what the tables know of the modules. */
static void tell_modules(struct probes *p)
{
	const struct probe_tables *t = &p->tables;

	for (uint32_t m = 0; m < t->n_modules; m++) {
		p->skel->bss->module_bytes[m] = t->spans[m].end - t->spans[m].addr;
		p->skel->bss->returns_first[m] = t->returns_first[m];
		p->skel->bss->goid_at[m] = t->goid_at[m];
	}
	__atomic_store_n(&p->skel->bss->n_modules, t->n_modules, __ATOMIC_SEQ_CST);
}

/* The half of the tables that is @generation's. */
static int fill(struct probes *p, const struct recorder_options *options, uint32_t generation,
		struct pugmark_diag *diag)
{
	uint32_t first = (generation & 1) * BATCH_MODULES;
	int err = probe_tables_fill(&p->tables, options, generation, diag);

	if (!err)
		err = bound_table_fill(&p->bound, options, p->tables.spans, generation, diag);
	for (uint32_t m = 0; !err && m < options->n_modules; m++) {
		p->skel->bss->bound_first[first + m] = p->bound.first[m];
		p->skel->bss->bound_count[first + m] = p->bound.count[m];
		p->skel->bss->by_known_programs[first + m] = p->bound.by_known_programs[m];
	}
	return err;
}

/* Loads, and fills the maps. */
static int load(struct probes *p, const struct recorder_options *options, int cgroup_fd,
		struct pugmark_diag *diag)
{
	int err = witness_bpf__load(p->skel);

	if (!err && cgroup_fd >= 0 &&
	    bpf_map_update_elem(bpf_map__fd(p->skel->maps.cgroups), &(uint32_t){0}, &cgroup_fd,
				BPF_ANY))
		err = -errno;
	if (err)
		return load_failed(err, diag);
	tell_modules(p);
	return fill(p, options, 0, diag);
}

int probes_load(const struct recorder_options *options, const struct text_span *spans,
		struct probes **out, struct pugmark_diag *diag)
{
	int cgroup_fd = -1;
	uint32_t pid_namespace = 0;
	int err = probe_limits_check(options, diag);

	if (!err && options->pid_namespace)
		err = scope_pid_namespace(options->pid_namespace, &pid_namespace, diag);
	if (!err && options->cgroup)
		err = scope_cgroup_open(options->cgroup, &cgroup_fd, diag);
	if (err)
		return err;
	if (!getenv("PUGMARK_LIBBPF_LOG"))
		libbpf_set_print(quiet_print);
	struct probes *p = calloc(1, sizeof(*p));
	if (p) {
		p->in_first_namespace = in_first_namespace();
		p->skel = witness_bpf__open();
	}
	if (p && p->skel) {
		p->links.program = p->skel->progs.witness;
		p->links.multi = probe_limits_have_multi() > 0;
		configure(p, options, cgroup_fd, pid_namespace);
		err = make_room(p, options, spans, diag);
		if (!err)
			err = load(p, options, cgroup_fd, diag);
	} else {
		err = load_failed(p ? -errno : -ENOMEM, diag);
	}
	if (cgroup_fd >= 0)
		close(cgroup_fd);
	if (err) {
		probes_free(p);
		return err;
	}
	*out = p;
	return 0;
}

int probes_iterate(const struct bpf_link *link)
{
	char buf[64];
	int fd = bpf_iter_create(bpf_link__fd(link));
	ssize_t n;

	if (fd < 0)
		return -errno;
	do
		n = read(fd, buf, sizeof(buf));
	while (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)));
	int err = n < 0 ? -errno : 0;
	close(fd);
	return err;
}

double probes_removing_s(struct probes *p, const struct recorder_options *options)
{
	uint32_t n = probe_links_first_site(options, options->n_modules);

	if (p->links.multi || probe_limits_without_multi(n, NULL))
		return 0;
	return n * probe_links_try_removing(&p->links, options);
}

int probes_attach(struct probes *p, const struct recorder_options *options, bool later,
		  struct pugmark_diag *diag)
{
	int err = witness_bpf__attach(p->skel);

	if (!err) {
		p->adopt = bpf_program__attach_iter(p->skel->progs.adopt, NULL);
		p->stop = bpf_program__attach_iter(p->skel->progs.stop, NULL);
		err = !p->adopt || !p->stop ? -errno : probes_iterate(p->adopt);
	}
	if (err)
		return load_failed(err, diag);
	if (!p->links.multi) {
		err = probe_limits_without_multi(
			probe_links_first_site(options, options->n_modules), diag);
		if (err)
			return err;
	}
	return later ? 0 : probes_place(p, options, NULL, false, diag);
}

int probes_place(struct probes *p, const struct recorder_options *options, const bool *only,
		 bool value, struct pugmark_diag *diag)
{
	return probe_links_place(&p->links, options, probes_generation(p), only, value, diag);
}

void probes_unplace(struct probes *p)
{
	probe_links_remove(&p->links, 0, p->links.n);
}

int probes_attach_patched(struct probes *p, const char *path, const unsigned long *offsets,
			  const __u64 *cookies, uint32_t n)
{
	LIBBPF_OPTS(bpf_uprobe_multi_opts, opts, .offsets = offsets, .cookies = cookies, .cnt = n);
	struct bpf_link **grown = realloc(p->patched, (p->n_patched + 1) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	p->patched = grown;
	if (!p->links.multi)
		return -ENOTSUP;
	struct bpf_link *link = bpf_program__attach_uprobe_multi(p->skel->progs.witness_patched, -1,
								 path, NULL, &opts);
	if (!link)
		return -errno;
	p->patched[p->n_patched++] = link;
	return 0;
}

int probes_adopt(struct probes *p, pid_t pid, bool running, struct pugmark_diag *diag)
{
	uint32_t before = p->skel->bss->adopted;

	p->skel->bss->adopt_pid = pid;
	p->skel->bss->adopt_running = running;
	int err = probes_iterate(p->adopt);
	p->skel->bss->adopt_pid = 0;
	if (err)
		return pugmark_diag_set(diag, err, NULL, PUGMARK_NO_OFFSET,
					"looking for process %d: %s", pid, strerror(-err));
	if (p->skel->bss->adopted == before)
		return pugmark_diag_set(diag, -ESRCH, NULL, PUGMARK_NO_OFFSET, "no process %d",
					pid);
	return p->skel->bss->adopted - before;
}

void probes_enable(struct probes *p)
{
	__atomic_store_n(&p->skel->bss->enabled, true, __ATOMIC_SEQ_CST);
	__atomic_store_n(&p->skel->data->enabled_boot_ns, time_ns(CLOCK_BOOTTIME),
			 __ATOMIC_SEQ_CST);
}

void probes_disable(struct probes *p)
{
	__atomic_store_n(&p->skel->bss->enabled, false, __ATOMIC_SEQ_CST);
}

uint32_t probes_generation(const struct probes *p)
{
	return p->skel->bss->generation;
}

void probes_pause(struct probes *p)
{
	if (p->paused)
		return;
	p->changed_ns = time_ns(CLOCK_MONOTONIC);
	__atomic_store_n(&p->skel->bss->enabled, false, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&p->skel->bss->generation, 1, __ATOMIC_SEQ_CST);
	p->paused = true;
	probe_links_remove(&p->links, 0, p->links.n);
}

int probes_change(struct probes *p, const struct recorder_options *options,
		  const struct text_span *spans, struct pugmark_diag *diag)
{
	uint32_t n_old = p->links.n;
	uint32_t next = p->skel->bss->generation + !p->paused;
	int err = probe_limits_check(options, diag);

	if (!err)
		err = probe_tables_add_modules(&p->tables, options, spans, diag);
	if (!err)
		err = fill(p, options, next, diag);
	if (!err) {
		tell_modules(p);
		err = probe_links_place(&p->links, options, next, NULL, false, diag);
	}
	if (err) {
		probe_links_remove(&p->links, n_old, p->links.n - n_old);
		return err;
	}
	p->changed_ns = time_ns(CLOCK_MONOTONIC);
	__atomic_store_n(&p->skel->bss->generation, next, __ATOMIC_SEQ_CST);
	__atomic_store_n(&p->skel->bss->enabled, true, __ATOMIC_SEQ_CST);
	p->paused = false;
	probe_links_remove(&p->links, 0, n_old);
	return 0;
}

uint64_t probes_changed_ns(const struct probes *p)
{
	return p->changed_ns;
}

bool probes_tracks(const struct probes *p, pid_t pid)
{
	int fd = bpf_map__fd(p->skel->maps.tracked);
	uint32_t key = (uint32_t)pid, *last = NULL;
	int32_t tracked;

	/* Every mapping of a file on the machine asks, and to walk the table takes a tenth of a
	 * millisecond. */
	if (p->in_first_namespace)
		return !bpf_map_lookup_elem(fd, &key, &tracked);
	for (; !bpf_map_get_next_key(fd, last, &key); last = &key)
		if (!bpf_map_lookup_elem(fd, &key, &tracked) && tracked == pid)
			return true;
	return false;
}

struct program_ns probes_program_ns(const struct probes *p)
{
	const volatile struct batch_counters *k = probes_counters(p);
	struct bpf_prog_info info = {0};
	struct program_ns ns = {0};
	uint32_t len = sizeof(info);

	if (bpf_obj_get_info_by_fd(bpf_program__fd(p->skel->progs.witness), &info, &len) ||
	    !info.run_cnt)
		return ns;
	uint64_t stacks_ns = k->stacks_ns, stacks = k->stacks;
	if (info.run_time_ns > stacks_ns)
		ns.hit = (double)(info.run_time_ns - stacks_ns) / info.run_cnt;
	if (stacks)
		ns.stack = (double)stacks_ns / stacks;
	return ns;
}

void probes_stop(struct probes *p)
{
	if (!p->skel->bss || p->skel->bss->closing)
		return;
	__atomic_store_n(&p->skel->bss->closing, true, __ATOMIC_SEQ_CST);
	__atomic_store_n(&p->skel->bss->enabled, false, __ATOMIC_SEQ_CST);
	probe_links_remove(&p->links, 0, p->links.n);
	/* This ends: each round has room for the records for which the one before had none. */
	for (int round = 0; round < 1000; round++) {
		p->skel->bss->stop_pending = 0;
		if (probes_iterate(p->stop) || !p->skel->bss->stop_pending)
			return;
		usleep(2000);
	}
}

void probes_free(struct probes *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; i < p->n_patched; i++)
		bpf_link__destroy(p->patched[i]);
	free(p->patched);
	probe_links_deinit(&p->links);
	bpf_link__destroy(p->adopt);
	bpf_link__destroy(p->stop);
	witness_bpf__destroy(p->skel);
	free(p);
}

int probes_events_fd(const struct probes *p)
{
	return bpf_map__fd(p->skel->maps.events);
}

int probes_process_fd(const struct probes *p)
{
	return bpf_map__fd(p->skel->maps.process);
}

int probes_tasks_fd(const struct probes *p)
{
	return bpf_map__fd(p->skel->maps.tasks);
}

const volatile struct batch_counters *probes_counters(const struct probes *p)
{
	return &p->skel->bss->counters;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* capture_programs.c: see capture_programs.h. */
#include "user/values/record/capture_programs.h"

#include "user/kernel/probes.h"

#include "offline/base/varint.h"
#include "offline/capture/syscalls.h"

#include <linux/types.h>

#include "offline/capture/call_area.h"
#include "user/values/calls/call_code.h"

#include "bpf/protocol.h"

#include "bpf/values.skel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { HIT_OFTEN = 256 };

struct capture_programs {
	struct values_bpf *skel;
	const struct capture_plan *plan; /* borrowed, as the modules */
	const struct recorder_module *modules;
	struct bpf_link **links;   /* one a module */
	struct bpf_link *calls[2]; /* of stubs */
	uint32_t n_links, n_modules;
	bool *unwatched;		 /* of each place */
	const struct capture_hits *hits; /* the kernel's own, of each place */
};

static size_t hits_bytes(const struct capture_programs *p)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t bytes = bpf_map__max_entries(p->skel->maps.hits) * sizeof(*p->hits);

	return (bytes + page - 1) / page * page;
}

static int map_hits(struct capture_programs *p)
{
	void *hits = mmap(NULL, hits_bytes(p), PROT_READ, MAP_SHARED,
			  bpf_map__fd(p->skel->maps.hits), 0);

	if (hits == MAP_FAILED)
		return -errno;
	p->hits = hits;
	return 0;
}

static int failed(int err, const char *what, struct pugmark_diag *diag)
{
	return pugmark_diag_set(diag, err, NULL, PUGMARK_NO_OFFSET, "%s: %s", what, strerror(-err));
}

static int fill(struct capture_programs *p, const struct capture_plan *plan)
{
	int places = bpf_map__fd(p->skel->maps.places),
	    outputs = bpf_map__fd(p->skel->maps.outputs);
	int syscalls = bpf_map__fd(p->skel->maps.syscalls), err = 0;
	struct capture_syscall *rows = calloc(CAPTURE_MAX_SYSCALLS, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	for (uint32_t i = 0; !err && i < plan->places.n; i++)
		err = bpf_map_update_elem(places, &i, &plan->places.at[i].desc, BPF_ANY);
	for (uint32_t i = 0; !err && i < plan->places.n_outputs; i++)
		err = bpf_map_update_elem(outputs, &i, &plan->places.outputs[i], BPF_ANY);
	syscalls_table(rows);
	for (uint32_t i = 0; !err && i < CAPTURE_MAX_SYSCALLS; i++)
		err = bpf_map_update_elem(syscalls, &i, &rows[i], BPF_ANY);
	free(rows);
	return err ? -errno : 0;
}

int capture_programs_load(const struct recorder_options *options, const struct text_span *spans,
			  int tasks_fd, struct capture_programs **out, struct pugmark_diag *diag)
{
	const struct capture_plan *plan = options->captures;
	const uint32_t n_spans = options->n_modules;
	struct capture_programs *p = calloc(1, sizeof(*p));
	int err = -ENOMEM;

	if (p && (p->links = calloc(n_spans + 1, sizeof(struct bpf_link *))) &&
	    (p->unwatched = calloc(plan->places.n + (size_t)1, sizeof(*p->unwatched))))
		err = (p->skel = values_bpf__open()) ? 0 : -errno;
	if (!err)
		err = bpf_map__reuse_fd(p->skel->maps.tasks, tasks_fd);
	if (!err) {
		struct values_bpf *s = p->skel;

		bpf_map__set_max_entries(s->maps.places, plan->places.n ? plan->places.n : 1);
		bpf_map__set_max_entries(s->maps.hits, plan->places.n ? plan->places.n : 1);
		bpf_map__set_max_entries(s->maps.outputs,
					 plan->places.n_outputs ? plan->places.n_outputs : 1);
		bpf_map__set_max_entries(s->maps.captures, options->capture_ring_bytes);
		s->rodata->redacting = options->n_redact;
		s->rodata->noting_switches = options->one_processor;
		s->rodata->noting_surroundings = !options->n_redact && !options->no_memory;
		bpf_program__set_autoload(s->progs.on_switch_values, options->one_processor);
		/* That of the witnesses has all events. */
		bpf_map__set_max_entries(s->maps.events, 4096);
		bpf_program__set_autoattach(s->progs.capture, false);
		bpf_program__set_autoattach(s->progs.call_begin, false);
		bpf_program__set_autoattach(s->progs.call_over, false);
		/* capture_programs_hooks(), capture_programs_calls() */
		bpf_program__set_autoattach(s->progs.on_sys_enter, !options->stubs);
		bpf_program__set_autoattach(s->progs.on_sys_exit, !options->stubs);
		err = values_bpf__load(s);
	}
	if (!err) {
		const uint32_t max =
			sizeof(p->skel->bss->text_bytes) / sizeof(*p->skel->bss->text_bytes);

		p->n_modules = n_spans;
		for (uint32_t m = 0; m < n_spans && m < max; m++)
			p->skel->bss->text_bytes[m] = spans[m].end - spans[m].addr;
		err = fill(p, plan);
	}
	if (!err)
		err = map_hits(p);
	if (err) {
		failed(err, "loading the BPF programs of level values", diag);
		capture_programs_free(p);
		return err;
	}
	*out = p;
	return 0;
}

/* Places @first to @end, which are those of @module, but for those that are @unwatched. */
static int attach_module(struct capture_programs *p, uint32_t first, uint32_t end,
			 uint32_t generation, const struct recorder_module *module,
			 const bool *unwatched, struct bpf_link **out)
{
	unsigned long *offsets = calloc(end - first, sizeof(*offsets));
	__u64 *cookies = calloc(end - first, sizeof(*cookies));
	uint32_t n = 0;
	int err = offsets && cookies ? 0 : -ENOMEM;

	*out = NULL;
	for (uint32_t i = first; !err && i < end; i++) {
		if (unwatched[i])
			continue;
		offsets[n] = p->plan->places.at[i].off_file;
		cookies[n++] = i | (__u64)generation << 32;
	}
	if (!err && n) {
		LIBBPF_OPTS(bpf_uprobe_multi_opts, opts, .cnt = n, .offsets = offsets,
			    .cookies = cookies);
		*out = bpf_program__attach_uprobe_multi(p->skel->progs.capture, -1, module->path,
							NULL, &opts);
		err = *out ? 0 : -errno;
	}
	free(offsets);
	free(cookies);
	return err;
}

static void destroy(struct bpf_link **links, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		bpf_link__destroy(links[i]);
	free(links);
}

/* Links for all modules to @links, which has room, without the places that are @unwatched. Returns
 * how many; else -errno, and *@module and *@n say where. */
static int attach_all(struct capture_programs *p, uint32_t generation, const bool *unwatched,
		      struct bpf_link **links, uint32_t *module, uint32_t *n)
{
	const struct place_list *places = &p->plan->places;
	int n_links = 0;

	for (uint32_t i = 0, k; i < places->n; i = k) {
		uint32_t m = places->at[i].desc.module;

		for (k = i; k < places->n && places->at[k].desc.module == m;)
			k++;
		int err = attach_module(p, i, k, generation, &p->modules[m], unwatched,
					&links[n_links]);
		if (err) {
			while (n_links)
				bpf_link__destroy(links[--n_links]);
			*module = m;
			*n = k - i;
			return err;
		}
		n_links += links[n_links] != NULL;
	}
	return n_links;
}

int capture_programs_attach(struct capture_programs *p, const struct capture_plan *plan,
			    const struct recorder_module *modules, struct pugmark_diag *diag)
{
	int err = values_bpf__attach(p->skel);
	uint32_t module = 0, n = 0;

	if (err)
		return failed(err, "attaching to system calls and signals", diag);
	p->plan = plan;
	p->modules = modules;
	err = attach_all(p, 0, p->unwatched, p->links, &module, &n);
	if (err < 0)
		return pugmark_diag_set(diag, err, modules[module].path, PUGMARK_NO_OFFSET,
					"placing %u probes of level values: %s", n,
					err == -EOPNOTSUPP || err == -EINVAL
						? "this kernel has no uprobe_multi (6.6 has)"
						: strerror(-err));
	p->n_links = (uint32_t)err;
	return 0;
}

int capture_programs_hooks(struct capture_programs *p)
{
	struct values_bpf *s = p->skel;

	if (!(s->links.on_sys_exit = bpf_program__attach(s->progs.on_sys_exit)))
		return -errno;
	return (s->links.on_sys_enter = bpf_program__attach(s->progs.on_sys_enter)) ? 0 : -errno;
}

static int attach_stubs(struct capture_programs *p, const struct call_patches *patches, int which)
{
	struct bpf_program *programs[] = {p->skel->progs.call_begin, p->skel->progs.call_over};
	unsigned long *offsets = calloc(patches->n, sizeof(*offsets));
	__u64 *cookies = calloc(patches->n, sizeof(*cookies));
	char path[32];
	int err = offsets && cookies ? 0 : -ENOMEM;

	for (uint32_t i = 0; !err && i < patches->n; i++) {
		offsets[i] = CALL_STUBS + (unsigned long)i * CALL_STUB_BYTES +
			     (which ? CALL_SLOW_OVER : CALL_SLOW);
		cookies[i] = (uint32_t)patches->sites[i].number;
	}
	LIBBPF_OPTS(bpf_uprobe_multi_opts, opts, .cnt = patches->n, .offsets = offsets,
		    .cookies = cookies);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", patches->code_fd);
	if (!err && !(p->calls[which] = bpf_program__attach_uprobe_multi(programs[which], -1, path,
									 NULL, &opts)))
		err = -errno;
	free(offsets);
	free(cookies);
	return err;
}

int capture_programs_calls(struct capture_programs *p, const struct call_patches *patches)
{
	struct values_bpf *s = p->skel;

	s->bss->call_zones = call_code_places.zones;
	s->bss->call_code = patches->code;
	s->bss->call_code_end = patches->code_end;
	s->bss->call_kinds = patches->kinds;
	s->bss->call_restore = patches->restore;
	s->bss->call_local = patches->local;
	s->bss->call_shared = patches->shared;
	s->bss->call_lanes = patches->lanes;
	int err = attach_stubs(p, patches, 0);
	err = err ? err : attach_stubs(p, patches, 1);
	if (err)
		capture_programs_no_calls(p);
	return err;
}

void capture_programs_no_calls(struct capture_programs *p)
{
	for (int i = 0; i < 2; i++) {
		bpf_link__destroy(p->calls[i]);
		p->calls[i] = NULL;
	}
	p->skel->bss->call_code = p->skel->bss->call_shared = p->skel->bss->call_lanes = 0;
}

/* Whether what the probe there tells follows from what else is recorded. */
static bool follows(const struct capture_programs *p, const struct capture_desc *d,
		    const struct capture_hits *hits, bool has_no_vdso)
{
	const uint8_t of_calls = ROLE_RESULT | ROLE_CALL | ROLE_TAIL | ROLE_ERRNO | ROLE_RDX;
	bool only = !(d->roles & ~(of_calls | ROLE_ENTER));

	return only && !hits->alone && (has_no_vdso || !d->asks_time) &&
	       (!p->skel->bss->makes_code || !(d->roles & ROLE_RESULT));
}

/* Adds to @unwatched the places whose probes cost much and tell what follows. Returns whether there
 * are new ones. */
static bool find_unwatched(const struct capture_programs *p, bool has_no_vdso, bool *unwatched)
{
	const struct place_list *places = &p->plan->places;
	bool any = false;

	for (uint32_t i = 0; i < places->n; i++) {
		struct capture_hits hits = *(const volatile struct capture_hits *)&p->hits[i];

		if (unwatched[i] || hits.n < HIT_OFTEN ||
		    !follows(p, &places->at[i].desc, &hits, has_no_vdso))
			continue;
		any = unwatched[i] = true;
	}
	return any;
}

bool capture_programs_thin(struct capture_programs *p, bool has_no_vdso)
{
	uint32_t generation = p->skel->bss->capture_generation + 1, module, n;
	const size_t n_places = p->plan->places.n + (size_t)1;
	struct bpf_link **links = calloc(p->n_modules + (size_t)1, sizeof(struct bpf_link *)),
			**old;
	bool *unwatched = malloc(n_places);

	if (unwatched)
		memcpy(unwatched, p->unwatched, n_places);
	int n_links = -ENOMEM;
	if (links && unwatched && find_unwatched(p, has_no_vdso, unwatched))
		n_links = attach_all(p, generation, unwatched, links, &module, &n);
	if (n_links < 0) { /* there are none, or it stays as dear as it is up to the next try */
		free(links);
		free(unwatched);
		return false;
	}
	memcpy(p->unwatched, unwatched, n_places);
	free(unwatched);
	__atomic_store_n(&p->skel->bss->capture_generation, generation, __ATOMIC_SEQ_CST);
	old = p->links;
	n = p->n_links;
	p->links = links;
	p->n_links = (uint32_t)n_links;
	destroy(old, n);
	return true;
}

bool capture_programs_thinned(const struct capture_programs *p, uint32_t place)
{
	return p->unwatched[place];
}

void capture_programs_code(struct capture_programs *p)
{
	p->skel->bss->makes_code = true;
}

void capture_programs_clocks(struct capture_programs *p, uint64_t area)
{
	__atomic_store_n(&p->skel->bss->clock_area, area, __ATOMIC_SEQ_CST);
}

void capture_programs_enable(struct capture_programs *p, bool enabled)
{
	__atomic_store_n(&p->skel->bss->capturing, enabled, __ATOMIC_SEQ_CST);
}

int capture_programs_end(struct capture_programs *p)
{
	/* Programs that had begun to capture are over by then: they run as readers of RCU, and the
	 * kernel waits for all of these (synchronize_rcu()), but on a machine with nohz_full. */
	enum { BEGUN_US = 2000 };
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		usleep(BEGUN_US);
	return probes_iterate(p->skel->links.end_values);
}

int task_number_of(const struct task_number *tasks, uint32_t n, pid_t tid, uint32_t *out)
{
	for (uint32_t i = 0; i < n; i++)
		if ((pid_t)tasks[i].tid == tid) {
			*out = tasks[i].task;
			return 0;
		}
	return -ESRCH;
}

int capture_programs_tasks(const struct capture_programs *p, struct task_number **out, uint32_t *n)
{
	enum { ROOM = 1 << 16 };
	int fd = bpf_iter_create(bpf_link__fd(p->skel->links.numbers)), err = 0;
	struct bytes all = {0};
	ssize_t got = 1;

	if (fd < 0)
		return -errno;
	while (!err && got) {
		if (!bytes_reserve(&all, ROOM))
			err = -ENOMEM;
		else if ((got = read(fd, all.data + all.len, ROOM)) > 0)
			all.len += (size_t)got;
		else if (got && errno != EAGAIN && errno != EINTR)
			err = -errno;
	}
	close(fd);
	if (err) {
		bytes_deinit(&all);
		return err;
	}
	*out = (struct task_number *)all.data;
	*n = (uint32_t)(all.len / sizeof(**out));
	return 0;
}

int capture_programs_ring_fd(const struct capture_programs *p)
{
	return bpf_map__fd(p->skel->maps.captures);
}

void capture_programs_counters(const struct capture_programs *p, struct capture_counters *out)
{
	*out = p->skel->bss->capture_counters;
}

void capture_programs_free(struct capture_programs *p)
{
	if (!p)
		return;
	for (int i = 0; i < 2; i++)
		bpf_link__destroy(p->calls[i]);
	destroy(p->links, p->n_links);
	free(p->unwatched);
	if (p->hits)
		munmap((void *)p->hits, hits_bytes(p));
	if (p->skel)
		values_bpf__destroy(p->skel);
	free(p);
}

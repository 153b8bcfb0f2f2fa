// SPDX-License-Identifier: LGPL-2.1-or-later
/* capture_programs.c: see capture_programs.h. */
#include "user/values/write/capture_programs.h"

#include "offline/capture/syscalls.h"

#include <linux/types.h>

#include "bpf/protocol.h"

#include "bpf/values.skel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct capture_programs {
	struct values_bpf *skel;
	struct bpf_link **links; /* one a module */
	uint32_t n_links;
};

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

	if (p && (p->links = calloc(n_spans + 1, sizeof(struct bpf_link *))))
		err = (p->skel = values_bpf__open()) ? 0 : -errno;
	if (!err)
		err = bpf_map__reuse_fd(p->skel->maps.tasks, tasks_fd);
	if (!err) {
		struct values_bpf *s = p->skel;

		bpf_map__set_max_entries(s->maps.places, plan->places.n ? plan->places.n : 1);
		bpf_map__set_max_entries(s->maps.outputs,
					 plan->places.n_outputs ? plan->places.n_outputs : 1);
		bpf_map__set_max_entries(s->maps.captures, options->capture_ring_bytes);
		s->rodata->redacting = options->n_redact;
		/* That of the witnesses has all events. */
		bpf_map__set_max_entries(s->maps.events, 4096);
		bpf_program__set_autoattach(s->progs.capture, false);
		err = values_bpf__load(s);
	}
	if (!err) {
		const uint32_t max =
			sizeof(p->skel->bss->text_bytes) / sizeof(*p->skel->bss->text_bytes);

		for (uint32_t m = 0; m < n_spans && m < max; m++)
			p->skel->bss->text_bytes[m] = spans[m].end - spans[m].addr;
		err = fill(p, plan);
	}
	if (err) {
		failed(err, "loading the BPF programs of level values", diag);
		capture_programs_free(p);
		return err;
	}
	*out = p;
	return 0;
}

/* Places @first to @end, which are those of @module. */
static int attach_module(struct capture_programs *p, const struct capture_plan *plan,
			 uint32_t first, uint32_t end, const struct recorder_module *module,
			 struct pugmark_diag *diag)
{
	unsigned long *offsets = calloc(end - first, sizeof(*offsets));
	__u64 *cookies = calloc(end - first, sizeof(*cookies));
	struct bpf_link *link = NULL;

	if (offsets && cookies) {
		for (uint32_t i = first; i < end; i++) {
			offsets[i - first] = plan->places.at[i].off_file;
			cookies[i - first] = i;
		}
		LIBBPF_OPTS(bpf_uprobe_multi_opts, opts, .cnt = end - first, .offsets = offsets,
			    .cookies = cookies);
		link = bpf_program__attach_uprobe_multi(p->skel->progs.capture, -1, module->path,
							NULL, &opts);
	}
	int err = link ? 0 : offsets && cookies ? -errno : -ENOMEM;
	free(offsets);
	free(cookies);
	if (err)
		return pugmark_diag_set(diag, err, module->path, PUGMARK_NO_OFFSET,
					"placing %u probes of level values: %s", end - first,
					err == -EOPNOTSUPP || err == -EINVAL
						? "this kernel has no uprobe_multi (6.6 has)"
						: strerror(-err));
	p->links[p->n_links++] = link;
	return 0;
}

int capture_programs_attach(struct capture_programs *p, const struct capture_plan *plan,
			    const struct recorder_module *modules, struct pugmark_diag *diag)
{
	int err = values_bpf__attach(p->skel);

	if (err)
		return failed(err, "attaching to system calls and signals", diag);
	for (uint32_t i = 0, k; !err && i < plan->places.n; i = k) {
		uint32_t m = plan->places.at[i].desc.module;

		for (k = i; k < plan->places.n && plan->places.at[k].desc.module == m;)
			k++;
		err = attach_module(p, plan, i, k, &modules[m], diag);
	}
	return err;
}

void capture_programs_enable(struct capture_programs *p, bool enabled)
{
	__atomic_store_n(&p->skel->bss->capturing, enabled, __ATOMIC_SEQ_CST);
}

int capture_programs_ring_fd(const struct capture_programs *p)
{
	return bpf_map__fd(p->skel->maps.captures);
}

void capture_programs_counters(const struct capture_programs *p, uint64_t *lost,
			       uint64_t *without_task)
{
	*lost = p->skel->bss->capture_counters.lost;
	*without_task = p->skel->bss->capture_counters.without_task;
}

void capture_programs_free(struct capture_programs *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; i < p->n_links; i++)
		bpf_link__destroy(p->links[i]);
	free(p->links);
	if (p->skel)
		values_bpf__destroy(p->skel);
	free(p);
}

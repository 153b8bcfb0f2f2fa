// SPDX-License-Identifier: LGPL-2.1-or-later
/* probe_links.c: see probe_links.h. One uprobe_multi link a module; on kernels before 6.6 one perf
 * event a site. */
#include "user/kernel/probe_links.h"

#include "offline/base/own_nice.h"
#include "user/kernel/site_bytes.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

uint32_t probe_links_first_site(const struct recorder_options *options, uint32_t module)
{
	uint32_t first = 0;

	for (uint32_t m = 0; m < module; m++)
		first += options->modules[m].n_sites;
	return first;
}

static int add_link(struct probe_links *l, struct bpf_link *link)
{
	if (l->n == l->cap) {
		uint32_t cap = l->cap ? 2 * l->cap : 16;
		struct bpf_link **links = realloc(l->at, cap * sizeof(*links));

		if (!links)
			return -ENOMEM;
		l->at = links;
		l->cap = cap;
	}
	l->at[l->n++] = link;
	return 0;
}

static int attach_failed(int err, const struct recorder_module *mod, uint64_t off,
			 struct pugmark_diag *diag)
{
	if (err == -EPERM || err == -EACCES)
		return pugmark_diag_set(diag, err, mod->path, off,
					"not allowed to place probes (see: pugmark doctor)");
	if (err == -524) /* ENOTSUPP */
		return pugmark_diag_set(diag, -ENOTSUP, mod->path, off,
					"the kernel refuses a probe on one of these instructions");
	return pugmark_diag_set(diag, err, mod->path, off, "placing %u probes: %s", mod->n_sites,
				strerror(-err));
}

/* Of which sites probes are placed: probe_links_place(). */
struct choice {
	const bool *only;
	bool value;
};

static bool is_chosen(const struct choice *choice, uint64_t cookie)
{
	return !choice->only || choice->only[(uint32_t)cookie] == choice->value;
}

/* @first: the cookie of the module's first site. */
static int attach_multi(struct probe_links *l, const struct recorder_module *mod, uint64_t first,
			const struct choice *choice, struct pugmark_diag *diag)
{
	unsigned long *offsets = malloc(mod->n_sites * sizeof(*offsets));
	__u64 *cookies = malloc(mod->n_sites * sizeof(*cookies));
	struct bpf_link *link = NULL;
	uint32_t n = 0;
	int err = -ENOMEM;

	if (offsets && cookies) {
		for (uint32_t i = 0; i < mod->n_sites; i++) {
			if (mod->sites[i].elsewhere || !is_chosen(choice, first + i))
				continue;
			offsets[n] = mod->sites[i].off_file;
			cookies[n++] = first + i;
		}
		LIBBPF_OPTS(bpf_uprobe_multi_opts, opts, .cnt = n, .offsets = offsets,
			    .cookies = cookies);
		link = n ? bpf_program__attach_uprobe_multi(l->program, -1, mod->path, NULL, &opts)
			 : NULL;
		err = link ? add_link(l, link) : n ? -errno : 0;
		if (err && link)
			bpf_link__destroy(link);
	}
	free(offsets);
	free(cookies);
	return err ? attach_failed(err, mod, PUGMARK_NO_OFFSET, diag) : 0;
}

static int attach_perf(struct probe_links *l, const struct recorder_module *mod, uint64_t first,
		       const struct choice *choice, struct pugmark_diag *diag)
{
	for (uint32_t i = 0; i < mod->n_sites; i++) {
		if (mod->sites[i].elsewhere || !is_chosen(choice, first + i))
			continue;
		LIBBPF_OPTS(bpf_uprobe_opts, opts, .bpf_cookie = first + i);
		struct bpf_link *link = bpf_program__attach_uprobe_opts(
			l->program, -1, mod->path, mod->sites[i].off_file, &opts);
		int err = link ? add_link(l, link) : -errno;

		if (err)
			return attach_failed(err, mod, mod->sites[i].off_file, diag);
	}
	return 0;
}

double probe_links_try_removing(struct probe_links *l, const struct recorder_options *options)
{
	const struct recorder_module *mod = options->modules;
	struct timespec before, after;

	while (mod < options->modules + options->n_modules && !mod->n_sites)
		mod++;
	if (mod == options->modules + options->n_modules)
		return 0;
	struct bpf_link *link = bpf_program__attach_uprobe_opts(l->program, -1, mod->path,
								mod->sites[0].off_file, NULL);
	if (!link)
		return 0;
	clock_gettime(CLOCK_MONOTONIC, &before);
	bpf_link__destroy(link);
	clock_gettime(CLOCK_MONOTONIC, &after);
	return (after.tv_sec - before.tv_sec) + (after.tv_nsec - before.tv_nsec) / 1e9;
}

int probe_links_place(struct probe_links *l, const struct recorder_options *options,
		      uint32_t generation, const bool *only, bool value, struct pugmark_diag *diag)
{
	const struct choice choice = {only, value};

	for (uint32_t m = 0; m < options->n_modules; m++) {
		const struct recorder_module *mod = &options->modules[m];

		if (!mod->n_sites)
			continue;
		uint64_t first = (uint64_t)generation << 32 | probe_links_first_site(options, m);
		int err = site_bytes_check(mod, diag);
		if (err)
			return err;
		/* The kernel places probes in our name, a few microseconds for each one and
		 * process, and the traced programs pay for those that are only half placed. */
		int nice = own_nice_first();
		err = l->multi ? attach_multi(l, mod, first, &choice, diag)
			       : attach_perf(l, mod, first, &choice, diag);
		own_nice_put_back(nice);
		if (err)
			return err;
	}
	return 0;
}

void probe_links_remove(struct probe_links *l, uint32_t first, uint32_t n)
{
	int nice = own_nice_first();
	for (uint32_t i = first; i < first + n; i++)
		bpf_link__destroy(l->at[i]);
	own_nice_put_back(nice);
	l->n -= n;
	if (n)
		memmove(l->at + first, l->at + first + n, (l->n - first) * sizeof(*l->at));
}

void probe_links_deinit(struct probe_links *l)
{
	probe_links_remove(l, 0, l->n);
	free(l->at);
	l->at = NULL;
}

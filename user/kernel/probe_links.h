/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* probe_links.h: the probes that are in place, and how they come and go. A probe's cookie holds the
 * number of its site, over all modules, and above that its generation. */
#ifndef USER_PROBE_LINKS_H
#define USER_PROBE_LINKS_H

#include "user/kernel/record_options.h"

struct bpf_link;
struct bpf_program;

/* Zeroed to begin with, but for the first two. */
struct probe_links {
	struct bpf_program *program; /* runs at each probe */
	bool multi;		     /* the kernel has uprobe_multi */
	struct bpf_link **at;	     /* heap */
	uint32_t n, cap;
};

/* Sites before those of @module, over all modules. */
uint32_t probe_links_first_site(const struct recorder_options *options, uint32_t module);
/* Places the probes of all modules; with @only, which has a member for each site, those whose
 * member is @value. Returns 0, or -errno with @diag filled; probes that were placed by then stay.
 */
int probe_links_place(struct probe_links *links, const struct recorder_options *options,
		      uint32_t generation, const bool *only, bool value, struct pugmark_diag *diag);
/* Without uprobe_multi: places one probe, and returns how long it took to remove it, in seconds; 0
 * if it could not be placed. */
double probe_links_try_removing(struct probe_links *links, const struct recorder_options *options);
/* Takes @n links from number @first on away. */
void probe_links_remove(struct probe_links *links, uint32_t first, uint32_t n);
void probe_links_deinit(struct probe_links *links);

#endif

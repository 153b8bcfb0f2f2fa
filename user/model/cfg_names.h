/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cfg_names.h: what the enums of the model are called in every output format. */
#ifndef USER_CFG_NAMES_H
#define USER_CFG_NAMES_H

#include <stdint.h>
#include <stdio.h>

struct flag_name {
	uint32_t flag;
	const char *name; /* NULL ends the table */
};

extern const char *const cfg_end_names[], *const cfg_edge_names[], *const cfg_site_names[];
extern const char *const cfg_via_names[], *const cfg_probe_names[];
extern const struct flag_name cfg_func_flags[], cfg_block_flags[], cfg_site_flags[];

/* Names joined by commas, or `-` for none. */
void cfg_print_flags(FILE *out, uint32_t flags, const struct flag_name *names);

#endif

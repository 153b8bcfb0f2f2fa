/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* probe_costs.h: what a probe costs on this machine: the file that `pugmark doctor` leaves. */
#ifndef USER_PROBE_COSTS_H
#define USER_PROBE_COSTS_H

#include "offline/program/program.h"

/* Where the costs of this machine lie: $XDG_CACHE_HOME/pugmark/costs.json, else
 * ~/.cache/pugmark/costs.json. The caller frees it; NULL: no home. */
char *probe_costs_path(void);
/* The measured costs, each of them the default where there is none. Whether all are measured. */
bool probe_costs_of_machine(struct probe_costs *costs);

#endif

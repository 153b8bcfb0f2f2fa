/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* carrier.h: `record --carrier patch`: which witnesses of which processes are carried by patched
 * instructions instead of probes. All witnesses are probed as well, in every process; in one that
 * is patched the patches lie over the probes, or probes came later and passed over it (late.h). So
 * a process that cannot be patched, or is not yet, tells the same events at the price of probes. */
#ifndef USER_PATCH_CARRIER_H
#define USER_PATCH_CARRIER_H

#include "user/file/text_span.h"
#include "user/kernel/probes.h"
#include "user/patch/lanes.h"
#include "user/kernel/record_options.h"

struct carrier;

/* Finds a place for each witness. Borrows @options and @spans. Returns 0, or -errno with @diag
 * filled
 * (-ENOTSUP: this kernel, or what is asked for, does not go with it). To be called before probes
 * are placed: until it is patched they cost a program far more. */
int carrier_new(const struct recorder_options *options, const struct text_span *spans,
		struct carrier **out, struct pugmark_diag *diag);
/* When the folder of the recording is there. With @later no probe is placed yet: carrier_start()
 * does that. Borrows @probes. Returns 0 or -errno with @diag filled. */
int carrier_open(struct carrier *carrier, struct probes *probes, bool later,
		 struct pugmark_diag *diag);
/* Before probes are placed, where processes run: notes at which witnesses of theirs somebody else
 * has a breakpoint, which no patch takes away. Returns 0 or -errno with @diag filled. */
int carrier_look(struct carrier *carrier, struct pugmark_diag *diag);
void carrier_free(struct carrier *carrier);
/* What the patches write; lives as long as the carrier. */
struct lanes *carrier_lanes(struct carrier *carrier);

/* Before the child @pid executes its program, and after it did: it is patched before any of that
 * runs. Returns 0; -ESRCH: it has ended already, *@status tells how; or -errno with @diag filled:
 * the probes cannot be placed, and it was killed. Where it cannot be patched that is noted. */
int carrier_seize(struct carrier *carrier, pid_t pid, struct pugmark_diag *diag);
int carrier_start(struct carrier *carrier, pid_t pid, int *status, struct pugmark_diag *diag);
/* How long that took to place probes. */
uint64_t carrier_placed_ns(const struct carrier *carrier);
/* Patches process @pid, which runs; or notes why not. Returns how that went, which the caller
 * frees. */
char *carrier_attach(struct carrier *carrier, pid_t pid);
/* Takes the patches out of whatever is patched and runs. In the same moment probes tell no more. */
void carrier_stop(struct carrier *carrier);
/* How that went, and what memory it took: the caller frees; NULL: nothing was patched. */
char *carrier_stop_words(const struct carrier *carrier);
/* How many of the witnesses are patched where a process is, and what cannot be said of others: a
 * sentence, which the caller frees. NULL: nothing is to be said. */
char *carrier_words(const struct carrier *carrier);

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/* surroundings.h: sums of the memory around a place in user mode (offline/capture/surroundings.h):
 * where a signal finds a task, and where it loses the processor. */
#ifndef BPF_SURROUNDINGS_H
#define BPF_SURROUNDINGS_H

#include "bpf/capture_send.h"

/* Note checksums of memory (surroundings.h). False: --redact or --no-memory hides some. */
const volatile bool noting_surroundings = false;

/* By number of the encoding. */
struct general_regs {
	__u64 regs[SURROUNDINGS_REGS];
};

struct surroundings {
	__u32 sums[SURROUNDINGS];
};

/* What lies around the current task, without the parts that have some of the word at @unsettled.
 * Global, so that it is verified once. */
__noinline int note_surroundings(const struct general_regs *here, struct surroundings *out,
				 __u64 unsettled)
{
	__u64 words[SURROUNDINGS_WORDS];

	if (!here || !out)
		return 0;
	for (__u32 i = 0; i < SURROUNDINGS; i++) {
		__u64 at = surroundings_at(here->regs, i);

		out->sums[i] = 0;
		if (unsettled &&
		    unsettled - at + sizeof(*words) - 1 < sizeof(words) + sizeof(*words) - 1)
			continue;
		if (at >= LOWEST_ADDR && !bpf_probe_read_user(words, sizeof(words), (void *)at))
			out->sums[i] = surroundings_sum(words);
	}
	return 0;
}

#endif

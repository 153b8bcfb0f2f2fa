// SPDX-License-Identifier: LGPL-2.1-or-later
/* plan_refusals.c: see plan_refusals.h. */
#include "user/plan/plan_refusals.h"

#include "offline/base/open_regular.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST_INSN = 15 };

static void count(struct plan_refusals *r, const struct probe_refusal *reason)
{
	uint32_t i = 0;

	while (i < r->n && strcmp(r->at[i].reason.why, reason->why) != 0)
		i++;
	if (i == REFUSALS_MAX)
		return;
	if (i == r->n)
		r->at[r->n++] = (struct plan_refusal){.reason = *reason};
	r->at[i].n++;
}

static int by_falling(const void *a, const void *b)
{
	const struct plan_refusal *x = a, *y = b;

	return (x->n < y->n) - (x->n > y->n);
}

int plan_refusals_count(const struct pugmark_model *model, const struct pugmark_plan *plan,
			const char *binary, struct plan_refusals *out)
{
	out->n = 0;
	if (!plan->n_sites)
		return 0;
	int fd = open_regular(binary, NULL);
	if (fd < 0)
		return fd;
	/* All code lies in the file as it does in memory, less one number. */
	uint64_t to_file = plan->sites[0].off_file - plan->sites[0].addr;
	for (uint32_t i = 0; i < model->n_insns; i++) {
		const struct pugmark_insn *insn = &model->insns[i];
		struct probe_refusal reason;
		uint8_t bytes[LONGEST_INSN];

		if (insn->probe != PUGMARK_PROBE_REFUSED && insn->probe != PUGMARK_PROBE_NOP5)
			continue;
		uint64_t at = model->text_addr + insn->off + to_file;
		ssize_t got = pread(fd, bytes, sizeof(bytes), (off_t)at);
		if (got >= insn->len && probe_refusal_at(bytes, insn->len, &reason))
			count(out, &reason);
	}
	close(fd);
	qsort(out->at, out->n, sizeof(*out->at), by_falling);
	return 0;
}

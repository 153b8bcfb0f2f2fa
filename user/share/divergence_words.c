// SPDX-License-Identifier: LGPL-2.1-or-later
/* divergence_words.c: see divergence_words.h. */
#include "user/share/divergence_words.h"

void landmark_site_write(const struct pugmark_plan *plan, uint32_t site, FILE *out)
{
	const struct pugmark_plan_func *f = &plan->funcs[plan->sites[site].func];
	uint64_t away = plan->sites[site].addr - f->addr;
	fputs(plan->strings + f->name, out);
	if (away)
		fprintf(out, "+0x%llx", (unsigned long long)away);
}

static const char *func_of(const struct pugmark_plan *plan, uint32_t site)
{
	if (site == PUGMARK_NONE)
		return "nothing more";
	return plan->strings + plan->funcs[plan->sites[site].func].name;
}

static void write_landmark(const struct pugmark_plan *plan, struct share_landmark l, FILE *out)
{
	static const char *const kinds[] = {
		[PUGMARK_EVENT_END] = "the thread's end",
		[PUGMARK_EVENT_LOST] = "lost events",
		[PUGMARK_EVENT_EXEC] = "another program",
		[PUGMARK_EVENT_STOP] = "the recording's end",
		[PUGMARK_EVENT_FORK] = "a fork",
		[PUGMARK_EVENT_SIGNAL] = "a signal",
	};
	if (l.site != PUGMARK_NONE)
		landmark_site_write(plan, l.site, out);
	else if (l.kind < sizeof(kinds) / sizeof(*kinds) && kinds[l.kind])
		fputs(kinds[l.kind], out);
	else
		fputs(l.kind == SHARE_NO_LANDMARK ? "nothing more" : "something else", out);
}

/* "in share 1, 3", of those in @bits. */
static void write_shares(uint64_t bits, FILE *out)
{
	const char *before = " in share ";
	for (; bits; bits &= bits - 1, before = ", ")
		fprintf(out, "%s%u", before, (uint32_t)__builtin_ctzll(bits) + 1);
}

static void write_first_that_differs(const struct share_divergence *d,
				     const struct pugmark_plan *plan, uint32_t n_shares, FILE *out)
{
	uint64_t all = n_shares == 64 ? UINT64_MAX : (1ull << n_shares) - 1;
	fprintf(out, "; the first landmark that differs is number %llu: ",
		(unsigned long long)d->landmarks + 1);
	write_landmark(plan, d->here, out);
	write_shares(d->as_first, out);
	fputs(", ", out);
	if (d->here.kind == d->there.kind && d->here.site == d->there.site)
		fputs("from elsewhere or with another outcome", out);
	else
		write_landmark(plan, d->there, out);
	write_shares(d->as_other, out);
	if (all & ~d->as_first & ~d->as_other) {
		fputs(", something else", out);
		write_shares(all & ~d->as_first & ~d->as_other, out);
	}
}

void divergence_write(const struct share_divergence *d, const struct pugmark_plan *plan,
		      uint32_t n_shares, FILE *out)
{
	if (d->untold)
		fputs("no share tells where it goes on", out);
	else if (d->differ || d->part)
		fprintf(out, "the runs under share 1 and share %u part",
			(d->differ ? d->other : d->part) + 1);
	else
		fputs("the run under share 1 is not that of the others", out);
	if (d->func != PUGMARK_NONE)
		fprintf(out, ", in %s", plan->strings + plan->funcs[d->func].name);
	if (d->last.kind != SHARE_NO_LANDMARK) {
		fprintf(out, "; the last landmark that all have is number %llu, ",
			(unsigned long long)d->landmarks);
		write_landmark(plan, d->last, out);
		if (d->last.site != PUGMARK_NONE)
			fprintf(out, " for time %llu", (unsigned long long)d->last_time);
	}
	if (d->differ)
		write_first_that_differs(d, plan, n_shares, out);
	else if (!d->untold)
		fprintf(out, "; share %u has %s, %s%s is next", d->part + 1,
			func_of(plan, d->found_site),
			d->expected_site == PUGMARK_NONE ? "and another way" : "where ",
			d->expected_site == PUGMARK_NONE ? "" : func_of(plan, d->expected_site));
}

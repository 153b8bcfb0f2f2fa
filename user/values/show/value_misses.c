// SPDX-License-Identifier: LGPL-2.1-or-later
/* value_misses.c: see value_misses.h. */
#include "user/values/show/value_misses.h"

#include "user/cli/printable.h"
#include "user/values/show/value_sites.h"
#include "user/values/names/value_texts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {
	[MISS_JUMP] = "branches", [MISS_LOAD] = "loads", [MISS_STORE] = "stores"};
static const char *const one[] = {
	[MISS_JUMP] = "branch", [MISS_LOAD] = "load", [MISS_STORE] = "store"};

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

/* Loads and stores before jumps; of each kind those that miss most. */
static int by_misses(const void *a, const void *b)
{
	const struct value_site *x = a, *y = b;
	bool jump_x = x->what == MISS_JUMP, jump_y = y->what == MISS_JUMP;

	if (jump_x != jump_y)
		return jump_x - jump_y;
	if (x->misses != y->misses)
		return x->misses < y->misses ? 1 : -1;
	if (x->executions != y->executions)
		return x->executions < y->executions ? 1 : -1;
	return x->ip != y->ip ? (x->ip < y->ip ? -1 : 1) : x->what - y->what;
}

/* The stride that is the most frequent one; NULL: there was but one access. */
static const uint64_t *usual_stride(const struct value_site *s, uint64_t *times)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < s->n_strides; i++)
		if (s->times[i] > s->times[best])
			best = i;
	*times = s->times[best];
	return s->n_strides ? &s->stride[best] : NULL;
}

static void print_place(struct value_names *names, uint64_t ip, bool json)
{
	uint32_t module;
	uint64_t elf = 0;
	const char *file = NULL, *function = value_names_at(names, ip, &module, &elf);
	uint32_t line = value_names_line(names, ip, &file);

	if (json) {
		fputs("\"function\":", stdout);
		printable_json(stdout, function);
		printf(",\"address\":\"%" PRIx64 "\",\"file\":", elf);
		printable_json(stdout, line ? file : NULL);
		printf(",\"line\":%u", line);
		return;
	}
	printable_print(stdout, function ? function : "?", PRINT_TEXT);
	printf(" 0x%" PRIx64, elf);
	if (line) {
		putchar(' ');
		printable_print(stdout, file ? file : "?", PRINT_TEXT);
		printf(":%u", line);
	}
}

static void print_set(const char *name, const struct site_set *set, bool is, bool json)
{
	if (json && is)
		printf(",\"%s\":%u,\"%s_more\":%s", name, site_set_count(set), name,
		       set->more ? "true" : "false");
	else if (json)
		printf(",\"%s\":null", name);
	else if (is)
		printf(" %8u%s", site_set_count(set), set->more ? "+" : " ");
	else
		printf(" %8s ", "-");
}

static void print_access(struct value_names *names, const struct value_site *s, uint64_t all,
			 bool json)
{
	uint64_t times;
	const uint64_t *stride = usual_stride(s, &times);

	if (json) {
		printf("{\"kind\":\"%s\",\"executions\":%" PRIu64 ",\"misses\":%" PRIu64
		       ",\"share\":%.6f",
		       one[s->what], s->executions, s->misses, percent(s->misses, all) / 100);
		print_set("addresses", &s->addresses, true, true);
		print_set("values", &s->results, s->has_results, true);
		if (stride)
			printf(",\"stride\":%" PRId64 ",\"stride_share\":%.6f,", (int64_t)*stride,
			       percent(times, s->executions - 1) / 100);
		else
			fputs(",\"stride\":null,\"stride_share\":null,", stdout);
		print_place(names, s->ip, true);
		putchar('}');
		return;
	}
	printf("%12" PRIu64 " %6.2f %% %12" PRIu64 " %6.2f %%  %-6s", s->misses,
	       percent(s->misses, all), s->executions, percent(s->misses, s->executions),
	       one[s->what]);
	print_set(NULL, &s->addresses, true, false);
	print_set(NULL, &s->results, s->has_results, false);
	if (stride)
		printf(" %+8" PRId64 " %5.1f %%  ", (int64_t)*stride,
		       percent(times, s->executions - 1));
	else
		printf(" %8s %7s  ", "-", "");
	print_place(names, s->ip, false);
	putchar('\n');
}

static void print_jump(struct value_names *names, const struct value_site *s, uint64_t all,
		       bool json)
{
	if (json)
		printf("{\"executions\":%" PRIu64 ",\"taken\":%" PRIu64 ",\"misses\":%" PRIu64
		       ",\"share\":%.6f,",
		       s->executions, s->taken, s->misses, percent(s->misses, all) / 100);
	else
		printf("%12" PRIu64 " %6.2f %% %12" PRIu64 " %6.2f %% %12" PRIu64 "  ", s->misses,
		       percent(s->misses, all), s->executions, percent(s->misses, s->executions),
		       s->taken);
	print_place(names, s->ip, json);
	puts(json ? "}" : "");
}

/* At most as many as were asked for, of the sites from @from to @to; @name: of the member that they
 * are as JSON. */
static void print_list(const char *name, struct value_names *names, const struct value_sites *sites,
		       uint32_t from, uint32_t to, const struct values_options *o)
{
	bool jumps = from < to && sites->at[from].what == MISS_JUMP;
	uint64_t all = jumps ? sites->misses[MISS_JUMP]
			     : sites->misses[MISS_LOAD] + sites->misses[MISS_STORE];

	if (o->json)
		printf("\"%s\":[", name);
	for (uint32_t i = from; i < to && i - from < o->limit; i++) {
		if (o->json && i > from)
			puts(",");
		(jumps ? print_jump : print_access)(names, &sites->at[i], all, o->json);
	}
	uint64_t more = to - from > o->limit ? to - from - o->limit : 0;
	if (o->json)
		printf("],\n\"%s_more\":%" PRIu64, name, more);
	else if (more)
		printf("%" PRIu64 " more (--limit)\n", more);
}

static void print_totals(const struct value_sites *sites, bool json)
{
	static const uint8_t order[] = {MISS_LOAD, MISS_STORE, MISS_JUMP};

	for (unsigned i = 0; i < sizeof(order); i++) {
		uint64_t n = sites->executions[order[i]], misses = sites->misses[order[i]];

		if (json)
			printf("\"%s\":{\"executions\":%" PRIu64 ",\"misses\":%" PRIu64 "},",
			       kinds[order[i]], n, misses);
		else
			printf("%s%" PRIu64 " %s, %" PRIu64 " %s (%.2f %%)", i ? "; " : "", n,
			       kinds[order[i]], misses,
			       order[i] == MISS_JUMP ? "mispredicted" : "missed",
			       percent(misses, n));
	}
}

static void print_found(struct value_names *names, struct value_run *run, uint32_t task,
			struct value_sites *sites, const struct values_options *o)
{
	uint64_t assumed, unknown, n = value_run_count(run);
	uint32_t jumps = 0;

	if (sites->n)
		qsort(sites->at, sites->n, sizeof(*sites->at), by_misses);
	while (jumps < sites->n && sites->at[jumps].what != MISS_JUMP)
		jumps++;
	value_machine_inexact(value_run_machine(run), &assumed, &unknown);
	assumed += value_run_supposed(run);
	if (o->json) {
		printf("{\"task\":%u,\"instructions\":%" PRIu64 ",\"assumed\":%" PRIu64
		       ",\"unknown\":%" PRIu64 ",\"complete\":%s,",
		       task, n, assumed, unknown,
		       sites->stop == VALUE_REPLAY_END ? "true" : "false");
		print_totals(sites, true);
		print_list("accesses", names, sites, 0, jumps, o);
		fputs(",\n", stdout);
		print_list("jumps", names, sites, jumps, sites->n, o);
		putchar('}');
		return;
	}
	printf("task %u: ", task);
	print_totals(sites, false);
	putchar('\n');
	if (assumed + unknown)
		printf("of %" PRIu64 " instructions %" PRIu64
		       " are not wholly exact: these numbers are assumed\n",
		       n, assumed + unknown);
	if (jumps)
		puts("      misses    share   executions   missed  what   addresses    values    "
		     "stride");
	print_list("accesses", names, sites, 0, jumps, o);
	if (jumps < sites->n)
		puts("mispredicted    share   executions    wrong        taken");
	print_list("jumps", names, sites, jumps, sites->n, o);
	if (sites->stop == VALUE_REPLAY_GAP)
		value_text_gap(task, n, value_run_gap(run), false, &(bool){false});
}

int value_misses_print(struct value_replay *replay, struct value_names *names, uint32_t task,
		       const struct values_options *o, bool *first, bool *partial,
		       struct pugmark_diag *diag)
{
	struct value_sites sites;
	struct value_run *run;
	int err = value_run_new(replay, task, &run, diag);

	if (err)
		return value_text_no_run(task, err, diag, partial);
	err = value_sites_find(run, &sites);
	if (!err) {
		if (o->json && !*first)
			puts(",");
		*first = false;
		*partial |= sites.stop == VALUE_REPLAY_GAP;
		print_found(names, run, task, &sites, o);
		value_sites_deinit(&sites);
	}
	value_run_free(run);
	return err ? pugmark_diag_set(diag, err, o->dir, PUGMARK_NO_OFFSET, "%s", strerror(-err))
		   : 0;
}

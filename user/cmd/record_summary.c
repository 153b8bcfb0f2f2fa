// SPDX-License-Identifier: LGPL-2.1-or-later
/* record_summary.c: what `pugmark record` says at its end: what was recorded, what was not, and
 * why. */
#include "user/cmd/record_summary.h"

#include "offline/capture/families.h"
#include "user/cli/command.h"
#include "user/proc/running.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* How each line of the summary begins: the name of the recording may hold anything. */
static void print_name(const struct recorder_options *o)
{
	command_say(stderr, "pugmark: ", o->output, ": ");
}

/* No process of -a came: the usual cause is an upgrade. */
static void tell_nobody(const char *binary)
{
	enum { NAMED = 8 };
	pid_t pids[NAMED];
	uint32_t n = running_older(binary, pids, NAMED);

	command_say(stderr, "nothing recorded: no process ran what is probed of ", binary, "");
	if (!n)
		fputs(" (they have to run that very file, and come to what is probed within "
		      "--duration)\n",
		      stderr);
	else
		fprintf(stderr,
			": it was replaced, and %u process%s run%s the older file (restart %s, or "
			"record with",
			n, n == 1 ? "" : "es", n == 1 ? "s" : "", n == 1 ? "it" : "them");
	for (uint32_t i = 0; i < n; i++)
		fprintf(stderr, " -p %d%s", pids[i], i + 1 == n ? ")\n" : "");
}

/* Against loss. */
static const char *what_helps(const struct recorder_options *o, const struct recorder_result *r)
{
	if (r->why == STOP_DISK)
		return "";
	if (!o->carrier)
		return " (a larger --ring helps)";
	return o->on_full_wait ? " (larger --lane-memory and --ring help, or more room on the disk)"
			       : " (--on-full wait helps, or larger --lane-memory and --ring)";
}

/* Values of several threads: which of them are known only with another option. */
static void tell_threads(const struct recorder_options *o)
{
	struct families families;
	struct pugmark_diag diag;
	uint32_t most = 0;

	if (o->one_processor || families_read(o->output, &families, &diag))
		return;
	for (uint32_t i = 0; i < families.n; i++)
		if (families.at[i].threads > most)
			most = families.at[i].threads;
	families_deinit(&families);
	if (most < 2)
		return;
	print_name(o);
	fprintf(stderr,
		"a process had %u threads: what one of them reads while another one runs is "
		"assumed (with --one-processor it is known)\n",
		most);
}

void record_summary(const struct record_args *a, const struct recorder_result *r)
{
	const struct recorder_options *o = &a->options;

	if (r->why == STOP_DISK) {
		print_name(o);
		fprintf(stderr, "%s: recording stopped\n",
			r->write_err == -ENOSPC ? "the disk is full" : strerror(-r->write_err));
	}
	if (r->why == STOP_OVERHEAD) {
		print_name(o);
		fputs("no function could be left in within the overhead allowed: recording "
		      "stopped\n",
		      stderr);
	}
	if (r->why == STOP_REFUSED) {
		print_name(o);
		fprintf(stderr,
			"it costs more than --refuse-above allows (%.2f times): recording ended "
			"(fewer functions with -F, or --max-overhead PERCENT)\n",
			o->refuse_above);
	}
	if (r->why == STOP_MEMORY) {
		print_name(o);
		fputs("the recorder took more memory than --max-memory allows: recording stopped\n",
		      stderr);
	}
	if (r->unplanned) {
		print_name(o);
		fprintf(stderr,
			"%llu events were not recorded: these processes run another program than "
			"the library was planned for, or something that they load defines "
			"functions of the library (name it with --plugin)\n",
			(unsigned long long)r->unplanned);
	}
	if (r->lost > r->unplanned) {
		print_name(o);
		fprintf(stderr, "%llu events were lost%s\n",
			(unsigned long long)(r->lost - r->unplanned), what_helps(o, r));
	}
	if (!r->tasks && !o->argv) {
		print_name(o);
		if (o->all)
			tell_nobody(a->modules.binary);
		else
			fputs("nothing recorded: no thread came to what is probed (an idle one "
			      "needs a longer --duration)\n",
			      stderr);
	}
	if (o->quiet)
		return;
	fprintf(stderr, "pugmark: %llu probe%s: placed in %.0f ms, removed in %.0f ms\n",
		(unsigned long long)r->n_probes, r->n_probes == 1 ? "" : "s", r->attach_ns / 1e6,
		r->detach_ns / 1e6);
	print_name(o);
	fprintf(stderr, "%llu witness events of %llu task%s, %llu bytes\n",
		(unsigned long long)r->events, (unsigned long long)r->tasks,
		r->tasks == 1 ? "" : "s", (unsigned long long)r->bytes);
	if (o->carrier && r->probed) {
		print_name(o);
		fprintf(stderr, "%llu of them (%.3f %%) by probes and not by patches: %s\n",
			(unsigned long long)r->probed,
			100.0 * (double)r->probed / (double)(r->events + !r->events),
			r->probed_why);
	}
	if (o->captures) {
		print_name(o);
		fprintf(stderr, "%llu captures, %llu bytes\n", (unsigned long long)r->captures,
			(unsigned long long)r->capture_bytes);
		tell_threads(o);
	}
}

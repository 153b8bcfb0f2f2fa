// SPDX-License-Identifier: LGPL-2.1-or-later
/* ending.c: see ending.h. */
#include "user/record/ending.h"

#include "offline/base/clock.h"
#include "offline/base/own_nice.h"
#include "user/kernel/probe_links.h"
#include "user/record/own_memory.h"
#include "user/record/probed/callers.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	TICK_MS = 20,
	SHORT_TICK_MS = 2,
	PROGRESS_NS = 500000000,
	MEMORY_NS = 1000000000,
	MEMORY_LOOKS = 3,
	FORECAST_NS = 500000000, /* a shorter command need not wait until probes are priced */
};

#define GAVE_BACK                                                                                  \
	"the recorder came to --max-memory and has given up what it kept of stacks: there are "    \
	"gaps where that would have been needed"

/* It prices witnesses, and has the kernel take the time of all BPF programs meanwhile, which costs
 * those of level values a third more: not where they alone run. */
static bool wants_forecast(const struct recorder_options *o)
{
	return o->forecast &&
	       (!o->captures || o->refuse_above > 0 || probe_links_first_site(o, o->n_modules));
}

int ending_begin(struct recording_run *run)
{
	const struct recorder_options *o = run->options;
	bool forecast = wants_forecast(o);

	run->forecast_later = forecast && o->argv && !(o->refuse_above > 0);
	return forecast && !run->forecast_later
		       ? forecast_new(run->start_ns, run->probes, run->collector, &run->forecast)
		       : 0;
}

void ending_show_progress(struct recording_run *run, uint64_t time_ns, bool last)
{
	const struct recording_totals *t = recording_writer_totals(run->writer);
	uint64_t events = t->events, passed = time_ns - run->shown_ns;

	if (!run->progress || (!last && passed < PROGRESS_NS))
		return;
	double rate = passed ? (events - run->shown_events) * 1e9 / passed : 0;
	fprintf(stderr, "\r%.1f s  %llu events  %.0f/s  %llu lost  %.1f MB\033[K%s",
		(time_ns - run->start_ns) / 1e9, (unsigned long long)events, rate,
		(unsigned long long)t->lost, t->bytes / 1e6, last ? "\r\033[K" : "");
	run->shown_ns = time_ns;
	run->shown_events = events;
}

bool ending_read_signals(struct recording_run *run)
{
	bool asked = caught_signals_read(&run->signals);

	if (run->child.pid > 0 && !run->child_ended &&
	    waitpid(run->child.pid, &run->child_status, WNOHANG) == run->child.pid)
		run->child_ended = true;
	return asked;
}

void ending_say_deaths(struct recording_run *run, bool all)
{
	char *words = recording_writer_deaths(run->writer, all), *save = NULL;

	for (char *line = words ? strtok_r(words, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save)) {
		voice_say(&run->voice, "", line);
		run->deaths = true;
	}
	free(words);
}

/* Says once what it costs. Returns whether that is more than is allowed. */
static bool is_too_dear(struct recording_run *run, uint64_t time_ns)
{
	const struct recorder_options *o = run->options;
	char text[192];

	if (run->forecast_later && time_ns - run->start_ns > FORECAST_NS)
		run->forecast_later =
			forecast_new(time_ns, run->probes, run->collector, &run->forecast) != 0;
	if (!run->forecast || !forecast_known(run->forecast, time_ns, &run->now.modules,
					      &run->factor, text, sizeof(text)))
		return false;
	forecast_free(run->forecast);
	run->forecast = NULL;
	voice_note(&run->voice, text);
	return o->refuse_above > 0 && run->factor > o->refuse_above;
}

/* Looks at most once a second. What reads a large file takes more for a moment. Where it stays
 * more, what is kept of stacks goes, and the recording ends only where that does not help. */
static bool is_too_large(struct recording_run *run, uint64_t time_ns)
{
	if (!run->options->max_memory_bytes || time_ns - run->weighed_ns < MEMORY_NS)
		return false;
	run->weighed_ns = time_ns;
	run->heavy = own_memory_exceeds(run->options->max_memory_bytes) ? run->heavy + 1 : 0;
	if (run->heavy == MEMORY_LOOKS) {
		collector_give_back(run->collector);
		if (!run->gave_back)
			collector_note(run->collector, GAVE_BACK);
		run->gave_back = true;
	}
	return run->heavy >= 2 * MEMORY_LOOKS;
}

enum recorder_stop ending_wait(struct recording_run *run)
{
	const struct recorder_options *o = run->options;
	const volatile struct batch_counters *counters = probes_counters(run->probes);

	if (o->max_overhead > 0) /* when probes must go, it does not wait for a processor */
		own_nice_first();
	for (;;) {
		struct pollfd fds[] = {
			{run->signals.fd, POLLIN, 0},
			{run->notify_fd, POLLIN, 0},
			{run->now.later ? late_modules_fd(run->now.later) : -1, POLLIN, 0},
			{callers_fd(run->callers), POLLIN, 0}};

		/* While it is planned, mappings wait. */
		poll(fds, run->now.replanner ? 2 : 4, run->now.replanner ? SHORT_TICK_MS : TICK_MS);
		uint64_t time_ns = clock_now_ns();
		callers_look(run->callers, run->collector);
		ending_say_deaths(run, false);
		if (ending_read_signals(run))
			return STOP_SIGNAL;
		if (collector_error(run->collector) ||
		    (run->capturing && capturing_error(run->capturing)))
			return STOP_DISK;
		if (is_too_large(run, time_ns))
			return STOP_MEMORY;
		if (o->duration_ns && time_ns - run->start_ns >= o->duration_ns)
			return STOP_DURATION;
		/* What the command started is part of it. */
		if (!counters->live && (o->argv ? run->child_ended : o->n_pids > 0))
			return STOP_EXIT;
		/* The kernel does not let a writer wait for as long as planning may take. */
		if (run->signals.io && !run->now.file_changed)
			probed_now_settle(&run->now);
		run->signals.io = false;
		/* What captures values has probes of its own, which go at the end. */
		if (!run->now.file_changed && probed_now_check_files(&run->now, false) &&
		    run->capturing)
			return STOP_CHANGED;
		if (!run->now.file_changed && is_too_dear(run, time_ns))
			return STOP_REFUSED;
		if (!run->now.file_changed && probed_now_follow(&run->now, time_ns))
			return STOP_OVERHEAD;
		ending_show_progress(run, time_ns, false);
	}
}

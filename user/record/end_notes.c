// SPDX-License-Identifier: LGPL-2.1-or-later
/* end_notes.c: see end_notes.h. */
#include "user/record/end_notes.h"

#include "user/patch/carrier.h"
#include "user/proc/running.h"

#include <stdio.h>

static void note_counters(const struct voice *voice, const struct probes *probes)
{
	const volatile struct batch_counters *k = probes_counters(probes);
	char text[512];

	if (k->unplanned) {
		snprintf(text, sizeof(text),
			 "not recorded: %llu events in processes that the plan of a library does "
			 "not hold for: they run another program, or something else that is loaded "
			 "defines functions of the library (name it with --plugin)",
			 (unsigned long long)k->unplanned);
		collector_note(voice->collector, text);
	}
	if (k->stacks_cut) {
		snprintf(
			text, sizeof(text),
			"of %llu thread%s the stack was not copied to its end when it was attached "
			"to: which calls were in progress further out is not known (a larger "
			"--ring helps)",
			(unsigned long long)k->stacks_cut, k->stacks_cut == 1 ? "" : "s");
		voice_note(voice, text);
	}
	if (!k->process_lost && !k->hits_without_task && !k->snapshots_lost && !k->untracked)
		return;
	snprintf(text, sizeof(text),
		 "not recorded: %llu steps of processes, %llu hits of tasks without a state, %llu "
		 "stack snapshots, %llu processes that were not followed",
		 (unsigned long long)k->process_lost, (unsigned long long)k->hits_without_task,
		 (unsigned long long)k->snapshots_lost, (unsigned long long)k->untracked);
	collector_note(voice->collector, text);
}

/* Probes are on the file that was there at the beginning. */
static void note_replaced(const struct voice *voice)
{
	const struct recorder_options *o = voice->options;
	char text[512];

	if (!o->all || !running_is_replaced(o->program, o->program_name))
		return;
	snprintf(text, sizeof(text),
		 "%.400s was replaced: what runs the new file is not traced (record again)",
		 o->program_name);
	voice_note(voice, text);
}

void end_notes(const struct voice *voice, const struct probes *probes, struct callers *callers,
	       const struct carrier *carrier)
{
	note_counters(voice, probes);
	voice_note_words(voice, carrier ? carrier_stop_words(carrier) : NULL);
	voice_note_words(voice, callers_words(callers, voice->collector));
	note_replaced(voice);
}

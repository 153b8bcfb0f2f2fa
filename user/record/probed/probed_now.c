// SPDX-License-Identifier: LGPL-2.1-or-later
/* probed_now.c: see probed_now.h. */
#include "user/record/probed/probed_now.h"

#include "offline/base/clock.h"
#include "user/patch/file_turns.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

enum {
	OVERHEAD_NS = 50000000,
	/* In half a second nothing is left of what goes; to remove it takes some of that. */
	PATIENCE_NS = 350000000,
};

int probed_now_watch(struct probed_now *p)
{
	const struct recorder_options *o = p->voice->options;
	struct collector *collector = p->voice->collector;
	int err = 0;

	if (o->max_overhead > 0)
		err = overhead_new(o->max_overhead, p->probes, collector, &p->overhead);
	if (!err && o->later)
		err = late_modules_new(o, p->probes, collector, &p->later);
	return err;
}

void probed_now_settle(struct probed_now *p)
{
	if (p->replanner) {
		replanner_cancel(p->replanner);
		replanner_finish(p->replanner, NULL, NULL, NULL);
	}
	p->replanner = NULL;
}

void probed_now_deinit(struct probed_now *p)
{
	probed_now_settle(p);
	late_modules_free(p->later);
	overhead_free(p->overhead);
}

/* What was loaded cannot be taken in: the rest goes on as it is. */
static void refuse_later(struct probed_now *p, const struct pugmark_diag *diag)
{
	char text[sizeof(diag->file) + sizeof(diag->text) + 64];

	snprintf(text, sizeof(text), "what is loaded from here on is not traced: %s%s%s",
		 diag->file, *diag->file ? ": " : "", diag->text);
	voice_note(p->voice, text);
	late_modules_free(p->later);
	p->later = NULL;
}

/* Takes all probes away while it is planned. */
static void pause_probes(struct probed_now *p)
{
	if (p->gone_ns)
		return;
	probes_pause(p->probes);
	recording_writer_ended(p->writer, probes_changed_ns(p->probes));
	p->gone_ns = clock_now_ns();
}

/* What was done and how long it took, for the recording. */
static void note_change(struct probed_now *p, double planned_s, double cpu_s, uint64_t placing_ns)
{
	char text[240];
	int len = snprintf(text, sizeof(text),
			   "what is probed was changed: planned in %.0f ms (%.0f of processor "
			   "time), placed and removed in %.0f",
			   planned_s * 1e3, cpu_s * 1e3, placing_ns / 1e6);
	if (p->replanning_out)
		snprintf(
			text + len, sizeof(text) - len,
			"; found necessary at %.3f s, no probe of what goes was left %.0f ms later",
			(p->found_ns - p->start_ns) / 1e9, (p->gone_ns - p->found_ns) / 1e6);
	collector_note(p->voice->collector, text);
}

/* The new plans are made, or are not. */
static int change_plans(struct probed_now *p, struct pugmark_diag *diag)
{
	struct recorder_options changed;
	struct file_turns turns = {0};
	char *news;
	double planned_s, cpu_s;
	uint32_t n = p->modules.n_modules;

	replanner_took(p->replanner, &planned_s, &cpu_s);
	int err = replanner_finish(p->replanner, &changed, &news, diag);
	uint64_t before_ns = clock_now_ns();
	p->replanner = NULL;
	voice_note_words(p->voice, news);
	if (err == -EALREADY && (!p->replanning_out || !p->gone_ns))
		return 0;
	if (err == -EALREADY) /* but its probes are gone: they come back */
		changed = p->modules;
	else if (p->replanning_out && !err)
		voice_note(p->voice, overhead_words(p->overhead));
	err = err == -EALREADY ? 0 : err;
	for (; !err && n < changed.n_modules && n < BATCH_MODULES; n++)
		err = text_span_read(changed.modules[n].path, &p->spans[n], diag);
	if (!err)
		err = recording_writer_change(p->writer, &changed, p->spans, diag);
	if (!err)
		err = file_turns_to_probe(&turns, &changed, diag);
	if (!err)
		err = probes_change(p->probes, &changed, p->spans, diag);
	file_turns_end(&turns);
	if (err)
		return err;
	recording_writer_began(p->writer, probes_changed_ns(p->probes));
	uint64_t after_ns = clock_now_ns();
	p->gone_ns = p->gone_ns ? p->gone_ns : after_ns;
	note_change(p, planned_s, cpu_s, after_ns - before_ns);
	p->modules = changed;
	if (p->overhead)
		overhead_restart(p->overhead);
	return 0;
}

/* While it is planned without what is taken out, what is probed stays: but not for long. */
static int follow_planning(struct probed_now *p, uint64_t time_ns, struct pugmark_diag *diag)
{
	if (replanner_done(p->replanner)) {
		p->checked_ns = clock_now_ns();
		int err = change_plans(p, diag);
		if (!err || p->overhead)
			return err;
		refuse_later(p, diag);
		return 0;
	}
	if (p->replanning_out && time_ns - p->found_ns > PATIENCE_NS)
		pause_probes(p);
	return 0;
}

static int begin_planning(struct probed_now *p, struct replan_request *request)
{
	uint32_t n = 0;

	if (p->overhead)
		request->out = overhead_taken(p->overhead, &n);
	request->n_out = n;
	p->replanning_out = request->more_out;
	return replanner_start(p->voice->options, &p->modules, request,
			       request->more_out ? p->overhead : NULL, &p->replanner);
}

static int check_overhead(struct probed_now *p, uint64_t time_ns)
{
	struct replan_request request = {.more_out = true};
	int more = overhead_check(p->overhead, &p->modules);

	p->checked_ns = time_ns;
	if (more <= 0)
		return more;
	p->found_ns = time_ns;
	p->gone_ns = 0;
	int err = begin_planning(p, &request);
	if (!err && overhead_is_far(p->overhead)) /* takes as long as planning */
		pause_probes(p);
	return err;
}

static int check_later(struct probed_now *p, uint64_t time_ns)
{
	struct replan_request request = {0};

	request.n_pids = late_modules_processes(p->later, time_ns, &request.pids);
	if (!request.n_pids)
		return 0;
	int err = begin_planning(p, &request);
	late_modules_done(p->later);
	return err;
}

int probed_now_follow(struct probed_now *p, uint64_t time_ns)
{
	struct pugmark_diag diag = {.text = "out of memory"};
	int err = 0;

	if (p->replanner)
		err = follow_planning(p, time_ns, &diag);
	else if (p->overhead && time_ns - p->checked_ns >= OVERHEAD_NS)
		err = check_overhead(p, time_ns);
	if (!err && !p->replanner && p->later)
		err = check_later(p, time_ns);
	if (err && !p->voice->options->quiet)
		voice_say(p->voice, "planning anew: ", diag.text);
	return err;
}

/* Which file was written to, if that can be asked now and was not known yet. */
static const char *changed_file(struct probed_now *p, bool at_end)
{
	const struct recorder_options *o = p->voice->options;

	if (!o->changed || p->replanner || p->file_changed)
		return NULL;
	p->asked_at_end |= at_end;
	return o->changed(o->replan_ctx, at_end);
}

static void note_changed(struct probed_now *p, const char *name)
{
	char text[512];

	p->file_changed = true;
	snprintf(text, sizeof(text),
		 "%.400s was written to while it was probed: from here on nothing is traced "
		 "(record again)",
		 name);
	voice_note(p->voice, text);
}

bool probed_now_check_files(struct probed_now *p, bool at_end)
{
	const struct recorder_options *o = p->voice->options;
	const char *name = changed_file(p, at_end);

	if (!name)
		return p->file_changed;
	pause_probes(p);
	o->release(o->replan_ctx);
	note_changed(p, name);
	return true;
}

void probed_now_ended(struct probed_now *p)
{
	char *news = NULL;

	if (p->replanner) {
		replanner_cancel(p->replanner);
		replanner_finish(p->replanner, NULL, &news, NULL);
		p->replanner = NULL;
		voice_note_words(p->voice, news);
	}
	const char *name = p->asked_at_end ? NULL : changed_file(p, true);
	if (name)
		note_changed(p, name);
}

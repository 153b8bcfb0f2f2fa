// SPDX-License-Identifier: LGPL-2.1-or-later
/* recorder.c: the life of one recording: load, start the command (waiting), attach, take it in, let
 * it go, wait for the end, stop, write the rest. What is opened is closed in run_free(). */
#include "user/record/recorder.h"

#include "offline/base/clock.h"
#include "user/cli/command.h"
#include "user/cli/progress.h"
#include "user/kernel/probe_links.h"
#include "user/patch/lanes.h"
#include "user/patch/late.h"
#include "user/patch/remains.h"
#include "user/record/adopting.h"
#include "user/record/end_notes.h"
#include "user/record/ending.h"
#include "user/record/own_memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void run_free(struct recording_run *run)
{
	launch_cancel(&run->child);
	file_turns_end(&run->turns);
	probed_now_deinit(&run->now);
	capturing_free(run->capturing);
	callers_free(run->callers);
	forecast_free(run->forecast);
	probes_free(run->probes);
	carrier_free(run->carrier);
	free(run->path);
	if (run->notify_fd >= 0)
		close(run->notify_fd);
	caught_signals_deinit(&run->signals);
}

static int catch_signals(struct recording_run *run, struct pugmark_diag *diag)
{
	int err = caught_signals_init(&run->signals);

	run->notify_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!err && run->notify_fd < 0)
		err = -errno;
	return err ? pugmark_diag_set(diag, err, NULL, PUGMARK_NO_OFFSET, "%s", strerror(-err)) : 0;
}

/* Without uprobe_multi the kernel waits for every processor at each probe that goes: minutes for
 * thousands, which nothing can cut short once they are placed. */
static void tell_removing(struct recording_run *run)
{
	double s = probes_removing_s(run->probes, run->options);

	if (s > 1 && !run->options->quiet)
		fprintf(stderr,
			"pugmark: this kernel has no uprobe_multi (6.6 has): removing the probes "
			"at the end will take about %.0f s (fewer with -F)\n",
			s);
}

static int launch(struct recording_run *run, struct pugmark_diag *diag)
{
	const struct recorder_options *o = run->options;
	struct launch_user *user = o->user ? malloc(sizeof(*user)) : NULL;
	int err = o->user && !user ? -ENOMEM : 0;

	if (!err && user)
		err = launch_user_find(o->user, user, diag);
	if (!err)
		err = launch_prepare(&run->child, run->path, o->argv, user, diag);
	free(user);
	return err;
}

/* What recorders that were killed have left in processes. */
static void remove_remains(const struct recorder_options *o)
{
	uint32_t failed, n = remains_remove_all(&failed);

	if (n && !o->quiet)
		fprintf(stderr,
			"pugmark: patches of a recorder that was killed were taken out of %u "
			"process%s\n",
			n, n == 1 ? "" : "es");
	if (failed && !o->quiet)
		fprintf(stderr,
			"pugmark: patches of a recorder that was killed stay in %u process%s, "
			"which may still need them\n",
			failed, failed == 1 ? "" : "es");
}

/* Patched instructions tell more than can be coded while they do. */
static bool codes_later(const struct recorder_options *o)
{
	return o->coding == CODING_LATER || (o->coding == CODING_BY_CARRIER && o->carrier);
}

/* Until a program that runs is patched, and when it is no more, each of its probes costs it a
 * hundred times as much as a patch. So this thread waits for no processor then. */
static void hurry(const struct recording_run *run, bool on)
{
	if (run->options->carrier && !run->options->argv)
		setpriority(PRIO_PROCESS, gettid(), on ? -20 : run->nice);
}

static int start(struct recording_run *run, struct pugmark_diag *diag)
{
	const struct recorder_options *o = run->options;
	struct progress progress;
	const char *changed;
	char byte;
	int err = catch_signals(run, diag);
	struct idle_thread *coding = codes_later(o) ? &run->coding : NULL;

	remove_remains(o);
	for (uint32_t m = 0; !err && m < o->n_modules && m < BATCH_MODULES; m++)
		err = text_span_read(o->modules[m].path, &run->now.spans[m], diag);
	if (!err && o->argv) {
		run->path = launch_resolve(o->argv[0], diag);
		err = run->path ? 0 : -ENOENT;
	}
	if (!err)
		err = probes_load(o, run->now.spans, &run->probes, diag);
	if (!err && o->argv)
		err = launch(run, diag);
	if (!err && o->changed && (changed = o->changed(o->replan_ctx, false)))
		err = pugmark_diag_set(diag, -ESTALE, changed, PUGMARK_NO_OFFSET,
				       "it was written to while it was planned (run this again "
				       "when that is done)");
	if (!err && o->go_fd > 0 && read(o->go_fd, &byte, 1) != 1)
		err = -ECANCELED;
	if (!err)
		tell_removing(run);
	bool later = false;
	err = err ? err : late_find(o, &later, diag);
	if (!err && o->carrier)
		err = carrier_new(o, run->now.spans, &run->carrier, diag);
	if (!err)
		err = file_turns_to_probe(&run->turns, o, diag);
	if (!err && o->carrier && !o->argv)
		err = carrier_look(run->carrier, diag);
	uint64_t before_ns = clock_now_ns();
	if (!err) {
		progress_start(&progress, "placing probes", 0, o->quiet);
		hurry(run, true);
		err = probes_attach(run->probes, o, later, diag);
		progress_end(&progress);
	}
	if (!err && o->captures)
		err = capturing_new(o, run->now.spans, probes_tasks_fd(run->probes),
				    &run->capturing, diag);
	if (!o->carrier || o->argv) /* or it lasts until processes are patched */
		file_turns_end(&run->turns);
	run->attach_ns = clock_now_ns() - before_ns;
	if (!err)
		err = adopt(o, run->probes, run->child.pid, diag);
	/* The directory comes last: what fails before leaves the last recording where it is. */
	if (!err)
		err = recording_writer_open(o, run->now.spans, &run->writer, diag);
	hurry(run, false); /* or threads that are started now would do so too */
	if (!err && o->carrier)
		err = carrier_open(run->carrier, run->probes, later, diag);
	if (!err && o->carrier) {
		recording_writer_lanes(run->writer, carrier_lanes(run->carrier));
		lanes_read_by(carrier_lanes(run->carrier), coding);
	}
	if (!err)
		err = collector_start(o, run->probes, run->writer, coding, run->notify_fd,
				      &run->collector, diag);
	if (!err && run->capturing)
		err = capturing_open(run->capturing,
				     recording_writer_create(run->writer, "captures"), diag);
	run->voice.collector = run->collector;
	run->now.probes = run->probes;
	run->now.writer = run->writer;
	if (!err)
		err = probed_now_watch(&run->now);
	if (!err)
		err = callers_new(o, run->probes, &run->callers);
	/* Who may plan anew, or patch what comes, needs all of them. */
	if (!err && o->planned && !o->later && !(o->max_overhead > 0) && !o->carrier)
		o->planned(o->replan_ctx);
	own_memory_give_back(); /* what planning and placing took: recording may go on for days */
	return err;
}

static int exit_status(struct recording_run *run)
{
	if (!run->options->argv)
		return 0;
	/* After Ctrl-C it is on its way, unless it has other plans. */
	for (int i = 0; i < 50 && !run->child_ended; i++) {
		ending_read_signals(run);
		if (!run->child_ended)
			usleep(20000);
	}
	if (!run->child_ended)
		return 0;
	return WIFSIGNALED(run->child_status) ? 128 + WTERMSIG(run->child_status)
					      : WEXITSTATUS(run->child_status);
}

/* The program is patched before any of it runs, but for its dynamic linker. */
static int patch_program(struct recording_run *run, struct pugmark_diag *diag)
{
	int err = carrier_start(run->carrier, run->child.pid, &run->child_status, diag);

	run->child_ended = err == -ESRCH;
	run->attach_ns += carrier_placed_ns(run->carrier);
	voice_note_words(&run->voice, carrier_words(run->carrier));
	return run->child_ended ? 0 : err;
}

/* Until then, and where that cannot be, their events come by probes. */
static void patch_running(struct recording_run *run)
{
	hurry(run, true);
	for (uint32_t i = 0; i < run->options->n_pids; i++)
		voice_note_words(&run->voice, carrier_attach(run->carrier, run->options->pids[i]));
	hurry(run, false);
}

/* Where no progress shows it. What a command itself prints is not mixed with that. */
static void say_begun(const struct recording_run *run)
{
	const struct recorder_options *o = run->options;

	if (!o->quiet && !run->progress && !o->argv)
		voice_say(&run->voice, "recording", o->duration_ns ? "" : " (SIGINT ends it)");
}

/* Before the recording has begun: signals, and the time that it may take. */
static bool is_over(void *ctx)
{
	struct recording_run *run = ctx;
	uint64_t most_ns = run->options->duration_ns;

	return caught_signals_read(&run->signals) ||
	       (most_ns && clock_now_ns() - run->start_ns >= most_ns);
}

/* The command becomes the program. At level values it stops where that begins, or what runs already
 * stops for a moment. */
static int let_go(struct recording_run *run, struct pugmark_diag *diag)
{
	const struct entry_patience patience = {run->signals.fd, is_over, run};
	int err = 0;

	if (!run->options->argv && run->capturing) {
		uint64_t stopped_ns;
		char text[80];

		err = capturing_attach(run->capturing, run->options->pids[0], &stopped_ns, diag);
		snprintf(text, sizeof(text), "stopped for %.1f ms while its memory was read",
			 err ? 0 : stopped_ns / 1e6);
		if (!err)
			voice_note(&run->voice, text);
		return err;
	}
	if (!run->options->argv && run->carrier)
		patch_running(run);
	if (!run->options->argv)
		return 0;
	if (run->capturing)
		err = capturing_before(run->capturing, run->child.pid, diag);
	if (!err && run->carrier)
		err = carrier_seize(run->carrier, run->child.pid, diag);
	if (!err)
		err = launch_go(&run->child, run->path, diag);
	if (!err && run->capturing)
		err = capturing_begin(run->capturing, run->child.pid, &patience, diag);
	if (!err && run->carrier)
		err = patch_program(run, diag);
	return err;
}

/* Writes what is left of the captures. */
static void finish_capturing(struct recording_run *run, struct recorder_result *done)
{
	char *text;
	int err = capturing_finish(run->capturing, &done->captures, &done->capture_bytes, &text);

	voice_note_words(&run->voice, text);
	if (err) {
		done->why = STOP_DISK;
		done->write_err = err;
	}
}

/* Writes what is left; returns 0 or the first error of writing. */
static int finish_coding(struct recording_run *run)
{
	struct progress progress;
	uint64_t before_ns = clock_now_ns();
	char text[128];

	progress_start(&progress, "coding what was recorded", collector_waiting(run->collector),
		       run->options->quiet);
	int err = collector_finish(run->collector, &progress);
	progress_end(&progress);
	double s = (clock_now_ns() - before_ns) / 1e9;
	if (s < 1 || run->options->quiet)
		return err;
	snprintf(text, sizeof(text),
		 "%.1f s for what was not coded while the machine had other work", s);
	voice_say(&run->voice, "", text);
	return err;
}

/* Nothing is recorded from here on; what is in the rings is written. */
static void stop(struct recording_run *run, struct recorder_result *done)
{
	struct progress progress;
	uint64_t before_ns = clock_now_ns();

	probed_now_check_files(&run->now, true);
	done->probed_to_ns = clock_now_ns();
	progress_start(&progress, "removing probes", 0, run->options->quiet);
	hurry(run, true);
	if (run->carrier)
		carrier_stop(run->carrier);
	probes_stop(run->probes);
	hurry(run, false);
	progress_end(&progress);
	run->detach_ns = clock_now_ns() - before_ns;
	probed_now_ended(&run->now); /* it uses the collector */
	end_notes(&run->voice, run->probes, run->callers, run->carrier);
	if (run->capturing)
		finish_capturing(run, done);
	int write_err = finish_coding(run);
	if (write_err) {
		done->write_err = write_err;
		done->why = STOP_DISK;
	}
	ending_show_progress(run, clock_now_ns(), true);
	ending_say_deaths(run, true);
	if (run->deaths)
		voice_say(&run->voice, "",
			  "does it die without pugmark as well? If not: -N FUNCTION "
			  "leaves a function out; please report the probes above");
}

static void sum_up(struct recording_run *run, int err, struct recorder_result *done)
{
	recorder_result_take(done, recording_writer_totals(run->writer));
	done->exit_status = err ? 127 : exit_status(run);
	done->not_whole = run->now.file_changed || callers_not_whole(run->callers);
	done->lost += probes_counters(run->probes)->hits_without_task;
	done->unplanned = probes_counters(run->probes)->unplanned;
	done->attach_ns = run->attach_ns;
	done->detach_ns = run->detach_ns;
	for (uint32_t m = 0; m < run->options->n_modules; m++)
		done->n_probes += run->options->modules[m].n_sites;
}

/* A command that is not recorded after all does not go on alone: who asked for a recording would
 * find its effects, and none. What it has started meanwhile is not known here, and is not ended. */
static void end_command(struct recording_run *run)
{
	if (run->child.go_fd >= 0 || run->child_ended || !launch_end(&run->child))
		return;
	run->child_ended = true;
	voice_say(&run->voice, "",
		  "the command had begun, and was killed: it cannot be recorded (what "
		  "it has started, if anything, runs on)");
}

int recorder_run(const struct recorder_options *options, struct recorder_result *result,
		 struct pugmark_diag *diag)
{
	struct recording_run run = {
		.options = options,
		.voice = {.options = options},
		.now = {.modules = *options, .voice = &run.voice},
		.signals.fd = -1,
		.notify_fd = -1,
		.nice = getpriority(PRIO_PROCESS, gettid()),
	};
	struct recorder_result done = {0};
	int err = start(&run, diag);

	run.progress = !options->quiet && isatty(STDERR_FILENO);
	run.start_ns = run.shown_ns = run.now.start_ns = clock_now_ns();
	if (!err) {
		probes_enable(run.probes);
		done.probed_from_ns = clock_now_ns();
		err = let_go(&run, diag);
		file_turns_end(&run.turns);
	}
	if (!err && options->begun_fd > 0 && write(options->begun_fd, "", 1) != 1)
		err = pugmark_diag_set(diag, -EPIPE, NULL, PUGMARK_NO_OFFSET,
				       "who waits for this recording is gone");
	if (!err)
		say_begun(&run);
	if (!err)
		err = ending_begin(&run);
	for (unsigned i = 0; !err && i < RECORDER_NOTES; i++)
		if (options->notes[i])
			collector_note(run.collector, options->notes[i]);
	if (!err && options->captures && !probe_links_first_site(options, options->n_modules))
		collector_note(run.collector, "calls were not witnessed: values alone are recorded "
					      "(pugmark values)");
	if (!err)
		done.why = ending_wait(&run);
	else
		end_command(&run);
	if (run.collector)
		stop(&run, &done);
	if (run.writer) {
		sum_up(&run, err, &done);
		int close_err = recording_writer_close(run.writer, &done, err ? NULL : diag);
		if (!err && done.why != STOP_DISK)
			err = close_err;
	}
	run_free(&run);
	if (!err)
		*result = done;
	return err;
}

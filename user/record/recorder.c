// SPDX-License-Identifier: LGPL-2.1-or-later
/* recorder.c: the life of one recording: load, start the command (waiting), attach, take it in, let
 * it go, wait for the end, stop, write the rest. What is opened is closed in run_free(). */
#include "user/record/recorder.h"

#include "user/cli/command.h"
#include "user/cli/progress.h"
#include "user/kernel/probe_links.h"
#include "user/kernel/probes.h"
#include "user/patch/carrier.h"
#include "user/proc/caught_signals.h"
#include "user/proc/launch.h"
#include "user/proc/running.h"
#include "user/record/callers.h"
#include "user/record/collector.h"
#include "user/record/late_modules.h"
#include "user/record/overhead.h"
#include "user/record/recording_writer.h"
#include "user/record/replanner.h"
#include "user/values/capturing.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	TICK_MS = 20,
	SHORT_TICK_MS = 2,
	PROGRESS_NS = 500000000,
	OVERHEAD_NS = 50000000,
	/* In half a second nothing is left of what goes; to remove it takes some of that. */
	PATIENCE_NS = 350000000,
};

struct recording_run {
	const struct recorder_options *options;
	struct recorder_options now; /* with the modules that are probed at present */
	struct overhead *overhead;
	struct late_modules *later;  /* NULL: what is loaded later is not asked for */
	struct callers *callers;     /* NULL: whatever is loaded, the plans hold */
	struct replanner *replanner; /* NULL: what is probed is to stay */
	bool replanning_out;	     /* without functions that cost too much */
	uint64_t checked_ns;
	uint64_t found_ns, gone_ns; /* that something must go; and when no probe of it was left */
	struct text_span spans[BATCH_MODULES];
	struct probes *probes;
	struct recording_writer *writer;
	struct collector *collector;
	struct carrier *carrier;     /* NULL: probes carry everything */
	struct capturing *capturing; /* NULL: not at level values */
	struct launch child;
	char *path;
	struct caught_signals signals;
	int notify_fd;
	uint64_t start_ns, shown_ns, shown_events;
	uint64_t attach_ns, detach_ns;
	bool child_ended, progress;
	bool changed; /* a file that is probed */
	int child_status;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static void run_free(struct recording_run *run)
{
	launch_cancel(&run->child);
	if (run->replanner)
		replanner_finish(run->replanner, NULL, NULL, NULL);
	capturing_free(run->capturing);
	late_modules_free(run->later);
	callers_free(run->callers);
	overhead_free(run->overhead);
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

/* Takes the running processes in. One may have become another program while its plan was made. */
static int adopt_running(struct recording_run *run, struct pugmark_diag *diag)
{
	const struct recorder_options *o = run->options;

	for (uint32_t i = 0; i < o->n_pids; i++) {
		struct stat program, runs;
		char path[32];
		int n = probes_adopt(run->probes, o->pids[i], true, diag);

		if (n < 0)
			return n;
		snprintf(path, sizeof(path), "/proc/%d/exe", o->pids[i]);
		if (!o->pid_programs || stat(o->pid_programs[i], &program))
			continue;
		if (stat(path, &runs))
			return pugmark_diag_set(diag, -ESRCH, NULL, PUGMARK_NO_OFFSET,
						"process %d has just ended", o->pids[i]);
		if (program.st_dev != runs.st_dev || program.st_ino != runs.st_ino)
			return pugmark_diag_set(diag, -ESTALE, NULL, PUGMARK_NO_OFFSET,
						"process %d has just become another program (run "
						"this again to trace that)",
						o->pids[i]);
	}
	return 0;
}

/* Takes in what runs the program now: by itself each would be at its first hit, and its signals
 * before that would not be seen. A filter that keeps one out finds no thread of it. */
static int adopt_found(struct recording_run *run, struct pugmark_diag *diag)
{
	const struct recorder_options *o = run->options;

	for (uint32_t i = 0; o->all && i < o->n_running; i++) {
		if (!running_runs(o->running[i], o->program))
			continue;
		int n = probes_adopt(run->probes, o->running[i], true, diag);
		if (n < 0 && n != -ESRCH)
			return n;
	}
	return 0;
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

/* What planning and placing took is the system's again: recording may go on for days. */
static void give_memory_back(void)
{
#ifdef __GLIBC__
	malloc_trim(0);
#endif
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

static int start(struct recording_run *run, struct pugmark_diag *diag)
{
	const struct recorder_options *o = run->options;
	struct progress progress;
	const char *changed;
	int err = catch_signals(run, diag);

	for (uint32_t m = 0; !err && m < o->n_modules && m < BATCH_MODULES; m++)
		err = text_span_read(o->modules[m].path, &run->spans[m], diag);
	if (!err && o->argv) {
		run->path = launch_resolve(o->argv[0], diag);
		err = run->path ? 0 : -ENOENT;
	}
	if (!err)
		err = probes_load(o, run->spans, &run->probes, diag);
	if (!err && o->argv)
		err = launch(run, diag);
	if (!err && o->changed && (changed = o->changed(o->replan_ctx)))
		err = pugmark_diag_set(diag, -ESTALE, changed, PUGMARK_NO_OFFSET,
				       "it was written to while it was planned (run this again "
				       "when that is done)");
	if (!err)
		tell_removing(run);
	uint64_t before_ns = now_ns();
	if (!err) {
		progress_start(&progress, "placing probes", 0, o->quiet);
		err = probes_attach(run->probes, o, diag);
		progress_end(&progress);
	}
	if (!err && o->captures)
		err = capturing_new(o, run->spans, probes_tasks_fd(run->probes), &run->capturing,
				    diag);
	run->attach_ns = now_ns() - before_ns;
	if (!err && o->argv) {
		int n = probes_adopt(run->probes, run->child.pid, false, diag);
		err = n < 0 ? n : 0;
	}
	if (!err)
		err = adopt_running(run, diag);
	if (!err)
		err = adopt_found(run, diag);
	/* The directory comes last: what fails before leaves the last recording where it is. */
	if (!err)
		err = recording_writer_open(o, run->spans, &run->writer, diag);
	if (!err && o->carrier)
		err = carrier_new(o, run->spans, run->probes, &run->carrier, diag);
	if (!err && o->carrier)
		recording_writer_lanes(run->writer, carrier_lanes(run->carrier));
	if (!err)
		err = collector_start(o, run->probes, run->writer, run->notify_fd, &run->collector,
				      diag);
	if (!err && run->capturing)
		err = capturing_open(run->capturing,
				     recording_writer_create(run->writer, "captures"), diag);
	run->now = *o;
	if (!err && o->max_overhead > 0)
		err = overhead_new(o->max_overhead, run->probes, run->collector, &run->overhead);
	if (!err && o->later)
		err = late_modules_new(o, run->probes, run->collector, &run->later);
	if (!err)
		err = callers_new(o, run->probes, &run->callers);
	give_memory_back();
	return err;
}

static void show_progress(struct recording_run *run, uint64_t time_ns, bool last)
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

/* Takes in what signals say. Returns true where one asks for the end. */
static bool read_signals(struct recording_run *run)
{
	bool asked = caught_signals_read(&run->signals);

	if (run->child.pid > 0 && !run->child_ended &&
	    waitpid(run->child.pid, &run->child_status, WNOHANG) == run->child.pid)
		run->child_ended = true;
	return asked;
}

/* What is said on stderr: the recording's name, @what, @text. */
static void say(const struct recording_run *run, const char *what, const char *text)
{
	command_say(stderr, "pugmark: ", run->options->output, ": ");
	command_say(stderr, what, text, "\n");
}

/* Says what has come and what cannot be done about it. */
static void note(struct recording_run *run, const char *text)
{
	collector_note(run->collector, text);
	if (!run->options->quiet)
		say(run, "", text);
}

/* What was loaded cannot be taken in: the rest goes on as it is. */
static void refuse_later(struct recording_run *run, const struct pugmark_diag *diag)
{
	char text[sizeof(diag->text) + 64];

	snprintf(text, sizeof(text), "what is loaded from here on is not traced: %s", diag->text);
	note(run, text);
	late_modules_free(run->later);
	run->later = NULL;
}

/* Takes all probes away while it is planned. */
static void pause_probes(struct recording_run *run)
{
	if (run->gone_ns)
		return;
	probes_pause(run->probes);
	recording_writer_ended(run->writer, probes_changed_ns(run->probes));
	run->gone_ns = now_ns();
}

/* What was done and how long it took, for the recording. */
static void note_change(struct recording_run *run, double planned_s, double cpu_s,
			uint64_t placing_ns)
{
	char text[240];
	int len = snprintf(text, sizeof(text),
			   "what is probed was changed: planned in %.0f ms (%.0f of processor "
			   "time), placed and removed in %.0f",
			   planned_s * 1e3, cpu_s * 1e3, placing_ns / 1e6);
	if (run->replanning_out)
		snprintf(
			text + len, sizeof(text) - len,
			"; found necessary at %.3f s, no probe of what goes was left %.0f ms later",
			(run->found_ns - run->start_ns) / 1e9,
			(run->gone_ns - run->found_ns) / 1e6);
	collector_note(run->collector, text);
}

/* The new plans are made, or are not. */
static int change_plans(struct recording_run *run, struct pugmark_diag *diag)
{
	struct recorder_options changed;
	char *news;
	double planned_s, cpu_s;
	uint32_t n = run->now.n_modules;

	replanner_took(run->replanner, &planned_s, &cpu_s);
	int err = replanner_finish(run->replanner, &changed, &news, diag);
	uint64_t before_ns = now_ns();
	run->replanner = NULL;
	if (news)
		note(run, news);
	free(news);
	if (err == -EALREADY && (!run->replanning_out || !run->gone_ns))
		return 0;
	if (err == -EALREADY) /* but its probes are gone: they come back */
		changed = run->now;
	else if (run->replanning_out && !err)
		collector_note(run->collector, overhead_words(run->overhead));
	err = err == -EALREADY ? 0 : err;
	for (; !err && n < changed.n_modules && n < BATCH_MODULES; n++)
		err = text_span_read(changed.modules[n].path, &run->spans[n], diag);
	if (!err)
		err = recording_writer_change(run->writer, &changed, run->spans, diag);
	if (!err)
		err = probes_change(run->probes, &changed, run->spans, diag);
	if (err)
		return err;
	recording_writer_began(run->writer, probes_changed_ns(run->probes));
	uint64_t after_ns = now_ns();
	run->gone_ns = run->gone_ns ? run->gone_ns : after_ns;
	note_change(run, planned_s, cpu_s, after_ns - before_ns);
	run->now = changed;
	if (run->overhead)
		overhead_restart(run->overhead);
	return 0;
}

/* While it is planned without what is taken out, what is probed stays: but not for long. */
static int follow_planning(struct recording_run *run, uint64_t time_ns, struct pugmark_diag *diag)
{
	if (replanner_done(run->replanner)) {
		run->checked_ns = now_ns();
		int err = change_plans(run, diag);
		if (!err || run->overhead)
			return err;
		refuse_later(run, diag);
		return 0;
	}
	if (run->replanning_out && time_ns - run->found_ns > PATIENCE_NS)
		pause_probes(run);
	return 0;
}

static int begin_planning(struct recording_run *run, struct replan_request *request)
{
	uint32_t n = 0;

	if (run->overhead)
		request->out = overhead_taken(run->overhead, &n);
	request->n_out = n;
	run->replanning_out = request->more_out;
	return replanner_start(run->options, &run->now, request,
			       request->more_out ? run->overhead : NULL, &run->replanner);
}

static int check_overhead(struct recording_run *run, uint64_t time_ns)
{
	struct replan_request request = {.more_out = true};
	int more = overhead_check(run->overhead, &run->now);

	run->checked_ns = time_ns;
	if (more <= 0)
		return more;
	run->found_ns = time_ns;
	run->gone_ns = 0;
	int err = begin_planning(run, &request);
	if (!err && overhead_is_far(run->overhead)) /* takes as long as planning */
		pause_probes(run);
	return err;
}

static int check_later(struct recording_run *run, uint64_t time_ns)
{
	struct replan_request request = {0};

	request.n_pids = late_modules_processes(run->later, time_ns, &request.pids);
	if (!request.n_pids)
		return 0;
	int err = begin_planning(run, &request);
	late_modules_done(run->later);
	return err;
}

/* What is probed follows what it costs, and what is loaded. Returns 0, or -errno: no plan could be
 * put in the place of one that is gone. */
static int follow(struct recording_run *run, uint64_t time_ns)
{
	struct pugmark_diag diag = {.text = "out of memory"};
	int err = 0;

	if (run->replanner)
		err = follow_planning(run, time_ns, &diag);
	else if (run->overhead && time_ns - run->checked_ns >= OVERHEAD_NS)
		err = check_overhead(run, time_ns);
	if (!err && !run->replanner && run->later)
		err = check_later(run, time_ns);
	if (err && !run->options->quiet)
		say(run, "planning anew: ", diag.text);
	return err;
}

/* A file that is probed was written to, or is about to be: the probes go, for they would stand in
 * the middle of other instructions, and then whoever waits may go on. What runs is not traced from
 * then on. Returns whether that is so. */
static bool check_files(struct recording_run *run)
{
	const struct recorder_options *o = run->options;
	const char *name = run->replanner || !o->changed ? NULL : o->changed(o->replan_ctx);
	char text[512];

	if (run->changed || !name)
		return run->changed;
	run->changed = true;
	pause_probes(run);
	o->release(o->replan_ctx);
	snprintf(text, sizeof(text),
		 "%.400s was written to while it was probed: from here on nothing is traced "
		 "(record again)",
		 name);
	note(run, text);
	return true;
}

static enum recorder_stop wait_for_end(struct recording_run *run)
{
	const struct recorder_options *o = run->options;
	const volatile struct batch_counters *counters = probes_counters(run->probes);

	if (o->max_overhead > 0) /* when probes must go, it does not wait for a processor */
		setpriority(PRIO_PROCESS, gettid(), -20);
	for (;;) {
		struct pollfd fds[] = {{run->signals.fd, POLLIN, 0},
				       {run->notify_fd, POLLIN, 0},
				       {run->later ? late_modules_fd(run->later) : -1, POLLIN, 0},
				       {callers_fd(run->callers), POLLIN, 0}};

		/* While it is planned, mappings wait. */
		poll(fds, run->replanner ? 2 : 4, run->replanner ? SHORT_TICK_MS : TICK_MS);
		uint64_t time_ns = now_ns();
		callers_look(run->callers, run->collector);
		if (read_signals(run))
			return STOP_SIGNAL;
		if (collector_error(run->collector))
			return STOP_DISK;
		if (o->duration_ns && time_ns - run->start_ns >= o->duration_ns)
			return STOP_DURATION;
		/* What the command started is part of it. */
		if (!counters->live && (o->argv ? run->child_ended : o->n_pids > 0))
			return STOP_EXIT;
		/* What captures values has probes of its own, which go at the end. */
		if (!run->changed && check_files(run) && run->capturing)
			return STOP_CHANGED;
		if (!run->changed && follow(run, time_ns))
			return STOP_OVERHEAD;
		show_progress(run, time_ns, false);
	}
}

static int exit_status(struct recording_run *run)
{
	if (!run->options->argv)
		return 0;
	/* After Ctrl-C it is on its way, unless it has other plans. */
	for (int i = 0; i < 50 && !run->child_ended; i++) {
		read_signals(run);
		if (!run->child_ended)
			usleep(20000);
	}
	if (!run->child_ended)
		return 0;
	return WIFSIGNALED(run->child_status) ? 128 + WTERMSIG(run->child_status)
					      : WEXITSTATUS(run->child_status);
}

static void note_counters(struct recording_run *run)
{
	const volatile struct batch_counters *k = probes_counters(run->probes);
	char text[512];

	if (k->unplanned) {
		snprintf(text, sizeof(text),
			 "not recorded: %llu events in processes that the plan of a library does "
			 "not hold for: they run another program, or something else that is loaded "
			 "defines functions of the library (name it with --plugin)",
			 (unsigned long long)k->unplanned);
		collector_note(run->collector, text);
	}
	if (k->stacks_cut) {
		snprintf(
			text, sizeof(text),
			"of %llu thread%s the stack was not copied to its end when it was attached "
			"to: which calls were in progress further out is not known (a larger "
			"--ring helps)",
			(unsigned long long)k->stacks_cut, k->stacks_cut == 1 ? "" : "s");
		note(run, text);
	}
	if (!k->process_lost && !k->hits_without_task && !k->snapshots_lost && !k->untracked)
		return;
	snprintf(text, sizeof(text),
		 "not recorded: %llu steps of processes, %llu hits of tasks without a state, %llu "
		 "stack snapshots, %llu processes that were not followed",
		 (unsigned long long)k->process_lost, (unsigned long long)k->hits_without_task,
		 (unsigned long long)k->snapshots_lost, (unsigned long long)k->untracked);
	collector_note(run->collector, text);
}

static void note_callers(struct recording_run *run)
{
	char *words = callers_words(run->callers, run->collector);

	if (words)
		note(run, words);
	free(words);
}

/* Probes are on the file that was there at the beginning. */
static void note_replaced(struct recording_run *run)
{
	const struct recorder_options *o = run->options;
	char text[512];

	if (!o->all || !running_is_replaced(o->program, o->program_name))
		return;
	snprintf(text, sizeof(text),
		 "%.400s was replaced: what runs the new file is not traced (record again)",
		 o->program_name);
	note(run, text);
}

static void note_detached(struct recording_run *run)
{
	char *words = run->carrier ? carrier_stop_words(run->carrier) : NULL;

	if (words)
		note(run, words);
	free(words);
}

/* The program is patched before any of it runs, but for its dynamic linker. */
static void patch_program(struct recording_run *run)
{
	run->child_ended =
		carrier_start(run->carrier, run->child.pid, &run->child_status) == -ESRCH;
	char *words = carrier_words(run->carrier);

	if (words)
		note(run, words);
	free(words);
}

/* Where no progress shows it. What a command itself prints is not mixed with that. */
static void say_begun(const struct recording_run *run)
{
	const struct recorder_options *o = run->options;

	if (!o->quiet && !run->progress && !o->argv)
		say(run, "recording", o->duration_ns ? "" : " (SIGINT ends it)");
}

/* The command becomes the program. At level values it stops where that begins, or what runs already
 * stops for a moment. */
static int let_go(struct recording_run *run, struct pugmark_diag *diag)
{
	int err = 0;

	if (!run->options->argv && run->capturing) {
		uint64_t stopped_ns;
		char text[80];

		err = capturing_attach(run->capturing, run->options->pids[0], &stopped_ns, diag);
		snprintf(text, sizeof(text), "stopped for %.1f ms while its memory was read",
			 err ? 0 : stopped_ns / 1e6);
		if (!err)
			note(run, text);
		return err;
	}
	if (!run->options->argv)
		return 0;
	if (run->capturing)
		err = capturing_before(run->capturing, run->child.pid, diag);
	if (!err && run->carrier)
		err = carrier_seize(run->carrier, run->child.pid, diag);
	if (!err)
		err = launch_go(&run->child, run->path, diag);
	if (!err && run->capturing)
		err = capturing_begin(run->capturing, run->child.pid, diag);
	if (!err && run->carrier)
		patch_program(run);
	return err;
}

/* Writes what is left of the captures. */
static void finish_capturing(struct recording_run *run, struct recorder_result *done)
{
	char *text;
	int err = capturing_finish(run->capturing, &done->captures, &done->capture_bytes, &text);

	if (text)
		note(run, text);
	free(text);
	if (err && done->why != STOP_DISK) {
		done->why = STOP_DISK;
		done->write_err = err;
	}
}

int recorder_run(const struct recorder_options *options, struct recorder_result *result,
		 struct pugmark_diag *diag)
{
	struct recording_run run = {.options = options, .signals.fd = -1, .notify_fd = -1};
	struct recorder_result done = {0};
	int err = start(&run, diag);

	run.progress = !options->quiet && isatty(STDERR_FILENO);
	run.start_ns = run.shown_ns = now_ns();
	if (!err) {
		probes_enable(run.probes);
		err = let_go(&run, diag);
	}
	if (!err)
		say_begun(&run);
	if (!err && options->note)
		collector_note(run.collector, options->note);
	if (!err && options->captures && !probe_links_first_site(options, options->n_modules))
		collector_note(run.collector, "calls were not witnessed: values alone are recorded "
					      "(pugmark values)");
	if (!err)
		done.why = wait_for_end(&run);
	if (run.collector) {
		struct progress progress;
		uint64_t before_ns = now_ns();

		check_files(&run);
		progress_start(&progress, "removing probes", 0, options->quiet);
		if (run.carrier)
			carrier_stop(run.carrier);
		probes_stop(run.probes);
		progress_end(&progress);
		run.detach_ns = now_ns() - before_ns;
		if (run.replanner) /* it uses the collector */
			replanner_finish(run.replanner, NULL, NULL, NULL);
		run.replanner = NULL;
		note_counters(&run);
		note_detached(&run);
		note_callers(&run);
		note_replaced(&run);
		if (run.capturing)
			finish_capturing(&run, &done);
		int write_err = collector_finish(run.collector);
		if (write_err) {
			done.write_err = write_err;
			done.why = STOP_DISK;
		}
		show_progress(&run, now_ns(), true);
	}
	if (run.writer) {
		const struct recording_totals *t = recording_writer_totals(run.writer);

		done.exit_status = err ? 127 : exit_status(&run);
		done.not_whole = run.changed || callers_not_whole(run.callers);
		done.events = t->events;
		done.lost = t->lost + probes_counters(run.probes)->hits_without_task;
		done.unplanned = probes_counters(run.probes)->unplanned;
		done.tasks = t->tasks;
		done.segments = t->segments;
		done.bytes = t->bytes;
		done.attach_ns = run.attach_ns;
		done.detach_ns = run.detach_ns;
		for (uint32_t m = 0; m < options->n_modules; m++)
			done.n_probes += options->modules[m].n_sites;
		int close_err = recording_writer_close(run.writer, &done, err ? NULL : diag);
		if (!err && done.why != STOP_DISK)
			err = close_err;
	}
	run_free(&run);
	if (!err)
		*result = done;
	return err;
}

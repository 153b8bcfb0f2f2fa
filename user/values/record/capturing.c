// SPDX-License-Identifier: LGPL-2.1-or-later
/* capturing.c: see capturing.h. One thread drains the ring, by the processor time that others
 * leave; the recorder's own stops the program and writes its start. */
#include "user/values/record/capturing.h"

#include "user/kernel/ring.h"
#include "user/proc/living_thread.h"
#include "user/proc/memory_sharing.h"
#include "user/values/record/capture_calls.h"
#include "user/values/record/capture_programs.h"
#include "user/values/write/capture_writer.h"
#include "user/values/stop/clock_removal.h"
#include "user/values/record/drain_priority.h"
#include "user/values/stop/freeze.h"
#include "user/values/stop/one_processor.h"
#include "user/values/record/processor_leaves.h"
#include "user/values/record/thinning.h"
#include "user/values/start/start_image.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum {
	POLL_MIN_NS = 1000000,
	POLL_MAX_NS = 8000000,
	POLL_SHARE =
		64, /* of the ring: while less than that comes between two looks, they move apart */
	POLL_LANE_SHARE = 32, /* the same, of a lane */
	FLUSH_NS = 1000000000,
};

struct capturing {
	const struct recorder_options *options;
	struct capture_programs *programs;
	struct capture_writer *writer;
	struct start_image *image;
	struct start_options start;
	struct ring_reader *ring;
	struct drain_priority *priority; /* of the thread */
	struct thinning *thinning;	 /* NULL: places are watched as long as all else */
	pthread_t thread;
	bool runs;
	atomic_bool has_no_vdso; /* the process, or it notes itself what that tells */
	struct clock_calls clocks;
	struct capture_calls calls;
	struct one_processor *processor; /* NULL: threads run where they like */
	bool thinned;			 /* places are watched no longer; read at the end */
	atomic_bool ends;
	bool broken;	  /* the ring held what nobody writes; read once the thread has ended */
	uint32_t n_files; /* that the table says */
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

int capturing_new(const struct recorder_options *options, const struct text_span *spans,
		  int tasks_fd, struct capturing **out, struct pugmark_diag *diag)
{
	struct capturing *c = calloc(1, sizeof(*c));
	int err = -ENOMEM;

	if (c) {
		c->options = options;
		c->start = (struct start_options){
			.no_memory = options->no_memory,
			.redaction = {options->redact, options->n_redact},
		};
		err = capture_programs_load(options, spans, tasks_fd, &c->programs, diag);
		c->calls = (struct capture_calls){.stubs = options->stubs, .programs = c->programs};
	}
	if (!err)
		err = capture_programs_attach(c->programs, options->captures, options->modules,
					      diag);
	if (err) {
		capturing_free(c);
		return err;
	}
	*out = c;
	return 0;
}

/* Takes what has come. Returns how many bytes that were. */
static size_t take(struct capturing *c)
{
	unsigned long before = ring_read(c->ring);

	capture_writer_begin(c->writer, now_ns());
	unsigned long until = ring_written(c->ring);
	c->broken |= ring_consume(c->ring) == -EBADMSG;
	/* One that is being written keeps those behind it, which may tell of notes. */
	bool all = (long)(ring_read(c->ring) - until) >= 0;
	capture_writer_end(c->writer, all);
	bool many = capture_writer_much_came(c->writer, POLL_LANE_SHARE);
	return many ? ring_size(c->ring) : ring_read(c->ring) - before;
}

/* Each look takes a processor from what is recorded, so there are no more than the ring has room
 * for. A file that was mapped is looked at soon, while its name may lead to it: then the kernel
 * wakes @epoll. */
static uint64_t wait_for_more(struct capturing *c, int epoll, size_t came, uint64_t wait_ns)
{
	struct epoll_event event;
	uint64_t next = came > ring_size(c->ring) / POLL_SHARE ? POLL_MIN_NS
			: wait_ns * 2 > POLL_MAX_NS	       ? POLL_MAX_NS
							       : wait_ns * 2;

	if (epoll < 0 || epoll_wait(epoll, &event, 1, (int)(next / POLL_MIN_NS)) < 0)
		nanosleep(&(struct timespec){.tv_nsec = POLL_MIN_NS}, NULL);
	return next;
}

/* Only what the kernel wakes for counts, not what lies there. */
static int open_epoll(const struct capturing *c)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};
	int fd = epoll_create1(EPOLL_CLOEXEC);

	if (fd >= 0 &&
	    epoll_ctl(fd, EPOLL_CTL_ADD, capture_programs_ring_fd(c->programs), &event)) {
		close(fd);
		return -1;
	}
	return fd;
}

static void *drain_main(void *context)
{
	struct capturing *c = context;
	int epoll = open_epoll(c);
	uint64_t wait_ns = POLL_MIN_NS, flushed_ns = now_ns();

	for (;;) {
		bool ends = c->ends;

		size_t came = take(c);
		uint64_t time_ns = now_ns();
		if (time_ns - flushed_ns > FLUSH_NS) {
			capture_writer_flush(c->writer, time_ns, FLUSH_NS);
			flushed_ns = time_ns;
		}
		if (ends)
			break;
		drain_priority_rest(c->priority);
		wait_ns = wait_for_more(c, epoll, came, wait_ns);
	}
	if (epoll >= 0)
		close(epoll);
	return NULL;
}

static bool much_is_noted(const void *writer, uint32_t share)
{
	return capture_writer_much_noted(writer, share);
}

int capturing_open(struct capturing *c, int fd, struct pugmark_diag *diag)
{
	int err = capture_writer_open(fd, c->options->check_every, &c->writer, diag);

	if (err)
		return err;
	c->calls.writer = c->writer;
	capture_writer_redact(c->writer, &c->start.redaction);
	c->image = start_image_new(&c->start, c->writer);
	c->ring = ring_open(capture_programs_ring_fd(c->programs), capture_writer_ring, c->writer);
	err = c->image && c->ring ? 0 : -ENOMEM;
	if (!err) {
		capture_writer_resolve(c->writer, start_image_file_of, c->image);
		c->priority = drain_priority_begin(c->ring, capture_programs_ring_fd(c->programs),
						   much_is_noted, c->writer);
		err = -pthread_create(&c->thread, NULL, drain_main, c);
		c->runs = !err;
	}
	if (!err && c->options->thin)
		c->thinning = thinning_begin(c->programs, &c->has_no_vdso);
	return err ? pugmark_diag_set(diag, err, NULL, PUGMARK_NO_OFFSET,
				      "starting to read captures: %s", strerror(-err))
		   : 0;
}

static json_t *places_json(const struct place_list *places, const struct capture_programs *programs)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < places->n; i++) {
		const struct capture_place *p = &places->at[i].place;
		int flags = p->flags | (capture_programs_thinned(programs, i) ? PLACE_THINNED : 0);

		json_t *import = json_string(p->import);
		if (!import) /* not UTF-8: no name that any table knows */
			import = json_string("?");
		json_array_append_new(list,
				      json_pack("[i,I,I,I,i,i,o]", p->module, (json_int_t)p->addr,
						(json_int_t)p->site, (json_int_t)p->site_next,
						p->kinds, flags, import));
	}
	return list;
}

/* Where each module is by now goes into what is said of it. */
static int write_table(struct capturing *c)
{
	const struct capture_plan *plan = c->options->captures;

	for (uint32_t m = 0; m < plan->n_modules; m++) {
		uint64_t bias;

		if (start_image_bias(c->image, c->options->modules[m].path, &bias))
			json_object_set_new(json_array_get(plan->modules, m), "bias",
					    json_integer((json_int_t)bias));
	}
	c->n_files = kept_files_count(start_image_files(c->image));
	json_t *table = json_pack(
		"{s:i,s:b,s:b,s:O,s:o,s:o,s:o,s:o}", "version", 1, "whole", 1, "final", 0,
		"modules", plan->modules, "places", places_json(&plan->places, c->programs),
		"mappings", start_image_mappings(c->image), "files",
		kept_files_list(start_image_files(c->image)), "processor", processor_leaves());
	char *text = table ? json_dumps(table, JSON_COMPACT) : NULL;
	if (text)
		capture_writer_table(c->writer, text, strlen(text));
	json_decref(table);
	free(text);
	return text ? 0 : -ENOMEM;
}

int capturing_before(struct capturing *c, pid_t pid, struct pugmark_diag *diag)
{
	(void)c;
	return entry_stop_begin(pid, diag);
}

/* The starts of the stopped threads @tids. */
static int write_starts(struct capturing *c, const pid_t *tids, uint32_t n,
			struct pugmark_diag *diag)
{
	struct task_number *tasks = NULL;
	uint32_t n_tasks = 0;
	int err = capture_programs_tasks(c->programs, &tasks, &n_tasks);

	if (err)
		return pugmark_diag_set(diag, err, NULL, PUGMARK_NO_OFFSET,
					"looking for the recorded tasks: %s", strerror(-err));
	for (uint32_t i = 0; !err && i < n; i++) {
		struct capture start;
		uint32_t task = 0;

		err = start_image_registers(c->image, tids[i], &start, diag);
		if (!err && (err = task_number_of(tasks, n_tasks, tids[i], &task)))
			pugmark_diag_set(diag, err, NULL, PUGMARK_NO_OFFSET,
					 "thread %d is not recorded", tids[i]);
		if (err)
			break;
		start.time_ns = now_ns();
		capture_writer_start(c->writer, task, &start);
	}
	free(tasks);
	return err;
}

/* Where that cannot be, the places behind calls that read a clock are watched on. */
static void note_clocks(struct capturing *c, pid_t pid, const struct frozen *frozen)
{
	/* Threads of another process that has the memory run while its code would be changed. */
	if (memory_sharing(pid) || clock_calls_place(pid, frozen->tids, frozen->n, &c->clocks))
		return;
	capture_writer_clocks(c->writer, &c->clocks);
	capture_programs_clocks(c->programs, c->clocks.area);
	c->has_no_vdso = true;
}

static int share_processor(struct capturing *c, pid_t pid, struct pugmark_diag *diag)
{
	return c->options->one_processor ? one_processor_begin(pid, &c->processor, diag) : 0;
}

struct attachment {
	struct capturing *c;
	pid_t pid, seen; /* a first thread that has ended has no memory: another is seen */
	uint64_t stood_ns;
	bool alone; /* begin(): there is no other thread */
	struct pugmark_diag *diag;
};

static int attach_frozen(void *ctx, const struct frozen *frozen)
{
	struct attachment *a = ctx;
	struct capturing *c = a->c;

	a->stood_ns = now_ns();
	a->seen = frozen->tids[0];
	/* What is left of another recorder would be taken for code that the process has made. */
	if (!memory_sharing(a->seen) && !call_patches_clear(a->seen, frozen->tids, frozen->n))
		clock_calls_clear(a->seen, frozen->tids, frozen->n);
	int err = start_image_memory(c->image, a->seen, a->diag);
	if (start_image_has_code(c->image))
		capture_programs_code(c->programs);
	if (!err)
		err = write_starts(c, frozen->tids, frozen->n, a->diag);
	if (!err)
		note_clocks(c, a->seen, frozen);
	if (!err)
		err = capture_calls_begin(&c->calls, &c->clocks, a->seen, frozen->tids, frozen->n,
					  a->diag);
	if (!err)
		err = share_processor(c, a->pid, a->diag);
	if (!err)
		capture_programs_enable(c->programs, true);
	return err;
}

static int attach(struct capturing *c, pid_t pid, uint64_t *stopped_ns, struct pugmark_diag *diag)
{
	struct attachment a = {.c = c, .pid = pid, .diag = diag};
	int err =
		start_image_room(c->image, living_thread(pid), c->options->max_memory_bytes, diag);

	if (err)
		return err;
	capture_calls_find(&c->calls, living_thread(pid));
	uint64_t before_ns = now_ns();
	err = freeze(pid, attach_frozen, &a, diag);
	*stopped_ns = now_ns() - before_ns;
	if (err)
		return err;
	start_image_write(c->image, a.seen, a.stood_ns);
	err = write_table(c);
	return err ? pugmark_diag_set(diag, err, NULL, PUGMARK_NO_OFFSET, "%s", strerror(-err)) : 0;
}

int capturing_attach(struct capturing *c, pid_t pid, uint64_t *stopped_ns,
		     struct pugmark_diag *diag)
{
	drain_priority_allow(c->priority, false);
	int err = attach(c, pid, stopped_ns, diag);
	drain_priority_allow(c->priority, true);
	return err;
}

/* All that was needed of the process that stands is there: what it does from here on is captured.
 */
static int let_begin(struct capturing *c, pid_t pid, struct pugmark_diag *diag)
{
	int err = share_processor(c, pid, diag);

	if (!err)
		capture_programs_enable(c->programs, true);
	return err;
}

/* The first thread stands at the entry point, and so do those that libraries' constructors have
 * begun, @others: with them system calls are seen by hooks, as no thread may use ptrace on all. */
static int begin_frozen(void *ctx, const struct frozen *others)
{
	struct attachment *a = ctx;
	struct capturing *c = a->c;
	int err = start_image_memory(c->image, a->pid, a->diag);

	a->alone = !others->n;
	if (!err) {
		start_image_write(c->image, a->pid, a->stood_ns);
		err = write_table(c);
	}
	if (err || a->alone)
		return err;
	capture_calls_by_hooks(&c->calls, "its libraries had begun threads before its entry point");
	err = write_starts(c, others->tids, others->n, a->diag);
	if (!err)
		err = capture_calls_begin(&c->calls, &c->clocks, a->pid, NULL, 0, a->diag);
	return err ? err : let_begin(c, a->pid, a->diag);
}

static int begin(struct capturing *c, pid_t pid, const struct entry_patience *patience,
		 struct pugmark_diag *diag)
{
	struct attachment a = {.c = c, .pid = pid, .diag = diag};
	int err = entry_stop_wait(pid, patience, diag);

	if (err)
		return err;
	a.stood_ns = now_ns();
	c->has_no_vdso = true;
	err = write_starts(c, &pid, 1, diag);
	if (!err)
		err = freeze_others(pid, begin_frozen, &a, diag);
	if (!err && a.alone) {
		capture_calls_find(&c->calls, pid);
		err = capture_calls_begin(&c->calls, &c->clocks, pid, &pid, 1, diag);
		err = err ? err : let_begin(c, pid, diag);
	}
	if (!err)
		entry_stop_end(pid);
	return err;
}

/* Gives back what threads and processes were changed by. Says to @out where that could not be. */
static void give_back(struct capturing *c, FILE *out)
{
	enum { LOOKS = 2 }; /* a thread may have been begun meanwhile */
	for (int look = 0; c->processor && look < LOOKS; look++) {
		struct task_number *tasks = NULL;
		uint32_t n = 0;

		if (capture_programs_tasks(c->programs, &tasks, &n))
			break;
		for (uint32_t i = 0; i < n; i++)
			if (tasks[i].tid)
				one_processor_give_back(c->processor, (pid_t)tasks[i].tid);
		free(tasks);
	}
	unsigned stay = one_processor_end(c->processor);
	c->processor = NULL;
	if (stay)
		fprintf(out,
			"%u thread%s on one processor, as the kernel refuses to give %s others "
			"(taskset -acp LIST PID does); ",
			stay, stay == 1 ? " stays" : "s stay", stay == 1 ? "it" : "them");
	unsigned left = clock_removal(&c->clocks);
	c->clocks = (struct clock_calls){0};
	if (left)
		fprintf(out,
			"what notes the clock stays in %u process%s, which a thread stands in, a "
			"system call filter guards or a debugger holds, which have one memory, or "
			"which could not be looked at; ",
			left, left == 1 ? "" : "es");
}

/* Of the texts in @text nothing follows the last one; NULL where there is none. */
static void end_words(char **text, size_t len)
{
	if (*text && len >= strlen("; ")) {
		(*text)[len - strlen("; ")] = 0;
	} else {
		free(*text);
		*text = NULL;
	}
}

int capturing_error(const struct capturing *c)
{
	return c->writer ? capture_writer_error(c->writer) : 0;
}

int capturing_begin(struct capturing *c, pid_t pid, const struct entry_patience *patience,
		    struct pugmark_diag *diag)
{
	int err = begin(c, pid, patience, diag);

	drain_priority_allow(c->priority, true);
	return err;
}

static void end_draining(struct capturing *c)
{
	c->thinned |= thinning_end(c->thinning);
	c->thinning = NULL;
	if (c->runs) {
		c->ends = true;
		drain_priority_hurry(c->priority);
		pthread_join(c->thread, NULL);
		c->runs = false;
	}
	drain_priority_end(c->priority);
	c->priority = NULL;
}

/* One moment is the end for all threads. While this one has the processor that they share, each of
 * them stands: where, it has told as it lost the processor, or as it called the kernel. */
static void end_capturing(struct capturing *c)
{
	if (c->processor)
		one_processor_take(c->processor);
	capture_programs_enable(c->programs, false);
	if (c->processor)
		one_processor_leave(c->processor);
}

int capturing_finish(struct capturing *c, uint64_t *records, uint64_t *bytes, char **text)
{
	struct capture_counters n;
	size_t len = 0;
	int table_err = 0;

	*text = NULL;
	FILE *words = open_memstream(text, &len);
	if (!words)
		return -ENOMEM;
	capture_calls_stop(&c->calls);
	end_capturing(c);
	capture_programs_end(c->programs); /* if not, what others do at the end is assumed */
	capture_calls_end(&c->calls, words);
	give_back(c, words);
	capture_programs_counters(c->programs, &n);
	end_draining(c);
	capture_calls_finish(&c->calls, words);
	if (c->image &&
	    (c->thinned || kept_files_count(start_image_files(c->image)) != c->n_files ||
	     kept_files_changed(start_image_files(c->image))))
		table_err = write_table(c);
	/* Behind what stood damaged in the ring nothing was taken. */
	if (!c->broken || table_err)
		capture_writer_table_final(c->writer, table_err);
	if (n.lost + n.without_task || c->broken)
		fprintf(words,
			"%llu captures were lost (a larger --ring helps) and %llu were of tasks "
			"without a state%s: values are not known behind them; ",
			(unsigned long long)n.lost, (unsigned long long)n.without_task,
			c->broken ? ", and others stood in the ring damaged" : "");
	if (n.unseen)
		fprintf(words,
			"%llu times it is not known where or when a thread lost the processor: "
			"threads that run beside others are executed apart from there on; ",
			(unsigned long long)n.unseen);
	if (c->image && c->options->no_memory && !start_image_no_memory_matched(c->image))
		fputs("no mapping, at the start or of a file later, has a name that --no-memory "
		      "matches: it has hidden nothing; ",
		      words);
	fclose(words);
	end_words(text, len);
	capture_writer_lost(c->writer, n.lost);
	int err = capture_writer_close(c->writer, records, bytes);
	c->writer = NULL;
	return err;
}

void capturing_free(struct capturing *c)
{
	if (!c)
		return;
	end_draining(c);
	one_processor_end(c->processor);
	clock_removal(&c->clocks);
	capture_calls_end(&c->calls, NULL);
	capture_programs_free(c->programs);
	ring_close(c->ring);
	start_image_free(c->image);
	capture_writer_close(c->writer, NULL, NULL);
	capture_calls_deinit(&c->calls);
	free(c);
}

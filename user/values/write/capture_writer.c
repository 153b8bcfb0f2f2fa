// SPDX-License-Identifier: LGPL-2.1-or-later
/* capture_writer.c: records of the ring, sorted by task, become segments. The numbers in records of
 * the ring tell where one found it full. What else is done on the way: notes are decoded
 * (capture_notes.h), ranges of bytes wait for their record (capture_ranges.h), what must not be
 * kept is taken away (redaction.h), and segments go to the file (segments_out.h). */
#include "user/values/write/capture_writer.h"

#include "offline/base/varint.h"
#include "offline/capture/capture_code.h"
#include "offline/capture/capture_ring.h"
#include "offline/capture/channels.h"
#include "offline/log/segment.h"
#include "user/values/calls/call_threads.h"
#include "user/values/clock/clock_record.h"
#include "user/values/write/call_notes.h"
#include "user/values/write/clock_notes.h"
#include "user/values/write/capture_notes.h"
#include "user/values/write/capture_ranges.h"
#include "user/values/write/segments_out.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct capture_task {
	uint32_t task;
	uint64_t ring_number; /* that the next record of the ring has */
	uint64_t records;     /* in segments before */
	uint64_t checked;     /* how many could have had a hash */
	uint64_t first_ns, last_ns;
	struct capture_encoder *encoder; /* NULL: it has no record, or none behind its END */
	struct capture_ranges ranges;	 /* that have come before their record */
	struct capture off;		 /* where it lost the processor */
	bool is_off;			 /* and has not got it back */
	bool shown;			 /* the content of the next system call may be kept */
	bool ended;			 /* its last record is its END */
	struct clock_asked asked;
	struct clock_notes *clocks; /* that the process keeps; NULL: not asked yet */
	uint64_t clock_next;	    /* of these */
	uint64_t last_order;
	struct bytes channels; /* notes of them that wait, */
	uint32_t n_channels;   /* how many, and how many are in segments before */
	uint64_t channels_before;
	struct channel_note last_channel;
};

struct capture_writer {
	/* Of the tasks, while a record is taken, which may ask for a file. What is seen of that
	 * file goes to the segments meanwhile, which have a lock of their own, below. */
	pthread_mutex_t lock;
	struct segments_out *out;
	uint32_t check_every;
	uint64_t records;
	uint64_t lost, lost_told;    /* captures that the ring had no room for; by their numbers */
	struct capture_task **tasks; /* by number */
	uint32_t n_tasks;
	uint32_t (*file_of)(void *ctx, const struct mapped_file *file);
	void *file_ctx;
	struct opened_files *opened;
	struct redaction redaction; /* n 0: nothing is hidden */
	bool final;		    /* the last table is of the end, which is still to be said */
	struct clock_calls clocks;
	const struct call_patches *patches; /* NULL: the kernel tells of all calls */
	struct call_notes *notes;
};

int capture_writer_open(int fd, uint32_t check_every, struct capture_writer **out,
			struct pugmark_diag *diag)
{
	struct capture_writer *w = NULL;
	int err = fd < 0 ? fd : -ENOMEM;

	if (fd >= 0 && (w = calloc(1, sizeof(*w))) && (w->opened = opened_files_new()))
		err = segments_out_open(fd, &w->out);
	else if (fd >= 0)
		close(fd);
	if (err) {
		if (w)
			opened_files_free(w->opened);
		free(w);
		return pugmark_diag_set(diag, err, NULL, PUGMARK_NO_OFFSET,
					"making the file `captures`: %s", strerror(-err));
	}
	w->check_every = check_every;
	pthread_mutex_init(&w->lock, NULL);
	*out = w;
	return 0;
}

void capture_writer_redact(struct capture_writer *w, const struct redaction *redaction)
{
	w->redaction = *redaction;
}

void capture_writer_clocks(struct capture_writer *w, const struct clock_calls *calls)
{
	w->clocks = *calls;
}

int capture_writer_calls(struct capture_writer *w, const struct call_patches *patches)
{
	struct call_notes *notes = patches ? call_notes_open(patches) : NULL;

	if (patches && !notes)
		return -ENOMEM;
	pthread_mutex_lock(&w->lock);
	w->patches = patches;
	/* Others may look at it without the lock: it is opened once. */
	if (notes)
		__atomic_store_n(&w->notes, notes, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&w->lock);
	return 0;
}

static void fail(struct capture_writer *w, int err)
{
	segments_out_fail(w->out, err);
}

static struct capture_task *task_of(struct capture_writer *w, uint32_t task)
{
	if (task >= w->n_tasks) {
		uint32_t n = task < 64 ? 64 : 2 * task;
		struct capture_task **tasks = realloc(w->tasks, n * sizeof(*tasks));

		if (!tasks)
			return NULL;
		memset(tasks + w->n_tasks, 0, (n - w->n_tasks) * sizeof(*tasks));
		w->tasks = tasks;
		w->n_tasks = n;
	}
	if (!w->tasks[task]) {
		struct capture_task *t = calloc(1, sizeof(*t));

		if (!t)
			return NULL;
		t->task = task;
		w->tasks[task] = t;
	}
	return w->tasks[task];
}

static void finish_channels(struct capture_writer *w, struct capture_task *t)
{
	struct segment_header h = {
		.kind = CAPTURE_SEGMENT_CHANNELS,
		.task = t->task,
		.first_event = t->channels_before,
		.n = t->n_channels,
		.raw_bytes = t->channels.len,
	};

	if (t->channels.failed)
		fail(w, -ENOMEM);
	else if (h.n)
		segments_out_append(w->out, &h, t->channels.data);
	t->channels_before += t->n_channels;
	t->n_channels = 0;
	t->channels.len = 0;
	t->last_channel = (struct channel_note){0};
}

static void add_channel(struct capture_writer *w, struct capture_task *t,
			const struct channel_note *note)
{
	channel_note_put(&t->channels, &t->last_channel, note);
	t->last_channel = *note;
	t->n_channels++;
	if (t->channels.len >= CAPTURE_SEGMENT_BYTES)
		finish_channels(w, t);
}

static void finish_segment(struct capture_writer *w, struct capture_task *t)
{
	struct segment_header h = {
		.kind = CAPTURE_SEGMENT_RECORDS,
		.task = t->task,
		.first_event = t->records,
		.n = t->encoder ? capture_encoder_count(t->encoder) : 0,
		.first_ns = t->first_ns,
		.last_ns = t->last_ns,
	};

	if (!h.n)
		return;
	const uint8_t *payload = capture_encoder_finish(t->encoder, &h.raw_bytes);
	t->records += h.n;
	if (payload)
		segments_out_append(w->out, &h, payload);
	else
		fail(w, -ENOMEM);
}

/* Its segments are written, and of its memory nothing is left but its numbers. */
static void finish_task(struct capture_writer *w, struct capture_task *t)
{
	finish_segment(w, t);
	finish_channels(w, t);
	bytes_deinit(&t->channels);
	capture_ranges_deinit(&t->ranges);
	capture_encoder_free(t->encoder);
	clock_notes_free(t->clocks);
	t->clocks = NULL;
	t->channels = (struct bytes){0};
	t->ranges = (struct capture_ranges){0};
	t->encoder = NULL;
}

static void add_record(struct capture_writer *w, struct capture_task *t, const struct capture *c)
{
	if (!t->encoder && !(t->encoder = capture_encoder_new())) {
		fail(w, -ENOMEM);
		return;
	}
	if (!capture_encoder_count(t->encoder))
		t->first_ns = c->time_ns;
	t->last_ns = c->time_ns;
	if (c->order < CAPTURE_NEVER && c->order > t->last_order)
		t->last_order = c->order;
	if (capture_encoder_add(t->encoder, c))
		fail(w, -ENOMEM);
	w->records++;
	if (capture_encoder_bytes(t->encoder) >= CAPTURE_SEGMENT_BYTES)
		finish_segment(w, t);
}

void capture_writer_start(struct capture_writer *w, uint32_t task, const struct capture *start)
{
	pthread_mutex_lock(&w->lock);
	struct capture_task *t = task_of(w, task);
	if (t)
		add_record(w, t, start);
	else
		fail(w, -ENOMEM);
	pthread_mutex_unlock(&w->lock);
}

static void add_lost(struct capture_writer *w, struct capture_task *t, uint64_t n, uint64_t order,
		     uint64_t time_ns)
{
	struct capture lost = {
		.kind = CAPTURE_LOST,
		.place = CAPTURE_NONE,
		.map_file = CAPTURE_NONE,
		.order = order,
		.time_ns = time_ns,
		.lost = n,
	};

	capture_ranges_forget(&t->ranges);
	t->shown = false; /* what said so may have been of a call that is lost */
	add_record(w, t, &lost);
	uint64_t last = t->last_channel.order > order ? t->last_channel.order : order;
	add_channel(w, t,
		    &(struct channel_note){.what = CHANNEL_MISSED, .order = last, .entered = last});
}

/* Tells of what the ring had no room for, before what has the number @number. */
static void note_lost(struct capture_writer *w, struct capture_task *t, uint64_t number,
		      uint64_t order, uint64_t time_ns)
{
	if (number <= t->ring_number)
		return;
	w->lost_told += number - t->ring_number;
	add_lost(w, t, number - t->ring_number, order, time_ns);
}

static void take_range(struct capture_writer *w, struct capture_task *t,
		       const struct capture_bytes *r)
{
	note_lost(w, t, r->number, 0, t->last_ns);
	t->ring_number = r->number + 1;
	if (capture_ranges_take(&t->ranges, r))
		fail(w, -ENOMEM);
}

static void take_name(struct capture_writer *w, struct capture_task *t,
		      const struct capture_bytes *name)
{
	note_lost(w, t, name->number, 0, t->last_ns);
	t->ring_number = name->number + 1;
	t->shown = !redaction_hides(&w->redaction, name);
}

static void take_kernel(struct capture_writer *w, struct capture_task *t,
			const struct capture_note *n, struct capture *c)
{
	struct channel_note channels[2];
	struct mapped_file file;
	bool returns = c->nr == SYS_rt_sigreturn; /* to there */

	if (clock_calls_in_copy(&w->clocks, n->ip) && !returns)
		t->asked = (struct clock_asked){true, c->nr, {c->args[0], c->args[1]}};
	uint32_t n_channels = capture_note_channels(n, c, channels);
	for (uint32_t i = 0; i < n_channels; i++)
		add_channel(w, t, &channels[i]);
	opened_files_note(w->opened, n->pid, c);
	if (!capture_note_mapped(n, c, &file))
		return;
	c->map_file = CAPTURE_UNKNOWN;
	if (!redaction_shows_mapped(&w->redaction, t->shown))
		return;
	opened_files_find(w->opened, (int)c->args[4], &file);
	if (w->file_of)
		c->map_file = w->file_of(w->file_ctx, &file);
}

/* It has the processor again, at a number behind its loss: one that were the same would be told as
 * none. @on: what was written by then is told; else the ranges that have come
 * are the next record's, and may hold what is to be hidden there. */
static void add_switch(struct capture_writer *w, struct capture_task *t, uint64_t order, bool on)
{
	t->off.order = order > t->off.entered ? order : t->off.entered + 1;
	t->off.n_ranges = 0;
	t->is_off = false;
	if (on)
		capture_ranges_give(&t->ranges, &t->off);
	add_record(w, t, &t->off);
	if (on)
		capture_ranges_forget(&t->ranges);
}

/* In a stub the task is told to be where it would be without: behind a call rcx is that place. */
static void tell_site(const struct capture_writer *w, struct capture *c)
{
	enum { RCX = 1 }; /* by number of the encoding */
	uint64_t rcx, site = w->patches ? call_threads_told(w->patches, c->ip, &rcx) : 0;

	if (!site)
		return;
	c->ip = site;
	if (rcx && (c->kind == CAPTURE_END || (c->kind == CAPTURE_SIGNAL && c->known)))
		c->regs[RCX] = rcx;
}

static void take_note(struct capture_writer *w, struct capture_task *t,
		      const struct capture_note *n)
{
	struct capture c;

	capture_note_decode(n, &w->clocks, t->asked.waits, &c);
	tell_site(w, &c);
	note_lost(w, t, n->number, n->order, n->time_ns);
	t->ring_number = n->number + 1;
	t->ended = n->kind == RING_CAPTURE_END;
	if (t->is_off)
		add_switch(w, t, n->order, n->kind == RING_CAPTURE_ON);
	if (n->kind == RING_CAPTURE_ON)
		return;
	capture_ranges_give(&t->ranges, &c);
	if (n->kind == RING_CAPTURE_RESULT)
		c.has_hash = t->checked++ % w->check_every == 0;
	else if (n->kind == RING_CAPTURE_KERNEL)
		take_kernel(w, t, n, &c);
	redaction_apply(&w->redaction, t->shown, t->ranges.ranges, &c);
	if (n->kind == RING_CAPTURE_SWITCH) {
		t->off = c;
		t->is_off = true;
		return;
	}
	add_record(w, t, &c);
	capture_ranges_forget(&t->ranges);
	t->shown = false;
	/* There may be one for each command of a day: what a task takes goes with it. */
	if (t->ended)
		finish_task(w, t);
}

/* Entry number @index, as a record of its own. */
static void add_clock(struct capture_writer *w, struct capture_task *t,
		      const struct clock_entry *entry, uint64_t index, uint64_t order,
		      uint64_t time_ns)
{
	struct capture_range ranges[2];
	struct capture c = {.kind = CAPTURE_KERNEL,
			    .place = CAPTURE_NONE,
			    .map_file = CAPTURE_NONE,
			    .order = order,
			    .time_ns = time_ns,
			    .ip = w->clocks.image};
	bool broken;

	if (clock_record(entry, index, &t->asked, &c, ranges, &broken))
		add_record(w, t, &c);
	else if (broken)
		add_lost(w, t, 1, order, time_ns);
}

static void take_clocks(struct capture_writer *w, struct capture_task *t,
			const struct capture_clocks *clocks, size_t len)
{
	size_t whole = (len - offsetof(struct capture_clocks, entries)) / sizeof(*clocks->entries);
	uint32_t n = clocks->n < whole ? clocks->n : (uint32_t)whole;

	note_lost(w, t, clocks->number, clocks->order, clocks->time_ns);
	t->ring_number = clocks->number + 1;
	if (clocks->lost)
		add_lost(w, t, 1, clocks->order, clocks->time_ns);
	for (uint32_t i = 0; !clocks->lost && i < n; i++)
		add_clock(w, t, &clocks->entries[i], clocks->first + i, clocks->order + i,
			  clocks->time_ns);
	t->clock_next = clocks->first + n;
}

/* What clocks have told the task before entry number @until, in the order from @order on. */
static void take_noted_clocks(struct capture_writer *w, struct capture_task *t, pid_t pid,
			      uint64_t owner, uint64_t until, uint64_t order, uint64_t time_ns)
{
	if (!w->clocks.area || (int64_t)(until - t->clock_next) <= 0)
		return;
	if (!t->clocks && !(t->clocks = clock_notes_new())) {
		fail(w, -ENOMEM);
		return;
	}
	clock_notes_of(t->clocks, pid, w->clocks.area + CLOCK_SLOTS, owner);
	for (; t->clock_next != until; t->clock_next++) {
		const struct clock_entry *e = clock_notes_at(t->clocks, t->clock_next);

		if (!e || until - t->clock_next > CLOCK_ENTRIES) {
			t->clock_next = until;
			add_lost(w, t, 1, order, time_ns);
			return;
		}
		add_clock(w, t, e, t->clock_next, order++, time_ns);
	}
}

/* A call that the task has noted itself. */
static void add_call(struct capture_writer *w, struct capture_task *t, pid_t pid, struct capture *c)
{
	if (c->time_ns < t->last_ns)
		c->time_ns = t->last_ns;
	opened_files_note(w->opened, pid, c);
	add_record(w, t, c);
}

/* What is noted in the lane before number @until. Returns how many that were. */
static uint32_t take_lane(struct capture_writer *w, uint32_t lane, uint64_t until, int told)
{
	struct capture c;
	struct capture_range range;
	enum call_notes_next next;
	uint64_t clocks;
	uint32_t number, n = 0;
	pid_t pid;

	if (!call_notes_task(w->notes, lane, &number, &pid))
		return 0;
	struct capture_task *t = task_of(w, number);
	if (!t) {
		fail(w, -ENOMEM);
		return 0;
	}
	/* Read once: the process may write to it as often as it likes. */
	uint64_t lost = call_notes_lost(w->notes, lane);
	if (lost)
		add_lost(w, t, lost, 0, t->last_ns);
	for (; (next = call_notes_next(w->notes, lane, until, told, &c, &range, &clocks)); n++) {
		if (next == CALL_NOTES_RECORD) {
			take_noted_clocks(w, t, pid, call_notes_owner(w->notes, lane), clocks,
					  t->last_order + 1, c.time_ns);
			add_call(w, t, pid, &c);
		} else {
			add_lost(w, t, c.lost, 0, t->last_ns);
		}
	}
	return n;
}

/* The lane that the task has from here on, and what is noted in it by now. */
static void take_lane_note(struct capture_writer *w, struct capture_task *t,
			   const struct capture_lane *l)
{
	note_lost(w, t, l->number, 0, t->last_ns);
	t->ring_number = l->number + 1;
	if (!w->notes || !w->patches || l->lane >= CALL_LANES ||
	    (l->its_owner && l->its_owner != l->owner))
		return;
	uint32_t task;
	pid_t pid;
	if (l->its_owner)
		take_lane(w, l->lane, l->head, l->told ? 2 : 1);
	else
		call_notes_claim(w->notes, l->lane, l->owner);
	bool same = call_notes_task(w->notes, l->lane, &task, &pid) && task == t->task;
	call_notes_bind(w->notes, l->lane, t->task, l->pid);
	/* What stands there of another task, or was told by the kernel until now, is not its. */
	if (!same)
		t->clock_next = l->clocks;
	else
		take_noted_clocks(w, t, l->pid, l->owner, l->clocks, l->order, l->time_ns);
}

void capture_writer_bind(struct capture_writer *w, uint64_t owner, uint32_t task, pid_t pid)
{
	pthread_mutex_lock(&w->lock);
	if (w->notes)
		call_notes_bind(w->notes, (uint32_t)(call_lane_of(owner) >> CALL_LANE_SHIFT), task,
				pid);
	pthread_mutex_unlock(&w->lock);
}

void capture_writer_waits(struct capture_writer *w, uint32_t task, const struct user_regs_struct *r)
{
	struct capture c = {
		.kind = CAPTURE_END,
		.place = CAPTURE_NONE,
		.map_file = CAPTURE_NONE,
		.known = CAPTURE_ALL_KNOWN,
		.ip = r->rip,
		.sp = r->rsp,
		.flags = r->eflags,
		.regs = {r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp, r->rsi, r->rdi, r->r8,
			 r->r9, r->r10, r->r11, r->r12, r->r13, r->r14, r->r15},
	};

	pthread_mutex_lock(&w->lock);
	struct capture_task *t = task_of(w, task);
	if (t && w->notes && !t->ended) {
		uint32_t lane = (uint32_t)(call_lane_of(r->fs_base) >> CALL_LANE_SHIFT), number;
		pid_t pid;

		c.order = call_notes_task(w->notes, lane, &number, &pid) && number == task
				  ? call_notes_entered(w->notes, lane)
				  : 0;
		c.time_ns = t->last_ns;
		t->ended = c.order != 0;
		if (c.order)
			add_record(w, t, &c);
	}
	pthread_mutex_unlock(&w->lock);
}

bool capture_writer_much_noted(const void *writer)
{
	const struct capture_writer *w = writer;
	const struct call_notes *notes = __atomic_load_n(&w->notes, __ATOMIC_ACQUIRE);

	return notes && call_notes_much(notes);
}

void capture_writer_calls_stop(struct capture_writer *w)
{
	pthread_mutex_lock(&w->lock);
	if (w->notes)
		call_notes_stop(w->notes);
	pthread_mutex_unlock(&w->lock);
}

void capture_writer_begin(struct capture_writer *w, uint64_t now_ns)
{
	pthread_mutex_lock(&w->lock);
	if (w->notes)
		call_notes_look(w->notes, now_ns);
}

uint32_t capture_writer_end(struct capture_writer *w, bool all)
{
	uint32_t most = 0;

	for (uint32_t i = 0; all && w->notes && w->patches && i < CALL_LANES; i++) {
		uint32_t n = take_lane(w, i, call_notes_seen(w->notes, i), 0);

		most = n > most ? n : most;
	}
	pthread_mutex_unlock(&w->lock);
	return most;
}

static void take_record(struct capture_writer *w, struct capture_task *t, const void *record,
			size_t len)
{
	const struct capture_note *n = record;

	if (n->kind == RING_CAPTURE_RANGE || n->kind == RING_CAPTURE_NAME) {
		if (!capture_bytes_whole(record, len))
			return; /* the number of the next one tells */
		if (n->kind == RING_CAPTURE_NAME)
			take_name(w, t, record);
		else
			take_range(w, t, record);
	} else if (n->kind == RING_CAPTURE_CLOCKS &&
		   len >= offsetof(struct capture_clocks, entries)) {
		take_clocks(w, t, record, len);
	} else if (n->kind == RING_CAPTURE_LANE && len >= sizeof(struct capture_lane)) {
		take_lane_note(w, t, record);
	} else {
		struct capture_note cut;

		take_note(w, t, capture_note_whole(record, len, &cut));
	}
}

/* Another processor has written it: what is waited for at once takes less than line by line. */
static void fetch(const char *bytes, size_t len)
{
	enum { CACHE_LINE = 64 };

	for (size_t at = 0; at < len; at += CACHE_LINE)
		__builtin_prefetch(bytes + at);
}

static void take_batch(struct capture_writer *w, struct capture_task *t, const char *records,
		       size_t len)
{
	uint64_t bytes;

	fetch(records, len);
	for (size_t at = 0; at + sizeof(bytes) < len; at += (bytes + 7) & ~7ull) {
		memcpy(&bytes, records + at, sizeof(bytes));
		at += sizeof(bytes);
		if (bytes < 2 * sizeof(uint32_t) || bytes > len - at)
			break;
		take_record(w, t, records + at, bytes);
	}
	if (capture_ranges_keep(&t->ranges))
		fail(w, -ENOMEM);
}

int capture_writer_ring(void *writer, void *record, size_t len)
{
	const size_t head = offsetof(struct capture_batch, data);
	struct capture_writer *w = writer;
	const struct capture_batch *b = record;

	if (len < head)
		return 0;
	struct capture_task *t = task_of(w, b->task);
	if (!t)
		fail(w, -ENOMEM);
	else if (b->kind == RING_CAPTURE_BATCH)
		take_batch(w, t, (const char *)b->data, len - head);
	else {
		take_record(w, t, record, len);
		if (capture_ranges_keep(&t->ranges))
			fail(w, -ENOMEM);
	}
	return 0;
}

static void write_bytes(struct capture_writer *w, uint8_t kind, uint32_t task, uint64_t off,
			const uint8_t *bytes, uint32_t len)
{
	struct segment_header h = {
		.kind = kind, .task = task, .first_event = off, .n = 1, .raw_bytes = len};

	segments_out_append(w->out, &h, bytes);
}

void capture_writer_pages(struct capture_writer *w, uint64_t addr, const uint8_t *bytes,
			  uint32_t len)
{
	write_bytes(w, CAPTURE_SEGMENT_PAGES, 0, addr, bytes, len);
}

void capture_writer_file(struct capture_writer *w, uint32_t file, uint64_t off,
			 const uint8_t *bytes, uint32_t len)
{
	write_bytes(w, CAPTURE_SEGMENT_FILE, file, off, bytes, len);
}

void capture_writer_table(struct capture_writer *w, const char *json, size_t len)
{
	write_bytes(w, CAPTURE_SEGMENT_TABLE, 0, segments_out_count(w->out), (const uint8_t *)json,
		    len);
}

void capture_writer_table_final(struct capture_writer *w, int err)
{
	if (!w)
		return;
	if (err)
		fail(w, err);
	w->final = !err;
}

void capture_writer_resolve(struct capture_writer *w,
			    uint32_t (*file_of)(void *ctx, const struct mapped_file *file),
			    void *ctx)
{
	w->file_of = file_of;
	w->file_ctx = ctx;
}

void capture_writer_flush(struct capture_writer *w, uint64_t now_ns, uint64_t age_ns)
{
	pthread_mutex_lock(&w->lock);
	for (uint32_t i = 0; i < w->n_tasks; i++)
		if (w->tasks[i] && w->tasks[i]->first_ns + age_ns <= now_ns) {
			finish_segment(w, w->tasks[i]);
			finish_channels(w, w->tasks[i]);
		}
	pthread_mutex_unlock(&w->lock);
}

int capture_writer_error(const struct capture_writer *w)
{
	return segments_out_error(w->out);
}

void capture_writer_lost(struct capture_writer *w, uint64_t n)
{
	if (w)
		w->lost = n;
}

int capture_writer_close(struct capture_writer *w, uint64_t *records, uint64_t *bytes)
{
	/* Behind all else: where it is, nothing is missing before it. */
	static const char final[] = "{\"version\":1,\"final\":true}";

	if (!w)
		return 0;
	for (uint32_t i = 0; i < w->n_tasks; i++) {
		struct capture_task *t = w->tasks[i];

		if (!t)
			continue;
		if (t->is_off)
			add_switch(w, t, CAPTURE_NEVER, false);
		/* No number follows that would tell of what was lost last, perhaps of this task. */
		if (!t->ended && w->lost > w->lost_told)
			add_lost(w, t, 1, 0, t->last_ns);
		finish_task(w, t);
		free(t);
	}
	if (w->final)
		capture_writer_table(w, final, strlen(final));
	if (records)
		*records = w->records;
	free(w->tasks);
	call_notes_close(w->notes);
	opened_files_free(w->opened);
	pthread_mutex_destroy(&w->lock);
	int err = segments_out_close(w->out, bytes);
	free(w);
	return err;
}

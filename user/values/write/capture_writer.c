// SPDX-License-Identifier: LGPL-2.1-or-later
/* capture_writer.c: records of the ring are taken in, each to its task (capture_tasks.h), which
 * writes them as segments. What else is done on the way: notes are decoded (capture_notes.h),
 * ranges of bytes wait for their record (capture_ranges.h), what must not be kept is taken away
 * (redaction.h); what clocks have told is capture_clocks.h's, and what the process has noted of its
 * system calls capture_lanes.h's. */
#include "user/values/write/capture_writer.h"

#include "offline/capture/capture_code.h"
#include "offline/capture/capture_ring.h"
#include "offline/log/segment.h"
#include "user/values/calls/call_threads.h"
#include "user/values/write/call_notes.h"
#include "user/values/write/capture_clocks.h"
#include "user/values/write/capture_lanes.h"
#include "user/values/write/capture_notes.h"
#include "user/values/write/capture_tasks.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct capture_writer {
	/* Of the tasks, while a record is taken, which may ask for a file. What is seen of that
	 * file goes to the segments meanwhile, which have a lock of their own, below. */
	pthread_mutex_t lock;
	struct capture_tasks all;
	uint32_t check_every;
	uint64_t lost; /* captures that the ring had no room for */
	uint32_t (*file_of)(void *ctx, const struct mapped_file *file);
	void *file_ctx;
	struct opened_files *opened;
	struct redaction redaction; /* n 0: nothing is hidden */
	bool final;		    /* the last table is of the end, which is still to be said */
	struct clock_calls clocks;
	struct capture_lanes lanes;
};

int capture_writer_open(int fd, uint32_t check_every, struct capture_writer **out,
			struct pugmark_diag *diag)
{
	struct capture_writer *w = NULL;
	int err = fd < 0 ? fd : -ENOMEM;

	if (fd >= 0 && (w = calloc(1, sizeof(*w))) && (w->opened = opened_files_new()))
		err = segments_out_open(fd, &w->all.out);
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
	w->lanes.clocks = &w->clocks;
	w->lanes.opened = w->opened;
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
	w->lanes.patches = patches;
	/* Others may look at it without the lock: it is opened once. */
	if (notes)
		__atomic_store_n(&w->lanes.notes, notes, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&w->lock);
	return 0;
}

void capture_writer_start(struct capture_writer *w, uint32_t task, const struct capture *start)
{
	pthread_mutex_lock(&w->lock);
	struct capture_task *t = capture_tasks_of(&w->all, task);
	if (t)
		capture_tasks_add(&w->all, t, start);
	pthread_mutex_unlock(&w->lock);
}

static void take_range(struct capture_writer *w, struct capture_task *t,
		       const struct capture_bytes *r)
{
	capture_tasks_number(&w->all, t, r->number, 0, t->last_ns);
	if (capture_ranges_take(&t->ranges, r))
		capture_tasks_fail(&w->all, -ENOMEM);
}

static void take_name(struct capture_writer *w, struct capture_task *t,
		      const struct capture_bytes *name)
{
	capture_tasks_number(&w->all, t, name->number, 0, t->last_ns);
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
		capture_tasks_add_channel(&w->all, t, &channels[i]);
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
	capture_tasks_add(&w->all, t, &t->off);
	if (on)
		capture_ranges_forget(&t->ranges);
}

/* In a stub the task is told to be where it would be without: behind a call rcx is that place. */
static void tell_site(const struct capture_writer *w, struct capture *c)
{
	enum { RCX = 1 }; /* by number of the encoding */
	uint64_t rcx,
		site = w->lanes.patches ? call_threads_told(w->lanes.patches, c->ip, &rcx) : 0;

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
	capture_tasks_number(&w->all, t, n->number, n->order, n->time_ns);
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
	capture_tasks_add(&w->all, t, &c);
	capture_ranges_forget(&t->ranges);
	t->shown = false;
	/* There may be one for each command of a day: what a task takes goes with it. */
	if (t->ended)
		capture_tasks_finish(&w->all, t);
}

void capture_writer_bind(struct capture_writer *w, uint64_t owner, uint32_t task, pid_t pid)
{
	pthread_mutex_lock(&w->lock);
	if (w->lanes.notes)
		call_notes_bind(w->lanes.notes, capture_lanes_number(owner), task, pid);
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
	struct capture_task *t = capture_tasks_of(&w->all, task);
	if (t && !t->ended) {
		c.order = capture_lanes_entered(&w->lanes, r->fs_base, task);
		c.time_ns = t->last_ns;
		t->ended = c.order != 0;
		if (c.order)
			capture_tasks_add(&w->all, t, &c);
	}
	pthread_mutex_unlock(&w->lock);
}

bool capture_writer_much_noted(const struct capture_writer *w, uint32_t share)
{
	const struct call_notes *notes = __atomic_load_n(&w->lanes.notes, __ATOMIC_ACQUIRE);

	return notes && call_notes_much(notes, share);
}

bool capture_writer_much_came(struct capture_writer *w, uint32_t share)
{
	struct call_notes *notes = __atomic_load_n(&w->lanes.notes, __ATOMIC_ACQUIRE);

	return notes && call_notes_came(notes, share);
}

void capture_writer_calls_stop(struct capture_writer *w)
{
	pthread_mutex_lock(&w->lock);
	if (w->lanes.notes)
		call_notes_stop(w->lanes.notes);
	pthread_mutex_unlock(&w->lock);
}

uint32_t capture_writer_calls_closed(struct capture_writer *w)
{
	pthread_mutex_lock(&w->lock);
	uint32_t n = w->lanes.notes ? call_notes_closed(w->lanes.notes) : 0;
	pthread_mutex_unlock(&w->lock);
	return n;
}

void capture_writer_begin(struct capture_writer *w, uint64_t now_ns)
{
	pthread_mutex_lock(&w->lock);
	if (w->lanes.notes)
		call_notes_look(w->lanes.notes, now_ns);
}

void capture_writer_end(struct capture_writer *w, bool all)
{
	if (all)
		capture_lanes_take(&w->lanes, &w->all);
	pthread_mutex_unlock(&w->lock);
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
		capture_clocks_take(&w->all, &w->clocks, t, record, len);
	} else if (n->kind == RING_CAPTURE_LANE && len >= sizeof(struct capture_lane)) {
		capture_lanes_take_note(&w->lanes, &w->all, t, record);
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
}

int capture_writer_ring(void *writer, void *record, size_t len)
{
	const size_t head = offsetof(struct capture_batch, data);
	struct capture_writer *w = writer;
	const struct capture_batch *b = record;

	if (len < head)
		return 0;
	struct capture_task *t = capture_tasks_of(&w->all, b->task);
	if (!t)
		return 0;
	if (b->kind == RING_CAPTURE_BATCH)
		take_batch(w, t, (const char *)b->data, len - head);
	else
		take_record(w, t, record, len);
	if (capture_ranges_keep(&t->ranges))
		capture_tasks_fail(&w->all, -ENOMEM);
	return 0;
}

static void write_bytes(struct capture_writer *w, uint8_t kind, uint32_t task, uint64_t off,
			const uint8_t *bytes, uint32_t len)
{
	struct segment_header h = {
		.kind = kind, .task = task, .first_event = off, .n = 1, .raw_bytes = len};

	segments_out_append(w->all.out, &h, bytes);
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
	write_bytes(w, CAPTURE_SEGMENT_TABLE, 0, segments_out_count(w->all.out),
		    (const uint8_t *)json, len);
}

void capture_writer_table_final(struct capture_writer *w, int err)
{
	if (!w)
		return;
	if (err)
		capture_tasks_fail(&w->all, err);
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
	for (uint32_t i = 0; i < w->all.n; i++)
		if (w->all.tasks[i] && w->all.tasks[i]->first_ns + age_ns <= now_ns)
			capture_tasks_flush(&w->all, w->all.tasks[i]);
	pthread_mutex_unlock(&w->lock);
}

int capture_writer_error(const struct capture_writer *w)
{
	return segments_out_error(w->all.out);
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
	for (uint32_t i = 0; i < w->all.n; i++) {
		struct capture_task *t = w->all.tasks[i];

		if (!t)
			continue;
		if (t->is_off)
			add_switch(w, t, CAPTURE_NEVER, false);
		/* No number follows that would tell of what was lost last, perhaps of this task. */
		if (!t->ended && w->lost > w->all.lost_told)
			capture_tasks_add_lost(&w->all, t, 1, 0, t->last_ns);
		capture_tasks_finish(&w->all, t);
	}
	if (w->final)
		capture_writer_table(w, final, strlen(final));
	if (records)
		*records = w->all.records;
	capture_tasks_deinit(&w->all);
	call_notes_close(w->lanes.notes);
	opened_files_free(w->opened);
	pthread_mutex_destroy(&w->lock);
	int err = segments_out_close(w->all.out, bytes);
	free(w);
	return err;
}

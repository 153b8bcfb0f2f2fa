// SPDX-License-Identifier: LGPL-2.1-or-later
/* capture_writer.c: records of the ring, sorted by task, and whole segments appended to the file.
 * Ranges of bytes come before the record that they belong to. The numbers in records of the ring
 * tell where one found it full. */
#include "user/values/write/capture_writer.h"

#include "offline/base/codec.h"
#include "offline/base/write_all.h"
#include "offline/log/segment.h"
#include "offline/capture/capture_code.h"
#include "offline/capture/channels.h"
#include "offline/capture/syscalls.h"
#include "user/values/clock/clock_record.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include "offline/capture/capture_ring.h"
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <zlib.h>

/* A record must fit into a segment: of bytes beyond that the address and the number are kept. */
enum { RECORD_MAX_BYTES = 12 << 20 };

/* The bytes of a range are in the memory of the ring, which is so until the end of their batch. If
 * their record has not come by then they are copied. */
#define IN_RING SIZE_MAX

struct capture_task {
	uint32_t task;
	uint64_t ring_number; /* that the next record of the ring has */
	uint64_t records;     /* in segments before */
	uint64_t checked;     /* how many could have had a hash */
	uint64_t first_ns, last_ns;
	struct capture_encoder *encoder;
	struct capture_range *ranges; /* that have come before their record */
	size_t *offs;		      /* of each range: its bytes in `bytes`, or IN_RING */
	uint32_t n_ranges, cap_ranges;
	struct bytes bytes;
	struct capture off; /* where it lost the processor */
	bool is_off;	    /* and has not got it back */
	bool shown;	    /* the content of the next system call may be kept */
	bool ended;	    /* its last record is its END */
	struct clock_asked asked;
	struct bytes channels; /* notes of them that wait, */
	uint32_t n_channels;   /* how many, and how many are in segments before */
	uint64_t channels_before;
	struct channel_note last_channel;
};

struct capture_writer {
	/* Of the tasks, while a record is taken, which may ask for a file; and, below it, of the
	 * segments on disk, which keep what is seen of that file. */
	pthread_mutex_t lock, segments;
	int fd;
	atomic_int err; /* also of who waits for the end */
	uint32_t check_every;
	uint64_t off, records;
	uint64_t lost, lost_told; /* captures that the ring had no room for; by their numbers */
	uint32_t n_segments;
	struct codec *codec, *hurried; /* of the start and files; of records, beside what runs */
	struct bytes stored;
	struct capture_task **tasks; /* by number */
	uint32_t n_tasks;
	uint32_t (*file_of)(void *ctx, const struct mapped_file *file);
	void *file_ctx;
	struct opened_files *opened;
	struct redaction redaction; /* n 0: nothing is hidden */
	struct clock_calls clocks;
};

int capture_writer_open(int fd, uint32_t check_every, struct capture_writer **out,
			struct pugmark_diag *diag)
{
	struct capture_writer *w = fd < 0 ? NULL : calloc(1, sizeof(*w));
	int err = fd < 0 ? fd : -ENOMEM;

	if (w && (w->codec = codec_new()) && (w->hurried = codec_new()) &&
	    (w->opened = opened_files_new()))
		err = 0;
	if (err) {
		if (w) {
			codec_free(w->codec);
			codec_free(w->hurried);
		}
		free(w);
		if (fd >= 0)
			close(fd);
		return pugmark_diag_set(diag, err, NULL, PUGMARK_NO_OFFSET,
					"making the file `captures`: %s", strerror(-err));
	}
	codec_hurry(w->hurried);
	w->check_every = check_every;
	w->fd = fd;
	pthread_mutex_init(&w->lock, NULL);
	pthread_mutex_init(&w->segments, NULL);
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

static void fail(struct capture_writer *w, int err)
{
	if (!w->err)
		w->err = err;
}

static void append_locked(struct capture_writer *w, struct segment_header *h,
			  const uint8_t *payload)
{
	struct bytes *b = &w->stored;

	b->len = 0;
	if (w->err)
		return;
	if (!bytes_reserve(b, SEGMENT_HEADER_BYTES + codec_bound(h->raw_bytes))) {
		fail(w, -ENOMEM);
		return;
	}
	bool beside = h->kind == CAPTURE_SEGMENT_RECORDS || h->kind == CAPTURE_SEGMENT_CHANNELS;
	h->stored_bytes = codec_compress(beside ? w->hurried : w->codec, payload, h->raw_bytes,
					 b->data + SEGMENT_HEADER_BYTES, &h->codec);
	h->crc = crc32(0, b->data + SEGMENT_HEADER_BYTES, h->stored_bytes);
	h->number = w->n_segments;
	segment_header_write(h, b->data);
	size_t len = SEGMENT_HEADER_BYTES + h->stored_bytes;
	int err = pwrite_all(w->fd, b->data, len, w->off);
	if (err) {
		fail(w, err);
		/* Nothing follows. A part of it that stays the reader takes for cut short. */
		while (ftruncate(w->fd, w->off) && errno == EINTR)
			;
		return;
	}
	w->off += len;
	w->n_segments++;
}

static void append(struct capture_writer *w, struct segment_header *h, const uint8_t *payload)
{
	pthread_mutex_lock(&w->segments);
	append_locked(w, h, payload);
	pthread_mutex_unlock(&w->segments);
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

		if (!t || !(t->encoder = capture_encoder_new())) {
			free(t);
			return NULL;
		}
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
		append(w, &h, t->channels.data);
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
		.n = capture_encoder_count(t->encoder),
		.first_ns = t->first_ns,
		.last_ns = t->last_ns,
	};

	if (!h.n)
		return;
	const uint8_t *payload = capture_encoder_finish(t->encoder, &h.raw_bytes);
	t->records += h.n;
	if (payload)
		append(w, &h, payload);
	else
		fail(w, -ENOMEM);
}

static void add_record(struct capture_writer *w, struct capture_task *t, const struct capture *c)
{
	if (!capture_encoder_count(t->encoder))
		t->first_ns = c->time_ns;
	t->last_ns = c->time_ns;
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

	t->n_ranges = 0;
	t->bytes.len = 0;
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
	if (t->n_ranges == t->cap_ranges) {
		uint32_t cap = t->cap_ranges ? 2 * t->cap_ranges : 16;
		struct capture_range *ranges = realloc(t->ranges, cap * sizeof(*ranges));

		if (ranges)
			t->ranges = ranges;
		size_t *offs = realloc(t->offs, cap * sizeof(*offs));
		if (offs)
			t->offs = offs;
		if (!ranges || !offs) {
			fail(w, -ENOMEM);
			return;
		}
		t->cap_ranges = cap;
	}
	bool unread = r->unread || t->bytes.len + r->len > RECORD_MAX_BYTES;
	t->offs[t->n_ranges] = IN_RING;
	t->ranges[t->n_ranges++] = (struct capture_range){
		.addr = r->addr, .len = r->len, .unread = unread, .bytes = r->data};
}

/* The ring's bytes go: the record that the ranges belong to comes later. */
static void keep_ranges(struct capture_writer *w, struct capture_task *t)
{
	for (uint32_t i = 0; i < t->n_ranges; i++) {
		struct capture_range *r = &t->ranges[i];

		if (t->offs[i] != IN_RING)
			continue;
		t->offs[i] = t->bytes.len;
		if (!r->unread)
			bytes_put(&t->bytes, r->bytes, r->len);
		r->unread |= t->bytes.failed; /* then they are not there */
	}
	if (t->bytes.failed)
		fail(w, -ENOMEM);
}

static void take_name(struct capture_writer *w, struct capture_task *t,
		      const struct capture_bytes *name)
{
	note_lost(w, t, name->number, 0, t->last_ns);
	t->ring_number = name->number + 1;
	t->shown = !redaction_hides(&w->redaction, name);
}

/* Whether more may be in the range of number @i than the kernel has written: what lies beside that
 * is the program's own. */
static bool holds_more(const struct capture_task *t, const struct capture *c, uint32_t i)
{
	bool peer;

	if (!syscall_reads_beside(c->nr, &peer))
		return false;
	/* Behind a struct msghdr its name comes first. */
	return !peer || (c->nr == SYS_recvmsg ? i == 1 : t->ranges[i].addr == c->args[4]);
}

/* Takes away what must not be kept, or what may have been made of it. */
static void redact(struct capture_task *t, struct capture *c)
{
	enum { ERROR_MOST = 4095 };

	if (c->kind == CAPTURE_KERNEL) {
		bool hidden = syscall_content(c->nr) && !t->shown;

		for (uint32_t i = 0; i < t->n_ranges; i++)
			t->ranges[i].unread |= hidden || holds_more(t, c, i);
	} else if (c->kind == CAPTURE_RESULT || c->kind == CAPTURE_ENTER ||
		   c->kind == CAPTURE_END) {
		c->known = 0;
		c->has_hash = false; /* of registers that hold it, perhaps */
		c->n_ranges = 0;
	} else if (c->kind == CAPTURE_SIGNAL) {
		c->known = 0;
		c->n_ranges = 0;
	} else if (c->kind == CAPTURE_SWITCH) {
		c->known = 0; /* the place is kept: ip and sp */
		c->n_surroundings = 0;
	}
	/* Its result is rax of what was interrupted, unless that was a call that has failed. */
	if (c->kind == CAPTURE_KERNEL && c->nr == SYS_rt_sigreturn) {
		c->result = c->result < 0 && c->result >= -ERROR_MOST ? c->result : 0;
		memset(c->args, 0, sizeof(c->args));
	}
}

static void take_registers(const struct capture_note *n, struct capture *c)
{
	memcpy(c->regs, n->words, sizeof(c->regs));
	c->flags = n->words[16];
	c->known = CAPTURE_ALL_KNOWN;
}

static void take_surroundings(const struct capture_note *n, struct capture *c)
{
	if (n->n_words < SWITCH_WORDS + SURROUNDINGS_SUMS)
		return;
	memcpy(c->surroundings, n->words + SWITCH_WORDS, sizeof(c->surroundings));
	c->n_surroundings = SURROUNDINGS;
}

static void take_result(struct capture_writer *w, struct capture_task *t,
			const struct capture_note *n, struct capture *c)
{
	c->regs[0] = n->words[0];
	c->regs[2] = n->words[1];
	c->known = n->words[3] & (1 << 0 | 1 << 2);
	c->hash = n->words[2];
	c->has_hash = t->checked++ % w->check_every == 0;
}

static void take_channel(struct capture_writer *w, struct capture_task *t,
			 const struct capture_note *n, const struct capture *c)
{
	struct channel_note notes[2];
	struct capture_channel channel;
	bool told = n->n_words >= CHANNEL_WORDS + sizeof(channel) / sizeof(*n->words);

	if (told)
		memcpy(&channel, n->words + CHANNEL_WORDS, sizeof(channel));
	uint32_t more = channel_notes_of(c, told ? &channel : NULL, notes);
	for (uint32_t i = 0; i < more; i++)
		add_channel(w, t, &notes[i]);
}

/* As stat() tells the number that the kernel has for it. */
static dev_t device_of(uint64_t number)
{
	return makedev(number >> 20, number & 0xfffff);
}

static void take_kernel(struct capture_writer *w, struct capture_task *t,
			const struct capture_note *n, struct capture *c)
{
	c->nr = n->words[0];
	c->result = (int64_t)n->words[1];
	memcpy(c->args, n->words + 2, sizeof(c->args));
	c->entered = n->n_words > 10 ? n->words[10] : 0;
	bool returns = c->nr == SYS_rt_sigreturn; /* to there */
	if (clock_calls_in_copy(&w->clocks, n->ip) && !returns)
		t->asked = (struct clock_asked){true, c->nr, {c->args[0], c->args[1]}};
	take_channel(w, t, n, c);
	opened_files_note(w->opened, n->pid, c);
	bool of_file = c->nr == SYS_mmap && !(c->args[3] & MAP_ANONYMOUS) &&
		       (c->result > 0 || c->result < -4095);
	if (!of_file)
		return;
	c->map_file = CAPTURE_UNKNOWN;
	if (w->redaction.n && !t->shown)
		return;
	struct mapped_file file = {
		.pid = n->pid,
		.addr = (uint64_t)c->result,
		.len = c->args[1],
		.off = c->args[5],
		.time_ns = n->time_ns,
		.inode = n->n_words > 8 ? n->words[8] : 0,
		.size = n->n_words > 9 ? n->words[9] : 0,
		.device = n->n_words == CHANNEL_WORDS + 1 ? device_of(n->words[CHANNEL_WORDS]) : 0};
	opened_files_find(w->opened, (int)c->args[4], &file);
	if (w->file_of)
		c->map_file = w->file_of(w->file_ctx, &file);
}

/* The address that a record tells. Code that we have placed beside the vDSO (clock_calls.h) stands
 * for the vDSO: of a task in there the vDSO's first byte is told. Where a signal or a switch finds
 * the task after the record of its call, before it has returned, the second byte is told. */
static uint64_t ip_told(const struct capture_writer *w, const struct capture_task *t,
			const struct capture_note *n)
{
	bool found = n->kind == RING_CAPTURE_SIGNAL || n->kind == RING_CAPTURE_SWITCH;
	bool over = found && (t->asked.waits || clock_calls_over(&w->clocks, n->ip));

	return clock_calls_in(&w->clocks, n->ip) ? w->clocks.image + over : n->ip;
}

/* What every kind has. Its registers and arguments are those that its kind sets: to clear a whole
 * struct capture would take as long as the rest. */
static void note_begins(const struct capture_writer *w, const struct capture_task *t,
			const struct capture_note *n, struct capture *c)
{
	c->kind = n->kind;
	c->has_hash = false;
	c->hash = 0;
	c->known = 0;
	c->place = n->place;
	c->map_file = CAPTURE_NONE;
	c->entered = 0;
	c->n_surroundings = 0;
	c->order = n->order;
	c->time_ns = n->time_ns;
	c->ip = ip_told(w, t, n);
	c->sp = n->sp;
}

/* The ranges that have come belong to @c. */
static void give_ranges(struct capture_task *t, struct capture *c)
{
	for (uint32_t i = 0; i < t->n_ranges; i++)
		if (t->offs[i] != IN_RING)
			t->ranges[i].bytes = t->bytes.data + t->offs[i];
	c->ranges = t->ranges;
	c->n_ranges = t->n_ranges;
}

static void forget_ranges(struct capture_task *t)
{
	t->n_ranges = 0;
	t->bytes.len = 0;
}

/* It has the processor again. @on: what was written by then is told; else the ranges that have come
 * are the next record's, and may hold what is to be hidden there. */
static void add_switch(struct capture_writer *w, struct capture_task *t, uint64_t order, bool on)
{
	t->off.order = order;
	t->off.n_ranges = 0;
	t->is_off = false;
	if (on)
		give_ranges(t, &t->off);
	add_record(w, t, &t->off);
	if (on)
		forget_ranges(t);
}

static void take_note(struct capture_writer *w, struct capture_task *t,
		      const struct capture_note *n)
{
	struct capture c;

	note_begins(w, t, n, &c);
	note_lost(w, t, n->number, n->order, n->time_ns);
	t->ring_number = n->number + 1;
	t->ended = n->kind == RING_CAPTURE_END;
	if (t->is_off)
		add_switch(w, t, n->order, n->kind == RING_CAPTURE_ON);
	if (n->kind == RING_CAPTURE_ON)
		return;
	give_ranges(t, &c);
	switch (n->kind) {
	case RING_CAPTURE_ENTER:
		take_registers(n, &c);
		break;
	case RING_CAPTURE_END: /* in that call it executes nothing */
		take_registers(n, &c);
		c.order = n->n_words > 17 && n->words[17] ? n->words[17] : c.order;
		break;
	case RING_CAPTURE_SIGNAL:
		take_registers(n, &c);
		c.signal = n->words[17];
		c.handler = n->words[18];
		break;
	case RING_CAPTURE_SWITCH:
		take_registers(n, &c);
		c.trapped = n->words[17];
		take_surroundings(n, &c);
		c.entered = n->order;
		if (w->redaction.n)
			redact(t, &c);
		t->off = c;
		t->is_off = true;
		return;
	case RING_CAPTURE_RESULT:
		take_result(w, t, n, &c);
		break;
	case RING_CAPTURE_INSN:
		memcpy(c.regs, n->words, 4 * sizeof(*c.regs));
		c.flags = n->words[4];
		break;
	case RING_CAPTURE_KERNEL:
		take_kernel(w, t, n, &c);
		break;
	}
	if (w->redaction.n)
		redact(t, &c);
	add_record(w, t, &c);
	forget_ranges(t);
	t->shown = false;
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
	for (uint32_t i = 0; !clocks->lost && i < n; i++) {
		struct capture_range ranges[2];
		struct capture c = {.kind = CAPTURE_KERNEL,
				    .place = CAPTURE_NONE,
				    .map_file = CAPTURE_NONE,
				    .order = clocks->order + i,
				    .time_ns = clocks->time_ns,
				    .ip = w->clocks.image};
		bool broken;

		if (clock_record(&clocks->entries[i], clocks->first + i, &t->asked, &c, ranges,
				 &broken))
			add_record(w, t, &c);
		else if (broken)
			add_lost(w, t, 1, c.order, c.time_ns);
	}
}

void capture_writer_begin(struct capture_writer *w)
{
	pthread_mutex_lock(&w->lock);
}

void capture_writer_end(struct capture_writer *w)
{
	pthread_mutex_unlock(&w->lock);
}

/* How many words are looked at whatever the record says of them. */
static uint32_t words_of(uint32_t kind)
{
	static const uint8_t words[] = {
		[RING_CAPTURE_ENTER] = 17,  [RING_CAPTURE_RESULT] = 4, [RING_CAPTURE_KERNEL] = 8,
		[RING_CAPTURE_SIGNAL] = 19, [RING_CAPTURE_INSN] = 5,   [RING_CAPTURE_END] = 17,
		[RING_CAPTURE_SWITCH] = 18,
	};

	return kind < sizeof(words) ? words[kind] : 0;
}

/* Whether all that is looked at lies in the @len bytes of the ring. */
static bool is_whole(const struct capture_note *n, size_t len)
{
	const size_t head = offsetof(struct capture_note, words);

	return len >= head && n->n_words >= words_of(n->kind) &&
	       (len - head) / sizeof(*n->words) >= n->n_words;
}

static bool is_whole_range(const struct capture_bytes *r, size_t len)
{
	const size_t head = offsetof(struct capture_bytes, data);

	return len >= head && (r->unread || r->len <= len - head);
}

static void take_record(struct capture_writer *w, struct capture_task *t, const void *record,
			size_t len)
{
	const struct capture_note *n = record;

	if (n->kind == RING_CAPTURE_RANGE || n->kind == RING_CAPTURE_NAME) {
		if (!is_whole_range(record, len))
			return; /* the number of the next one tells */
		if (n->kind == RING_CAPTURE_NAME)
			take_name(w, t, record);
		else
			take_range(w, t, record);
	} else if (n->kind == RING_CAPTURE_CLOCKS &&
		   len >= offsetof(struct capture_clocks, entries)) {
		take_clocks(w, t, record, len);
	} else {
		struct capture_note cut;

		if (!is_whole(n, len)) {
			memset(&cut, 0, sizeof(cut));
			memcpy(&cut, record, len < sizeof(cut) ? len : sizeof(cut));
			n = &cut;
		}
		take_note(w, t, n);
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
	keep_ranges(w, t);
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
		keep_ranges(w, t);
	}
	return 0;
}

static void write_bytes(struct capture_writer *w, uint8_t kind, uint32_t task, uint64_t off,
			const uint8_t *bytes, uint32_t len)
{
	struct segment_header h = {
		.kind = kind, .task = task, .first_event = off, .n = 1, .raw_bytes = len};

	append(w, &h, bytes);
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
	write_bytes(w, CAPTURE_SEGMENT_TABLE, 0, w->n_segments, (const uint8_t *)json, len);
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
	return w->err;
}

void capture_writer_lost(struct capture_writer *w, uint64_t n)
{
	if (w)
		w->lost = n;
}

int capture_writer_close(struct capture_writer *w, uint64_t *records, uint64_t *bytes)
{
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
		finish_segment(w, t);
		finish_channels(w, t);
		bytes_deinit(&t->channels);
		capture_encoder_free(t->encoder);
		free(t->ranges);
		free(t->offs);
		bytes_deinit(&t->bytes);
		free(t);
	}
	if (!w->err && fsync(w->fd))
		fail(w, -errno);
	close(w->fd);
	if (records)
		*records = w->records;
	if (bytes)
		*bytes = w->off;
	free(w->tasks);
	opened_files_free(w->opened);
	codec_free(w->codec);
	codec_free(w->hurried);
	bytes_deinit(&w->stored);
	pthread_mutex_destroy(&w->lock);
	pthread_mutex_destroy(&w->segments);
	int err = w->err;
	free(w);
	return err;
}

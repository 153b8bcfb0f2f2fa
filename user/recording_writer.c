// SPDX-License-Identifier: LGPL-2.1-or-later
/* recording_writer.c: sorts a chunk by task, turns ring records into events, events into segments,
 * and appends these to the file, each with one write. A task's part of a chunk becomes a segment,
 * or several where its load bases change. */
#include "user/recording_writer.h"

#include "offline/codec.h"
#include "offline/segment.h"
#include "offline/varint.h"
#include "user/attach_stack.h"
#include "user/recording_meta.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { RESERVE_BYTES = 128 << 10, GENERATIONS_MAX = 64 };

/* What must be remembered of a task from one batch to the next. */
struct task {
	uint64_t bases[SEGMENT_MAX_MODULES]; /* load bias */
	uint64_t known;
	uint64_t lost;
	uint64_t n_events;
	uint64_t time_ns;
	uint32_t execs;
	struct snapshot *snapshots[BATCH_SNAPSHOTS]; /* by serial, modulo */
	const struct snapshot *last_snapshot;	     /* one of them */
	struct deep_stack *deeps[BATCH_SNAPSHOTS];   /* by serial, modulo; few have any */
	struct stack_copy *attached;		     /* until the event that it is of */
};

/* What was probed at a time: modules in a row, and the numbers of their first sites. */
struct generation {
	const struct recorder_module *modules;
	uint32_t first, n;
	uint64_t text_addr[BATCH_MODULES];
	uint32_t first_site[BATCH_MODULES + 1];
};

struct recording_writer {
	const struct recorder_options *options;
	json_t *meta;
	char *events_path;
	int fd;
	int err; /* once set, nothing more is written */
	uint64_t off_file;
	uint32_t n_segments;
	uint32_t witnesses;		/* in the encoder */
	struct generation *generations; /* GENERATIONS_MAX of what is probed; the last one is on */
	_Atomic uint32_t n_generations; /* the writing thread may read while one is added */
	uint32_t n_modules;		/* of all of them */

	struct task **tasks;
	uint32_t cap_tasks;
	struct segment_encoder *enc;
	struct codec *codec;
	struct bytes stored; /* a segment as it goes to the file */
	struct bytes lines;  /* process records */
	uint32_t n_lines;
	uint64_t first_ns, last_ns;

	struct entry_ref *refs;
	uint32_t cap_refs;
	uint64_t *words; /* a snapshot with what lies above it */
	struct attach_stacks *attach_stacks;
	struct recording_totals totals;
};

/* An entry of a chunk that is about a task. */
struct entry_ref {
	uint32_t task;
	uint32_t off;
};

static int open_files(struct recording_writer *w, struct pugmark_diag *diag)
{
	const char *dir = w->options->output;
	char reserve[PATH_MAX + 32];

	if (asprintf(&w->events_path, "%s/events", dir) < 0)
		return -ENOMEM;
	w->fd = open(w->events_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (w->fd < 0)
		return pugmark_diag_set(diag, -errno, w->events_path, PUGMARK_NO_OFFSET, "%s",
					strerror(errno));
	/* Room for the last meta.json, should the disk be full by then. */
	snprintf(reserve, sizeof(reserve), "%s/reserve", dir);
	int fd = open(reserve, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0) {
		if (posix_fallocate(fd, 0, RESERVE_BYTES)) {
			close(fd);
			return pugmark_diag_set(diag, -ENOSPC, dir, PUGMARK_NO_OFFSET,
						"the disk is full");
		}
		close(fd);
	}
	return 0;
}

static void task_free(struct task *t)
{
	if (!t)
		return;
	for (unsigned k = 0; k < BATCH_SNAPSHOTS; k++) {
		free(t->snapshots[k]);
		free(t->deeps[k]);
	}
	free(t->attached);
	free(t);
}

void recording_writer_abandon(struct recording_writer *w)
{
	if (!w)
		return;
	for (uint32_t i = 0; i < w->cap_tasks; i++)
		task_free(w->tasks[i]);
	free(w->tasks);
	free(w->words);
	attach_stacks_free(w->attach_stacks);
	free(w->generations);
	free(w->refs);
	free(w->events_path);
	segment_encoder_free(w->enc);
	codec_free(w->codec);
	bytes_deinit(&w->stored);
	bytes_deinit(&w->lines);
	json_decref(w->meta);
	if (w->fd >= 0)
		close(w->fd);
	free(w);
}

static int add_generation(struct recording_writer *w, const struct recorder_options *options,
			  const struct text_span *spans)
{
	if (!w->generations)
		w->generations = calloc(GENERATIONS_MAX, sizeof(*w->generations));
	if (!w->generations)
		return -ENOMEM;
	if (w->n_generations == GENERATIONS_MAX ||
	    w->n_modules + options->n_modules > BATCH_MODULES)
		return -E2BIG;
	struct generation *g = &w->generations[w->n_generations];
	*g = (struct generation){.modules = options->modules, .first = w->n_modules};
	for (; g->n < options->n_modules; g->n++) {
		g->text_addr[g->n] = spans[g->n].addr;
		g->first_site[g->n + 1] = g->first_site[g->n] + options->modules[g->n].n_sites;
	}
	w->n_modules += g->n;
	atomic_fetch_add(&w->n_generations, 1);
	return 0;
}

int recording_writer_change(struct recording_writer *w, const struct recorder_options *options,
			    const struct text_span *spans, struct pugmark_diag *diag)
{
	uint32_t first = w->n_modules;
	int err = add_generation(w, options, spans);
	if (err)
		return pugmark_diag_set(
			diag, err, options->output, PUGMARK_NO_OFFSET,
			"what is traced was changed too often: there is no room for "
			"another plan");
	err = recording_modules_add(options, first, spans, w->meta, diag);
	return err ? err : recording_meta_write(options->output, w->meta, diag);
}

int recording_writer_open(const struct recorder_options *options, const struct text_span *spans,
			  struct recording_writer **out, struct pugmark_diag *diag)
{
	int err = recording_directory_make(options, diag);
	if (err)
		return err;
	struct recording_writer *w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->options = options;
	w->fd = -1;
	w->enc = segment_encoder_new(options->time_unit_ns);
	w->codec = codec_new();
	w->meta = recording_meta_start(options, spans);
	if (add_generation(w, options, spans)) {
		recording_writer_abandon(w);
		return -ENOMEM;
	}
	err = w->enc && w->codec && w->meta ? attach_stacks_new(options, &w->attach_stacks)
					    : -ENOMEM;
	if (!err)
		err = open_files(w, diag);
	if (!err)
		err = recording_meta_write(options->output, w->meta, diag);
	if (err) {
		recording_writer_abandon(w);
		return err;
	}
	*out = w;
	return 0;
}

struct recording_totals *recording_writer_totals(struct recording_writer *w)
{
	return &w->totals;
}

/* Appends one segment. What could be written of one that does not fit is cut off again. */
static void write_segment(struct recording_writer *w, struct segment_header *header,
			  const uint8_t *payload)
{
	struct bytes *b = &w->stored;

	b->len = 0;
	if (w->err)
		return;
	if (!bytes_reserve(b, SEGMENT_HEADER_BYTES + codec_bound(header->raw_bytes))) {
		w->err = -ENOMEM;
		return;
	}
	header->stored_bytes = codec_compress(w->codec, payload, header->raw_bytes,
					      b->data + SEGMENT_HEADER_BYTES, &header->codec);
	header->crc = crc32(0, b->data + SEGMENT_HEADER_BYTES, header->stored_bytes);
	header->number = w->n_segments;
	segment_header_write(header, b->data);

	size_t len = SEGMENT_HEADER_BYTES + header->stored_bytes;
	for (size_t done = 0; done < len;) {
		ssize_t n = pwrite(w->fd, b->data + done, len - done, w->off_file + done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			w->err = n ? -errno : -ENOSPC;
			if (ftruncate(w->fd, w->off_file))
				return; /* the reader sees a segment cut short */
			return;
		}
		done += n;
	}
	w->off_file += len;
	w->n_segments++;
	atomic_store(&w->totals.bytes, w->off_file);
	atomic_store(&w->totals.segments, w->n_segments);
}

static void finish_events(struct recording_writer *w, uint32_t number, struct task *t)
{
	struct segment_header header = {.task = number, .first_event = t->n_events};

	if (segment_encoder_count(w->enc)) {
		const uint8_t *payload = segment_encoder_finish(w->enc, &header);

		if (payload)
			write_segment(w, &header, payload);
		else
			w->err = -ENOMEM;
		t->n_events += header.n;
		atomic_fetch_add(w->err ? &w->totals.lost : &w->totals.events, w->witnesses);
		w->witnesses = 0;
	}
	segment_encoder_reset(w->enc, t->bases, t->known);
}

static void add_event(struct recording_writer *w, uint32_t number, struct task *t,
		      const struct witness_event *event)
{
	int err = segment_encoder_add(w->enc, event);

	if (err == -ENOSPC) {
		finish_events(w, number, t);
		err = segment_encoder_add(w->enc, event);
	}
	if (err && !w->err)
		w->err = err;
}

/* @value: of EVENT_LOST how many, of EVENT_FORK the child. */
static void add_plain(struct recording_writer *w, uint32_t number, struct task *t,
		      enum event_kind kind, uint64_t value)
{
	struct witness_event event = {
		.kind = kind, .time_ns = t->time_ns, .lost = value, .val = value};

	add_event(w, number, t, &event);
}

/* What a record says of the task as a whole: losses, and programs that it went through. */
static void note_task(struct recording_writer *w, uint32_t number, struct task *t, uint64_t lost,
		      uint32_t execs)
{
	if (lost > t->lost) {
		add_plain(w, number, t, EVENT_LOST, lost - t->lost);
		atomic_fetch_add(&w->totals.lost, lost - t->lost);
		t->lost = lost;
	}
	for (; t->execs != execs; t->execs++) {
		add_plain(w, number, t, EVENT_EXEC, 0);
		t->known = 0;
	}
}

/* Which module of the generation has @site. */
static uint32_t slot_of(const struct generation *g, uint32_t site)
{
	uint32_t m = 0;

	while (m + 1 < g->n && site >= g->first_site[m + 1])
		m++;
	return m;
}

/* The state of reading one batch. */
struct unpack {
	const struct generation *generation;
	uint64_t time_ns, cfa_high;
	uint64_t ret, target;
	bool has_ret, has_target;
	uint32_t serial;
};

/* Puts what lies above the snapshot of @e, if anything was sent, behind it. */
static void add_deep(struct recording_writer *w, const struct task *t, struct witness_event *e,
		     uint32_t serial)
{
	const struct deep_stack *deep = t->deeps[serial % BATCH_SNAPSHOTS];

	if (!deep || deep->serial != serial || deep->n_words <= e->stack_words)
		return;
	if (!w->words)
		w->words = malloc(DEEP_WORDS * sizeof(*w->words));
	if (!w->words) {
		w->err = w->err ? w->err : -ENOMEM;
		return;
	}
	memcpy(w->words, e->stack, e->stack_words * sizeof(*w->words));
	for (uint32_t i = e->stack_words; i < deep->n_words; i++)
		w->words[i] = EVENT_STACK_UNKNOWN;
	for (uint32_t i = 0; i < deep->n; i++)
		if (deep->words[i].place >= e->stack_words && deep->words[i].place < deep->n_words)
			w->words[deep->words[i].place] = deep->base + deep->words[i].off;
	e->stack = w->words;
	e->stack_words = deep->n_words;
}

static void unpack_witness(struct recording_writer *w, uint32_t number, struct task *t,
			   struct unpack *u, const struct batch_record *r)
{
	uint32_t site = r->head & HEAD_SITE_MASK;
	const struct generation *g = u->generation;
	uint32_t slot = slot_of(g, site), m = g->first + slot;
	const struct recorder_module *mod = &g->modules[slot];
	struct snapshot *snap = NULL;

	if (site < g->first_site[slot] || site - g->first_site[slot] >= mod->n_sites)
		return;
	struct witness_event e = {
		.kind = EVENT_WITNESS,
		.module = m,
		.site = site - g->first_site[slot],
		.cfa = u->cfa_high << 32 | r->cfa,
	};
	u->time_ns += r->dt_ns;
	t->time_ns = e.time_ns = u->time_ns;
	if (r->head & HEAD_RET) {
		e.flags |= EVENT_HAS_RET;
		e.ret = u->has_ret ? u->ret
				   : t->bases[m] + mod->sites[e.site].addr + (int64_t)r->ret;
	}
	if (u->has_target) {
		e.flags |= EVENT_HAS_TARGET;
		e.val = u->target;
	} else {
		e.val = r->head & HEAD_TAKEN ? 1 : 0;
	}
	if (r->head & HEAD_SIGNAL)
		e.flags |= EVENT_FROM_SIGNAL;
	if (r->head & HEAD_SNAPSHOT) {
		snap = t->snapshots[u->serial % BATCH_SNAPSHOTS];
		if (snap && snap->serial == u->serial) {
			e.stack = (const uint64_t *)snap->words;
			e.stack_addr = snap->addr;
			e.stack_words = snap->n_words;
			add_deep(w, t, &e, u->serial);
		}
		u->serial++;
	}
	add_event(w, number, t, &e);
	w->witnesses++;
	u->has_ret = u->has_target = false;
}

/* The task ran before: what its stack says, from which its trace begins. */
static void unpack_attach(struct recording_writer *w, uint32_t number, struct task *t,
			  const struct generation *g, pid_t pid)
{
	struct witness_event e = {.kind = EVENT_ATTACH, .time_ns = t->time_ns};
	uint64_t known = t->known;

	if (t->attached && g->modules[0].plan &&
	    attach_stacks_reduce(w->attach_stacks, pid, t->attached)) {
		e.stack = t->attached->words;
		e.stack_addr = t->attached->addr;
		e.stack_words = t->attached->n_words;
		for (uint32_t i = 0; i < g->n; i++)
			if (!(known >> (g->first + i) & 1) &&
			    attach_stacks_bias(w->attach_stacks, &g->modules[i],
					       &t->bases[g->first + i]))
				known |= 1ull << (g->first + i);
	}
	if (known != t->known) {
		finish_events(w, number, t);
		t->known = known;
		segment_encoder_reset(w->enc, t->bases, t->known);
	}
	add_event(w, number, t, &e);
	free(t->attached);
	t->attached = NULL;
}

/* When the next witness of @n records was hit, counted from @time_ns. */
static uint64_t next_time(const struct batch_record *r, uint32_t n, uint64_t time_ns)
{
	for (; n--; r++) {
		if (r->head >> HEAD_RECORD_SHIFT == RECORD_TIME)
			time_ns = r->value;
		if (r->head >> HEAD_RECORD_SHIFT == RECORD_WITNESS)
			return time_ns + r->dt_ns;
	}
	return time_ns;
}

static void unpack_batch(struct recording_writer *w, uint32_t number, struct task *t,
			 const struct batch *b, uint32_t bytes)
{
	const struct batch_record *r = (const struct batch_record *)(b + 1);
	uint32_t n = (bytes - sizeof(*b)) / sizeof(*r);
	if (b->generation >= w->n_generations)
		return;
	const struct generation *g = &w->generations[b->generation];
	struct unpack u = {g, b->time_ns, b->cfa_high, .serial = b->snapshots};

	note_task(w, number, t, b->lost, b->execs);
	if (b->n < n)
		n = b->n;
	for (; n--; r++)
		switch (r->head >> HEAD_RECORD_SHIFT) {
		case RECORD_WITNESS:
			unpack_witness(w, number, t, &u, r);
			break;
		case RECORD_BASE: {
			uint32_t slot = r->head & (BATCH_MODULES - 1), m = g->first + slot;
			uint64_t bias = r->value - g->text_addr[slot];

			if (t->known >> m & 1 && t->bases[m] == bias)
				break;
			finish_events(w, number, t);
			t->bases[m] = bias;
			t->known |= 1ull << m;
			segment_encoder_reset(w->enc, t->bases, t->known);
			break;
		}
		case RECORD_TIME:
			u.time_ns = r->value;
			break;
		case RECORD_CFA:
			u.cfa_high = r->value;
			break;
		case RECORD_RET:
			u.ret = r->value;
			u.has_ret = true;
			break;
		case RECORD_TARGET:
			u.target = r->value;
			u.has_target = true;
			break;
		case RECORD_ATTACH:
			t->time_ns = next_time(r, n, u.time_ns);
			unpack_attach(w, number, t, g, b->pid);
			break;
		case RECORD_PAUSE:
			add_plain(w, number, t, EVENT_PAUSE, 0);
			finish_events(w, number, t);
			t->known = 0;
			segment_encoder_reset(w->enc, t->bases, t->known);
			break;
		case RECORD_FORK:
			add_plain(w, number, t, EVENT_FORK, r->value);
			break;
		}
}

static void unpack_process(struct recording_writer *w, uint32_t number, struct task *t,
			   const struct process_record *r)
{
	if (r->kind != PROCESS_EXIT && r->kind != PROCESS_STOP)
		return;
	note_task(w, number, t, r->lost, r->execs);
	struct witness_event e = {
		.kind = r->kind == PROCESS_EXIT ? EVENT_END : EVENT_STOP,
		.time_ns = r->time_ns,
		.cfa = r->sp,
		.ret = r->ip,
		.val = r->stopped,
	};
	add_event(w, number, t, &e);
}

/* Puts a snapshot together from what was sent of it and the one before. */
static void keep_snapshot(struct recording_writer *w, struct task *t, const struct snapshot *sent,
			  uint32_t bytes)
{
	uint32_t n = sent->n_sent, total = sent->n_words;
	struct snapshot **slot = &t->snapshots[sent->serial % BATCH_SNAPSHOTS], *snap;
	const struct snapshot *old = t->last_snapshot;

	if (total > SNAPSHOT_WORDS || n > total ||
	    bytes != offsetof(struct snapshot, words) + 8 * n)
		return;
	snap = malloc(sizeof(*snap));
	if (!snap) {
		w->err = w->err ? w->err : -ENOMEM;
		return;
	}
	memcpy(snap, sent, bytes);
	for (uint32_t i = n; i < total; i++) {
		uint64_t at =
			old ? i + (uint64_t)((int64_t)(snap->addr - old->addr) / 8) : UINT64_MAX;

		snap->words[i] = at < SNAPSHOT_WORDS ? old->words[at] : 0;
	}
	/* That value is kept for words that are not known. */
	for (uint32_t i = 0; i < total; i++)
		snap->words[i] = snap->words[i] == EVENT_STACK_UNKNOWN ? 0 : snap->words[i];
	free(*slot); /* BATCH_SNAPSHOTS ago, so never the last one */
	t->last_snapshot = *slot = snap;
}

static void keep_deep(struct recording_writer *w, struct task *t, const struct deep_stack *sent,
		      uint32_t bytes)
{
	struct deep_stack **slot = &t->deeps[sent->serial % BATCH_SNAPSHOTS];

	if (bytes < offsetof(struct deep_stack, words) || sent->n > DEEP_MAX ||
	    sent->n_words > DEEP_WORDS ||
	    bytes != offsetof(struct deep_stack, words) + sent->n * sizeof(*sent->words))
		return;
	free(*slot);
	*slot = malloc(bytes);
	if (*slot)
		memcpy(*slot, sent, bytes);
	else
		w->err = w->err ? w->err : -ENOMEM;
}

static void keep_attached(struct recording_writer *w, struct task *t,
			  const struct attach_stack *piece, uint32_t bytes)
{
	if (stack_copy_add(&t->attached, piece, bytes) && !w->err)
		w->err = -ENOMEM;
}

static struct task *task_get(struct recording_writer *w, uint32_t number)
{
	if (number >= w->cap_tasks) {
		uint32_t cap = w->cap_tasks ? w->cap_tasks : 64;

		while (cap <= number)
			cap *= 2;
		struct task **tasks = realloc(w->tasks, cap * sizeof(*tasks));
		if (!tasks)
			return NULL;
		memset(tasks + w->cap_tasks, 0, (cap - w->cap_tasks) * sizeof(*tasks));
		w->tasks = tasks;
		w->cap_tasks = cap;
	}
	if (!w->tasks[number]) {
		w->tasks[number] = calloc(1, sizeof(struct task));
		atomic_fetch_add(&w->totals.tasks, 1);
	}
	return w->tasks[number];
}

static void task_drop(struct recording_writer *w, uint32_t number)
{
	task_free(w->tasks[number]);
	w->tasks[number] = NULL;
}

/* All that the chunk says of one task, in order. */
static void write_task(struct recording_writer *w, const uint8_t *chunk,
		       const struct entry_ref *refs, uint32_t n)
{
	uint32_t number = refs->task;
	struct task *t = task_get(w, number);
	bool ended = false;

	if (!t) {
		w->err = -ENOMEM;
		return;
	}
	segment_encoder_reset(w->enc, t->bases, t->known);
	for (uint32_t i = 0; i < n; i++) {
		const struct chunk_entry *entry = (const void *)(chunk + refs[i].off);
		const void *data = entry + 1;
		uint32_t kind = *(const uint32_t *)data;

		if (kind == RING_BATCH)
			unpack_batch(w, number, t, data, entry->bytes);
		else if (kind == RING_SNAPSHOT)
			keep_snapshot(w, t, data, entry->bytes);
		else if (kind == RING_DEEP)
			keep_deep(w, t, data, entry->bytes);
		else if (kind == RING_ATTACH)
			keep_attached(w, t, data, entry->bytes);
		else
			unpack_process(w, number, t, data);
		ended |= kind == PROCESS_EXIT || kind == PROCESS_STOP;
	}
	finish_events(w, number, t);
	if (ended)
		task_drop(w, number);
}

static void add_line(struct recording_writer *w, uint64_t time_ns, json_t *line)
{
	char *text = line ? json_dumps(line, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;

	json_decref(line);
	if (!text) {
		w->err = -ENOMEM;
		return;
	}
	bytes_put(&w->lines, text, strlen(text));
	bytes_put(&w->lines, "\n", 1);
	free(text);
	if (!w->n_lines++)
		w->first_ns = time_ns;
	w->last_ns = time_ns;
}

static void process_line(struct recording_writer *w, const struct process_record *r)
{
	json_t *j = json_object();
	char comm[sizeof(r->comm) + 1] = "", file[sizeof(r->file) + 1] = "";

	memcpy(comm, r->comm, sizeof(r->comm));
	memcpy(file, r->file, sizeof(r->file));
	json_object_set_new(j, "ev",
			    json_string(r->kind == PROCESS_TASK	  ? "task"
					: r->kind == PROCESS_EXEC ? "exec"
					: r->kind == PROCESS_EXIT ? "exit"
								  : "stop"));
	json_object_set_new(j, "t", json_integer(r->time_ns));
	json_object_set_new(j, "task", json_integer(r->task));
	json_object_set_new(j, "tid", json_integer(r->tid));
	json_object_set_new(j, "pid", json_integer(r->pid));
	json_object_set_new(j, "comm", recording_json_text(comm));
	switch (r->kind) {
	case PROCESS_TASK:
		json_object_set_new(j, "start", json_integer(r->start_ns));
		if (r->parent)
			json_object_set_new(j, "parent", json_integer(r->parent));
		if (r->attached)
			json_object_set_new(j, "attached", json_true());
		break;
	case PROCESS_EXEC:
		json_object_set_new(j, "file", recording_json_text(file));
		break;
	case PROCESS_EXIT:
		json_object_set_new(j, "code", json_integer(r->exit_code));
		json_object_set_new(j, "last", json_boolean(r->last));
		break;
	}
	add_line(w, r->time_ns, j);
}

/* A line of /proc/PID/maps: start-end perms offset dev inode path. */
static void maps_line(struct recording_writer *w, const struct chunk_text *text, uint32_t bytes)
{
	char *copy = strndup(text->text, bytes - sizeof(*text)), *save = NULL;
	json_t *maps = json_array(), *j = json_object();

	for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		unsigned long start, end, off;
		int at = 0;

		if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %n", &start, &end, &off, &at) < 3)
			continue;
		json_t *row = json_array();
		json_array_append_new(row, json_integer(start));
		json_array_append_new(row, json_integer(end));
		json_array_append_new(row, json_integer(off));
		json_array_append_new(row, recording_json_text(at ? line + at : ""));
		json_array_append_new(maps, row);
	}
	free(copy);
	json_object_set_new(j, "ev", json_string("maps"));
	json_object_set_new(j, "t", json_integer(text->time_ns));
	json_object_set_new(j, "pid", json_integer(text->pid));
	json_object_set_new(j, "maps", maps);
	add_line(w, text->time_ns, j);
}

static void note_line(struct recording_writer *w, const struct chunk_text *text, uint32_t bytes)
{
	char *copy = strndup(text->text, bytes - sizeof(*text));

	add_line(w, text->time_ns,
		 json_pack("{s:s,s:I,s:s}", "ev", "note", "t", (json_int_t)text->time_ns, "text",
			   copy ? copy : ""));
	free(copy);
}

static void finish_lines(struct recording_writer *w)
{
	struct segment_header header = {
		.kind = SEGMENT_PROCESS,
		.n = w->n_lines,
		.raw_bytes = w->lines.len,
		.first_ns = w->first_ns,
		.last_ns = w->last_ns,
	};

	if (w->lines.failed)
		w->err = -ENOMEM;
	else if (w->n_lines)
		write_segment(w, &header, w->lines.data);
	w->lines.len = w->n_lines = 0;
}

/* Lists the entries that are about tasks and writes the lines of the others. */
static int index_chunk(struct recording_writer *w, const uint8_t *chunk, size_t len,
		       uint32_t *n_refs)
{
	uint32_t n = 0;

	for (size_t off = 0; off + sizeof(struct chunk_entry) < len;) {
		const struct chunk_entry *entry = (const void *)(chunk + off);
		const void *data = entry + 1;
		uint32_t kind = *(const uint32_t *)data;

		if (n == w->cap_refs) {
			uint32_t cap = n ? 2 * n : 4096;
			struct entry_ref *refs = realloc(w->refs, cap * sizeof(*refs));

			if (!refs)
				return -ENOMEM;
			w->refs = refs;
			w->cap_refs = cap;
		}
		/* In every kind that is about a task, its number is the second word. */
		if (kind < CHUNK_MAPS)
			w->refs[n++] =
				(struct entry_ref){((const uint32_t *)data)[1], (uint32_t)off};
		if (kind == CHUNK_MAPS)
			maps_line(w, data, entry->bytes);
		else if (kind == CHUNK_NOTE)
			note_line(w, data, entry->bytes);
		else if (kind >= PROCESS_TASK)
			process_line(w, data);
		if (w->lines.len > 1 << 20)
			finish_lines(w);
		off += sizeof(*entry) + (entry->bytes + 7) / 8 * 8;
	}
	*n_refs = n;
	return 0;
}

static int by_task(const void *a, const void *b)
{
	const struct entry_ref *x = a, *y = b;

	if (x->task != y->task)
		return x->task < y->task ? -1 : 1;
	return x->off < y->off ? -1 : x->off > y->off;
}

int recording_writer_chunk(struct recording_writer *w, const uint8_t *chunk, size_t len)
{
	uint32_t n = 0;
	int err = index_chunk(w, chunk, len, &n);

	if (err && !w->err)
		w->err = err;
	finish_lines(w);
	qsort(w->refs, n, sizeof(*w->refs), by_task);
	for (uint32_t i = 0, k; i < n; i = k) {
		for (k = i; k < n && w->refs[k].task == w->refs[i].task;)
			k++;
		if (w->refs[i].task)
			write_task(w, chunk, w->refs + i, k - i);
	}
	return w->err;
}

int recording_writer_close(struct recording_writer *w, const struct recorder_result *result,
			   struct pugmark_diag *diag)
{
	static const char *const why[] = {"exit", "signal", "duration", "disk", "overhead"};
	char reserve[PATH_MAX + 32];

	snprintf(reserve, sizeof(reserve), "%s/reserve", w->options->output);
	unlink(reserve);
	if (!w->err && fsync(w->fd))
		w->err = -errno;
	json_object_set_new(w->meta, "closed", json_true());
	json_object_set_new(w->meta, "stopped", json_string(why[result->why]));
	if (w->options->argv)
		json_object_set_new(w->meta, "exit_status", json_integer(result->exit_status));
	json_object_set_new(w->meta, "events", json_integer(w->totals.events));
	json_object_set_new(w->meta, "lost", json_integer(w->totals.lost));
	json_object_set_new(w->meta, "tasks", json_integer(w->totals.tasks));
	json_object_set_new(w->meta, "segments", json_integer(w->n_segments));
	int err = recording_meta_write(w->options->output, w->meta, diag);
	recording_writer_abandon(w);
	return err;
}

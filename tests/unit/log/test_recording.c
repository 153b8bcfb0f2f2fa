// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_recording.c: what the recorder writes, the reader reads; what is damaged or cut off costs
 * what is damaged or cut off, and is said. The ring's records are made up here, so no kernel is
 * needed. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <pugmark/recording.h>

#include "user/kernel/probes.h"
#include "user/record/write/recording_writer.h"

enum { SITES = 50, BATCHES = 8, RECORDS = 50, TASKS = 3 };
#define TEXT_ADDR 0x1000ull
#define BIAS 0x555555554000ull

struct chunk {
	uint8_t *data;
	size_t len;
};

static struct pugmark_plan_site sites[SITES];
static char dir[64];
static uint32_t unit_ns = 1;

static void chunk_add(struct chunk *c, const void *data, uint32_t bytes)
{
	struct chunk_entry entry = {.bytes = bytes};
	size_t padded = (bytes + 7) / 8 * 8;

	c->data = realloc(c->data, c->len + sizeof(entry) + padded);
	memcpy(c->data + c->len, &entry, sizeof(entry));
	memset(c->data + c->len + sizeof(entry), 0, padded);
	memcpy(c->data + c->len + sizeof(entry), data, bytes);
	c->len += sizeof(entry) + padded;
}

/* Event k of a task: what it should say. */
static uint64_t want_cfa(uint32_t task, uint32_t k)
{
	return 0x7ffd00000000 + 0x100000ull * task + 8 * (k % 100);
}

static void add_batch(struct chunk *c, uint32_t task, uint32_t number, uint64_t lost)
{
	struct {
		struct batch head;
		struct batch_record records[RECORDS + 1];
	} b = {
		.head = {.kind = RING_BATCH,
			 .task = task,
			 .n = RECORDS + 1,
			 .witnesses = RECORDS,
			 .lost = lost,
			 .time_ns = 1000000ull * number,
			 .cfa_high = want_cfa(task, 0) >> 32,
			 .pid = 100 + task},
	};

	b.records[0] = (struct batch_record){.head = RECORD_BASE << HEAD_RECORD_SHIFT};
	b.records[0].value = BIAS + TEXT_ADDR;
	for (uint32_t i = 0; i < RECORDS; i++) {
		uint32_t k = number * RECORDS + i;
		struct batch_record *r = &b.records[i + 1];

		r->head = k % SITES | HEAD_RET | (k % 3 ? HEAD_TAKEN : 0);
		r->dt_ns = 10;
		r->cfa = want_cfa(task, k);
		r->ret = k % 1000;
	}
	chunk_add(c, &b, sizeof(b));
}

static void add_process(struct chunk *c, uint32_t kind, uint32_t task, uint64_t lost)
{
	struct process_record r = {
		.kind = kind,
		.task = task,
		.tid = 100 + task,
		.pid = 100 + task,
		.parent = task - 1,
		.exit_code = 0x300,
		.sp = 0x7ffd12345678,
		.ip = 0x401000,
		.lost = lost,
		.comm = "worker\xff",
	};

	chunk_add(c, &r, sizeof(r));
}

/* Opens a writer for a recording of one module in the directory `dir`. */
static struct recording_writer *open_writer(void)
{
	static const struct recorder_module module = {
		.path = "/bin/true", .sites = sites, .n_sites = SITES};
	const struct recorder_options options = {
		.modules = &module, .n_modules = 1, .output = dir, .time_unit_ns = unit_ns};
	const struct text_span span = {.addr = TEXT_ADDR, .end = TEXT_ADDR + 0x10000};
	struct recording_writer *w = NULL;
	struct pugmark_diag diag;

	for (uint32_t i = 0; i < SITES; i++)
		sites[i].addr = TEXT_ADDR + 16 * i;
	assert_int_equal(recording_writer_open(&options, &span, &w, &diag), 0);
	return w;
}

/* Writes a recording of TASKS tasks; each loses 7 events after half. */
static void write_recording(bool close)
{
	const struct recorder_result result = {.why = STOP_EXIT};
	struct recording_writer *w = open_writer();
	struct pugmark_diag diag;

	for (uint32_t part = 0; part < 4; part++) {
		struct chunk c = {0};

		for (uint32_t t = 1; t <= TASKS && !part; t++)
			add_process(&c, PROCESS_TASK, t, 0);
		for (uint32_t i = 0; i < BATCHES / 4; i++)
			for (uint32_t t = 1; t <= TASKS; t++)
				add_batch(&c, t, part * BATCHES / 4 + i, part >= 2 ? 7 : 0);
		for (uint32_t t = 1; t <= TASKS && part == 3; t++)
			add_process(&c, PROCESS_EXIT, t, 7);
		assert_int_equal(recording_writer_chunk(w, c.data, c.len, part < 3), 0);
		free(c.data);
	}
	if (close) {
		assert_int_equal(recording_writer_totals(w)->events, TASKS * BATCHES * RECORDS);
		assert_int_equal(recording_writer_totals(w)->lost, TASKS * 7);
		assert_int_equal(recording_writer_close(w, &result, &diag), 0);
	} else {
		/* As if killed. */
		recording_writer_abandon(w);
	}
}

static char *file_named(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static uint8_t *read_file(const char *name, size_t *len)
{
	FILE *f = fopen(file_named(name), "r");
	uint8_t *data = malloc(1 << 22);

	assert_non_null(f);
	*len = fread(data, 1, 1 << 22, f);
	fclose(f);
	return data;
}

static void write_file(const char *name, const uint8_t *data, size_t len)
{
	FILE *f = fopen(file_named(name), "w");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	fclose(f);
}

struct sums {
	uint64_t witnesses, lost, damaged, ends, cut, notes;
};

/* Reads all there is. Events that are there must be right, and none may be there twice: their
 * place in the task, losses counted, says which one each is. */
static struct sums read_all(void)
{
	struct sums s = {0};
	struct pugmark_recording *rec;
	struct pugmark_diag diag;
	uint32_t n;

	assert_int_equal(pugmark_recording_open(dir, &rec, &diag), 0);
	const struct pugmark_recording_task *tasks = pugmark_recording_tasks(rec, &n);
	for (uint32_t i = 0; i < n; i++) {
		struct pugmark_recording_iter *iter;
		struct pugmark_witness_event e;
		uint64_t k = 0, bias;

		assert_int_equal(pugmark_recording_iter_new(rec, i, &iter), 0);
		while (pugmark_recording_next(iter, &e) == 1) {
			if (e.kind == PUGMARK_EVENT_WITNESS) {
				/* The 7 lost in the kernel never had a number; of those missing in
				 * the file one may be the mark of that loss, or the end. */
				uint64_t at = k;
				while (at > k - 3 &&
				       want_cfa(tasks[i].number, at) != pugmark_event_cfa(&e))
					at--;
				assert_true(pugmark_event_cfa(&e) ==
						    want_cfa(tasks[i].number, at) &&
					    e.site == at % SITES &&
					    pugmark_event_val(&e) == (at % 3 ? 1 : 0) &&
					    pugmark_event_ret(&e) ==
						    BIAS + sites[e.site].addr + at % 1000 &&
					    e.time_ns == 1000000ull * (at / RECORDS) +
								 10 * (at % RECORDS + 1));
				assert_true(pugmark_recording_bias(iter, 0, &bias) && bias == BIAS);
				k = at + 1;
				s.witnesses++;
			}
			if (e.kind == PUGMARK_EVENT_LOST && e.flags & PUGMARK_EVENT_DAMAGED) {
				s.damaged += e.lost;
				s.cut += !e.lost;
				k += e.lost;
			} else if (e.kind == PUGMARK_EVENT_LOST) {
				s.lost += e.lost;
			}
			if (e.kind == PUGMARK_EVENT_END) {
				s.ends++;
				assert_int_equal(pugmark_event_sp(&e), 0x7ffd12345678);
				assert_int_equal(pugmark_event_ip(&e), 0x401000);
			}
		}
		pugmark_recording_iter_free(iter);
	}
	while (pugmark_recording_note(rec, s.notes))
		s.notes++;
	pugmark_recording_free(rec);
	return s;
}

static int set_up(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	snprintf(dir, sizeof(dir), "%.40s/recXXXXXX", tmp ? tmp : "/tmp");
	return mkdtemp(dir) && !rmdir(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
	static const char *const names[] = {"meta.json", "events", "reserve"};

	(void)state;
	for (int old = 0; old < 2; old++) {
		for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
			unlink(file_named(names[i]));
		rmdir(dir);
		strcat(dir, ".old");
	}
	return 0;
}

static void what_is_written_is_read(void **state)
{
	(void)state;
	struct pugmark_recording *rec;
	struct pugmark_diag diag;
	uint32_t n;

	write_recording(true);
	struct sums s = read_all();
	assert_int_equal(s.witnesses, TASKS * BATCHES * RECORDS);
	assert_int_equal(s.lost, TASKS * 7);
	assert_int_equal(s.damaged + s.cut + s.notes, 0);
	assert_int_equal(s.ends, TASKS);

	assert_int_equal(pugmark_recording_open(dir, &rec, &diag), 0);
	const struct pugmark_recording_task *tasks = pugmark_recording_tasks(rec, &n);
	assert_int_equal(n, TASKS);
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(tasks[i].number, i + 1);
		assert_int_equal(tasks[i].tid, 101 + i);
		assert_int_equal(tasks[i].parent, i);
		assert_string_equal(tasks[i].comm, "worker?");
		assert_true(tasks[i].exited);
		assert_int_equal(tasks[i].exit_code, 0x300);
	}
	const struct pugmark_recording_module *modules = pugmark_recording_modules(rec, &n);
	assert_int_equal(n, 1);
	assert_string_equal(modules[0].name, "true");
	assert_null(modules[0].plan);
	assert_int_equal(modules[0].n_sites, SITES);
	assert_true(pugmark_recording_info(rec)->closed);
	assert_int_equal(pugmark_recording_info(rec)->lost, TASKS * 7);
	pugmark_recording_free(rec);
}

static void a_killed_recorder_leaves_what_it_wrote(void **state)
{
	(void)state;
	write_recording(false);
	struct sums s = read_all();
	assert_int_equal(s.witnesses, TASKS * BATCHES * RECORDS);
	assert_int_equal(s.notes, 1);
}

static uint64_t n_segments(struct recording_writer *w)
{
	return recording_writer_totals(w)->segments;
}

/* A chunk of some batches of @task, and of one of another. */
static void write_busy(struct recording_writer *w, uint32_t task, uint32_t *batches, bool more)
{
	struct chunk c = {0};

	for (uint32_t i = 0; i < 4; i++)
		add_batch(&c, task, batches[task - 1]++, 0);
	add_batch(&c, 3, batches[2]++, 0);
	assert_int_equal(recording_writer_chunk(w, c.data, c.len, more), 0);
	free(c.data);
}

/* The segment of a task that has most of a chunk goes on in the next: until another task has, or no
 * chunk is said to follow, or it is asked for. What was not written yet nobody can read. */
static void a_busy_task_goes_on_in_the_next_chunk(void **state)
{
	(void)state;
	struct recording_writer *w = open_writer();
	uint32_t batches[TASKS] = {0};

	write_busy(w, 1, batches, true);
	write_busy(w, 1, batches, true);
	assert_int_equal(n_segments(w), 2); /* the other's */
	assert_true(recording_writer_keeps(w));
	assert_int_equal(read_all().witnesses, 2 * RECORDS);
	write_busy(w, 2, batches, true);
	assert_int_equal(n_segments(w), 4);
	assert_int_equal(read_all().witnesses, 11 * RECORDS);
	assert_int_equal(recording_writer_settle(w), 0);
	assert_false(recording_writer_keeps(w));
	assert_int_equal(n_segments(w), 5);
	write_busy(w, 2, batches, true);
	write_busy(w, 2, batches, false);
	assert_false(recording_writer_keeps(w));
	assert_int_equal(n_segments(w), 8);
	assert_int_equal(read_all().witnesses, 25 * RECORDS);
	recording_writer_abandon(w);
}

/* Times are rounded within a segment, and each begins with an exact one. */
static void times_do_not_go_back_from_segment_to_segment(void **state)
{
	(void)state;
	struct pugmark_recording *rec;
	struct pugmark_diag diag;
	struct pugmark_witness_event event;
	uint32_t n = 0;
	unit_ns = 100; /* a batch ends 490 ns behind its first event */
	write_recording(true);
	unit_ns = 1;
	assert_int_equal(pugmark_recording_open(dir, &rec, &diag), 0);
	for (uint32_t t = 0; t < TASKS; t++) {
		struct pugmark_recording_iter *iter;
		uint64_t last_ns = 0;
		assert_int_equal(pugmark_recording_iter_new(rec, t, &iter), 0);
		while (pugmark_recording_next(iter, &event) == 1) {
			assert_true(event.time_ns >= last_ns);
			last_ns = event.time_ns;
			n++;
		}
		pugmark_recording_iter_free(iter);
	}
	assert_true(n >= TASKS * BATCHES * RECORDS);
	pugmark_recording_free(rec);
}

static void a_second_recording_keeps_the_first(void **state)
{
	(void)state;
	struct pugmark_recording *rec;
	struct pugmark_diag diag;
	char old[80];

	write_recording(true);
	write_recording(true);
	snprintf(old, sizeof(old), "%s.old", dir);
	assert_int_equal(pugmark_recording_open(old, &rec, &diag), 0);
	pugmark_recording_free(rec);
	write_recording(true); /* and only one */
}

/* Cut in many places: what lies before is read, and the cut is said. */
static void a_cut_costs_what_is_cut(void **state)
{
	(void)state;
	size_t len;

	write_recording(true);
	uint8_t *data = read_file("events", &len);
	uint64_t last = 0;
	for (size_t cut = 0; cut < len; cut += 1 + cut % 5) {
		write_file("events", data, cut);
		struct sums s = read_all();
		assert_true(s.witnesses >= last);
		assert_true(s.witnesses < TASKS * BATCHES * RECORDS || s.cut || s.ends == TASKS);
		last = s.witnesses;
	}
	assert_true(last >= (TASKS * BATCHES - BATCHES / 4) * RECORDS);
	free(data);
}

/* Bits flipped, one at a time, in about every second byte: at most one segment is gone, its events
 * counted as missing. */
static void a_flip_costs_one_segment(void **state)
{
	(void)state;
	size_t len;

	write_recording(true);
	uint8_t *data = read_file("events", &len);
	for (size_t at = 0; at < len; at += 1 + at % 3) {
		data[at] ^= 1u << at % 8;
		write_file("events", data, len);
		struct sums s = read_all();
		/* A segment here has a quarter of a task's events, and with them perhaps the mark
		 * of a loss and the end. */
		assert_true(s.witnesses >= (TASKS * BATCHES - BATCHES / 4) * RECORDS);
		uint64_t missing = TASKS * BATCHES * RECORDS - s.witnesses;
		if (missing)
			assert_true(s.cut == 1 ||
				    (s.damaged >= missing && s.damaged <= missing + 2));
		data[at] ^= 1u << at % 8;
	}
	free(data);
}

/* meta.json may be anything: events are read all the same. */
static void damaged_meta_is_survived(void **state)
{
	(void)state;
	size_t len;

	write_recording(true);
	uint8_t *data = read_file("meta.json", &len);
	for (size_t at = 0; at < len; at += 3) {
		struct pugmark_diag diag;
		struct pugmark_recording *rec;

		data[at] ^= 1u << at % 8;
		write_file("meta.json", data, len);
		int err = pugmark_recording_open(dir, &rec, &diag);
		if (!err) {
			pugmark_recording_free(rec);
			assert_int_equal(read_all().witnesses, TASKS * BATCHES * RECORDS);
		} else { /* only where it claims a later version */
			assert_int_equal(err, -ENOTSUP);
		}
		data[at] ^= 1u << at % 8;
	}
	for (size_t cut = 0; cut < len; cut += 7) {
		write_file("meta.json", data, cut);
		assert_int_equal(read_all().witnesses, TASKS * BATCHES * RECORDS);
	}
	unlink(file_named("meta.json"));
	struct sums s = read_all();
	assert_int_equal(s.witnesses, TASKS * BATCHES * RECORDS);
	assert_true(s.notes > 0);
	free(data);
}

static void what_is_no_recording_is_an_error(void **state)
{
	(void)state;
	struct pugmark_recording *rec = (void *)1;
	struct pugmark_diag diag;

	assert_int_equal(pugmark_recording_open("/nonexistent", &rec, &diag), -ENOENT);
	assert_string_equal(diag.file, "/nonexistent");
	assert_non_null(strstr(diag.text, "no such recording"));
	assert_ptr_equal(rec, (void *)1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(what_is_written_is_read),
		CASE(a_killed_recorder_leaves_what_it_wrote),
		CASE(a_busy_task_goes_on_in_the_next_chunk),
		CASE(times_do_not_go_back_from_segment_to_segment),
		CASE(a_second_recording_keeps_the_first),
		CASE(a_cut_costs_what_is_cut),
		CASE(a_flip_costs_one_segment),
		CASE(damaged_meta_is_survived),
		CASE(what_is_no_recording_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_code_names.c: what a process called the code at an address at a time, against one that looks
 * at all that was said: what was said last before that, what may have been said by then, what was
 * said later; and not what another program of the same process has said. */
#include "offline/log/recording_impl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PIECES = 300, ASKED = 20000, SPAN = 400 };

struct said {
	uint64_t since, time, start, size;
	int pid;
	char name[16];
};

static unsigned seed = 1;

static uint64_t below(uint64_t n)
{
	return (uint64_t)rand_r(&seed) % n;
}

static void add_line(struct pugmark_recording *rec, const char *format, ...)
{
	char line[256];
	va_list args;
	va_start(args, format);
	int n = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	assert_int_equal(recording_process_lines(rec, line, (size_t)n), 0);
}

static void one_process(void **state)
{
	(void)state;
	struct pugmark_recording rec = {.file_bytes = 1 << 20};
	struct pugmark_recording_code c;
	assert_false(pugmark_recording_code_at(&rec, 7, 0x100, 5, &c));
	add_line(&rec,
		 "{\"ev\":\"code\",\"t\":20,\"since\":10,\"pid\":7,\"code\":[[256,16,\"a\"]]}");
	add_line(&rec,
		 "{\"ev\":\"code\",\"t\":40,\"since\":30,\"pid\":7,\"code\":[[250,16,\"b\"]]}");
	static const struct {
		uint64_t addr, time;
		const char *name; /* NULL: none */
		bool certain;
	} rows[] = {
		{256, 25, "a", true},	{256, 15, "a", true}, {256, 5, "a", false},
		{256, 35, "b", false},	{256, 41, "b", true}, {255, 41, "b", true},
		{270, 41, "a", true},	{250, 5, "b", false}, {272, 41, NULL, false},
		{249, 41, NULL, false},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		bool is = pugmark_recording_code_at(&rec, 7, rows[i].addr, rows[i].time, &c);
		assert_int_equal(is, rows[i].name != NULL);
		if (is) {
			assert_string_equal(c.name, rows[i].name);
			assert_int_equal(c.certain, rows[i].certain);
		}
		assert_false(pugmark_recording_code_at(&rec, 8, rows[i].addr, rows[i].time, &c));
	}
	/* Two at one place between two looks: each may have been there, after the other and before.
	 */
	add_line(&rec, "{\"ev\":\"code\",\"t\":44,\"since\":42,\"pid\":7,"
		       "\"code\":[[256,16,\"a\"],[256,16,\"b\"],[512,1,\"c\"],[512,1,\"d\"]]}");
	assert_true(pugmark_recording_code_at(&rec, 7, 256, 43, &c) && !c.certain);
	assert_true(pugmark_recording_code_at(&rec, 7, 512, 43, &c) && !c.certain);
	assert_true(pugmark_recording_code_at(&rec, 7, 512, 44, &c) && c.certain);
	assert_string_equal(c.name, "d");
	/* It becomes another program. */
	add_line(&rec, "{\"ev\":\"exec\",\"t\":50,\"task\":1,\"pid\":7,\"tid\":7}");
	assert_true(pugmark_recording_code_at(&rec, 7, 256, 45, &c));
	assert_false(pugmark_recording_code_at(&rec, 7, 256, 55, &c));
	/* Either program may have said what was read behind that. */
	add_line(&rec,
		 "{\"ev\":\"code\",\"t\":52,\"since\":48,\"pid\":7,\"code\":[[256,16,\"e\"]]}");
	assert_true(pugmark_recording_code_at(&rec, 7, 256, 55, &c) && !c.certain);
	add_line(&rec,
		 "{\"ev\":\"code\",\"t\":54,\"since\":52,\"pid\":7,\"code\":[[256,16,\"f\"]]}");
	assert_true(pugmark_recording_code_at(&rec, 7, 256, 55, &c) && c.certain);
	recording_code_free(&rec);
	recording_tasks_free(&rec);
}

/* Where the recorder kept no more of what a process said, a later piece may have any place. */
static void after_what_was_left_out(void **state)
{
	(void)state;
	struct pugmark_recording rec = {.file_bytes = 1 << 20};
	struct pugmark_recording_code c, other;
	for (int pid = 7; pid < 9; pid++)
		add_line(&rec,
			 "{\"ev\":\"code\",\"t\":20,\"since\":10,\"pid\":%d,"
			 "\"code\":[[256,16,\"a\"],[512,16,\"b\"],[768,16,\"a\"]]}",
			 pid);
	add_line(&rec, "{\"ev\":\"code\",\"t\":40,\"since\":30,\"pid\":7,\"code\":[],"
		       "\"left_out\":true}");
	assert_true(pugmark_recording_code_at(&rec, 7, 256, 25, &c) && c.certain);
	assert_true(pugmark_recording_code_at(&rec, 7, 256, 35, &c) && !c.certain);
	assert_true(pugmark_recording_code_at(&rec, 8, 256, 35, &other) && other.certain);
	/* A name has one number, whoever has it. */
	assert_int_equal(c.number, other.number);
	assert_string_equal(pugmark_recording_code_name(&rec, c.number), "a");
	assert_true(pugmark_recording_code_at(&rec, 7, 768, 25, &other));
	assert_int_equal(c.number, other.number);
	assert_true(pugmark_recording_code_at(&rec, 7, 512, 25, &other));
	assert_int_not_equal(c.number, other.number);
	recording_code_free(&rec);
}

static void as_all_that_was_said(void **state)
{
	(void)state;
	static struct said all[PIECES];
	struct pugmark_recording rec = {.file_bytes = 1 << 20};
	for (int i = 0; i < PIECES; i++) {
		struct said *s = &all[i];
		*s = (struct said){.since = 10u * (unsigned)(i / 10),
				   .time = 10u * (unsigned)(i / 10) + 10,
				   .start = 1000 + below(SPAN),
				   .size = 1 + below(below(8) ? 20 : SPAN),
				   .pid = 1 + (int)below(2)};
		snprintf(s->name, sizeof(s->name), "%d", (int)below(60));
		add_line(&rec,
			 "{\"ev\":\"code\",\"t\":%d,\"since\":%d,\"pid\":%d,\"code\":[[%d,%d,\"%"
			 "s\"]]}",
			 (int)s->time, (int)s->since, s->pid, (int)s->start, (int)s->size, s->name);
	}
	for (int i = 0; i < ASKED; i++) {
		uint64_t addr = 990 + below(SPAN + 60), time = below(PIECES + 30);
		int pid = 1 + (int)below(2);
		const struct said *before = NULL, *around = NULL, *after = NULL;
		bool several = false;
		for (int k = 0; k < PIECES; k++) {
			const struct said *s = &all[k];
			if (s->pid != pid || addr < s->start || addr >= s->start + s->size)
				continue;
			if (s->time <= time)
				before = s;
			else if (s->since < time) {
				several |= around && strcmp(around->name, s->name) != 0;
				around = s;
			} else if (!after)
				after = s;
		}
		const struct said *is = around ? around : before ? before : after;
		struct pugmark_recording_code c;
		assert_int_equal(pugmark_recording_code_at(&rec, pid, addr, time, &c), is != NULL);
		if (!is)
			continue;
		assert_string_equal(c.name, is->name);
		assert_true(c.start == is->start && c.end == is->start + is->size);
		assert_int_equal(c.certain, is != after && !several &&
						    (!around || !before ||
						     !strcmp(around->name, before->name)));
	}
	recording_code_free(&rec);
}

/* A process may say the same a million times, which takes next to nothing in a file: what else the
 * recording holds is read all the same, and names as far as there is room. */
static void more_than_there_is_room_for(void **state)
{
	(void)state;
	enum { ROWS = 10000, LINES = 40 };
	struct pugmark_recording rec = {.file_bytes = 1 << 12};
	struct pugmark_recording_code c;
	char *line = malloc(64 + 16 * ROWS), *at = line;
	assert_non_null(line);
	at += sprintf(at, "{\"ev\":\"code\",\"t\":20,\"since\":10,\"pid\":7,\"code\":[");
	for (int i = 0; i < ROWS; i++)
		at += sprintf(at, "%s[256,16,\"a\"]", i ? "," : "");
	at = stpcpy(at, "]}");
	add_line(&rec, "{\"ev\":\"code\",\"t\":4,\"since\":2,\"pid\":8,\"code\":[[256,16,\"b\"]]}");
	for (int i = 0; i < LINES; i++)
		assert_int_equal(recording_process_lines(&rec, line, (size_t)(at - line)), 0);
	free(line);
	add_line(&rec, "{\"ev\":\"maps\",\"t\":30,\"pid\":7,\"maps\":[[4096,8192,0,\"/x\"]]}");
	assert_int_equal(rec.n_maps, 1);
	assert_int_equal(rec.n_notes, 1);
	assert_non_null(strstr(rec.notes[0], "left out"));
	assert_false(pugmark_recording_code_at(&rec, 7, 300, 25, &c));
	assert_true(pugmark_recording_code_at(&rec, 8, 256, 5, &c) && c.certain);
	assert_true(pugmark_recording_code_at(&rec, 8, 256, 25, &c) && !c.certain);
	free((char *)rec.maps[0].path);
	free(rec.maps);
	free((char *)rec.notes[0]);
	free(rec.notes);
	recording_code_free(&rec);
	recording_tasks_free(&rec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_process),
		cmocka_unit_test(after_what_was_left_out),
		cmocka_unit_test(as_all_that_was_said),
		cmocka_unit_test(more_than_there_is_room_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

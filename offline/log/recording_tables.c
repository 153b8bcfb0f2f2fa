// SPDX-License-Identifier: LGPL-2.1-or-later
/* recording_tables.c: the tasks and notes of an open recording, to which those who read its parts
 * (recording.c, recording_meta_read.c) add. */
#include "offline/log/recording_impl.h"

#include <errno.h>
#include <search.h>
#include <stdio.h>

void recording_add_note(struct pugmark_recording *rec, const char *format, ...)
{
	va_list args;
	char *text = NULL;

	if (rec->n_notes == RECORDING_MAX_NOTES)
		return;
	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	char **notes = realloc(rec->notes, (rec->n_notes + 1) * sizeof(*notes));
	if (notes)
		rec->notes = notes;
	if (notes && text)
		rec->notes[rec->n_notes++] = text;
	else
		free(text);
}

static int compare_numbers(const void *a, const void *b)
{
	const struct task_ref *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

static const struct task_ref *find(const struct pugmark_recording *rec, uint32_t number)
{
	const struct task_ref key = {.number = number};
	struct task_ref *const *found = tfind(&key, &rec->by_number, compare_numbers);

	return found ? *found : NULL;
}

/* Whoever made the recording chose the numbers and their order: a tree, which stays even. */
static bool add_ref(struct pugmark_recording *rec, uint32_t number)
{
	struct task_ref *ref = malloc(sizeof(*ref));

	if (!ref)
		return false;
	*ref = (struct task_ref){number, rec->n_tasks};
	if (tsearch(ref, &rec->by_number, compare_numbers))
		return true;
	free(ref);
	return false;
}

struct pugmark_recording_task *recording_task_get(struct pugmark_recording *rec, uint32_t number)
{
	const struct task_ref *ref = find(rec, number);

	if (ref)
		return &rec->tasks[ref->index];
	if (!recording_may_grow(rec, sizeof(*rec->tasks)))
		return NULL;
	if (rec->n_tasks == rec->cap_tasks) {
		uint32_t cap = rec->cap_tasks ? 2 * rec->cap_tasks : 64;
		struct pugmark_recording_task *tasks = realloc(rec->tasks, cap * sizeof(*tasks));

		if (!tasks)
			return NULL;
		rec->tasks = tasks;
		rec->cap_tasks = cap;
	}
	if (!add_ref(rec, number))
		return NULL;
	struct pugmark_recording_task *task = &rec->tasks[rec->n_tasks++];
	*task = (struct pugmark_recording_task){.number = number};
	return task;
}

uint32_t pugmark_recording_task_index(const struct pugmark_recording *rec, uint32_t number)
{
	const struct task_ref *ref = find(rec, number);

	return ref ? ref->index : UINT32_MAX;
}

void recording_tasks_free(struct pugmark_recording *rec)
{
	tdestroy(rec->by_number, free);
	free(rec->tasks);
}

/* Of a recording, what compresses best: the mappings of a thousand children that are alike. */
enum { GROWTH = 256 };

uint64_t recording_table_budget(const struct pugmark_recording *rec)
{
	return (16 << 20) + GROWTH * rec->file_bytes;
}

bool recording_may_grow(struct pugmark_recording *rec, size_t bytes)
{
	rec->table_bytes += bytes;
	return rec->table_bytes <= recording_table_budget(rec);
}

int recording_no_room(const struct pugmark_recording *rec)
{
	return rec->table_bytes > recording_table_budget(rec) ? -EFBIG : -ENOMEM;
}

size_t recording_longest_line(const struct pugmark_recording *rec)
{
	return (64 << 10) + GROWTH * rec->file_bytes;
}

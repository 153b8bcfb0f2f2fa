// SPDX-License-Identifier: LGPL-2.1-or-later
/* recording_tables.c: the tasks and notes of an open recording, to which those who read its parts
 * (recording.c, recording_meta_read.c) add. */
#include "offline/log/recording_impl.h"

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

struct pugmark_recording_task *recording_task_get(struct pugmark_recording *rec, uint32_t number)
{
	/* Numbers come mostly in rising order: look from the end. */
	struct task_ref key = {.number = number}, *ref;

	if (!rec->n_tasks || number > rec->by_number[rec->n_tasks - 1].number)
		ref = NULL;
	else
		ref = bsearch(&key, rec->by_number, rec->n_tasks, sizeof(key), compare_numbers);
	if (ref)
		return &rec->tasks[ref->index];
	if (rec->n_tasks == rec->cap_tasks) {
		uint32_t cap = rec->cap_tasks ? 2 * rec->cap_tasks : 64;
		struct pugmark_recording_task *tasks = realloc(rec->tasks, cap * sizeof(*tasks));

		if (tasks)
			rec->tasks = tasks;
		struct task_ref *refs = realloc(rec->by_number, cap * sizeof(*refs));
		if (refs)
			rec->by_number = refs;
		if (!tasks || !refs)
			return NULL;
		rec->cap_tasks = cap;
	}
	struct pugmark_recording_task *task = &rec->tasks[rec->n_tasks];
	*task = (struct pugmark_recording_task){.number = number};
	rec->by_number[rec->n_tasks] = (struct task_ref){number, rec->n_tasks};
	rec->n_tasks++;
	if (rec->n_tasks > 1 && rec->by_number[rec->n_tasks - 2].number > number)
		qsort(rec->by_number, rec->n_tasks, sizeof(*rec->by_number), compare_numbers);
	return task;
}

uint32_t pugmark_recording_task_index(const struct pugmark_recording *rec, uint32_t number)
{
	struct task_ref key = {.number = number}, *ref = NULL;

	if (rec->n_tasks)
		ref = bsearch(&key, rec->by_number, rec->n_tasks, sizeof(key), compare_numbers);
	return ref ? ref->index : UINT32_MAX;
}

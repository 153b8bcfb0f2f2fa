// SPDX-License-Identifier: LGPL-2.1-or-later
/* families.c: see families.h. */
#include "offline/capture/families.h"

#include <pugmark/recording.h>

#include <errno.h>
#include <stdlib.h>

static int compare_pids(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

/* The first of the @n sorted @pids that is not below @pid. */
static uint32_t first_of(const int32_t *pids, uint32_t n, int64_t pid)
{
	uint32_t low = 0;

	while (low < n) {
		uint32_t mid = low + (n - low) / 2;

		if (pids[mid] < pid)
			low = mid + 1;
		else
			n = mid;
	}
	return low;
}

/* Counts the threads of each process. */
static int count_threads(struct families *f)
{
	int32_t *pids = malloc((f->n + (size_t)1) * sizeof(*pids));

	if (!pids)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->n; i++)
		pids[i] = f->at[i].pid;
	qsort(pids, f->n, sizeof(*pids), compare_pids);
	for (uint32_t i = 0; i < f->n; i++) {
		int64_t pid = f->at[i].pid;

		f->at[i].threads = first_of(pids, f->n, pid + 1) - first_of(pids, f->n, pid);
		f->at[i].alone = f->at[i].threads == 1;
	}
	free(pids);
	return 0;
}

int families_read(const char *dir, struct families *out, struct pugmark_diag *diag)
{
	struct pugmark_recording *rec;
	struct families f = {0};
	int err = pugmark_recording_open(dir, &rec, diag);

	if (err)
		return err;
	uint32_t n_tasks;
	const struct pugmark_recording_task *tasks = pugmark_recording_tasks(rec, &n_tasks);
	f.at = calloc(n_tasks + (size_t)1, sizeof(*f.at));
	for (uint32_t i = 0; f.at && i < n_tasks; i++) {
		if (!tasks[i].pid) /* not known */
			continue;
		/* A parent comes before its children, whatever a file says: who follows parents
		 * comes to an end. */
		uint32_t parent = tasks[i].parent < tasks[i].number ? tasks[i].parent : 0;
		f.at[f.n++] = (struct family_task){.number = tasks[i].number,
						   .parent = parent,
						   .tid = tasks[i].tid,
						   .pid = tasks[i].pid};
	}
	pugmark_recording_free(rec);
	if (!f.at || count_threads(&f)) {
		families_deinit(&f);
		return pugmark_diag_set(diag, -ENOMEM, dir, PUGMARK_NO_OFFSET, "out of memory");
	}
	*out = f;
	return 0;
}

void families_deinit(struct families *f)
{
	free(f->at);
	*f = (struct families){0};
}

void families_lack(struct families *f)
{
	for (uint32_t i = 0; i < f->n; i++)
		f->at[i].alone = false;
}

const struct family_task *families_find(const struct families *f, uint32_t task)
{
	for (uint32_t i = 0; i < f->n; i++)
		if (f->at[i].number == task)
			return &f->at[i];
	return NULL;
}

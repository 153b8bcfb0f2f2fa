// SPDX-License-Identifier: LGPL-2.1-or-later
/* families.c: see families.h. */
#include "offline/capture/families.h"

#include <pugmark/recording.h>

#include <errno.h>
#include <stdlib.h>

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
	if (!f.at)
		err = pugmark_diag_set(diag, -ENOMEM, dir, PUGMARK_NO_OFFSET, "out of memory");
	for (uint32_t i = 0; !err && i < n_tasks; i++) {
		uint32_t n = 0;

		if (!tasks[i].pid) /* not known */
			continue;
		for (uint32_t k = 0; k < n_tasks; k++)
			n += tasks[k].pid == tasks[i].pid;
		/* A parent comes before its children, whatever a file says: who follows parents
		 * comes to an end. */
		uint32_t parent = tasks[i].parent < tasks[i].number ? tasks[i].parent : 0;
		f.at[f.n++] = (struct family_task){.number = tasks[i].number,
						   .parent = parent,
						   .tid = tasks[i].tid,
						   .pid = tasks[i].pid,
						   .alone = n == 1};
	}
	pugmark_recording_free(rec);
	if (!err)
		*out = f;
	return err;
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

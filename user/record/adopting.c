// SPDX-License-Identifier: LGPL-2.1-or-later
/* adopting.c: see adopting.h. */
#include "user/record/adopting.h"

#include "user/proc/running.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Takes the running processes in. One may have become another program while its plan was made. */
static int adopt_running(const struct recorder_options *o, struct probes *probes,
			 struct pugmark_diag *diag)
{
	for (uint32_t i = 0; i < o->n_pids; i++) {
		struct stat program, runs;
		char path[32];
		int n = probes_adopt(probes, o->pids[i], true, diag);

		if (n < 0)
			return n;
		snprintf(path, sizeof(path), "/proc/%d/exe", o->pids[i]);
		if (!o->pid_programs || stat(o->pid_programs[i], &program))
			continue;
		if (stat(path, &runs))
			return pugmark_diag_set(diag, -ESRCH, NULL, PUGMARK_NO_OFFSET,
						"process %d has just ended", o->pids[i]);
		if (program.st_dev != runs.st_dev || program.st_ino != runs.st_ino)
			return pugmark_diag_set(diag, -ESTALE, NULL, PUGMARK_NO_OFFSET,
						"process %d has just become another program (run "
						"this again to trace that)",
						o->pids[i]);
	}
	return 0;
}

/* Takes in what runs the program now: by itself each would be at its first hit, and its signals
 * before that would not be seen. A filter that keeps one out finds no thread of it. */
static int adopt_found(const struct recorder_options *o, struct probes *probes,
		       struct pugmark_diag *diag)
{
	for (uint32_t i = 0; o->all && i < o->n_running; i++) {
		if (!running_runs(o->running[i], o->program))
			continue;
		int n = probes_adopt(probes, o->running[i], true, diag);
		if (n < 0 && n != -ESRCH)
			return n;
	}
	return 0;
}

int adopt(const struct recorder_options *o, struct probes *probes, pid_t child,
	  struct pugmark_diag *diag)
{
	int n = o->argv ? probes_adopt(probes, child, false, diag) : 0;
	int err = n < 0 ? n : adopt_running(o, probes, diag);

	return err ? err : adopt_found(o, probes, diag);
}

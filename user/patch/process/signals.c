// SPDX-License-Identifier: LGPL-2.1-or-later
/* signals.c: see signals.h. */
#include "user/patch/process/signals.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

int signals_of(pid_t tid, const char *which, uint64_t *set)
{
	const size_t len = strlen(which);
	unsigned long long found;
	char path[32], line[256];
	int err = -ENODATA;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	FILE *f = fopen(path, "re");
	if (!f)
		return -errno;
	while (err && fgets(line, sizeof(line), f)) {
		if (strncmp(line, which, len) || sscanf(line + len, ": %llx", &found) != 1)
			continue;
		*set = found;
		err = 0;
	}
	fclose(f);
	return err;
}

int signals_waiting(pid_t tid, uint64_t *set)
{
	uint64_t its, shared;
	int err = signals_of(tid, "SigPnd", &its);

	if (!err)
		err = signals_of(tid, "ShdPnd", &shared);
	if (!err)
		*set = its | shared;
	return err;
}

bool signals_stops(int signal)
{
	return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

bool signals_continued(pid_t tid)
{
	uint64_t waiting;

	return !signals_waiting(tid, &waiting) && waiting >> (SIGCONT - 1) & 1;
}

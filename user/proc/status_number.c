// SPDX-License-Identifier: LGPL-2.1-or-later
/* status_number.c: see status_number.h. */
#include "user/proc/status_number.h"

#include <stdio.h>
#include <string.h>

long status_number(pid_t pid, const char *name)
{
	char path[32], line[128];
	const size_t len = strlen(name);
	long number = -1;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, len) && sscanf(line + len, ": %ld", &number) == 1)
			break;
	if (f)
		fclose(f);
	return number;
}

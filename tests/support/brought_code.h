/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* brought_code.h: for programs of scripts: where the code lies that their recorder has brought into
 * them. */
#ifndef TESTS_BROUGHT_CODE_H
#define TESTS_BROUGHT_CODE_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static uintptr_t from, to;

/* The mapping of a file without a folder whose name begins with @name; 0, 0: there is none. */
static void find_brought_code(const char *name)
{
	char line[512], memfd[64];
	FILE *f = fopen("/proc/self/maps", "r");
	snprintf(memfd, sizeof(memfd), "memfd:%s", name);
	while (fgets(line, sizeof(line), f))
		if (strstr(line, memfd) && strstr(line, "r-xp"))
			sscanf(line, "%lx-%lx", &from, &to);
	fclose(f);
}

#endif

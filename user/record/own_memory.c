// SPDX-License-Identifier: LGPL-2.1-or-later
/* own_memory.c: see own_memory.h. Counted is what is resident, pages of files among it; not what
 * the kernel keeps for probes and rings. */
#include "user/record/own_memory.h"

#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

void own_memory_give_back(void)
{
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}

static uint64_t resident_bytes(void)
{
	unsigned long long all, resident = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (!f)
		return 0;
	if (fscanf(f, "%llu %llu", &all, &resident) != 2)
		resident = 0;
	fclose(f);
	return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

bool own_memory_exceeds(uint64_t limit)
{
	if (resident_bytes() <= limit)
		return false;
	own_memory_give_back();
	return resident_bytes() > limit;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* processor_leaves.c: see processor_leaves.h. Leaves that tell of a state, of a partition of caches
 * or of one processor alone are left out. */
#include "user/values/record/processor_leaves.h"

#include <cpuid.h>
#include <stdbool.h>
#include <stdint.h>

enum { FEATURES = 1, EXTENDED_FEATURES = 7, HYBRID = 1 << 15, OSXSAVE = 1 << 27 };

static void add(json_t *list, unsigned leaf, unsigned subleaf)
{
	unsigned a, b, c, d;

	__cpuid_count(leaf, subleaf, a, b, c, d);
	json_array_append_new(list, json_pack("[I,I,I,I,I,I]", (json_int_t)leaf,
					      (json_int_t)subleaf, (json_int_t)a, (json_int_t)b,
					      (json_int_t)c, (json_int_t)d));
}

static bool has_several_kinds(void)
{
	unsigned a, b, c, d;

	return __get_cpuid_count(EXTENDED_FEATURES, 0, &a, &b, &c, &d) && d & HYBRID;
}

static json_t *leaves(void)
{
	/* Leaf, and how many subleaves. */
	static const struct {
		unsigned leaf, n;
	} told[] = {{0, 1},	     {FEATURES, 1},   {2, 1},
		    {4, 8},	     {6, 1},	      {EXTENDED_FEATURES, 3},
		    {0xd, 20},	     {0x14, 2},	      {0x15, 1},
		    {0x16, 1},	     {0x19, 1},	      {0x1d, 2},
		    {0x1e, 2},	     {0x80000000, 1}, {0x80000001, 1},
		    {0x80000002, 1}, {0x80000003, 1}, {0x80000004, 1},
		    {0x80000005, 1}, {0x80000006, 1}, {0x80000007, 1},
		    {0x80000008, 1}};
	const unsigned most[] = {__get_cpuid_max(0, NULL), __get_cpuid_max(0x80000000, NULL)};
	json_t *list = json_array();

	for (unsigned i = 0; list && i < sizeof(told) / sizeof(*told); i++)
		for (unsigned k = 0; k < told[i].n && told[i].leaf <= most[told[i].leaf >> 31]; k++)
			add(list, told[i].leaf, k);
	return list;
}

json_t *processor_leaves(void)
{
	unsigned a, b, c, d;
	uint32_t low = 0, high = 0;

	if (__get_cpuid(FEATURES, &a, &b, &c, &d) && c & OSXSAVE)
		__asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return json_pack("{s:o,s:I}", "cpuid", has_several_kinds() ? json_array() : leaves(),
			 "xcr0", (json_int_t)((uint64_t)high << 32 | low));
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* processor_leaves.h: what cpuid and xgetbv tell on this machine, for the table of captures: no
 * probe is in a library, and libraries choose by it which of their functions they call. */
#ifndef USER_PROCESSOR_LEAVES_H
#define USER_PROCESSOR_LEAVES_H

#include <jansson.h>

/* A new object: `cpuid`, an array of [leaf, subleaf, eax, ebx, ecx, edx], and `xcr0`. Without
 * leaves where the machine has processors of several kinds. NULL: no memory. */
json_t *processor_leaves(void);

#endif

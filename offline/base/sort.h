/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* sort.h: numbers in order, in time proportional to how many there are. */
#ifndef OFFLINE_SORT_H
#define OFFLINE_SORT_H

#include <stdint.h>

/* Sorts the @n numbers at @at, the least first. */
void sort_u64(uint64_t *at, uint32_t n);

#endif

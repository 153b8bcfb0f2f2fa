// SPDX-License-Identifier: LGPL-2.1-or-later
/* sort.c: see sort.h. By one digit after the other, the lowest first; only digits that differ are
 * sorted by. */
#include "offline/base/sort.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Of fewer numbers, comparing takes less time than counting digits; and of few, moving each to its
 * place takes less than merging. */
#define COUNTED_MIN 512
#define MERGED_MIN 32
enum { DIGIT_BITS = 11, N_DIGITS = 1 << DIGIT_BITS };

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static void insert_each(uint64_t *at, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		uint64_t x = at[i];
		uint32_t k = i;
		for (; k && at[k - 1] > x; k--)
			at[k] = at[k - 1];
		at[k] = x;
	}
}

/* Sorts @from into @to by the digit from bit @shift on. */
static void sort_by_digit(const uint64_t *from, uint64_t *to, uint32_t n, int shift)
{
	uint32_t next[N_DIGITS] = {0}, sum = 0;
	for (uint32_t i = 0; i < n; i++)
		next[from[i] >> shift & (N_DIGITS - 1)]++;
	for (uint32_t d = 0; d < N_DIGITS; d++) {
		uint32_t count = next[d];
		next[d] = sum;
		sum += count;
	}
	for (uint32_t i = 0; i < n; i++)
		to[next[from[i] >> shift & (N_DIGITS - 1)]++] = from[i];
}

void sort_u64(uint64_t *at, uint32_t n)
{
	uint64_t differ = 0;
	bool sorted = true;
	if (n < MERGED_MIN) {
		insert_each(at, n);
		return;
	}
	for (uint32_t i = 1; i < n; i++) {
		sorted &= at[i - 1] <= at[i];
		differ |= at[i] ^ at[0];
	}
	if (sorted)
		return;
	uint64_t *scratch = n < COUNTED_MIN ? NULL : malloc(n * sizeof(*scratch));
	if (!scratch) {
		qsort(at, n, sizeof(*at), compare);
		return;
	}
	uint64_t *from = at, *to = scratch;
	for (int shift = 0; shift < 64; shift += DIGIT_BITS) {
		if (!(differ >> shift & (N_DIGITS - 1)))
			continue;
		sort_by_digit(from, to, n, shift);
		uint64_t *other = from;
		from = to;
		to = other;
	}
	if (from != at)
		memcpy(at, from, n * sizeof(*at));
	free(scratch);
}

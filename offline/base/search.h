/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* search.h: search by halves in what is in order. */
#ifndef OFFLINE_SEARCH_H
#define OFFLINE_SEARCH_H

/* The first index of [@from, @to) for which @before does not hold, or @to. @before is an expression
 * over the index, which it names @i; it must hold for a beginning of the range and for nothing
 * behind that. So with `at[i] < key` this is the first item not below the key, and with
 * `at[i] <= key` the first above it. */
#define SEARCH_FIRST_NOT(from, to, i, before)                                                      \
	({                                                                                         \
		__typeof__((to) + 0) low_ = (from), high_ = (to);                                  \
		while (low_ < high_) {                                                             \
			__typeof__((to) + 0) i = low_ + (high_ - low_) / 2;                        \
			if (before)                                                                \
				low_ = i + 1;                                                      \
			else                                                                       \
				high_ = i;                                                         \
		}                                                                                  \
		low_;                                                                              \
	})

#endif

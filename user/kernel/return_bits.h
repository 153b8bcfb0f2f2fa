/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* return_bits.h: where calls of traced functions return to, as a bit for each byte of text. By
 * these a probe tells a traced caller from a foreign one. */
#ifndef USER_RETURN_BITS_H
#define USER_RETURN_BITS_H

#include "user/file/text_span.h"
#include "user/kernel/record_options.h"

/* Words for one module: one bit more than there are bytes. */
uint32_t return_bits_words(const struct text_span *span);
/* Fills the words of all modules, one after the other; @spans: one for each. Where there is no plan
 * every bit is set. */
void return_bits_fill(uint64_t *words, const struct recorder_options *options,
		      const struct text_span *spans);

#endif

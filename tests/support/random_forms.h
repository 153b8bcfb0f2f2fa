/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* random_forms.h: random encodings of instructions, mostly SSE to AVX2, BMI, FMA, MMX and x87,
 * whose operands are registers or memory at rbx. */
#ifndef TESTS_SUPPORT_RANDOM_FORMS_H
#define TESTS_SUPPORT_RANDOM_FORMS_H

#include "offline/eval/insn/insn.h"

enum { RANDOM_FORM_BYTES = 16 };

/* The next number of a sequence that the seed decides; one below @n. */
uint32_t random_form_next(uint64_t *seed);
unsigned random_form_below(uint64_t *seed, unsigned n);
/* Bytes that may be one, and nops behind. */
void random_form(uint64_t *seed, uint8_t bytes[RANDOM_FORM_BYTES]);
/* Whether it computes, of registers but rsp and rbx, and of at most @data_bytes of memory at rbx
 * and nowhere else. */
bool random_form_is_fit(const struct value_insn *insn, unsigned data_bytes);

#endif

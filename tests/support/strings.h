/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* strings.h: strings of symbols for the encoders' tests: from letters, or random of several kinds,
 * each with the repetition that an encoder looks for. */
#ifndef TESTS_STRINGS_H
#define TESTS_STRINGS_H

#include <stdint.h>

/* A letter's symbol, and the letter. */
uint32_t letter(char c);
char letter_of(uint32_t symbol);

struct string {
	uint32_t *at;
	uint32_t n, cap;
};

void string_push(struct string *string, uint32_t symbol);
void string_letters(struct string *string, const char *letters);
void string_deinit(struct string *string);

enum string_kind {
	STRING_NOISE,	  /* uniform over a small alphabet */
	STRING_RUNS,	  /* runs of one symbol */
	STRING_PHRASES,	  /* phrases out of a few, edited now and then */
	STRING_NESTED,	  /* phrases made of phrases */
	STRING_STAIRCASE, /* ba cba dcba ...: deep rules */
	STRING_BALANCED,  /* a call tree of a random program: calls and closing brackets */
	N_STRING_KINDS
};

/* Appends about @n symbols. The same @seed gives the same string. */
void string_random(struct string *string, enum string_kind kind, uint32_t n, uint64_t seed);

#endif

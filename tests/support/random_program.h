/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* random_program.h: programs made at random, with everything that the grammar has to cope with:
 * recursion, loops, silent callees, tail calls, unknown and leaf calls, calls that do not return,
 * landing pads, open jumps, unknown heights, instructions that cannot be probed. */
#ifndef TESTS_RANDOM_PROGRAM_H
#define TESTS_RANDOM_PROGRAM_H

#include "offline/program/program.h"

/* A small generator of its own, so that a seed means the same everywhere. */
static inline uint32_t random_next(uint64_t *state)
{
	*state += 0x9e3779b97f4a7c15ull;
	uint64_t z = *state;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return (z ^ (z >> 31)) >> 16;
}

static inline uint32_t random_below(uint64_t *state, uint32_t n)
{
	return random_next(state) % n;
}

static inline bool random_chance(uint64_t *state, uint32_t percent)
{
	return random_below(state, 100) < percent;
}

/* A program of a few functions; function 0 is where it starts. Freed with program_free(). */
struct program *random_program(uint64_t seed);

/* Of every fourth function, some blocks can be probed nowhere: all of the way's instructions are
 * refused, as AVX's are. Not at entries from outside, which the walker would not tell. */
void random_forbid_probes(struct program *program, uint64_t seed);

/* Takes some functions of @program out of scope. Returns the program as it runs, with them: it
 * shares all but its functions with @program, and is to be freed before, with
 * random_scope_free(). */
struct program *random_scope(struct program *program, uint64_t seed);
void random_scope_free(struct program *whole);

#endif

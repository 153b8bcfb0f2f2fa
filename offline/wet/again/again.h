/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* again.h: values that are not stored but computed again: the evaluator executes the code of a
 * window once more, on memory that knows nothing but what it was told. A window is cut into blocks
 * of AGAIN_INSNS instructions; every AGAIN_FRESH blocks it begins anew, with empty memory, so that
 * no more than so many are executed to come to any of them. A block is, compressed in columns:
 *
 *   steps     of each what is told before it, registers and words of memory, how many of either;
 *             then its instructions * 2, or, where they were not executed, their results * 2 + 1
 *             and how many they are * 2, + 1 where memory and registers begin anew behind them
 *   registers number of a word of the state (AGAIN_WORDS), difference to what is there
 *   places    of words of memory: differences of their numbers (addresses by 8)
 *   words     eight bytes each
 *   results   of instructions that were not executed, eight bytes each
 *
 * What has to be told is found by noting.h. Each block has a sum of all its results: none is
 * believed else. */
#ifndef OFFLINE_WET_AGAIN_H
#define OFFLINE_WET_AGAIN_H

#include "offline/base/varint.h"
#include "offline/eval/machine.h"

enum {
	AGAIN_INSNS = 1 << 22,
	AGAIN_INSNS_MAX = 1 << 24, /* that a block is believed to have */
	AGAIN_RESULTS_MAX = 1 << 26,
	AGAIN_TURNS_MAX = 1 << 26,
	AGAIN_FRESH = 32,
	AGAIN_PAGES_MAX = 1 << 16,	/* that a window touches */
	AGAIN_CODE_MAX = 1 << 16,	/* pages of code */
	AGAIN_TRANSLATED_MAX = 1 << 20, /* instructions, by who writes */
	/* By who reads: each once more alone, for what it reads and writes. */
	AGAIN_TRANSLATED_BELIEVED = 2 * AGAIN_TRANSLATED_MAX,
	AGAIN_COUNTS_MAX = 1 << 27, /* blocks and one more, times nodes: values.h has one of each */
	AGAIN_WORDS = 307,
};

enum again_column {
	AGAIN_STEPS,
	AGAIN_REGISTERS,
	AGAIN_PLACES,
	AGAIN_DATA,
	AGAIN_TOLD,
	AGAIN_COLUMNS
};

struct again_block {
	uint64_t paths; /* that were executed before it */
	uint64_t n_results, n_insns;
	uint64_t n_told;   /* instructions that are told by their results; @n_insns are executed */
	uint64_t n_turns;  /* of string instructions, each of which is one of n_insns */
	uint64_t sum;	   /* again_sum() of them */
	const uint8_t *at; /* as again_pack() has made it */
	size_t len;
};

/* A processor that begins with nothing. */
struct again_processor {
	struct value_machine *machine;
	struct value_memory memory;
	uint64_t pages;
};

/* One that translates @translated_max instructions at most. NULL: out of memory. */
struct again_processor *again_processor_new(uint64_t translated_max);
void again_processor_free(struct again_processor *p);
/* Memory is empty, registers are value_state_fresh(), and all of it is exact. */
bool again_processor_clear(struct again_processor *p);
/* Puts there @n pages of code, before anything else: they are not among AGAIN_PAGES_MAX. False: out
 * of memory. */
bool again_processor_code(struct again_processor *p, const uint64_t *addrs, const uint8_t *pages,
			  uint32_t n);
/* Executes @n instructions. False: they cannot be, or memory is out; @trace (NULL: none) is full
 * again and again: @full empties it. */
typedef bool again_full_fn(void *ctx, struct value_trace *trace);
bool again_processor_run(struct again_processor *p, uint64_t n, struct value_trace *trace,
			 again_full_fn *full, void *ctx);
/* Word @i of the state: all that executing reads and keeps is one of AGAIN_WORDS. */
uint64_t again_word_get(const struct value_state *s, unsigned i);
void again_word_set(struct value_state *s, unsigned i, uint64_t v);
/* The bits (state.h) of what it belongs to; 0: whoever executes needs it. */
uint64_t again_word_bits(unsigned i);
/* Which words are others in @a than in @b; returns how many. */
unsigned again_words_differ(const struct value_state *a, const struct value_state *b,
			    uint16_t differ[AGAIN_WORDS]);

static inline uint64_t again_sum(uint64_t sum, const uint64_t *results, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sum = (sum << 7 ^ sum >> 57 ^ results[i]) * 0x9e3779b97f4a7c15;
	return sum;
}

/* Whether a block has no more than one is believed to have. Who writes asks as who reads does. */
bool again_block_fits(const struct again_block *b);
/* The same of what its columns have, in bytes. */
bool again_columns_fit(const struct again_block *b, const uint64_t lens[AGAIN_COLUMNS]);

/* Appends the columns, compressed, to @to. False: out of memory. */
bool again_pack(const struct bytes columns[AGAIN_COLUMNS], struct bytes *to);

/* All blocks of a window, to be executed again. */
struct again;

/* @pages: bytes of code, a page behind the other; @addrs: where each of the @n_pages is. All is
 * borrowed until again_free(). NULL: out of memory. */
struct again *again_new(const struct again_block *blocks, uint32_t n, const uint64_t *addrs,
			const uint8_t *pages, uint32_t n_pages);
void again_free(struct again *a);
/* AGAIN_TRANSLATED_BELIEVED at first. */
void again_translate_at_most(struct again *a, uint64_t insns);
/* Whoever is told, in order, of what executing a block does. */
struct again_watch {
	/* A word of memory (its address by 8) was told. */
	void (*word)(void *ctx, uint64_t word);
	/* @n instructions were executed, which have these addresses as a trace has them; NULL: they
	 * were told by their results. False ends it. */
	bool (*insns)(void *ctx, uint64_t n, const uint64_t *addresses, size_t n_addresses);
	void *ctx;
};
/* Executes block @i, whose results nobody wants, for @watch. 0, or as again_results(), which next
 * has to execute it once more. */
int again_watched(struct again *a, uint32_t i, const struct again_watch *watch);
/* The instruction at @ip, by the pages of code; borrowed. 0; -ENOMEM; -EBADMSG: there is none;
 * -E2BIG: more are translated than is believed. */
int again_insn(struct again *a, uint64_t ip, const struct value_insn **out);
/* The results of block @i, borrowed until the next one is asked for. 0; -EBADMSG: they cannot be
 * computed, or are not what they were; -ENOMEM; -E2BIG as again_insn(). */
int again_results(struct again *a, uint32_t i, const uint64_t **results);

#endif

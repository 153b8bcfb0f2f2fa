// SPDX-License-Identifier: LGPL-2.1-or-later
/* noting.c: see noting.h. Of each page that is read a bit a word says that it is the same on both
 * sides (same_pages.h). Whoever else has written a page since (the kernel, libraries, other
 * threads) is noticed by a snapshot of the replay's memory before each step: pages that it does not
 * share are compared. */
#include "offline/wet/again/noting.h"

#include "offline/base/vec.h"
#include "offline/dep/reads.h"
#include "offline/eval/insn/string_ranges.h"
#include "offline/wet/again/same_pages.h"

#include <stdlib.h>
#include <string.h>

enum { RESULTS = 1 << 20 };

/* A block of the replay's. */
struct known_block {
	struct dep_block *accesses;
	uint64_t needs, defines; /* bits of state.h; results are of whole registers */
};

struct noting {
	struct again_processor *second;
	struct value_trace trace; /* of the second */
	bool on, unfit, no_memory, is_snapshot;
	struct value_memory *first;
	struct value_snapshot before; /* of the replay, before the last step */
	struct value_state state;     /* and its registers */
	size_t blocks_before, addresses_before, results_before; /* in its trace */
	uint64_t count_before;

	struct same_pages pages;
	VEC(struct known_block) known;
	VEC(uint64_t) code; /* addresses of its pages */
	struct bytes code_bytes;

	/* The block that is being noted. */
	struct bytes columns[AGAIN_COLUMNS];
	uint64_t place, pending; /* instructions of the last step, not noted yet */
	uint64_t n_told_words;	 /* of the step that is being noted */
	struct again_block block;
	VEC(struct again_block) done;
	uint64_t told, steps, raw;
	bool careful; /* the second side is kept as it was before each step */
	struct noting_watch watch;
	uint64_t n_blocks; /* of the replay's, in all steps before */
};

struct noting *noting_new(const struct noting_watch *watch)
{
	struct noting *n = calloc(1, sizeof(*n));
	if (!n)
		return NULL;
	n->watch = *watch;
	n->second = again_processor_new(AGAIN_TRANSLATED_MAX);
	bool traces = value_trace_init(&n->trace, RESULTS, RESULTS, RESULTS);
	bool pages = same_pages_init(&n->pages);
	if (n->second && traces && pages)
		return n;
	noting_free(n);
	return NULL;
}

static void forget_snapshot(struct noting *n)
{
	if (n->is_snapshot)
		value_memory_forget(n->first, &n->before);
	n->is_snapshot = false;
}

void noting_free(struct noting *n)
{
	if (!n)
		return;
	forget_snapshot(n);
	same_pages_deinit(&n->pages);
	for (uint32_t i = 0; i < n->known.n; i++)
		free(n->known.at[i].accesses);
	VEC_FREE(&n->known);
	VEC_FREE(&n->code);
	bytes_deinit(&n->code_bytes);
	for (unsigned i = 0; i < AGAIN_COLUMNS; i++)
		bytes_deinit(&n->columns[i]);
	for (uint32_t i = 0; i < n->done.n; i++)
		free((void *)n->done.at[i].at);
	VEC_FREE(&n->done);
	again_processor_free(n->second);
	value_trace_deinit(&n->trace);
	free(n);
}

/* --- memory ---------------------------------------------------------------------------------- */

/* Word @word is read next: the second side gets it as it was before the step. */
static __attribute__((noinline)) void tell_word(struct noting *n, struct same_page *page,
						uint64_t word)
{
	uint8_t room[VALUE_PAGE];
	uint64_t then, now;
	const uint8_t *bytes = value_memory_then(n->first, &n->before, word * 8, room);
	page->same[word % SAME_WORDS / 64] |= (uint64_t)1 << word % 64;
	if (!bytes || value_memory_read(&n->second->memory, word * 8, &now, 8, NULL))
		return;
	memcpy(&then, bytes + word * 8 % VALUE_PAGE, 8);
	if (then == now)
		return;
	if (value_memory_write(&n->second->memory, word * 8, &then, 8, VALUE_EXACT)) {
		n->unfit = true;
		return;
	}
	bytes_put_varint(&n->columns[AGAIN_PLACES], zigzag((int64_t)(word - n->place)));
	bytes_put(&n->columns[AGAIN_DATA], &then, 8);
	n->place = word;
	n->n_told_words++;
	n->watch.word(n->watch.ctx, n->n_blocks, word);
}

static inline void see_access(struct noting *n, uint64_t addr, uint64_t len, bool store)
{
	if (addr >> 47 || len > (uint64_t)1 << 32 || !len)
		return;
	for (uint64_t word = addr / 8; word <= (addr + len - 1) / 8; word++) {
		struct same_page *page = same_pages_now(&n->pages, word / SAME_WORDS);
		if (!page) {
			n->no_memory = true;
			return;
		}
		uint64_t *same = &page->same[word % SAME_WORDS / 64],
			 bit = (uint64_t)1 << word % 64;
		if (*same & bit)
			continue;
		if (!store)
			tell_word(n, page, word);
		else if (addr <= word * 8 && addr + len >= word * 8 + 8)
			*same |= bit;
	}
}

/* Where the direction flag is set when the step begins, a string instruction may go either way. */
static void see_string(struct noting *n, const struct value_insn *insn, const uint64_t at[3])
{
	for (unsigned down = 0; down <= n->state.df; down++) {
		struct value_range ranges[2];
		unsigned n_ranges = value_string_ranges(insn, at, down, ranges);
		for (unsigned i = 0; i < n_ranges; i++)
			if (ranges[i].read)
				see_access(n, ranges[i].addr, ranges[i].len, false);
	}
}

static void see_memory(struct noting *n, const struct dep_block *d, const uint64_t *addresses)
{
	if (!d->slow) {
		for (unsigned i = 0; i < d->n_accesses; i++) {
			const struct dep_access *a = &d->accesses[i];
			see_access(n, addresses[a->address], a->len, a->store);
		}
		return;
	}
	unsigned address = 0, access = 0;
	for (unsigned i = 0; i < d->n_insns; i++) {
		const struct dep_insn *insn = &d->insns[i];
		if (insn->string)
			see_string(n, &d->block->insns[i], addresses + address);
		for (int k = 0; k < insn->n_loads + insn->n_stores; k++, access++) {
			const struct dep_access *a = &d->accesses[access];
			see_access(n, addresses[a->address], a->len, a->store);
		}
		address += insn->n_addresses;
	}
}

/* --- code ------------------------------------------------------------------------------------ */

static void add_code(struct noting *n, uint64_t addr)
{
	uint8_t room[VALUE_PAGE];
	struct same_page *page = same_pages_at(&n->pages, addr / VALUE_PAGE);
	n->no_memory |= !page;
	if (!page || page->code)
		return;
	const uint8_t *bytes = value_memory_then(n->first, &n->before, addr, room);
	if (!bytes)
		return;
	/* It is there from the beginning where the window is executed again. */
	n->unfit |= page->changed || n->code.n == AGAIN_CODE_MAX;
	page->code = n->code.n + 1;
	bytes_put(&n->code_bytes, bytes, VALUE_PAGE);
	if (n->code_bytes.failed || !VEC_PUSH(&n->code, addr) ||
	    value_memory_write(&n->second->memory, addr, bytes, VALUE_PAGE, VALUE_EXACT))
		n->no_memory = true;
}

static const struct known_block *block_of(struct noting *n, struct value_machine *m,
					  uint32_t number)
{
	while (n->known.n <= number)
		if (!VEC_PUSH(&n->known, (struct known_block){0})) {
			n->no_memory = true;
			return NULL;
		}
	struct known_block *k = &n->known.at[number];
	const struct value_block *b = value_machine_block(m, number);
	if (k->accesses)
		return k;
	k->accesses = dep_block_new(b);
	if (!k->accesses) {
		n->no_memory = true;
		return NULL;
	}
	for (unsigned i = 0; i < b->n_insns; i++) {
		const struct value_insn *insn = &b->insns[i];
		uint64_t reads = value_insn_reads(insn);
		/* Of a vector register the whole is the result; of rows behind those that have bits
		 * of their own (VALUE_BIT_WIDE) that is among what is read. */
		for (int a = 0; a < insn->n_access; a++)
			if (insn->access[a].kind == VALUE_ACCESS_VEC && insn->access[a].write &&
			    insn->access[a].reg < VALUE_VECS)
				reads |= (((uint64_t)1 << VALUE_BIT_VEC | (uint64_t)1
										  << VALUE_BIT_HIGH)
					  << insn->access[a].reg) &
					 ~value_insn_defines(insn);
		k->needs |= reads & ~k->defines;
		k->defines |= value_insn_defines(insn);
	}
	uint64_t end = b->insns[b->n_insns - 1].ip + b->insns[b->n_insns - 1].len;
	for (uint64_t page = b->ip & ~(uint64_t)(VALUE_PAGE - 1); page <= end; page += VALUE_PAGE)
		add_code(n, page);
	/* The second side may see more of the code as one block. */
	uint64_t next = (end & ~(uint64_t)(VALUE_PAGE - 1)) + VALUE_PAGE;
	if (value_machine_is_code(m, next))
		add_code(n, next);
	return &n->known.at[number];
}

/* --- steps ----------------------------------------------------------------------------------- */

static void flush_pending(struct noting *n)
{
	if (n->pending)
		bytes_put_varint(&n->columns[AGAIN_STEPS], 2 * n->pending);
	n->pending = 0;
}

static void compare_page(void *ctx, uint64_t addr, const uint8_t *bytes)
{
	struct noting *n = ctx;
	struct same_page *page = same_pages_known(&n->pages, addr / VALUE_PAGE);
	if (!page)
		return;
	if (page->code)
		n->unfit |=
			!bytes || memcmp(n->code_bytes.data + (page->code - 1) * (size_t)VALUE_PAGE,
					 bytes, VALUE_PAGE);
	page->changed = true;
	page->when = n->pages.when;
	const struct value_tlb *mine =
		bytes ? value_memory_lookup(&n->second->memory, addr, false) : NULL;
	if (!mine) {
		memset(page->same, 0, sizeof(page->same));
		return;
	}
	const uint64_t *a = (const uint64_t *)(mine->data + addr), *b = (const uint64_t *)bytes;
	for (unsigned i = 0; i < SAME_WORDS / 64; i++) {
		uint64_t same = 0;
		for (unsigned k = 0; k < 64; k++)
			same |= (uint64_t)(a[64 * i + k] == b[64 * i + k]) << k;
		page->same[i] = same;
	}
}

static void step_begins(struct noting *n, struct value_machine *m, const struct value_trace *t)
{
	struct value_memory *memory = value_machine_memory(m);
	if (n->is_snapshot) {
		value_memory_changed(memory, &n->before, compare_page, n);
		forget_snapshot(n);
	}
	n->first = memory;
	n->before = value_memory_snapshot(memory);
	n->is_snapshot = true;
	n->state = *value_machine_state(m);
	n->blocks_before = t->n_blocks;
	n->addresses_before = t->n_addresses;
	n->results_before = t->n_results;
	n->count_before = value_machine_count(m);
}

/* Which words of the registers are told: those that are read, and are others on the second side. */
static unsigned tell_registers(struct noting *n, const uint32_t *blocks, size_t n_blocks)
{
	struct value_state *mine = value_machine_state(n->second->machine);
	uint16_t differ[AGAIN_WORDS];
	unsigned n_differ = again_words_differ(mine, &n->state, differ), told = 0;
	uint64_t wanted = 0, needs = 0, defined = 0;
	for (unsigned i = 0; i < n_differ; i++)
		wanted |= again_word_bits(differ[i]);
	for (size_t i = 0; i < n_blocks && wanted & ~(needs | defined); i++) {
		const struct known_block *k = &n->known.at[blocks[i]];
		needs |= k->needs & ~defined;
		defined |= k->defines;
	}
	for (unsigned i = 0; i < n_differ; i++) {
		uint64_t bits = again_word_bits(differ[i]);
		if (bits && !(bits & needs))
			continue;
		uint64_t v = again_word_get(&n->state, differ[i]);
		bytes_put_varint(&n->columns[AGAIN_REGISTERS], differ[i]);
		bytes_put_varint(&n->columns[AGAIN_REGISTERS],
				 zigzag((int64_t)(v - again_word_get(mine, differ[i]))));
		again_word_set(mine, differ[i], v);
		told++;
	}
	return told;
}

static void put_told(struct noting *n, uint64_t insns, const uint64_t *results, size_t n_results,
		     bool anew)
{
	bytes_put_varint(&n->columns[AGAIN_STEPS], 2 * n_results + 1);
	bytes_put_varint(&n->columns[AGAIN_STEPS], 2 * insns + anew);
	n->block.n_told += insns;
	bytes_put(&n->columns[AGAIN_TOLD], results, 8 * n_results);
	n->told++;
}

static bool execute_second(struct noting *n, uint64_t insns, const uint64_t *results,
			   size_t n_results)
{
	n->trace.n_blocks = n->trace.n_addresses = n->trace.n_results = 0;
	return again_processor_run(n->second, insns, &n->trace, NULL, NULL) &&
	       n->trace.n_results == n_results && !memcmp(n->trace.results, results, 8 * n_results);
}

/* The second side before a step. To keep its memory makes the step copy each page that it writes
 * to, so that is done from the first time on that it was needed; that time all begins anew. */
struct kept {
	struct value_snapshot memory;
	struct value_state state;
	struct value_known known;
	bool is;
};

static void keep_second(struct noting *n, struct kept *kept)
{
	const struct value_known *known = value_machine_known(n->second->machine);
	kept->is = n->careful;
	if (!kept->is)
		return;
	kept->memory = value_memory_snapshot(&n->second->memory);
	kept->state = *value_machine_state(n->second->machine);
	kept->known.inexact = known->inexact;
	if (known->inexact) /* else it says nothing more */
		kept->known = *known;
}

static bool begin_fresh(struct noting *n)
{
	same_pages_clear(&n->pages);
	if (!again_processor_clear(n->second))
		return false;
	if (!again_processor_code(n->second, n->code.at, n->code_bytes.data, n->code.n))
		return false;
	for (uint32_t i = 0; i < n->code.n; i++) {
		struct same_page *page = same_pages_at(&n->pages, n->code.at[i] / VALUE_PAGE);
		if (!page)
			return false;
		page->code = i + 1;
	}
	return true;
}

static void go_back(struct noting *n, const struct kept *kept)
{
	struct value_known *known = value_machine_known(n->second->machine);
	n->pages.when++;
	if (!kept->is) {
		n->careful = true;
		n->no_memory |= !begin_fresh(n);
		return;
	}
	value_memory_restore(&n->second->memory, &kept->memory);
	*value_machine_state(n->second->machine) = kept->state;
	if (kept->known.inexact)
		*known = kept->known;
	known->inexact = kept->known.inexact;
}

static void step_ran(struct noting *n, struct value_machine *m, const struct value_trace *t)
{
	uint64_t insns = value_machine_count(m) - n->count_before;
	size_t n_blocks = t->n_blocks - n->blocks_before;
	size_t n_results = t->n_results - n->results_before;
	const uint64_t *addresses = t->addresses + n->addresses_before;
	const uint64_t *results = t->results + n->results_before;
	const uint32_t *blocks = t->blocks + n->blocks_before;
	if (!n_blocks)
		return;
	n->steps++;
	n->block.n_results += n_results;
	n->block.sum = again_sum(n->block.sum, results, n_results);
	n->n_told_words = 0;
	for (size_t i = 0; i < n_blocks && !n->no_memory; i++) {
		const struct known_block *k = block_of(n, m, blocks[i]);
		if (!k)
			return;
		see_memory(n, k->accesses, addresses);
		addresses += k->accesses->n_addresses;
	}
	unsigned registers = tell_registers(n, blocks, n_blocks);
	struct kept kept;
	keep_second(n, &kept);
	const uint64_t turns = value_machine_turns(n->second->machine);
	bool same = execute_second(n, insns, results, n_results);
	/* It touches too much, or has too much code. */
	n->unfit |= n->second->memory.exhausted || value_machine_is_full(n->second->machine);
	if (n->pending && same && !registers && !n->n_told_words) {
		n->pending += insns;
	} else {
		flush_pending(n);
		bytes_put_varint(&n->columns[AGAIN_STEPS], registers);
		bytes_put_varint(&n->columns[AGAIN_STEPS], n->n_told_words);
		if (same)
			n->pending = insns;
		else
			put_told(n, insns, results, n_results, !kept.is);
	}
	if (same) {
		n->block.n_insns += insns;
		n->block.n_turns += turns - value_machine_turns(n->second->machine);
	} else {
		go_back(n, &kept);
		n->watch.blocks(n->watch.ctx, n->n_blocks, (uint32_t)n_blocks);
	}
	n->n_blocks += n_blocks;
	if (kept.is)
		value_memory_forget(&n->second->memory, &kept.memory);
}

/* One instruction, which is in no step. */
static void step_told(struct noting *n, struct value_machine *m, const struct value_trace *t)
{
	const struct value_block *b = value_machine_block(m, t->blocks[t->n_blocks - 1]);
	const uint64_t *results = t->results + t->n_results - b->n_results;
	n->steps++;
	n->block.n_results += b->n_results;
	n->block.sum = again_sum(n->block.sum, results, b->n_results);
	flush_pending(n);
	bytes_put_varint(&n->columns[AGAIN_STEPS], 0);
	bytes_put_varint(&n->columns[AGAIN_STEPS], 0);
	put_told(n, b->n_insns, results, b->n_results, false);
	n->watch.blocks(n->watch.ctx, n->n_blocks++, 1);
}

void noting_step(void *noting, struct value_machine *m, enum value_step step,
		 const struct value_trace *trace)
{
	struct noting *n = noting;
	if (!n->on || !trace || n->no_memory || n->unfit)
		return;
	if (step == VALUE_STEP_BEGINS)
		step_begins(n, m, trace);
	else if (step == VALUE_STEP_RAN)
		step_ran(n, m, trace);
	else
		step_told(n, m, trace);
}

/* --- blocks ---------------------------------------------------------------------------------- */

static bool end_block(struct noting *n)
{
	struct bytes packed = {0};
	flush_pending(n);
	uint64_t lens[AGAIN_COLUMNS];
	for (unsigned i = 0; i < AGAIN_COLUMNS; i++)
		n->raw += lens[i] = n->columns[i].len;
	n->unfit |= !again_block_fits(&n->block) || !again_columns_fit(&n->block, lens);
	bool fine = again_pack(n->columns, &packed);
	n->block.at = packed.data;
	n->block.len = packed.len;
	fine = fine && VEC_PUSH(&n->done, n->block);
	if (!fine)
		bytes_deinit(&packed);
	n->block = (struct again_block){0};
	for (unsigned i = 0; i < AGAIN_COLUMNS; i++)
		n->columns[i].len = 0;
	n->place = 0;
	return fine;
}

bool noting_block(struct noting *n, bool on)
{
	if (n->on)
		n->no_memory |= !end_block(n);
	n->on = on;
	if (on && n->done.n % AGAIN_FRESH == 0)
		n->no_memory |= !begin_fresh(n);
	if (!on)
		forget_snapshot(n);
	return !n->no_memory;
}

bool noting_failed(const struct noting *n)
{
	return n->no_memory;
}

bool noting_result(struct noting *n, struct noted *out)
{
	*out = (struct noted){n->done.at, n->done.n, n->code.at, n->code_bytes.data,
			      n->code.n,  n->told,   n->steps,	 n->raw};
	return noting_can(n);
}

bool noting_can(const struct noting *n)
{
	return !n->unfit && !n->no_memory;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_wet_again.c: blocks of instructions that are executed again: their results are those that
 * arithmetic says, from any block on and in any order; bytes that are cut or changed are refused.
 */
#include "offline/wet/again/again.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BLOCKS = 2 * AGAIN_FRESH + 5, TURNS = 40, CODE = 0x401000, DATA = 0x500000, RIP = 18 };

/* next: mov rax, [rdi]; lea rax, [rax + 2 * rax + 7]; mov [rdi], rax; jmp next */
static const uint8_t code[VALUE_PAGE] = {0x48, 0x8b, 0x07, 0x48, 0x8d, 0x44, 0x40,
					 0x07, 0x48, 0x89, 0x07, 0xeb, 0xf3};
static const uint64_t code_addr = CODE;

struct made {
	struct again_block blocks[BLOCKS];
	uint64_t results[BLOCKS][2 * TURNS + 1];
	size_t n_results[BLOCKS];
};

static void put_step(struct bytes *columns, uint64_t registers, uint64_t words, uint64_t what)
{
	bytes_put_varint(&columns[AGAIN_STEPS], registers);
	bytes_put_varint(&columns[AGAIN_STEPS], words);
	bytes_put_varint(&columns[AGAIN_STEPS], what);
	if (what & 1) /* of one instruction; nothing begins anew */
		bytes_put_varint(&columns[AGAIN_STEPS], 2 * 1);
}

static void put_register(struct bytes *columns, uint8_t word, uint64_t v)
{
	bytes_put(&columns[AGAIN_REGISTERS], &word, 1);
	bytes_put_varint(&columns[AGAIN_REGISTERS], zigzag((int64_t)v));
}

/* The word is told where all begins anew; one result of each block is told. */
static void make_block(struct made *m, unsigned i, uint64_t *word)
{
	struct bytes columns[AGAIN_COLUMNS] = {0}, packed = {0};
	bool fresh = i % AGAIN_FRESH == 0;
	uint64_t told = 0x1234567890 + i, *out = m->results[i];
	size_t n = 0;
	if (fresh) {
		put_register(columns, RIP, CODE);
		put_register(columns, VALUE_RDI, DATA);
		bytes_put_varint(&columns[AGAIN_PLACES], zigzag(DATA / 8));
		bytes_put(&columns[AGAIN_DATA], word, 8);
	}
	put_step(columns, fresh ? 2 : 0, fresh, 2 * 4 * TURNS);
	put_step(columns, 0, 0, 2 * 1 + 1);
	bytes_put(&columns[AGAIN_TOLD], &told, 8);
	for (unsigned k = 0; k < TURNS; k++) {
		out[n++] = *word;
		out[n++] = *word = *word * 3 + 7;
	}
	out[n++] = told;
	assert_true(again_pack(columns, &packed));
	m->n_results[i] = n;
	m->blocks[i] = (struct again_block){.n_results = n,
					    .n_insns = 4 * TURNS,
					    .n_told = 1,
					    .sum = again_sum(0, out, n),
					    .at = packed.data,
					    .len = packed.len};
	for (unsigned k = 0; k < AGAIN_COLUMNS; k++)
		bytes_deinit(&columns[k]);
}

static struct made *make_all(void)
{
	struct made *m = calloc(1, sizeof(*m));
	uint64_t word = 5;
	for (unsigned i = 0; i < BLOCKS; i++)
		make_block(m, i, &word);
	return m;
}

static void free_all(struct made *m)
{
	for (unsigned i = 0; i < BLOCKS; i++)
		free((void *)m->blocks[i].at);
	free(m);
}

static void check(struct again *a, const struct made *m, unsigned i)
{
	const uint64_t *results;
	assert_int_equal(again_results(a, i, &results), 0);
	assert_memory_equal(results, m->results[i], m->n_results[i] * 8);
}

static void any_order(void **s)
{
	(void)s;
	struct made *m = make_all();
	uint64_t rnd = 1;
	for (unsigned first = 0; first < BLOCKS; first += 9) { /* nothing was executed before */
		struct again *a = again_new(m->blocks, BLOCKS, &code_addr, code, 1);
		check(a, m, first);
		for (unsigned i = first; i-- > 0;)
			check(a, m, i);
		again_free(a);
	}
	struct again *a = again_new(m->blocks, BLOCKS, &code_addr, code, 1);
	for (unsigned i = 0; i < BLOCKS; i++)
		check(a, m, i);
	for (unsigned i = BLOCKS; i-- > 0;)
		check(a, m, i);
	for (unsigned i = 0; i < 200; i++) {
		rnd = rnd * 6364136223846793005u + 1442695040888963407u;
		check(a, m, (rnd >> 33) % BLOCKS);
	}
	const uint64_t *results;
	assert_int_equal(again_results(a, BLOCKS, &results), -EBADMSG);
	again_free(a);
	free_all(m);
}

/* What is wrong is refused, and what does not need it is not. */
static void wrong(void **s)
{
	(void)s;
	struct made *m = make_all();
	const uint64_t *results;
	for (unsigned how = 0; how < 4; how++) {
		struct again_block kept = m->blocks[3];
		m->blocks[3].sum += how == 0;
		m->blocks[3].n_results -= how == 1;
		m->blocks[3].len -= how == 2;
		m->blocks[3].n_insns = how == 3 ? 10 : kept.n_insns;
		struct again *a = again_new(m->blocks, BLOCKS, &code_addr, code, 1);
		assert_true(again_results(a, 3, &results) < 0);
		check(a, m, 2);
		check(a, m, AGAIN_FRESH + 1);
		again_free(a);
		m->blocks[3] = kept;
	}
	free_all(m);
}

/* Columns are as long as what a block has can need, which is looked at before they are made. */
static void long_columns(void **s)
{
	(void)s;
	const uint64_t zero = 0;
	for (unsigned c = 0; c < AGAIN_COLUMNS; c++)
		for (unsigned k = 0; k < 2; k++) {
			struct again_block b = {.n_insns = 1000, .n_results = 1000};
			uint64_t lens[AGAIN_COLUMNS] = {0};
			lens[c] = k ? (uint64_t)1 << 29 : 8 * 1000;
			assert_int_equal(again_columns_fit(&b, lens), !k);
			b.n_results = b.n_insns = b.n_turns = 1 << 20;
			assert_int_equal(again_columns_fit(&b, lens), !k);
		}
	struct bytes columns[AGAIN_COLUMNS] = {0}, packed = {0};
	const uint64_t *results;
	put_step(columns, 0, 0, 1);
	for (unsigned i = 0; i < 1 << 16; i++)
		bytes_put(&columns[AGAIN_DATA], &zero, 8);
	assert_true(again_pack(columns, &packed));
	struct again_block b = {.at = packed.data, .len = packed.len};
	struct again *a = again_new(&b, 1, &code_addr, code, 1);
	assert_int_equal(again_results(a, 0, &results), -EBADMSG);
	again_free(a);
	for (unsigned i = 0; i < AGAIN_COLUMNS; i++)
		bytes_deinit(&columns[i]);
	bytes_deinit(&packed);
}

/* A repeated string instruction has as many turns as its block says, all of them or none. */
static void without_end(void **s)
{
	(void)s;
	static const uint8_t codes[][VALUE_PAGE] = {
		{0xf3, 0xaa}, /* rep stosb */
		{0xf3, 0xa4}, /* rep movsb, of bytes that it has stored itself */
		{0xf3, 0xae}, /* repe scasb */
		{0xf3, 0xa6}, /* repe cmpsb */
	};
	enum { TURNS_MADE = 5000 };
	const uint64_t counts[] = {TURNS_MADE, TURNS_MADE + 1, UINT64_MAX / 2};
	for (unsigned k = 0; k < sizeof(codes) / sizeof(*codes); k++)
		for (unsigned i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
			struct bytes columns[AGAIN_COLUMNS] = {0}, packed = {0};
			const uint64_t *results;
			put_register(columns, RIP, CODE);
			put_register(columns, VALUE_RCX, counts[i]);
			put_register(columns, VALUE_RDI, DATA + 1);
			put_register(columns, VALUE_RSI, DATA);
			put_step(columns, 4, 0, 2 * 1);
			assert_true(again_pack(columns, &packed));
			struct again_block b = {.n_insns = 1,
						.n_turns = TURNS_MADE,
						.at = packed.data,
						.len = packed.len};
			struct again_processor *p = again_processor_new(AGAIN_TRANSLATED_MAX);
			assert_int_equal(value_memory_write(&p->memory, CODE, codes[k], VALUE_PAGE,
							    VALUE_EXACT),
					 0);
			struct value_state *state = value_machine_state(p->machine);
			state->rip = CODE;
			state->gpr[VALUE_RCX] = counts[i];
			state->gpr[VALUE_RDI] = DATA + 1;
			state->gpr[VALUE_RSI] = DATA;
			value_machine_set_turns(p->machine, TURNS_MADE);
			assert_int_equal(again_processor_run(p, 1, NULL, NULL, NULL), i == 0);
			assert_int_equal(state->gpr[VALUE_RCX], i ? counts[i] : 0);
			assert_int_equal(value_machine_turns(p->machine), i ? TURNS_MADE : 0);
			again_processor_free(p);
			struct again *a = again_new(&b, 1, &code_addr, codes[k], 1);
			if (i)
				assert_int_equal(again_results(a, 0, &results), -EBADMSG);
			again_free(a);
			for (unsigned c = 0; c < AGAIN_COLUMNS; c++)
				bytes_deinit(&columns[c]);
			bytes_deinit(&packed);
		}
}

/* A block that touches too many pages is refused, and no other one that does not need it, whether
 * its window begins anew or was met before. */
static void too_many_pages(void **s)
{
	(void)s;
	/* next: mov [rdi], al; add rdi, 4096; jmp next */
	static const uint8_t touch[] = {0x88, 0x07, 0x48, 0x81, 0xc7, 0, 0x10, 0, 0, 0xeb, 0xf5};
	enum { AT = 0x100, INSNS = 3 * (AGAIN_PAGES_MAX + 1) };
	uint8_t page[VALUE_PAGE];
	struct made *m = make_all();
	struct again_block kept = m->blocks[0];
	struct bytes columns[AGAIN_COLUMNS] = {0}, packed = {0};
	const uint64_t *results;
	memcpy(page, code, VALUE_PAGE);
	memcpy(page + AT, touch, sizeof(touch));
	put_register(columns, RIP, CODE + AT);
	put_register(columns, VALUE_RDI, DATA);
	put_step(columns, 2, 0, 2 * INSNS);
	assert_true(again_pack(columns, &packed));
	m->blocks[0].at = packed.data;
	m->blocks[0].len = packed.len;
	m->blocks[0].n_insns = m->blocks[0].n_results = INSNS;
	struct again *a = again_new(m->blocks, BLOCKS, &code_addr, page, 1);
	assert_int_equal(again_results(a, 0, &results), -ENOMEM);
	check(a, m, AGAIN_FRESH + 1);
	assert_int_equal(again_results(a, 0, &results), -ENOMEM);
	check(a, m, AGAIN_FRESH + 1);
	again_free(a);
	m->blocks[0] = kept;
	for (unsigned k = 0; k < AGAIN_COLUMNS; k++)
		bytes_deinit(&columns[k]);
	bytes_deinit(&packed);
	free_all(m);
}

/* Code that is another one wherever it is looked at is translated up to a bound, which is told. */
static void too_much_code(void **s)
{
	(void)s;
	/* Zeros: add [rax], al, from each address on. */
	enum { MOST = 5000 };
	struct again_processor *p = again_processor_new(MOST);
	uint64_t n = 0;
	assert_non_null(p);
	while (n <= MOST && value_machine_insn(p->machine, CODE + n))
		n++;
	assert_true(value_machine_is_full(p->machine));
	assert_in_range(n, MOST - VALUE_BLOCK_INSNS, MOST);
	value_machine_state(p->machine)->rip = CODE + n;
	assert_false(again_processor_run(p, 1, NULL, NULL, NULL));
	again_processor_free(p);
}

/* Who reads is told of that too, and not that the file is damaged. */
static void too_much_code_to_read(void **state)
{
	(void)state;
	const struct value_insn *insn;
	const uint64_t *results;
	struct made *m = make_all();
	struct again *a = again_new(m->blocks, BLOCKS, &code_addr, code, 1);
	enum { MOST = 5000 };
	uint64_t n = 0;
	assert_non_null(a);
	again_translate_at_most(a, MOST);
	while (n <= MOST && !again_insn(a, 2 * CODE + n, &insn))
		n++;
	assert_in_range(n, MOST - VALUE_BLOCK_INSNS, MOST);
	assert_int_equal(again_insn(a, 2 * CODE + n, &insn), -E2BIG);
	assert_int_equal(again_results(a, 0, &results), -E2BIG);
	again_free(a);
	free_all(m);
}

/* What was watched of a block is what its instructions did; who refuses ends it. */
struct watched {
	uint64_t words, executed, told, addresses, last;
	bool refuses;
};

static void take_word(void *ctx, uint64_t word)
{
	struct watched *w = ctx;
	assert_int_equal(word, DATA / 8);
	w->words++;
}

static bool take_insns(void *ctx, uint64_t n, const uint64_t *addresses, size_t n_addresses)
{
	struct watched *w = ctx;
	*(addresses ? &w->executed : &w->told) += n;
	w->addresses += n_addresses;
	for (size_t i = 0; i < n_addresses; i++)
		assert_int_equal(addresses[i], DATA);
	return !w->refuses;
}

static void watched(void **s)
{
	(void)s;
	struct made *m = make_all();
	struct again *a = again_new(m->blocks, BLOCKS, &code_addr, code, 1);
	for (unsigned i = 3; i < BLOCKS; i += AGAIN_FRESH - 3) {
		struct watched w = {0};
		struct again_watch watch = {take_word, take_insns, &w};
		assert_int_equal(again_watched(a, i, &watch), 0);
		assert_int_equal(w.words, i % AGAIN_FRESH == 0);
		assert_int_equal(w.executed, 4 * TURNS);
		assert_int_equal(w.told, 1);
		assert_int_equal(w.addresses, 2 * TURNS);
		w.refuses = true;
		assert_int_equal(again_watched(a, i, &watch), -EBADMSG);
		check(a, m, i);
	}
	again_free(a);
	free_all(m);
}

/* Each byte of the state is part of a word, but for those that no instruction leaves to the next.
 */
static void words(void **s)
{
	(void)s;
	struct value_state from, to = value_state_fresh();
	uint16_t differ[AGAIN_WORDS];
	memset(&from, 0xa5, sizeof(from));
	from.df = 1;
	assert_int_equal(again_words_differ(&from, &to, differ), AGAIN_WORDS);
	for (unsigned i = 0; i < AGAIN_WORDS; i++)
		again_word_set(&to, i, again_word_get(&from, i));
	assert_int_equal(again_words_differ(&from, &to, differ), 0);
	to.gpr[VALUE_ZERO] = from.gpr[VALUE_ZERO];
	to.gpr[VALUE_SCRATCH] = from.gpr[VALUE_SCRATCH];
	to.mxcsr_run = from.mxcsr_run;
	to.mxcsr_host = from.mxcsr_host;
	memcpy(to.fx + VALUE_FX_X87, from.fx + VALUE_FX_X87, sizeof(to.fx) - VALUE_FX_X87);
	const size_t end = offsetof(struct value_state, no_tops) + sizeof(to.no_tops);
	assert_memory_equal(&to, &from, end);
	assert_memory_equal(to.vec, from.vec, sizeof(to) - offsetof(struct value_state, vec));
	for (unsigned i = 0; i < AGAIN_WORDS; i++) { /* and each is one of its own */
		again_word_set(&to, i, !again_word_get(&to, i));
		assert_int_equal(again_words_differ(&from, &to, differ), 1);
		assert_int_equal(differ[0], i);
		again_word_set(&to, i, again_word_get(&from, i));
	}
}

/* Nothing stays of what was executed before. */
static void cleared(void **s)
{
	(void)s;
	struct again_processor *p = again_processor_new(AGAIN_TRANSLATED_MAX);
	const struct value_state fresh = value_state_fresh();
	struct value_state *state = value_machine_state(p->machine);
	uint16_t differ[AGAIN_WORDS];
	assert_non_null(p);
	for (unsigned i = 0; i < sizeof(*state); i++)
		((uint8_t *)state)[i] = 0xa5;
	value_forget(p->machine, VALUE_BITS_ALL, VALUE_UNKNOWN);
	assert_true(again_processor_clear(p));
	assert_int_equal(again_words_differ(state, &fresh, differ), 0);
	assert_int_equal(state->gpr[VALUE_ZERO], 0);
	assert_int_equal(state->mxcsr_host, fresh.mxcsr_host);
	assert_int_equal(value_quality(p->machine, VALUE_BITS_ALL), VALUE_EXACT);
	again_processor_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_order),   cmocka_unit_test(wrong),
		cmocka_unit_test(without_end), cmocka_unit_test(too_many_pages),
		cmocka_unit_test(words),       cmocka_unit_test(long_columns),
		cmocka_unit_test(cleared),     cmocka_unit_test(too_much_code),
		cmocka_unit_test(watched),     cmocka_unit_test(too_much_code_to_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

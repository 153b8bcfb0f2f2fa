// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_encode_pack.c: claims about packed graphs: what comes out is what went in, names and
 * sequences included; what a machine writes does not depend on anything but that; what is cut or
 * changed is refused, and never harms. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "offline/encode/encode_pack.h"
#include "tests/support/strings.h"

/* The dag of balanced strings, and the names of their symbols. */
struct input {
	struct string strings[3];
	struct pack_sequence sequences[3];
	uint32_t n;
	struct symbols *symbols;
	struct dag *dag;
};

static void make_input(struct input *in, uint32_t n, uint32_t length, uint64_t seed)
{
	*in = (struct input){.n = n};
	assert_int_equal(symbols_new(&in->symbols), 0);
	assert_int_equal(dag_new(0, &in->dag), 0);
	uint32_t names = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct string *s = &in->strings[i];
		string_random(&in->strings[i], STRING_BALANCED, length, seed + i);
		in->sequences[i] = (struct pack_sequence){
			.place = {.tid = 100 + (int)i,
				  .pid = 7,
				  .thread = i ? "worker" : "main",
				  .event = seed,
				  .why = i ? EDGE_GAP : EDGE_THREAD},
			.ends = (enum tree_edge)(seed % 3),
		};
		assert_int_equal(dag_begin(in->dag), 0);
		for (uint32_t k = 0; k < s->n; k++) {
			uint32_t symbol = s->at[k];
			if (symbol_closes(symbol)) {
				assert_int_equal(
					dag_close(in->dag, &(struct tree_return){.token = symbol}),
					0);
				continue;
			}
			if (symbol_name_index(symbol) >= names)
				names = symbol_name_index(symbol) + 1;
			assert_int_equal(dag_open(in->dag, &(struct tree_call){.symbol = symbol}),
					 0);
		}
		assert_int_equal(dag_end(in->dag), 0);
	}
	for (uint32_t i = 0, index; i < names; i++) {
		char name[32];
		snprintf(name, sizeof(name), "function_%u", i);
		assert_int_equal(symbols_intern(in->symbols, name, &index), 0);
		assert_int_equal(index, i);
	}
}

static void free_input(struct input *in)
{
	for (uint32_t i = 0; i < in->n; i++)
		string_deinit(&in->strings[i]);
	dag_free(in->dag);
	symbols_free(in->symbols);
}

/* What is told, as strings over the names of the input. */
struct told {
	const struct symbols *from, *to;
	struct string strings[3];
	const struct pack_sequence *sequences;
	uint32_t n;
};

static int told_begin(void *ctx, const struct tree_place *place)
{
	struct told *t = ctx;
	const struct tree_place *want = &t->sequences[t->n].place;
	assert_int_equal(place->tid, want->tid);
	assert_int_equal(place->pid, want->pid);
	assert_int_equal(place->event, want->event);
	assert_int_equal(place->why, want->why);
	assert_string_equal(place->thread, want->thread);
	return 0;
}

static int told_open(void *ctx, const struct tree_call *call)
{
	struct told *t = ctx;
	const char *name = symbols_name(t->from, symbol_name_index(call->symbol));
	string_push(&t->strings[t->n],
		    symbol_make(symbols_find(t->to, name), symbol_how(call->symbol)));
	return 0;
}

static int told_close(void *ctx, const struct tree_return *ret)
{
	struct told *t = ctx;
	string_push(&t->strings[t->n], ret->token);
	return 0;
}

static int told_end(void *ctx, enum tree_edge why)
{
	struct told *t = ctx;
	assert_int_equal(why, t->sequences[t->n].ends);
	t->n++;
	return 0;
}

static void assert_says(const struct input *in, const uint8_t *bytes, size_t len)
{
	struct told told = {.to = in->symbols, .sequences = in->sequences};
	struct pugmark_diag diag = {.text = ""};
	struct symbols *symbols;
	struct packed *packed;
	assert_int_equal(symbols_new(&symbols), 0);
	assert_int_equal(packed_open(bytes, len, "test", symbols, &packed, &diag), 0);
	assert_int_equal(packed_calls(packed), dag_calls(in->dag));
	told.from = symbols;
	const struct tree_sink sink = {&told, told_begin, told_open, told_close, told_end, NULL};
	assert_int_equal(packed_tell(packed, &sink), 0);
	assert_int_equal(told.n, in->n);
	for (uint32_t i = 0; i < in->n; i++) {
		assert_int_equal(told.strings[i].n, in->strings[i].n);
		assert_memory_equal(told.strings[i].at, in->strings[i].at, 4 * in->strings[i].n);
		string_deinit(&told.strings[i]);
	}
	packed_free(packed);
	symbols_free(symbols);
}

static void says_what_went_in(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 40; seed++) {
		struct input in;
		uint8_t *bytes, *again;
		size_t len, len_again;
		make_input(&in, 1 + seed % 3, 10 + (uint32_t)(seed * seed * 9), seed);
		assert_int_equal(pack_write(in.dag, in.symbols, in.sequences, &bytes, &len), 0);
		assert_int_equal(pack_write(in.dag, in.symbols, in.sequences, &again, &len_again),
				 0);
		assert_int_equal(len, len_again);
		assert_memory_equal(bytes, again, len);
		assert_says(&in, bytes, len);
		free(bytes);
		free(again);
		free_input(&in);
	}
}

/* Repetition costs next to nothing: the codes of the second half are those of the first. */
static void repetition_is_small(void **state)
{
	(void)state;
	struct input in;
	uint8_t *bytes;
	size_t once, twice;
	make_input(&in, 1, 30000, 3);
	assert_int_equal(pack_write(in.dag, in.symbols, in.sequences, &bytes, &once), 0);
	free(bytes);
	struct string s = in.strings[0];
	for (int i = 0; i < 20; i++) {
		assert_int_equal(dag_begin(in.dag), 0);
		for (uint32_t k = 0; k < s.n; k++)
			if (symbol_closes(s.at[k]))
				dag_close(in.dag, &(struct tree_return){.token = s.at[k]});
			else
				dag_open(in.dag, &(struct tree_call){.symbol = s.at[k]});
		assert_int_equal(dag_end(in.dag), 0);
	}
	struct pack_sequence sequences[21];
	for (int i = 0; i < 21; i++)
		sequences[i] = in.sequences[0];
	assert_int_equal(pack_write(in.dag, in.symbols, sequences, &bytes, &twice), 0);
	assert_true(twice < once + once / 4 + 200);
	free(bytes);
	free_input(&in);
}

static void damage_is_refused(void **state)
{
	(void)state;
	struct input in;
	uint8_t *bytes;
	size_t len;
	make_input(&in, 2, 3000, 5);
	assert_int_equal(pack_write(in.dag, in.symbols, in.sequences, &bytes, &len), 0);
	for (size_t i = 0; i < 60; i++) {
		struct pugmark_diag diag = {.text = ""};
		struct symbols *symbols;
		struct packed *packed;
		size_t at = i * (len - 1) / 59, n = i % 3 ? len : at;
		uint8_t *copy = malloc(len);
		memcpy(copy, bytes, len);
		copy[at] ^= (uint8_t)(1u << i % 8);
		bool fits = i % 2 && n >= 16; /* with a checksum that fits, anything may come */
		if (fits) {
			uint32_t crc = (uint32_t)crc32(0, copy + 12, (uInt)(n - 12));
			memcpy(copy + 8, &crc, 4);
		}
		assert_int_equal(symbols_new(&symbols), 0);
		int err = packed_open(copy, n, "test", symbols, &packed, &diag);
		assert_true(err == -EBADMSG || (fits && !err));
		if (err)
			assert_true(*diag.text);
		else
			packed_free(packed);
		symbols_free(symbols);
		free(copy);
	}
	free(bytes);
	free_input(&in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(says_what_went_in),
		cmocka_unit_test(repetition_is_small),
		cmocka_unit_test(damage_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

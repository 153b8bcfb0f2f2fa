// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_captures.c: captures survive their code, whatever they hold; damaged ones are refused; and
 * each row of the tables of outputs can be read; which system calls may have written what nothing
 * tells; and which failed calls may have changed mappings. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "offline/capture/capture_code.h"
#include "offline/capture/imports.h"
#include "offline/capture/mapping_calls.h"
#include "offline/capture/outputs.h"
#include "offline/capture/syscalls.h"

static uint64_t seed;

static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

static uint64_t any_number(void)
{
	return next_random() >> (next_random() & 63);
}

enum { N = 500, RANGES = 4, BYTES = 3000 };
static uint8_t bytes[BYTES];
static struct capture_range ranges[N][RANGES];

/* What the encoder is told of record @i: only what its kind has. */
static struct capture any_capture(uint32_t i)
{
	struct capture c = {.place = CAPTURE_NONE, .map_file = CAPTURE_NONE};

	c.kind = 1 + next_random() % CAPTURE_SWITCH;
	if (c.kind == CAPTURE_FORK || c.kind == CAPTURE_EXEC)
		c.kind = CAPTURE_RESULT;
	c.order = i + next_random() % 3;
	c.time_ns = next_random() % 1000 << CAPTURE_TIME_SHIFT;
	c.sp = any_number();
	if (c.kind == CAPTURE_ENTER || c.kind == CAPTURE_RESULT || c.kind == CAPTURE_INSN)
		c.place = next_random() % 2000;
	else if (c.kind != CAPTURE_LOST)
		c.ip = any_number();
	c.known = c.kind == CAPTURE_RESULT ? 1 | (next_random() & 1) << 2
		  : c.kind == CAPTURE_INSN ? 15 | CAPTURE_FLAGS_KNOWN
		  : c.kind <= CAPTURE_ENTER || c.kind == CAPTURE_SIGNAL || c.kind == CAPTURE_SWITCH
			  ? CAPTURE_ALL_KNOWN
			  : 0;
	for (int r = 0; r < 16; r++)
		c.regs[r] = c.known >> r & 1 ? any_number() : 0;
	c.flags = c.known & CAPTURE_FLAGS_KNOWN ? any_number() : 0;
	if (c.kind == CAPTURE_START) {
		c.fs_base = any_number();
		c.gs_base = any_number();
		c.xsave_bytes = next_random() % BYTES;
		c.xsave = c.xsave_bytes ? bytes : NULL;
	}
	if (c.kind == CAPTURE_SIGNAL) {
		c.signal = next_random() % 64;
		c.handler = any_number();
		c.flags &= ~(uint64_t)CAPTURE_IN_STUB; /* no processor has it */
	}
	if (c.kind == CAPTURE_KERNEL) {
		c.nr = 1000 + next_random() % 300; /* none that maps */
		c.result = (int64_t)any_number();
		for (int a = 0; a < 6; a++)
			c.args[a] = any_number();
	}
	if (c.kind == CAPTURE_SWITCH) {
		c.entered = next_random() & 1 ? c.order - next_random() % 5 - 1 : 0;
		c.trapped = next_random() & 1;
	}
	if (c.kind == CAPTURE_SWITCH || c.kind == CAPTURE_SIGNAL) {
		c.n_surroundings = next_random() & 1 ? SURROUNDINGS : 0;
		for (uint32_t k = 0; k < c.n_surroundings; k++)
			c.surroundings[k] = k && next_random() & 1 ? 0 : next_random() | 1;
	}
	if (c.kind == CAPTURE_LOST)
		c.lost = any_number();
	c.has_hash = c.kind == CAPTURE_RESULT && next_random() & 1;
	c.hash = c.has_hash ? (uint16_t)next_random() : 0;
	c.n_ranges = next_random() % (RANGES + 1);
	c.ranges = c.n_ranges ? ranges[i] : NULL;
	for (uint32_t k = 0; k < c.n_ranges; k++) {
		bool again = next_random() & 1; /* perhaps: the same bytes as another one */

		ranges[i][k] = (struct capture_range){
			.addr = any_number(),
			.len = again ? BYTES / 2 : next_random() % BYTES,
			.unread = next_random() % 8 == 0,
			.bytes = bytes + (again ? next_random() % 3 : 0),
		};
	}
	return c;
}

static void assert_same(const struct capture *a, const struct capture *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->place, b->place);
	assert_int_equal(a->order, b->order);
	assert_int_equal(a->time_ns, b->time_ns);
	assert_int_equal(a->ip, b->ip);
	assert_int_equal(a->sp, b->sp);
	assert_int_equal(a->known, b->known);
	assert_memory_equal(a->regs, b->regs, sizeof(a->regs));
	assert_int_equal(a->flags, b->flags);
	assert_int_equal(a->entered, b->entered);
	assert_int_equal(a->trapped, b->trapped);
	assert_int_equal(a->n_surroundings, b->n_surroundings);
	assert_memory_equal(a->surroundings, b->surroundings,
			    a->n_surroundings * sizeof(*a->surroundings));
	assert_int_equal(a->fs_base, b->fs_base);
	assert_int_equal(a->gs_base, b->gs_base);
	assert_int_equal(a->xsave_bytes, b->xsave_bytes);
	assert_memory_equal(a->xsave, b->xsave, a->xsave_bytes);
	assert_int_equal(a->signal, b->signal);
	assert_int_equal(a->handler, b->handler);
	assert_int_equal(a->nr, b->nr);
	assert_int_equal(a->result, b->result);
	assert_memory_equal(a->args, b->args, sizeof(a->args));
	assert_int_equal(a->lost, b->lost);
	assert_int_equal(a->has_hash, b->has_hash);
	assert_int_equal(a->hash, b->hash);
	assert_int_equal(a->n_ranges, b->n_ranges);
	for (uint32_t i = 0; i < a->n_ranges; i++) {
		assert_int_equal(a->ranges[i].addr, b->ranges[i].addr);
		assert_int_equal(a->ranges[i].len, b->ranges[i].len);
		assert_int_equal(a->ranges[i].unread, b->ranges[i].unread);
		if (!a->ranges[i].unread)
			assert_memory_equal(a->ranges[i].bytes, b->ranges[i].bytes,
					    a->ranges[i].len);
	}
}

static void test_round_trip(void **state)
{
	struct capture_encoder *enc = capture_encoder_new();
	struct capture_decoder *dec = capture_decoder_new();
	struct capture in[N], out;

	(void)state;
	for (int i = 0; i < BYTES; i++)
		bytes[i] = next_random();
	for (int round = 0; round < 20; round++) {
		/* In some as often as columns have no room before the bytes. */
		const uint32_t times = round % 5 == 4 ? 50 : 1;
		uint32_t len;

		for (uint32_t i = 0; i < N; i++)
			in[i] = any_capture(i);
		for (uint32_t i = 0; i < times * N; i++)
			assert_int_equal(capture_encoder_add(enc, &in[i % N]), 0);
		assert_int_equal(capture_encoder_count(enc), times * N);
		const uint8_t *raw = capture_encoder_finish(enc, &len);
		assert_int_equal(capture_decoder_open(dec, raw, len), 0);
		for (uint32_t i = 0; i < times * N; i++) {
			assert_int_equal(capture_decoder_next(dec, &out), 1);
			assert_same(&in[i % N], &out);
		}
		assert_int_equal(capture_decoder_next(dec, &out), 0);
	}
	capture_encoder_free(enc);
	capture_decoder_free(dec);
}

/* A system call that brings the same bytes time and again takes no more room than one that brings
 * none; one that brings others has its own. */
static void test_again(void **state)
{
	enum { TIMES = 1000, LEN = 2000, RECORD = 24 };
	struct capture_encoder *enc = capture_encoder_new();
	struct capture_decoder *dec = capture_decoder_new();
	static uint8_t pages[3][LEN];
	struct capture out;
	uint32_t len, with_others;

	(void)state;
	memset(pages[1], 1, LEN);
	memset(pages[2], 1, LEN);
	pages[2][LEN - 1] = 2;
	for (int others = 0; others < 2; others++) {
		struct capture_range r = {.addr = 0x1000, .len = LEN};
		struct capture c = {.kind = CAPTURE_KERNEL, .ranges = &r, .n_ranges = 1};

		for (uint32_t i = 0; i < TIMES; i++) {
			r.bytes = pages[others ? i % 3 : 1];
			assert_int_equal(capture_encoder_add(enc, &c), 0);
		}
		const uint8_t *raw = capture_encoder_finish(enc, others ? &with_others : &len);
		assert_int_equal(capture_decoder_open(dec, raw, others ? with_others : len), 0);
		for (uint32_t i = 0; i < TIMES; i++) {
			assert_int_equal(capture_decoder_next(dec, &out), 1);
			assert_memory_equal(out.ranges[0].bytes, pages[others ? i % 3 : 1], LEN);
		}
	}
	assert_true(len < LEN + TIMES * RECORD);
	assert_true(with_others > TIMES * LEN);
	capture_encoder_free(enc);
	capture_decoder_free(dec);
}

/* No byte that is changed or cut off makes the decoder read elsewhere (with sanitizers), and what
 * it says then ends. */
static void test_damage(void **state)
{
	struct capture_encoder *enc = capture_encoder_new();
	struct capture_decoder *dec = capture_decoder_new();
	struct capture out;
	uint32_t len, refused = 0;

	(void)state;
	for (uint32_t i = 0; i < 50; i++) {
		struct capture c = any_capture(i);

		assert_int_equal(capture_encoder_add(enc, &c), 0);
	}
	const uint8_t *good = capture_encoder_finish(enc, &len);
	uint8_t *raw = malloc(len);
	for (int round = 0; round < 3000; round++) {
		uint32_t n = round & 1 ? len : next_random() % len;
		int more = 1, had = 0;

		memcpy(raw, good, len);
		raw[next_random() % len] ^= 1 << (next_random() & 7);
		if (!capture_decoder_open(dec, raw, n))
			while ((more = capture_decoder_next(dec, &out)) > 0)
				assert_in_range(++had, 1, len);
		refused += more != 0;
	}
	assert_true(refused > 1500); /* all that were cut, and more */
	free(raw);
	capture_encoder_free(enc);
	capture_decoder_free(dec);
}

static void test_tables(void **state)
{
	struct output_word words[CAPTURE_MAX_OUTPUTS];
	struct imports *imports;
	struct pugmark_diag diag;
	const char *bad;

	(void)state;
	assert_int_equal(imports_open(NULL, &imports, &diag), 0);
	for (uint32_t i = 0; imports_builtin(i); i++) {
		const struct import_row *row = imports_builtin(i);
		int n = outputs_read(row->outputs, words, &bad);

		if (n < 0 || (n > 0) != (row->kind == IMPORT_OUTPUT))
			fail_msg("row of %s: %s", row->name, bad);
		/* No other row of that name: which one counts would be a matter of chance. */
		assert_ptr_equal(imports_find(imports, row->name), row);
	}
	imports_free(imports);
	struct capture_syscall *rows = malloc(CAPTURE_MAX_SYSCALLS * sizeof(*rows));
	syscalls_table(rows);
	assert_int_equal(rows[0].n_outputs, 1); /* read(): behind its second argument, the result */
	assert_int_equal(rows[0].outputs[0].base, 1);
	assert_int_equal(rows[0].outputs[0].a, VALUE_RESULT);
	free(rows);
}

static void test_words(void **state)
{
	static const char *const wrong[] = {"arg6:8",	"arg0",	       "arg0:",
					    "result:x", "arg0:8 ,",    "@:8",
					    "arg0:8:9", "*****arg0:8", "arg0:arg1xarg2xarg3",
					    "arg0+:8"};
	struct output_word w[CAPTURE_MAX_OUTPUTS];
	const char *bad;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_int_equal(outputs_read(wrong[i], w, &bad), -EINVAL);
	assert_int_equal(outputs_read("*arg0+8:resultxarg1x4+1 @optarg:8", w, &bad), 2);
	assert_int_equal(w[0].output.loads, 1);
	assert_int_equal(w[0].output.addend, 8);
	assert_int_equal(w[0].output.k, 4);
	assert_int_equal(w[0].output.c, 1);
	assert_int_equal(w[0].output.b, 1);
	assert_string_equal(w[1].symbol, "optarg");
}

static void test_untold(void **state)
{
	enum { GETS2 = 0x802c542a, SETSF2 = 0x402c542d }; /* of asm/termbits.h */
	enum { SIOCGIFCONF_REQUEST = 0x8912, FIEMAP = 0xc020660b, WAKE_OP_PRIVATE = 5 | 128 };
	static const struct {
		uint32_t nr;
		uint64_t args[6];
		int64_t result;
		bool untold;
	} calls[] = {
		{SYS_read, {0}, 5, false},
		{SYS_ioctl, {1, TCGETS}, -ENOTTY, false},
		{SYS_ioctl, {1, GETS2}, -ENOTTY, false},
		{SYS_ioctl, {1, SETSF2}, 0, false},
		{SYS_ioctl, {1, TCGETA}, 0, false},
		{SYS_ioctl, {1, FIONREAD}, 0, false},
		{SYS_ioctl, {1, SIOCGIFCONF_REQUEST}, 0, true}, /* through a pointer in there */
		{SYS_ioctl, {1, FIEMAP}, 0, true},		/* beyond 256 bytes */
		{SYS_ioctl, {1, FIEMAP}, -EOVERFLOW, true},
		{SYS_mincore, {0, 16 << 20}, 0, false},
		{SYS_mincore, {0, (16 << 20) + 1}, 0, true},
		{SYS_select, {1024}, 1, false},
		{SYS_select, {1025}, 1, true},
		{SYS_prctl, {15}, 0, false},
		{SYS_prctl, {0x41555856}, 320, true}, /* PR_GET_AUXV */
		{SYS_prctl, {35, 15}, 0, true},	      /* PR_SET_MM, PR_SET_MM_MAP_SIZE */
		{SYS_futex, {0, 128}, 0, false},
		{SYS_futex, {0, WAKE_OP_PRIVATE}, 0, true},
		{SYS_io_getevents, {0}, -EINTR, true},
		{SYS_bpf, {5}, -EACCES, true}, /* its log */
		{SYS_bpf, {5}, -ENOSYS, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (syscall_writes_untold(calls[i].nr, calls[i].args, calls[i].result) !=
		    calls[i].untold)
			fail_msg("call %u, %zu", calls[i].nr, i);
	/* What these write is told, also where they fail. */
	static const uint32_t whenever[] = {SYS_sched_setattr, SYS_perf_event_open,
					    SYS_waitid,	       SYS_name_to_handle_at,
					    SYS_socketpair,    SYS_getsockopt};
	struct capture_syscall *rows = malloc(CAPTURE_MAX_SYSCALLS * sizeof(*rows));
	syscalls_table(rows);
	for (size_t i = 0; i < sizeof(whenever) / sizeof(*whenever); i++)
		if (!rows[whenever[i]].n_outputs ||
		    !(rows[whenever[i]].traits & CAPTURE_WHEN_FAILED))
			fail_msg("call %u", whenever[i]);
	assert_int_equal(rows[SYS_seccomp].n_outputs, 1);
	free(rows);
}

static void test_failed_mapping_calls(void **state)
{
	static const struct {
		uint32_t nr;
		uint64_t addr;
		int64_t result;
		uint8_t op;
	} calls[] = {
		{SYS_mprotect, 0x5000, -ENOMEM, MAP_PROTECTED},
		{SYS_mprotect, 0x5000, -EACCES, MAP_PROTECTED}, /* at a later mapping */
		{SYS_pkey_mprotect, 0x5000, -EPERM, MAP_PROTECTED},
		{SYS_mprotect, 0x5008, -EINVAL, MAP_NONE},
		{SYS_munmap, 0x5000, -ENOMEM, MAP_NONE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		struct capture c = {.nr = calls[i].nr, .result = calls[i].result};

		c.args[0] = calls[i].addr;
		c.args[1] = 0x2000;
		mapping_call(&c);
		assert_int_equal(c.map_op, calls[i].op);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_untold),
		cmocka_unit_test(test_failed_mapping_calls),
	};

	seed = 0x123456789abcdef;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_call_sites.c: what becomes a jump is a system call and nothing that only looks like one, and
 * what the jumps lead to uses no stack: programs read what calls have left there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <Zydis/Zydis.h>
#include <cmocka.h>

#include "offline/capture/call_sites.h"
#include "user/values/calls/call_code.h"

enum { AT = 0x7000 };

static struct call_site only_site(const char *code, size_t len)
{
	struct call_site *sites = NULL, site;

	assert_int_equal(call_sites_find((const uint8_t *)code, len, AT, &sites), 1);
	site = sites[0];
	free(sites);
	return site;
}

#define ONLY_SITE(code) only_site(code, sizeof(code) - 1)

/* mov $39, %eax; syscall: whole code is looked at where there is such a place. */
#define PLAIN "\xb8\x27\x00\x00\x00\x0f\x05"
enum { BEHIND_PLAIN = AT + sizeof(PLAIN) - 1 };

/* Where the jump of the second of two sites goes. */
static uint64_t second_at(const char *code, size_t len)
{
	struct call_site *sites = NULL;

	assert_int_equal(call_sites_find((const uint8_t *)code, len, AT, &sites), 2);
	uint64_t at = sites[1].at;
	free(sites);
	return at;
}

/* Of a `syscall` behind mov $229, %eax; xor %esi, %esi. */
#define AT_BEHIND_NUMBER(behind)                                                                   \
	second_at(PLAIN "\xb8\xe5\x00\x00\x00\x31\xf6\x0f\x05" behind, sizeof(PLAIN behind) - 1 + 9)
enum { SITE_BEHIND_NUMBER = BEHIND_PLAIN + 7 };

static void takes_the_place_of_a_number(void **state)
{
	(void)state;
	struct call_site s =
		ONLY_SITE("\x90\xb8\x27\x00\x00\x00\x0f\x05\x48\x3d\x00\xf0\xff\xff\xc3");

	assert_int_equal(s.at, AT + 1);
	assert_int_equal(s.call, AT + 6);
	assert_int_equal(s.number, 0x27);
	assert_int_equal(s.n_moved, 0);
	assert_true(s.flags_unread);
	assert_memory_equal(s.old, "\xb8\x27\x00\x00\x00", 5);
	/* mov $15, %rax */
	s = ONLY_SITE("\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05\x90");
	assert_int_equal(s.at, AT);
	assert_int_equal(s.number, 15);
}

static void moves_what_lies_behind_a_short_one(void **state)
{
	(void)state;
	struct call_site s = ONLY_SITE("\x31\xc0\x0f\x05\x48\x3d\x00\xf0\xff\xff\xc3");

	assert_int_equal(s.at, AT);
	assert_int_equal(s.number, 0);
	assert_true(s.zeroes);
	assert_int_equal(s.n_moved, 6);
	assert_memory_equal(s.moved, "\x48\x3d\x00\xf0\xff\xff", 6);
}

/* Where two instructions behind it would be within the jump, the stub would go back into that. */
static void leaves_what_is_too_short(void **state)
{
	(void)state;
	/* mov %eax, %edx; test %eax, %eax */
	assert_int_equal(AT_BEHIND_NUMBER("\x89\xc2\x85\xc0\xc3"), 0);
	/* mov %rax, %rdx */
	assert_int_equal(AT_BEHIND_NUMBER("\x48\x89\xc2\x85\xc0\xc3"), SITE_BEHIND_NUMBER);
	/* nops of 1 byte and of 3 */
	assert_int_equal(AT_BEHIND_NUMBER("\x90\x85\xc0\xc3"), 0);
	assert_int_equal(AT_BEHIND_NUMBER("\x0f\x1f\x00\x85\xc0\xc3"), SITE_BEHIND_NUMBER);
	/* at the end of the code */
	assert_int_equal(AT_BEHIND_NUMBER(""), 0);
	assert_int_equal(AT_BEHIND_NUMBER("\x90"), 0);
}

static void leaves_what_others_jump_to(void **state)
{
	(void)state;
	/* endbr64 */
	assert_int_equal(AT_BEHIND_NUMBER("\xf3\x0f\x1e\xfa\x31\xc0\xc3"), 0);
}

static void leaves_what_is_jumped_into(void **state)
{
	(void)state;
	/* jmp to the comparison, which would be within the jump */
	assert_int_equal(ONLY_SITE("\xeb\x04\x31\xc0\x0f\x05\x48\x3d\x00\xf0\xff\xff\xc3").at, 0);
	/* and to its first byte */
	assert_int_equal(ONLY_SITE("\xeb\x00\x31\xc0\x0f\x05\x48\x3d\x00\xf0\xff\xff\xc3").at,
			 AT + 2);
}

static void leaves_what_may_be_no_code(void **state)
{
	(void)state;
	struct call_site *sites = NULL;

	assert_int_equal(call_sites_find((const uint8_t *)"\x90\x0f\x05\x90\x90\x90\x90\x90\xc3", 9,
					 AT, &sites),
			 0);
	free(sites);
	/* A number that no call has, and nothing that asks for an error. */
	assert_int_equal(ONLY_SITE("\xb8\x27\x00\x00\x00\x0f\x05\xc3").at, AT);
	sites = NULL;
	assert_int_equal(
		call_sites_find((const uint8_t *)"\xb8\x27\x00\x99\x00\x0f\x05\xc3", 8, AT, &sites),
		0);
	free(sites);
}

static void tells_whether_flags_are_read(void **state)
{
	(void)state;
	/* jc reads what the call leaves */
	assert_false(ONLY_SITE("\xb8\x27\x00\x00\x00\x0f\x05\x72\x00\xc3").flags_unread);
	/* mov, test */
	assert_true(ONLY_SITE("\xb8\x27\x00\x00\x00\x0f\x05\x89\xc2\x85\xc0\xc3").flags_unread);
}

/* Instructions from @at to @end that write the stack pointer, or to where it leads. */
static int writes_stack(const uint8_t *at, const uint8_t *end, int *n)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	int found = 0;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (*n = 0; at < end; at += insn.length, ++*n) {
		assert_true(ZYAN_SUCCESS(
			ZydisDecoderDecodeFull(&decoder, at, (size_t)(end - at), &insn, op)));
		for (int i = 0; i < insn.operand_count; i++) {
			bool written = op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;

			found += written && ((op[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
					      op[i].reg.value == ZYDIS_REGISTER_RSP) ||
					     (op[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
					      op[i].mem.base == ZYDIS_REGISTER_RSP));
		}
	}
	return found;
}

static void uses_no_stack(void **state)
{
	const struct call_zones *z = &call_code_places.zones;
	int n;

	(void)state;
	assert_int_equal(writes_stack(call_code + z->post, call_code + z->sigreturn, &n), 0);
	assert_true(n > 80);
	assert_int_equal(writes_stack(call_stub + CALL_FAST, call_stub + CALL_FAST_SYSCALL, &n), 0);
	assert_true(n > 10);
	/* But for where a handler goes back to, in the frame that is given up, and in a child with
	 * what registers. */
	assert_int_equal(writes_stack(call_code + z->sigreturn, call_code_end, &n), 10);
	assert_memory_equal(call_stub + CALL_FAST_SYSCALL, "\x0f\x05\xe9", 3);
	assert_memory_equal(call_stub + CALL_SLOW, "\x90", 1);
	assert_memory_equal(call_stub + CALL_SLOW_SYSCALL, "\x0f\x05\x90", 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_the_place_of_a_number),
		cmocka_unit_test(moves_what_lies_behind_a_short_one),
		cmocka_unit_test(leaves_what_is_too_short),
		cmocka_unit_test(leaves_what_others_jump_to),
		cmocka_unit_test(leaves_what_is_jumped_into),
		cmocka_unit_test(leaves_what_may_be_no_code),
		cmocka_unit_test(tells_whether_flags_are_read),
		cmocka_unit_test(uses_no_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_probe_frames.c: where the frames of the hot program lie, by the machine code that the kernel
 * makes of it. Needs BPF. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include <bpf/bpf.h>
#include "bpf/protocol.h"

#include "bpf/witness.skel.h"

enum { CODE_BYTES = 1 << 20 };

static int ignore_message(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level, (void)format, (void)args;
	return 0;
}

/* A private stack is found by add %gs:disp32,%r9, which nothing else in such a program is. */
static bool has_private_stack(const uint8_t *code, uint32_t len)
{
	for (uint32_t i = 0; i + 5 <= len; i++)
		if (!memcmp(code + i, "\x65\x4c\x03\x0c\x25", 5))
			return true;
	return false;
}

static void frames_are_on_the_stack_of_the_task(void **state)
{
	static uint8_t code[CODE_BYTES];
	struct bpf_prog_info info = {
		.jited_prog_insns = (uintptr_t)code,
		.jited_prog_len = sizeof(code),
	};
	uint32_t len = sizeof(info);

	(void)state;
	libbpf_set_print(ignore_message);
	struct witness_bpf *skel = witness_bpf__open_and_load();
	if (!skel || bpf_obj_get_info_by_fd(bpf_program__fd(skel->progs.witness), &info, &len) ||
	    !info.jited_prog_len || !info.jited_prog_insns) {
		witness_bpf__destroy(skel);
		printf("SKIP: no BPF here, or no machine code of it to be seen\n");
		skip();
	}
	assert_in_range(info.jited_prog_len, 1, sizeof(code));
	assert_false(has_private_stack(code, info.jited_prog_len));
	witness_bpf__destroy(skel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_on_the_stack_of_the_task),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

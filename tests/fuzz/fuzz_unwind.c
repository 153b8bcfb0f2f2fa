// SPDX-License-Identifier: LGPL-2.1-or-later
/* fuzz_unwind.c: any bytes as a file that a process has mapped as code, and whose call frame
 * information a thread's stack is walked with: the walk ends, at places on that stack. The process
 * is this one, and the code is never executed. */
#include "tests/fuzz/as_file.h"

#include <pugmark/event.h>

#include "user/stack/clean_stack.h"
#include "user/stack/unwind.h"

#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WORDS = 256, SLOTS = 64, PAGE = 4096, STEP = 61, STARTS = 40, STACK = 0x7ffd00000000 };

static void walk(struct unwinder *u, uint64_t ip, uint64_t base, size_t size)
{
	uint64_t words[WORDS], cleaned[WORDS];
	uint32_t slots[SLOTS];
	bool complete;

	/* Addresses of its code, of the stack, and numbers. */
	for (uint32_t i = 0; i < WORDS; i++)
		words[i] = i % 3 ? base + i * STEP * 7 % size : i % 2 ? STACK + i * 8 + 64 : i;
	struct unwind_thread thread = {.ip = ip, .addr = STACK, .words = words, .n_words = WORDS};
	thread.regs[6] = STACK + 128;
	thread.regs[7] = STACK;
	uint32_t n = unwinder_slots(u, &thread, slots, SLOTS, &complete);
	MUST(n <= SLOTS);
	for (uint32_t i = 0; i < n; i++)
		MUST(slots[i] < WORDS);
	const struct frame_rule *rule = unwinder_rule(u, ip);
	MUST(rule->cfa_reg <= FRAME_BP && rule->bp <= BP_UNKNOWN && rule->ret_reg < 16);

	struct pugmark_witness_event event = {
		.stack = words, .stack_words = WORDS, .stack_addr = STACK};
	struct clean_from from = {.ip = ip, .sp = STACK, .bp = STACK + 128, .bp_known = true};
	uint64_t unmapped = 0;
	stack_clean(u, &from, cleaned, &event, &unmapped);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unwind_room room = {.bytes = UINT64_MAX / 2};
	struct unwinder *u;
	if (size < 64)
		return 0;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	MUST(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	char *code = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	MUST(code != MAP_FAILED);
	if (!unwinder_new(getpid(), &room, &u)) {
		uint64_t base = (uint64_t)code;
		MUST(unwinder_is_code(u, base));
		for (uint32_t i = 0; i < STARTS; i++)
			walk(u, base + (uint64_t)i * STEP % size, base, size);
		unwinder_free(u);
	}
	munmap(code, size);
	close(fd);
	return 0;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_model_decode.c: kinds, targets and probe classes of single instructions, and the classes
 * against the running kernel: what it refuses to probe, the table has to refuse. */
#include "tests/unit/elf/elf_helper.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>

#include "offline/code/decode.h"

enum { ADDR = 0x10000 };

static const struct row {
	const char *text;
	uint8_t len;
	uint8_t bytes[15];
	uint8_t kind, probe;
	uint64_t target; /* or slot; 0: none */
} rows[] = {
	{"call rel32", 5, {0xe8, 1, 0, 0, 0}, PUGMARK_INSN_CALL, PUGMARK_PROBE_EMULATED, ADDR + 6},
	{"data16 call",
	 6,
	 {0x66, 0xe8, 1, 0, 0, 0},
	 PUGMARK_INSN_CALL,
	 PUGMARK_PROBE_REFUSED,
	 ADDR + 7},
	{"data16 loop", 3, {0x66, 0xe2, 1}, PUGMARK_INSN_JCXZ, PUGMARK_PROBE_REFUSED, ADDR + 4},
	{"call *%rax", 2, {0xff, 0xd0}, PUGMARK_INSN_CALL_IND, PUGMARK_PROBE_STEPPED, 0},
	{"notrack call *%rax",
	 3,
	 {0x3e, 0xff, 0xd0},
	 PUGMARK_INSN_CALL_IND,
	 PUGMARK_PROBE_REFUSED,
	 0},
	{"call *0x10(%rip)",
	 6,
	 {0xff, 0x15, 16},
	 PUGMARK_INSN_CALL_IND,
	 PUGMARK_PROBE_STEPPED,
	 ADDR + 22},
	{"call *0x1000",
	 7,
	 {0xff, 0x14, 0x25, 0, 0x10},
	 PUGMARK_INSN_CALL_IND,
	 PUGMARK_PROBE_STEPPED,
	 0x1000},
	{"call *8(%rax)", 3, {0xff, 0x50, 8}, PUGMARK_INSN_CALL_IND, PUGMARK_PROBE_STEPPED, 0},
	{"jmp rel8 back", 2, {0xeb, 0xfe}, PUGMARK_INSN_JMP, PUGMARK_PROBE_EMULATED, ADDR},
	{"jmp rel32 back",
	 5,
	 {0xe9, 0xfb, 0xff, 0xff, 0xff},
	 PUGMARK_INSN_JMP,
	 PUGMARK_PROBE_EMULATED,
	 ADDR},
	{"bnd jmp rel32",
	 6,
	 {0xf2, 0xe9, 4, 0, 0, 0},
	 PUGMARK_INSN_JMP,
	 PUGMARK_PROBE_EMULATED,
	 ADDR + 10},
	{"jmp with eb inside",
	 5,
	 {0xe9, 0, 0, 0xeb, 0},
	 PUGMARK_INSN_JMP,
	 PUGMARK_PROBE_EMULATED,
	 ADDR + 0xeb0005},
	{"jmp *(%rip)", 6, {0xff, 0x25}, PUGMARK_INSN_JMP_IND, PUGMARK_PROBE_STEPPED, ADDR + 6},
	{"bnd jmp *(%rip)",
	 7,
	 {0xf2, 0xff, 0x25},
	 PUGMARK_INSN_JMP_IND,
	 PUGMARK_PROBE_STEPPED,
	 ADDR + 7},
	{"jmp *(%rcx,%rax,8)",
	 3,
	 {0xff, 0x24, 0xc1},
	 PUGMARK_INSN_JMP_IND,
	 PUGMARK_PROBE_STEPPED,
	 0},
	{"notrack jmp *%rax",
	 3,
	 {0x3e, 0xff, 0xe0},
	 PUGMARK_INSN_JMP_IND,
	 PUGMARK_PROBE_REFUSED,
	 0},
	{"je rel8", 2, {0x74, 3}, PUGMARK_INSN_JCC, PUGMARK_PROBE_EMULATED, ADDR + 5},
	{"jg rel32",
	 6,
	 {0x0f, 0x8f, 0, 1, 0, 0},
	 PUGMARK_INSN_JCC,
	 PUGMARK_PROBE_EMULATED,
	 ADDR + 0x106},
	{"jne with a hint", 3, {0x3e, 0x75, 1}, PUGMARK_INSN_JCC, PUGMARK_PROBE_REFUSED, ADDR + 4},
	{"jrcxz", 2, {0xe3, 3}, PUGMARK_INSN_JCXZ, PUGMARK_PROBE_STEPPED, ADDR + 5},
	{"loop", 2, {0xe2, 0xfe}, PUGMARK_INSN_JCXZ, PUGMARK_PROBE_STEPPED, ADDR},
	{"ret", 1, {0xc3}, PUGMARK_INSN_RET, PUGMARK_PROBE_STEPPED, 0},
	{"rep ret", 2, {0xf3, 0xc3}, PUGMARK_INSN_RET, PUGMARK_PROBE_STEPPED, 0},
	{"ret imm16", 3, {0xc2, 8, 0}, PUGMARK_INSN_RET, PUGMARK_PROBE_STEPPED, 0},
	{"ud2", 2, {0x0f, 0x0b}, PUGMARK_INSN_TRAP, PUGMARK_PROBE_REFUSED, 0},
	{"ud1", 3, {0x0f, 0xb9, 0xc0}, PUGMARK_INSN_TRAP, PUGMARK_PROBE_REFUSED, 0},
	{"int3", 1, {0xcc}, PUGMARK_INSN_TRAP, PUGMARK_PROBE_REFUSED, 0},
	{"hlt", 1, {0xf4}, PUGMARK_INSN_TRAP, PUGMARK_PROBE_REFUSED, 0},
	{"xbegin",
	 6,
	 {0xc7, 0xf8, 2, 0, 0, 0},
	 PUGMARK_INSN_XBEGIN,
	 PUGMARK_PROBE_REFUSED,
	 ADDR + 8},
	{"xabort", 3, {0xc6, 0xf8, 1}, PUGMARK_INSN_OTHER, PUGMARK_PROBE_REFUSED, 0},
	{"syscall", 2, {0x0f, 0x05}, PUGMARK_INSN_OTHER, PUGMARK_PROBE_REFUSED, 0},
	{"push %rbx", 1, {0x53}, PUGMARK_INSN_OTHER, PUGMARK_PROBE_EMULATED, 0},
	{"push %r12", 2, {0x41, 0x54}, PUGMARK_INSN_OTHER, PUGMARK_PROBE_EMULATED, 0},
	{"rex.W push %rax", 2, {0x48, 0x50}, PUGMARK_INSN_OTHER, PUGMARK_PROBE_STEPPED, 0},
	{"push %ax", 2, {0x66, 0x50}, PUGMARK_INSN_OTHER, PUGMARK_PROBE_STEPPED, 0},
	{"push imm8", 2, {0x6a, 1}, PUGMARK_INSN_OTHER, PUGMARK_PROBE_STEPPED, 0},
	{"pop %rbx", 1, {0x5b}, PUGMARK_INSN_OTHER, PUGMARK_PROBE_STEPPED, 0},
	{"nop", 1, {0x90}, PUGMARK_INSN_OTHER, PUGMARK_PROBE_EMULATED, 0},
	{"xchg %ax,%ax", 2, {0x66, 0x90}, PUGMARK_INSN_OTHER, PUGMARK_PROBE_REFUSED, 0},
	{"xchg %rax,%r8", 2, {0x49, 0x90}, PUGMARK_INSN_OTHER, PUGMARK_PROBE_REFUSED, 0},
	{"xchg %eax,%r8d", 2, {0x41, 0x90}, PUGMARK_INSN_OTHER, PUGMARK_PROBE_REFUSED, 0},
	{"rep xchg %rax,%r8", 3, {0xf3, 0x49, 0x90}, PUGMARK_INSN_OTHER, PUGMARK_PROBE_REFUSED, 0},
	{"rex.WRXB 90", 2, {0x4f, 0x90}, PUGMARK_INSN_OTHER, PUGMARK_PROBE_REFUSED, 0},
	{"rex.W nop", 2, {0x48, 0x90}, PUGMARK_INSN_OTHER, PUGMARK_PROBE_EMULATED, 0},
	{"xchg %rax,%r9", 2, {0x49, 0x91}, PUGMARK_INSN_OTHER, PUGMARK_PROBE_STEPPED, 0},
	{"pause", 2, {0xf3, 0x90}, PUGMARK_INSN_OTHER, PUGMARK_PROBE_EMULATED, 0},
	{"nop of 4", 4, {0x0f, 0x1f, 0x40, 0}, PUGMARK_INSN_OTHER, PUGMARK_PROBE_EMULATED, 0},
	{"nop of 5", 5, {0x0f, 0x1f, 0x44, 0, 0}, PUGMARK_INSN_OTHER, PUGMARK_PROBE_NOP5, 0},
	{"nop of 5, prefixed",
	 5,
	 {0x66, 0x0f, 0x1f, 0x40, 0},
	 PUGMARK_INSN_OTHER,
	 PUGMARK_PROBE_NOP5,
	 0},
	{"nop of 6",
	 6,
	 {0x66, 0x0f, 0x1f, 0x44, 0, 0},
	 PUGMARK_INSN_OTHER,
	 PUGMARK_PROBE_EMULATED,
	 0},
	{"cs nop of 10",
	 10,
	 {0x66, 0x2e, 0x0f, 0x1f, 0x84},
	 PUGMARK_INSN_OTHER,
	 PUGMARK_PROBE_REFUSED,
	 0},
	{"endbr64", 4, {0xf3, 0x0f, 0x1e, 0xfa}, PUGMARK_INSN_OTHER, PUGMARK_PROBE_STEPPED, 0},
	{"leave", 1, {0xc9}, PUGMARK_INSN_OTHER, PUGMARK_PROBE_STEPPED, 0},
	{"lock incl (%rax)", 3, {0xf0, 0xff, 0x00}, PUGMARK_INSN_OTHER, PUGMARK_PROBE_REFUSED, 0},
	{"mov %fs:0x28,%rax",
	 9,
	 {0x64, 0x48, 0x8b, 4, 0x25, 0x28},
	 PUGMARK_INSN_OTHER,
	 PUGMARK_PROBE_STEPPED,
	 0},
	{"mov %cs:(%rax),%eax", 3, {0x2e, 0x8b, 0}, PUGMARK_INSN_OTHER, PUGMARK_PROBE_REFUSED, 0},
	{"rep movsb", 2, {0xf3, 0xa4}, PUGMARK_INSN_OTHER, PUGMARK_PROBE_REFUSED, 0},
	{"vmovdqa", 4, {0xc5, 0xfd, 0x6f, 0xc1}, PUGMARK_INSN_OTHER, PUGMARK_PROBE_REFUSED, 0},
	{"vpxor", 4, {0xc5, 0xf1, 0xef, 0xc9}, PUGMARK_INSN_OTHER, PUGMARK_PROBE_REFUSED, 0},
	{"vpshufd, whose opcode is a short jo's",
	 5,
	 {0xc5, 0xf9, 0x70, 0xc1, 1},
	 PUGMARK_INSN_OTHER,
	 PUGMARK_PROBE_REFUSED,
	 0},
	{"vpsubsb, whose opcode is a call's",
	 4,
	 {0xc5, 0xf1, 0xe8, 0xc9},
	 PUGMARK_INSN_OTHER,
	 PUGMARK_PROBE_REFUSED,
	 0},
	{"vaddps", 4, {0xc5, 0xf4, 0x58, 0xc2}, PUGMARK_INSN_OTHER, PUGMARK_PROBE_STEPPED, 0},
	{"mulx with ds",
	 6,
	 {0x3e, 0xc4, 0xe2, 0xfb, 0xf6, 0xc1},
	 PUGMARK_INSN_OTHER,
	 PUGMARK_PROBE_REFUSED,
	 0},
	{"fldz", 2, {0xd9, 0xee}, PUGMARK_INSN_OTHER, PUGMARK_PROBE_REFUSED, 0},
	{"movaps", 3, {0x0f, 0x28, 0xc1}, PUGMARK_INSN_OTHER, PUGMARK_PROBE_STEPPED, 0},
	{"in", 1, {0xec}, PUGMARK_INSN_OTHER, PUGMARK_PROBE_REFUSED, 0},
	{"cpuid", 2, {0x0f, 0xa2}, PUGMARK_INSN_OTHER, PUGMARK_PROBE_STEPPED, 0},
};

enum { N_ROWS = sizeof(rows) / sizeof(*rows) };

static void every_row_decodes_to_its_kind_class_and_target(void **state)
{
	(void)state;
	struct decoder decoder;
	decoder_init(&decoder);
	for (size_t i = 0; i < N_ROWS; i++) {
		const struct row *row = &rows[i];
		struct pugmark_insn insn = {0};
		struct decoded_refs refs;
		if (!decode_insn(&decoder, row->bytes, sizeof(row->bytes), ADDR, &insn, &refs) ||
		    insn.len != row->len || insn.kind != row->kind || insn.probe != row->probe)
			fail_msg("%s: length %d, kind %d, class %d", row->text, insn.len, insn.kind,
				 insn.probe);
		uint64_t target = 0;
		if (insn.kind == PUGMARK_INSN_CALL_IND || insn.kind == PUGMARK_INSN_JMP_IND)
			target = decode_slot(&insn, row->bytes, ADDR);
		else if (insn.kind == PUGMARK_INSN_CALL || insn_is_direct_jump(&insn))
			target = decode_target(&insn, row->bytes, ADDR);
		if (target != row->target)
			fail_msg("%s: target %llx", row->text, (unsigned long long)target);
		if (insn.kind == PUGMARK_INSN_JCC)
			assert_int_equal(insn.cond, row->bytes[row->len == 6   ? 1
							       : row->len == 3 ? 1
									       : 0] &
							    15);
	}
}

static void addresses_in_operands_are_found(void **state)
{
	static const struct {
		uint8_t bytes[15];
		uint64_t place, pointer;
	} named[] = {
		{{0x48, 0x8d, 0x05, 0x10}, 0, ADDR + 0x17}, /* lea 0x10(%rip),%rax */
		{{0x48, 0x8b, 0x05, 0x10}, ADDR + 0x17, 0}, /* mov 0x10(%rip),%rax */
		{{0xff, 0x24, 0xc5, 0, 0x10}, 0x1000, 0},   /* jmp *0x1000(,%rax,8) */
		{{0xbf, 0, 0x20}, 0, 0x2000},		    /* mov $0x2000,%edi */
		{{0x48, 0xc7, 0x05, 0x10, 0, 0, 0, 0, 0x20}, ADDR + 0x1b, 0x2000}, /* movq */
		{{0xe8, 0x10}, 0, 0},						   /* call */
		{{0x83, 0xf8, 5}, 0, 0},					   /* cmp $5,%eax */
	};
	(void)state;
	struct decoder decoder;
	decoder_init(&decoder);
	for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++) {
		struct pugmark_insn insn;
		struct decoded_refs refs;
		assert_true(decode_insn(&decoder, named[i].bytes, 15, ADDR, &insn, &refs));
		assert_int_equal(refs.place, named[i].place);
		assert_int_equal(refs.pointer, named[i].pointer);
	}
}

static void bytes_that_are_no_instruction_are_refused(void **state)
{
	(void)state;
	static const uint8_t bad[][2] = {{0x06, 0}, {0x0f, 0xff}, {0xe8, 0}, {0x48, 0x06}};
	struct decoder decoder;
	decoder_init(&decoder);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct pugmark_insn insn;
		struct decoded_refs refs;
		size_t len = bad[i][0] == 0x06 ? 1 : 2;
		assert_false(decode_insn(&decoder, bad[i], len, ADDR, &insn, &refs));
	}
}

/* Attaches a probe that counts to the offset of @path; returns 0 or -errno. */
static int probe_kernel(int type, const char *path, uint64_t offset)
{
	struct perf_event_attr attr = {
		.type = (uint32_t)type,
		.size = sizeof(attr),
		.config1 = (uint64_t)(uintptr_t)path,
		.config2 = offset,
		.sample_period = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, getpid(), -1, -1, 0);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static int uprobe_type(void)
{
	int type = -1;
	FILE *file = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
	if (file && fscanf(file, "%d", &type) != 1)
		type = -1;
	if (file)
		fclose(file);
	return type;
}

static void what_the_kernel_refuses_is_refused(void **state)
{
	(void)state;
	enum { STEP = 32, REFUSED_BY_KERNEL = 524 };
	char path[] = "/tmp/pugmark-probe-XXXXXX";
	int type = uprobe_type(), fd = mkstemp(path), n_refused = 0;
	assert_true(fd >= 0);
	for (size_t i = 0; i < N_ROWS; i++)
		assert_int_equal(pwrite(fd, rows[i].bytes, 15, (off_t)(i * STEP)), 15);
	assert_int_equal(ftruncate(fd, 8192), 0);
	const volatile char *map = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_true(map != MAP_FAILED && map[0] + map[4096] >= -256);
	int err = type < 0 ? -ENOENT : probe_kernel(type, path, 0);
	if (err) {
		unlink(path);
		print_message("SKIP: no uprobes here: %s\n", strerror(-err));
		skip();
	}
	for (size_t i = 0; i < N_ROWS; i++) {
		err = probe_kernel(type, path, i * STEP);
		n_refused += err == -REFUSED_BY_KERNEL;
		if (err == -REFUSED_BY_KERNEL && rows[i].probe != PUGMARK_PROBE_REFUSED)
			print_error("%s: the kernel refuses it\n", rows[i].text), fail();
	}
	munmap((void *)(uintptr_t)map, 8192);
	close(fd);
	unlink(path);
	print_message("the kernel refuses %d of %d\n", n_refused, (int)N_ROWS);
	assert_true(n_refused > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_decodes_to_its_kind_class_and_target),
		cmocka_unit_test(addresses_in_operands_are_found),
		cmocka_unit_test(bytes_that_are_no_instruction_are_refused),
		cmocka_unit_test(what_the_kernel_refuses_is_refused),
	};
	return cmocka_run_group_tests_name("single instructions", tests, NULL, NULL);
}

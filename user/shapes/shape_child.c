// SPDX-License-Identifier: LGPL-2.1-or-later
/* shape_child.c: see shape_lab.h. One signal handler does all: it keeps the state that the signal
 * found as the outcome of the current trial, writes the state in which the next trial begins into
 * the signal's frame, and returns into it. While a trial runs fs is no thread pointer, so the
 * handler calls nothing of the C library. */
#include "user/shapes/shape_lab.h"

#include <asm/prctl.h>
#include <cpuid.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define BARE __attribute__((no_sanitize("address", "undefined"), no_stack_protector, noinline))

enum { STACK_BYTES = 1 << 17, MOST_XSAVE = 16384, LEGACY_BYTES = 512, HEADER_AT = 512 };
enum { FLAG_TF = 0x100, FLAG_RF = 0x10000, FLAGS_RANDOM = 0xcd5, FLAGS_FIXED = 0x202 };
enum { COMPONENTS = 10 };

/* The child's state. It has only one thread, and a handler gets no argument of ours. */
static struct {
	struct lab *lab;
	unsigned long thread_pointer, gs;
	uint32_t at[COMPONENTS], bytes[COMPONENTS]; /* in the xsave area */
	uint64_t features;			    /* that it holds */
	uint32_t xsave_bytes;
	bool began;
	uint8_t plain[MOST_XSAVE]; /* the area as it was at the beginning */
	uint64_t window[LAB_WINDOW_BYTES / 8];
} child;

static BARE long raw_call(long number, long a, long b)
{
	long result;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(number), "D"(a), "S"(b)
			 : "rcx", "r11", "memory");
	return result;
}

static BARE void copy(void *to, const void *from, size_t n)
{
	__asm__ volatile("cld; rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory", "cc");
}

static BARE uint64_t next_random(uint64_t *seed)
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static BARE uint64_t hash(uint64_t value, const uint8_t *bytes, uint32_t n)
{
	for (uint32_t i = 0; i + 8 <= n; i += 8) {
		uint64_t word;
		__builtin_memcpy(&word, bytes + i, 8);
		value = (value ^ word) * 0x9e3779b97f4a7c15;
		value ^= value >> 32;
	}
	return value;
}

/* Of component @c; one that is in its initial state may stand there in any form. */
static BARE uint64_t component(const uint8_t *area, unsigned c)
{
	uint64_t present;
	__builtin_memcpy(&present, area + HEADER_AT, 8);
	return present >> c & 1 ? hash(c, area + child.at[c], child.bytes[c]) : 0;
}

/* Whether all is zero: the initial state, in whatever form it is saved. */
static BARE bool is_zero(const uint8_t *bytes, uint32_t n)
{
	uint8_t all = 0;
	for (uint32_t i = 0; i < n; i++)
		all |= bytes[i];
	return !all;
}

static BARE uint64_t component_or_zero(const uint8_t *area, unsigned c)
{
	if (!(child.features >> c & 1) || is_zero(area + child.at[c], child.bytes[c]))
		return 0;
	return component(area, c);
}

static BARE void keep_vectors(struct lab_outcome *o, const uint8_t *area)
{
	uint32_t mxcsr;
	__builtin_memcpy(&mxcsr, area + 24, 4);
	o->part[PART_X87] =
		hash(0, area + 32, 128) ^ (area[0] | area[1] << 8 | area[2] << 16 |
					   (uint64_t)area[3] << 24 | (uint64_t)area[4] << 32);
	o->part[PART_X87_POINTERS] = hash(area[6] | area[7] << 8, area + 8, 16);
	o->part[PART_MXCSR] = mxcsr;
	o->part[PART_XMM] = hash(0, area + 160, 256);
	o->part[PART_YMM] = component_or_zero(area, 2);
	o->part[PART_MASKS] = component_or_zero(area, 5);
	o->part[PART_ZMM] = component_or_zero(area, 6) * 3 + component_or_zero(area, 7);
	o->part[PART_OTHER] = component_or_zero(area, 9);
}

static BARE void keep(struct lab_outcome *o, const struct lab_trial *trial, int number,
		      const siginfo_t *info, const ucontext_t *uc)
{
	const greg_t *g = uc->uc_mcontext.gregs;
	unsigned long fs = 0, gs = 0;
	for (int i = 0; i < PART_REGISTERS; i++)
		o->part[i] = (uint64_t)g[i];
	raw_call(SYS_arch_prctl, ARCH_GET_FS, (long)&fs);
	raw_call(SYS_arch_prctl, ARCH_GET_GS, (long)&gs);
	o->part[PART_RIP] = (uint64_t)g[REG_RIP];
	o->part[PART_FLAGS] = (uint64_t)g[REG_EFL] & ~(uint64_t)FLAG_RF;
	/* Of a trap by the trap flag only that it comes, and where, is compared. */
	bool trapped = trial->trap && number == SIGTRAP;
	o->part[PART_SIGNAL] = (uint64_t)number << 32 | (trapped ? 0 : (uint32_t)info->si_code);
	o->part[PART_FAULT] = trapped ? 0 : (uint64_t)g[REG_ERR] << 48 ^ (uint64_t)info->si_addr;
	o->part[PART_TRAP_NUMBER] = trapped ? 0 : (uint64_t)g[REG_TRAPNO];
	o->part[PART_SEGMENTS] = fs ^ gs << 20 ^ (uint64_t)g[REG_CSGSFS] << 40;
	/* What a call that faults at its target leaves below the stack pointer does not count. */
	uint64_t sp = (uint64_t)g[REG_RSP];
	if ((uint64_t)g[REG_RIP] == trial->ip && sp >= LAB_WINDOW + 8 &&
	    sp <= LAB_WINDOW + LAB_WINDOW_BYTES)
		copy((void *)(uintptr_t)(sp - 8), child.window, 8);
	o->part[PART_MEMORY] = hash(0, (const uint8_t *)(uintptr_t)LAB_WINDOW, LAB_WINDOW_BYTES);
	keep_vectors(o, (const uint8_t *)uc->uc_mcontext.fpregs);
}

static BARE void fill(uint8_t *bytes, uint32_t n, uint64_t *seed, bool small)
{
	for (uint32_t i = 0; i + 8 <= n; i += 8) {
		uint64_t word = next_random(seed);
		if (small)
			word &= 0x0000003800000038;
		__builtin_memcpy(bytes + i, &word, 8);
	}
}

static BARE void set_vectors(uint8_t *area, const struct lab_trial *trial, uint64_t *seed)
{
	uint64_t present;
	copy(area, child.plain, child.xsave_bytes);
	area[2] = area[3] = 0;
	area[4] = next_random(seed) & 1 ? 0xff : 0x0f; /* which x87 registers hold a number */
	for (int i = 0; i < 8; i++) {
		uint64_t mantissa = next_random(seed) | 1ull << 63;
		uint16_t exponent = 0x3ff0 + (next_random(seed) & 31);
		__builtin_memcpy(area + 32 + 16 * i, &mantissa, 8);
		__builtin_memcpy(area + 40 + 16 * i, &exponent, 2);
	}
	fill(area + 160, 256, seed, trial->small_vectors);
	for (unsigned c = 2; c < 8; c++)
		if (child.features >> c & 1 && c != 3 && c != 4)
			fill(area + child.at[c], child.bytes[c], seed,
			     trial->small_vectors && c != 5);
	__builtin_memcpy(&present, area + HEADER_AT, 8);
	present |= child.features & 0xe7;
	__builtin_memcpy(area + HEADER_AT, &present, 8);
}

static BARE void begin(const struct lab_trial *trial, ucontext_t *uc)
{
	greg_t *g = uc->uc_mcontext.gregs;
	uint64_t seed = trial->seed;
	copy((void *)(uintptr_t)LAB_WINDOW, child.window, LAB_WINDOW_BYTES);
	set_vectors((uint8_t *)uc->uc_mcontext.fpregs, trial, &seed);
	for (int i = 0; i < PART_REGISTERS; i++) {
		uint64_t word = next_random(&seed);
		/* 64-byte aligned, so that aligned vectors are told as well. */
		uint64_t middle = LAB_WINDOW + 6144 + (word & 4032 & -64);
		g[i] = (greg_t)(trial->small_registers >> i & 1 ? word & 7 : middle);
	}
	g[REG_RSP] = LAB_WINDOW + 8192;
	g[REG_EFL] = (greg_t)(FLAGS_FIXED | (next_random(&seed) & FLAGS_RANDOM) |
			      (trial->trap ? FLAG_TF : 0));
	g[REG_RIP] = (greg_t)trial->ip;
	raw_call(SYS_arch_prctl, ARCH_SET_GS, LAB_SEGMENT_BASE);
	raw_call(SYS_arch_prctl, ARCH_SET_FS, LAB_SEGMENT_BASE);
}

static BARE void on_signal(int number, siginfo_t *info, void *context)
{
	struct lab *lab = child.lab;
	ucontext_t *uc = context;
	uint32_t i = lab->done;
	if (child.began) {
		keep(&lab->outcomes[i], &lab->trials[i], number, info, uc);
		raw_call(SYS_arch_prctl, ARCH_SET_FS, (long)child.thread_pointer);
		raw_call(SYS_arch_prctl, ARCH_SET_GS, (long)child.gs);
		lab->done = ++i;
	} else {
		copy(child.plain, uc->uc_mcontext.fpregs, child.xsave_bytes);
	}
	child.began = true;
	if (i >= lab->n)
		raw_call(SYS_exit_group, 0, 0);
	begin(&lab->trials[i], uc);
}

static void look_at_xsave(void)
{
	unsigned a, b, c, d;
	child.xsave_bytes = LEGACY_BYTES;
	__cpuid(1, a, b, c, d);
	if (!(c & bit_OSXSAVE))
		return;
	__asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
	child.features = a & ((1 << COMPONENTS) - 1);
	uint32_t end = LEGACY_BYTES + 64;
	for (unsigned i = 2; i < COMPONENTS; i++) {
		if (!(child.features >> i & 1))
			continue;
		__cpuid_count(0xd, i, child.bytes[i], child.at[i], c, d);
		if (child.at[i] + child.bytes[i] > MOST_XSAVE)
			child.features &= ~(1ull << i);
		else if (child.at[i] + child.bytes[i] > end)
			end = child.at[i] + child.bytes[i];
	}
	child.xsave_bytes = end;
}

static void fill_window(void)
{
	uint64_t seed = 1;
	for (unsigned i = 0; i < LAB_WINDOW_BYTES / 8; i++) {
		uint64_t word = next_random(&seed);
		/* Most words are addresses that a jump or return may go to: of a `hlt`. */
		child.window[i] = i % 8 < 6 ? LAB_CODE + (word & 31) : word;
	}
}

_Noreturn void shape_child_run(struct lab *lab)
{
	static const int signals[] = {SIGSEGV, SIGILL, SIGBUS, SIGFPE, SIGTRAP, SIGSYS};
	struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
	stack_t stack = {.ss_size = STACK_BYTES};
	child.lab = lab;
	look_at_xsave();
	fill_window();
	raw_call(SYS_arch_prctl, ARCH_GET_FS, (long)&child.thread_pointer);
	raw_call(SYS_arch_prctl, ARCH_GET_GS, (long)&child.gs);
	stack.ss_sp =
		mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *window = mmap((void *)(uintptr_t)LAB_WINDOW, LAB_WINDOW_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (stack.ss_sp == MAP_FAILED || window != (void *)(uintptr_t)LAB_WINDOW ||
	    sigaltstack(&stack, NULL))
		_exit(2);
	action.sa_sigaction = on_signal;
	for (unsigned i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &action, NULL);
	__asm__ volatile("hlt");
	_exit(2);
}

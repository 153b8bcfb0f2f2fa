// SPDX-License-Identifier: LGPL-2.1-or-later
/* processor.c: see processor.h. Two pages: one is written with
 *
 *   save what the caller keeps; xrstor; flags; general registers; the instruction;
 *   general registers; flags; xsave; restore; ret
 *
 * all by addresses relative to rip, so that no register is needed, and the other is the state. */
#include "tests/support/processor.h"

#include <cpuid.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { CODE_BYTES = 4096, RSP = 4, STANDARD_MXCSR = 0x1f80 };

struct processor {
	uint8_t *code; /* the state is behind it */
	size_t n;
	struct processor_wide wide;
};

enum { X87_TO_AVX = 7, AVX512 = 0xe0, MASKS = 5, TOPS = 6, MORE = 7 };

static sigjmp_buf fault;

static void on_fault(int sig)
{
	siglongjmp(fault, sig);
}

struct processor_state *processor_state(struct processor *p)
{
	return (struct processor_state *)(p->code + CODE_BYTES);
}

struct processor_wide processor_wide(const struct processor *p)
{
	return p->wide;
}

/* Where the component is (CPUID, leaf 0xd). */
static size_t component(unsigned number)
{
	unsigned a, b = 0, c, d;
	__get_cpuid_count(0xd, number, &a, &b, &c, &d);
	return b;
}

static void look_for_avx512(struct processor_wide *wide)
{
	uint32_t low, high;
	__asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	wide->masks = component(MASKS);
	wide->tops = component(TOPS);
	wide->more = component(MORE);
	wide->there = (low & AVX512) == AVX512 && wide->more + 16 * 64 <= PROCESSOR_XSAVE;
}

struct processor *processor_new(void)
{
	struct processor *p = calloc(1, sizeof(*p));
	if (!p || !__builtin_cpu_supports("avx2"))
		return NULL;
	size_t len = CODE_BYTES + sizeof(struct processor_state);
	p->code = mmap(NULL, len, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);
	if (p->code == MAP_FAILED) {
		free(p);
		return NULL;
	}
	look_for_avx512(&p->wide);
	return p;
}

void processor_free(struct processor *p)
{
	if (p)
		munmap(p->code, CODE_BYTES + sizeof(struct processor_state));
	free(p);
}

static void put(struct processor *p, const void *bytes, size_t n)
{
	memcpy(p->code + p->n, bytes, n);
	p->n += n;
}
#define PUT(p, ...) put(p, (const uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}))

/* Behind opcode bytes: ModRM with @reg and the state's byte @off relative to rip. */
static void put_state(struct processor *p, unsigned reg, size_t off)
{
	PUT(p, (uint8_t)(5 | (reg & 7) << 3));
	int32_t distance = (int32_t)(CODE_BYTES + off - (p->n + 4));
	put(p, &distance, 4);
}

/* mov between register @reg and the state: 0x8b loads, 0x89 stores. */
static void put_move(struct processor *p, uint8_t opcode, unsigned reg, size_t off)
{
	PUT(p, (uint8_t)(0x48 | (reg > 7) << 2), opcode);
	put_state(p, reg, off);
}

#define STATE(field) offsetof(struct processor_state, field)

static uint8_t states(const struct processor *p)
{
	return X87_TO_AVX | (p->wide.there ? AVX512 : 0);
}

/* eax and edx are of the host here. */
static void put_extended(struct processor *p, unsigned ext)
{
	PUT(p, 0xb8, states(p), 0, 0, 0, 0x31, 0xd2); /* mov eax, states; xor edx, edx */
	PUT(p, 0x48, 0x0f, 0xae);		      /* xrstor64 /5, xsave64 /4 */
	put_state(p, ext, STATE(xsave));
}

static void write_code(struct processor *p, const uint8_t *insn, size_t len)
{
	p->n = 0;
	PUT(p, 0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57); /* push rbx ... r15 */
	put_move(p, 0x89, RSP, STATE(host_rsp));
	put_extended(p, 5);
	PUT(p, 0xff);
	put_state(p, 6, STATE(rflags)); /* push */
	PUT(p, 0x9d);			/* popfq */
	for (unsigned i = 0; i < 16; i++)
		if (i != RSP)
			put_move(p, 0x8b, i, STATE(gpr) + 8 * i);
	put(p, insn, len);
	for (unsigned i = 0; i < 16; i++)
		if (i != RSP)
			put_move(p, 0x89, i, STATE(gpr) + 8 * i);
	PUT(p, 0x9c, 0x8f); /* pushfq; pop */
	put_state(p, 0, STATE(rflags));
	put_extended(p, 4);
	PUT(p, 0xc5, 0xf8, 0x77, 0xdb, 0xe3); /* vzeroupper; fninit */
	put_move(p, 0x8b, RSP, STATE(host_rsp));
	PUT(p, 0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b, 0xfc, 0xc3);
}

bool processor_run(struct processor *p, const uint8_t *insn, size_t len)
{
	static const int signals[] = {SIGILL, SIGSEGV, SIGFPE, SIGBUS, SIGTRAP};
	struct sigaction was[5], act = {.sa_handler = on_fault};
	struct processor_state *s = processor_state(p);
	uint32_t mxcsr = STANDARD_MXCSR;
	const uint64_t in_use[2] = {states(p), 0};
	void (*run)(void);
	memcpy(s->xsave + 512, in_use, sizeof(in_use));
	write_code(p, insn, len);
	memcpy(&run, &p->code, sizeof(run));
	for (int i = 0; i < 5; i++)
		sigaction(signals[i], &act, &was[i]);
	bool fine = !sigsetjmp(fault, 1);
	if (fine)
		run();
	__asm__ volatile("ldmxcsr %0\n\tfninit\n\tcld" : : "m"(mxcsr));
	for (int i = 0; i < 5; i++)
		sigaction(signals[i], &was[i], NULL);
	return fine;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_patch_nested.c: claims about trampolines that a signal interrupts. A trampoline is executed
 * step by step; behind each of its instructions others are executed to their end, as by a handler,
 * before it goes on. Whatever state the thread's ring is in, no event is lost without being
 * counted, each chunk that is called full is whole, and no byte elsewhere has changed; and libgcc
 * unwinds from there, through the runtime and the trampoline, to the patched instruction with the
 * stack pointer that belongs to it.
 *
 * Steps end where signals are about to be blocked, since no handler comes there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ucontext.h>
#include <unwind.h>

#include "offline/patch/emit.h"
#include "offline/patch/layout.h"
#include "offline/patch/runtime.h"
#include "offline/patch/unwind.h"
#include "offline/plan/site_operand.h"

enum { SITES = 400, CHUNKS = 6, CODE = 4 << 20, STACK = 64 << 10, FILLER = 0x3fffff, LANE = 7 };

#define TRAP_FLAG 0x100

/* What the thread's ring is like when the trampoline is entered. */
enum ring_state {
	RING_ROOM,
	RING_LAST,  /* there is room for one more record, */
	RING_FULL,  /* or for none */
	RING_STAMP, /* a stamp is due */
	RING_LOSES, /* no chunk was free, but some are now */
	RING_EMPTY, /* as in a child of fork */
	N_RING_STATES
};

static struct {
	uint32_t sites[2]; /* of records of 12 and 20 bytes */
	struct patch_code code;
	struct patch_made made[SITES];
	uint64_t addrs[SITES]; /* of the patched instructions */
	uint8_t lens[SITES];
	struct patch_unwind unwind;
	uint8_t *memory, *stack, *shared, *full;
	struct patch_ring *rings;
} w;

static struct {
	gregset_t home, interrupted;
	uint32_t site, nested; /* what is executed, and by the handler */
	uint32_t at, steps, n_nested, left;
	bool in_handler, inside;
	uint32_t rare;
	uint32_t unwound;
} now;

/* libgcc's; no header declares them. */
void __register_frame(const void *frames);
void __deregister_frame(const void *frames);

static void enter(gregset_t r, uint32_t site, uint32_t level)
{
	for (int i = REG_R8; i <= REG_RCX; i++)
		r[i] = 0x1000 + i;
	r[REG_RSP] = (greg_t)w.stack + STACK / 4 * (2 + level);
	r[REG_RBP] = r[REG_RSP] + 512;
	r[REG_RIP] = w.code.addr + w.made[site].event;
	r[REG_EFL] = 0x202;
}

static void on_enter(int sig, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)sig, (void)info;
	memcpy(now.home, r, sizeof(gregset_t));
	enter(r, now.site, 0);
	r[REG_EFL] |= TRAP_FLAG;
}

/* The breakpoint at the end of a trampoline. */
static void leave(greg_t *r)
{
	if (!now.inside) {
		memcpy(r, now.home, sizeof(gregset_t));
	} else if (now.left) {
		now.left--;
		enter(r, now.nested, 1);
	} else {
		now.inside = false;
		memcpy(r, now.interrupted, sizeof(gregset_t));
	}
}

/* Notes whether one of the frames is that of the patched instruction. */
static _Unwind_Reason_Code look_at_frame(struct _Unwind_Context *frame, void *context)
{
	gregset_t entered;

	(void)context;
	enter(entered, now.site, 0);
	if (_Unwind_GetIP(frame) - w.addrs[now.site] <= w.lens[now.site] &&
	    _Unwind_GetCFA(frame) == (uint64_t)entered[REG_RSP])
		now.unwound++;
	return _URC_NO_REASON;
}

/* A breakpoint was executed; else it was a step. The place tells, since not every virtual machine
 * says in the signal which of both it was. */
static bool is_breakpoint(const uint8_t *behind)
{
	uint64_t off = behind - 1 - w.memory;

	return off == PATCH_CODE_START + pugmark_patch_rare || off == w.made[w.sites[0]].tail[0] ||
	       off == w.made[w.sites[1]].tail[0];
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	const uint8_t *code = (const uint8_t *)r[REG_RIP];

	(void)sig, (void)info;
	if (is_breakpoint(code)) {
		if ((uint64_t)r[REG_RIP] - 1 == w.code.runtime + pugmark_patch_rare)
			now.rare++;
		else
			leave(r);
		return;
	}
	if (++now.steps == now.at) {
		memcpy(now.interrupted, r, sizeof(gregset_t));
		now.interrupted[REG_EFL] &= ~TRAP_FLAG;
		now.inside = true;
		_Unwind_Backtrace(look_at_frame, NULL);
		now.left = now.n_nested - 1;
		enter(r, now.nested, 1);
	} else if (code[0] == 0x0f && code[1] == 0x05) {
		r[REG_EFL] &= ~TRAP_FLAG;
	}
}

static void *map(size_t bytes, int more)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE | more, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);

	assert_true(at != MAP_FAILED);
	return at;
}

static struct patch_chunk *chunk(uint32_t i)
{
	return (struct patch_chunk *)(w.shared + PATCH_CHUNK * (size_t)(i + 1));
}

static struct patch_ring *ring(void)
{
	return &w.rings[0];
}

/* Sites that need no memory but the stack. */
static uint32_t choose_sites(const struct pugmark_model *m, struct pugmark_plan_site *sites)
{
	uint32_t n = 0;

	for (uint32_t b = 0; b < m->n_blocks && n < SITES; b++) {
		uint64_t addr = m->text_addr + m->insns[m->blocks[b].insn].off;
		struct pugmark_cfa cfa = pugmark_model_cfa_at(m, addr);

		if (!m->blocks[b].n_insns ||
		    m->insns[m->blocks[b].insn].kind != PUGMARK_INSN_OTHER ||
		    cfa.reg == PUGMARK_CFA_UNKNOWN || cfa.offset > 256)
			continue;
		sites[n] = (struct pugmark_plan_site){.addr = addr,
						      .cfa_reg = cfa.reg,
						      .cfa_off = cfa.offset,
						      .capture = n & 1 ? PUGMARK_CAPTURE_RET : 0};
		n++;
	}
	return n;
}

static void emit(const struct pugmark_model *m, const struct pugmark_plan_site *sites,
		 const struct patch_placing *placing)
{
	uint64_t bias = (uint64_t)w.memory - (64 << 20) - m->text_addr;

	w.sites[0] = w.sites[1] = SITES;
	for (uint32_t i = 0; i < placing->n; i++) {
		const struct patch_place *p = &placing->places[i];
		size_t have;
		struct patch_spec spec = {
			.place = p,
			.index = i,
			.addr = p->addr + bias,
			.site = i,
			.probe_at = 255,
			.capture = sites[i].capture,
			.text = m->text_addr + bias,
			.text_bytes = m->text_end - m->text_addr,
		};

		if (p->form != PATCH_INSN)
			continue;
		spec.bytes = pugmark_model_bytes(m, p->addr, &have);
		spec.room = p->room ? pugmark_model_bytes(m, p->room, &have) : NULL;
		if (patch_emit(&w.code, &spec, &w.made[i]))
			continue;
		w.addrs[i] = spec.addr;
		w.lens[i] = p->code_len;
		w.sites[i & 1] = i;
	}
	assert_true(w.sites[0] != SITES && w.sites[1] != SITES);
	assert_int_equal(patch_unwind_append(&w.code, placing->places, bias, &w.unwind), 0);
	/* libgcc looks at what is there, where it knows no more. */
	assert_true(mmap((void *)((m->text_addr + bias) & ~4095ull), 32 << 20, PROT_READ,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != MAP_FAILED);
}

static void make_code(void)
{
	struct patch_header header = {.magic = PATCH_MAGIC};
	uint8_t start[PATCH_CODE_START] = {0};

	header.chunks_most = CHUNKS;
	header.rings = (uint64_t)w.rings;
	header.shared = (uint64_t)w.shared;
	header.local = (uint64_t)map(4096, 0);
	memcpy(start, &header, sizeof(header));
	w.code.addr = (uint64_t)w.memory;
	w.code.runtime = w.code.addr + PATCH_CODE_START;
	patch_code_append(&w.code, start, sizeof(start), 1);
	patch_code_append(&w.code, pugmark_patch_runtime, pugmark_patch_runtime_bytes, 1);
}

/* A chunk without room, but for the tail. */
static void make_full(void)
{
	uint32_t head = PATCH_HEAD_SET | FILLER;

	for (uint32_t off = PATCH_CHUNK_HEADER; off < PATCH_FILLED; off += 12)
		memcpy(w.full + off, &head, 4);
}

static int make_world(void **state)
{
	static struct pugmark_plan_site sites[SITES];
	static uint8_t alternative[1 << 16];
	struct sigaction on = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
	stack_t stack = {.ss_sp = alternative, .ss_size = sizeof(alternative)};
	struct patch_placing placing = {0};
	struct pugmark_model *model;
	struct pugmark_diag diag;

	(void)state;
	assert_int_equal(sigaltstack(&stack, NULL), 0);
	on.sa_sigaction = on_enter;
	sigaction(SIGUSR1, &on, NULL);
	on.sa_sigaction = on_trap;
	sigaction(SIGTRAP, &on, NULL);
	w.memory = map(CODE, PROT_EXEC);
	w.stack = map(STACK, 0);
	w.rings = map(PATCH_RINGS * PATCH_RING_BYTES, 0);
	w.shared = map(PATCH_CHUNK * (CHUNKS + 1), 0);
	w.full = map(PATCH_CHUNK, 0);
	assert_int_equal(pugmark_model_open("/proc/self/exe", &model, &diag), 0);
	uint32_t n = choose_sites(model, sites);
	assert_int_equal(patch_placing_find(model, sites, n, &placing), 0);
	make_code();
	emit(model, sites, &placing);
	assert_int_equal(w.code.err, 0);
	assert_true(w.code.len < CODE);
	memcpy(w.memory, w.code.bytes, w.code.len);
	for (int k = 0; k < 2; k++)
		w.memory[w.made[w.sites[k]].tail[0]] = 0xcc;
	w.memory[PATCH_CODE_START + pugmark_patch_rare] = 0xcc;
	__register_frame(w.memory + w.unwind.frames);
	make_full();
	patch_placing_deinit(&placing);
	pugmark_model_free(model);
	return 0;
}

static int end_world(void **state)
{
	(void)state;
	__deregister_frame(w.memory + w.unwind.frames);
	patch_code_deinit(&w.code);
	return 0;
}

/* The records of chunk @i: up to the first that is not there. Returns where that is. */
static uint32_t walk(uint32_t i, uint32_t *counts)
{
	uint32_t off = PATCH_CHUNK_HEADER, head;

	while (off < PATCH_CHUNK) {
		memcpy(&head, (const uint8_t *)chunk(i) + off, 4);
		if (!head)
			break;
		for (int k = 0; k < 2; k++)
			counts[k] += !(head & PATCH_HEAD_STAMP) &&
				     (head & PATCH_HEAD_SITE) == w.sites[k];
		off += 12 + (head & PATCH_HEAD_RET ? 8 : 0) + (head & PATCH_HEAD_TARGET ? 8 : 0);
	}
	return off;
}

/* The thread holds chunk @own, which has room for @room bytes before it is full. */
static void set_chunk(uint32_t own, uint32_t room)
{
	/* The last of the records before: there are none where the chunk is full without. */
	uint32_t off = PATCH_CHUNK_HEADER + (PATCH_FILLED - PATCH_CHUNK_HEADER + 11) / 12 * 12;

	off -= room;
	memcpy((uint8_t *)chunk(own) + PATCH_CHUNK_HEADER, w.full + PATCH_CHUNK_HEADER,
	       off - PATCH_CHUNK_HEADER);
	*chunk(own) = (struct patch_chunk){.state = PATCH_TAKEN, .lane = LANE, .serial = 1};
	*ring() = (struct patch_ring){.next = (uint64_t)chunk(own) + off,
				      .end = (uint64_t)chunk(own) + PATCH_FILLED,
				      .chunk = (uint64_t)chunk(own),
				      .lane = LANE,
				      .serial = 1};
}

static void set_up(enum ring_state state, uint32_t own)
{
	struct patch_shared *shared = (struct patch_shared *)w.shared;

	memset(w.shared, 0, PATCH_CHUNK * (CHUNKS + 1));
	*shared = (struct patch_shared){
		.n_lanes = LANE, .n_chunks = CHUNKS, .stamp_bytes = PATCH_STAMP_BYTES};
	memset(ring(), 0, sizeof(*ring()));
	if (state != RING_EMPTY)
		set_chunk(own, state == RING_LAST			   ? 12
			       : state == RING_FULL || state == RING_LOSES ? 0
									   : 120000);
	if (state == RING_STAMP)
		ring()->end = ring()->next;
	__asm__ volatile("mov %0, %%fs:0x278" ::"r"(ring()));
}

/* An event finds no chunk; then there are some. */
static void lose_one(void)
{
	bool others[CHUNKS];

	for (uint32_t i = 0; i < CHUNKS; i++) {
		others[i] = chunk(i)->state == PATCH_FREE;
		if (others[i])
			chunk(i)->state = PATCH_TAKEN;
	}
	now.site = w.sites[0];
	raise(SIGUSR1);
	assert_int_equal(ring()->lost, 1);
	ring()->lost = 0;
	for (uint32_t i = 0; i < CHUNKS; i++)
		if (others[i])
			chunk(i)->state = PATCH_FREE;
	((struct patch_shared *)w.shared)->full = 0;
}

static void check(uint32_t want[2])
{
	uint32_t counts[2] = {0};

	for (uint32_t i = 0; i < CHUNKS; i++) {
		uint32_t end = walk(i, counts);

		if (chunk(i)->state == PATCH_FREE) {
			assert_true(end == PATCH_CHUNK_HEADER && !chunk(i)->lane);
			continue;
		}
		assert_true(chunk(i)->state == PATCH_TAKEN || chunk(i)->state == PATCH_FULL);
		assert_true(chunk(i)->lane == ring()->lane);
		if (chunk(i)->state == PATCH_FULL)
			assert_true(end >= PATCH_FILLED && end == chunk(i)->closed);
		else
			assert_true((uint64_t)chunk(i) == ring()->chunk &&
				    ring()->next == (uint64_t)chunk(i) + end);
	}
	for (int k = 0; k < 2; k++)
		assert_true(counts[k] <= want[k]);
	assert_int_equal(counts[0] + counts[1] + now.rare + ring()->lost, want[0] + want[1]);
}

/* Executes one of the trampolines, and another @n times behind its instruction @at. False: it has
 * fewer. */
static bool run(enum ring_state state, uint32_t own, uint32_t first, uint32_t n, uint32_t at)
{
	uint32_t want[2] = {0};

	set_up(state, own);
	memset(&now, 0, sizeof(now));
	if (state == RING_LOSES)
		lose_one();
	memset(&now, 0, sizeof(now));
	now.site = w.sites[first];
	now.nested = w.sites[!first];
	now.n_nested = n;
	now.at = at;
	raise(SIGUSR1);
	if (now.steps < at)
		return false;
	assert_int_equal(now.unwound, 1);
	want[first] = 1;
	want[!first] = n;
	check(want);
	return true;
}

static void nothing_is_lost_that_is_interrupted(void **state)
{
	uint32_t ran = 0;

	(void)state;
	for (enum ring_state s = RING_ROOM; s < N_RING_STATES; s++)
		for (uint32_t own = 0; own < CHUNKS; own += CHUNKS - 1)
			for (uint32_t k = 0; k < 4; k++)
				for (uint32_t at = 1; run(s, own, k & 1, 1 + 2 * (k >> 1), at);
				     at++)
					ran++;
	__asm__ volatile("mov %0, %%fs:0x278" ::"r"(0ul));
	print_message("%u places to be interrupted\n", ran);
	assert_true(ran > N_RING_STATES * 8 * 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_is_lost_that_is_interrupted, make_world,
						end_world),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

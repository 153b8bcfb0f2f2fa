// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_patch.c: claims about trampolines, by executing them: from random registers, flags and
 * memory, a thread comes out of each with all that is live as it was, nothing changed from its red
 * zone upwards, and the record that was asked for in its ring; by the hot path, by the way to a new
 * chunk, and by the way to the probe. The instructions that are patched are those of this program.
 *
 * A trampoline is entered and left by signals: SIGUSR1 brings the registers, and a breakpoint where
 * the patched instruction itself would come takes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ucontext.h>

#include "offline/patch/emit.h"
#include "offline/patch/layout.h"
#include "offline/patch/liveness.h"
#include "offline/patch/runtime.h"
#include "offline/plan/site_operand.h"
#include "tests/support/sanitized.h"

enum { SITES = 4000, STACK = 256 << 10, CHUNKS = 4, CODE = 32 << 20 };

/* By their number in the encoding. */
static const int greg_of[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
				REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
				REG_R12, REG_R13, REG_R14, REG_R15};

#define FLAGS 0x8d5 /* CF PF AF ZF SF OF */

struct world {
	struct pugmark_model *model;
	struct pugmark_plan_site sites[SITES];
	struct patch_placing placing;
	struct patch_code code;
	struct patch_made made[SITES];
	bool emitted[SITES];
	uint8_t *memory; /* what the code is copied to */
	uint64_t bias;	 /* of the program as it is taken to lie */
	uint8_t *stack, *before;
	struct patch_ring *rings;
	uint8_t *shared;
	uint64_t rng;
};

static struct world w;
static gregset_t enter, left;
static ucontext_t home;
static uint64_t trapped;

static uint64_t rnd(void)
{
	w.rng ^= w.rng << 13;
	w.rng ^= w.rng >> 7;
	w.rng ^= w.rng << 17;
	return w.rng;
}

static void on_enter(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	(void)sig, (void)info;
	memcpy(home.uc_mcontext.gregs, u->uc_mcontext.gregs, sizeof(gregset_t));
	for (int i = 0; i < 16; i++)
		u->uc_mcontext.gregs[greg_of[i]] = enter[greg_of[i]];
	u->uc_mcontext.gregs[REG_RIP] = enter[REG_RIP];
	u->uc_mcontext.gregs[REG_EFL] = enter[REG_EFL];
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	(void)sig, (void)info;
	memcpy(left, u->uc_mcontext.gregs, sizeof(gregset_t));
	trapped = left[REG_RIP] - 1;
	memcpy(u->uc_mcontext.gregs, home.uc_mcontext.gregs, sizeof(gregset_t));
}

/* A call of two bytes, alone in a block that is jumped to, which becomes a jump to an island. */
__asm__(".pushsection .text\n"
	"	.type	calls_shortly, @function\n"
	"calls_shortly:\n"
	"	.cfi_startproc\n"
	"	push	%rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	test	%edi, %edi\n"
	"	jne	2f\n"
	"1:	movabs	$0x123456789, %rbx\n"
	"	mov	%rbx, %rax\n"
	"	pop	%rbx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"2:\n"
	"short_call:\n"
	"	call	*%rdx\n"
	"	jmp	1b\n"
	"	.cfi_endproc\n"
	"	.size	calls_shortly, . - calls_shortly\n"
	".popsection\n");
extern const uint8_t short_call[];

static void *map(size_t bytes, int more)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE | more, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);

	assert_true(at != MAP_FAILED);
	return at;
}

static void set_capture(struct pugmark_plan_site *s, const struct pugmark_insn *insn)
{
	bool indirect = insn->kind == PUGMARK_INSN_CALL_IND || insn->kind == PUGMARK_INSN_JMP_IND;

	if (rnd() & 1)
		s->capture |= PUGMARK_CAPTURE_RET;
	if (rnd() % 4 == 0)
		s->capture |= PUGMARK_CAPTURE_RET | PUGMARK_CAPTURE_SNAPSHOT;
	if (s->cfa_reg == PUGMARK_CFA_UNKNOWN)
		s->capture = 0;
	if (insn->kind == PUGMARK_INSN_JCC && rnd() & 1)
		s->capture |= PUGMARK_CAPTURE_FLAGS;
	if (indirect && rnd() & 1)
		s->capture |= PUGMARK_CAPTURE_TARGET;
}

/* Sites of all kinds, wherever an instruction is long enough; and the short call. */
static uint32_t choose_sites(uint32_t shortly)
{
	const struct pugmark_model *m = w.model;
	uint32_t n = 0, step = m->n_insns / SITES / 3 + 1;

	for (uint32_t k = 0; k < m->n_blocks && n < SITES; k++) {
		uint32_t b = k ? k - (k <= shortly) : shortly;
		const struct pugmark_block *block = &m->blocks[b];
		uint32_t i = block->insn + (k ? rnd() % (block->n_insns + !block->n_insns) : 0);
		uint64_t addr = m->text_addr + m->insns[i].off;
		struct pugmark_cfa cfa = pugmark_model_cfa_at(m, addr);
		struct site_operand operand;

		if (!block->n_insns || (m->insns[i].kind == PUGMARK_INSN_OTHER && rnd() % step) ||
		    site_operand_at(m, addr, &operand))
			continue;
		struct pugmark_plan_site *s = &w.sites[n++];
		*s = (struct pugmark_plan_site){.addr = addr,
						.cfa_reg = cfa.reg,
						.cfa_off = cfa.offset,
						.operand = operand.target};
		set_capture(s, &m->insns[i]);
	}
	return n;
}

static int note_base(struct dl_phdr_info *info, size_t bytes, void *base)
{
	(void)bytes;
	*(uint64_t *)base = info->dlpi_addr;
	return 1;
}

static void emit_all(uint32_t n)
{
	struct patch_header header = {.magic = PATCH_MAGIC};
	uint8_t start[PATCH_CODE_START] = {0};
	uint64_t text_bytes = w.model->text_end - w.model->text_addr;
	uint8_t *returns = malloc(text_bytes / 8 + 9);

	assert_non_null(returns);
	memset(returns, 0xff, text_bytes / 8 + 9);
	w.memory = map(CODE, PROT_EXEC);
	w.rings = map(PATCH_RINGS * PATCH_RING_BYTES, 0);
	w.shared = map(PATCH_CHUNK * (CHUNKS + 1), 0);
	/* As a process with fewer rights may write it, which shares that. */
	((struct patch_shared *)w.shared)->n_chunks = 1 << 30;
	((struct patch_shared *)w.shared)->hint = CHUNKS + 7;
	header.chunks_most = CHUNKS;
	((struct patch_shared *)w.shared)->stamp_bytes = PATCH_CHUNK;
	header.rings = (uint64_t)w.rings;
	header.shared = (uint64_t)w.shared;
	header.local = (uint64_t)map(4096, 0);
	w.bias = (uint64_t)w.memory - (64 << 20) - w.model->text_addr;
	/* What indirect calls and jumps read lies there, as far as they name it. */
	assert_true(mmap((void *)(w.bias + (w.model->text_addr & ~4095ull)), 32 << 20, PROT_READ,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != MAP_FAILED);
	memcpy(start, &header, sizeof(header));
	w.code.addr = (uint64_t)w.memory;
	w.code.runtime = w.code.addr + PATCH_CODE_START;
	patch_code_append(&w.code, start, sizeof(start), 1);
	patch_code_append(&w.code, pugmark_patch_runtime, pugmark_patch_runtime_bytes, 1);
	uint32_t at = patch_code_append(&w.code, returns, text_bytes / 8 + 9, 8);
	free(returns);
	for (uint32_t i = 0; i < n; i++) {
		const struct patch_place *p = &w.placing.places[i];
		size_t have;

		if (!p->form)
			continue;
		struct patch_spec spec = {
			.place = p,
			.index = i,
			.bytes = pugmark_model_bytes(w.model, p->addr, &have),
			.room = p->room ? pugmark_model_bytes(w.model, p->room, &have) : NULL,
			.addr = p->addr + w.bias,
			.site = i,
			.probe_at = 255,
			.capture = w.sites[i].capture,
			.text = w.model->text_addr + w.bias,
			.text_bytes = text_bytes,
			.returns = w.code.addr + at,
		};
		int err = patch_emit(&w.code, &spec, &w.made[i]);
		assert_true(!err || err == -EINVAL);
		w.emitted[i] = !err;
	}
	assert_int_equal(w.code.err, 0);
	assert_true(w.code.len < CODE);
	memcpy(w.memory, w.code.bytes, w.code.len);
	for (uint32_t i = 0; i < n; i++)
		for (int k = 0; k < 2 && w.emitted[i]; k++)
			if (w.made[i].tail[k])
				w.memory[w.made[i].tail[k]] = 0xcc;
}

static int make_world(void **state)
{
	struct sigaction on = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
	static uint8_t alternative[1 << 16];
	stack_t stack = {.ss_sp = alternative, .ss_size = sizeof(alternative)};
	struct pugmark_diag diag;

	(void)state;
	w.rng = 0x1234567;
	assert_int_equal(sigaltstack(&stack, NULL), 0);
	on.sa_sigaction = on_enter;
	sigaction(SIGUSR1, &on, NULL);
	on.sa_sigaction = on_trap;
	sigaction(SIGTRAP, &on, NULL);
	assert_int_equal(pugmark_model_open("/proc/self/exe", &w.model, &diag), 0);
	uint64_t base = 0;
	dl_iterate_phdr(note_base, &base);
	uint32_t shortly = pugmark_model_block_at(w.model, (uint64_t)short_call - base);
	assert_true(shortly != PUGMARK_NONE);
	uint32_t n = choose_sites(shortly);
	assert_int_equal(patch_placing_find(w.model, w.sites, n, &w.placing), 0);
	/* Flags that are kept take the register by which some of these find their target. */
	for (uint32_t i = 0; i < n; i++)
		if (w.sites[i].capture & PUGMARK_CAPTURE_TARGET)
			w.placing.places[i].live |= LIVE_FLAGS;
	w.stack = map(STACK, 0);
	w.before = malloc(STACK);
	assert_non_null(w.before);
	for (size_t i = 0; i < STACK / 8; i++)
		((uint64_t *)w.stack)[i] = rnd();
	emit_all(n);
	return 0;
}

static int end_world(void **state)
{
	(void)state;
	patch_code_deinit(&w.code);
	patch_placing_deinit(&w.placing);
	pugmark_model_free(w.model);
	free(w.before);
	return 0;
}

static bool is_taken(uint32_t cond, uint64_t flags)
{
	bool cf = flags & 1, pf = flags >> 2 & 1, zf = flags >> 6 & 1, sf = flags >> 7 & 1;
	bool of = flags >> 11 & 1;
	bool holds[8] = {of, cf, zf, cf || zf, sf, pf, sf != of, zf || sf != of};

	return holds[cond >> 1] != (cond & 1);
}

/* How a trampoline is entered. */
enum way { HOT, STAMP, NEW_CHUNK, LOST, FOREIGN, N_WAYS };

static struct patch_ring *ring(void)
{
	struct patch_ring *r;

	__asm__ volatile("mov %%fs:0x278, %0" : "=r"(r)); /* another one after each event */
	return r;
}

static uint64_t return_of(const struct patch_place *p)
{
	return p->addr + p->code_len + w.bias;
}

/* Whether the trampoline does that, and nothing else before the event. */
static bool pushes(uint32_t i)
{
	const struct patch_place *p = &w.placing.places[i];

	return patch_place_calls(p) && p->island && !p->event_at;
}

/* Registers, and on the stack a return address of ours, or another. */
static uint64_t set_out(uint32_t i, enum way way, uint64_t *cfa)
{
	const struct patch_place *p = &w.placing.places[i];
	uint64_t sp = ((uint64_t)w.stack + STACK / 2 + rnd() % 4096) & ~7ull;
	uint64_t ret =
		w.model->text_addr + w.bias + rnd() % (w.model->text_end - w.model->text_addr);

	for (int k = 0; k < 16; k++)
		enter[greg_of[k]] = rnd();
	if (w.sites[i].capture & PUGMARK_CAPTURE_TARGET) {
		const struct pugmark_plan_operand *o = &w.sites[i].operand;
		int64_t disp = o->base == 16 ? 0 : o->disp;

		if (o->base < 16)
			enter[greg_of[o->base]] = (uint64_t)w.stack + STACK / 2 - disp;
		if (o->index < 16)
			enter[greg_of[o->index]] = rnd() % 64;
		if (o->base == 255 && o->index < 16) /* a table at a fixed address: not here */
			return 0;
	}
	if (p->by_bp)
		enter[REG_RBP] = ((uint64_t)w.stack + STACK / 2 + 16384 + rnd() % 4096) & ~7ull;
	*cfa = (p->by_bp ? (uint64_t)enter[REG_RBP] : sp) + p->cfa_off;
	if (*cfa - (uint64_t)w.stack > STACK - 4096)
		return 0; /* too large a frame for the stack here */
	if (way == FOREIGN)
		ret = 0x1234;
	if (w.sites[i].cfa_reg != PUGMARK_CFA_UNKNOWN)
		*(uint64_t *)(*cfa - 8) = ret;
	enter[REG_EFL] = 0x202 | (rnd() & FLAGS);
	/* What the instructions before the witness do is theirs. */
	enter[REG_RIP] = w.code.addr + w.made[i].event;
	enter[REG_RSP] = sp;
	if (pushes(i)) {
		enter[REG_RIP] = w.code.addr + w.made[i].off;
	} else if (patch_place_calls(p)) {
		enter[REG_RSP] -= 8;
		*(uint64_t *)(sp - 8) = return_of(p);
	}
	return sp;
}

/* Where the indirect call or jump goes, from the registers that set_out() has chosen. */
static uint64_t target_of(const struct pugmark_plan_operand *o)
{
	uint64_t at = o->disp;

	if (!o->is_memory)
		return enter[greg_of[o->base]];
	if (o->base < 16)
		at += enter[greg_of[o->base]];
	if (o->base == 16)
		at += w.bias;
	if (o->index < 16)
		at += enter[greg_of[o->index]] * o->scale;
	return *(const uint64_t *)at;
}

static void check_record(uint32_t i, uint64_t cfa, bool taken)
{
	const uint8_t *r = (const uint8_t *)ring()->last;
	uint8_t capture = w.sites[i].capture;
	uint32_t head;
	uint64_t frame, ret;

	memcpy(&head, r, 4);
	memcpy(&frame, r + 4, 8);
	memcpy(&ret, r + 12, 8);
	assert_int_equal(head & PATCH_HEAD_SITE, i);
	assert_true(head & PATCH_HEAD_SET);
	assert_int_equal(!!(head & PATCH_HEAD_RET), !!(capture & PUGMARK_CAPTURE_RET));
	assert_int_equal(!!(head & PATCH_HEAD_TARGET), !!(capture & PUGMARK_CAPTURE_TARGET));
	assert_int_equal(!!(head & PATCH_HEAD_TAKEN), taken && capture & PUGMARK_CAPTURE_FLAGS);
	assert_int_equal(frame + w.made[i].frame_add, cfa);
	if (capture & PUGMARK_CAPTURE_RET)
		assert_int_equal(ret, *(uint64_t *)(cfa - 8));
	if (capture & PUGMARK_CAPTURE_TARGET) {
		uint64_t target;

		memcpy(&target, r + 12 + 8 * !!(capture & PUGMARK_CAPTURE_RET), 8);
		assert_int_equal(target, target_of(&w.sites[i].operand));
	}
	assert_int_equal(ring()->next - ring()->last,
			 12 + 8 * !!(head & PATCH_HEAD_RET) + 8 * !!(head & PATCH_HEAD_TARGET));
}

/* What was reserved at @at first is a stamp of the time since @since. */
static void check_stamp(uint64_t at, uint64_t since)
{
	uint64_t tsc, bytes = ring()->next - ring()->last;
	uint32_t head;

	memcpy(&head, (const void *)at, 4);
	memcpy(&tsc, (const void *)(at + 4), 8);
	assert_true(head & PATCH_HEAD_STAMP && head & PATCH_HEAD_SET);
	assert_int_equal(at + bytes, ring()->last);
	assert_true(tsc > since && tsc < __builtin_ia32_rdtsc());
}

static void free_chunks(void)
{
	for (int k = 1; k <= CHUNKS; k++)
		if (*(uint32_t *)(w.shared + k * PATCH_CHUNK) == PATCH_FULL)
			*(uint32_t *)(w.shared + k * PATCH_CHUNK) = PATCH_FREE;
}

static void take_chunks(void)
{
	for (int k = 1; k <= CHUNKS; k++)
		*(uint32_t *)(w.shared + k * PATCH_CHUNK) = PATCH_TAKEN;
}

/* Executes trampoline @i; returns false where it cannot be set up here. */
static bool run(uint32_t i, enum way way)
{
	const struct patch_place *p = &w.placing.places[i];
	uint64_t cfa, sp = set_out(i, way, &cfa);
	bool jcc = p->form == PATCH_JCC && w.made[i].tail[1];
	bool taken = jcc && is_taken(p->cond, enter[REG_EFL]);
	uint32_t live = jcc ? p->live_after : p->live;

	if (!sp)
		return false;
	if (ring() && way != HOT)
		ring()->end = 0;
	if (ring() && ring()->chunk && way != HOT && way != STAMP)
		ring()->next = ring()->chunk + PATCH_FILLED;
	if (way == LOST)
		take_chunks();
	uint64_t lost = ring() ? ring()->lost : 0, at = ring() ? ring()->next : 0;
	uint64_t since = __builtin_ia32_rdtsc();
	bool stamps = way == STAMP && ring() && ring()->chunk && at - ring()->chunk < PATCH_FILLED;
	memcpy(w.before, w.stack, STACK);
	raise(SIGUSR1);

	assert_int_equal(trapped, w.code.addr + w.made[i].tail[taken]);
	bool told = !p->edge || !taken;
	if (!told && ring())
		assert_int_equal(ring()->next, at);
	if (pushes(i)) {
		enter[REG_RSP] -= 8;
		assert_int_equal(*(uint64_t *)enter[REG_RSP], return_of(p));
		*(uint64_t *)(w.before + (enter[REG_RSP] - (uint64_t)w.stack)) = return_of(p);
	}
	for (int k = 0; k < 16; k++)
		if (live >> k & 1 || k == 4 || k == 3 || k == 5 || k > 11)
			assert_int_equal(left[greg_of[k]], enter[greg_of[k]]);
	if (live & LIVE_FLAGS)
		assert_int_equal(left[REG_EFL] & FLAGS, enter[REG_EFL] & FLAGS);
	assert_int_equal(left[REG_EFL] & 0x400, 0);
	/* Below a call nothing is live but the address that it has pushed. */
	uint64_t low = sp - (uint64_t)enter[REG_RSP] ? (uint64_t)enter[REG_RSP] : sp - 128;
	uint64_t from = low - (uint64_t)w.stack;
	assert_memory_equal(w.stack + from, w.before + from, STACK - from);
	if (way == LOST) {
		assert_int_equal(ring()->lost, lost + told);
		free_chunks();
		for (int k = 1; k <= CHUNKS; k++)
			*(uint32_t *)(w.shared + k * PATCH_CHUNK) = PATCH_FREE;
		ring()->chunk = 0;
		((struct patch_shared *)w.shared)->full = 0;
	} else if (told && (way != FOREIGN || !(w.sites[i].capture & PUGMARK_CAPTURE_SNAPSHOT))) {
		check_record(i, cfa, taken);
		if (stamps)
			check_stamp(at, since);
	}
	free_chunks();
	return true;
}

static void every_trampoline_preserves_and_tells(void **state)
{
	uint32_t ran = 0, edges = 0, n_pushes = 0, forms[PATCH_INSN + 1] = {0};

	(void)state;
	/* The first event of a thread is for the probe. */
	for (uint32_t i = 0; i < w.placing.n && !ring(); i++)
		if (w.emitted[i] && !(w.sites[i].capture & PUGMARK_CAPTURE_SNAPSHOT)) {
			uint64_t cfa;

			if (!set_out(i, HOT, &cfa))
				continue;
			raise(SIGUSR1);
			assert_int_equal(ring()->serial, 1);
			assert_int_equal(ring()->next, ring()->chunk + PATCH_CHUNK_HEADER);
		}
	for (uint32_t i = 0; i < w.placing.n; i++) {
		if (!w.emitted[i])
			continue;
		for (enum way way = HOT; way < N_WAYS; way++)
			for (int flags = 0; flags < (way == HOT ? 3 : 1); flags++)
				if (run(i, way)) {
					ran++;
					edges += w.placing.places[i].edge;
					n_pushes += pushes(i);
					forms[w.placing.places[i].form]++;
				}
	}
	print_message("%u runs of trampolines: %u calls, %u indirect, %u jumps, %u indirect, %u "
		      "conditional, %u others\n",
		      ran, forms[PATCH_CALL], forms[PATCH_CALL_IND], forms[PATCH_JMP],
		      forms[PATCH_JMP_IND], forms[PATCH_JCC], forms[PATCH_INSN]);
	for (int form = PATCH_CALL; form <= PATCH_INSN; form++)
		if (form != PATCH_JMP_IND && form != PATCH_CALL_IND)
			assert_true(forms[form] > 50);
	print_message("%u of them push what a short call would have pushed\n", n_pushes);
	assert_true(n_pushes > 0);
	print_message("%u of them tell one way of a conditional jump alone\n", edges);
	assert_true(SANITIZED || edges > 5);
}

/* A patch leads to its trampoline, and a call returns where it did. */
static void patches_keep_their_length(void **state)
{
	uint32_t n_spans = 0, n_islands = 0;

	(void)state;
	for (uint32_t i = 0; i < w.placing.n; i++) {
		const struct patch_place *p = &w.placing.places[i];
		bool call = patch_place_calls(p) && !p->island;
		const uint8_t *jump = w.made[i].bytes + (call ? p->len - 5 : 0);
		uint64_t end = p->addr + (call ? p->len : 5);
		int32_t rel;

		if (!w.emitted[i])
			continue;
		if (p->island) {
			assert_int_equal(w.made[i].bytes[0], 0xeb);
			assert_int_equal(p->addr + 2 + (int8_t)w.made[i].bytes[1], p->island);
			jump = w.made[i].island;
			end = p->island + 5;
		}
		assert_int_equal(jump[0], call ? 0xe8 : 0xe9);
		memcpy(&rel, jump + 1, 4);
		assert_int_equal(end + w.bias + rel, w.code.addr + w.made[i].off);
		n_spans += p->code_len > w.made[i].event - w.made[i].off && p->event_at;
		n_islands += p->island != 0;
	}
	print_message("%u spans with instructions before the witness, %u islands\n", n_spans,
		      n_islands);
	/* Code with sanitizers has next to no jumps that are short. */
	assert_true(n_spans > 20 && (SANITIZED || n_islands > 5));
}

/* A jump of five bytes at @at leads there. */
static uint64_t jump_target(const uint8_t *bytes, uint64_t at)
{
	int32_t rel;

	assert_int_equal(bytes[0], 0xe9);
	memcpy(&rel, bytes + 1, 4);
	return at + 5 + rel;
}

/* Instructions that make room for an island are the same in the trampoline, one by one, but for
 * where they name something by their own address; and behind them it goes on where they end. */
static void what_moves_is_the_same(void **state)
{
	const struct pugmark_model *m = w.model;
	uint32_t n = 0, n_insns = 0;

	(void)state;
	for (uint32_t i = 0; i < w.placing.n; i++) {
		const struct patch_place *p = &w.placing.places[i];
		uint32_t block = p->room ? pugmark_model_block_at(m, p->room) : PUGMARK_NONE;

		if (!w.emitted[i] || block == PUGMARK_NONE)
			continue;
		const struct pugmark_block *b = &m->blocks[block];
		uint64_t at = jump_target(w.made[i].room, p->room + w.bias), end = p->room;
		const uint8_t *moved = w.code.bytes + (at - w.code.addr);
		assert_int_equal(p->island, p->room + 5);
		assert_true(p->room + p->room_len <= b->addr + b->size);
		for (uint32_t k = b->insn; end < p->room + p->room_len; k++) {
			const struct pugmark_insn *insn = &m->insns[k];
			size_t have;
			const uint8_t *was = pugmark_model_bytes(m, end, &have);

			if (m->text_addr + insn->off != end)
				continue;
			end += insn->len;
			if (insn->kind != PUGMARK_INSN_OTHER)
				break; /* a jump is the last one */
			assert_int_equal(moved[0], was[0]);
			if (memcmp(moved, was, insn->len)) /* a word of it is a displacement */
				assert_true(insn->len >= 6);
			moved += insn->len;
			n_insns++;
			if (end == p->room + p->room_len)
				assert_int_equal(
					jump_target(moved, w.code.addr + (moved - w.code.bytes)),
					end + w.bias);
		}
		assert_int_equal(end, p->room + p->room_len);
		n++;
	}
	print_message("%u islands where %u instructions have moved\n", n, n_insns);
	assert_true(SANITIZED || n > 3);
}

/* No two patches have a byte in common, none but its own witness's instruction is in one that is
 * several, and idle bytes are in no block that anything leads to. */
static void patches_are_apart(void **state)
{
	const struct pugmark_model *m = w.model;
	uint32_t bytes = m->text_end - m->text_addr;
	uint32_t *of = calloc(bytes, sizeof(*of));

	(void)state;
	assert_non_null(of);
	for (uint32_t i = 0; i < w.placing.n; i++) {
		const struct patch_place *p = &w.placing.places[i];
		uint32_t block = p->form ? pugmark_model_block_at(m, p->addr) : PUGMARK_NONE;

		if (!p->form)
			continue;
		assert_true(p->len >= (p->island ? 2 : 5) && p->code_len <= p->len);
		assert_true(p->addr + p->code_len <= m->blocks[block].addr + m->blocks[block].size);
		if (p->span && p->code_len > 1 && p->event_at)
			assert_true(p->addr != m->funcs[m->blocks[block].func].addr);
		for (uint64_t at = p->addr; at < p->addr + p->len; at++) {
			uint32_t b = pugmark_model_block_at(m, at);

			assert_int_equal(of[at - m->text_addr], 0);
			of[at - m->text_addr] = i + 1;
			if (at >= p->addr + p->code_len)
				assert_true(b == PUGMARK_NONE ||
					    m->blocks[b].flags & PUGMARK_BLOCK_UNREACHED);
		}
		for (uint64_t at = p->room; at < p->room + p->room_len; at++) {
			assert_int_equal(of[at - m->text_addr], 0);
			of[at - m->text_addr] = i + 1;
		}
		for (uint64_t at = p->room ? 0 : p->island; at && at < p->island + 5; at++) {
			uint32_t b = pugmark_model_block_at(m, at);

			assert_int_equal(of[at - m->text_addr], 0);
			of[at - m->text_addr] = i + 1;
			assert_true(b == PUGMARK_NONE ||
				    m->blocks[b].flags & PUGMARK_BLOCK_UNREACHED);
		}
	}
	/* What jumps anywhere comes to the start of a patch, or to none. */
	for (uint32_t e = 0; e < m->n_blocks; e++) {
		uint32_t i = of[m->blocks[e].addr - m->text_addr];

		if (!i || m->blocks[e].flags & PUGMARK_BLOCK_UNREACHED)
			continue;
		assert_true(w.placing.places[i - 1].addr == m->blocks[e].addr ||
			    w.placing.places[i - 1].room == m->blocks[e].addr);
	}
	free(of);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_trampoline_preserves_and_tells),
		cmocka_unit_test(patches_keep_their_length),
		cmocka_unit_test(what_moves_is_the_same),
		cmocka_unit_test(patches_are_apart),
	};

	return cmocka_run_group_tests(tests, make_world, end_world);
}

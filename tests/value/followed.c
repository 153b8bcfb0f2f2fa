// SPDX-License-Identifier: LGPL-2.1-or-later
/* followed.c: see followed.h.
 *
 *   replay    ── instruction ──[ library, system calls ]──► next instruction of traced code
 *   process   ── step ──[ steps; results of chance put ]──► the same address
 *                                                           compare
 */
#include "tests/value/followed.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY_EVERY = 50000, REP_MAX = 4096 };

struct store {
	uint64_t addr;
	uint64_t len;
};

void followed_part(struct followed *f, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	if (!*f->parted)
		vsnprintf(f->parted, sizeof(f->parted), format, args);
	va_end(args);
}

static void wrong(struct followed *f, const struct value_insn *insn, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static void wrong(struct followed *f, const struct value_insn *insn, const char *format, ...)
{
	char text[200];
	va_list args;
	if (f->wrong++ >= SHOWN) {
		followed_part(f, "too much is wrong");
		return;
	}
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	printf("WRONG after %lu, behind %lx %s: %s\n", value_run_count(f->run), insn->ip,
	       ZydisMnemonicGetString(insn->mnemonic), text);
}

/* --- what is compared ------------------------------------------------------------------------ */

static bool known_byte(const struct value_known *k, unsigned bit, const uint8_t *qualities, int i)
{
	return !(k->inexact >> bit & 1) || !qualities[i];
}

static void compare_general(struct followed *f, const struct value_insn *insn)
{
	const struct value_state *s = value_machine_state(f->machine);
	const struct value_known *k = value_machine_known(f->machine);
	for (unsigned i = 0; i < 16; i++) {
		uint64_t truth = stepped_gpr(&f->p, i), mask = 0;
		for (int b = 0; b < 8; b++)
			if (known_byte(k, i, k->gpr[i], b))
				mask |= (uint64_t)0xff << 8 * b;
		if ((s->gpr[i] ^ truth) & mask)
			wrong(f, insn, "%s: %lx, is %lx", stepped_name(i), s->gpr[i], truth);
	}
	uint64_t differ = value_rflags(s) ^ f->p.regs.eflags;
	struct value_state open = {.flags = f->undefined};
	differ &= 0xcd5 & ~(value_rflags(&open) & 0x8d5);
	if (differ && !(k->inexact >> VALUE_BIT_FLAGS & 1))
		wrong(f, insn, "flags: %lx, is %llx", value_rflags(s), f->p.regs.eflags);
}

static void compare_vectors(struct followed *f, const struct value_insn *insn)
{
	const struct value_state *s = value_machine_state(f->machine);
	const struct value_known *k = value_machine_known(f->machine);
	for (unsigned i = 0; i < 16; i++) {
		uint8_t truth[32];
		stepped_vec(&f->p, i, truth);
		for (int b = 0; b < 32; b++)
			if (truth[b] != s->vec[i][b] &&
			    known_byte(k, (b < 16 ? VALUE_BIT_VEC : VALUE_BIT_HIGH) + i, k->vec[i],
				       b)) {
				wrong(f, insn, "ymm%u byte %d: %02x, is %02x", i, b, s->vec[i][b],
				      truth[b]);
				break;
			}
	}
	for (unsigned row = VALUE_VECS; row < VALUE_ROWS; row++)
		for (unsigned b = 0; b < VALUE_ROW; b++) {
			bool zero = value_has_no_top(s, row);
			uint8_t told = zero ? 0 : s->vec[row][b];
			if (told != stepped_wide(&f->p, row, b) &&
			    (zero || known_byte(k, VALUE_BIT_WIDE, k->vec[row], b))) {
				wrong(f, insn, "row %u byte %u: %02x, is %02x", row, b, told,
				      stepped_wide(&f->p, row, b));
				break;
			}
		}
	uint8_t x87[STEPPED_X87];
	stepped_x87(&f->p, x87);
	bool same = !memcmp(x87, s->fx, 6);
	for (int i = 0; i < 8; i++)
		same &= !memcmp(x87 + 32 + 16 * i, s->fx + 32 + 16 * i, 10);
	if (!same && !(k->inexact >> VALUE_BIT_X87 & 1))
		wrong(f, insn, "x87 differs");
	if (stepped_mxcsr(&f->p) != s->mxcsr && !(k->inexact >> VALUE_BIT_MXCSR & 1))
		wrong(f, insn, "mxcsr: %x, is %x", s->mxcsr, stepped_mxcsr(&f->p));
}

void followed_loaded(struct followed *f, const struct value_insn *insn, uint64_t addr,
		     const uint8_t *truth, size_t len)
{
	struct value_memory *mem = value_machine_memory(f->machine);
	uint8_t told[VALUE_PAGE], quality[VALUE_PAGE];
	if (mem->on_supposition || value_memory_read(mem, addr, told, len, NULL) ||
	    value_memory_read_qualities(mem, addr, quality, len))
		return;
	for (size_t i = 0; i < len; i++)
		if (!quality[i] && told[i] != truth[i]) {
			wrong(f, insn, "memory at %lx: %02x, is %02x (rsp %llx)", addr + i, told[i],
			      truth[i], f->p.regs.rsp);
			return;
		}
}

static void compare_bytes(struct followed *f, const struct value_insn *insn, uint64_t addr,
			  size_t len)
{
	uint8_t truth[VALUE_PAGE];
	if (stepped_read(&f->p, addr, truth, len))
		followed_loaded(f, insn, addr, truth, len);
}

static void compare_memory(struct followed *f, const struct value_insn *insn)
{
	const struct value_region *at;
	size_t n = value_memory_regions(value_machine_memory(f->machine), &at);
	for (size_t i = 0; i < n && !*f->parted; i++)
		for (uint64_t a = at[i].start; at[i].prot & VALUE_WRITE && a < at[i].end;
		     a += VALUE_PAGE, f->pages++)
			compare_bytes(f, insn, a, VALUE_PAGE);
}

/* What @insn, which is next, will load. */
static void compare_loads(struct followed *f, const struct value_insn *insn)
{
	const struct value_state *s = value_machine_state(f->machine);
	for (int i = 0; i < insn->n_mem; i++) {
		if (!insn->mem[i].read)
			continue;
		compare_bytes(f, insn, value_place_address(&insn->mem[i], s), insn->mem[i].len);
		f->loads++;
	}
}

/* What @insn, which is next, will store. Returns how many of @out. */
static int stores_of(struct followed *f, const struct value_insn *insn, struct store out[2])
{
	const struct value_state *s = value_machine_state(f->machine);
	int n = 0;
	for (int i = 0; i < insn->n_mem; i++) {
		if (!insn->mem[i].write)
			continue;
		uint64_t len = insn->mem[i].len, addr = value_place_address(&insn->mem[i], s);
		if (insn->kind == VALUE_INSN_STRING && !s->df)
			len *= s->gpr[VALUE_RCX] && s->gpr[VALUE_RCX] < REP_MAX / 8
				       ? s->gpr[VALUE_RCX]
				       : 1;
		out[n++] = (struct store){addr, len < VALUE_PAGE ? len : VALUE_PAGE};
	}
	return n;
}

void followed_compare(struct followed *f, const struct value_insn *insn)
{
	f->compared++;
	if (value_machine_state(f->machine)->rip != f->p.regs.rip) {
		wrong(f, insn, "rip: %lx, is %llx", value_machine_state(f->machine)->rip,
		      f->p.regs.rip);
		followed_part(f, "control went elsewhere");
		return;
	}
	if (value_machine_memory(f->machine)->on_supposition)
		return; /* nothing is said to be exact */
	compare_general(f, insn);
	compare_vectors(f, insn);
}

/* Behind @insn, which has stored at @stores. */
static void compare(struct followed *f, const struct value_insn *insn, const struct store *stores,
		    int n)
{
	stepped_registers(&f->p);
	followed_compare(f, insn);
	for (int i = 0; i < n && !*f->parted; i++, f->stores++)
		compare_bytes(f, insn, stores[i].addr, stores[i].len);
	if (f->compared % MEMORY_EVERY == 0)
		compare_memory(f, insn);
}

/* --- going ----------------------------------------------------------------------------------- */

bool followed_clock(const char *import)
{
	static const char *const names[] = {"time",  "clock_gettime", "gettimeofday",
					    "clock", "timespec_get",  "ftime"};
	for (size_t i = 0; import && i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(names[i], import))
			return true;
	return false;
}

static void crossing(void *ctx, struct value_run *run, enum value_crossing what,
		     const struct capture *c, const char *import)
{
	struct followed *f = ctx;
	(void)run;
	f->met.clock |= what == VALUE_CROSSING_CALL && followed_clock(import);
	if (what != VALUE_CROSSING_KERNEL)
		return;
	if (f->met.n_calls == FOLLOWED_CALLS)
		followed_part(f, "too many system calls between two instructions");
	else
		f->met.calls[f->met.n_calls++] = *c;
}

/* One step; what chance decided in it is put. False: ended, or parted. */
static bool step(struct followed *f)
{
	if (!stepped_step(&f->p))
		return false;
	return !stepped_syscall(&f->p) || chance_syscall(f);
}

/* The process does what the replay has done: @insn, and what is outside behind it. */
static bool catch_up(struct followed *f, const struct value_insn *insn)
{
	if (!step(f))
		return false;
	/* The processor stops after each turn of a rep. */
	while (insn->kind == VALUE_INSN_STRING && f->p.regs.rip == insn->ip)
		if (!step(f))
			return false;
	if (insn->kind == VALUE_INSN_CHANCE)
		chance_insn(f, insn);
	bool clock = false;
	while (!value_machine_has_code(f->machine, f->p.regs.rip, VALUE_SIDE_TRACED)) {
		clock |= f->p.regs.rip >= f->vdso && f->p.regs.rip < f->vdso_end;
		if (!step(f))
			return false;
	}
	if (clock && f->met.clock)
		chance_clock(f);
	if (f->met.next_call != f->met.n_calls)
		followed_part(f, "a system call that the process has not made");
	return !*f->parted;
}

void followed_undefined(struct followed *f, const struct value_insn *insn)
{
	uint16_t written = 0;
	for (int i = 0; i < insn->n_access; i++)
		if (insn->access[i].kind == VALUE_ACCESS_FLAGS && insn->access[i].write)
			written |= insn->access[i].mask;
	f->undefined = (f->undefined & ~written) | insn->undefined;
}

void followed_go(struct followed *f, uint64_t max)
{
	const struct value_insn *insn = NULL;
	while (f->compared < max && !*f->parted) {
		struct store stores[2];
		insn = value_machine_insn(f->machine, value_machine_state(f->machine)->rip);
		if (!insn) {
			followed_part(f, "no instruction");
			break;
		}
		int n = stores_of(f, insn, stores);
		compare_loads(f, insn);
		followed_undefined(f, insn);
		f->met.n_calls = f->met.next_call = 0;
		f->met.clock = false;
		enum value_replay_stop stop =
			value_run_forward(f->run, value_run_count(f->run) + 1, NULL);
		if (stop == VALUE_REPLAY_GAP)
			followed_part(f, "a gap: %s", value_run_gap(f->run)->text);
		if (stop != VALUE_REPLAY_LIMIT)
			break;
		if (!catch_up(f, insn)) {
			followed_part(f, "the process has ended");
			break;
		}
		compare(f, insn, stores, n);
	}
	if (insn && !f->p.exited && !*f->parted && f->compared == max)
		compare_memory(f, insn);
}

static void find_vdso(struct followed *f)
{
	char path[64], line[256];
	snprintf(path, sizeof(path), "/proc/%d/maps", f->p.pid);
	FILE *maps = fopen(path, "r");
	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, "[vdso]"))
			sscanf(line, "%lx-%lx", &f->vdso, &f->vdso_end);
	if (maps)
		fclose(maps);
}

void followed_begin(struct followed *f, const struct captures *captures, uint32_t task)
{
	f->machine = value_run_machine(f->run);
	f->captures = captures;
	if (captures_iter_new(captures, task, &f->clocks))
		stepped_die("captures");
	value_run_crossings(f->run, crossing, f);
	find_vdso(f);
	chance_start(f);
	/* To the first instruction of traced code, in both. */
	if (value_run_forward(f->run, 0, NULL) != VALUE_REPLAY_LIMIT)
		followed_part(f, "the replay does not begin");
	stepped_general(&f->p);
	if (f->p.regs.rip != value_machine_state(f->machine)->rip)
		followed_part(f, "the replay begins at %lx, the process at %llx",
			      value_machine_state(f->machine)->rip, f->p.regs.rip);
}

void followed_end(struct followed *f)
{
	captures_iter_free(f->clocks);
	value_run_free(f->run);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* library.c: a call out of the traced modules is executed as well, where the recording has the
 * library's code: its results and all that it writes are computed from the same memory that the
 * program had, and no table has to say them. What a probe has captured behind the call is compared.
 *
 *   traced ──call out──> library ──system call──> KERNEL record ──> library
 *      ^                   │  │ ──__vdso_...──> KERNEL record, or it is not known ──> library
 *      └───return, callback┘  └── what cannot be executed ──> outside.c
 *
 * Instructions of libraries are not counted and are in no trace. */
#include "offline/replay/replay_impl.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* Of one stay in a library: a loop that does not end comes of a value that is wrong. */
#define LIBRARY_INSNS 4000000000
/* Of one call, up to which a jump on something that is not known is followed. */
#define SUPPOSED_INSNS 1000000
/* Of one that goes another way than was recorded. */
#define TURNED_INSNS 200000000
/* Where others write meanwhile, a loop may wait for them that has no end here. */
enum { STEP = 1 << 23 };

/* The halves of the vector registers from byte @half on, as xsavec puts them at @addr. Where all
 * are zeros, the processor may leave them out. */
static void save_halves(struct value_run *run, uint64_t addr, unsigned half)
{
	const struct value_state *s = value_machine_state(run->machine);
	const struct value_known *k = value_machine_known(run->machine);
	uint8_t bytes[16][16], quality[16][16];
	bool in_use = false;
	for (unsigned i = 0; i < 16; i++) {
		bool exact = !(k->inexact >> ((half ? VALUE_BIT_HIGH : VALUE_BIT_VEC) + i) & 1);
		for (unsigned b = 0; b < 16; b++) {
			bytes[i][b] = s->vec[i][half + b];
			quality[i][b] = exact ? VALUE_EXACT : k->vec[i][half + b];
			in_use |= bytes[i][b] && !quality[i][b];
		}
	}
	if (!in_use)
		memset(quality, VALUE_UNKNOWN, sizeof(quality));
	value_memory_write(&run->memory, addr, bytes, sizeof(bytes), VALUE_EXACT);
	value_memory_write_qualities(&run->memory, addr, (uint8_t *)quality, sizeof(quality));
}

/* What xsavec writes of the components that edx:eax names, by the layout and the sizes that the
 * manual has (Intel SDM 1, 13.4 and 13.10); xsave leaves gaps between them and writes more. */
static void save_area(struct value_run *run, uint64_t addr, bool compact)
{
	static const uint16_t sizes[] = {0, 0, 256, 64, 64, 64, 512, 1024, 0, 8};
	enum { X87 = 1, SSE = 2, AVX = 4, CONTROL = 24, XMM = 160, HEADER = 512, REST = 576 };
	enum { STANDARD = 2696 };
	uint64_t asked = value_machine_state(run->machine)->gpr[VALUE_RAX] & run->xstate;
	uint64_t end = REST;
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		end += asked >> i & 1 ? sizes[i] : 0;
	if (!compact || asked & X87) {
		value_memory_set_quality(&run->memory, addr, compact ? end : STANDARD,
					 VALUE_UNKNOWN);
		return;
	}
	value_memory_set_quality(&run->memory, addr + CONTROL, 8, VALUE_UNKNOWN);
	value_memory_set_quality(&run->memory, addr + HEADER, 16, VALUE_UNKNOWN);
	value_memory_set_quality(&run->memory, addr + REST, end - REST, VALUE_UNKNOWN);
	if (asked & SSE)
		save_halves(run, addr + XMM, 0);
	if (asked & AVX)
		save_halves(run, addr + REST, 16);
}

bool value_run_vectors(struct value_run *run, const struct value_insn *insn)
{
	struct value_machine *m = run->machine;
	struct value_state *s = value_machine_state(m);
	struct value_known *k = value_machine_known(m);
	/* Masks, upper halves and more registers of AVX-512: all of them are asked for, or none. */
	const bool wide = (s->gpr[VALUE_RAX] & 0xe0) == 0xe0;
	const size_t rows = wide ? sizeof(s->vec) : VALUE_VECS * VALUE_ROW;
	const uint64_t halves =
		0xffffffffull << VALUE_BIT_VEC | (wide ? 1ull << VALUE_BIT_WIDE : 0);
	const uint64_t control = 1ull << VALUE_BIT_MXCSR | 1ull << VALUE_BIT_STICKY;
	uint64_t addr = insn->n_mem ? value_place_address(&insn->mem[0], s) : 0;
	if (insn->mnemonic == ZYDIS_MNEMONIC_XSAVEC || insn->mnemonic == ZYDIS_MNEMONIC_XSAVE) {
		unsigned at = 0;
		while (at < SAVES && run->saves[at].addr != addr)
			at++;
		struct saved_vectors *to = &run->saves[at < SAVES ? at : run->n_saves++ % SAVES];
		to->addr = addr;
		to->inexact = k->inexact & halves;
		to->mxcsr = s->mxcsr;
		to->control = value_quality(m, 1ull << VALUE_BIT_MXCSR);
		to->sticky = value_quality(m, 1ull << VALUE_BIT_STICKY);
		to->no_tops = s->no_tops;
		memcpy(to->vec, s->vec, sizeof(to->vec));
		memcpy(to->known, k->vec, sizeof(to->known));
		save_area(run, addr, insn->mnemonic == ZYDIS_MNEMONIC_XSAVEC);
		return true;
	}
	if (insn->mnemonic != ZYDIS_MNEMONIC_XRSTOR)
		return false;
	if (s->gpr[VALUE_RAX] & 1)
		value_forget(m, 1ull << VALUE_BIT_X87, VALUE_UNKNOWN);
	for (unsigned i = 0; i < SAVES; i++)
		if (run->saves[i].addr == addr) {
			memcpy(s->vec, run->saves[i].vec, rows);
			memcpy(k->vec, run->saves[i].known, rows);
			memset(k->vec_bits, 0, sizeof(k->vec_bits));
			k->inexact = (k->inexact & ~halves) | (run->saves[i].inexact & halves);
			s->no_tops = wide ? run->saves[i].no_tops : s->no_tops;
			s->mxcsr = run->saves[i].mxcsr;
			value_forget(m, 1ull << VALUE_BIT_MXCSR, run->saves[i].control);
			value_forget(m, 1ull << VALUE_BIT_STICKY, run->saves[i].sticky);
			return true;
		}
	value_forget(m, halves | control, VALUE_UNKNOWN);
	return true;
}

/* Nothing more can be executed until control is in traced code again. */
static int go_blind(struct value_run *run, const char *why)
{
	const char *in = run->n_calls ? run->calls[run->n_calls - 1].import : NULL;
	if (run->turned)
		return value_run_fail(run, "%s%s%s", why, in ? ", in " : "", in ? in : "");
	if (!run->blind++) {
		run->blind_at = (struct value_gap){.count = run->count,
						   .ip = value_machine_state(run->machine)->rip,
						   .record = run->next};
		snprintf(run->blind_at.text, sizeof(run->blind_at.text), "%s%s%s", why,
			 in ? ", in " : "", in ? in : "");
	}
	if (value_run_is_lost(run))
		return value_run_fail(run, "%s%s%s, whose end is watched no longer", why,
				      in ? ", in " : "", in ? in : ", in a call");
	import_clobber(run->machine);
	run->in_library = false;
	run->n_variants = 0;
	run->outside = run->unseen = true;
	return VALUE_REPLAY_LIMIT;
}

/* Back to the return address at the stack pointer. */
static int return_now(struct value_run *run)
{
	struct value_state *s = value_machine_state(run->machine);
	uint8_t quality = VALUE_EXACT;
	uint64_t to;
	if (value_memory_read(&run->memory, s->gpr[VALUE_RSP], &to, 8, &quality) ||
	    quality == VALUE_UNKNOWN)
		return go_blind(run, "a return address that is not known");
	s->gpr[VALUE_RSP] += 8;
	s->rip = to;
	return VALUE_REPLAY_LIMIT;
}

/* A function of the kernel's image, and the system call that it does without. */
struct clock_function {
	const char *name;
	uint32_t nr;
	uint8_t len[2]; /* of what is written at the first and the second argument */
	bool status;	/* the result is 0 */
};

static const struct clock_function *clock_function(const char *name)
{
	static const struct clock_function known[] = {
		{"__vdso_clock_gettime", 228, {0, 16}, true},
		{"__vdso_clock_getres", 229, {0, 16}, true},
		{"__vdso_gettimeofday", 96, {16, 8}, true},
		{"__vdso_getcpu", 309, {4, 4}, true},
		{"__vdso_time", 201, {8, 0}, false},
	};
	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(known[i].name, name))
			return &known[i];
	return NULL;
}

/* Whether the record is of this function, and of these arguments, as far as they are exact. */
static bool is_told_as_asked(struct value_run *run, const struct clock_function *f,
			     const struct capture *c)
{
	static const uint8_t regs[] = {VALUE_RDI, VALUE_RSI};
	const struct value_state *s = value_machine_state(run->machine);
	bool same = f && c->nr == f->nr;
	for (unsigned i = 0; same && i < (f->len[1] ? 2 : 1); i++)
		same = value_quality(run->machine, (uint64_t)1 << regs[i]) ||
		       s->gpr[regs[i]] == c->args[i];
	return same;
}

/* A function of the kernel's image: it reads a clock. What the process has noted of that has a
 * record, as has what it asks the kernel for; so without one it has not failed. Where a signal came
 * meanwhile, the handler is done first, and then all of the function. */
enum { CLOCK_FRAME = 1024 /* bytes, of a function and what it calls */, CLOCK_OVER = 1 };

/* A signal that has found the task where the function had nothing left to do: it comes behind it.
 */
static int signal_behind(struct value_run *run)
{
	const struct capture *c;
	while ((c = value_run_record(run)) &&
	       (c->kind == CAPTURE_SIGNAL || c->kind == CAPTURE_SWITCH) &&
	       c->ip == run->libraries.vdso_range.start + CLOCK_OVER) {
		run->next++;
		if (c->kind == CAPTURE_SIGNAL)
			return value_run_signal(run, c);
	}
	return VALUE_REPLAY_LIMIT;
}

static int tell_time(struct value_run *run, const char *name)
{
	struct value_machine *m = run->machine;
	const struct value_state *s = value_machine_state(m);
	if (value_run_pass_missed(run, value_run_at_clock))
		return VALUE_REPLAY_NO_MEMORY;
	const struct capture *c = value_run_record(run);
	const struct clock_function *f = clock_function(name);
	const char *by;
	if (c && c->kind == CAPTURE_LOST)
		return value_run_fail(run, "%lu records or more were lost", c->lost);
	if (c && c->kind == CAPTURE_SWITCH && value_libraries_vdso(&run->libraries, c->ip, &by)) {
		run->next++;
		return VALUE_REPLAY_LIMIT;
	}
	if (c && c->kind == CAPTURE_SIGNAL && value_libraries_vdso(&run->libraries, c->ip, &by)) {
		if (s->gpr[VALUE_RSP] - c->sp >= CLOCK_FRAME ||
		    c->ip == run->libraries.vdso_range.start + CLOCK_OVER)
			return value_run_fail(
				run, "a signal found the task in another call than %s", name);
		run->next++;
		return value_run_signal(run, c);
	}
	if (value_run_told_time(run)) {
		if (!is_told_as_asked(run, f, c))
			return value_run_fail(run, "%s is not what was recorded here, or not so",
					      name);
		run->next++;
		value_run_dead_stack(run, s->gpr[VALUE_RSP]);
		import_clobber(m);
		value_set_gpr(m, VALUE_RAX, c->result, VALUE_EXACT);
		if (value_run_kernel(run, c))
			return VALUE_REPLAY_NO_MEMORY;
		int stop = return_now(run);
		return stop == VALUE_REPLAY_LIMIT && run->in_library ? signal_behind(run) : stop;
	}
	if (!f)
		return go_blind(run, "a function of the kernel's image that is not known");
	const uint64_t args[] = {s->gpr[VALUE_RDI], s->gpr[VALUE_RSI]};
	for (unsigned a = 0; a < 2; a++)
		if (f->len[a] && args[a])
			value_memory_set_quality(&run->memory, args[a], f->len[a], VALUE_UNKNOWN);
	import_clobber(m);
	if (f->status)
		value_set_gpr(m, VALUE_RAX, 0, VALUE_EXACT);
	return return_now(run);
}

/* Another variant of a function is executed than the one that ran. It ends at an address that
 * nothing else has, where what only the other one would have left in registers is forgotten. */
#define VARIANT_END 0
static int begin_variant(struct value_run *run, const struct library_function *f)
{
	struct value_state *s = value_machine_state(run->machine);
	uint64_t end = VARIANT_END;
	if (run->n_variants == VARIANTS)
		return go_blind(run, "too many functions with variants in each other");
	struct variant *v = &run->variants[run->n_variants++];
	value_residue_begin(&v->call, run->machine, s->rip);
	v->sp = s->gpr[VALUE_RSP];
	v->compares = f->compares;
	if (value_memory_read(&run->memory, v->sp, &v->ret, 8, NULL) ||
	    value_memory_write(&run->memory, v->sp, &end, 8, VALUE_EXACT))
		return go_blind(run, "no stack");
	s->rip = f->plain;
	return VALUE_REPLAY_LIMIT;
}

static int end_variant(struct value_run *run)
{
	struct value_machine *m = run->machine;
	const struct variant *v = &run->variants[--run->n_variants];
	uint64_t rax = value_machine_state(m)->gpr[VALUE_RAX];
	uint8_t quality = value_quality(m, 1 << VALUE_RAX);
	if (value_machine_state(m)->gpr[VALUE_RSP] != v->sp + 8)
		return go_blind(run, "a variant that does not return");
	value_memory_write(&run->memory, v->sp, &v->ret, 8, VALUE_EXACT);
	import_clobber(m);
	/* Which number it is a record says, if there is one. */
	if (v->compares && rax && quality == VALUE_EXACT)
		quality = VALUE_ASSUMED;
	value_set_gpr(m, VALUE_RAX, rax, quality);
	value_residue_end(&run->residues, m, &v->call);
	value_machine_state(m)->rip = v->ret;
	return VALUE_REPLAY_LIMIT;
}

bool value_run_recall(void *ctx, unsigned reg, uint64_t said, uint64_t *value)
{
	struct value_run *run = ctx;
	if (!run->walker)
		run->walker = value_residue_walker_new(&run->memory);
	return run->walker && value_residue_recall(&run->residues, run->walker, reg, said, value);
}

/* Whether the record is of the call that is over: it is made at a place further on, and tells what
 * is used before that. */
static bool is_result(const struct value_run *run, const struct capture *c)
{
	const struct value_state *s = value_machine_state(run->machine);
	return c->kind == CAPTURE_RESULT && c->sp == s->gpr[VALUE_RSP] &&
	       value_run_place_ip(run, c, run->replay->places[c->place].site_next) == s->rip &&
	       value_run_agrees(run, c);
}

static const struct capture *result_of(struct value_run *run)
{
	const struct capture *c = value_run_record(run);
	return c && is_result(run, c) ? c : NULL;
}

/* The record of an entry at this very place. */
static const struct capture *entry_of(struct value_run *run)
{
	const struct value_state *s = value_machine_state(run->machine);
	const struct capture *c = value_run_record(run);
	return c && c->kind == CAPTURE_ENTER && c->ip == s->rip && c->sp == s->gpr[VALUE_RSP] &&
			       value_run_agrees(run, c)
		       ? c
		       : NULL;
}

/* Control is in traced code: back from a call, called back, or thrown further out. */
static int come_back(struct value_run *run)
{
	const struct value_state *s = value_machine_state(run->machine);
	const struct open_call *call = NULL;
	if (value_run_pass_missed(run, is_result))
		return VALUE_REPLAY_NO_MEMORY;
	while (run->n_calls && run->calls[run->n_calls - 1].sp < s->gpr[VALUE_RSP])
		call = &run->calls[--run->n_calls];
	run->in_library = false;
	const struct capture *c = call ? result_of(run) : entry_of(run);
	if (c) {
		run->next++;
		run->expected = value_run_place_ip(run, c, run->replay->places[c->place].addr);
		value_run_registers(run, c);
		if (!call)
			value_run_agreed(run, c);
		if (value_run_ranges(run, c))
			return VALUE_REPLAY_NO_MEMORY;
	}
	if (call) /* without the record: what the call has written was seen as it did */
		value_run_tell(run, VALUE_CROSSING_RESULT, NULL, call->import);
	else
		value_run_tell(run, VALUE_CROSSING_ENTER, c, NULL);
	return VALUE_REPLAY_LIMIT;
}

static int arrive(struct value_run *run)
{
	uint64_t ip = value_machine_state(run->machine)->rip;
	const char *name;
	if (ip == VARIANT_END && run->n_variants)
		return end_variant(run);
	if (value_machine_has_code(run->machine, ip, VALUE_SIDE_TRACED))
		return come_back(run);
	return value_libraries_vdso(&run->libraries, ip, &name) ? tell_time(run, name)
								: go_blind(run, "code of no file");
}

static int at_place(struct value_run *run)
{
	struct value_machine *m = run->machine;
	struct value_state *s = value_machine_state(m);
	const struct capture *c = value_run_record(run);
	if (value_run_ends(run, c)) {
		run->ended = VALUE_REPLAY_END;
		return VALUE_REPLAY_END;
	}
	bool switched = value_run_switched(run, value_writes_trace(run->writes));
	bool signalled = !switched && value_run_signalled(run, value_writes_trace(run->writes));
	value_writes_tell(run->writes, m);
	if (switched)
		return run->ended;
	if (signalled)
		return value_run_signal(run, c);
	const struct library_function *f = value_libraries_function(&run->libraries, s->rip);
	bool left = value_run_may_be_in(run, c);
	if (left && c->kind == CAPTURE_SWITCH && f && f->name) {
		enum value_torn torn = value_run_torn(run, f->name);
		if (torn == VALUE_TORN_HERE)
			return run->ended;
		left = torn == VALUE_TORN_UNSURE;
	}
	if (left)
		return VALUE_REPLAY_LIMIT;
	struct residue_call call;
	value_residue_begin(&call, m, s->rip);
	value_writes_model(run->writes, &run->memory, true);
	int err = f && f->name ? value_run_model(run, f->name) : -ENOSYS;
	value_writes_model(run->writes, &run->memory, false);
	if (!err)
		value_residue_end(&run->residues, m, &call);
	if (!err)
		return return_now(run);
	if (err == -ENOMEM)
		return VALUE_REPLAY_NO_MEMORY;
	/* Not all is known of what the model looks at: the code may do with less. */
	return f && f->plain ? begin_variant(run, f) : VALUE_REPLAY_LIMIT;
}

static void put_told(struct value_machine *m, unsigned reg, uint32_t value, uint32_t varies)
{
	struct value_known *k = value_machine_known(m);
	value_set_gpr(m, reg, value, varies ? VALUE_UNKNOWN : VALUE_EXACT);
	for (unsigned b = 0; varies && b < sizeof(uint64_t); b++)
		k->gpr[reg][b] = (uint64_t)varies >> 8 * b & 0xff ? VALUE_UNKNOWN : VALUE_EXACT;
}

/* cpuid, and xgetbv of XCR0: what they tell does not change, and is recorded once. */
static bool tell_processor(struct value_run *run, const struct value_insn *insn)
{
	static const uint8_t regs[] = {VALUE_RAX, VALUE_RBX, VALUE_RCX, VALUE_RDX};
	struct value_machine *m = run->machine;
	const struct value_state *s = value_machine_state(m);
	const struct captures *captures = run->replay->captures;
	const uint32_t leaf = s->gpr[VALUE_RAX], subleaf = s->gpr[VALUE_RCX];
	const bool subleaf_known = !value_quality(m, 1 << VALUE_RCX);
	uint32_t out[4], varies[4];
	uint64_t xcr0;
	if (insn->mnemonic == ZYDIS_MNEMONIC_XGETBV && subleaf_known && !subleaf &&
	    captures_xcr0(captures, &xcr0)) {
		put_told(m, VALUE_RAX, (uint32_t)xcr0, 0);
		put_told(m, VALUE_RDX, xcr0 >> 32, 0);
		return true;
	}
	if (insn->mnemonic != ZYDIS_MNEMONIC_CPUID || value_quality(m, 1 << VALUE_RAX) ||
	    (!subleaf_known && captures_has_subleaves(leaf)) ||
	    !captures_cpuid(captures, leaf, subleaf, out, varies))
		return false;
	for (unsigned i = 0; i < 4; i++)
		put_told(m, regs[i], out[i], varies[i]);
	return true;
}

/* rdtsc and the like: no probe is in a library, so what they tell is not known. */
static int at_chance(struct value_run *run)
{
	struct value_machine *m = run->machine;
	const struct value_insn *insn = value_machine_insn(m, value_machine_state(m)->rip);
	if (!insn)
		return go_blind(run, "no instruction");
	uint64_t bits = 0;
	for (int i = 0; i < insn->n_access; i++) {
		const struct value_access *a = &insn->access[i];
		if (a->write && a->kind == VALUE_ACCESS_GPR)
			bits |= (uint64_t)1 << a->reg;
		if (a->write && a->kind == VALUE_ACCESS_FLAGS)
			bits |= (uint64_t)1 << VALUE_BIT_FLAGS;
	}
	if (!value_run_vectors(run, insn) && !tell_processor(run, insn))
		value_forget(m, bits, VALUE_UNKNOWN);
	return value_machine_skip(m, NULL) ? VALUE_REPLAY_NO_MEMORY : VALUE_REPLAY_LIMIT;
}

/* Of a byte with bits that nobody has set none is known, so neither is one of them that was set: a
 * jump on it goes by what is there, as by something assumed. Of a call that has gone on for long it
 * does not: a loop whose end is not known may have none here. Nor where records lack bytes, of
 * which nothing is there. */
static int suppose_flags(struct value_run *run)
{
	struct value_machine *m = run->machine;
	const struct value_insn *insn = value_machine_insn(m, value_machine_state(m)->rip);
	if (run->turned || run->left_out || !insn || insn->kind != VALUE_INSN_JCC ||
	    value_machine_count(m) >= SUPPOSED_INSNS)
		return go_blind(run, "a branch on a value that is not known");
	value_forget(m, (uint64_t)1 << VALUE_BIT_FLAGS, VALUE_ASSUMED);
	return VALUE_REPLAY_LIMIT;
}

static int one_stop(struct value_run *run)
{
	struct value_machine *m = run->machine;
	const struct capture *c = value_run_record(run);
	if (value_run_expect(run))
		return VALUE_REPLAY_NO_MEMORY;
	struct value_trace *trace = value_writes_trace(run->writes);
	enum value_stop stop = value_machine_run(m, value_machine_count(m) + STEP, trace);
	value_writes_tell(run->writes, m);
	value_run_note_supposed(run);
	if (run->turned && run->supposition.holds)
		return go_blind(run, "a branch, or a store's address, that is assumed");
	switch (stop) {
	case VALUE_STOP_LIMIT:
		return value_machine_count(m) < (run->turned ? TURNED_INSNS : LIBRARY_INSNS) &&
				       !run->supposition.holds
			       ? VALUE_REPLAY_LIMIT
			       : go_blind(run, "a loop without an end");
	case VALUE_STOP_TRACE_FULL:
		return VALUE_REPLAY_LIMIT;
	case VALUE_STOP_OUTSIDE:
		return arrive(run);
	case VALUE_STOP_PLACE:
		return at_place(run);
	case VALUE_STOP_SYSCALL:
		if (value_run_pass_missed(run, value_run_at_call))
			return VALUE_REPLAY_NO_MEMORY;
		c = value_run_record(run);
		if (c && c->kind != CAPTURE_KERNEL && c->kind != CAPTURE_END &&
		    c->kind != CAPTURE_EXEC && c->kind != CAPTURE_SWITCH) {
			/* It may be of what was executed before the library was. */
			if (c->kind == CAPTURE_SIGNAL &&
			    !value_libraries_has(&run->libraries, c->ip))
				value_run_strayed(run, false);
			return go_blind(run, "a system call whose record is not the next");
		}
		if (c && c->kind != CAPTURE_SWITCH && run->supposition.holds &&
		    !value_run_same_call(run, c))
			return go_blind(run, "a system call that is not the one recorded");
		return value_run_syscall(run);
	case VALUE_STOP_CHANCE:
		return at_chance(run);
	case VALUE_STOP_NO_MEMORY:
		return VALUE_REPLAY_NO_MEMORY;
	case VALUE_STOP_UNKNOWN_BRANCH:
		return suppose_flags(run);
	case VALUE_STOP_UNKNOWN_STORE:
		return go_blind(run, "a store to an address that is not known");
	case VALUE_STOP_FAULT:
		if (run->turned)
			return value_run_turned_crash(run, SIGSEGV, "it crashes in a library");
		return go_blind(run, "an access that would have faulted");
	case VALUE_STOP_TRAP:
		return go_blind(run, "bytes that are no instruction");
	default:
		return go_blind(run, "a loop without an end");
	}
}

int value_run_library(struct value_run *run)
{
	struct value_machine *m = run->machine;
	int stop = VALUE_REPLAY_LIMIT;
	run->count = value_machine_count(m);
	run->executing = true;
	value_machine_inexact(m, &run->assumed, &run->unknown);
	value_machine_set_count(m, 0);
	value_machine_side(m, VALUE_SIDE_LIBRARY);
	while (stop == VALUE_REPLAY_LIMIT && run->in_library &&
	       !(run->stop_behind && run->next >= run->stop_behind)) {
		stop = one_stop(run);
		stop = stop == VALUE_REPLAY_LIMIT ? value_run_neighbours(run) : stop;
	}
	value_machine_side(m, VALUE_SIDE_TRACED);
	value_machine_set_count(m, run->count);
	run->executing = false;
	value_machine_set_inexact(m, run->assumed, run->unknown);
	return stop;
}

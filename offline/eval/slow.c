// SPDX-License-Identifier: LGPL-2.1-or-later
/* slow.c: one instruction whose inputs are not all exact, that has no semantics, or that faults.
 * The values are computed as ever, from whatever bytes stand there; what they are worth is worked
 * out here, from what the instruction reads and writes (insn.h). */
#include "offline/eval/step.h"

#include <string.h>

enum { DONE = STEP_DONE };

/* What the destination of bsf was, if the number whose bits are looked for is not 0. */
static bool does_not_matter(const struct step *s, const struct value_access *a)
{
	const struct value_insn *insn = s->insn;
	uint64_t of = 0;
	uint8_t quality = VALUE_EXACT;
	bool first =
		(insn->mnemonic == ZYDIS_MNEMONIC_BSF || insn->mnemonic == ZYDIS_MNEMONIC_BSR) &&
		a == &insn->access[0];
	if (first && insn->n_mem)
		return !value_memory_read(s->m->memory,
					  value_place_address(&insn->mem[0], &s->m->state), &of,
					  insn->mem[0].len, &quality) &&
		       !quality && of;
	if (!first || insn->n_access < 2 || insn->access[1].kind != VALUE_ACCESS_GPR ||
	    is_inexact(&s->m->known, insn->access[1].reg))
		return false;
	memcpy(&of, &s->m->state.gpr[insn->access[1].reg], insn->access[1].len);
	return of;
}

/* Notes why an input is not exact, unless another one is worse, or its reason says more. */
static void note_reason(struct step *s, uint8_t quality, uint8_t reason, uint8_t reg)
{
	if (quality < s->reason_for || (quality == s->reason_for && reason >= s->reason))
		return;
	s->reason_for = quality;
	s->reason = reason;
	s->reg = reg;
}

static void note_register(struct step *s, const struct value_access *a, uint8_t quality)
{
	static const uint8_t others[] = {
		[VALUE_ACCESS_FLAGS] = VALUE_BIT_FLAGS,	  [VALUE_ACCESS_X87] = VALUE_BIT_X87,
		[VALUE_ACCESS_MXCSR] = VALUE_BIT_MXCSR,	  [VALUE_ACCESS_DF] = VALUE_BIT_DF,
		[VALUE_ACCESS_STICKY] = VALUE_BIT_STICKY,
	};
	const struct value_known *k = &s->m->known;
	unsigned bit = a->kind == VALUE_ACCESS_GPR   ? a->reg
		       : a->kind != VALUE_ACCESS_VEC ? others[a->kind]
		       : a->reg >= VALUE_VECS	     ? VALUE_BIT_WIDE
		       : a->off < 16		     ? VALUE_BIT_VEC + a->reg
						     : VALUE_BIT_HIGH + a->reg;
	bool forgotten = k->forgotten & k->inexact & (uint64_t)1 << bit;
	note_reason(s, quality, forgotten ? VALUE_OF_FORGOTTEN : VALUE_OF_COMPUTED, (uint8_t)bit);
}

/* Counts the instruction, whose result is worth @quality. */
static void count_inexact(struct step *s, uint8_t quality)
{
	struct value_machine *m = s->m;
	m->assumed += quality == VALUE_ASSUMED;
	m->unknown += quality == VALUE_UNKNOWN;
	if (!quality || m->side != VALUE_SIDE_TRACED)
		return;
	value_inexacts_add(
		&m->inexacts,
		&(struct value_inexact){.ip = s->insn->ip,
					.quality = quality,
					.reason = s->reason,
					.reg = s->reason == VALUE_OF_FORGOTTEN ? s->reg : 0});
}

/* A general register that was forgotten, and that somebody may still know, is asked for once. */
static void recall(struct value_machine *m, const struct value_access *a)
{
	struct value_known *k = &m->known;
	uint64_t value;
	if (!m->recall || a->kind != VALUE_ACCESS_GPR || !a->read ||
	    !(k->inexact & k->forgotten & (uint64_t)1 << a->reg) || !k->said[a->reg])
		return;
	if (m->recall(m->recall_ctx, a->reg, k->said[a->reg], &value))
		value_set_gpr(m, a->reg, value, VALUE_EXACT);
	else
		k->said[a->reg] = 0;
}

/* The qualities of bytes in memory. False: they are not there, or not to be written. */
static bool look_there(struct step *s, int i, size_t off, size_t len)
{
	struct value_memory *memory = s->m->memory;
	const uint64_t at = s->place[i] + off;
	if (s->insn->mem[i].write && (!value_memory_lookup(memory, at, true) ||
				      !value_memory_lookup(memory, at + len - 1, true)))
		return false;
	return !value_memory_read_qualities(memory, at, s->qualities[i] + off, len);
}

/* The same of the lanes that are touched. */
static bool look_at_lanes(struct step *s, int i, const struct value_access *a)
{
	const size_t len = s->insn->mem[i].len;
	const unsigned n = s->insn->lanes.n;
	bool there = true, touched = false;
	memset(s->qualities[i], VALUE_EXACT, len);
	for (unsigned lane = 0; lane < n; lane++) {
		bool is = value_lane_is_touched(s, lane);
		touched |= is;
		if (is && a->lane)
			there &= look_there(s, i, (size_t)lane * a->lane, a->lane);
	}
	return a->lane ? there : !touched;
}

static bool look_at_memory(struct step *s, int i, const struct value_access *a)
{
	const size_t len = s->insn->mem[i].len;
	uint8_t q[MEMORY_MAX];
	if (len > MEMORY_MAX ||
	    (!look_there(s, i, 0, len) && !(s->insn->lanes.forgiving && look_at_lanes(s, i, a))))
		return false;
	memcpy(q, s->qualities[i], len);
	value_lanes_leave_out(s, a, q, len);
	uint8_t w = s->insn->mem[i].read ? worst(q, len) : VALUE_EXACT;
	if (w)
		note_reason(s, w, VALUE_OF_MEMORY, 0);
	s->in = worse(s->in, w);
	return true;
}

static void look_at_register(struct step *s, const struct value_access *a)
{
	uint8_t q[MEMORY_MAX];
	const size_t n = value_step_get(s, a, q);
	value_lanes_leave_out(s, a, q, n);
	const uint8_t w = worst(q, n);
	if (a->kind == VALUE_ACCESS_FLAGS && a->write) {
		/* Nothing but these flags themselves is of it. */
		s->kept = a->conditional ? w : VALUE_EXACT;
		return;
	}
	if (w)
		note_register(s, a, w);
	s->in = worse(s->in, w);
	s->address = a->address ? worse(s->address, w) : s->address;
}

/* What is read, and how good it is. False: a page is not there. */
static bool look(struct step *s)
{
	const struct value_insn *insn = s->insn;
	value_lanes_begin(s);
	for (int i = 0; i < insn->n_access; i++) {
		const struct value_access *a = &insn->access[i];
		recall(s->m, a);
		if (a->kind != VALUE_ACCESS_MEMORY && a->read && !does_not_matter(s, a))
			look_at_register(s, a);
	}
	for (int i = 0; i < insn->n_mem; i++)
		s->place[i] = value_place_address(&insn->mem[i], &s->m->state);
	for (int i = 0; i < insn->n_access; i++) {
		const struct value_access *a = &insn->access[i];
		if (a->kind == VALUE_ACCESS_MEMORY && s->address != VALUE_UNKNOWN &&
		    insn->kind != VALUE_INSN_STRING && !look_at_memory(s, a->reg, a))
			return false;
	}
	return true;
}

static bool writes_memory(const struct value_insn *insn)
{
	for (int i = 0; i < insn->n_mem; i++)
		if (insn->mem[i].write)
			return true;
	return false;
}

/* What moves the stack pointer beside its work; of another instruction it is an operand. */
static bool moves_stack(const struct value_insn *insn)
{
	return insn->kind == VALUE_INSN_CALL || insn->kind == VALUE_INSN_CALL_IND ||
	       insn->kind == VALUE_INSN_RET || insn->mnemonic == ZYDIS_MNEMONIC_PUSH ||
	       insn->mnemonic == ZYDIS_MNEMONIC_POP || insn->mnemonic == ZYDIS_MNEMONIC_PUSHFQ ||
	       insn->mnemonic == ZYDIS_MNEMONIC_POPFQ;
}

/* Returns the worst quality of what is written. */
static uint8_t put_all(struct step *s, uint8_t quality)
{
	uint8_t q[MEMORY_MAX], flags = worse(quality, s->kept), all = quality;
	memset(q, quality, sizeof(q));
	for (int i = 0; i < s->insn->n_access; i++) {
		const struct value_access *a = &s->insn->access[i];
		/* rsp moves by a number that is known, whatever is pushed. */
		bool stack = a->kind == VALUE_ACCESS_GPR && a->reg == VALUE_RSP && a->read &&
			     s->address == VALUE_EXACT && moves_stack(s->insn) && s->insn->computed;
		bool kept = a->kind == VALUE_ACCESS_FLAGS && a->read;
		if (a->write && !stack)
			value_step_put(s, a, kept ? &flags : q);
		if (a->write && kept)
			all = flags;
	}
	return all;
}

/* Byte by byte from the only source to the only destination, which may be rows. */
static void put_copy(struct step *s, const uint8_t *source, size_t n)
{
	uint8_t q[2 * MEMORY_MAX] = {0};
	size_t at = 0;
	for (size_t i = 0; i < n; i++)
		q[i] = worse(source[i], s->address);
	for (int i = 0; i < s->insn->n_access; i++) {
		const struct value_access *a = &s->insn->access[i];
		if (!a->write || (a->kind == VALUE_ACCESS_GPR && a->reg == VALUE_RSP && a->read))
			continue;
		value_step_put(s, a, q + at);
		if (!s->address)
			value_step_put_bits(s, a, s->bits + at);
		at += a->kind == VALUE_ACCESS_VEC ? a->len : 0;
	}
}

static size_t copy_source(struct step *s, uint8_t q[MEMORY_MAX])
{
	size_t n = 0;
	for (int i = 0; i < s->insn->n_access; i++) {
		const struct value_access *a = &s->insn->access[i];
		if (a->read && !a->address &&
		    !(a->kind == VALUE_ACCESS_GPR && a->reg == VALUE_RSP && a->write) &&
		    (!n || a->kind == VALUE_ACCESS_VEC)) {
			size_t more = value_step_get(s, a, q + n);
			value_step_get_bits(s, a, q + n, s->bits + n);
			n += more;
		}
	}
	return n;
}

/* The qualities of the two inputs of xchg; what is behind them in a register becomes zeros. */
static void swap_sources(const struct step *s, uint8_t q[2][8])
{
	unsigned n = 0;
	memset(q, VALUE_EXACT, 2 * sizeof(*q));
	for (int i = 0; i < s->insn->n_access && n < 2; i++) {
		uint8_t of[MEMORY_MAX];
		const struct value_access *a = &s->insn->access[i];
		if (a->read && !a->address)
			memcpy(q[n++], of, value_step_get(s, a, of));
	}
}

/* Returns the worst of them. */
static uint8_t put_swapped(struct step *s, uint8_t q[2][8])
{
	unsigned n = 0;
	for (unsigned i = 0; i < 16; i++)
		q[i / 8][i % 8] = worse(q[i / 8][i % 8], s->address);
	for (int i = 0; i < s->insn->n_access && n < 2; i++)
		if (s->insn->access[i].write)
			value_step_put(s, &s->insn->access[i], q[!n++]);
	return worse(worst(q[0], 8), worst(q[1], 8));
}

/* Where an instruction last was is stored by fnstenv and fnsave, and is not followed here. */
static void forget_pointers(struct step *s)
{
	const struct value_insn *insn = s->insn;
	if (!value_insn_points(insn))
		return;
	bool narrow = insn->mem[0].len == 14 || insn->mem[0].len == 94;
	value_memory_set_quality(s->m->memory, s->place[0] + (narrow ? 6 : 12), narrow ? 8 : 16,
				 VALUE_UNKNOWN);
}

static bool decides(const struct value_insn *insn)
{
	/* Where all that lies that is relative to the base, of which no quality is kept. */
	bool base = insn->mnemonic == ZYDIS_MNEMONIC_WRFSBASE ||
		    insn->mnemonic == ZYDIS_MNEMONIC_WRGSBASE;

	return base || insn->kind == VALUE_INSN_JCC || insn->kind == VALUE_INSN_RET ||
	       insn->kind == VALUE_INSN_JUMP_IND || insn->kind == VALUE_INSN_CALL_IND;
}

/* The worst quality of the bytes in memory that a string instruction has been over: read, or, where
 * it stores, stored, which the turns have told byte by byte. What they were worth is worse if the
 * count or an address is. */
static uint8_t string_quality(struct step *s, uint64_t rsi, uint64_t rdi, uint64_t turns,
			      uint8_t steered)
{
	const bool stores = writes_memory(s->insn);
	size_t size = s->insn->mem[0].len, len = turns * size;
	bool down = s->m->state.df;
	uint8_t w = stores ? steered : s->in;
	for (int i = 0; i < s->insn->n_mem; i++) {
		uint64_t at = s->insn->mem[i].base == VALUE_RSI ? rsi : rdi;
		uint64_t from = down && turns ? at - (len - size) : at;
		bool seen = stores ? s->insn->mem[i].write : s->insn->mem[i].read;
		for (size_t k = 0; seen && k < len; k++) {
			uint8_t q = VALUE_UNKNOWN;
			value_memory_read_qualities(s->m->memory, from + k, &q, 1);
			q = stores ? worse(q, steered) : q;
			if (stores && steered)
				value_memory_set_quality(s->m->memory, from + k, 1, q);
			w = worse(w, q);
		}
	}
	return w;
}

/* Of what says how often and where: all registers but the one that stos stores. */
static uint8_t string_steered(const struct step *s)
{
	uint8_t q[MEMORY_MAX], w = VALUE_EXACT;
	for (int i = 0; i < s->insn->n_access; i++) {
		const struct value_access *a = &s->insn->access[i];
		bool data = a->kind == VALUE_ACCESS_MEMORY ||
			    (a->kind == VALUE_ACCESS_GPR && a->reg == VALUE_RAX);
		if (a->read && !data)
			w = worse(w, worst(q, value_step_get(s, a, q)));
	}
	return w;
}

/* The registers that a string instruction writes; flags are as they were before if it has done
 * nothing. */
static void put_registers(struct step *s, uint8_t quality, bool turned)
{
	uint8_t q[MEMORY_MAX];
	memset(q, quality, sizeof(q));
	for (int i = 0; i < s->insn->n_access; i++) {
		struct value_access a = s->insn->access[i];
		if (a.kind == VALUE_ACCESS_FLAGS && turned)
			a.read = a.conditional = false;
		if (a.write && a.kind != VALUE_ACCESS_MEMORY)
			value_step_put(s, &a, q);
	}
}

static int string_step(struct step *s, struct value_block *b, struct value_trace *trace)
{
	struct value_machine *m = s->m;
	const bool stores = writes_memory(s->insn);
	const uint8_t steered = stores ? string_steered(s) : s->in;
	if (s->address == VALUE_UNKNOWN)
		return VALUE_STOP_UNKNOWN_STORE;
	if (steered == VALUE_UNKNOWN && stores)
		return VALUE_STOP_UNKNOWN_BRANCH;
	m->supposed |= steered == VALUE_ASSUMED && stores;
	const uint64_t rsi = m->state.gpr[VALUE_RSI], rdi = m->state.gpr[VALUE_RDI];
	const uint64_t rcx = m->state.gpr[VALUE_RCX];
	m->loose = true;
	int stop = value_exec_single(m, b, trace);
	m->loose = false;
	if (stop != VALUE_STOP_LIMIT)
		return stop == STOP_SLOW ? VALUE_STOP_FAULT : stop;
	const struct value_op *op = &b->ops[b->insns[0].first_op];
	uint64_t turns = op->b ? rcx - m->state.gpr[VALUE_RCX] : 1;
	uint8_t w = string_quality(s, rsi, rdi, turns, steered);
	if (w > s->in)
		note_reason(s, w, VALUE_OF_MEMORY, 0);
	put_registers(s, stores ? steered : w, turns);
	count_inexact(s, w);
	return DONE;
}

int value_step_slow(struct value_machine *m, struct value_trace *trace)
{
	bool no_memory = false;
	struct value_block *b = value_translate(m, m->state.rip, true, &no_memory);
	if (!b)
		return no_memory				? VALUE_STOP_NO_MEMORY
		       : value_machine_is_code(m, m->state.rip) ? VALUE_STOP_TRAP
								: VALUE_STOP_OUTSIDE;
	const struct value_insn *insn = &b->insns[0];
	struct step s = {.m = m, .insn = insn, .reason = VALUE_REASONS};
	if (insn->kind == VALUE_INSN_CHANCE)
		return VALUE_STOP_CHANCE;
	if (!look(&s))
		return VALUE_STOP_FAULT;
	if (insn->kind == VALUE_INSN_STRING && insn->computed)
		return string_step(&s, b, trace);
	if ((s.address == VALUE_UNKNOWN && writes_memory(insn)) || insn->scatters)
		return VALUE_STOP_UNKNOWN_STORE;
	if (decides(insn) && s.in == VALUE_UNKNOWN)
		return VALUE_STOP_UNKNOWN_BRANCH;
	m->supposed |= (decides(insn) && s.in == VALUE_ASSUMED) ||
		       (s.address == VALUE_ASSUMED && writes_memory(insn));
	uint8_t source[MEMORY_MAX], out = insn->computed ? s.in : VALUE_UNKNOWN;
	uint8_t swapped[2][8];
	size_t n = insn->flow == VALUE_FLOW_COPY ? copy_source(&s, source) : 0;
	if (insn->flow == VALUE_FLOW_SWAP)
		swap_sources(&s, swapped);
	if (!insn->computed) {
		note_reason(&s, VALUE_UNKNOWN, VALUE_OF_NO_SEMANTICS, 0);
		m->state.no_tops |= insn->no_tops;
	}
	m->loose = true;
	m->guessing = s.address == VALUE_UNKNOWN || out == VALUE_UNKNOWN;
	bool by_bytes = insn->computed && value_step_worth(&s, b, source);
	int stop = value_exec_single(m, b, trace);
	m->loose = m->guessing = false;
	if (stop == STOP_SLOW || (stop == VALUE_STOP_FAULT && out == VALUE_UNKNOWN)) {
		/* Not to be computed with these inputs, or this MXCSR: then nothing is known of it.
		 */
		out = VALUE_UNKNOWN;
		note_reason(&s, VALUE_UNKNOWN, VALUE_OF_NO_SEMANTICS, 0);
		value_trace_insn(m, trace, b);
		m->state.rip += insn->len;
		m->count++;
	} else if (stop == VALUE_STOP_SYSCALL) {
		value_forget(m, (uint64_t)1 << 11, s.in);
		value_forget(m, (uint64_t)1 << VALUE_RCX, VALUE_EXACT);
		return stop;
	} else if (stop != VALUE_STOP_LIMIT) {
		return stop;
	}
	if (insn->flow == VALUE_FLOW_COPY && n && s.address != VALUE_UNKNOWN && insn->computed &&
	    stop == VALUE_STOP_LIMIT) {
		put_copy(&s, source, n);
		out = worse(s.address, worst(source, n));
	} else if (insn->flow == VALUE_FLOW_SWAP && insn->computed && stop == VALUE_STOP_LIMIT &&
		   s.address != VALUE_UNKNOWN) {
		out = put_swapped(&s, swapped);
	} else if (by_bytes && stop == VALUE_STOP_LIMIT) {
		out = value_step_put_bytes(&s, source);
	} else {
		if (insn->flow == VALUE_FLOW_FRESH && stop == VALUE_STOP_LIMIT && insn->computed)
			out = VALUE_EXACT;
		out = put_all(&s, out);
		forget_pointers(&s);
	}
	bool writes = false;
	for (int i = 0; i < insn->n_access; i++)
		writes |= insn->access[i].write;
	if (writes)
		count_inexact(&s, out);
	return DONE;
}

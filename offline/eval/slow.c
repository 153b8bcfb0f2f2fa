// SPDX-License-Identifier: LGPL-2.1-or-later
/* slow.c: one instruction whose inputs are not all exact, that has no semantics, or that faults.
 * The values are computed as ever, from whatever bytes stand there; what they are worth is worked
 * out here, from what the instruction reads and writes (insn.h). */
#include "offline/eval/machine_impl.h"

#include <string.h>

enum { DONE = STEP_DONE, MEMORY_MAX = VALUE_STUB_BUFFER };

struct step {
	struct value_machine *m;
	const struct value_insn *insn;
	uint8_t in;			  /* the worst quality of all that is read */
	uint8_t kept;			  /* of the flags, where some stay as they were */
	uint8_t address;		  /* of what addresses are computed from */
	uint64_t place[2];		  /* addresses of the memory operands */
	uint8_t qualities[2][MEMORY_MAX]; /* of the memory that is read */
};

static uint8_t worse(uint8_t a, uint8_t b)
{
	return a > b ? a : b;
}

static uint8_t worst(const uint8_t *q, size_t n)
{
	uint8_t w = VALUE_EXACT;
	for (size_t i = 0; i < n; i++)
		w = worse(w, q[i]);
	return w;
}

/* --- qualities of registers ------------------------------------------------------------------ */

static bool is_inexact(const struct value_known *k, unsigned bit)
{
	return k->inexact >> bit & 1;
}

static void mark(struct value_known *k, unsigned bit, bool inexact)
{
	k->inexact = (k->inexact & ~((uint64_t)1 << bit)) | (uint64_t)inexact << bit;
}

static void get_vec(const struct value_known *k, unsigned reg, uint8_t out[32])
{
	memcpy(out, k->vec[reg], 32);
	if (!is_inexact(k, VALUE_BIT_VEC + reg))
		memset(out, 0, 16);
	if (!is_inexact(k, VALUE_BIT_HIGH + reg))
		memset(out + 16, 0, 16);
}

/* The qualities of the bytes that @a reads; returns how many. */
static size_t get(const struct step *s, const struct value_access *a, uint8_t out[MEMORY_MAX])
{
	const struct value_known *k = &s->m->known;
	uint8_t all[32] = {0};
	switch (a->kind) {
	case VALUE_ACCESS_GPR:
		if (is_inexact(k, a->reg))
			memcpy(all, k->gpr[a->reg], 8);
		memcpy(out, all + a->off, a->len);
		return a->len;
	case VALUE_ACCESS_VEC:
		get_vec(k, a->reg, all);
		memcpy(out, all + a->off, a->len);
		return a->len;
	case VALUE_ACCESS_FLAGS:
		*out = is_inexact(k, VALUE_BIT_FLAGS) ? k->flags : 0;
		return 1;
	case VALUE_ACCESS_X87:
		*out = is_inexact(k, VALUE_BIT_X87) ? k->x87 : 0;
		return 1;
	case VALUE_ACCESS_MXCSR:
		*out = is_inexact(k, VALUE_BIT_MXCSR) ? k->mxcsr : 0;
		return 1;
	case VALUE_ACCESS_DF:
		*out = is_inexact(k, VALUE_BIT_DF) ? k->df : 0;
		return 1;
	case VALUE_ACCESS_STICKY:
		*out = is_inexact(k, VALUE_BIT_STICKY) ? k->sticky : 0;
		return 1;
	default: {
		size_t len = s->insn->mem[a->reg].len;
		memcpy(out, s->qualities[a->reg], len);
		return len;
	}
	}
}

static void put(struct step *s, const struct value_access *a, const uint8_t *q)
{
	struct value_known *k = &s->m->known;
	uint8_t all[32] = {0};
	switch (a->kind) {
	case VALUE_ACCESS_GPR:
		if (is_inexact(k, a->reg))
			memcpy(all, k->gpr[a->reg], 8);
		memcpy(all + a->off, q, a->len);
		memcpy(k->gpr[a->reg], all, 8);
		mark(k, a->reg, worst(all, 8));
		break;
	case VALUE_ACCESS_VEC:
		get_vec(k, a->reg, all);
		memcpy(all + a->off, q, a->len);
		memcpy(k->vec[a->reg], all, 32);
		mark(k, VALUE_BIT_VEC + a->reg, worst(all, 16));
		mark(k, VALUE_BIT_HIGH + a->reg, worst(all + 16, 16));
		break;
	case VALUE_ACCESS_FLAGS:
		k->flags = *q;
		mark(k, VALUE_BIT_FLAGS, *q);
		break;
	case VALUE_ACCESS_X87:
		k->x87 = *q;
		mark(k, VALUE_BIT_X87, *q);
		break;
	case VALUE_ACCESS_MXCSR:
		k->mxcsr = *q;
		mark(k, VALUE_BIT_MXCSR, *q);
		break;
	case VALUE_ACCESS_DF:
		k->df = *q;
		mark(k, VALUE_BIT_DF, *q);
		break;
	case VALUE_ACCESS_STICKY:
		k->sticky = a->conditional && is_inexact(k, VALUE_BIT_STICKY) ? worse(k->sticky, *q)
									      : *q;
		mark(k, VALUE_BIT_STICKY, k->sticky);
		break;
	default:
		value_memory_write_qualities(s->m->memory, s->place[a->reg], q,
					     s->insn->mem[a->reg].len);
	}
}

/* --- one step -------------------------------------------------------------------------------- */

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

/* What is read, and how good it is. False: a page is not there. */
static bool look(struct step *s)
{
	const struct value_insn *insn = s->insn;
	uint8_t q[MEMORY_MAX];
	for (int i = 0; i < insn->n_access; i++) {
		const struct value_access *a = &insn->access[i];
		if (a->kind != VALUE_ACCESS_MEMORY && a->read && !does_not_matter(s, a)) {
			uint8_t w = worst(q, get(s, a, q));
			if (a->kind == VALUE_ACCESS_FLAGS && a->write) {
				s->kept = w; /* nothing but these flags themselves is of it */
				continue;
			}
			s->in = worse(s->in, w);
			s->address = a->address ? worse(s->address, w) : s->address;
		}
	}
	for (int i = 0; i < insn->n_mem; i++) {
		s->place[i] = value_place_address(&insn->mem[i], &s->m->state);
		if (s->address == VALUE_UNKNOWN || insn->kind == VALUE_INSN_STRING)
			continue;
		size_t len = insn->mem[i].len;
		if (len > MEMORY_MAX)
			return false;
		if (insn->mem[i].write &&
		    (!value_memory_lookup(s->m->memory, s->place[i], true) ||
		     !value_memory_lookup(s->m->memory, s->place[i] + len - 1, true)))
			return false;
		if (value_memory_read_qualities(s->m->memory, s->place[i], s->qualities[i], len))
			return false;
		if (insn->mem[i].read)
			s->in = worse(s->in, worst(s->qualities[i], len));
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
			put(s, a, kept ? &flags : q);
		if (a->write && kept)
			all = flags;
	}
	return all;
}

/* Byte by byte from the only source to the only destination. */
static void put_copy(struct step *s, const uint8_t *source, size_t n)
{
	uint8_t q[MEMORY_MAX] = {0};
	for (size_t i = 0; i < n; i++)
		q[i] = worse(source[i], s->address);
	for (int i = 0; i < s->insn->n_access; i++) {
		const struct value_access *a = &s->insn->access[i];
		if (a->write && !(a->kind == VALUE_ACCESS_GPR && a->reg == VALUE_RSP && a->read))
			put(s, a, q);
	}
}

static size_t copy_source(const struct step *s, uint8_t q[MEMORY_MAX])
{
	for (int i = 0; i < s->insn->n_access; i++) {
		const struct value_access *a = &s->insn->access[i];
		if (a->read && !a->address &&
		    !(a->kind == VALUE_ACCESS_GPR && a->reg == VALUE_RSP && a->write))
			return get(s, a, q);
	}
	return 0;
}

/* --- byte by byte: what a bitwise operation or a sum is worth --------------------------------- */

enum { WIDEST = 32 }; /* bytes of such an operation */

static bool by_bytes(uint8_t flow)
{
	return flow == VALUE_FLOW_BITS || flow == VALUE_FLOW_AND || flow == VALUE_FLOW_OR ||
	       flow == VALUE_FLOW_CARRY || flow == VALUE_FLOW_SELECT;
}

/* The bytes that @a reads. */
static void bytes_read(const struct step *s, const struct value_access *a, uint8_t *out, size_t n)
{
	const struct value_state *state = &s->m->state;
	if (a->kind == VALUE_ACCESS_GPR)
		memcpy(out, (const uint8_t *)&state->gpr[a->reg] + a->off, n);
	else if (a->kind == VALUE_ACCESS_VEC)
		memcpy(out, state->vec[a->reg] + a->off, n);
	else if (value_memory_read(s->m->memory, s->place[a->reg], out, n, NULL))
		memset(out, 0x55, n); /* settles nothing */
}

/* An input with @n bytes and their qualities @q is one of the operation's. */
static void fold(struct step *s, const uint8_t *bytes, const uint8_t *q, size_t n, uint8_t *out,
		 bool *settled)
{
	uint8_t flow = s->insn->flow, carried = VALUE_EXACT;
	for (size_t i = 0; i < n; i++) {
		carried = flow == VALUE_FLOW_CARRY ? worse(carried, q[i]) : q[i];
		out[i] = worse(out[i], carried);
		settled[i] |= q[i] == VALUE_EXACT && ((flow == VALUE_FLOW_AND && !bytes[i]) ||
						      (flow == VALUE_FLOW_OR && bytes[i] == 0xff));
	}
}

/* The qualities of the result's bytes, before it is computed. */
static void fold_all(struct step *s, uint8_t out[WIDEST])
{
	const struct value_insn *insn = s->insn;
	uint8_t bytes[MEMORY_MAX], q[MEMORY_MAX];
	bool settled[WIDEST] = {0};
	memset(out, VALUE_EXACT, WIDEST);
	for (int i = 0; i < insn->n_access; i++) {
		const struct value_access *a = &insn->access[i];
		if (!a->read || a->address || a->kind == VALUE_ACCESS_FLAGS)
			continue;
		size_t n = get(s, a, q);
		n = n < WIDEST ? n : WIDEST;
		bytes_read(s, a, bytes, n);
		fold(s, bytes, q, n, out, settled);
	}
	if (insn->has_imm) {
		memset(q, VALUE_EXACT, sizeof(insn->imm));
		fold(s, (const uint8_t *)&insn->imm, q, sizeof(insn->imm), out, settled);
	}
	for (size_t i = 0; i < WIDEST; i++)
		out[i] = worse(settled[i] ? VALUE_EXACT : out[i], s->address);
}

/* Whether the condition that a jump, setcc or cmov has in the low four bits of its opcode holds
 * (Intel SDM 2, appendix B.1.4.7). */
static bool holds(uint8_t condition, const struct value_state *state)
{
	const uint64_t f = value_rflags(state);
	const bool carry = f & 1, parity = f & 4, zero = f & 0x40, sign = f & 0x80;
	const bool overflow = f & 0x800, less = sign != overflow;
	const bool of_pairs[] = {overflow, carry,  zero, carry || zero,
				 sign,	   parity, less, less || zero};
	return of_pairs[condition >> 1] != (condition & 1);
}

/* Flags that are known say which of the two inputs it is: the destination as it was, or the
 * source behind it. Else a byte is as good as the worst of the three. */
static void select_one(struct step *s, uint8_t out[WIDEST])
{
	const struct value_insn *insn = s->insn;
	uint8_t q[MEMORY_MAX],
		flags = is_inexact(&s->m->known, VALUE_BIT_FLAGS) ? s->m->known.flags : VALUE_EXACT;
	unsigned n_inputs = 0, chosen = holds(insn->condition, &s->m->state);
	memset(out, flags, WIDEST);
	for (int i = 0; i < insn->n_access; i++) {
		const struct value_access *a = &insn->access[i];
		if (!a->read || a->address || a->kind == VALUE_ACCESS_FLAGS)
			continue;
		size_t n = get(s, a, q);
		if (flags == VALUE_EXACT && n_inputs++ != chosen)
			continue;
		for (size_t b = 0; b < n && b < WIDEST; b++)
			out[b] = worse(out[b], q[b]);
	}
	/* A source whose address is not known may also be one that cannot be read. */
	for (size_t b = 0; b < WIDEST; b++)
		out[b] = worse(out[b], s->address);
}

/* Flags are of all bytes, and of what they were if not all of them are written. Returns the worst
 * of what is written. */
static uint8_t put_bytes(struct step *s, const uint8_t q[WIDEST])
{
	uint8_t all = worst(q, WIDEST), flags = all;
	for (int i = 0; i < s->insn->n_access; i++) {
		const struct value_access *a = &s->insn->access[i];
		if (!a->write)
			continue;
		if (a->kind == VALUE_ACCESS_FLAGS && a->read)
			flags = worse(flags, s->kept);
		put(s, a, a->kind == VALUE_ACCESS_FLAGS ? &flags : q);
	}
	return worse(all, flags);
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
	return insn->kind == VALUE_INSN_JCC || insn->kind == VALUE_INSN_RET ||
	       insn->kind == VALUE_INSN_JUMP_IND || insn->kind == VALUE_INSN_CALL_IND;
}

/* All that a string instruction touches is as good as the worst of it. */
static uint8_t string_quality(struct step *s, uint64_t rsi, uint64_t rdi, uint64_t turns)
{
	size_t size = s->insn->mem[0].len, len = turns * size;
	bool down = s->m->state.df;
	uint8_t w = s->in;
	for (int i = 0; i < s->insn->n_mem; i++) {
		uint64_t at = s->insn->mem[i].base == VALUE_RSI ? rsi : rdi;
		uint64_t from = down && turns ? at - (len - size) : at;
		for (size_t k = 0; s->insn->mem[i].read && k < len; k++) {
			uint8_t q = VALUE_UNKNOWN;
			value_memory_read_qualities(s->m->memory, from + k, &q, 1);
			w = worse(w, q);
		}
	}
	return w;
}

static int string_step(struct step *s, struct value_block *b, struct value_trace *trace)
{
	struct value_machine *m = s->m;
	if (s->in == VALUE_UNKNOWN && (s->address == VALUE_UNKNOWN || writes_memory(s->insn)))
		return s->address == VALUE_UNKNOWN ? VALUE_STOP_UNKNOWN_STORE
						   : VALUE_STOP_UNKNOWN_BRANCH;
	m->supposed |= s->in == VALUE_ASSUMED && writes_memory(s->insn);
	const uint64_t rsi = m->state.gpr[VALUE_RSI], rdi = m->state.gpr[VALUE_RDI];
	const uint64_t rcx = m->state.gpr[VALUE_RCX];
	uint8_t count_quality = s->in;
	m->loose = true;
	int stop = value_exec_single(m, b, trace);
	m->loose = false;
	if (stop != VALUE_STOP_LIMIT)
		return stop == STOP_SLOW ? VALUE_STOP_FAULT : stop;
	const struct value_op *op = &b->ops[b->insns[0].first_op];
	uint64_t turns = op->b ? rcx - m->state.gpr[VALUE_RCX] : 1;
	uint8_t w = string_quality(s, rsi, rdi, turns);
	if (writes_memory(s->insn)) {
		size_t size = s->insn->mem[0].len, len = turns * size;
		uint64_t from = m->state.df && turns ? rdi - (len - size) : rdi;
		value_memory_set_quality(m->memory, from, len, w);
		w = count_quality;
	}
	w = put_all(s, w);
	m->assumed += w == VALUE_ASSUMED;
	m->unknown += w == VALUE_UNKNOWN;
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
	struct step s = {.m = m, .insn = insn};
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
	size_t n = insn->flow == VALUE_FLOW_COPY ? copy_source(&s, source) : 0;
	if (insn->flow == VALUE_FLOW_SELECT)
		select_one(&s, source);
	else if (by_bytes(insn->flow))
		fold_all(&s, source);
	m->loose = true;
	m->guessing = s.address == VALUE_UNKNOWN || out == VALUE_UNKNOWN;
	int stop = value_exec_single(m, b, trace);
	m->loose = m->guessing = false;
	if (stop == STOP_SLOW || (stop == VALUE_STOP_FAULT && out == VALUE_UNKNOWN)) {
		/* Not to be computed with these inputs, or this MXCSR: then nothing is known of it.
		 */
		out = VALUE_UNKNOWN;
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
	} else if (by_bytes(insn->flow) && insn->computed && stop == VALUE_STOP_LIMIT) {
		out = put_bytes(&s, source);
	} else {
		if (insn->flow == VALUE_FLOW_FRESH && stop == VALUE_STOP_LIMIT && insn->computed)
			out = VALUE_EXACT;
		out = put_all(&s, out);
		forget_pointers(&s);
	}
	bool writes = false;
	for (int i = 0; i < insn->n_access; i++)
		writes |= insn->access[i].write;
	m->assumed += writes && out == VALUE_ASSUMED;
	m->unknown += writes && out == VALUE_UNKNOWN;
	return DONE;
}

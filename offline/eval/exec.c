// SPDX-License-Identifier: LGPL-2.1-or-later
/* exec.c: runs blocks, as fast as it goes while all that they read is exact. Memory accesses look
 * into a translation cache; what it does not have, and bytes that are not exact, go through
 * functions here. */
#include "offline/eval/machine_impl.h"

#include <string.h>

typedef uint8_t u8;
typedef int8_t s8;
typedef uint16_t u16 __attribute__((may_alias, aligned(1)));
typedef int16_t s16 __attribute__((may_alias, aligned(1)));
typedef uint32_t u32 __attribute__((may_alias, aligned(1)));
typedef int32_t s32 __attribute__((may_alias, aligned(1)));
typedef uint64_t u64 __attribute__((may_alias, aligned(1)));
typedef unsigned __int128 u128 __attribute__((may_alias, aligned(1)));

#define JUMP_SLOT(ip) (((ip) ^ (ip) >> 12) % JUMPS)

/* --- memory off the fast way ----------------------------------------------------------------- */

static __attribute__((noinline)) bool slow_load(struct value_machine *m, uint64_t addr, void *out,
						size_t size)
{
	uint8_t quality;
	if (!value_memory_read(m->memory, addr, out, size, &quality))
		return quality == VALUE_EXACT || m->loose;
	if (m->guessing)
		memset(out, 0, size);
	return m->guessing;
}

static __attribute__((noinline)) bool slow_store(struct value_machine *m, uint64_t addr,
						 const void *in, size_t size)
{
	/* Both pages first, so that a fault comes before anything is written. */
	if (!value_memory_lookup(m->memory, addr, true) ||
	    !value_memory_lookup(m->memory, addr + size - 1, true))
		return false;
	return !value_memory_write(m->memory, addr, in, size, VALUE_EXACT);
}

/* Where the bytes are read and written: the page itself, or, over a page boundary, a copy that
 * rmw_done() brings back. NULL: not possible. */
static __attribute__((noinline)) void *slow_rmw(struct value_machine *m, uint64_t addr, size_t size)
{
	if (!slow_load(m, addr, m->bounce, size) || !value_memory_lookup(m->memory, addr, true) ||
	    !value_memory_lookup(m->memory, addr + size - 1, true))
		return NULL;
	m->bounced = addr;
	m->bounced_len = size;
	return m->bounce;
}

static __attribute__((noinline)) void rmw_done(struct value_machine *m)
{
	value_memory_write(m->memory, m->bounced, m->bounce, m->bounced_len, VALUE_EXACT);
	m->bounced = 0;
}

/* --- operations that are functions ------------------------------------------------------------ */

/* Divides rdx:rax, or ax, of the form's width. False: the processor would fault. */
static bool divide_8(struct value_machine *m, uint64_t by, bool sign)
{
	uint16_t n = m->state.gpr[VALUE_RAX], q, r;
	if (!(uint8_t)by)
		return false;
	if (sign) {
		int32_t d = (int16_t)n, s = (int8_t)by;
		if (d / s != (int8_t)(d / s))
			return false;
		q = (uint8_t)(d / s);
		r = (uint8_t)(d % s);
	} else {
		q = n / (uint8_t)by;
		r = n % (uint8_t)by;
		if (q > 255)
			return false;
	}
	uint64_t *rax = &m->state.gpr[VALUE_RAX];
	*rax = (*rax & ~(uint64_t)0xffff) | q | r << 8;
	return true;
}

static bool divide_16(struct value_machine *m, uint64_t by, bool sign)
{
	uint64_t *rax = &m->state.gpr[VALUE_RAX], *rdx = &m->state.gpr[VALUE_RDX];
	uint32_t n = (uint32_t)(uint16_t)*rdx << 16 | (uint16_t)*rax, q, r;
	if (!(uint16_t)by)
		return false;
	if (sign) {
		int64_t d = (int32_t)n, s = (int16_t)by;
		if (d / s != (int16_t)(d / s))
			return false;
		q = (uint16_t)(d / s);
		r = (uint16_t)(d % s);
	} else {
		q = n / (uint16_t)by;
		r = n % (uint16_t)by;
		if (q > 0xffff)
			return false;
	}
	*rax = (*rax & ~(uint64_t)0xffff) | q;
	*rdx = (*rdx & ~(uint64_t)0xffff) | r;
	return true;
}

static bool divide_32(struct value_machine *m, uint64_t by, bool sign)
{
	uint64_t *rax = &m->state.gpr[VALUE_RAX], *rdx = &m->state.gpr[VALUE_RDX];
	uint64_t n = *rdx << 32 | (uint32_t)*rax;
	if (!(uint32_t)by)
		return false;
	if (sign) {
		int64_t d = n, s = (int32_t)by;
		if (s == -1 && d == INT64_MIN)
			return false;
		if (d / s != (int32_t)(d / s))
			return false;
		*rax = (uint32_t)(d / s);
		*rdx = (uint32_t)(d % s);
	} else {
		uint64_t q = n / (uint32_t)by;
		if (q >> 32)
			return false;
		*rdx = (uint32_t)(n % (uint32_t)by);
		*rax = q;
	}
	return true;
}

static bool divide_64(struct value_machine *m, uint64_t by, bool sign)
{
	uint64_t *rax = &m->state.gpr[VALUE_RAX], *rdx = &m->state.gpr[VALUE_RDX];
	if (!by)
		return false;
	if (sign) {
		if (*rdx == (uint64_t)((int64_t)*rax >> 63) && by != UINT64_MAX) {
			int64_t d = *rax, s = by;
			*rax = d / s;
			*rdx = d % s;
			return true;
		}
		__int128 d = (__int128)((unsigned __int128)*rdx << 64 | *rax), s = (int64_t)by;
		if (s == -1 && !(uint64_t)d && *rdx == (uint64_t)1 << 63)
			return false;
		__int128 q = d / s;
		if (q != (int64_t)q)
			return false;
		*rax = q;
		*rdx = d % s;
		return true;
	}
	if (*rdx >= by)
		return false;
	if (!*rdx) {
		uint64_t n = *rax;
		*rax = n / by;
		*rdx = n % by;
		return true;
	}
	unsigned __int128 n = (unsigned __int128)*rdx << 64 | *rax;
	*rax = n / by;
	*rdx = n % by;
	return true;
}

static uint64_t op_address(const struct value_machine *m, const struct value_op *op)
{
	return m->state.gpr[op->base] + (m->state.gpr[op->index] << op->shift) + (uint64_t)op->disp;
}

/* Of memory that is not there as a whole, the lanes that a mask names. All are looked at before one
 * is written. */
static bool has_lane(const struct value_machine *m, const struct value_stub_use *use, unsigned i)
{
	return value_mask(&m->state, use->mask) >> i & 1;
}

static bool load_lanes(struct value_machine *m, const struct value_stub_use *use, uint64_t addr)
{
	if (!use->mask)
		return false;
	memset(m->buffer, 0, use->len);
	if (!use->lane)
		return !(value_mask(&m->state, use->mask) & value_lanes_all(use->lanes));
	for (unsigned i = 0, at = 0; at < use->len; i++, at += use->lane) {
		if (!has_lane(m, use, i))
			continue;
		if (!slow_load(m, addr + at, m->buffer + at, use->lane))
			return false;
		if (use->store &&
		    (!value_memory_lookup(m->memory, addr + at, true) ||
		     !value_memory_lookup(m->memory, addr + at + use->lane - 1, true)))
			return false;
	}
	return true;
}

static bool store_lanes(struct value_machine *m, const struct value_stub_use *use, uint64_t addr)
{
	bool fine = true;
	for (unsigned i = 0, at = 0; at < use->len; i++, at += use->lane)
		if (has_lane(m, use, i))
			fine &= slow_store(m, addr + at, m->buffer + at, use->lane);
	return fine;
}

static bool run_stub(struct value_machine *m, const struct value_op *op)
{
	const struct value_stub_use *use = (const void *)(uintptr_t)op->next;
	struct value_state *s = &m->state;
	uint64_t addr = op_address(m, op);
	bool whole = !use->len || slow_load(m, addr, m->buffer, use->len);
	if (whole && use->store)
		whole = value_memory_lookup(m->memory, addr, true) &&
			value_memory_lookup(m->memory, addr + use->len - 1, true);
	if (!whole && !load_lanes(m, use, addr))
		return false;
	if (use->mxcsr && s->mxcsr & ~VALUE_MXCSR_BITS)
		return false;
	if (use->points && !m->loose) /* not all that it stores is known */
		return false;
	for (unsigned rows = use->tops & s->no_tops; rows; rows &= rows - 1)
		memset(s->vec[VALUE_TOPS + __builtin_ctz(rows)], 0, VALUE_ROW);
	if (use->x87) /* the stub loads MXCSR from there, whatever somebody has put there */
		memcpy(s->fx + VALUE_FX_MXCSR, &s->mxcsr_host, sizeof(s->mxcsr_host));
	if (!value_run_masked(m, use))
		return false;
	if (use->x87)
		memset(s->fx + 6, 0, 18); /* opcode, instruction and data pointer are the stub's */
	return !use->store ||
	       (whole ? slow_store(m, addr, m->buffer, use->len) : store_lanes(m, use, addr));
}

/* bt and its like, of a bit of memory whose number is in a register. */
static bool run_bits(struct value_machine *m, const struct value_insn *insn)
{
	const struct value_place *p = &insn->mem[0];
	uint64_t addr = value_place_address(p, &m->state), word = 0;
	uint64_t bit = (uint64_t)1 << (m->state.gpr[p->bits - 1] & (8 * p->len - 1));
	if (!slow_load(m, addr, &word, p->len))
		return false;
	bool set = word & bit;
	word = insn->mnemonic == ZYDIS_MNEMONIC_BTS   ? word | bit
	       : insn->mnemonic == ZYDIS_MNEMONIC_BTR ? word & ~bit
						      : word ^ bit;
	if (insn->mnemonic != ZYDIS_MNEMONIC_BT && !slow_store(m, addr, &word, p->len))
		return false;
	m->state.flags = (m->state.flags & ~(uint64_t)VALUE_CF) | (set ? VALUE_CF : 0);
	return true;
}

/* How well the bytes are known that a turn stores, and which of their bits are exact: those at rsi,
 * or of rax. */
static void stored_qualities(const struct value_machine *m, bool from_rsi, unsigned size,
			     uint8_t q[8], uint8_t bits[8])
{
	memset(q, VALUE_EXACT, 8);
	memset(bits, 0, 8);
	if (from_rsi) {
		value_memory_read_qualities(m->memory, m->state.gpr[VALUE_RSI], q, size);
		value_memory_read_bits(m->memory, m->state.gpr[VALUE_RSI], bits, size);
	} else if (m->known.inexact >> VALUE_RAX & 1) {
		memcpy(q, m->known.gpr[VALUE_RAX], size);
		memcpy(bits, m->known.gpr_bits[VALUE_RAX], size);
	}
}

/* The next turn of a string instruction: false where memory cannot be touched. */
static bool string_turn(struct value_machine *m, unsigned what, unsigned size)
{
	struct value_state *s = &m->state;
	uint64_t step = s->df ? -(uint64_t)size : size;
	uint64_t left = 0, right = 0;
	uint64_t *rsi = &s->gpr[VALUE_RSI], *rdi = &s->gpr[VALUE_RDI];
	uint64_t mask = size == 8 ? UINT64_MAX : ((uint64_t)1 << 8 * size) - 1;
	bool from_rsi = what == 'm' || what == 'l' || what == 'c';
	bool to_rdi = what == 'm' || what == 's';
	if (from_rsi && !slow_load(m, *rsi, &left, size))
		return false;
	if (!from_rsi)
		left = s->gpr[VALUE_RAX] & mask;
	if ((what == 'c' || what == 'a') && !slow_load(m, *rdi, &right, size))
		return false;
	uint8_t q[8], bits[8];
	if (to_rdi && m->loose)
		stored_qualities(m, from_rsi, size, q, bits);
	if (to_rdi && !slow_store(m, *rdi, &left, size))
		return false;
	if (to_rdi && m->loose) {
		value_memory_write_qualities(m->memory, *rdi, q, size);
		value_memory_write_bits(m->memory, *rdi, bits, size);
	}
	if (what == 'l')
		s->gpr[VALUE_RAX] = size == 4 ? left : (s->gpr[VALUE_RAX] & ~mask) | left;
	if (what == 'c' || what == 'a') {
		/* At the top of the registers, so that one comparison serves all sizes; AF alone is
		 * told apart by the lowest digit. */
		unsigned up = 64 - 8 * size;
		uint64_t a = left << up, b = right << up;
		uint32_t flags;
		__asm__("cmp %2, %1\n\tlahf\n\tseto %%al" : "=&a"(flags) : "r"(a), "r"(b) : "cc");
		bool parity = !__builtin_parity((uint8_t)(left - right));
		bool digit = (left & 15) < (right & 15);
		flags = (flags & ~(uint32_t)(VALUE_PF | VALUE_AF)) | (parity ? VALUE_PF : 0) |
			(digit ? VALUE_AF : 0);
		s->flags = (uint16_t)flags;
	}
	if (from_rsi)
		*rsi += step;
	if (what != 'l')
		*rdi += step;
	return true;
}

static unsigned string_kind(uint16_t mnemonic)
{
	switch (mnemonic) {
	case ZYDIS_MNEMONIC_MOVSB:
	case ZYDIS_MNEMONIC_MOVSW:
	case ZYDIS_MNEMONIC_MOVSD:
	case ZYDIS_MNEMONIC_MOVSQ:
		return 'm';
	case ZYDIS_MNEMONIC_STOSB:
	case ZYDIS_MNEMONIC_STOSW:
	case ZYDIS_MNEMONIC_STOSD:
	case ZYDIS_MNEMONIC_STOSQ:
		return 's';
	case ZYDIS_MNEMONIC_LODSB:
	case ZYDIS_MNEMONIC_LODSW:
	case ZYDIS_MNEMONIC_LODSD:
	case ZYDIS_MNEMONIC_LODSQ:
		return 'l';
	case ZYDIS_MNEMONIC_CMPSB:
	case ZYDIS_MNEMONIC_CMPSW:
	case ZYDIS_MNEMONIC_CMPSD:
	case ZYDIS_MNEMONIC_CMPSQ:
		return 'c';
	default:
		return 'a'; /* scas */
	}
}

/* Whether a turn of movs stores where a later one loads, or where it has loaded itself: then it is
 * not the same again. */
static bool eats_itself(const struct value_state *s, uint64_t size)
{
	const uint64_t rsi = s->gpr[VALUE_RSI], rdi = s->gpr[VALUE_RDI];
	const uint64_t ahead = s->df ? rdi - rsi : rsi - rdi;
	return ahead && (ahead / size < s->gpr[VALUE_RCX] || -ahead < size);
}

/* Whether all of its turns can be done. */
static bool may_move(struct value_machine *m, unsigned size)
{
	const struct value_state *s = &m->state;
	const uint64_t step = s->df ? -(uint64_t)size : size;
	uint64_t rsi = s->gpr[VALUE_RSI], rdi = s->gpr[VALUE_RDI], left;
	for (uint64_t n = s->gpr[VALUE_RCX]; n; n--, rsi += step, rdi += step)
		if (!slow_load(m, rsi, &left, size) || !value_memory_lookup(m->memory, rdi, true) ||
		    !value_memory_lookup(m->memory, rdi + size - 1, true))
			return false;
	return true;
}

/* All turns; or, where one cannot be done, none: registers are put back, and what was stored is
 * stored again with the same values. */
static bool run_string(struct value_machine *m, const struct value_op *op)
{
	struct value_state *s = &m->state;
	const uint64_t rcx = s->gpr[VALUE_RCX], rsi = s->gpr[VALUE_RSI], rdi = s->gpr[VALUE_RDI];
	const uint64_t rax = s->gpr[VALUE_RAX], flags = s->flags;
	unsigned what = string_kind(op->imm);
	bool compares = what == 'c' || what == 'a';
	bool ok = true;
	const uint64_t turns = m->turns;
	if (op->b && !compares && rcx > turns)
		return false;
	if (op->b && what == 'm' && eats_itself(s, op->a) && !may_move(m, op->a))
		return false;
	if (!op->b)
		ok = string_turn(m, what, op->a);
	while (ok && op->b && s->gpr[VALUE_RCX]) {
		ok = rcx - s->gpr[VALUE_RCX] < turns && string_turn(m, what, op->a);
		s->gpr[VALUE_RCX] -= ok;
		bool equal = s->flags & VALUE_ZF;
		if (compares && equal != (op->b == 1))
			break;
	}
	if (ok) {
		m->turns -= op->b ? rcx - s->gpr[VALUE_RCX] : 0;
		return true;
	}
	s->gpr[VALUE_RCX] = rcx;
	s->gpr[VALUE_RSI] = rsi;
	s->gpr[VALUE_RDI] = rdi;
	s->gpr[VALUE_RAX] = rax;
	s->flags = flags;
	return false;
}

/* --- traces ---------------------------------------------------------------------------------- */

static bool trace_room(const struct value_trace *t, const struct value_block *b)
{
	/* Blocks: a cut puts one in for each instruction. */
	return t->max_blocks - t->n_blocks > VALUE_BLOCK_INSNS &&
	       t->max_addresses - t->n_addresses >= b->n_addresses &&
	       t->max_results - t->n_results >= b->n_results;
}

/* --- what ops.def is written in --------------------------------------------------------------- */

#define FLAGS state->flags
#define GPR(n) state->gpr[n]
#define REG(T, field) (*(T *)((char *)state->gpr + op->field))
#define VEC(T, n) (*(T *)state->vec[n])
#define PUT_AT_u8(off, v) (*(u8 *)((char *)state->gpr + (off)) = (v))
#define PUT_AT_u16(off, v) (*(u16 *)((char *)state->gpr + (off)) = (v))
#define PUT_AT_u32(off, v) (*(u64 *)((char *)state->gpr + (off)) = (uint32_t)(v))
#define PUT_AT_u64(off, v) (*(u64 *)((char *)state->gpr + (off)) = (v))
#define PUT_u8(field, v) PUT_AT_u8(op->field, v)
#define PUT_u16(field, v) PUT_AT_u16(op->field, v)
#define PUT_u32(field, v) PUT_AT_u32(op->field, v)
#define PUT_u64(field, v) PUT_AT_u64(op->field, v)
#define PUT_s16 PUT_u16

#define ADDRESS (state->gpr[op->base] + (state->gpr[op->index] << op->shift) + (uint64_t)op->disp)
#define PAGE_MASK (~(uint64_t)(VALUE_PAGE - 1))
#define ENTRY(cache) (&m->memory->cache[ea / VALUE_PAGE % VALUE_TLB])
/* One page has all bytes, and the cache has that page. */
#define HITS(e, T) ((e)->tag == ((ea + sizeof(T) - 1) & PAGE_MASK))
#define TRACE(number)                                                                              \
	if (TRACED)                                                                                \
	trace->addresses[trace->n_addresses++] = (number)
#define TRACE_ADDRESS TRACE(ea)
#define TRACE_STUB                                                                                 \
	if (TRACED && ((const struct value_stub_use *)(uintptr_t)op->next)->len)                   \
	TRACE(ADDRESS)
#define TRACE_STRING                                                                               \
	const uint64_t turns = GPR(VALUE_RCX);                                                     \
	TRACE(GPR(VALUE_RDI));                                                                     \
	TRACE(GPR(VALUE_RSI))
#define TRACE_INSN                                                                                 \
	for (int i = 0; TRACED && i < b->insns[op->insn].n_addresses; i++)                         \
	TRACE(value_place_address(&b->insns[op->insn].mem[i], state))
#define TRACE_TURNS TRACE(op->b ? turns - GPR(VALUE_RCX) : 1)
#define LOAD(T, v)                                                                                 \
	do {                                                                                       \
		const uint64_t ea = ADDRESS;                                                       \
		TRACE_ADDRESS;                                                                     \
		const struct value_tlb *e = ENTRY(read);                                           \
		if (likely(HITS(e, T) && !*(T *)(e->quality + ea)))                                \
			v = *(T *)(e->data + ea);                                                  \
		else if (!slow_load(m, ea, &v, sizeof(T)))                                         \
			goto bail;                                                                 \
	} while (0)
#define STORE(T, value)                                                                            \
	do {                                                                                       \
		const uint64_t ea = ADDRESS;                                                       \
		TRACE_ADDRESS;                                                                     \
		const T stored = (value);                                                          \
		const struct value_tlb *e = ENTRY(write);                                          \
		if (likely(HITS(e, T))) {                                                          \
			*(T *)(e->data + ea) = stored;                                             \
			*(T *)(e->quality + ea) = 0;                                               \
		} else if (!slow_store(m, ea, &stored, sizeof(T))) {                               \
			goto bail;                                                                 \
		}                                                                                  \
	} while (0)
#define RMW(T, ...)                                                                                \
	do {                                                                                       \
		const uint64_t ea = ADDRESS;                                                       \
		TRACE_ADDRESS;                                                                     \
		const struct value_tlb *e = ENTRY(write);                                          \
		T *p = (T *)(e->data + ea);                                                        \
		if (unlikely(!HITS(e, T) || *(T *)(e->quality + ea))) {                            \
			p = slow_rmw(m, ea, sizeof(T));                                            \
			if (!p)                                                                    \
				goto bail;                                                         \
		}                                                                                  \
		__VA_ARGS__;                                                                       \
		if (unlikely(m->bounced))                                                          \
			rmw_done(m);                                                               \
	} while (0)
#define GO(which, ip)                                                                              \
	do {                                                                                       \
		next = b->link[which];                                                             \
		if (likely(next))                                                                  \
			goto enter;                                                                \
		link = &b->link[which];                                                            \
		next_ip = (ip);                                                                    \
		goto find;                                                                         \
	} while (0)
#define GO_TO(ip)                                                                                  \
	do {                                                                                       \
		next_ip = (ip);                                                                    \
		goto find_target;                                                                  \
	} while (0)

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define TRACED 0
#define EXEC exec_plain
#include "offline/eval/exec_loop.def"
#undef TRACED
#undef EXEC
#define TRACED 1
#define EXEC exec_traced
#include "offline/eval/exec_loop.def"

static int enter(struct value_machine *m, struct value_block *b, uint64_t until,
		 struct value_trace *trace)
{
	return trace ? exec_traced(m, b, until, trace, NULL) : exec_plain(m, b, until, NULL, NULL);
}

int value_exec(struct value_machine *m, uint64_t until, struct value_trace *trace)
{
	bool no_memory = false;
	struct value_block *b = value_translate(m, m->state.rip, false, &no_memory);
	if (!b)
		return no_memory				? VALUE_STOP_NO_MEMORY
		       : value_machine_is_code(m, m->state.rip) ? VALUE_STOP_TRAP
								: VALUE_STOP_OUTSIDE;
	return enter(m, b, until, trace);
}

int value_exec_single(struct value_machine *m, struct value_block *b, struct value_trace *trace)
{
	return enter(m, b, m->count + 1, trace);
}

const void *const *value_exec_labels(bool traced)
{
	const void *const *labels;
	if (traced)
		exec_traced(NULL, NULL, 0, NULL, &labels);
	else
		exec_plain(NULL, NULL, 0, NULL, &labels);
	return labels;
}

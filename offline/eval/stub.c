// SPDX-License-Identifier: LGPL-2.1-or-later
/* stub.c: writes stubs. A stub is a C function of (state in S, buffer in M):
 *
 *   save what the caller wants back; flags, MXCSR or x87 from the state; operand registers from the
 *   state; the instruction, its memory operand replaced by [M]; written registers, flags, MXCSR or
 *   x87 to the state; restore; ret
 *
 * S and M are registers that the instruction does not use. Registers have the same numbers as in
 * the traced program, so that the instruction's own bytes serve, but for ModRM.
 */
#include "offline/eval/stub.h"

#include "offline/eval/insn/insn.h"
#include "offline/eval/processor.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { CHUNK = 1 << 16, STUB_MAX = 1024 };

struct chunk {
	struct chunk *next;
	uint8_t *code;
	size_t used;
};

struct value_stubs {
	struct value_processor has;
	struct chunk *chunks;
};

/* --- what a stub has to carry over --------------------------------------------------------- */

struct needs {
	uint32_t gpr_in, gpr_out, vec_in, vec_out; /* one bit a register */
	uint32_t masks_in, masks_out;
	uint16_t no_tops, tops; /* of value_state: bits that are set, and cleared */
	bool flags_in, flags_out, mxcsr, x87, memory;
	bool vex, evex;
	uint8_t state, buffer; /* S and M */
};

/* False: there is an operand that a stub cannot give. */
static bool see_operand(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *op,
			struct needs *n)
{
	if (op->type == ZYDIS_OPERAND_TYPE_MEMORY) {
		bool only = !n->memory;
		n->memory = true;
		return only && (op->mem.type == ZYDIS_MEMOP_TYPE_MEM) &&
		       op->visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT &&
		       op->size / 8 <= VALUE_STUB_BUFFER && op->size && zi->raw.modrm.offset;
	}
	if (op->type == ZYDIS_OPERAND_TYPE_POINTER)
		return false;
	if (op->type != ZYDIS_OPERAND_TYPE_REGISTER)
		return true;
	bool written = op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
	ZydisRegister reg = op->reg.value;
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
	uint32_t bit = (uint32_t)1 << (ZydisRegisterGetId(whole) & 31);
	switch (ZydisRegisterGetClass(reg)) {
	case ZYDIS_REGCLASS_GPR8:
	case ZYDIS_REGCLASS_GPR16:
	case ZYDIS_REGCLASS_GPR32:
	case ZYDIS_REGCLASS_GPR64:
		if (reg >= ZYDIS_REGISTER_AH && reg <= ZYDIS_REGISTER_BH)
			bit = (uint32_t)1 << (reg - ZYDIS_REGISTER_AH);
		n->gpr_in |= bit;
		n->gpr_out |= written ? bit : 0;
		return !(bit & 1u << VALUE_RSP);
	case ZYDIS_REGCLASS_XMM:
	case ZYDIS_REGCLASS_YMM:
	case ZYDIS_REGCLASS_ZMM: {
		bool zmm = ZydisRegisterGetClass(reg) == ZYDIS_REGCLASS_ZMM;
		bool legacy = zi->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY;
		n->vec_in |= bit;
		n->vec_out |= written ? bit : 0;
		n->tops |= written && zmm ? bit : 0;
		n->no_tops |= written && !zmm && !legacy ? bit : 0;
		return true;
	}
	case ZYDIS_REGCLASS_MASK:
		bit = (uint32_t)1 << ZydisRegisterGetId(reg);
		n->masks_in |= bit;
		n->masks_out |= written ? bit : 0;
		return true;
	case ZYDIS_REGCLASS_X87:
	case ZYDIS_REGCLASS_MMX:
		n->x87 = true;
		return true;
	case ZYDIS_REGCLASS_FLAGS:
		n->flags_in = true;
		n->flags_out |= written;
		return true;
	default:
		n->mxcsr |= reg == ZYDIS_REGISTER_MXCSR;
		n->x87 |= reg == ZYDIS_REGISTER_X87CONTROL || reg == ZYDIS_REGISTER_X87STATUS ||
			  reg == ZYDIS_REGISTER_X87TAG;
		return reg == ZYDIS_REGISTER_MXCSR || n->x87;
	}
}

/* Of adcx and adox Zydis calls the register one that is read alone. */
static void see_flags(const ZydisDecodedInstruction *zi, struct needs *n)
{
	const ZydisAccessedFlags *f = zi->cpu_flags;
	uint32_t written = f ? (f->modified | f->set_0 | f->set_1 | f->undefined) : 0;
	const uint32_t status = 0x8d5;
	n->flags_out |= written & status;
	n->flags_in |= n->flags_out || (f && f->tested & status);
}

static bool see_all(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops,
		    struct needs *n)
{
	memset(n, 0, sizeof(*n));
	if (zi->address_width != 64 || (zi->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY &&
					zi->encoding != ZYDIS_INSTRUCTION_ENCODING_VEX &&
					zi->encoding != ZYDIS_INSTRUCTION_ENCODING_EVEX))
		return false;
	for (int i = 0; i < zi->operand_count; i++)
		if (!see_operand(zi, &ops[i], n))
			return false;
	n->x87 |= zi->meta.isa_ext == ZYDIS_ISA_EXT_X87 || zi->meta.isa_ext == ZYDIS_ISA_EXT_MMX;
	n->vex = zi->encoding == ZYDIS_INSTRUCTION_ENCODING_VEX;
	n->evex = zi->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX;
	n->mxcsr |= value_insn_rounds(zi);
	see_flags(zi, n);
	/* Which bit of memory it is depends on the register: not a place of the operand's length.
	 */
	bool bits = zi->mnemonic == ZYDIS_MNEMONIC_BT || zi->mnemonic == ZYDIS_MNEMONIC_BTC ||
		    zi->mnemonic == ZYDIS_MNEMONIC_BTR || zi->mnemonic == ZYDIS_MNEMONIC_BTS;
	if (bits && n->memory && ops[1].type == ZYDIS_OPERAND_TYPE_REGISTER)
		return false;
	/* S: any register; M: one that ModRM names without SIB, displacement and REX. */
	static const uint8_t for_buffer[] = {VALUE_RSI, VALUE_RDI, VALUE_RBX, VALUE_RCX, VALUE_RDX};
	static const uint8_t for_state[] = {VALUE_RDI, 8, 9, 10, 11};
	n->buffer = n->state = 0xff;
	for (int i = 0; i < 5 && n->buffer == 0xff; i++)
		if (!(n->gpr_in & 1u << for_buffer[i]))
			n->buffer = for_buffer[i];
	for (int i = 0; i < 5 && n->state == 0xff; i++)
		if (!(n->gpr_in & 1u << for_state[i]) && for_state[i] != n->buffer)
			n->state = for_state[i];
	return n->buffer != 0xff && n->state != 0xff;
}

/* --- writing ------------------------------------------------------------------------------- */

struct writer {
	uint8_t bytes[STUB_MAX];
	size_t n;
};

static void put(struct writer *w, size_t n, const uint8_t *bytes)
{
	memcpy(w->bytes + w->n, bytes, n);
	w->n += n;
}
#define PUT(w, ...) put(w, sizeof((uint8_t[]){__VA_ARGS__}), (const uint8_t[]){__VA_ARGS__})

static void put_offset(struct writer *w, size_t off)
{
	uint32_t value = off;
	put(w, 4, (uint8_t *)&value);
}

/* [S + off] as the r/m operand with @reg in ModRM.reg. S is never rsp or r12. */
static void put_state(struct writer *w, const struct needs *n, unsigned reg, size_t off)
{
	PUT(w, (uint8_t)(0x80 | (reg & 7) << 3 | (n->state & 7)));
	put_offset(w, off);
}

static void put_gpr(struct writer *w, const struct needs *n, uint8_t opcode, unsigned reg)
{
	PUT(w, (uint8_t)(0x48 | (reg >> 3) << 2 | n->state >> 3), opcode);
	put_state(w, n, reg, offsetof(struct value_state, gpr) + 8 * reg);
}

/* movups, or vmovups of 32 bytes: 10 loads, 11 stores. */
static void put_vec(struct writer *w, const struct needs *n, uint8_t opcode, unsigned reg)
{
	size_t off = offsetof(struct value_state, vec) + 32 * reg;
	if (n->vex) /* C4, R X B inverted and map 1, W0 vvvv=1111 L=1 pp=00 */
		PUT(w, 0xc4, (uint8_t)((reg < 8 ? 0x80 : 0) | 0x40 | (n->state < 8 ? 0x20 : 0) | 1),
		    0x7c, opcode);
	else
		PUT(w, (uint8_t)(0x40 | (reg >> 3) << 2 | n->state >> 3), 0x0f, opcode);
	put_state(w, n, reg, off);
}

/* An instruction with EVEX of 32 bytes at [S + off]: @map and @pp as its prefix has them; @wide:
 * EVEX.512 with W1 that takes an immediate of 1, and a source that is @reg again if @source. */
static void put_evex(struct writer *w, const struct needs *n, uint8_t map, uint8_t pp,
		     uint8_t opcode, bool wide, bool source, unsigned reg, size_t off)
{
	uint8_t vvvv = source ? ~reg & 15 : 15, high = source && reg >= 16 ? 0 : 8;
	PUT(w, 0x62,
	    (uint8_t)((reg & 8 ? 0 : 0x80) | 0x40 | (n->state < 8 ? 0x20 : 0) |
		      (reg & 16 ? 0 : 0x10) | map),
	    (uint8_t)((wide ? 0x80 : 0) | vvvv << 3 | 4 | pp),
	    (uint8_t)((wide ? 0x40 : 0x20) | high), opcode);
	put_state(w, n, reg, off);
	if (wide)
		PUT(w, 1);
}

/* All 64 bytes of a vector register, from its two rows or to them: vmovups, and vinsertf64x4 or
 * vextractf64x4. */
static void put_zmm(struct writer *w, const struct needs *n, bool store, unsigned reg)
{
	size_t row = reg < VALUE_VECS ? reg : VALUE_MORE + reg - VALUE_VECS;
	size_t off = offsetof(struct value_state, vec) + VALUE_ROW * row;
	size_t top = off + (size_t)VALUE_ROW * VALUE_TOPS;
	put_evex(w, n, 1, 0, store ? 0x11 : 0x10, false, false, reg, off);
	put_evex(w, n, 3, 1, store ? 0x1b : 0x1a, true, !store, reg, top);
}

/* kmovq: 90 loads, 91 stores. */
static void put_mask(struct writer *w, const struct needs *n, uint8_t opcode, unsigned reg)
{
	PUT(w, 0xc4, (uint8_t)(0x80 | 0x40 | (n->state < 8 ? 0x20 : 0) | 1), 0xf8, opcode);
	put_state(w, n, reg,
		  offsetof(struct value_state, vec) + (size_t)VALUE_ROW * VALUE_MASKS + 8 * reg);
}

/* or, and of a word of the state with @bits: 66 81 /1, /4. */
static void put_word(struct writer *w, const struct needs *n, unsigned ext, size_t off,
		     uint16_t bits)
{
	PUT(w, 0x66, (uint8_t)(0x40 | n->state >> 3), 0x81);
	put_state(w, n, ext, off);
	put(w, 2, (uint8_t *)&bits);
}

/* 0F @opcode /@ext with [S + off]. */
static void put_0f(struct writer *w, const struct needs *n, uint8_t opcode, unsigned ext,
		   size_t off)
{
	PUT(w, (uint8_t)(0x40 | n->state >> 3), 0x0f, opcode);
	put_state(w, n, ext, off);
}

static void put_instruction(struct writer *w, const struct needs *n,
			    const ZydisDecodedInstruction *zi, const uint8_t *bytes)
{
	size_t i = 0;
	size_t modrm = n->memory ? zi->raw.modrm.offset : zi->length;
	bool vex = n->vex;
	for (; i < modrm; i++) {
		uint8_t byte = bytes[i];
		bool prefix = i < zi->raw.prefix_count;
		if (prefix && (byte == 0x64 || byte == 0x65 || byte == 0x2e || byte == 0x3e ||
			       byte == 0x26 || byte == 0x36 || byte == 0xf0))
			continue; /* segments, and lock: the buffer is nobody else's */
		/* A REX that another prefix follows does nothing, and must not begin to. */
		bool rex = prefix && (byte & 0xf0) == 0x40;
		if (rex && !(zi->attributes & ZYDIS_ATTRIB_HAS_REX && i == zi->raw.rex.offset))
			continue;
		if (n->memory && rex)
			byte &= ~3; /* X and B belong to the old address */
		if (n->memory && n->evex && i == zi->raw.evex.offset + 1u)
			byte |= 0x60;
		if (n->memory && vex && bytes[zi->raw.vex.offset] == 0xc4 &&
		    i == zi->raw.vex.offset + 1u)
			byte |= 0x60;
		PUT(w, byte);
	}
	if (!n->memory)
		return;
	PUT(w, (uint8_t)((bytes[modrm] & 0x38) | n->buffer));
	for (int k = 0; k < 2; k++)
		if (zi->raw.imm[k].size)
			put(w, zi->raw.imm[k].size / 8, bytes + zi->raw.imm[k].offset);
	if (vex && !zi->raw.imm[0].size && zi->length > 0) { /* a register in the last byte: is4 */
		size_t end = modrm + 1 + (zi->raw.sib.offset ? 1 : 0) + zi->raw.disp.size / 8;
		put(w, zi->length - end, bytes + end);
	}
}

static void write_before(struct writer *w, const struct needs *n)
{
	static const uint8_t kept[] = {VALUE_RBX, VALUE_RBP, 12, 13, 14, 15};
	uint32_t used = n->gpr_in | 1u << n->buffer;
	for (int i = 0; i < 6; i++)
		if (used & 1u << kept[i])
			PUT(w, (uint8_t)(0x40 | kept[i] >> 3), (uint8_t)(0x50 | (kept[i] & 7)));
	/* rdi and rsi to S and M; neither pair can be crossed over: S is rdi or r8 to r11. */
	if (n->state != VALUE_RDI)
		PUT(w, 0x49, 0x89, (uint8_t)(0xc0 | VALUE_RDI << 3 | (n->state & 7)));
	if (n->buffer != VALUE_RSI)
		PUT(w, 0x48, 0x89, (uint8_t)(0xc0 | VALUE_RSI << 3 | n->buffer));
	if (n->x87)
		put_0f(w, n, 0xae, 1, offsetof(struct value_state, fx)); /* fxrstor */
	if (n->mxcsr)
		put_0f(w, n, 0xae, 2, offsetof(struct value_state, mxcsr_run)); /* ldmxcsr */
	if (n->flags_in) { /* mov ax, flags; add al, 0x7f (OF); sahf (the rest) */
		PUT(w, (uint8_t)(0x40 | n->state >> 3), 0x8b);
		put_state(w, n, 0, offsetof(struct value_state, flags));
		PUT(w, 0x04, 0x7f, 0x9e);
	}
	for (unsigned i = 0; i < 8; i++)
		if (n->masks_in & 1u << i)
			put_mask(w, n, 0x90, i);
	for (unsigned i = 0; i < 32; i++)
		if (n->vec_in & 1u << i && n->evex)
			put_zmm(w, n, false, i);
		else if (n->vec_in & 1u << i)
			put_vec(w, n, 0x10, i);
	for (unsigned i = 0; i < 16; i++)
		if (n->gpr_in & 1u << i)
			put_gpr(w, n, 0x8b, i);
}

static void write_after(struct writer *w, const struct needs *n)
{
	static const uint8_t kept[] = {15, 14, 13, 12, VALUE_RBP, VALUE_RBX};
	for (unsigned i = 0; i < 16; i++)
		if (n->gpr_out & 1u << i)
			put_gpr(w, n, 0x89, i);
	for (unsigned i = 0; i < 8; i++)
		if (n->masks_out & 1u << i)
			put_mask(w, n, 0x91, i);
	for (unsigned i = 0; i < 32; i++)
		if (n->vec_out & 1u << i && n->evex)
			put_zmm(w, n, true, i);
		else if (n->vec_out & 1u << i)
			put_vec(w, n, 0x11, i);
	if (n->flags_out) { /* lahf; seto al; mov flags, ax */
		PUT(w, 0x9f, 0x0f, 0x90, 0xc0, 0x66, (uint8_t)(0x40 | n->state >> 3), 0x89);
		put_state(w, n, 0, offsetof(struct value_state, flags));
	}
	const size_t no_tops = offsetof(struct value_state, no_tops);
	if (n->no_tops)
		put_word(w, n, 1, no_tops, n->no_tops);
	if (n->tops)
		put_word(w, n, 4, no_tops, ~n->tops);
	if (n->mxcsr)
		put_0f(w, n, 0xae, 3, offsetof(struct value_state, mxcsr_run));
	if (n->x87) {
		put_0f(w, n, 0xae, 0, offsetof(struct value_state, fx)); /* fxsave */
		PUT(w, 0xdb, 0xe3);					 /* fninit */
	}
	if (n->mxcsr || n->x87) /* fxrstor has loaded one as well */
		put_0f(w, n, 0xae, 2, offsetof(struct value_state, mxcsr_host));
	if (n->vex || n->evex)
		PUT(w, 0xc5, 0xf8, 0x77); /* vzeroupper */
	uint32_t used = n->gpr_in | 1u << n->buffer;
	for (int i = 0; i < 6; i++)
		if (used & 1u << kept[i])
			PUT(w, (uint8_t)(0x40 | kept[i] >> 3), (uint8_t)(0x58 | (kept[i] & 7)));
	PUT(w, 0xc3);
}

/* --- keeping ------------------------------------------------------------------------------- */

static value_stub_fn *keep(struct value_stubs *stubs, const struct writer *w)
{
	struct chunk *chunk = stubs->chunks;
	if (!chunk || chunk->used + w->n > CHUNK) {
		chunk = malloc(sizeof(*chunk));
		if (!chunk)
			return NULL;
		chunk->code = mmap(NULL, CHUNK, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
				   -1, 0);
		if (chunk->code == MAP_FAILED) {
			free(chunk);
			return NULL;
		}
		chunk->used = 0;
		chunk->next = stubs->chunks;
		stubs->chunks = chunk;
	}
	if (mprotect(chunk->code, CHUNK, PROT_READ | PROT_WRITE))
		return NULL;
	uint8_t *at = chunk->code + chunk->used;
	memcpy(at, w->bytes, w->n);
	if (mprotect(chunk->code, CHUNK, PROT_READ | PROT_EXEC))
		return NULL;
	chunk->used += (w->n + 15) & ~(size_t)15;
	value_stub_fn *fn;
	memcpy(&fn, &at, sizeof(fn));
	return fn;
}

value_stub_fn *value_stub(struct value_stubs *stubs, const ZydisDecodedInstruction *zi,
			  const ZydisDecodedOperand *ops, const uint8_t *bytes)
{
	struct needs n;
	if (!value_processor_computes(&stubs->has, zi) || !see_all(zi, ops, &n))
		return NULL;
	struct writer w = {.n = 0};
	write_before(&w, &n);
	put_instruction(&w, &n, zi, bytes);
	write_after(&w, &n);
	return keep(stubs, &w);
}

struct value_stubs *value_stubs_new(void)
{
	struct value_stubs *stubs = calloc(1, sizeof(*stubs));
	if (stubs)
		value_processor_look(&stubs->has);
	return stubs;
}

void value_stubs_free(struct value_stubs *stubs)
{
	while (stubs && stubs->chunks) {
		struct chunk *chunk = stubs->chunks;
		stubs->chunks = chunk->next;
		munmap(chunk->code, CHUNK);
		free(chunk);
	}
	free(stubs);
}

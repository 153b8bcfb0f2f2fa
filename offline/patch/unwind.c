// SPDX-License-Identifier: LGPL-2.1-or-later
/* unwind.c: see unwind.h. The numbers are those of DWARF 4, section 7, and of the psABI. */
#include "offline/patch/unwind.h"

#include "offline/patch/assemble.h"
#include "offline/patch/runtime.h"

#include <Zydis/Zydis.h>

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	REG_SP = 7,
	REG_RA = 16,
	DATA_ALIGN = 8,
	ENCODED = DW_EH_PE_pcrel | DW_EH_PE_sdata4,
	RUNTIME_MOST = 2048, /* bytes */
};

/* DWARF's numbers of the registers, by those of their encoding. */
static const uint8_t dwarf_register[16] = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};

/* One entry of the index. */
struct indexed {
	uint32_t code, frame; /* offsets */
};

struct writing {
	struct patch_code *c;
	uint32_t start, cie; /* of the entry that is being written, and of its CIE */
	uint32_t at;	     /* offset in the code that its rows have come to */
	struct indexed *index;
	uint32_t n, cap;
};

static void uleb(struct patch_code *c, uint32_t value)
{
	for (; value >= 0x80; value >>= 7)
		asm_byte(c, value | 0x80);
	asm_byte(c, value);
}

static void put_word(struct patch_code *c, uint32_t at, uint32_t value)
{
	if (!c->err)
		memcpy(c->bytes + at, &value, sizeof(value));
}

/* The length of an entry is known when it is written. */
static void end_entry(struct writing *w)
{
	struct patch_code *c = w->c;

	while (!c->err && (c->len - w->start) % 8)
		asm_byte(c, DW_CFA_nop);
	put_word(c, w->start, c->len - w->start - 4);
}

/* @frame: of what has been called, with its return address on the stack; not: of what a signal has
 * interrupted. */
static void put_cie(struct writing *w, bool frame)
{
	struct patch_code *c = w->c;

	w->start = w->cie = c->len;
	asm_word(c, 0);
	asm_word(c, 0);
	asm_byte(c, 1); /* version */
	asm_bytes(c, frame ? "zR" : "zRS", frame ? 3 : 4);
	uleb(c, 1);	   /* unit of code */
	asm_byte(c, 0x78); /* unit of data: -8 */
	asm_byte(c, REG_RA);
	uleb(c, 1);
	asm_byte(c, ENCODED);
	asm_byte(c, DW_CFA_def_cfa);
	uleb(c, REG_SP);
	uleb(c, frame ? 8 : 0);
	if (frame) {
		asm_byte(c, DW_CFA_offset | REG_RA);
		uleb(c, 1);
	}
	end_entry(w);
}

static void begin_fde(struct writing *w, uint32_t from, uint32_t to)
{
	struct patch_code *c = w->c;

	if (w->n == w->cap) {
		uint32_t cap = w->cap ? 2 * w->cap : 1024;
		struct indexed *grown = realloc(w->index, cap * sizeof(*grown));

		if (!grown) {
			c->err = -ENOMEM;
			return;
		}
		w->index = grown;
		w->cap = cap;
	}
	w->index[w->n++] = (struct indexed){from, c->len};
	w->start = c->len;
	w->at = from;
	asm_word(c, 0);
	asm_word(c, c->len - w->cie);
	asm_word(c, from - c->len);
	asm_word(c, to - from);
	uleb(c, 0);
}

/* What follows holds from @off of the code on. */
static void advance(struct writing *w, uint32_t off)
{
	struct patch_code *c = w->c;
	uint32_t delta = off - w->at;

	w->at = off;
	if (!delta)
		return;
	if (delta < 64) {
		asm_byte(c, DW_CFA_advance_loc | delta);
	} else if (delta < 256) {
		asm_byte(c, DW_CFA_advance_loc1);
		asm_byte(c, delta);
	} else {
		asm_byte(c, DW_CFA_advance_loc4);
		asm_word(c, delta);
	}
}

static void put_cfa(struct patch_code *c, uint32_t offset)
{
	asm_byte(c, DW_CFA_def_cfa_offset);
	uleb(c, offset);
}

/* The return address is @addr. */
static void put_return(struct patch_code *c, uint64_t addr)
{
	asm_byte(c, DW_CFA_val_expression);
	uleb(c, REG_RA);
	uleb(c, 1 + sizeof(addr));
	asm_byte(c, DW_OP_const8u);
	asm_bytes(c, &addr, sizeof(addr));
}

static void put_registers(struct patch_code *c, const struct patch_state *before,
			  const struct patch_state *s)
{
	for (uint8_t i = s->n_pushed; i < before->n_pushed; i++) {
		asm_byte(c, DW_CFA_same_value);
		uleb(c, dwarf_register[before->pushed[i]]);
	}
	for (uint8_t i = before->n_pushed; i < s->n_pushed; i++) {
		asm_byte(c, DW_CFA_offset | dwarf_register[s->pushed[i]]);
		uleb(c, s->below / DATA_ALIGN + 1 + i);
	}
}

/* The trampoline of @n states, of @place; @to: where the next one begins. */
static void put_trampoline(struct writing *w, const struct patch_state *states, uint32_t n,
			   uint32_t to, const struct patch_place *place, uint64_t bias)
{
	struct patch_state before = {.up = 0};

	begin_fde(w, states[0].off, to);
	for (uint32_t i = 0; i < n; i++) {
		const struct patch_state *s = &states[i];

		if (i + 1 < n && s[1].off == s->off)
			continue;
		advance(w, s->off);
		if (s->up != before.up)
			put_cfa(w->c, s->up);
		if (s->at != before.at || s->moved != before.moved || s->off == states[0].off)
			put_return(w->c, bias + s->at + (s->moved ? place->room : place->addr));
		put_registers(w->c, &before, s);
		before = *s;
	}
	end_entry(w);
}

/* How many words more than at its start a function of the runtime has on the stack before each of
 * its instructions, by where the instruction begins; -1: none does. */
struct depths {
	const uint8_t *code;
	uint32_t n;
	int8_t at[RUNTIME_MOST];
};

static void walk(struct depths *d, uint32_t at, int8_t depth)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction insn;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	while (at < d->n && d->at[at] < 0 &&
	       ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, d->code + at, d->n - at,
							  &insn))) {
		uint32_t to = at + insn.length + (uint32_t)insn.raw.imm[0].value.s;

		d->at[at] = depth;
		at += insn.length;
		switch (insn.meta.category) {
		case ZYDIS_CATEGORY_PUSH:
			depth++;
			break;
		case ZYDIS_CATEGORY_POP:
			depth--;
			break;
		case ZYDIS_CATEGORY_CALL:
			walk(d, to, 0);
			break;
		case ZYDIS_CATEGORY_COND_BR:
			walk(d, to, depth);
			break;
		case ZYDIS_CATEGORY_UNCOND_BR:
			if (!insn.raw.imm[0].is_relative)
				return; /* out of it */
			at = to;
			break;
		case ZYDIS_CATEGORY_RET:
			return;
		default:
			break;
		}
	}
}

static void put_runtime(struct writing *w)
{
	struct depths d = {.code = pugmark_patch_runtime, .n = pugmark_patch_runtime_bytes};
	int8_t depth = 0;

	if (d.n > RUNTIME_MOST)
		abort();
	memset(d.at, -1, sizeof(d.at));
	walk(&d, pugmark_patch_slow, 0);
	walk(&d, pugmark_patch_rare, 0);
	walk(&d, pugmark_patch_find, 0);
	uint32_t base = w->c->runtime - w->c->addr;
	begin_fde(w, base, base + d.n);
	for (uint32_t i = 0; i < d.n; i++) {
		if (d.at[i] < 0 || d.at[i] == depth)
			continue;
		depth = d.at[i];
		advance(w, base + i);
		put_cfa(w->c, 8 * (1 + (uint32_t)depth));
	}
	end_entry(w);
}

static void put_index(struct writing *w, struct patch_unwind *out)
{
	struct patch_code *c = w->c;

	out->index = patch_code_append(c, NULL, 0, 8);
	asm_byte(c, 1); /* version */
	asm_byte(c, ENCODED);
	asm_byte(c, DW_EH_PE_udata4);
	asm_byte(c, DW_EH_PE_datarel | DW_EH_PE_sdata4);
	asm_word(c, out->frames - c->len);
	asm_word(c, w->n);
	for (uint32_t i = 0; i < w->n; i++) {
		asm_word(c, w->index[i].code - out->index);
		asm_word(c, w->index[i].frame - out->index);
	}
	out->index_end = c->len;
}

int patch_unwind_append(struct patch_code *c, const struct patch_place *places, uint64_t bias,
			struct patch_unwind *out)
{
	struct writing w = {.c = c};
	uint32_t n_states = c->n_states;

	*out = (struct patch_unwind){.code_end = c->len};
	out->frames = patch_code_append(c, NULL, 0, 8);
	put_cie(&w, true);
	put_runtime(&w);
	put_cie(&w, false);
	for (uint32_t i = 0, next; i < n_states && !c->err; i = next) {
		uint32_t place = c->states[i].place;

		for (next = i + 1; next < n_states && c->states[next].place == place; next++)
			;
		put_trampoline(&w, &c->states[i], next - i,
			       next < n_states ? c->states[next].off : out->code_end,
			       &places[place], bias);
	}
	asm_word(c, 0);
	out->frames_end = c->len;
	put_index(&w, out);
	free(w.index);
	return c->err;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* vectors.c: xsavec and xrstor, with which the linker keeps the registers of arguments around what
 * it looks up: what is saved is kept beside the memory too, with how well it is known. */
#include "offline/replay/lead/vectors.h"

#include "offline/replay/run/run.h"

#include <string.h>

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

// SPDX-License-Identifier: LGPL-2.1-or-later
/* call_sites.c: see call_sites.h. The code is decoded from its first byte on, one instruction
 * behind the other. */
#include "offline/capture/call_sites.h"

#include <Zydis/Zydis.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SYSCALL_BYTES = 2, LOOK_BEHIND = 6, MOV_EAX = 0xb8, LONG_MOV = 7, NUMBERS = 512 };

struct finding {
	ZydisDecoder decoder;
	const uint8_t *code;
	size_t len;
	uint64_t addr;
	bool number_set;  /* what is in eax was set by an instruction not far before */
	uint8_t *targets; /* a bit for each byte: a direct jump leads there */
	struct call_site *sites;
	int n, cap;
};

struct decoded {
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
};

static bool decode(const struct finding *f, size_t off, struct decoded *d)
{
	return off < f->len && ZYAN_SUCCESS(ZydisDecoderDecodeFull(&f->decoder, f->code + off,
								   f->len - off, &d->insn, d->op));
}

/* Whether the instruction does the same at any other place. */
static bool may_move(const struct decoded *d)
{
	if (d->insn.attributes & ZYDIS_ATTRIB_IS_RELATIVE ||
	    d->insn.mnemonic == ZYDIS_MNEMONIC_SYSCALL || d->insn.mnemonic == ZYDIS_MNEMONIC_RET)
		return false;
	switch (d->insn.meta.category) {
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_COND_BR:
	case ZYDIS_CATEGORY_UNCOND_BR:
	case ZYDIS_CATEGORY_INTERRUPT:
	case ZYDIS_CATEGORY_SYSTEM:
	case ZYDIS_CATEGORY_CET: /* endbr64: something jumps there */
		return false;
	default:
		return d->insn.length <= CALL_SITE_MOVED;
	}
}

/* Whether the flags are written before they are read, from @off on. */
static bool flags_unread(const struct finding *f, size_t off)
{
	const ZydisAccessedFlagsMask status = ZYDIS_CPUFLAG_CF | ZYDIS_CPUFLAG_PF |
					      ZYDIS_CPUFLAG_AF | ZYDIS_CPUFLAG_ZF |
					      ZYDIS_CPUFLAG_SF | ZYDIS_CPUFLAG_OF;

	for (int i = 0; i < LOOK_BEHIND; i++) {
		struct decoded d;

		if (!decode(f, off, &d))
			return false;
		const ZydisAccessedFlags *flags = d.insn.cpu_flags;
		if (flags && flags->tested & status)
			return false;
		if (flags && ((flags->modified | flags->set_0 | flags->set_1 | flags->undefined) &
			      status) == status)
			return true;
		if (d.insn.mnemonic == ZYDIS_MNEMONIC_RET) /* a call may change them */
			return true;
		if (d.insn.meta.category == ZYDIS_CATEGORY_CALL ||
		    d.insn.meta.category == ZYDIS_CATEGORY_COND_BR ||
		    d.insn.meta.category == ZYDIS_CATEGORY_UNCOND_BR)
			return false;
		off += d.insn.length;
	}
	return false;
}

static int add(struct finding *f, const struct call_site *site)
{
	if (f->n == f->cap) {
		int cap = f->cap ? 2 * f->cap : 64;
		struct call_site *sites = realloc(f->sites, cap * sizeof(*sites));

		if (!sites)
			return -ENOMEM;
		f->sites = sites;
		f->cap = cap;
	}
	f->sites[f->n++] = *site;
	return 0;
}

/* What the C library has behind a call whose number is not set right before: cmp $-4096, %rax or
 * %eax, or $-4095. Constants among code may look like the rest of such a place, but not like this
 * as well. */
static bool asks_for_error(const struct finding *f, size_t off)
{
	const uint8_t *at = f->code + off;
	const size_t wide = f->len - off > 6 && *at == 0x48;

	return f->len - off > 6 && at[wide] == 0x3d && at[wide + 1] <= 1 && at[wide + 2] == 0xf0 &&
	       at[wide + 3] == 0xff && at[wide + 4] == 0xff;
}

/* How the number is set by the instruction at @before, which ends at @off: where the jump is to go,
 * @off: nowhere before that. */
static size_t set_number(const struct finding *f, size_t before, size_t off, struct call_site *s)
{
	const uint8_t *mov = f->code + before;
	int32_t number = CALL_SITE_ANY;

	if (off - before == CALL_SITE_BYTES && *mov == MOV_EAX)
		memcpy(&number, mov + 1, sizeof(number));
	else if (off - before == LONG_MOV && !memcmp(mov, "\x48\xc7\xc0", 3))
		memcpy(&number, mov + 3, sizeof(number));
	else if (off - before == 2 && (!memcmp(mov, "\x31\xc0", 2) || !memcmp(mov, "\x33\xc0", 2)))
		s->zeroes = true;
	if (s->zeroes)
		number = 0;
	if (number < 0 || number >= NUMBERS)
		return off;
	s->number = number;
	return before;
}

/* The `syscall` at @off, behind the instruction at @before, which ends there or is @off itself. */
static int add_site(struct finding *f, size_t before, size_t off)
{
	struct call_site s = {.call = f->addr + off, .number = CALL_SITE_ANY};
	size_t at = set_number(f, before, off, &s), behind = off + SYSCALL_BYTES;
	struct decoded next;

	s.at = f->addr + at;
	s.flags_unread = flags_unread(f, behind);
	if (off - at < CALL_SITE_BYTES) {
		s.at = 0;
		/* The jump ends where the stub goes back to, or before that. */
		if ((f->number_set || asks_for_error(f, behind)) && decode(f, behind, &next) &&
		    may_move(&next) && behind + next.insn.length - at >= CALL_SITE_BYTES) {
			s.at = f->addr + at;
			s.n_moved = next.insn.length;
			memcpy(s.moved, f->code + behind, s.n_moved);
		}
	}
	/* None may lie in another one. */
	const struct call_site *last = f->n ? &f->sites[f->n - 1] : NULL;
	if (last && last->at && s.at && s.at < last->call + SYSCALL_BYTES + last->n_moved)
		s.at = 0;
	if (s.at)
		memcpy(s.old, f->code + at, sizeof(s.old));
	return add(f, &s);
}

static void note_target(struct finding *f, const struct decoded *d, uint64_t at)
{
	uint64_t to;

	for (int i = 0; i < d->insn.operand_count_visible; i++)
		if (d->op[i].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && d->op[i].imm.is_relative &&
		    ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&d->insn, &d->op[i], at, &to)) &&
		    to - f->addr < f->len)
			f->targets[(to - f->addr) / 8] |= 1u << (to - f->addr) % 8;
}

/* Whether it leaves eax as it is and goes on behind itself, or may. */
static bool keeps_eax(const struct decoded *d)
{
	if (d->insn.meta.category == ZYDIS_CATEGORY_CALL ||
	    d->insn.meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
	    d->insn.meta.category == ZYDIS_CATEGORY_RET)
		return false;
	for (int i = 0; i < d->insn.operand_count; i++)
		if (d->op[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    d->op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
		    ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64,
						     d->op[i].reg.value) == ZYDIS_REGISTER_RAX)
			return false;
	return true;
}

static void note_number(struct finding *f, const struct decoded *d, size_t off)
{
	int32_t number;

	f->number_set &= keeps_eax(d);
	if (d->insn.length != CALL_SITE_BYTES || f->code[off] != MOV_EAX)
		return;
	memcpy(&number, f->code + off + 1, sizeof(number));
	f->number_set = number >= 0 && number < NUMBERS;
}

static int walk(struct finding *f)
{
	size_t before = 0;
	int err = 0;

	for (size_t off = 0; !err && off < f->len;) {
		struct decoded d;

		if (!decode(f, off, &d)) {
			before = ++off;
			f->number_set = false;
			continue;
		}
		if (d.insn.attributes & ZYDIS_ATTRIB_IS_RELATIVE)
			note_target(f, &d, f->addr + off);
		if (d.insn.mnemonic == ZYDIS_MNEMONIC_SYSCALL && d.insn.length == SYSCALL_BYTES)
			err = add_site(f, before, off);
		note_number(f, &d, off);
		before = off;
		off += d.insn.length;
	}
	return err;
}

/* Whether there may be a site: then all of the code is decoded, and else not, which takes far less.
 */
static bool may_have_sites(const struct finding *f)
{
	const uint8_t *at = f->code, *end = f->code + f->len;

	while ((at = memmem(at, end - at, "\x0f\x05", SYSCALL_BYTES))) {
		size_t off = at - f->code;

		if ((off >= CALL_SITE_BYTES && at[-CALL_SITE_BYTES] == MOV_EAX && !at[-1] &&
		     !at[-2]) ||
		    (off >= LONG_MOV && at[-LONG_MOV] == 0x48 && at[1 - LONG_MOV] == 0xc7) ||
		    asks_for_error(f, off + SYSCALL_BYTES))
			return true;
		at += SYSCALL_BYTES;
	}
	return false;
}

int call_sites_find(const uint8_t *code, size_t len, uint64_t addr, struct call_site **sites)
{
	struct finding f = {.code = code, .len = len, .addr = addr};

	if (!may_have_sites(&f)) {
		*sites = NULL;
		return 0;
	}
	ZydisDecoderInit(&f.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	f.targets = calloc(1, len / 8 + 1);
	int err = f.targets ? walk(&f) : -ENOMEM;
	/* Nobody may jump into what becomes the jump. */
	for (int i = 0; !err && i < f.n; i++)
		for (int k = 1; f.sites[i].at && k < CALL_SITE_BYTES; k++) {
			uint64_t off = f.sites[i].at + k - addr;

			if (f.targets[off / 8] >> off % 8 & 1)
				f.sites[i].at = 0;
		}
	free(f.targets);
	if (err) {
		free(f.sites);
		return err;
	}
	*sites = f.sites;
	return f.n;
}

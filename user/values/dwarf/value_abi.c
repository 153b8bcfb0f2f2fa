// SPDX-License-Identifier: LGPL-2.1-or-later
/* value_abi.c: see value_abi.h. What a compiler has changed (a parameter that is not where it
 * should be) ends what is known of those behind it. */
#include "user/values/dwarf/value_abi.h"

#include "user/file/abi_classes.h"
#include "user/file/die_walk.h"

#include <dwarf.h>
#include <string.h>

enum { WORD = 8, PAIR = 16 };

static void in_memory(const struct value_registers *r, uint64_t reg, uint64_t off,
		      struct value_bytes *out)
{
	*out = (struct value_bytes){.place = VALUE_IN_MEMORY};
	out->addr = value_registers_number(r, reg, &out->at_quality) + off;
}

/* Takes registers @of for the parts, and their value. */
static bool in_registers(const struct abi_classes *c, const struct value_registers *r,
			 const uint8_t *of, struct value_bytes *out)
{
	unsigned n = c->of[1] && c->of[1] != ABI_SSE_UP ? 2 : 1;
	struct value_bytes whole = {0}, part;

	if (!value_registers_read(r, of[0], &whole))
		return false;
	if (n == 1 && !c->at[0]) {
		*out = whole;
		return true;
	}
	whole = (struct value_bytes){.len = PAIR};
	memset(whole.quality, VALUE_UNKNOWN, sizeof(whole.quality));
	for (unsigned i = 0; i < n; i++) {
		if (c->at[i] + c->len[i] > PAIR || !value_registers_read(r, of[i], &part))
			return false;
		memcpy(whole.bytes + c->at[i], part.bytes, c->len[i]);
		memcpy(whole.quality + c->at[i], part.quality, c->len[i]);
	}
	*out = whole;
	return true;
}

bool value_abi_is_stored(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;

	return dwarf_attr_integrate(die, DW_AT_location, &attr) &&
	       !dwarf_getlocation(&attr, &ops, &n) && n &&
	       (ops[0].atom == DW_OP_fbreg ||
		(ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31));
}

/* Whether DWARF does not say otherwise: it is stored later, or in that register now. */
static bool agrees(Dwarf_Die *parameter, Dwarf_Addr addr, uint8_t reg, bool stack)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;

	if (value_abi_is_stored(parameter))
		return true;
	if (!dwarf_attr_integrate(parameter, DW_AT_location, &attr) ||
	    dwarf_getlocation_addr(&attr, addr, &ops, &n, 1) != 1 || !n)
		return false;
	if (stack)
		return ops[0].atom == DW_OP_fbreg;
	return ops[0].atom == DW_OP_reg0 + reg;
}

bool value_abi_argument(Dwarf_Die *function, Dwarf_Die *parameter, Dwarf_Addr addr,
			const struct value_registers *r, struct value_bytes *out)
{
	Dwarf_Word language = abi_language(function);
	struct abi_cursor at = {0};
	bool known, stack;
	Dwarf_Die child;

	at.general = abi_hidden_first(function, language, &known);
	if (!known || !abi_follows(language) || dwarf_child(function, &child))
		return false;
	do {
		struct abi_classes c;
		uint8_t of[2] = {0};

		if (dwarf_tag(&child) != DW_TAG_formal_parameter)
			continue;
		abi_classes_of(&child, language, &c);
		if (c.of[0] == ABI_NOT_KNOWN || c.of[1] == ABI_NOT_KNOWN)
			return false;
		abi_next_argument(&at, &c, of, &stack);
		if ((stack && abi_is_rust(language) && c.of[1]) ||
		    (c.of[0] && !agrees(&child, addr, of[0], stack)))
			return false;
		uint64_t off = stack ? WORD + abi_take_stack(&at, &c) : 0;
		if (dwarf_dieoffset(&child) != dwarf_dieoffset(parameter))
			continue;
		if (!c.of[0])
			return false;
		if (stack)
			in_memory(r, DWARF_RSP, off, out);
		else if (c.of[0] != ABI_BY_REFERENCE)
			return in_registers(&c, r, of, out);
		if (c.of[0] == ABI_BY_REFERENCE && stack)
			return false; /* its address is on the stack: not looked at */
		if (c.of[0] == ABI_BY_REFERENCE)
			in_memory(r, of[0], 0, out);
		return true;
	} while (die_next(&child));
	return false;
}

bool value_abi_result(Dwarf_Die *function, const struct value_registers *r, struct value_bytes *out)
{
	static const uint8_t general[] = {DWARF_RAX, DWARF_RDX};
	Dwarf_Word language = abi_language(function);
	unsigned n_general = 0, n_vectors = 0;
	struct value_bytes second;
	struct abi_classes c;
	uint8_t of[2] = {0};

	if (!abi_follows(language))
		return false;
	abi_classes_of(function, language, &c);
	if (abi_is_rust(language) && c.of[0] == ABI_NOT_KNOWN && c.size >= ABI_RUST_BY_ADDRESS)
		c.of[0] = ABI_MEMORY;
	switch (c.of[0]) {
	case ABI_MEMORY:
	case ABI_BY_REFERENCE:
		in_memory(r, DWARF_RAX, 0, out);
		return true;
	case ABI_X87:
		return value_registers_read(r, DWARF_ST0, out);
	case ABI_COMPLEX_X87:
		if (!value_registers_read(r, DWARF_ST0, out) ||
		    !value_registers_read(r, DWARF_ST0 + 1, &second))
			return false;
		return value_bytes_append(out, NULL, &second, 0, PAIR);
	case ABI_INTEGER:
	case ABI_SSE:
		for (int i = 0; i < 2; i++)
			of[i] = c.of[i] == ABI_INTEGER ? general[n_general++]
				: c.of[i] == ABI_SSE   ? DWARF_XMM0 + n_vectors++
						       : 0;
		return in_registers(&c, r, of, out);
	default:
		return false;
	}
}

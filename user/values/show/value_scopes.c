// SPDX-License-Identifier: LGPL-2.1-or-later
/* value_scopes.c: see value_scopes.h. libdw's own search does not look into namespaces and classes.
 */
#include "user/values/show/value_scopes.h"

#include <dwarf.h>

/* Whether functions may be declared in it that are not local to code. */
static bool is_space(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type ||
	       tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
}

/* @local: in functions as well that do not hold @pc (of classes that are local to them). */
static bool find_function(Dwarf_Die *parent, Dwarf_Addr pc, bool local, Dwarf_Die *out)
{
	Dwarf_Die child;

	if (dwarf_child(parent, &child))
		return false;
	do {
		int tag = dwarf_tag(&child);

		if (tag == DW_TAG_subprogram && dwarf_haspc(&child, pc) == 1) {
			*out = child;
			return true;
		}
		if ((is_space(tag) ||
		     (local && (tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block))) &&
		    find_function(&child, pc, local, out))
			return true;
	} while (!dwarf_siblingof(&child, &child));
	return false;
}

bool value_scopes_function(struct value_scopes *s, uint64_t addr, Dwarf_Die *out)
{
	size_t slot = (addr ^ addr >> 10) % VALUE_SCOPES_KEPT;

	if (s->kept[slot].addr != addr || !addr) {
		Dwarf_Addr bias, at = addr + s->dwfl_bias;
		Dwarf_Die *unit = value_unit_at(&s->unit, s->module, at, &bias);

		s->kept[slot].addr = addr;
		s->kept[slot].found =
			unit && (find_function(unit, at - bias, false, &s->kept[slot].function) ||
				 find_function(unit, at - bias, true, &s->kept[slot].function));
	}
	if (s->kept[slot].found)
		*out = s->kept[slot].function;
	return s->kept[slot].found;
}

/* The block or inlined call in @parent that holds @pc. */
static bool find_inner(Dwarf_Die *parent, Dwarf_Addr pc, Dwarf_Die *out)
{
	Dwarf_Die child;

	if (dwarf_child(parent, &child))
		return false;
	do {
		int tag = dwarf_tag(&child);

		if ((tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine ||
		     tag == DW_TAG_try_block || tag == DW_TAG_catch_block) &&
		    dwarf_haspc(&child, pc) == 1) {
			*out = child;
			return true;
		}
	} while (!dwarf_siblingof(&child, &child));
	return false;
}

uint32_t value_scopes_at(struct value_scopes *s, uint64_t addr, Dwarf_Die out[VALUE_SCOPES])
{
	uint32_t n = 0;

	if (!value_scopes_function(s, addr, &out[0]))
		return 0;
	do
		n++;
	while (n < VALUE_SCOPES && find_inner(&out[n - 1], addr, &out[n]));
	return n;
}

int value_scopes_each(Dwarf_Die *die, value_scopes_fn *fn, void *ctx)
{
	Dwarf_Die child;
	int err = 0;

	if (dwarf_child(die, &child))
		return 0;
	do {
		err = fn(ctx, &child);
		err = err ? err : value_scopes_each(&child, fn, ctx);
	} while (!err && !dwarf_siblingof(&child, &child));
	return err;
}

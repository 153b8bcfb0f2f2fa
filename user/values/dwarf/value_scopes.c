// SPDX-License-Identifier: LGPL-2.1-or-later
/* value_scopes.c: see value_scopes.h. libdw's own search does not look into namespaces and classes.
 */
#include "user/values/dwarf/value_scopes.h"

#include "offline/base/demangle.h"
#include "user/file/die_walk.h"

#include <dwarf.h>
#include <string.h>

/* Whether functions may be declared in it that are not local to code. */
static bool is_space(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type ||
	       tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
}

/* @local: in functions as well that do not hold @pc (of classes that are local to them). */
static bool find_function(struct die_walk *walk, Dwarf_Die *parent, Dwarf_Addr pc, bool local,
			  Dwarf_Die *out)
{
	Dwarf_Die child;
	bool found = false;

	if (!die_walk_down(walk, parent, &child))
		return false;
	do {
		int tag = dwarf_tag(&child);

		found = tag == DW_TAG_subprogram && dwarf_haspc(&child, pc) == 1;
		if (found)
			*out = child;
		else if (is_space(tag) ||
			 (local && (tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block)))
			found = find_function(walk, &child, pc, local, out);
	} while (!found && die_walk_next(walk, &child));
	die_walk_up(walk);
	return found;
}

/* In functions too only where it is in none that is declared elsewhere. */
static bool find_in_unit(Dwarf_Die *unit, Dwarf_Addr pc, Dwarf_Die *out)
{
	struct die_walk walk = {0}, again = {0};

	return find_function(&walk, unit, pc, false, out) ||
	       find_function(&again, unit, pc, true, out);
}

bool value_scopes_function(struct value_scopes *s, uint64_t addr, Dwarf_Die *out)
{
	size_t slot = (addr ^ addr >> 10) % VALUE_SCOPES_KEPT;

	if (s->kept[slot].addr != addr || !addr) {
		Dwarf_Addr bias, at = addr + s->dwfl_bias;
		Dwarf_Die *unit = value_unit_at(&s->unit, s->module, at, &bias);

		s->kept[slot].addr = addr;
		s->kept[slot].found =
			unit && find_in_unit(unit, at - bias, &s->kept[slot].function);
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
	} while (die_next(&child));
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

static int each_below(struct die_walk *walk, Dwarf_Die *die, value_scopes_fn *fn, void *ctx)
{
	Dwarf_Die child;
	int err = 0;

	if (!die_walk_down(walk, die, &child))
		return 0;
	do {
		err = fn(ctx, &child);
		err = err ? err : each_below(walk, &child, fn, ctx);
	} while (!err && die_walk_next(walk, &child));
	die_walk_up(walk);
	return err;
}

int value_scopes_each(Dwarf_Die *die, value_scopes_fn *fn, void *ctx)
{
	struct die_walk walk = {0};

	return each_below(&walk, die, fn, ctx);
}

bool value_scopes_entry(Dwarf_Die *die, Dwarf_Addr *out)
{
	Dwarf_Addr base, begin, end;
	ptrdiff_t at = 0;
	bool found = !dwarf_entrypc(die, out) || !dwarf_lowpc(die, out);

	if (found && dwarf_haspc(die, *out) == 1)
		return true;
	while ((at = dwarf_ranges(die, at, &base, &begin, &end)) > 0)
		if (begin < end) {
			*out = begin;
			return true;
		}
	return found;
}

bool value_scopes_is_called(Dwarf_Die *die, const char *wanted)
{
	Dwarf_Attribute attr;
	const char *name = dwarf_diename(die), *linkage = NULL;

	if (name && !strcmp(name, wanted))
		return true;
	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr))
		linkage = dwarf_formstring(&attr);
	return linkage && demangle_means(linkage, wanted);
}

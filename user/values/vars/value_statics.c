// SPDX-License-Identifier: LGPL-2.1-or-later
/* value_statics.c: see value_statics.h. */
#include "user/values/vars/value_statics.h"

#include "user/file/die_walk.h"

#include <dwarf.h>
#include <string.h>

/* The number that an operation brings, which may be one of a table (DWARF 5, clang). */
static bool number_of(Dwarf_Attribute *location, const Dwarf_Op *op, uint64_t *out)
{
	Dwarf_Attribute indexed;
	Dwarf_Addr addr;
	Dwarf_Word word;

	*out = op->number;
	if (op->atom == DW_OP_addr || (op->atom >= DW_OP_const1u && op->atom <= DW_OP_consts))
		return true;
	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31) {
		*out = op->atom - DW_OP_lit0;
		return true;
	}
	if (dwarf_getlocation_attr(location, op, &indexed))
		return false;
	if (op->atom == DW_OP_addrx || op->atom == DW_OP_GNU_addr_index) {
		if (dwarf_formaddr(&indexed, &addr))
			return false;
		*out = addr;
		return true;
	}
	if (dwarf_formudata(&indexed, &word))
		return false;
	*out = word;
	return op->atom == DW_OP_constx || op->atom == DW_OP_GNU_const_index;
}

static bool is_address(unsigned atom)
{
	return atom == DW_OP_addr || atom == DW_OP_addrx || atom == DW_OP_GNU_addr_index;
}

static bool is_thread_local(unsigned atom)
{
	return atom == DW_OP_form_tls_address || atom == DW_OP_GNU_push_tls_address;
}

bool value_static_of(Dwarf_Die *die, struct value_static *out)
{
	Dwarf_Attribute attr;
	Dwarf_Die type;
	Dwarf_Op *ops;
	size_t n;

	if (!dwarf_attr_integrate(die, DW_AT_location, &attr) ||
	    dwarf_getlocation(&attr, &ops, &n) || !n ||
	    !((n == 1 && is_address(ops[0].atom)) || (n == 2 && is_thread_local(ops[1].atom))) ||
	    !number_of(&attr, &ops[0], &out->at))
		return false;
	out->die = *die;
	out->thread = n == 2;
	out->size = value_plain_type(die, &type) ? value_type_size(&type) : 0;
	return true;
}

static bool holds_variables(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type ||
	       tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
}

enum { SPACES = 32 };

/* Namespaces and types, the innermost last. */
struct spaces {
	const char *names[SPACES]; /* NULL: none, or it may be left out */
	unsigned n;
};

/* Adds those below @parent that the DIE at @off is in. */
static bool find_spaces(struct die_walk *walk, Dwarf_Die *parent, Dwarf_Off off, struct spaces *s)
{
	Dwarf_Die child;
	bool found = false;

	if (!die_walk_down(walk, parent, &child))
		return false;
	do {
		found = dwarf_dieoffset(&child) == off;
		if (found || !holds_variables(dwarf_tag(&child)) || s->n == SPACES)
			continue;
		s->names[s->n++] =
			dwarf_hasattr(&child, DW_AT_export_symbols) ? NULL : dwarf_diename(&child);
		found = find_spaces(walk, &child, off, s);
		s->n -= !found;
	} while (!found && die_walk_next(walk, &child));
	die_walk_up(walk);
	return found;
}

/* Whether what precedes the last :: of @wanted, of @len bytes, is the end of @s. */
static bool ends_with(const struct spaces *s, const char *wanted, size_t len)
{
	for (unsigned i = s->n; i && len; i--) {
		const char *name = s->names[i - 1];
		size_t n = name ? strlen(name) : 0;

		if (!name)
			continue;
		if (n > len || strncmp(wanted + len - n, name, n) != 0)
			return false;
		len -= n;
		if (!len)
			return true;
		if (len < 3 || strncmp(wanted + len - 2, "::", 2) != 0)
			return false;
		len -= 2;
	}
	return false;
}

/* By the namespaces around where it is declared: what is not seen outside of its file has no
 * linker's name. */
static bool is_qualified(Dwarf_Die *die, const char *wanted)
{
	const char *last = strrchr(wanted, ':'), *name = dwarf_diename(die);
	struct spaces spaces = {0};
	struct die_walk walk = {0};
	Dwarf_Die declared = *die, unit;
	Dwarf_Attribute attr;

	if (!name || !last || last - wanted < 2 || last[-1] != ':' || strcmp(name, last + 1) != 0 ||
	    (dwarf_attr(die, DW_AT_specification, &attr) && !dwarf_formref_die(&attr, &declared)) ||
	    !dwarf_diecu(&declared, &unit, NULL, NULL))
		return false;
	return find_spaces(&walk, &unit, dwarf_dieoffset(&declared), &spaces) &&
	       ends_with(&spaces, wanted, (size_t)(last - 1 - wanted));
}

static bool find_below(struct die_walk *walk, Dwarf_Die *parent, const char *name,
		       struct value_static *out)
{
	Dwarf_Die child;
	bool found = false;

	if (!die_walk_down(walk, parent, &child))
		return false;
	do {
		int tag = dwarf_tag(&child);

		found = (tag == DW_TAG_variable &&
			 (value_scopes_is_called(&child, name) || is_qualified(&child, name)) &&
			 value_static_of(&child, out)) ||
			(holds_variables(tag) && find_below(walk, &child, name, out));
	} while (!found && die_walk_next(walk, &child));
	die_walk_up(walk);
	return found;
}

bool value_static_find(struct value_vars *vars, const char *name, struct value_static *out)
{
	Dwarf_Die *unit = NULL;
	Dwarf_Addr bias;

	while ((unit = dwfl_module_nextcu(value_vars_scopes(vars)->module, unit, &bias))) {
		struct die_walk walk = {0};

		if (find_below(&walk, unit, name, out))
			return true;
	}
	return false;
}

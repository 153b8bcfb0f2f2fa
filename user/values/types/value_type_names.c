// SPDX-License-Identifier: LGPL-2.1-or-later
/* value_type_names.c: see value_type_names.h. A pointer to a function or to an array is written as
 * one to what these give or have, with "()" or "[]" behind it. */
#include "user/values/types/value_type_names.h"

#include "user/file/die_walk.h"
#include "user/values/types/value_die.h"

#include <dwarf.h>
#include <inttypes.h>

enum { DEPTH = 16 };

static void put_type(FILE *out, Dwarf_Die *of, int depth);

static const char *word_before(int tag)
{
	switch (tag) {
	case DW_TAG_structure_type:
		return "struct ";
	case DW_TAG_union_type:
		return "union ";
	case DW_TAG_enumeration_type:
		return "enum ";
	default:
		return "";
	}
}

/* Whether types are written without struct, union and enum before their names. */
static bool names_alone(Dwarf_Die *die)
{
	Dwarf_Die unit;
	int language = dwarf_diecu(die, &unit, NULL, NULL) ? dwarf_srclang(&unit) : DW_LANG_C;

	return language != DW_LANG_C && language != DW_LANG_C89 && language != DW_LANG_C99 &&
	       language != DW_LANG_C11;
}

static void put_dimensions(FILE *out, Dwarf_Die *array)
{
	Dwarf_Die child;

	for (int more = dwarf_child(array, &child); !more; more = !die_next(&child)) {
		uint64_t n;

		if (dwarf_tag(&child) != DW_TAG_subrange_type)
			continue;
		if (value_dimension(&child, &n))
			fprintf(out, "[%" PRIu64 "]", n);
		else
			fputs("[]", out);
	}
}

static void put_one(FILE *out, Dwarf_Die *type, int depth)
{
	const char *name = dwarf_diename(type);
	int tag = dwarf_tag(type);

	switch (tag) {
	case DW_TAG_pointer_type:
		put_type(out, type, depth);
		fputs(" *", out);
		return;
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		put_type(out, type, depth);
		fputs(tag == DW_TAG_reference_type ? " &" : " &&", out);
		return;
	case DW_TAG_const_type:
	case DW_TAG_volatile_type:
	case DW_TAG_atomic_type:
		fputs(tag == DW_TAG_const_type	    ? "const "
		      : tag == DW_TAG_volatile_type ? "volatile "
						    : "_Atomic ",
		      out);
		put_type(out, type, depth);
		return;
	case DW_TAG_restrict_type:
		put_type(out, type, depth);
		return;
	case DW_TAG_array_type:
		put_type(out, type, depth);
		fputc(' ', out);
		put_dimensions(out, type);
		return;
	case DW_TAG_string_type:
		fprintf(out, "character*%" PRIu64, value_type_size(type));
		return;
	case DW_TAG_subroutine_type:
		put_type(out, type, depth);
		fputs(" ()", out);
		return;
	default:
		fprintf(out, "%s%s", names_alone(type) ? "" : word_before(tag),
			name ? name : "{...}");
	}
}

static void put_type(FILE *out, Dwarf_Die *of, int depth)
{
	Dwarf_Attribute attr;
	Dwarf_Die type;

	if (!dwarf_attr_integrate(of, DW_AT_type, &attr) || !dwarf_formref_die(&attr, &type))
		fputs("void", out);
	else if (depth == DEPTH)
		fputs("...", out);
	else
		put_one(out, &type, depth + 1);
}

void value_type_name(FILE *out, Dwarf_Die *die)
{
	put_type(out, die, 0);
}

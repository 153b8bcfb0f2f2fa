/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* value_unit.h: the compilation unit that has an address. libdwfl finds it by .debug_aranges alone,
 * which clang does not write. */
#ifndef USER_VALUE_UNIT_H
#define USER_VALUE_UNIT_H

#include <elfutils/libdwfl.h>

/* What was found last, for the next one is likely there. Zeroed storage is none. */
struct value_unit {
	Dwarf_Die *die; /* libdwfl's */
	Dwarf_Addr bias;
};

/* The unit that has code at @addr, which counts as @module's does; NULL: none. *@bias: what to take
 * from addresses of @module to have those of the unit. */
Dwarf_Die *value_unit_at(struct value_unit *last, Dwfl_Module *module, Dwarf_Addr addr,
			 Dwarf_Addr *bias);

#endif

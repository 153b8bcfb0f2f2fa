// SPDX-License-Identifier: LGPL-2.1-or-later
/* value_unit.c: see value_unit.h. */
#include "user/values/dwarf/value_unit.h"

#include <stddef.h>

Dwarf_Die *value_unit_at(struct value_unit *last, Dwfl_Module *module, Dwarf_Addr addr,
			 Dwarf_Addr *bias)
{
	Dwarf_Die *unit = dwfl_module_addrdie(module, addr, bias);

	if (unit)
		return unit;
	if (last->die && dwarf_haspc(last->die, addr - last->bias) == 1) {
		*bias = last->bias;
		return last->die;
	}
	while ((unit = dwfl_module_nextcu(module, unit, bias)))
		if (dwarf_haspc(unit, addr - *bias) == 1) {
			*last = (struct value_unit){unit, *bias};
			return unit;
		}
	return NULL;
}

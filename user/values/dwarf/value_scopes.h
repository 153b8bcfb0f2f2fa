/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* value_scopes.h: the function that an address lies in, and the blocks and inlined calls in it,
 * wherever the function's DIE is: of the unit, of a namespace, of a class. */
#ifndef USER_VALUE_SCOPES_H
#define USER_VALUE_SCOPES_H

#include "user/values/dwarf/value_unit.h"

enum { VALUE_SCOPES = 64, VALUE_SCOPES_KEPT = 1024 };

struct value_scopes {
	Dwfl_Module *module;
	Dwarf_Addr dwfl_bias;
	struct value_unit unit;
	/* By address: the function there. */
	struct {
		uint64_t addr;
		bool found;
		Dwarf_Die function;
	} kept[VALUE_SCOPES_KEPT];
};

/* The function at the ELF address @addr. */
bool value_scopes_function(struct value_scopes *s, uint64_t addr, Dwarf_Die *out);
/* Its scopes that hold @addr, the function first. Returns how many; 0: none. */
uint32_t value_scopes_at(struct value_scopes *s, uint64_t addr, Dwarf_Die out[VALUE_SCOPES]);
/* Tells @fn of each DIE below @die, depth first, until it does not return 0; returns that. */
typedef int value_scopes_fn(void *ctx, Dwarf_Die *die);
int value_scopes_each(Dwarf_Die *die, value_scopes_fn *fn, void *ctx);

/* Where the code of a function or an inlined call begins: that of several parts (hot and cold) with
 * the first of them. The entry of an inlined call may be said to be at code of what is around it,
 * where its variables are not: that is none. False: it has no code. */
bool value_scopes_entry(Dwarf_Die *die, Dwarf_Addr *out);

/* Whether a user who writes @wanted may mean the function or variable @die: by its name, or by its
 * linkage name, which has the namespaces (demangle_means()). */
bool value_scopes_is_called(Dwarf_Die *die, const char *wanted);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* value_context.h: where in a replay, and of which module, DWARF is asked for a value. */
#ifndef USER_VALUE_CONTEXT_H
#define USER_VALUE_CONTEXT_H

#include "user/values/dwarf/value_registers.h"
#include "user/values/dwarf/value_scopes.h"

#include <elfutils/libdwfl.h>

enum { VALUE_DEPTH = 8 }; /* of expressions in expressions, at most */

struct value_context {
	struct value_scopes *scopes; /* of the module; NULL: no entry values */
	Dwfl_Module *module;
	Dwarf_Addr dwfl_bias; /* libdwfl's own */
	const struct value_registers *registers;
	struct value_machine *m;
	Dwarf_Die *function; /* whose frame base an expression may ask for; NULL: none */
	uint64_t addr;	     /* ELF address */
	uint64_t bias;	     /* run-time address of ELF address 0 */
	int depth;	     /* of expressions in expressions */
};

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* value_abi.h: where the calling convention of x86-64 (System V) puts arguments and results. At the
 * first instruction of a function that keeps its arguments on its stack, DWARF says only where they
 * will be. */
#ifndef USER_VALUE_ABI_H
#define USER_VALUE_ABI_H

#include "user/values/dwarf/value_registers.h"

#include <elfutils/libdw.h>

/* Whether the variable @die is said to be at one place of its function's frame all the time, so
 * that it is not there yet where the function begins. */
bool value_abi_is_stored(Dwarf_Die *die);
/* The argument @parameter of @function, whose first instruction @addr (as DWARF has it) is next.
 * False: where it is is not known. */
bool value_abi_argument(Dwarf_Die *function, Dwarf_Die *parameter, Dwarf_Addr addr,
			const struct value_registers *registers, struct value_bytes *out);
/* The result of @function, behind its call. False: that is not known. */
bool value_abi_result(Dwarf_Die *function, const struct value_registers *registers,
		      struct value_bytes *out);

#endif

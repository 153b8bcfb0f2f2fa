/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* value_arguments.h: arguments at the first instruction of a function that keeps them on its stack,
 * as compilers do that do not optimise: DWARF says where they will be once they are stored there.
 */
#ifndef USER_VALUE_ARGUMENTS_H
#define USER_VALUE_ARGUMENTS_H

#include <elfutils/libdw.h>
#include <stdbool.h>

/* Whether the variable @die is said to be in the part of the frame of its function that the
 * function itself fills, all the time. */
bool value_argument_is_stored(Dwarf_Die *die);
/* The register, as DWARF numbers them, in which @parameter is handed over to @function by the ABI
 * of x86-64; -1: in none, or that is not known. */
int value_argument_register(Dwarf_Die *function, Dwarf_Die *parameter);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* foreign_code.h: code in a file that does not keep to what the model assumes of functions. It is
 * taken for code of another module: what it calls is entered from it.
 *
 *   V8's built-in functions, which an engine has made by its own compiler and put into its program,
 *   take off the stack as many arguments as were put there, whoever has put them.
 *   Haskell's functions are entered by jumps, and left by jumps: their stack is one that rbp points
 *   to. Below rsp is the frame of the function in C that has entered the first of them. */
#ifndef OFFLINE_FOREIGN_CODE_H
#define OFFLINE_FOREIGN_CODE_H

#include <pugmark/model.h>

/* Marks in @foreign, which has an element for each function of @model, those of foreign code, and
 * returns how many these are. That are runs of 64 or more functions without call frame information,
 * one behind the other,
 *   of which one in sixteen or more returns where nothing tells how large its frame is (a few of
 *   them are an assembler's, and modelled), or
 *   of which most never return, but leave by jumps, and one in sixteen or more reads by the rbp
 *   that it is entered with, which is none of a callee's business in C; and then shorter such runs
 *   as well. What else leaves by jumps are stubs, and functions that end by calling another one.
 * None where that would be all that there is. */
uint32_t foreign_code_find(const struct pugmark_model *model, bool *foreign);

/* Whether @range, which is in no function, lies between two functions of foreign code or right
 * before one, as GHC's tables do: what would run there is foreign code as well. O(log n). */
bool foreign_code_is_around(const struct pugmark_model *model, const bool *foreign,
			    struct pugmark_range range);

#endif

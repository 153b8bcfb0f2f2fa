/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* foreign_code.h: code in a file that does not keep to what the model assumes of functions, as what
 * an engine has made by its own compiler and put into its program: V8's built-in functions take off
 * the stack as many arguments as were put there, whoever has put them, and jump into one another.
 * It is taken for code of another module: what it calls is entered from it. */
#ifndef OFFLINE_FOREIGN_CODE_H
#define OFFLINE_FOREIGN_CODE_H

#include <pugmark/model.h>

/* Marks in @foreign, which has an element for each function of @model, those of foreign code, and
 * returns how many these are: runs of 64 or more functions without call frame information, one
 * behind the other, of which one in sixteen or more returns where nothing tells how large its frame
 * is. (A few of them are an assembler's, and modelled.) None where that would be all that there is.
 */
uint32_t foreign_code_find(const struct pugmark_model *model, bool *foreign);

#endif

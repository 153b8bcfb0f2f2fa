/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* undescribed_tables.h: jump tables of code that no FDE covers, while that is still being found. */
#ifndef OFFLINE_UNDESCRIBED_TABLES_H
#define OFFLINE_UNDESCRIBED_TABLES_H

#include "offline/code/builder.h"
#include "offline/code/table_extent.h"

enum { UNDESCRIBED_TABLE_WINDOW = 16 }; /* instructions that are looked at */

/* Finds the table of an indirect jump, the last of the @n instructions @insns (which lie one behind
 * the other), and in *@n_entries how many entries it has. False where the instructions are not of a
 * form that compilers write. */
bool undescribed_table(const struct builder *b, const struct pugmark_insn *insns, uint32_t n,
		       struct table_load *load, uint32_t *n_entries);

#endif

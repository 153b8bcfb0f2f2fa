/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* value_entry.h: what a register held at the function's entry (DW_OP_entry_value): what the call
 * site in the caller says that it hands over. That holds for the call that is open unless the
 * function may have called itself by a tail call since, of which nothing would be left on the
 * stack. */
#ifndef USER_VALUE_ENTRY_H
#define USER_VALUE_ENTRY_H

#include "user/values/dwarf/value_context.h"

/* @op is the operation, of @location. False: it is not known. */
bool value_entry_read(const struct value_context *c, Dwarf_Attribute *location, const Dwarf_Op *op,
		      uint64_t *out, uint8_t *quality);

#endif

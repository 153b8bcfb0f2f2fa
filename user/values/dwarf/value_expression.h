/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* value_expression.h: evaluates DWARF's location expressions on a state of a replay. What comes out
 * is known no better than the worst of what went in. */
#ifndef USER_VALUE_EXPRESSION_H
#define USER_VALUE_EXPRESSION_H

#include "user/values/dwarf/value_context.h"

/* @location: what the operations are of, or NULL (a rule of a CFA). False: an operation is not
 * known here, or does not fit. */
bool value_expression_evaluate(const struct value_context *c, Dwarf_Attribute *location,
			       const Dwarf_Op *ops, size_t n, struct value_bytes *out);

#endif

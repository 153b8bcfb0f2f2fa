/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* value_expression.h: evaluates DWARF's location expressions on a state of a replay. What comes out
 * is known no better than the worst of what went in. */
#ifndef USER_VALUE_EXPRESSION_H
#define USER_VALUE_EXPRESSION_H

#include "user/values/show/value_registers.h"
#include "user/values/show/value_scopes.h"

#include <elfutils/libdwfl.h>

/* Where an expression is evaluated. */
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

/* @location: what the operations are of, or NULL (a rule of a CFA). False: an operation is not
 * known here, or does not fit. */
bool value_expression_evaluate(const struct value_context *c, Dwarf_Attribute *location,
			       const Dwarf_Op *ops, size_t n, struct value_bytes *out);
/* The canonical frame address, by call frame information. */
bool value_expression_cfa(const struct value_context *c, uint64_t *out, uint8_t *quality);
/* The register and offset that give the CFA; false: it is not of that form. */
bool value_expression_cfa_rule(const struct value_context *c, uint64_t addr, uint64_t *reg,
			       int64_t *off);
/* Where the prologue of @function ends, as lines tell; its first address where they do not. */
uint64_t value_expression_body(Dwarf_Die *function);

#endif

// SPDX-License-Identifier: LGPL-2.1-or-later
/* value_vars.c: see value_vars.h. What DWARF says is nowhere is "<optimized out>"; what cannot be
 * found out is "?". */
#include "user/values/vars/value_vars.h"

#include "user/cli/printable.h"
#include "user/file/debug_files.h"
#include "user/values/dwarf/value_abi.h"
#include "user/file/die_walk.h"
#include "user/values/dwarf/value_call_frames.h"
#include "user/values/dwarf/value_expression.h"
#include "user/values/dwarf/value_scopes.h"
#include "user/values/types/value_typed.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>

struct value_vars {
	Dwfl *dwfl;
	struct value_scopes scopes;
	struct value_symbols symbols; /* without a function: none */
};

/* One instruction, in a state of a replay. */
struct place_ctx {
	struct value_context c;
	const struct value_symbols *symbols;
	struct value_registers registers;
	Dwarf_Die scope[VALUE_SCOPES]; /* the function first */
	uint32_t n_scopes;
	bool begins;	  /* the function has executed nothing yet */
	bool in_prologue; /* what it keeps in its frame is not there yet */
};

static const struct value_symbols *symbols_of(const struct value_vars *vars)
{
	return vars->symbols.name ? &vars->symbols : NULL;
}

void value_vars_symbols(struct value_vars *vars, struct value_symbols symbols)
{
	vars->symbols = symbols;
}

struct value_vars *value_vars_open(const char *path)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = debug_files_find,
		.section_address = dwfl_offline_section_address,
	};
	struct value_vars *v = calloc(1, sizeof(*v));

	if (v && (v->dwfl = dwfl_begin(&callbacks)) &&
	    (v->scopes.module = debug_files_report(v->dwfl, path)) &&
	    !dwfl_report_end(v->dwfl, NULL, NULL) &&
	    dwfl_module_getdwarf(v->scopes.module, &v->scopes.dwfl_bias))
		return v;
	value_vars_free(v);
	return NULL;
}

void value_vars_free(struct value_vars *v)
{
	if (!v)
		return;
	if (v->dwfl)
		dwfl_end(v->dwfl);
	free(v);
}

struct value_scopes *value_vars_scopes(struct value_vars *v)
{
	return &v->scopes;
}

/* --- where functions were inlined ------------------------------------------------------------- */

struct inlined_ctx {
	const char *name;
	value_vars_address_fn *fn;
	void *ctx;
	int err;
};

static int at_die(void *ctx, Dwarf_Die *die)
{
	struct inlined_ctx *c = ctx;
	Dwarf_Addr addr;

	if (dwarf_tag(die) == DW_TAG_inlined_subroutine && value_scopes_is_called(die, c->name) &&
	    value_scopes_entry(die, &addr))
		c->err = c->fn(c->ctx, addr, dwarf_hasattr(die, DW_AT_entry_pc));
	return c->err;
}

int value_vars_inlined(struct value_vars *v, const char *name, value_vars_address_fn *fn, void *ctx)
{
	struct inlined_ctx c = {name, fn, ctx, 0};
	Dwarf_Addr bias;
	Dwarf_Die *unit = NULL;

	while (!c.err && (unit = dwfl_module_nextcu(v->scopes.module, unit, &bias)))
		value_scopes_each(unit, at_die, &c);
	return c.err;
}

/* --- a place -----------------------------------------------------------------------------------
 */

static void place_init(struct place_ctx *p, struct value_vars *vars, uint64_t addr, uint64_t bias,
		       struct value_machine *m)
{
	struct value_scopes *s = &vars->scopes;
	Dwarf_Addr low;

	p->symbols = symbols_of(vars);
	p->registers = (struct value_registers){.m = m};
	p->c = (struct value_context){
		.scopes = s,
		.module = s->module,
		.dwfl_bias = s->dwfl_bias,
		.registers = &p->registers,
		.m = m,
		.addr = addr,
		.bias = bias,
	};
	p->n_scopes = value_scopes_at(s, addr, p->scope);
	p->begins = p->in_prologue = false;
	if (!p->n_scopes)
		return;
	p->c.function = &p->scope[0];
	p->begins = !dwarf_lowpc(&p->scope[0], &low) && low == addr;
	p->in_prologue = p->begins || (addr > low && addr < value_call_frame_body(&p->scope[0]));
}

enum found { FOUND, NOWHERE, NOT_KNOWN };

static bool constant(Dwarf_Die *die, struct value_bytes *out)
{
	Dwarf_Attribute attr;
	Dwarf_Block block;
	Dwarf_Word word;

	if (!dwarf_attr_integrate(die, DW_AT_const_value, &attr))
		return false;
	*out = (struct value_bytes){.len = 8};
	if (!dwarf_formblock(&attr, &block) && block.length <= VALUE_BYTES) {
		memcpy(out->bytes, block.data, block.length);
		out->len = (uint8_t)block.length;
		return true;
	}
	if (dwarf_formudata(&attr, &word))
		return false;
	memcpy(out->bytes, &word, 8);
	return true;
}

/* Arguments above the return address are there from the beginning, and those alone are told by an
 * offset from the CFA that is not negative. */
static bool is_callers(const struct place_ctx *p, const Dwarf_Op *op)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;

	return op->atom == DW_OP_fbreg && (int64_t)op->number >= 0 &&
	       dwarf_attr_integrate(p->c.function, DW_AT_frame_base, &attr) &&
	       !dwarf_getlocation(&attr, &ops, &n) && n == 1 && ops[0].atom == DW_OP_call_frame_cfa;
}

/* The operations that are said of the variable there. Where a function begins, the first of a list
 * that begin there too are meant: further ones are of statements of which no code is left, as an
 * argument is changed before anything is executed. */
static bool operations(const struct place_ctx *p, Dwarf_Attribute *attr, Dwarf_Op **ops, size_t *n)
{
	Dwarf_Addr base, begin, end;
	ptrdiff_t at = 0;

	while (p->begins && (at = dwarf_getlocations(attr, at, &base, &begin, &end, ops, n)) > 0)
		if (begin <= p->c.addr && (p->c.addr < end || begin == p->c.addr))
			return *n > 0;
	return !p->begins && dwarf_getlocation_addr(attr, p->c.addr, ops, n, 1) == 1 && *n;
}

/* The variable's value or place. */
static enum found locate(const struct place_ctx *p, Dwarf_Die *die, struct value_bytes *out)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;

	if (constant(die, out))
		return FOUND;
	if (!dwarf_attr_integrate(die, DW_AT_location, &attr) || !operations(p, &attr, &ops, &n))
		return NOWHERE;
	if (p->in_prologue && value_abi_is_stored(die) && !is_callers(p, &ops[0]))
		return p->begins && dwarf_tag(die) == DW_TAG_formal_parameter &&
				       value_abi_argument(p->c.function, die, p->c.addr,
							  &p->registers, out)
			       ? FOUND
			       : NOT_KNOWN;
	return value_expression_evaluate(&p->c, &attr, ops, n, out) ? FOUND : NOT_KNOWN;
}

/* Is told each variable; stops where it returns true. */
typedef bool variable_fn(void *ctx, const struct place_ctx *p, Dwarf_Die *die, const char *name);

static bool of_scope(const struct place_ctx *p, Dwarf_Die *scope, enum value_vars_what what,
		     variable_fn *fn, void *ctx)
{
	Dwarf_Die child;

	if (dwarf_child(scope, &child))
		return false;
	do {
		int tag = dwarf_tag(&child);
		const char *name = dwarf_diename(&child);

		if (name && !dwarf_hasattr(&child, DW_AT_declaration) &&
		    (tag == DW_TAG_formal_parameter ||
		     (tag == DW_TAG_variable && what == VARS_ALL)) &&
		    fn(ctx, p, &child, name))
			return true;
	} while (die_next(&child));
	return false;
}

/* All that is visible at the address, from the innermost block out to its function. */
static void each_variable(const struct place_ctx *p, enum value_vars_what what, variable_fn *fn,
			  void *ctx)
{
	uint32_t first = what == VARS_ALL ? p->n_scopes : p->n_scopes != 0;

	for (uint32_t i = first; i > 0; i--) {
		Dwarf_Die scope = p->scope[i - 1];

		if (of_scope(p, &scope, what, fn, ctx))
			return;
	}
}

struct print_ctx {
	FILE *out;
	uint32_t n;
};

static bool print_one(void *ctx, const struct place_ctx *at, Dwarf_Die *die, const char *name)
{
	struct print_ctx *p = ctx;
	struct value_bytes v;

	fputs(p->n++ ? ", " : "", p->out);
	printable_print(p->out, name, PRINT_TEXT);
	fputc('=', p->out);
	enum found found = locate(at, die, &v);
	if (found == FOUND)
		value_type_print(p->out, die, &v, value_machine_memory(at->c.m), at->symbols,
				 VALUE_AS_TEXT);
	else
		fputs(found == NOWHERE ? "<optimized out>" : "?", p->out);
	return false;
}

static bool print_object(void *ctx, const struct place_ctx *at, Dwarf_Die *die, const char *name)
{
	struct print_ctx *p = ctx;
	struct value_bytes v;

	fputs(p->n++ ? ",{\"name\":" : "{\"name\":", p->out);
	printable_json(p->out, name);
	fputc(',', p->out);
	enum found found = locate(at, die, &v);
	value_typed_print(p->out, die, found == FOUND ? &v : NULL,
			  found == NOWHERE ? VALUE_NOWHERE : VALUE_UNKNOWN,
			  value_machine_memory(at->c.m), at->symbols);
	fputc('}', p->out);
	return false;
}

uint32_t value_vars_print(struct value_vars *vars, FILE *out, uint64_t addr, uint64_t bias,
			  enum value_vars_what what, struct value_machine *m)
{
	struct print_ctx p = {out, 0};
	struct place_ctx at;

	place_init(&at, vars, addr, bias, m);
	each_variable(&at, what, print_one, &p);
	return p.n;
}

void value_vars_json(struct value_vars *vars, FILE *out, uint64_t addr, uint64_t bias,
		     enum value_vars_what what, struct value_machine *m)
{
	struct print_ctx p = {out, 0};
	struct place_ctx at;

	place_init(&at, vars, addr, bias, m);
	fputc('[', out);
	each_variable(&at, what, print_object, &p);
	fputc(']', out);
}

struct part_ctx {
	const char *path, *name;
	size_t len;
	struct value_part *out;
	bool found;
};

static bool take_part(void *ctx, const struct place_ctx *at, Dwarf_Die *die, const char *name)
{
	struct part_ctx *p = ctx;
	struct value_part part = {0};

	if (strlen(name) != p->len || strncmp(name, p->name, p->len) != 0)
		return false;
	p->found = locate(at, die, &part.value) == FOUND && value_plain_type(die, &part.type) &&
		   value_path_follow(&part, p->path, value_machine_memory(at->c.m));
	if (p->found)
		*p->out = part;
	return true;
}

bool value_vars_part(struct value_vars *vars, const char *path, uint64_t addr, uint64_t bias,
		     struct value_machine *m, struct value_part *out)
{
	struct part_ctx p = {.path = path, .out = out};
	struct place_ctx at;

	p.name = value_path_name(path, &p.len);
	place_init(&at, vars, addr, bias, m);
	if (p.name)
		each_variable(&at, VARS_ALL, take_part, &p);
	return p.found;
}

struct find_ctx {
	const char *name;
	struct value_variable *out;
	enum value_vars_found found;
};

/* In bytes; 8 where DWARF does not say. */
static uint64_t size_of(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Die type;
	Dwarf_Word size;

	if (!dwarf_attr_integrate(die, DW_AT_type, &attr) || !dwarf_formref_die(&attr, &type) ||
	    dwarf_aggregate_size(&type, &size))
		return 8;
	return size;
}

/* Whether the operation looks at nothing but the stack of the expression, or where the frame is. */
static bool is_of_stack(unsigned atom)
{
	return (atom >= DW_OP_const1u && atom <= DW_OP_lit31) || atom == DW_OP_stack_value ||
	       atom == DW_OP_piece || atom == DW_OP_nop || atom == DW_OP_fbreg ||
	       atom == DW_OP_call_frame_cfa;
}

/* Of which general registers alone DWARF computes a variable that is nowhere itself, a bit each by
 * the encoding; 0: of others as well, of memory, or of none. */
static uint32_t made_of(const struct place_ctx *p, Dwarf_Die *die, bool *constant)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;
	uint32_t of = 0;

	*constant = dwarf_hasattr_integrate(die, DW_AT_const_value);
	if (*constant || !dwarf_attr_integrate(die, DW_AT_location, &attr) ||
	    !operations(p, &attr, &ops, &n))
		return 0;
	for (size_t i = 0; i < n; i++) {
		unsigned atom = ops[i].atom;
		bool based = atom >= DW_OP_breg0 && atom < DW_OP_breg0 + DWARF_GENERAL;

		if (based || (atom >= DW_OP_reg0 && atom < DW_OP_reg0 + DWARF_GENERAL))
			of |= 1u << value_registers_encoded(atom -
							    (based ? DW_OP_breg0 : DW_OP_reg0));
		else if (!is_of_stack(atom))
			return 0;
	}
	*constant = !of;
	return of;
}

static bool take_place(void *ctx, const struct place_ctx *at, Dwarf_Die *die, const char *name)
{
	struct find_ctx *f = ctx;
	struct value_bytes v;
	uint32_t of = 0;
	bool constant = false;

	if (strcmp(name, f->name) != 0)
		return false;
	enum found found = locate(at, die, &v);
	f->found = found == NOWHERE ? VARS_NOWHERE : VARS_NOT_TOLD;
	if (found != FOUND || (v.place == VALUE_IN_MEMORY && v.at_quality >= VALUE_UNKNOWN))
		return true;
	if (v.place == VALUE_IN_REGISTER && !v.reg && !(of = made_of(at, die, &constant))) {
		f->found = constant ? VARS_CONSTANT : VARS_NOT_TOLD;
		return true;
	}
	uint64_t size = size_of(die);
	*f->out = (struct value_variable){
		.memory = v.place == VALUE_IN_MEMORY,
		.vector = v.reg > 16,
		.reg = v.reg > 16 ? v.reg - 17
		       : v.reg	  ? v.reg - 1
				  : 0,
		.addr = v.addr,
		.len = v.place == VALUE_IN_REGISTER && size > v.len ? v.len : size,
		.of = of,
	};
	f->found = VARS_FOUND;
	return true;
}

enum value_vars_found value_vars_find(struct value_vars *vars, const char *name, uint64_t addr,
				      uint64_t bias, struct value_machine *m,
				      struct value_variable *out)
{
	struct find_ctx f = {name, out, VARS_NO_SUCH};
	struct place_ctx at;

	place_init(&at, vars, addr, bias, m);
	each_variable(&at, VARS_ALL, take_place, &f);
	return f.found;
}

bool value_vars_result(struct value_vars *vars, FILE *out, uint64_t addr, struct value_machine *m,
		       enum value_form form, bool *known)
{
	const struct value_registers registers = {.m = m};
	Dwarf_Attribute attr;
	struct value_bytes v;
	Dwarf_Die function;

	*known = value_scopes_function(&vars->scopes, addr, &function);
	if (!*known)
		return true;
	if (!dwarf_attr_integrate(&function, DW_AT_type, &attr))
		return false;
	bool found = value_abi_result(&function, &registers, &v);
	if (form == VALUE_AS_JSON) {
		fputc('{', out);
		value_typed_print(out, &function, found ? &v : NULL, VALUE_UNKNOWN,
				  value_machine_memory(m), symbols_of(vars));
		fputc('}', out);
	} else if (found) {
		value_type_print(out, &function, &v, value_machine_memory(m), symbols_of(vars),
				 form);
	} else {
		fputc('?', out);
	}
	return true;
}

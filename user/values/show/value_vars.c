// SPDX-License-Identifier: LGPL-2.1-or-later
/* value_vars.c: see value_vars.h. Locations are those of lists and expressions that are a register,
 * a place in memory or a value; others are "?", as what has been optimised away. */
#include "user/values/show/value_vars.h"

#include "user/cli/printable.h"
#include "user/file/debug_files.h"
#include "user/values/show/value_arguments.h"
#include "user/values/show/value_types.h"
#include "user/values/show/value_unit.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>

enum { STACK = 16 };

struct value_vars {
	Dwfl *dwfl;
	Dwfl_Module *module;
	Dwarf_Addr bias; /* of libdwfl's own */
	struct value_unit unit;
};

struct place_ctx {
	struct value_vars *vars;
	struct value_machine *m;
	Dwarf_Die *function;
	uint64_t addr, bias;
	Dwarf_Attribute *location; /* which the operations are of; NULL: of a rule of a CFA */
};

struct value_vars *value_vars_open(const char *path)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = debug_files_find,
		.section_address = dwfl_offline_section_address,
	};
	struct value_vars *v = calloc(1, sizeof(*v));

	if (v && (v->dwfl = dwfl_begin(&callbacks)) &&
	    (v->module = debug_files_report(v->dwfl, path)) &&
	    !dwfl_report_end(v->dwfl, NULL, NULL) && dwfl_module_getdwarf(v->module, &v->bias))
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

/* --- where functions were inlined ------------------------------------------------------------- */

struct inlined_ctx {
	const char *name;
	value_vars_address_fn *fn;
	void *ctx;
	int err;
};

static int at_inlined(Dwarf_Die *die, void *arg)
{
	struct inlined_ctx *c = arg;
	Dwarf_Addr addr;

	if (!dwarf_entrypc(die, &addr) || !dwarf_lowpc(die, &addr))
		c->err = c->fn(c->ctx, addr);
	return c->err ? DWARF_CB_ABORT : DWARF_CB_OK;
}

static int at_function(Dwarf_Die *die, void *arg)
{
	struct inlined_ctx *c = arg;
	const char *name = dwarf_diename(die);

	if (name && !strcmp(name, c->name) && dwarf_func_inline(die))
		dwarf_func_inline_instances(die, at_inlined, c);
	return c->err ? DWARF_CB_ABORT : DWARF_CB_OK;
}

int value_vars_inlined(struct value_vars *v, const char *name, value_vars_address_fn *fn, void *ctx)
{
	struct inlined_ctx c = {name, fn, ctx, 0};
	Dwarf_Addr bias;
	Dwarf_Die *unit = NULL;

	while (!c.err && (unit = dwfl_module_nextcu(v->module, unit, &bias)))
		dwarf_getfuncs(unit, at_function, &c, 0);
	return c.err;
}

/* Registers by their DWARF number: to that of the encoding. */
static const uint8_t general[] = {0, 2, 1, 3, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15};

static bool find_register(const struct place_ctx *c, uint64_t number, struct value_bytes *out)
{
	const struct value_state *s = value_machine_state(c->m);
	const struct value_known *k = value_machine_known(c->m);

	memset(out, 0, sizeof(*out));
	out->place = VALUE_IN_REGISTER;
	if (number < 16) {
		unsigned r = general[number];

		memcpy(out->bytes, &s->gpr[r], 8);
		if (k->inexact >> r & 1)
			memcpy(out->quality, k->gpr[r], 8);
		out->len = 8;
		out->reg = 1 + r;
		return true;
	}
	if (number < 17 || number > 32)
		return false;
	memcpy(out->bytes, s->vec[number - 17], 16);
	if (k->inexact >> (VALUE_BIT_VEC + number - 17) & 1)
		memcpy(out->quality, k->vec[number - 17], 16);
	out->len = 16;
	out->reg = 1 + 16 + number - 17;
	return true;
}

static bool read_register(const struct place_ctx *c, uint64_t number, struct value_bytes *out)
{
	bool found = find_register(c, number, out);

	/* All rests on a branch that was assumed. */
	for (unsigned i = 0; value_machine_memory(c->m)->supposed && i < sizeof(out->quality); i++)
		out->quality[i] = out->quality[i] ? out->quality[i] : VALUE_ASSUMED;
	return found;
}

static bool evaluate(const struct place_ctx *c, const Dwarf_Op *ops, size_t n,
		     struct value_bytes *out);

/* Where the frame's CFA is, by call frame information. */
static bool cfa_at(const struct place_ctx *c, uint64_t *out)
{
	Dwarf_Addr bias;
	Dwarf_CFI *cfi = dwfl_module_eh_cfi(c->vars->module, &bias);
	struct value_bytes place;
	Dwarf_Frame *frame;
	Dwarf_Op *ops;
	size_t n;
	bool ok = false;

	if (!cfi || dwarf_cfi_addrframe(cfi, c->addr + c->vars->bias - bias, &frame))
		return false;
	if (!dwarf_frame_cfa(frame, &ops, &n) && n && evaluate(c, ops, n, &place)) {
		*out = place.addr;
		ok = place.place == VALUE_IN_MEMORY;
	}
	free(frame);
	return ok;
}

static bool frame_base(const struct place_ctx *c, uint64_t *out)
{
	struct place_ctx own = *c; /* which cannot be told by itself (DW_OP_fbreg) */
	Dwarf_Attribute attr;
	struct value_bytes place;
	Dwarf_Op *ops;
	size_t n;

	own.function = NULL;
	own.location = &attr;
	if (!c->function || !dwarf_attr_integrate(c->function, DW_AT_frame_base, &attr) ||
	    dwarf_getlocation_addr(&attr, c->addr + c->vars->bias, &ops, &n, 1) != 1 || !n)
		return false;
	if (ops[0].atom == DW_OP_call_frame_cfa) {
		own.location = NULL;
		return cfa_at(&own, out);
	}
	if (!evaluate(&own, ops, n, &place))
		return false;
	if (place.place == VALUE_IN_MEMORY)
		*out = place.addr;
	else
		memcpy(out, place.bytes, 8);
	return true;
}

static bool register_plus(const struct place_ctx *c, uint64_t number, int64_t off, uint64_t *out)
{
	struct value_bytes r;

	if (!read_register(c, number, &r))
		return false;
	for (int i = 0; i < 8; i++)
		if (r.quality[i] == VALUE_UNKNOWN)
			return false;
	memcpy(out, r.bytes, 8);
	*out += (uint64_t)off;
	return true;
}

/* One operation on the stack of numbers. False: it is none that is known here. */
static bool step(const struct place_ctx *c, const Dwarf_Op *op, uint64_t *stack, int *n)
{
	Dwarf_Attribute indexed;
	uint64_t v;

	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31) {
		v = op->atom - DW_OP_lit0;
	} else if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		if (!register_plus(c, op->atom - DW_OP_breg0, (int64_t)op->number, &v))
			return false;
	} else {
		switch (op->atom) {
		case DW_OP_addr:
			v = op->number - c->vars->bias + c->bias;
			break;
		case DW_OP_addrx: /* by a table of addresses, as clang has it */
			if (!c->location || dwarf_getlocation_attr(c->location, op, &indexed) ||
			    dwarf_formaddr(&indexed, &v))
				return false;
			v += c->bias;
			break;
		case DW_OP_bregx: /* what libdw makes of a rule of a CFA */
			if (!register_plus(c, op->number, (int64_t)op->number2, &v))
				return false;
			break;
		case DW_OP_fbreg:
			if (!frame_base(c, &v))
				return false;
			v += op->number;
			break;
		case DW_OP_const1u ... DW_OP_consts:
			v = op->number;
			break;
		case DW_OP_plus_uconst:
			if (!*n)
				return false;
			stack[*n - 1] += op->number;
			return true;
		case DW_OP_plus:
		case DW_OP_minus:
			if (*n < 2)
				return false;
			--*n;
			stack[*n - 1] += op->atom == DW_OP_plus ? stack[*n] : 0 - stack[*n];
			return true;
		case DW_OP_deref:
			if (!*n || value_memory_read(value_machine_memory(c->m), stack[*n - 1], &v,
						     8, NULL))
				return false;
			stack[*n - 1] = v;
			return true;
		default:
			return false;
		}
	}
	if (*n == STACK)
		return false;
	stack[(*n)++] = v;
	return true;
}

static bool evaluate(const struct place_ctx *c, const Dwarf_Op *ops, size_t n,
		     struct value_bytes *out)
{
	uint64_t stack[STACK];
	int depth = 0;

	if (n == 1 && ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31)
		return read_register(c, ops[0].atom - DW_OP_reg0, out);
	if (n == 1 && ops[0].atom == DW_OP_regx)
		return read_register(c, ops[0].number, out);
	for (size_t i = 0; i < n; i++) {
		if (ops[i].atom == DW_OP_stack_value && depth && i + 1 == n) {
			*out = (struct value_bytes){.place = VALUE_IN_REGISTER, .len = 8};
			memcpy(out->bytes, &stack[depth - 1], 8);
			return true;
		}
		if (!step(c, &ops[i], stack, &depth))
			return false;
	}
	if (!depth)
		return false;
	*out = (struct value_bytes){.place = VALUE_IN_MEMORY, .addr = stack[depth - 1]};
	return true;
}

/* Whether the function has executed nothing yet. */
static bool begins(const struct place_ctx *c)
{
	Dwarf_Addr addr;

	return c->function && !dwarf_lowpc(c->function, &addr) && addr == c->addr;
}

/* The variable's value or place; false: it is nowhere. */
static bool locate(const struct place_ctx *c, Dwarf_Die *die, struct value_bytes *out)
{
	Dwarf_Attribute attr;
	Dwarf_Word word;
	Dwarf_Op *ops;
	size_t n;

	if (dwarf_attr_integrate(die, DW_AT_const_value, &attr) && !dwarf_formudata(&attr, &word)) {
		*out = (struct value_bytes){.place = VALUE_IN_REGISTER, .len = 8};
		memcpy(out->bytes, &word, 8);
		return true;
	}
	if (begins(c) && value_argument_is_stored(die)) {
		int number = value_argument_register(c->function, die);

		return number >= 0 && read_register(c, (uint64_t)number, out);
	}
	struct place_ctx here = *c;
	here.location = &attr;
	return dwarf_attr_integrate(die, DW_AT_location, &attr) &&
	       dwarf_getlocation_addr(&attr, c->addr + c->vars->bias, &ops, &n, 1) == 1 && n &&
	       evaluate(&here, ops, n, out);
}

/* Is told each variable; stops where it returns true. */
typedef bool variable_fn(void *ctx, const struct place_ctx *c, Dwarf_Die *die, const char *name);

static bool of_scope(const struct place_ctx *c, Dwarf_Die *scope, enum value_vars_what what,
		     variable_fn *fn, void *ctx)
{
	Dwarf_Die child;

	if (dwarf_child(scope, &child))
		return false;
	do {
		int tag = dwarf_tag(&child);
		const char *name = dwarf_diename(&child);

		if (name &&
		    (tag == DW_TAG_formal_parameter ||
		     (tag == DW_TAG_variable && what == VARS_ALL)) &&
		    fn(ctx, c, &child, name))
			return true;
	} while (!dwarf_siblingof(&child, &child));
	return false;
}

/* The function that the code of @die is in. Around an inlined one dwarf_getscopes() has what its
 * declaration is in, and not that. The caller frees *@scopes, which has it. */
static Dwarf_Die *real_function(Dwarf_Die *die, Dwarf_Die **scopes)
{
	int n = dwarf_getscopes_die(die, scopes);

	for (int i = 0; i < n; i++)
		if (dwarf_tag(&(*scopes)[i]) == DW_TAG_subprogram)
			return &(*scopes)[i];
	return NULL;
}

/* All that is visible at the address, from the innermost block out to its function. */
static bool each_variable(struct place_ctx *c, enum value_vars_what what, variable_fn *fn,
			  void *ctx)
{
	Dwarf_Addr bias;
	Dwarf_Addr at = c->addr + c->vars->bias;
	Dwarf_Die *cu = value_unit_at(&c->vars->unit, c->vars->module, at, &bias);
	Dwarf_Die *scopes = NULL;
	bool stopped = false;
	Dwarf_Die *around = NULL;
	int n = cu ? dwarf_getscopes(cu, at - bias, &scopes) : 0;
	int function = 0;

	while (function < n && dwarf_tag(&scopes[function]) != DW_TAG_subprogram)
		function++;
	if (function < n)
		c->function = &scopes[function];
	else if (n > 0)
		c->function = real_function(&scopes[0], &around);
	for (int i = what == VARS_ALL ? 0 : function; i <= function && i < n && !stopped; i++)
		stopped = of_scope(c, &scopes[i], what, fn, ctx);
	free(scopes);
	free(around);
	c->function = NULL;
	return stopped;
}

struct print_ctx {
	FILE *out;
	uint32_t n;
};

static bool print_one(void *ctx, const struct place_ctx *c, Dwarf_Die *die, const char *name)
{
	struct print_ctx *p = ctx;
	struct value_bytes v;

	fputs(p->n++ ? ", " : "", p->out);
	printable_print(p->out, name, PRINT_TEXT);
	fputc('=', p->out);
	if (locate(c, die, &v))
		value_type_print(p->out, die, &v, value_machine_memory(c->m));
	else
		fputc('?', p->out);
	return false;
}

uint32_t value_vars_print(struct value_vars *vars, FILE *out, uint64_t addr, uint64_t bias,
			  enum value_vars_what what, struct value_machine *m)
{
	struct place_ctx c = {vars, m, NULL, addr, bias, NULL};
	struct print_ctx p = {out, 0};

	each_variable(&c, what, print_one, &p);
	return p.n;
}

struct number_ctx {
	const char *name;
	int64_t *out;
	bool found;
};

static bool take_number(void *ctx, const struct place_ctx *c, Dwarf_Die *die, const char *name)
{
	struct number_ctx *n = ctx;
	struct value_bytes v;

	if (strcmp(name, n->name) != 0)
		return false;
	n->found = locate(c, die, &v) &&
		   value_type_number(die, &v, value_machine_memory(c->m), n->out);
	return true;
}

bool value_vars_number(struct value_vars *vars, const char *name, uint64_t addr, uint64_t bias,
		       struct value_machine *m, int64_t *out)
{
	struct place_ctx c = {vars, m, NULL, addr, bias, NULL};
	struct number_ctx n = {name, out, false};

	each_variable(&c, VARS_ALL, take_number, &n);
	return n.found;
}

struct find_ctx {
	const char *name;
	struct value_variable *out;
	bool found;
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

static bool take_place(void *ctx, const struct place_ctx *c, Dwarf_Die *die, const char *name)
{
	struct find_ctx *f = ctx;
	struct value_bytes v;

	if (strcmp(name, f->name) != 0)
		return false;
	if (!locate(c, die, &v) || (v.place == VALUE_IN_REGISTER && !v.reg))
		return true;
	uint64_t size = size_of(die);
	*f->out = (struct value_variable){
		.memory = v.place == VALUE_IN_MEMORY,
		.vector = v.reg > 16,
		.reg = v.reg > 16 ? v.reg - 17
		       : v.reg	  ? v.reg - 1
				  : 0,
		.addr = v.addr,
		.len = v.place == VALUE_IN_REGISTER && size > v.len ? v.len : size,
	};
	f->found = true;
	return true;
}

bool value_vars_find(struct value_vars *vars, const char *name, uint64_t addr, uint64_t bias,
		     struct value_machine *m, struct value_variable *out)
{
	struct place_ctx c = {vars, m, NULL, addr, bias, NULL};
	struct find_ctx f = {name, out, false};

	each_variable(&c, VARS_ALL, take_place, &f);
	return f.found;
}

bool value_vars_result(struct value_vars *vars, FILE *out, uint64_t addr, struct value_machine *m,
		       bool *known)
{
	struct place_ctx c = {vars, m, NULL, addr, 0, NULL};
	Dwarf_Addr bias, at = addr + vars->bias;
	Dwarf_Die *cu = value_unit_at(&vars->unit, vars->module, at, &bias), *scopes = NULL;
	int n = cu ? dwarf_getscopes(cu, at - bias, &scopes) : 0, i = 0;
	bool returns = true;

	while (i < n && dwarf_tag(&scopes[i]) != DW_TAG_subprogram)
		i++;
	*known = i < n;
	if (i < n) {
		struct value_bytes v;
		Dwarf_Attribute attr;

		returns = dwarf_attr_integrate(&scopes[i], DW_AT_type, &attr) != NULL;
		bool real = returns && value_type_is_real(&scopes[i]);
		if (returns && read_register(&c, real ? 17 : 0, &v))
			value_type_print(out, &scopes[i], &v, value_machine_memory(m));
	}
	free(scopes);
	return returns;
}

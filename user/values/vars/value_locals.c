// SPDX-License-Identifier: LGPL-2.1-or-later
/* value_locals.c: see value_locals.h. An expression is evaluated twice, with another CFA each time:
 * what differs by as much as these is in the frame. */
#include "user/values/vars/value_locals.h"

#include "user/file/die_walk.h"
#include "user/values/dwarf/value_call_frames.h"
#include "user/values/dwarf/value_expression.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- where it is -------------------------------------------------------------------------------
 */

static bool is_register(const Dwarf_Op *op, int64_t *number)
{
	uint64_t n;

	if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31)
		n = op->atom - DW_OP_reg0;
	else if (op->atom == DW_OP_regx)
		n = op->number;
	else
		return false;
	if (n >= DWARF_GENERAL && (n < DWARF_XMM0 || n >= DWARF_XMM0 + DWARF_VECTORS))
		return false;
	*number = (int64_t)n;
	return true;
}

/* Operations whose outcome is told by the frame alone. */
static bool is_of_frame(const Dwarf_Op *ops, size_t n)
{
	for (size_t i = 0; i < n; i++)
		switch (ops[i].atom) {
		case DW_OP_fbreg:
		case DW_OP_call_frame_cfa:
		case DW_OP_breg0 ... DW_OP_breg31:
		case DW_OP_plus_uconst:
		case DW_OP_plus:
		case DW_OP_minus:
		case DW_OP_const1u ... DW_OP_consts:
		case DW_OP_lit0 ... DW_OP_lit31:
			break;
		default:
			return false;
		}
	return true;
}

/* The address that the expression comes to in a frame with that CFA. */
static bool address_in(const struct value_local *l, uint64_t pc, Dwarf_Attribute *attr,
		       const Dwarf_Op *ops, size_t n, uint64_t cfa, uint64_t *out)
{
	struct value_scopes *s = value_vars_scopes(l->vars);
	struct value_registers registers = {.caller = true};
	struct value_context c = {
		.module = s->module,
		.dwfl_bias = s->dwfl_bias,
		.registers = &registers,
		.function = (Dwarf_Die *)&l->function,
		.addr = pc,
	};
	struct value_bytes v;
	uint64_t reg;
	int64_t off;

	memset(registers.quality, VALUE_UNKNOWN, sizeof(registers.quality));
	if (!value_call_frame_rule(&c, pc, &reg, &off) || reg >= DWARF_GENERAL)
		return false;
	registers.general[reg] = cfa - (uint64_t)off;
	registers.quality[reg] = VALUE_EXACT;
	if (!value_expression_evaluate(&c, attr, ops, n, &v) || v.place != VALUE_IN_MEMORY ||
	    v.at_quality)
		return false;
	*out = v.addr;
	return true;
}

static struct value_home find_home(struct value_local *l, uint64_t pc)
{
	enum { FRAME = 1 << 30, OTHER = FRAME + (1 << 20) };
	struct value_home home = {.pc = pc, .kind = HOME_OUTSIDE};
	Dwarf_Attribute attr;
	uint64_t first, second;
	Dwarf_Op *ops;
	size_t n;

	if (dwarf_haspc(&l->scope, pc) != 1)
		return home;
	home.kind = HOME_NOWHERE;
	if (!dwarf_attr_integrate(&l->die, DW_AT_location, &attr) ||
	    dwarf_getlocation_addr(&attr, pc, &ops, &n, 1) != 1 || !n)
		return home;
	if (n == 1 && is_register(&ops[0], &home.at)) {
		home.kind = HOME_REGISTER;
	} else if (is_of_frame(ops, n) && address_in(l, pc, &attr, ops, n, FRAME, &first) &&
		   address_in(l, pc, &attr, ops, n, OTHER, &second) &&
		   second - first == OTHER - FRAME) {
		home.kind = HOME_FRAME;
		home.at = (int64_t)(first - FRAME);
	}
	return home;
}

static struct value_home *slot_of(const struct value_local *l, uint64_t pc)
{
	uint32_t i = (uint32_t)((pc * 0x9e3779b97f4a7c15) >> 32) & (l->n_homes - 1);

	while (l->homes[i].pc && l->homes[i].pc != pc)
		i = (i + 1) & (l->n_homes - 1);
	return &l->homes[i];
}

/* Without memory for it the table stays as it is, and homes are found anew. */
static void make_room(struct value_local *l)
{
	struct value_local larger = *l;

	if (2 * (l->used_homes + 1) < l->n_homes)
		return;
	larger.n_homes = l->n_homes ? 2 * l->n_homes : 256;
	larger.homes = calloc(larger.n_homes, sizeof(*larger.homes));
	if (!larger.homes)
		return;
	for (uint32_t i = 0; i < l->n_homes; i++)
		if (l->homes[i].pc)
			*slot_of(&larger, l->homes[i].pc) = l->homes[i];
	free(l->homes);
	*l = larger;
}

struct value_home value_local_home(struct value_local *l, uint64_t pc)
{
	make_room(l);
	if (!pc || l->used_homes + 1 >= l->n_homes)
		return find_home(l, pc);
	struct value_home *slot = slot_of(l, pc);
	if (!slot->pc) {
		*slot = find_home(l, pc);
		l->used_homes++;
	}
	return *slot;
}

/* --- which there are ---------------------------------------------------------------------------
 */

struct search {
	struct value_vars *vars;
	uint64_t bias;
	const char *function, *path, *name;
	size_t len;
	struct value_locals *out;
	FILE *has; /* names of variables; NULL: none yet */
	char **names;
	struct value_path_why *why;
	struct die_walk walk; /* of one function's blocks */
	int err;
};

static void add_local(struct search *s, Dwarf_Die *function, Dwarf_Die *scope, Dwarf_Die *die)
{
	struct value_local l = {.vars = s->vars,
				.function = *function,
				.scope = *scope,
				.die = *die,
				.bias = s->bias};
	struct value_part to;
	struct value_walk walk;

	if (value_static_of(die, &s->out->fixed)) {
		s->out->is_fixed = true;
		return;
	}
	value_walk_begin(&walk, s->path);
	if (!value_plain_type(die, &l.part.type)) {
		snprintf(s->why->text, sizeof(s->why->text), "its type is not known");
		s->err = -EINVAL;
		return;
	}
	switch (value_walk_on(&walk, &l.part, &to, s->why)) {
	case VALUE_WALK_END:
		l.len = l.part.bits.n ? (l.part.bits.first % 8 + l.part.bits.n + 7) / 8
				      : value_type_size(&l.part.type);
		l.part.off += l.part.bits.n ? l.part.bits.first / 8 : 0;
		l.part.bits.first %= 8;
		if (!VEC_PUSH(s->out, l))
			s->err = -ENOMEM;
		return;
	case VALUE_WALK_POINTER:
		snprintf(s->why->text, sizeof(s->why->text),
			 "what a variable of a function points to is not followed: watch that "
			 "variable, or 0xADDRESS:LENGTH");
		s->err = -EINVAL;
		return;
	case VALUE_WALK_NO:
		s->err = -EINVAL;
	}
}

static void has_too(struct search *s, const char *name)
{
	size_t len;

	if (s->has)
		fprintf(s->has, ", %s", name);
	else if ((s->has = open_memstream(s->names, &len)))
		fprintf(s->has, "%s", name);
}

/* @inside: what is below @parent is of a function of that name. */
static void in_scope(struct search *s, Dwarf_Die *function, Dwarf_Die *parent, bool inside,
		     Dwarf_Die *visible)
{
	Dwarf_Addr base, begin, end;
	Dwarf_Die child;

	if (!die_walk_down(&s->walk, parent, &child))
		return;
	do {
		int tag = dwarf_tag(&child);
		const char *name;

		switch (tag) {
		case DW_TAG_formal_parameter:
		case DW_TAG_variable:
			name = inside ? dwarf_diename(&child) : NULL;
			if (!name)
				break;
			if (strlen(name) == s->len && !strncmp(name, s->name, s->len))
				add_local(s, function, visible, &child);
			else
				has_too(s, name);
			break;
		case DW_TAG_inlined_subroutine:
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
			in_scope(s, function, &child,
				 tag == DW_TAG_inlined_subroutine
					 ? value_scopes_is_called(&child, s->function)
					 : inside,
				 dwarf_ranges(&child, 0, &base, &begin, &end) > 0 ? &child
										  : visible);
		}
	} while (!s->err && die_walk_next(&s->walk, &child));
	die_walk_up(&s->walk);
}

static int at_die(void *ctx, Dwarf_Die *die)
{
	struct search *s = ctx;
	Dwarf_Addr entry;

	s->walk = (struct die_walk){0};
	if (dwarf_tag(die) == DW_TAG_subprogram && value_scopes_entry(die, &entry))
		in_scope(s, die, die, value_scopes_is_called(die, s->function), die);
	return s->err;
}

int value_locals_find(struct value_vars *vars, uint64_t bias, const char *function,
		      const char *path, struct value_locals *out, char **has,
		      struct value_path_why *why)
{
	struct search s = {.vars = vars,
			   .bias = bias,
			   .function = function,
			   .path = path,
			   .out = out,
			   .names = has,
			   .why = why};
	uint32_t before = out->n;
	Dwarf_Die *unit = NULL;
	Dwarf_Addr unit_bias;

	*has = NULL;
	s.name = value_path_name(path, &s.len);
	if (!s.name) {
		snprintf(why->text, sizeof(why->text), "there is no name in it");
		return -EINVAL;
	}
	while (!s.err &&
	       (unit = dwfl_module_nextcu(value_vars_scopes(vars)->module, unit, &unit_bias)))
		value_scopes_each(unit, at_die, &s);
	if (s.has)
		fclose(s.has);
	if (!s.err && (out->n > before || out->is_fixed)) {
		free(*has);
		*has = NULL;
		return 0;
	}
	return s.err ? s.err : -ENOENT;
}

void value_locals_deinit(struct value_locals *locals)
{
	for (uint32_t i = 0; i < locals->n; i++)
		free(locals->at[i].homes);
	VEC_FREE(locals);
}

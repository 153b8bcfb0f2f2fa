// SPDX-License-Identifier: LGPL-2.1-or-later
/* arg_types_find.c: see arg_types.h: arguments as DWARF declares them, in a sandbox. Which register
 * one is in says its location where the function begins, and the calling convention where there is
 * none (abi_classes.h); where both leave it open, it and what comes behind it are not read. */
#include "user/file/arg_types.h"

#include "offline/base/search.h"
#include "user/file/abi_classes.h"
#include "user/file/debug_files.h"
#include "user/file/die_walk.h"
#include "user/sandbox/sandbox.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { NESTING_MAX = 32, PEEL_MAX = 16, ENUM_NAMES_MAX = 512, WORD = 8 };
enum { ENUM_NAME_MAX = 256, TYPES_BYTES_MAX = 64 << 20 };

struct search {
	const char *path;
	const struct arg_wanted *wanted;
	json_t *found;
	bool *import_found;
	const void *last_die; /* of this unit, that was read */
};

/* ---- types ---- */

static bool type_of(Dwarf_Die *die, Dwarf_Die *out)
{
	Dwarf_Attribute attr;
	return dwarf_attr_integrate(die, DW_AT_type, &attr) && dwarf_formref_die(&attr, out) &&
	       !dwarf_peel_type(out, out);
}

static uint64_t number_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;
	return dwarf_attr_integrate(die, name, &attr) && !dwarf_formudata(&attr, &value) ? value
											 : 0;
}

static bool is_text_char(Dwarf_Die *type)
{
	const char *name = dwarf_diename(type);
	return dwarf_tag(type) == DW_TAG_base_type && name && !strcmp(name, "char");
}

static enum arg_kind base_kind(Dwarf_Die *type)
{
	switch (number_of(type, DW_AT_encoding)) {
	case DW_ATE_boolean:
		return ARG_BOOL;
	case DW_ATE_signed_char:
	case DW_ATE_unsigned_char:
		if (is_text_char(type))
			return ARG_CHAR;
		return number_of(type, DW_AT_encoding) == DW_ATE_signed_char ? ARG_INT
									     : ARG_UNSIGNED;
	case DW_ATE_signed:
		return ARG_INT;
	case DW_ATE_unsigned:
	case DW_ATE_UTF:
		return ARG_UNSIGNED;
	case DW_ATE_float:
		return ARG_REAL;
	}
	return ARG_UNREAD;
}

static bool is_struct(Dwarf_Die *type)
{
	int tag = dwarf_tag(type);
	return (tag == DW_TAG_structure_type || tag == DW_TAG_class_type) &&
	       !dwarf_hasattr(type, DW_AT_declaration);
}

static enum arg_kind pointer_kind(Dwarf_Die *pointer, Dwarf_Die *to)
{
	if (!type_of(pointer, to))
		return ARG_POINTER;
	return is_text_char(to) && dwarf_tag(pointer) == DW_TAG_pointer_type ? ARG_TEXT
	       : is_struct(to)						     ? ARG_STRUCT
									     : ARG_POINTER;
}

/* How values of @type are printed; *@to: what a pointer points to, *@bytes: what one takes. */
static enum arg_kind kind_of(Dwarf_Die *type, Dwarf_Die *to, uint64_t *bytes)
{
	Dwarf_Word size;
	enum arg_kind kind = ARG_UNREAD;
	*bytes = dwarf_aggregate_size(type, &size) ? 0 : size;
	switch (dwarf_tag(type)) {
	case DW_TAG_base_type:
		kind = base_kind(type);
		break;
	case DW_TAG_enumeration_type:
		kind = ARG_ENUM;
		break;
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		*bytes = WORD;
		return pointer_kind(type, to);
	case DW_TAG_array_type:
		return type_of(type, to) && is_text_char(to) && *bytes ? ARG_CHARS : ARG_UNREAD;
	}
	bool sized = *bytes == 1 || *bytes == 2 || *bytes == 4 || *bytes == 8;
	return sized && (kind != ARG_REAL || *bytes >= 4) ? kind : ARG_UNREAD;
}

/* Of the forms of a fixed size libdw extends the sign, which these have not: what is negative has
 * another form. */
static int constant_of(Dwarf_Attribute *attr, Dwarf_Sword *value)
{
	Dwarf_Word plain;
	unsigned form = dwarf_whatform(attr);
	if (form != DW_FORM_data1 && form != DW_FORM_data2 && form != DW_FORM_data4)
		return dwarf_formsdata(attr, value);
	if (dwarf_formudata(attr, &plain))
		return -1;
	*value = (Dwarf_Sword)plain;
	return 0;
}

static json_t *enum_names(Dwarf_Die *type)
{
	json_t *names = json_array();
	Dwarf_Die child;
	if (dwarf_child(type, &child))
		return names;
	do {
		Dwarf_Attribute attr;
		Dwarf_Sword value;
		const char *name = dwarf_diename(&child);
		if (dwarf_tag(&child) == DW_TAG_enumerator && name &&
		    strnlen(name, ENUM_NAME_MAX) < ENUM_NAME_MAX &&
		    dwarf_attr(&child, DW_AT_const_value, &attr) && !constant_of(&attr, &value))
			json_array_append_new(names, json_pack("[s?,I]", name, (json_int_t)value));
	} while (json_array_size(names) < ENUM_NAMES_MAX && !dwarf_siblingof(&child, &child));
	return names;
}

static json_t *type_json(const char *name, enum arg_kind kind, uint64_t bytes, Dwarf_Die *type)
{
	json_t *j = json_object(), *text = json_string(name ? name : "");
	json_object_set_new(j, "name", text ? text : json_string("?")); /* not UTF-8 */
	json_object_set_new(j, "is", json_string(arg_kind_words[kind]));
	json_object_set_new(j, "bytes", json_integer(bytes < UINT16_MAX ? bytes : UINT16_MAX));
	if (kind == ARG_ENUM)
		json_object_set_new(j, "names", enum_names(type));
	return j;
}

/* The first fields of a struct that can be printed. */
static void add_fields(json_t *j, Dwarf_Die *type)
{
	json_t *fields = json_array();
	Dwarf_Die child;
	bool more = false;
	for (int left = dwarf_child(type, &child); !left; left = dwarf_siblingof(&child, &child)) {
		Dwarf_Die its, to;
		uint64_t bytes, at = number_of(&child, DW_AT_data_member_location);
		if (dwarf_tag(&child) != DW_TAG_member || dwarf_hasattr(&child, DW_AT_artificial) ||
		    dwarf_hasattr(&child, DW_AT_external))
			continue;
		enum arg_kind kind = dwarf_hasattr(&child, DW_AT_data_bit_offset) ||
						     dwarf_hasattr(&child, DW_AT_bit_size) ||
						     !type_of(&child, &its)
					     ? ARG_UNREAD
					     : kind_of(&its, &to, &bytes);
		if (kind == ARG_UNREAD || !dwarf_diename(&child) || at >= 1 << 20 ||
		    json_array_size(fields) == ARG_FIELDS_MAX) {
			more = true;
			continue;
		}
		if (kind == ARG_STRUCT)
			kind = ARG_POINTER;
		json_t *field = type_json(dwarf_diename(&child), kind, bytes, &its);
		json_object_set_new(field, "at", json_integer((json_int_t)at));
		json_array_append_new(fields, field);
	}
	json_object_set_new(j, "fields", fields);
	json_object_set_new(j, "more", json_boolean(more));
}

/* ---- where arguments are ---- */

/* The register of DWARF's number @op, by the calling convention; -1: none of these. */
static int register_number(uint8_t op)
{
	static const uint8_t order[ARG_REGISTERS] = {5, 4, 1, 2, 8, 9}; /* rdi, rsi, rdx, rcx, … */
	for (int i = 0; i < ARG_REGISTERS; i++)
		if (op == DW_OP_reg0 + order[i])
			return i;
	return -1;
}

/* By its location at @entry: a register; -1: elsewhere; -2: there is none that says. */
static int located_in(Dwarf_Die *param, uint64_t entry)
{
	Dwarf_Attribute attr;
	Dwarf_Op *expr;
	size_t n;
	if (!entry || !dwarf_attr(param, DW_AT_location, &attr) ||
	    dwarf_getlocation_addr(&attr, entry, &expr, &n, 1) != 1 || !n)
		return -2;
	if (expr[0].atom == DW_OP_fbreg || expr[0].atom == DW_OP_call_frame_cfa)
		return -2; /* where its function puts it */
	return n == 1 ? register_number(expr[0].atom) : -1;
}

/* The registers that the convention gives the next argument. */
struct next {
	Dwarf_Word language;
	struct abi_cursor at;
	bool known;
};

static struct next next_first(Dwarf_Die *function)
{
	struct next next = {.language = abi_language(function)};
	next.at.general = abi_hidden_first(function, next.language, &next.known);
	next.known &= next.language != DW_LANG_Go; /* it has a convention of its own */
	return next;
}

/* The register of the next argument, which is @param, if that is one and it is known; -1. */
static int next_register(struct next *next, Dwarf_Die *param)
{
	struct abi_classes c;
	uint8_t of[2] = {0};
	bool stack;
	abi_classes_of(param, next->language, &c);
	next->known &= c.of[0] != ABI_NOT_KNOWN && c.of[1] != ABI_NOT_KNOWN;
	if (!next->known)
		return -1;
	abi_next_argument(&next->at, &c, of, &stack);
	return !stack && c.of[0] == ABI_INTEGER && !c.of[1] ? register_number(DW_OP_reg0 + of[0])
							    : -1;
}

static void add_argument(json_t *list, Dwarf_Die *param, uint64_t entry, struct next *next)
{
	Dwarf_Die type, to;
	uint64_t bytes = 0;
	bool typed = type_of(param, &type);
	enum arg_kind kind = typed ? kind_of(&type, &to, &bytes) : ARG_UNREAD;
	int by_convention = next_register(next, param), in = located_in(param, entry);
	in = in == -2 ? by_convention : in;
	if (kind == ARG_REAL || kind == ARG_CHARS || in < 0)
		kind = ARG_UNREAD;
	json_t *j = type_json(dwarf_diename(param), kind, bytes, &type);
	if (kind != ARG_UNREAD)
		json_object_set_new(j, "in", json_integer(in));
	if (kind == ARG_STRUCT)
		add_fields(j, &to);
	json_array_append_new(list, j);
}

/* A clone whose arguments are not those of its source. */
static bool is_changed(Dwarf_Die *function)
{
	const char *name = dwarf_diename(function);
	Dwarf_Attribute attr;
	const char *linkage = dwarf_attr_integrate(function, DW_AT_linkage_name, &attr)
				      ? dwarf_formstring(&attr)
				      : NULL;
	return number_of(function, DW_AT_calling_convention) == DW_CC_nocall || !name ||
	       (linkage && strchr(linkage, '.'));
}

static json_t *arguments_of(Dwarf_Die *function, uint64_t entry)
{
	json_t *list = json_array();
	Dwarf_Die child;
	struct next next = next_first(function);
	if (is_changed(function) || dwarf_child(function, &child))
		return list;
	do {
		if (dwarf_tag(&child) == DW_TAG_formal_parameter)
			add_argument(list, &child, entry, &next);
	} while (json_array_size(list) < PEEL_MAX && die_next(&child));
	return list;
}

/* ---- functions ---- */

static void add_function(struct search *s, Dwarf_Die *die, const char *name, uint64_t addr)
{
	json_t *arguments = arguments_of(die, addr);
	if (json_array_size(arguments))
		json_array_append_new(
			s->found, json_pack("{s:s?,s:I,s:O}", "function", name ? name : "?",
					    "address", (json_int_t)addr, "arguments", arguments));
	json_decref(arguments);
}

static void look_at(struct search *s, Dwarf_Die *die)
{
	const struct arg_wanted *w = s->wanted;
	Dwarf_Addr addr;
	Dwarf_Attribute attr;
	if (!dwarf_entrypc(die, &addr) || !dwarf_lowpc(die, &addr)) {
		size_t i = SEARCH_FIRST_NOT(0, w->n_addrs, k, w->addrs[k] < addr);
		if (i < w->n_addrs && w->addrs[i] == addr)
			add_function(s, die, dwarf_diename(die), addr);
		return;
	}
	const char *name = dwarf_attr_integrate(die, DW_AT_linkage_name, &attr)
				   ? dwarf_formstring(&attr)
				   : dwarf_diename(die);
	for (uint32_t i = 0; name && i < w->n_imports; i++)
		if (!s->import_found[i] && !strcmp(name, w->imports[i])) {
			s->import_found[i] = true;
			add_function(s, die, name, 0);
		}
}

static void read_die(struct search *s, Dwarf_Die *die, int nesting)
{
	Dwarf_Die child;
	if (nesting > NESTING_MAX || (s->last_die && die->addr <= s->last_die))
		return; /* what goes back leads round */
	s->last_die = die->addr;
	int tag = dwarf_tag(die);
	if (tag == DW_TAG_subprogram)
		look_at(s, die);
	if ((tag != DW_TAG_compile_unit && tag != DW_TAG_namespace) || dwarf_child(die, &child))
		return;
	do
		read_die(s, &child, nesting + 1);
	while (!dwarf_siblingof(&child, &child));
}

static int find_inside(void *ctx, FILE *out, struct pugmark_diag *diag)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = debug_files_find,
		.section_address = dwfl_offline_section_address,
	};
	struct search *s = ctx;
	s->found = json_array();
	s->import_found = calloc(s->wanted->n_imports + 1, sizeof(bool));
	Dwfl *dwfl = dwfl_begin(&callbacks);
	Dwfl_Module *module = dwfl ? debug_files_report(dwfl, s->path) : NULL;
	Dwarf_Addr bias = 0;
	if (!s->found || !s->import_found)
		return pugmark_diag_set(diag, -ENOMEM, s->path, PUGMARK_NO_OFFSET, "out of memory");
	if (module)
		dwfl_report_end(dwfl, NULL, NULL);
	for (Dwarf_Die *cu = NULL; module && (cu = dwfl_module_nextcu(module, cu, &bias));) {
		s->last_die = NULL;
		read_die(s, cu, 0);
	}
	if (json_array_size(s->found))
		json_dumpf(s->found, out, JSON_COMPACT);
	json_decref(s->found);
	free(s->import_found);
	if (dwfl)
		dwfl_end(dwfl);
	return 0;
}

int arg_types_find(const char *path, const struct arg_wanted *wanted, char **out,
		   struct pugmark_diag *diag)
{
	struct search s = {.path = path, .wanted = wanted};
	struct sandbox sandbox = {.subject = path, .grants = &path, .n_grants = 1};
	void *bytes = NULL;
	size_t len = 0;
	int err = sandbox_or_here(&sandbox, find_inside, &s, &bytes, &len, diag);
	*out = NULL;
	if (!err && len && len <= TYPES_BYTES_MAX) {
		*out = strndup(bytes, len);
		err = *out ? 0 : -ENOMEM;
	}
	free(bytes);
	return err;
}

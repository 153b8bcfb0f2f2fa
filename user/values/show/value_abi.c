// SPDX-License-Identifier: LGPL-2.1-or-later
/* value_abi.c: see value_abi.h. As "System V Application Binary Interface, AMD64 Architecture
 * Processor Supplement", 3.2.3, has it: each eightbyte of a value has a class, which those of the
 * members in it come together to. Rust's own convention is none that is promised; of it only
 * scalars and pairs of them are known, which are handed over one by one.
 *
 * What a compiler has changed (a parameter that is not where it should be) ends what is known of
 * those behind it. */
#include "user/values/show/value_abi.h"

#include "user/values/show/value_dies.h"

#include <dwarf.h>
#include <string.h>

enum {
	WORD = 8,
	PAIR = 16,
	GENERAL = 6,
	VECTORS = 8,
	DEPTH = 16,
	LOOKED_MAX = 1 << 20,
	RUST_BY_ADDRESS = 64, /* bytes: results of at least that many are for certain in memory */
};

/* Of an eightbyte; the greater one wins, but for NOT_KNOWN, which nothing wins over. */
enum class {
	NO_CLASS,
	SSE,
	SSE_UP,
	INTEGER,
	X87,
	X87_UP,
	COMPLEX_X87,
	MEMORY,
	BY_REFERENCE, /* the whole, by its address: a class that cannot be copied byte by byte */
	NOT_KNOWN,
};

struct classes {
	uint8_t of[2];
	uint64_t size, align;
	uint32_t looked; /* at how many DIEs; at more than LOOKED_MAX: the class is not known */
	bool apart;	 /* each part is an argument of its own, and is the whole of its register */
	uint8_t at[2], len[2]; /* of the parts, then */
};

static uint8_t merged(uint8_t a, uint8_t b)
{
	return a > b ? a : b;
}

static bool type_of(Dwarf_Die *die, Dwarf_Die *out)
{
	Dwarf_Attribute attr;

	return dwarf_attr_integrate(die, DW_AT_type, &attr) && dwarf_formref_die(&attr, out) &&
	       !dwarf_peel_type(out, out);
}

static Dwarf_Word number_of(Dwarf_Die *die, unsigned name, Dwarf_Word otherwise)
{
	Dwarf_Attribute attr;
	Dwarf_Word v;

	return dwarf_attr_integrate(die, name, &attr) && !dwarf_formudata(&attr, &v) ? v
										     : otherwise;
}

static Dwarf_Word language_of(Dwarf_Die *function)
{
	Dwarf_Die unit;

	return dwarf_diecu(function, &unit, NULL, NULL) ? number_of(&unit, DW_AT_language, 0) : 0;
}

static bool is_rust(Dwarf_Word language)
{
	return language == DW_LANG_Rust;
}

/* Languages that follow the convention. */
static bool follows(Dwarf_Word language)
{
	static const uint16_t those[] = {
		DW_LANG_C,
		DW_LANG_C89,
		DW_LANG_C99,
		DW_LANG_C11,
		DW_LANG_ObjC,
		DW_LANG_C_plus_plus,
		DW_LANG_ObjC_plus_plus,
		DW_LANG_C_plus_plus_03,
		DW_LANG_C_plus_plus_11,
		DW_LANG_C_plus_plus_14,
		DW_LANG_Rust,
		0x2b /* C++17 */,
		0x2c /* C17 */,
		0x2a /* C++20, as proposed */,
	};

	for (size_t i = 0; i < sizeof(those) / sizeof(*those); i++)
		if (those[i] == language)
			return true;
	return false;
}

static void classify(Dwarf_Die *type, uint64_t off, struct classes *c, int depth);

static void put(struct classes *c, uint64_t off, uint64_t len, uint8_t what)
{
	for (uint64_t i = off / WORD; len && i <= (off + len - 1) / WORD && i < 2; i++)
		c->of[i] = merged(c->of[i], what);
}

static void put_all(struct classes *c, uint8_t what)
{
	put(c, 0, PAIR, what);
}

static void align_to(struct classes *c, uint64_t off, uint64_t align)
{
	c->align = align > c->align ? align : c->align;
	if (off % align)
		put_all(c, MEMORY);
}

static void classify_base(Dwarf_Die *type, uint64_t off, struct classes *c)
{
	Dwarf_Word size = number_of(type, DW_AT_byte_size, 0),
		   encoding = number_of(type, DW_AT_encoding, DW_ATE_unsigned);
	const char *name = dwarf_diename(type);
	bool quad = name && strstr(name, "128") != NULL;

	bool whole = encoding != DW_ATE_complex_float || size > 1; /* it has two halves */
	if (!size || !whole || size > 2 * PAIR || (size & (size - 1))) {
		put_all(c, NOT_KNOWN);
		return;
	}
	if (encoding == DW_ATE_complex_float) {
		align_to(c, off, size / 2);
		if (size > PAIR)
			put_all(c, quad ? MEMORY : COMPLEX_X87);
		else
			put(c, off, size, SSE);
	} else if (encoding == DW_ATE_float && size == PAIR) {
		align_to(c, off, PAIR);
		put(c, off, WORD, quad ? SSE : X87);
		put(c, off + WORD, WORD, quad ? SSE_UP : X87_UP);
	} else if (size > PAIR) {
		put_all(c, NOT_KNOWN);
	} else {
		align_to(c, off, size);
		put(c, off, size, encoding == DW_ATE_float ? SSE : INTEGER);
	}
}

static bool is_user_provided(Dwarf_Die *function)
{
	return !dwarf_hasattr(function, DW_AT_artificial) &&
	       !dwarf_hasattr(function, DW_AT_defaulted);
}

/* Whether the constructor @function takes a reference to its own class, and nothing else. */
static bool copies(Dwarf_Die *function, Dwarf_Die *class)
{
	Dwarf_Die child, type, of;
	unsigned n = 0;
	bool own = false;

	for (int more = dwarf_child(function, &child); !more; more = !value_die_next(&child)) {
		if (dwarf_tag(&child) != DW_TAG_formal_parameter ||
		    dwarf_hasattr(&child, DW_AT_artificial))
			continue;
		int tag = type_of(&child, &type) ? dwarf_tag(&type) : 0;
		own = !n++ &&
		      (tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type) &&
		      type_of(&type, &of) && dwarf_dieoffset(&of) == dwarf_dieoffset(class);
	}
	return own;
}

/* What a function that @class declares says of how it is passed. */
static uint8_t how_function_passes(Dwarf_Die *function, Dwarf_Die *class)
{
	const char *name = dwarf_diename(function), *own = dwarf_diename(class);
	size_t len = own ? strcspn(own, "<") : 0;

	if (number_of(function, DW_AT_virtuality, 0))
		return BY_REFERENCE;
	if (!name || !own || !len)
		return NOT_KNOWN;
	bool constructor =
		strlen(name) >= len && !strncmp(name, own, len) && (!name[len] || name[len] == '<');
	if (name[0] != '~' && !(constructor && copies(function, class)))
		return NO_CLASS;
	return is_user_provided(function) ? BY_REFERENCE : NOT_KNOWN;
}

/* A class of C++ that cannot be copied byte by byte is passed by its address. clang says which it
 * is; elsewhere that follows from what it declares, or it is not known. */
static uint8_t how_class_passes(Dwarf_Die *type, struct classes *c, int depth)
{
	Dwarf_Word cc = number_of(type, DW_AT_calling_convention, 0);
	Dwarf_Die child, of;
	uint8_t how = NO_CLASS;

	if (cc == DW_CC_pass_by_reference || cc == DW_CC_pass_by_value)
		return cc == DW_CC_pass_by_reference ? BY_REFERENCE : NO_CLASS;
	if (depth > DEPTH || dwarf_hasattr(type, DW_AT_declaration))
		return NOT_KNOWN;
	for (int more = dwarf_child(type, &child); !more; more = !value_die_next(&child)) {
		int tag = dwarf_tag(&child);
		uint8_t one = NO_CLASS;

		if (c->looked++ > LOOKED_MAX)
			return NOT_KNOWN;
		if (tag == DW_TAG_subprogram)
			one = how_function_passes(&child, type);
		else if (tag == DW_TAG_variant_part)
			one = NOT_KNOWN;
		else if (tag == DW_TAG_inheritance && number_of(&child, DW_AT_virtuality, 0))
			one = BY_REFERENCE;
		else if ((tag == DW_TAG_member || tag == DW_TAG_inheritance) &&
			 !dwarf_hasattr(&child, DW_AT_external) &&
			 !dwarf_hasattr(&child, DW_AT_declaration) && type_of(&child, &of) &&
			 (dwarf_tag(&of) == DW_TAG_class_type ||
			  dwarf_tag(&of) == DW_TAG_structure_type))
			one = how_class_passes(&of, c, depth + 1);
		if (one == BY_REFERENCE)
			return one;
		how = merged(how, one);
	}
	return how;
}

static void classify_member(Dwarf_Die *member, uint64_t off, struct classes *c, int depth)
{
	Dwarf_Die type;
	uint64_t at = off + number_of(member, DW_AT_data_member_location, 0);

	if (dwarf_hasattr(member, DW_AT_external) || dwarf_hasattr(member, DW_AT_declaration))
		return; /* static */
	if (!type_of(member, &type)) {
		put_all(c, NOT_KNOWN);
		return;
	}
	if (dwarf_hasattr(member, DW_AT_bit_size)) {
		uint64_t bits = number_of(member, DW_AT_bit_size, 1),
			 first = 8 * off + number_of(member, DW_AT_data_bit_offset, UINT64_MAX / 2);

		if (first >= UINT64_MAX / 2) { /* DWARF 3: in a unit of storage */
			put(c, at, number_of(member, DW_AT_byte_size, 4), INTEGER);
			return;
		}
		put(c, first / 8, (first + bits + 7) / 8 - first / 8, INTEGER);
		uint64_t unit = number_of(&type, DW_AT_byte_size, 1);
		c->align = unit <= WORD && unit > c->align ? unit : c->align;
		return;
	}
	classify(&type, at, c, depth + 1);
}

static void classify_struct(Dwarf_Die *type, uint64_t off, struct classes *c, int depth)
{
	Dwarf_Die child;

	if (dwarf_child(type, &child))
		return;
	do {
		int tag = dwarf_tag(&child);

		c->looked++;
		if (tag == DW_TAG_member || tag == DW_TAG_inheritance)
			classify_member(&child, off, c, depth);
	} while (value_die_next(&child));
}

static void classify(Dwarf_Die *type, uint64_t off, struct classes *c, int depth)
{
	Dwarf_Word size, each;
	Dwarf_Die of;

	if (depth > DEPTH || c->looked++ > LOOKED_MAX || dwarf_peel_type(type, type)) {
		put_all(c, NOT_KNOWN);
		return;
	}
	switch (dwarf_tag(type)) {
	case DW_TAG_base_type:
		classify_base(type, off, c);
		return;
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
	case DW_TAG_unspecified_type: /* nullptr_t */
		align_to(c, off, WORD);
		put(c, off, WORD, INTEGER);
		return;
	case DW_TAG_ptr_to_member_type:
		align_to(c, off, WORD);
		put(c, off,
		    type_of(type, &of) && dwarf_tag(&of) == DW_TAG_subroutine_type ? PAIR : WORD,
		    INTEGER);
		return;
	case DW_TAG_enumeration_type:
		size = number_of(type, DW_AT_byte_size, 4);
		align_to(c, off, size && size <= WORD ? size : WORD);
		put(c, off, size, INTEGER);
		return;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		if (!depth)
			put_all(c, how_class_passes(type, c, 0));
		classify_struct(type, off, c, depth);
		return;
	case DW_TAG_array_type:
		if (dwarf_hasattr(type, DW_AT_GNU_vector) || !type_of(type, &of) ||
		    dwarf_aggregate_size(type, &size) || dwarf_aggregate_size(&of, &each) ||
		    !each) {
			put_all(c, dwarf_hasattr(type, DW_AT_GNU_vector) ? NOT_KNOWN : NO_CLASS);
			return;
		}
		for (uint64_t i = 0; i < size / each && i <= PAIR; i++) {
			Dwarf_Die element = of;
			classify(&element, off + i * each, c, depth + 1);
		}
		return;
	default:
		put_all(c, NOT_KNOWN);
	}
}

static uint64_t size_of(Dwarf_Die *type)
{
	Dwarf_Word size;

	switch (dwarf_tag(type)) {
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
	case DW_TAG_unspecified_type:
		return WORD;
	case DW_TAG_ptr_to_member_type: {
		Dwarf_Die of;
		return type_of(type, &of) && dwarf_tag(&of) == DW_TAG_subroutine_type ? PAIR : WORD;
	}
	default:
		return dwarf_aggregate_size(type, &size) ? 0 : size;
	}
}

/* The scalars that @type is made of; more than two, or one that is none: false. */
static bool scalars(Dwarf_Die *type, uint64_t off, struct classes *c, unsigned *n, int depth)
{
	Dwarf_Die child, of;

	if (depth > DEPTH || c->looked++ > LOOKED_MAX || dwarf_peel_type(type, type))
		return false;
	int tag = dwarf_tag(type);
	if (tag == DW_TAG_base_type || tag == DW_TAG_pointer_type ||
	    tag == DW_TAG_enumeration_type) {
		struct classes own = {.align = 1};
		uint64_t size = size_of(type);

		if (!size)
			return true; /* () */
		classify(type, 0, &own, 1);
		if (*n == 2 || size > WORD || (own.of[0] != INTEGER && own.of[0] != SSE))
			return false;
		c->of[*n] = own.of[0];
		c->at[*n] = (uint8_t)off;
		c->len[(*n)++] = (uint8_t)size;
		return true;
	}
	if (tag != DW_TAG_structure_type)
		return false;
	if (dwarf_child(type, &child))
		return true;
	do {
		tag = dwarf_tag(&child);
		c->looked++;
		if (tag == DW_TAG_variant_part)
			return false;
		if (tag == DW_TAG_member &&
		    (!type_of(&child, &of) ||
		     !scalars(&of, off + number_of(&child, DW_AT_data_member_location, 0), c, n,
			      depth + 1)))
			return false;
	} while (value_die_next(&child));
	return true;
}

static void classify_rust(Dwarf_Die *type, struct classes *c)
{
	unsigned n = 0;

	c->apart = true;
	if (!scalars(type, 0, c, &n, 0))
		c->of[0] = NOT_KNOWN;
	else if (n == 2 && c->at[0] > c->at[1]) {
		uint8_t kept[3] = {c->of[0], c->at[0], c->len[0]};

		c->of[0] = c->of[1], c->at[0] = c->at[1], c->len[0] = c->len[1];
		c->of[1] = kept[0], c->at[1] = kept[1], c->len[1] = kept[2];
	}
}

/* Of the type of @die (a variable, or a function: its result). */
static void classes_of(Dwarf_Die *die, Dwarf_Word language, struct classes *c)
{
	Dwarf_Die type;

	*c = (struct classes){.align = 1, .len = {WORD, WORD}, .at = {0, WORD}};
	if (!type_of(die, &type)) {
		c->of[0] = NOT_KNOWN;
		return;
	}
	c->size = size_of(&type);
	if (is_rust(language)) {
		classify_rust(&type, c);
		return;
	}
	classify(&type, 0, c, 0);
	c->align = number_of(&type, DW_AT_alignment, c->align);
	bool either = c->of[0] >= MEMORY || c->of[1] >= MEMORY;
	if (either)
		c->of[0] = c->of[1] = merged(c->of[0], c->of[1]);
	else if (c->size > PAIR && c->of[0] != COMPLEX_X87)
		c->of[0] = c->of[1] = MEMORY;
}

/* --- where they are --------------------------------------------------------------------------- */

/* What is taken already. */
struct cursor {
	unsigned general, vectors;
	uint64_t stack; /* bytes above the return address */
};

static void in_memory(const struct value_registers *r, uint64_t reg, uint64_t off,
		      struct value_bytes *out)
{
	*out = (struct value_bytes){.place = VALUE_IN_MEMORY};
	out->addr = value_registers_number(r, reg, &out->at_quality) + off;
}

/* Takes registers @of for the parts, and their value. */
static bool in_registers(const struct classes *c, const struct value_registers *r,
			 const uint8_t *of, struct value_bytes *out)
{
	unsigned n = c->of[1] && c->of[1] != SSE_UP ? 2 : 1;
	struct value_bytes whole = {0}, part;

	if (!value_registers_read(r, of[0], &whole))
		return false;
	if (n == 1 && !c->at[0]) {
		*out = whole;
		return true;
	}
	whole = (struct value_bytes){.len = PAIR};
	memset(whole.quality, VALUE_UNKNOWN, sizeof(whole.quality));
	for (unsigned i = 0; i < n; i++) {
		if (c->at[i] + c->len[i] > PAIR || !value_registers_read(r, of[i], &part))
			return false;
		memcpy(whole.bytes + c->at[i], part.bytes, c->len[i]);
		memcpy(whole.quality + c->at[i], part.quality, c->len[i]);
	}
	*out = whole;
	return true;
}

/* The next argument is of the classes @c: says in @of in which registers it is, or in @stack that
 * it is in memory; moves on. */
static void next_argument(struct cursor *at, const struct classes *c, uint8_t of[2], bool *stack)
{
	static const uint8_t general[GENERAL] = {5, 4, 1, 2, 8, 9}; /* rdi, rsi, rdx, rcx, r8, r9 */
	struct cursor then = *at;

	*stack = c->of[0] == MEMORY || c->of[0] == X87 || c->of[0] == COMPLEX_X87;
	for (int i = 0; i < 2 && !*stack; i++) {
		if (c->of[i] == INTEGER || c->of[i] == BY_REFERENCE) {
			*stack = then.general == GENERAL;
			of[i] = *stack ? 0 : general[then.general++];
		} else if (c->of[i] == SSE) {
			*stack = then.vectors == VECTORS;
			of[i] = *stack ? 0 : DWARF_XMM0 + then.vectors++;
		}
		if (c->of[i] == BY_REFERENCE)
			break;
	}
	if (!*stack)
		*at = then;
}

static uint64_t take_stack(struct cursor *at, const struct classes *c)
{
	uint64_t size = c->of[0] == BY_REFERENCE ? WORD : c->size,
		 align = c->align > WORD && c->of[0] != BY_REFERENCE ? c->align : WORD;

	at->stack = (at->stack + align - 1) / align * align;
	uint64_t off = at->stack;
	at->stack += (size + WORD - 1) / WORD * WORD;
	return off;
}

bool value_abi_is_stored(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;

	return dwarf_attr_integrate(die, DW_AT_location, &attr) &&
	       !dwarf_getlocation(&attr, &ops, &n) && n &&
	       (ops[0].atom == DW_OP_fbreg ||
		(ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31));
}

/* Whether DWARF does not say otherwise: it is stored later, or in that register now. */
static bool agrees(Dwarf_Die *parameter, Dwarf_Addr addr, uint8_t reg, bool stack)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;

	if (value_abi_is_stored(parameter))
		return true;
	if (!dwarf_attr_integrate(parameter, DW_AT_location, &attr) ||
	    dwarf_getlocation_addr(&attr, addr, &ops, &n, 1) != 1 || !n)
		return false;
	if (stack)
		return ops[0].atom == DW_OP_fbreg;
	return ops[0].atom == DW_OP_reg0 + reg;
}

/* Whether results of the classes @c are written where a first argument, which nobody declares,
 * points to. */
static bool hidden_first(Dwarf_Die *function, Dwarf_Word language, bool *known)
{
	struct classes c;
	Dwarf_Die type;

	*known = true;
	if (!type_of(function, &type))
		return false;
	classes_of(function, language, &c);
	if (is_rust(language)) {
		*known = c.of[0] != NOT_KNOWN || c.size >= RUST_BY_ADDRESS;
		return c.of[0] == NOT_KNOWN;
	}
	*known = c.of[0] != NOT_KNOWN;
	return c.of[0] == MEMORY || c.of[0] == BY_REFERENCE;
}

bool value_abi_argument(Dwarf_Die *function, Dwarf_Die *parameter, Dwarf_Addr addr,
			const struct value_registers *r, struct value_bytes *out)
{
	Dwarf_Word language = language_of(function);
	struct cursor at = {0};
	bool known, stack;
	Dwarf_Die child;

	at.general = hidden_first(function, language, &known);
	if (!known || !follows(language) || dwarf_child(function, &child))
		return false;
	do {
		struct classes c;
		uint8_t of[2] = {0};

		if (dwarf_tag(&child) != DW_TAG_formal_parameter)
			continue;
		classes_of(&child, language, &c);
		if (c.of[0] == NOT_KNOWN || c.of[1] == NOT_KNOWN)
			return false;
		next_argument(&at, &c, of, &stack);
		if ((stack && is_rust(language) && c.of[1]) ||
		    (c.of[0] && !agrees(&child, addr, of[0], stack)))
			return false;
		uint64_t off = stack ? WORD + take_stack(&at, &c) : 0;
		if (dwarf_dieoffset(&child) != dwarf_dieoffset(parameter))
			continue;
		if (!c.of[0])
			return false;
		if (stack)
			in_memory(r, DWARF_RSP, off, out);
		else if (c.of[0] != BY_REFERENCE)
			return in_registers(&c, r, of, out);
		if (c.of[0] == BY_REFERENCE && stack)
			return false; /* its address is on the stack: not looked at */
		if (c.of[0] == BY_REFERENCE)
			in_memory(r, of[0], 0, out);
		return true;
	} while (value_die_next(&child));
	return false;
}

bool value_abi_result(Dwarf_Die *function, const struct value_registers *r, struct value_bytes *out)
{
	static const uint8_t general[] = {DWARF_RAX, DWARF_RDX};
	Dwarf_Word language = language_of(function);
	unsigned n_general = 0, n_vectors = 0;
	struct value_bytes second;
	struct classes c;
	uint8_t of[2] = {0};

	if (!follows(language))
		return false;
	classes_of(function, language, &c);
	if (is_rust(language) && c.of[0] == NOT_KNOWN && c.size >= RUST_BY_ADDRESS)
		c.of[0] = MEMORY;
	switch (c.of[0]) {
	case MEMORY:
	case BY_REFERENCE:
		in_memory(r, DWARF_RAX, 0, out);
		return true;
	case X87:
		return value_registers_read(r, DWARF_ST0, out);
	case COMPLEX_X87:
		if (!value_registers_read(r, DWARF_ST0, out) ||
		    !value_registers_read(r, DWARF_ST0 + 1, &second))
			return false;
		return value_bytes_append(out, NULL, &second, 0, PAIR);
	case INTEGER:
	case SSE:
		for (int i = 0; i < 2; i++)
			of[i] = c.of[i] == INTEGER ? general[n_general++]
				: c.of[i] == SSE   ? DWARF_XMM0 + n_vectors++
						   : 0;
		return in_registers(&c, r, of, out);
	default:
		return false;
	}
}

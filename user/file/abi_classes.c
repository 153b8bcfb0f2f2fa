// SPDX-License-Identifier: LGPL-2.1-or-later
/* abi_classes.c: see abi_classes.h. As "System V Application Binary Interface, AMD64 Architecture
 * Processor Supplement", 3.2.3, has it: each eightbyte of a value has a class, which those of the
 * members in it come together to. */
#include "user/file/abi_classes.h"

#include "user/file/die_walk.h"

#include <dwarf.h>
#include <string.h>

enum {
	WORD = 8,
	PAIR = 16,
	VECTORS = 8,
	DEPTH = 16,
	LOOKED_MAX = 1 << 20,
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

Dwarf_Word abi_language(Dwarf_Die *function)
{
	Dwarf_Die unit;

	return dwarf_diecu(function, &unit, NULL, NULL) ? number_of(&unit, DW_AT_language, 0) : 0;
}

bool abi_is_rust(Dwarf_Word language)
{
	return language == DW_LANG_Rust;
}

bool abi_follows(Dwarf_Word language)
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

static void classify(Dwarf_Die *type, uint64_t off, struct abi_classes *c, int depth);

static void put(struct abi_classes *c, uint64_t off, uint64_t len, uint8_t what)
{
	for (uint64_t i = off / WORD; len && i <= (off + len - 1) / WORD && i < 2; i++)
		c->of[i] = merged(c->of[i], what);
}

static void put_all(struct abi_classes *c, uint8_t what)
{
	put(c, 0, PAIR, what);
}

static void align_to(struct abi_classes *c, uint64_t off, uint64_t align)
{
	c->align = align > c->align ? align : c->align;
	if (off % align)
		put_all(c, ABI_MEMORY);
}

static void classify_base(Dwarf_Die *type, uint64_t off, struct abi_classes *c)
{
	Dwarf_Word size = number_of(type, DW_AT_byte_size, 0),
		   encoding = number_of(type, DW_AT_encoding, DW_ATE_unsigned);
	const char *name = dwarf_diename(type);
	bool quad = name && strstr(name, "128") != NULL;

	bool whole = encoding != DW_ATE_complex_float || size > 1; /* it has two halves */
	if (!size || !whole || size > 2 * PAIR || (size & (size - 1))) {
		put_all(c, ABI_NOT_KNOWN);
		return;
	}
	if (encoding == DW_ATE_complex_float) {
		align_to(c, off, size / 2);
		if (size > PAIR)
			put_all(c, quad ? ABI_MEMORY : ABI_COMPLEX_X87);
		else
			put(c, off, size, ABI_SSE);
	} else if (encoding == DW_ATE_float && size == PAIR) {
		align_to(c, off, PAIR);
		put(c, off, WORD, quad ? ABI_SSE : ABI_X87);
		put(c, off + WORD, WORD, quad ? ABI_SSE_UP : ABI_X87_UP);
	} else if (size > PAIR) {
		put_all(c, ABI_NOT_KNOWN);
	} else {
		align_to(c, off, size);
		put(c, off, size, encoding == DW_ATE_float ? ABI_SSE : ABI_INTEGER);
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

	for (int more = dwarf_child(function, &child); !more; more = !die_next(&child)) {
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
		return ABI_BY_REFERENCE;
	if (!name || !own || !len)
		return ABI_NOT_KNOWN;
	bool constructor =
		strlen(name) >= len && !strncmp(name, own, len) && (!name[len] || name[len] == '<');
	if (name[0] != '~' && !(constructor && copies(function, class)))
		return ABI_NO_CLASS;
	/* By "= default" in the class it does what those of the members and bases do. */
	if (number_of(function, DW_AT_defaulted, 0) == DW_DEFAULTED_in_class &&
	    !dwarf_hasattr(function, DW_AT_deleted))
		return ABI_NO_CLASS;
	return is_user_provided(function) ? ABI_BY_REFERENCE : ABI_NOT_KNOWN;
}

/* The type of @die; of an array that of its elements. */
static bool element_of(Dwarf_Die *die, Dwarf_Die *out)
{
	bool found = type_of(die, out);

	for (int depth = 0; found && dwarf_tag(out) == DW_TAG_array_type && depth < DEPTH;
	     depth++) {
		Dwarf_Die array = *out;

		found = type_of(&array, out);
	}
	return found;
}

/* A class of C++ that cannot be copied byte by byte is passed by its address. clang says which it
 * is; elsewhere that follows from what it declares, or it is not known. */
static uint8_t how_class_passes(Dwarf_Die *type, struct abi_classes *c, int depth)
{
	Dwarf_Word cc = number_of(type, DW_AT_calling_convention, 0);
	Dwarf_Die child, of;
	uint8_t how = ABI_NO_CLASS;

	if (cc == DW_CC_pass_by_reference || cc == DW_CC_pass_by_value)
		return cc == DW_CC_pass_by_reference ? ABI_BY_REFERENCE : ABI_NO_CLASS;
	if (depth > DEPTH || dwarf_hasattr(type, DW_AT_declaration))
		return ABI_NOT_KNOWN;
	for (int more = dwarf_child(type, &child); !more; more = !die_next(&child)) {
		int tag = dwarf_tag(&child);
		uint8_t one = ABI_NO_CLASS;

		if (c->looked++ > LOOKED_MAX)
			return ABI_NOT_KNOWN;
		if (tag == DW_TAG_subprogram)
			one = how_function_passes(&child, type);
		else if (tag == DW_TAG_variant_part)
			one = ABI_NOT_KNOWN;
		else if (tag == DW_TAG_inheritance && number_of(&child, DW_AT_virtuality, 0))
			one = ABI_BY_REFERENCE;
		else if ((tag == DW_TAG_member || tag == DW_TAG_inheritance) &&
			 !dwarf_hasattr(&child, DW_AT_external) &&
			 !dwarf_hasattr(&child, DW_AT_declaration) && element_of(&child, &of) &&
			 (dwarf_tag(&of) == DW_TAG_class_type ||
			  dwarf_tag(&of) == DW_TAG_structure_type))
			one = how_class_passes(&of, c, depth + 1);
		if (one == ABI_BY_REFERENCE)
			return one;
		how = merged(how, one);
	}
	return how;
}

static void classify_member(Dwarf_Die *member, uint64_t off, struct abi_classes *c, int depth)
{
	Dwarf_Die type;
	uint64_t at = off + number_of(member, DW_AT_data_member_location, 0);

	if (dwarf_hasattr(member, DW_AT_external) || dwarf_hasattr(member, DW_AT_declaration))
		return; /* static */
	if (!type_of(member, &type)) {
		put_all(c, ABI_NOT_KNOWN);
		return;
	}
	if (dwarf_hasattr(member, DW_AT_bit_size)) {
		uint64_t bits = number_of(member, DW_AT_bit_size, 1),
			 first = 8 * off + number_of(member, DW_AT_data_bit_offset, UINT64_MAX / 2);

		if (first >= UINT64_MAX / 2) { /* DWARF 3: in a unit of storage */
			put(c, at, number_of(member, DW_AT_byte_size, 4), ABI_INTEGER);
			return;
		}
		put(c, first / 8, (first + bits + 7) / 8 - first / 8, ABI_INTEGER);
		uint64_t unit = number_of(&type, DW_AT_byte_size, 1);
		c->align = unit <= WORD && unit > c->align ? unit : c->align;
		return;
	}
	classify(&type, at, c, depth + 1);
}

static void classify_struct(Dwarf_Die *type, uint64_t off, struct abi_classes *c, int depth)
{
	Dwarf_Die child;

	if (dwarf_child(type, &child))
		return;
	do {
		int tag = dwarf_tag(&child);

		c->looked++;
		if (tag == DW_TAG_member || tag == DW_TAG_inheritance)
			classify_member(&child, off, c, depth);
	} while (die_next(&child));
}

static void classify(Dwarf_Die *type, uint64_t off, struct abi_classes *c, int depth)
{
	Dwarf_Word size, each;
	Dwarf_Die of;

	if (depth > DEPTH || c->looked++ > LOOKED_MAX || dwarf_peel_type(type, type)) {
		put_all(c, ABI_NOT_KNOWN);
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
		put(c, off, WORD, ABI_INTEGER);
		return;
	case DW_TAG_ptr_to_member_type:
		align_to(c, off, WORD);
		put(c, off,
		    type_of(type, &of) && dwarf_tag(&of) == DW_TAG_subroutine_type ? PAIR : WORD,
		    ABI_INTEGER);
		return;
	case DW_TAG_enumeration_type:
		size = number_of(type, DW_AT_byte_size, 4);
		align_to(c, off, size && size <= WORD ? size : WORD);
		put(c, off, size, ABI_INTEGER);
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
			put_all(c, dwarf_hasattr(type, DW_AT_GNU_vector) ? ABI_NOT_KNOWN
									 : ABI_NO_CLASS);
			return;
		}
		for (uint64_t i = 0; i < size / each && i <= PAIR; i++) {
			Dwarf_Die element = of;
			classify(&element, off + i * each, c, depth + 1);
		}
		return;
	default:
		put_all(c, ABI_NOT_KNOWN);
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
static bool scalars(Dwarf_Die *type, uint64_t off, struct abi_classes *c, unsigned *n, int depth)
{
	Dwarf_Die child, of;

	if (depth > DEPTH || c->looked++ > LOOKED_MAX || dwarf_peel_type(type, type))
		return false;
	int tag = dwarf_tag(type);
	if (tag == DW_TAG_base_type || tag == DW_TAG_pointer_type ||
	    tag == DW_TAG_enumeration_type) {
		struct abi_classes own = {.align = 1};
		uint64_t size = size_of(type);

		if (!size)
			return true; /* () */
		classify(type, 0, &own, 1);
		if (*n == 2 || size > WORD || (own.of[0] != ABI_INTEGER && own.of[0] != ABI_SSE))
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
	} while (die_next(&child));
	return true;
}

static void classify_rust(Dwarf_Die *type, struct abi_classes *c)
{
	unsigned n = 0;

	c->apart = true;
	if (!scalars(type, 0, c, &n, 0))
		c->of[0] = ABI_NOT_KNOWN;
	else if (n == 2 && c->at[0] > c->at[1]) {
		uint8_t kept[3] = {c->of[0], c->at[0], c->len[0]};

		c->of[0] = c->of[1], c->at[0] = c->at[1], c->len[0] = c->len[1];
		c->of[1] = kept[0], c->at[1] = kept[1], c->len[1] = kept[2];
	}
}

void abi_classes_of(Dwarf_Die *die, Dwarf_Word language, struct abi_classes *c)
{
	Dwarf_Die type;

	*c = (struct abi_classes){.align = 1, .len = {WORD, WORD}, .at = {0, WORD}};
	if (!type_of(die, &type)) {
		c->of[0] = ABI_NOT_KNOWN;
		return;
	}
	c->size = size_of(&type);
	if (abi_is_rust(language)) {
		classify_rust(&type, c);
		return;
	}
	classify(&type, 0, c, 0);
	c->align = number_of(&type, DW_AT_alignment, c->align);
	bool either = c->of[0] >= ABI_MEMORY || c->of[1] >= ABI_MEMORY;
	if (either)
		c->of[0] = c->of[1] = merged(c->of[0], c->of[1]);
	else if (c->size > PAIR && c->of[0] != ABI_COMPLEX_X87)
		c->of[0] = c->of[1] = ABI_MEMORY;
}

void abi_next_argument(struct abi_cursor *at, const struct abi_classes *c, uint8_t of[2],
		       bool *stack)
{
	static const uint8_t general[ABI_GENERAL] = {5, 4, 1,
						     2, 8, 9}; /* rdi, rsi, rdx, rcx, r8, r9 */
	struct abi_cursor then = *at;

	*stack = c->of[0] == ABI_MEMORY || c->of[0] == ABI_X87 || c->of[0] == ABI_COMPLEX_X87;
	for (int i = 0; i < 2 && !*stack; i++) {
		if (c->of[i] == ABI_INTEGER || c->of[i] == ABI_BY_REFERENCE) {
			*stack = then.general == ABI_GENERAL;
			of[i] = *stack ? 0 : general[then.general++];
		} else if (c->of[i] == ABI_SSE) {
			*stack = then.vectors == VECTORS;
			of[i] = *stack ? 0 : ABI_XMM0 + then.vectors++;
		}
		if (c->of[i] == ABI_BY_REFERENCE)
			break;
	}
	if (!*stack)
		*at = then;
}

uint64_t abi_take_stack(struct abi_cursor *at, const struct abi_classes *c)
{
	uint64_t size = c->of[0] == ABI_BY_REFERENCE ? WORD : c->size,
		 align = c->align > WORD && c->of[0] != ABI_BY_REFERENCE ? c->align : WORD;

	at->stack = (at->stack + align - 1) / align * align;
	uint64_t off = at->stack;
	at->stack += (size + WORD - 1) / WORD * WORD;
	return off;
}

bool abi_hidden_first(Dwarf_Die *function, Dwarf_Word language, bool *known)
{
	struct abi_classes c;
	Dwarf_Die type;

	*known = true;
	if (!type_of(function, &type))
		return false;
	abi_classes_of(function, language, &c);
	if (abi_is_rust(language)) {
		*known = c.of[0] != ABI_NOT_KNOWN || c.size >= ABI_RUST_BY_ADDRESS;
		return c.of[0] == ABI_NOT_KNOWN;
	}
	*known = c.of[0] != ABI_NOT_KNOWN;
	return c.of[0] == ABI_MEMORY || c.of[0] == ABI_BY_REFERENCE;
}

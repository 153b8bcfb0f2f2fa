// SPDX-License-Identifier: LGPL-2.1-or-later
/* value_types.c: see value_types.h. Structures and arrays are printed with their members, down to a
 * depth and a number that keep a line readable. */
#include "user/values/types/value_types.h"

#include "user/cli/printable.h"
#include "user/file/die_walk.h"
#include "user/values/types/value_strings.h"

#include <dwarf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	DEPTH_MAX = 6,
	ELEMENTS_MAX = 32,
	EQUAL_MAX = 1 << 16,
	ELEMENTS_TEXT = 200, /* of characters */
	MEMBERS_MAX = 64,
	VALUES_MAX = 4096, /* in all: types may be in types many times */
	VARIANTS_MAX = 4,  /* within one another */
	REPEATS = 10,	   /* so many equal elements are one, and a number */
	DIMENSIONS = 8,
	COMPARED = 256, /* bytes of an element, at most */
};

struct printer {
	FILE *out;
	struct value_memory *memory;
	const struct value_symbols *symbols; /* NULL: none */
	enum value_form form;
	int depth;
	uint8_t worst; /* quality of what was printed */
	unsigned n;    /* values that were */
};

static void print_type(struct printer *p, Dwarf_Die *type, const struct value_bytes *v,
		       uint64_t off, struct value_bits bits);

static const struct value_bits whole = {0, 0};

static void note_quality(struct printer *p, uint8_t quality)
{
	p->worst = quality > p->worst ? quality : p->worst;
}

/* @len bytes from @off on, of a text, are printed. */
static void note_bytes(struct printer *p, const struct value_bytes *v, uint64_t off, uint64_t len)
{
	uint8_t bytes[COMPARED];

	for (uint64_t at = 0; at < len; at += COMPARED) {
		uint64_t n = len - at < COMPARED ? len - at : COMPARED;

		note_quality(p, value_bytes_read(v, p->memory, off + at, bytes, n));
	}
}

/* --- leaves ------------------------------------------------------------------------------------
 */

/* One text that is no structure. */
struct leaf {
	struct printer *p;
	FILE *out;
	char *text;
	size_t len;
};

static FILE *leaf_begin(struct leaf *l, struct printer *p)
{
	*l = (struct leaf){.p = p, .out = p->out};
	if (p->form == VALUE_AS_JSON)
		l->out = open_memstream(&l->text, &l->len);
	return l->out;
}

static void leaf_end(struct leaf *l)
{
	if (l->p->form != VALUE_AS_JSON)
		return;
	if (l->out)
		fclose(l->out);
	printable_json(l->p->out, l->text);
	free(l->text);
}

static void print_word(struct printer *p, const char *word)
{
	fprintf(p->out, p->form == VALUE_AS_JSON ? "\"%s\"" : "%s", word);
	if (*word == '?')
		note_quality(p, VALUE_UNKNOWN);
}

/* --- structures --------------------------------------------------------------------------------
 */

struct members {
	struct printer *p;
	const struct value_bytes *v;
	int n;
	int variants; /* that are around */
};

/* @name NULL: of a member that has none. */
static void begin_member(struct members *m, const char *name, bool base)
{
	struct printer *p = m->p;

	fputs(m->n++ ? (p->form == VALUE_AS_JSON ? "," : ", ") : "", p->out);
	if (p->form == VALUE_AS_JSON) {
		printable_json(p->out, name ? name : "");
		fputc(':', p->out);
	} else if (name) {
		fputs(base ? "<" : "", p->out);
		printable_print(p->out, name, PRINT_TEXT);
		fputs(base ? "> = " : " = ", p->out);
	}
}

static bool is_aggregate(Dwarf_Die *type)
{
	int tag = dwarf_tag(type);

	return (tag == DW_TAG_structure_type || tag == DW_TAG_union_type ||
		tag == DW_TAG_class_type) &&
	       !dwarf_hasattr(type, DW_AT_declaration);
}

static void print_children(struct members *m, Dwarf_Die *of, uint64_t off);

static void print_member(struct members *m, Dwarf_Die *member, uint64_t off)
{
	bool base = dwarf_tag(member) == DW_TAG_inheritance;
	uint64_t at = value_constant(member, DW_AT_data_member_location, 0);
	struct value_bits bits = value_bits_of(member, at);
	const char *name = dwarf_diename(member);
	Dwarf_Attribute attr;
	Dwarf_Die type;

	if (dwarf_hasattr(member, DW_AT_external) || dwarf_hasattr(member, DW_AT_declaration) ||
	    !value_plain_type(member, &type))
		return; /* static */
	if (base)
		name = dwarf_diename(&type);
	/* A virtual base is where the object's table says. */
	bool there = !dwarf_attr(member, DW_AT_data_member_location, &attr) ||
		     dwarf_whatform(&attr) != DW_FORM_exprloc;
	if (there && !name && m->p->form == VALUE_AS_JSON && is_aggregate(&type) &&
	    m->p->depth < DEPTH_MAX) {
		/* Its members are named as those around it, and an object has each name once. */
		m->p->n++;
		m->p->depth++;
		print_children(m, &type, off + at);
		m->p->depth--;
		return;
	}
	begin_member(m, name, base);
	if (!there)
		print_word(m->p, "?");
	else
		print_type(m->p, &type, m->v, bits.n ? off : off + at, bits);
}

/* The discriminant of a variant part in *@value, and its quality; 0 of one that has none. */
static uint8_t discriminant_of(const struct members *m, Dwarf_Die *part, uint64_t off,
			       int64_t *value)
{
	Dwarf_Die member, type;
	Dwarf_Attribute attr;
	long double real;
	bool is_real, is_unsigned;

	*value = 0;
	if (!dwarf_attr(part, DW_AT_discr, &attr))
		return VALUE_EXACT;
	if (!dwarf_formref_die(&attr, &member) || !value_plain_type(&member, &type))
		return VALUE_UNKNOWN;
	return value_scalar_number(&type, m->v,
				   off + value_constant(&member, DW_AT_data_member_location, 0),
				   whole, m->p->memory, value, &real, &is_real, &is_unsigned);
}

/* The variant of @value in *@out, or else the one of all other values. False: there is neither, or
 * nobody can say, as another has a list of values (DW_AT_discr_list), which is not read: *@listed.
 */
static bool choose_variant(Dwarf_Die *part, int64_t value, Dwarf_Die *out, bool *listed)
{
	bool found = false;
	Dwarf_Die child;

	*listed = false;
	for (int more = dwarf_child(part, &child); !more; more = !die_next(&child)) {
		bool one = dwarf_hasattr(&child, DW_AT_discr_value);
		bool list = dwarf_hasattr(&child, DW_AT_discr_list);

		if (dwarf_tag(&child) != DW_TAG_variant)
			continue;
		if (one && (int64_t)value_constant(&child, DW_AT_discr_value, 0) == value) {
			*listed = false;
			*out = child;
			return true;
		}
		*listed |= list;
		if (one || list || found)
			continue;
		found = true;
		*out = child;
	}
	return found && !*listed;
}

/* The variant that is there, of those of a Rust enum. */
static void print_variant(struct members *m, Dwarf_Die *part, uint64_t off)
{
	int64_t value;
	bool listed = false;
	Dwarf_Die chosen;
	uint8_t quality = discriminant_of(m, part, off, &value);
	bool known = quality < VALUE_UNKNOWN && m->variants < VARIANTS_MAX;
	bool found = known && choose_variant(part, value, &chosen, &listed);

	note_quality(m->p, quality);
	if (found) {
		m->variants++;
		print_children(m, &chosen, off);
		m->variants--;
		if (quality && m->p->form == VALUE_AS_TEXT)
			fputc('~', m->p->out);
	} else if (!known || listed) {
		begin_member(m, m->p->form == VALUE_AS_JSON ? "?" : NULL, false);
		print_word(m->p, "?");
	}
}

static void print_children(struct members *m, Dwarf_Die *of, uint64_t off)
{
	Dwarf_Die child;

	for (int more = dwarf_child(of, &child); !more; more = !die_next(&child)) {
		int tag = dwarf_tag(&child);

		if (tag == DW_TAG_variant_part)
			print_variant(m, &child, off);
		if (tag != DW_TAG_member && tag != DW_TAG_inheritance)
			continue;
		if (m->n > MEMBERS_MAX)
			return;
		if (m->n == MEMBERS_MAX || m->p->n >= VALUES_MAX) {
			fputs(m->n ? (m->p->form == VALUE_AS_JSON ? "," : ", ") : "", m->p->out);
			fputs(m->p->form == VALUE_AS_JSON ? "\"...\":\"\"" : "...", m->p->out);
			m->n = MEMBERS_MAX + 1;
			return;
		}
		print_member(m, &child, off);
	}
}

/* A slice of characters, as Rust has its strings. */
static bool print_slice(struct printer *p, Dwarf_Die *type, const struct value_bytes *v,
			uint64_t off)
{
	const char *name = dwarf_diename(type);
	struct value_bytes text = {.place = VALUE_IN_MEMORY};
	uint64_t len;
	struct leaf l;

	if (!name || strcmp(name, "&str") != 0 || value_type_size(type) != 16)
		return false;
	text.at_quality = value_bytes_read(v, p->memory, off, &text.addr, 8);
	uint8_t quality = value_bytes_read(v, p->memory, off + 8, &len, 8);
	text.at_quality = quality > text.at_quality ? quality : text.at_quality;
	note_quality(p, text.at_quality);
	if (text.at_quality < VALUE_UNKNOWN)
		note_bytes(p, &text, 0, len < ELEMENTS_TEXT ? len : ELEMENTS_TEXT);
	FILE *out = leaf_begin(&l, p);
	if (out && text.at_quality < VALUE_UNKNOWN && !len)
		fprintf(out, "\"\"%s", text.at_quality ? "~" : "");
	else if (out)
		value_string_print(out, &text, 0, len, (struct value_characters){1, ""}, p->memory);
	leaf_end(&l);
	return true;
}

static void print_struct(struct printer *p, Dwarf_Die *type, const struct value_bytes *v,
			 uint64_t off)
{
	struct members m = {p, v, 0, 0};

	if (dwarf_hasattr(type, DW_AT_declaration)) {
		print_word(p, "<incomplete type>");
		return;
	}
	if (print_slice(p, type, v, off))
		return;
	fputc('{', p->out);
	p->depth++;
	print_children(&m, type, off);
	p->depth--;
	fputc('}', p->out);
}

/* --- arrays ------------------------------------------------------------------------------------
 */

struct array {
	Dwarf_Die *die, element;
	const struct value_bytes *v;
	uint64_t size; /* of an element */
	uint64_t counts[DIMENSIONS];
	unsigned n;
};

static bool dimensions(Dwarf_Die *type, struct array *a)
{
	Dwarf_Die child;

	for (int more = dwarf_child(type, &child); !more; more = !die_next(&child)) {
		if (dwarf_tag(&child) != DW_TAG_subrange_type || a->n == DIMENSIONS)
			continue;
		if (!value_dimension(&child, &a->counts[a->n]))
			return false;
		a->n++;
	}
	return a->n > 0;
}

/* How many elements from @off on are the same, of which no more than EQUAL_MAX are looked at. */
static uint64_t equal_run(struct printer *p, const struct array *a, uint64_t off, uint64_t size,
			  uint64_t most)
{
	uint8_t first[COMPARED], other[COMPARED];
	uint64_t n = 1;

	most = most < EQUAL_MAX ? most : EQUAL_MAX;
	if (size > COMPARED)
		return 1;
	uint8_t quality = value_bytes_read(a->v, p->memory, off, first, size);
	while (n < most &&
	       value_bytes_read(a->v, p->memory, off + n * size, other, size) == quality &&
	       !memcmp(first, other, size))
		n++;
	return n;
}

static void print_dimension(struct printer *p, struct array *a, unsigned dimension, uint64_t off)
{
	bool json = p->form == VALUE_AS_JSON;
	struct value_characters chars = value_characters_of(a->die);
	uint64_t size = a->size, count = a->counts[dimension];

	for (unsigned i = dimension + 1; i < a->n; i++)
		size *= a->counts[i];
	if (dimension + 1 == a->n && chars.width && count) {
		struct leaf l;
		FILE *out = leaf_begin(&l, p);

		if (out)
			value_string_print(out, a->v, off, count, chars, p->memory);
		leaf_end(&l);
		note_bytes(p, a->v, off, size * (count < ELEMENTS_TEXT ? count : ELEMENTS_TEXT));
		return;
	}
	fputc(json ? '[' : '{', p->out);
	unsigned printed = 0;
	for (uint64_t i = 0, run; i < count && size; i += run) {
		fputs(i ? (json ? "," : ", ") : "", p->out);
		if (printed++ == ELEMENTS_MAX || p->n >= VALUES_MAX) {
			fputs(json ? "\"...\"" : "...", p->out);
			break;
		}
		run = equal_run(p, a, off + i * size, size, count - i);
		run = run < REPEATS ? 1 : run;
		bool more = run == EQUAL_MAX && run < count - i; /* perhaps of the same */
		if (json && run > 1)
			fprintf(p->out, "{\"repeats\":%" PRIu64 ",%s\"value\":", run,
				more ? "\"at_least\":true," : "");
		if (dimension + 1 < a->n)
			print_dimension(p, a, dimension + 1, off + i * size);
		else
			print_type(p, &a->element, a->v, off + i * size, whole);
		if (run > 1 && json)
			fputc('}', p->out);
		else if (run > 1)
			fprintf(p->out, " <repeats %s%" PRIu64 " times>", more ? "at least " : "",
				run);
		printed = more ? ELEMENTS_MAX : printed;
	}
	fputc(json ? ']' : '}', p->out);
}

static void print_array(struct printer *p, Dwarf_Die *type, const struct value_bytes *v,
			uint64_t off)
{
	struct array a = {.die = type, .v = v};

	if (!value_plain_type(type, &a.element) || !(a.size = value_type_size(&a.element)) ||
	    !dimensions(type, &a)) {
		print_word(p, "{...}");
		return;
	}
	p->depth++;
	print_dimension(p, &a, 0, off);
	p->depth--;
}

/* --- all ---------------------------------------------------------------------------------------
 */

/* What a reference refers to, with where that is. */
static void print_reference(struct printer *p, Dwarf_Die *type, const struct value_bytes *v,
			    uint64_t off)
{
	struct value_bytes to = {.place = VALUE_IN_MEMORY};
	Dwarf_Die of;

	to.at_quality = value_bytes_read(v, p->memory, off, &to.addr, 8);
	note_quality(p, to.at_quality);
	if (to.at_quality >= VALUE_UNKNOWN || !value_plain_type(type, &of)) {
		print_word(p, to.at_quality == VALUE_NOWHERE ? "<optimized out>" : "?");
		return;
	}
	if (p->form == VALUE_AS_TEXT)
		fprintf(p->out, "@0x%" PRIx64 "%s: ", to.addr, to.at_quality ? "~" : "");
	p->depth++;
	print_type(p, &of, &to, 0, whole);
	p->depth--;
}

/* A text of Fortran: as many characters as its type says, without an end. */
static void print_text(struct printer *p, Dwarf_Die *type, const struct value_bytes *v,
		       uint64_t off)
{
	const struct value_characters chars = {1, ""};
	uint64_t size = value_type_size(type);
	struct leaf l;

	if (!size) {
		print_word(p, "{...}");
		return;
	}
	FILE *out = leaf_begin(&l, p);
	if (out)
		value_string_print(out, v, off, size, chars, p->memory);
	leaf_end(&l);
	note_bytes(p, v, off, size < ELEMENTS_TEXT ? size : ELEMENTS_TEXT);
}

/* Behind a pointer to a function: what that is called. */
static void print_function(struct printer *p, FILE *out, Dwarf_Die *type,
			   const struct value_bytes *v, uint64_t off)
{
	uint64_t addr;
	Dwarf_Die of;

	if (!p->symbols || dwarf_tag(type) != DW_TAG_pointer_type || !value_plain_type(type, &of) ||
	    dwarf_tag(&of) != DW_TAG_subroutine_type ||
	    value_bytes_read(v, p->memory, off, &addr, sizeof(addr)) >= VALUE_UNKNOWN)
		return;
	const char *name = p->symbols->name(p->symbols->ctx, addr);
	if (!name)
		return;
	fputs(" <", out);
	printable_print(out, name, PRINT_TEXT);
	fputc('>', out);
}

static void print_type(struct printer *p, Dwarf_Die *type, const struct value_bytes *v,
		       uint64_t off, struct value_bits bits)
{
	struct leaf l;
	FILE *out;

	p->n++;
	switch (dwarf_tag(type)) {
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		if (p->depth < DEPTH_MAX)
			print_struct(p, type, v, off);
		else
			print_word(p, "{...}");
		return;
	case DW_TAG_array_type:
		if (p->depth < DEPTH_MAX)
			print_array(p, type, v, off);
		else
			print_word(p, "{...}");
		return;
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		if (p->depth < DEPTH_MAX)
			print_reference(p, type, v, off);
		else
			print_word(p, "...");
		return;
	case DW_TAG_string_type:
		print_text(p, type, v, off);
		return;
	default:
		out = leaf_begin(&l, p);
		note_quality(p, out ? value_scalar_print(out, type, v, off, bits, p->memory)
				    : VALUE_UNKNOWN);
		if (out)
			print_function(p, out, type, v, off);
		leaf_end(&l);
	}
}

uint8_t value_type_print(FILE *out, Dwarf_Die *die, const struct value_bytes *value,
			 struct value_memory *memory, const struct value_symbols *symbols,
			 enum value_form form)
{
	struct printer p = {out, memory, symbols, form, 0, VALUE_EXACT, 0};
	Dwarf_Die type;

	if (value_plain_type(die, &type))
		print_type(&p, &type, value, 0, whole);
	else
		print_word(&p, "?");
	return p.worst;
}

void value_part_print(FILE *out, const struct value_part *part, struct value_memory *memory,
		      enum value_form form)
{
	struct printer p = {out, memory, NULL, form, 0, VALUE_EXACT, 0};
	Dwarf_Die type = part->type;

	print_type(&p, &type, &part->value, part->off, part->bits);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* value_types.c: see value_types.h. Structures and arrays are printed with their members, down to a
 * depth and a number that keep a line readable. */
#include "user/values/show/value_types.h"

#include "user/cli/printable.h"

#include <dwarf.h>
#include <inttypes.h>
#include <string.h>

enum { DEPTH_MAX = 3, ELEMENTS_MAX = 8, STRING_MAX = 64 };

/* The type of @die without names and qualifiers; false: it has none (void). */
static bool plain_type(Dwarf_Die *die, Dwarf_Die *out)
{
	Dwarf_Attribute attr;
	Dwarf_Die type;

	if (!dwarf_attr_integrate(die, DW_AT_type, &attr) || !dwarf_formref_die(&attr, &type))
		return false;
	return dwarf_peel_type(&type, out) == 0;
}

bool value_type_is_real(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Word encoding;
	Dwarf_Die type;

	return plain_type(die, &type) && dwarf_tag(&type) == DW_TAG_base_type &&
	       dwarf_attr_integrate(&type, DW_AT_encoding, &attr) &&
	       !dwarf_formudata(&attr, &encoding) && encoding == DW_ATE_float;
}

/* Its first @len bytes, at most 16, and the worst quality of them. False: they are not there. */
static bool read_bytes(const struct value_bytes *v, struct value_memory *memory, uint64_t off,
		       uint8_t *bytes, uint64_t len, uint8_t *quality)
{
	*quality = VALUE_EXACT;
	if (v->place == VALUE_IN_MEMORY)
		return !value_memory_read(memory, v->addr + off, bytes, len, quality);
	if (off > v->len || len > v->len - off)
		return false;
	memcpy(bytes, v->bytes + off, len);
	for (uint64_t i = 0; i < len; i++)
		if (v->quality[off + i] > *quality)
			*quality = v->quality[off + i];
	return true;
}

static void print_string(FILE *out, uint64_t addr, struct value_memory *memory)
{
	char text[STRING_MAX + 1] = "";
	uint8_t quality, worst = VALUE_EXACT;
	int n = 0;

	for (; n < STRING_MAX; n++) {
		if (value_memory_read(memory, addr + n, &text[n], 1, &quality) ||
		    quality == VALUE_UNKNOWN) {
			text[n] = 0;
			worst = VALUE_UNKNOWN;
			break;
		}
		worst = quality > worst ? quality : worst;
		if (!text[n])
			break;
	}
	text[STRING_MAX] = 0;
	fputs(" \"", out);
	printable_print(out, text, PRINT_JSON);
	fprintf(out, "\"%s%s", n == STRING_MAX ? "..." : "", worst ? "~" : "");
}

static bool is_char(Dwarf_Die *type)
{
	Dwarf_Attribute attr;
	Dwarf_Word encoding;

	return dwarf_tag(type) == DW_TAG_base_type && dwarf_bytesize(type) == 1 &&
	       dwarf_attr_integrate(type, DW_AT_encoding, &attr) &&
	       !dwarf_formudata(&attr, &encoding) &&
	       (encoding == DW_ATE_signed_char || encoding == DW_ATE_unsigned_char);
}

static void print_enum(FILE *out, Dwarf_Die *type, int64_t v)
{
	Dwarf_Die child;

	if (!dwarf_child(type, &child)) {
		do {
			Dwarf_Attribute attr;
			Dwarf_Sword value;

			if (dwarf_tag(&child) == DW_TAG_enumerator &&
			    dwarf_attr_integrate(&child, DW_AT_const_value, &attr) &&
			    !dwarf_formsdata(&attr, &value) && value == v) {
				const char *name = dwarf_diename(&child);
				printable_print(out, name ? name : "?", PRINT_TEXT);
				return;
			}
		} while (!dwarf_siblingof(&child, &child));
	}
	fprintf(out, "%" PRId64, v);
}

static int64_t extend(uint64_t raw, int size, bool is_signed)
{
	unsigned shift = 64 - 8 * (unsigned)size;

	return is_signed ? (int64_t)(raw << shift) >> shift : (int64_t)raw;
}

static void print_base(FILE *out, Dwarf_Die *type, const uint8_t *bytes, int size)
{
	Dwarf_Attribute attr;
	Dwarf_Word encoding = DW_ATE_unsigned;
	uint64_t raw = 0;
	float f;
	double d;

	memcpy(&raw, bytes, size);
	if (dwarf_attr_integrate(type, DW_AT_encoding, &attr))
		dwarf_formudata(&attr, &encoding);
	if (encoding == DW_ATE_float && size == 4) {
		memcpy(&f, bytes, 4);
		fprintf(out, "%.9g", f);
	} else if (encoding == DW_ATE_float && size == 8) {
		memcpy(&d, bytes, 8);
		fprintf(out, "%.17g", d);
	} else if (encoding == DW_ATE_boolean) {
		fputs(raw ? "true" : "false", out);
	} else if (encoding == DW_ATE_signed || encoding == DW_ATE_signed_char) {
		fprintf(out, "%" PRId64, extend(raw, size, true));
	} else {
		fprintf(out, "%" PRIu64, raw);
	}
	if (is_char(type) && raw >= ' ' && raw < 127)
		fprintf(out, " '%c'", (char)raw);
}

static void print_type(FILE *out, Dwarf_Die *type, const struct value_bytes *v, uint64_t off,
		       struct value_memory *memory, int depth);

static void print_scalar(FILE *out, Dwarf_Die *type, const struct value_bytes *v, uint64_t off,
			 struct value_memory *memory)
{
	int size =
		dwarf_tag(type) == DW_TAG_pointer_type || dwarf_tag(type) == DW_TAG_reference_type
			? 8
			: dwarf_bytesize(type);
	uint8_t bytes[8] = {0}, quality;
	uint64_t raw = 0;

	if (size < 1 || size > 8 || !read_bytes(v, memory, off, bytes, size, &quality) ||
	    quality == VALUE_UNKNOWN) {
		fputc('?', out);
		return;
	}
	memcpy(&raw, bytes, 8);
	switch (dwarf_tag(type)) {
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type: {
		Dwarf_Die to;

		fprintf(out, "0x%" PRIx64 "%s", raw, quality ? "~" : "");
		if (raw && plain_type(type, &to) && is_char(&to))
			print_string(out, raw, memory);
		return;
	}
	case DW_TAG_enumeration_type:
		print_enum(out, type, extend(raw, size, true));
		break;
	default:
		print_base(out, type, bytes, size);
		break;
	}
	if (quality)
		fputc('~', out);
}

static void print_members(FILE *out, Dwarf_Die *type, const struct value_bytes *v, uint64_t off,
			  struct value_memory *memory, int depth)
{
	Dwarf_Die child, of;
	int n = 0;

	fputc('{', out);
	if (!dwarf_child(type, &child)) {
		do {
			Dwarf_Attribute attr;
			Dwarf_Word at = 0;

			if (dwarf_tag(&child) != DW_TAG_member || !plain_type(&child, &of))
				continue;
			if (dwarf_attr(&child, DW_AT_data_member_location, &attr))
				dwarf_formudata(&attr, &at);
			if (n++ == 2 * ELEMENTS_MAX) {
				fputs(", ...", out);
				break;
			}
			const char *name = dwarf_diename(&child);
			fputs(n > 1 ? ", " : "", out);
			printable_print(out, name ? name : "", PRINT_TEXT);
			fputs(" = ", out);
			if (dwarf_hasattr(&child, DW_AT_bit_size))
				fputs("...", out);
			else
				print_type(out, &of, v, off + at, memory, depth + 1);
		} while (!dwarf_siblingof(&child, &child));
	}
	fputc('}', out);
}

static void print_array(FILE *out, Dwarf_Die *type, const struct value_bytes *v, uint64_t off,
			struct value_memory *memory, int depth)
{
	Dwarf_Word size, each = 0;
	Dwarf_Die of;

	if (!plain_type(type, &of) || dwarf_aggregate_size(type, &size) ||
	    dwarf_aggregate_size(&of, &each) || !each) {
		fputs("{...}", out);
		return;
	}
	if (is_char(&of) && v->place == VALUE_IN_MEMORY) {
		print_string(out, v->addr + off, memory);
		return;
	}
	fputc('{', out);
	for (uint64_t i = 0; i < size / each; i++) {
		if (i == ELEMENTS_MAX) {
			fputs(", ...", out);
			break;
		}
		fputs(i ? ", " : "", out);
		print_type(out, &of, v, off + i * each, memory, depth + 1);
	}
	fputc('}', out);
}

static void print_type(FILE *out, Dwarf_Die *type, const struct value_bytes *v, uint64_t off,
		       struct value_memory *memory, int depth)
{
	Dwarf_Die peeled;

	if (!dwarf_peel_type(type, &peeled))
		type = &peeled;
	switch (dwarf_tag(type)) {
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		if (depth < DEPTH_MAX)
			print_members(out, type, v, off, memory, depth);
		else
			fputs("{...}", out);
		break;
	case DW_TAG_array_type:
		if (depth < DEPTH_MAX)
			print_array(out, type, v, off, memory, depth);
		else
			fputs("{...}", out);
		break;
	default:
		print_scalar(out, type, v, off, memory);
		break;
	}
}

void value_type_print(FILE *out, Dwarf_Die *die, const struct value_bytes *value,
		      struct value_memory *memory)
{
	Dwarf_Die type;

	if (plain_type(die, &type))
		print_type(out, &type, value, 0, memory, 0);
	else
		fputc('?', out);
}

bool value_type_number(Dwarf_Die *die, const struct value_bytes *value, struct value_memory *memory,
		       int64_t *out)
{
	uint8_t bytes[8] = {0}, quality;
	Dwarf_Attribute attr;
	Dwarf_Word encoding = DW_ATE_unsigned;
	Dwarf_Die type;
	uint64_t raw;

	if (!plain_type(die, &type))
		return false;
	int size = dwarf_tag(&type) == DW_TAG_pointer_type ? 8 : dwarf_bytesize(&type);
	if (dwarf_attr_integrate(&type, DW_AT_encoding, &attr))
		dwarf_formudata(&attr, &encoding);
	if (size < 1 || size > 8 || encoding == DW_ATE_float ||
	    !read_bytes(value, memory, 0, bytes, size, &quality) || quality == VALUE_UNKNOWN)
		return false;
	memcpy(&raw, bytes, 8);
	*out = extend(raw, size,
		      encoding == DW_ATE_signed || encoding == DW_ATE_signed_char ||
			      dwarf_tag(&type) == DW_TAG_enumeration_type);
	return true;
}

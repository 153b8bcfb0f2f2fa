// SPDX-License-Identifier: LGPL-2.1-or-later
/* value_scalars.c: see value_scalars.h. */
#include "user/values/types/value_scalars.h"

#include "user/cli/printable.h"
#include "user/file/die_walk.h"
#include "user/values/types/value_strings.h"

#include <dwarf.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { WORD = 8, PAIR = 16 };

/* --- numbers -----------------------------------------------------------------------------------
 */

static void print_character(FILE *out, uint8_t c)
{
	static const struct {
		uint8_t c;
		char as;
	} named[] = {{'\a', 'a'}, {'\b', 'b'}, {'\t', 't'},  {'\n', 'n'}, {'\v', 'v'},
		     {'\f', 'f'}, {'\r', 'r'}, {'\'', '\''}, {'\\', '\\'}};

	for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++)
		if (named[i].c == c) {
			fprintf(out, " '\\%c'", named[i].as);
			return;
		}
	fprintf(out, c >= ' ' && c < 127 ? " '%c'" : " '\\%03o'", c);
}

/* Unsigned ones are in forms of a fixed size as well, which would be taken for signed. */
static bool enumerator(Dwarf_Die *die, int64_t *out)
{
	Dwarf_Attribute attr;
	Dwarf_Sword value;
	Dwarf_Word word;

	if (dwarf_tag(die) != DW_TAG_enumerator ||
	    !dwarf_attr_integrate(die, DW_AT_const_value, &attr))
		return false;
	bool is_signed = dwarf_whatform(&attr) == DW_FORM_sdata ||
			 dwarf_whatform(&attr) == DW_FORM_implicit_const;
	if (is_signed ? dwarf_formsdata(&attr, &value) : dwarf_formudata(&attr, &word))
		return false;
	*out = is_signed ? value : (int64_t)word;
	return true;
}

static void print_enum(FILE *out, Dwarf_Die *type, uint64_t raw, uint64_t size)
{
	uint64_t mask = size >= WORD ? UINT64_MAX : ((uint64_t)1 << 8 * size) - 1;
	const char *own = dwarf_hasattr(type, DW_AT_enum_class) ? dwarf_diename(type) : NULL;
	bool flags = true, negative = false, first = true;
	Dwarf_Die child;
	int64_t value;

	if (!dwarf_child(type, &child)) {
		do {
			if (!enumerator(&child, &value))
				continue;
			if (((uint64_t)value & mask) == (raw & mask)) {
				const char *name = dwarf_diename(&child);

				if (own)
					printable_print(out, own, PRINT_TEXT);
				fputs(own ? "::" : "", out);
				printable_print(out, name ? name : "?", PRINT_TEXT);
				return;
			}
			uint64_t low = (uint64_t)value & mask;
			negative |= value < 0;
			while (low && !(low & 1))
				low >>= 1;
			flags &= !(low & (low + 1)); /* its bits are next to each other */
		} while (die_next(&child));
	}
	raw &= mask;
	if (!flags || negative) {
		if (negative && size < WORD && raw >> (8 * size - 1))
			raw |= ~mask;
		fprintf(out, negative ? "%" PRId64 : "%" PRIu64, raw);
		return;
	}
	for (int more = dwarf_child(type, &child); !more; more = !die_next(&child)) {
		const char *name = dwarf_diename(&child);

		if (!name || !enumerator(&child, &value) || !((uint64_t)value & raw))
			continue;
		fputs(first ? "(" : " | ", out);
		printable_print(out, name, PRINT_TEXT);
		raw &= ~(uint64_t)value;
		first = false;
	}
	if (raw)
		fprintf(out, "%sunknown: 0x%" PRIx64, first ? "(" : " | ", raw);
	fputs(first && !raw ? "0" : ")", out);
}

static uint64_t extend(uint64_t raw, uint64_t bits, bool is_signed)
{
	if (!bits || bits >= 64)
		return raw;
	raw &= ((uint64_t)1 << bits) - 1;
	return is_signed && raw >> (bits - 1) ? raw | UINT64_MAX << bits : raw;
}

static void print_wide(FILE *out, unsigned __int128 v, bool is_signed)
{
	char text[48];
	unsigned at = sizeof(text) - 1;
	bool minus = is_signed && (__int128)v < 0;

	text[at] = 0;
	v = minus ? 0 - v : v;
	do
		text[--at] = (char)('0' + (int)(v % 10));
	while (v /= 10);
	fprintf(out, "%s%s", minus ? "-" : "", text + at);
}

static bool read_real(const uint8_t *bytes, uint64_t size, long double *out)
{
	float f;
	double d;

	switch (size) {
	case 4:
		memcpy(&f, bytes, 4);
		*out = f;
		return true;
	case 8:
		memcpy(&d, bytes, 8);
		*out = d;
		return true;
	case 16: /* x87's, of ten bytes */
		*out = 0;
		memcpy(out, bytes, 10);
		return true;
	default:
		return false;
	}
}

/* As many digits as tell all numbers of the format apart. What is no number has its mantissa. */
static void print_real(FILE *out, const uint8_t *bytes, uint64_t size)
{
	static const struct {
		unsigned mantissa; /* bits */
		int digits;
	} formats[] = {[4] = {23, 9}, [8] = {52, 17}, [16] = {64, 21}};
	uint64_t mantissa = 0;
	long double v;

	if (!read_real(bytes, size, &v)) {
		fputc('?', out);
		return;
	}
	if (!isnan(v)) {
		fprintf(out, "%.*Lg", formats[size].digits, v);
		return;
	}
	memcpy(&mantissa, bytes, size < WORD ? size : WORD);
	mantissa &= UINT64_MAX >> (64 - formats[size].mantissa);
	fprintf(out, "%snan(0x%" PRIx64 ")", signbit(v) ? "-" : "", mantissa);
}

static bool is_signed_type(Dwarf_Die *type)
{
	uint64_t encoding = value_constant(type, DW_AT_encoding, DW_ATE_unsigned);

	return encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
}

/* By the type that DWARF says is under it; without one it has no negative values. */
static bool is_signed_enum(Dwarf_Die *type)
{
	Dwarf_Die of;

	return value_plain_type(type, &of) && is_signed_type(&of);
}

/* Whether it is a floating one that is not x87's: the processor's own arithmetic has none. */
static bool is_quad(Dwarf_Die *type)
{
	const char *name = dwarf_diename(type);

	return name && strstr(name, "128");
}

static void print_base(FILE *out, Dwarf_Die *type, const uint8_t *bytes, uint64_t size,
		       uint64_t bits)
{
	uint64_t encoding = value_constant(type, DW_AT_encoding, DW_ATE_unsigned), raw = 0;
	bool is_signed = is_signed_type(type);

	memcpy(&raw, bytes, size < WORD ? size : WORD);
	raw = extend(raw, bits, is_signed);
	switch (encoding) {
	case DW_ATE_float:
		if (is_quad(type))
			fputc('?', out);
		else
			print_real(out, bytes, size);
		return;
	case DW_ATE_complex_float:
		if (is_quad(type)) {
			fputc('?', out);
			return;
		}
		print_real(out, bytes, size / 2);
		fputs(" + ", out);
		print_real(out, bytes + size / 2, size / 2);
		fputc('i', out);
		return;
	case DW_ATE_boolean:
		if (raw > 1)
			fprintf(out, "%" PRIu64, raw);
		else
			fputs(raw ? "true" : "false", out);
		return;
	default:
		break;
	}
	if (size == PAIR && bits == 128) {
		unsigned __int128 v;

		memcpy(&v, bytes, PAIR);
		print_wide(out, v, is_signed);
		return;
	}
	fprintf(out, is_signed ? "%" PRId64 : "%" PRIu64, raw);
	if (size == 1 && (encoding == DW_ATE_signed_char || encoding == DW_ATE_unsigned_char ||
			  encoding == DW_ATE_UTF))
		print_character(out, (uint8_t)raw);
	else
		value_wide_print(out, type, (uint32_t)raw);
}

/* --- scalars -----------------------------------------------------------------------------------
 */

/* Of a long double ten bytes mean something; of a complex one ten of each half. */
static uint8_t read_x87(const struct value_bytes *v, uint64_t off, struct value_memory *memory,
			uint8_t out[2 * PAIR], uint64_t size)
{
	uint8_t worst = VALUE_EXACT;

	for (uint64_t at = 0; at < size; at += PAIR) {
		uint8_t quality = value_bytes_read(v, memory, off + at, out + at, 10);

		worst = quality > worst ? quality : worst;
	}
	return worst;
}

static bool is_x87(Dwarf_Die *type, uint64_t size)
{
	uint64_t encoding = value_constant(type, DW_AT_encoding, 0);

	return dwarf_tag(type) == DW_TAG_base_type && !is_quad(type) &&
	       ((encoding == DW_ATE_float && size == PAIR) ||
		(encoding == DW_ATE_complex_float && size == 2 * PAIR));
}

/* The bits, moved to the first byte of @out. */
static uint8_t read_scalar(Dwarf_Die *type, const struct value_bytes *v, uint64_t off,
			   struct value_bits bits, struct value_memory *memory,
			   uint8_t out[2 * PAIR], uint64_t size)
{
	uint8_t bytes[PAIR] = {0};
	unsigned __int128 all;

	if (is_x87(type, size))
		return read_x87(v, off, memory, out, size);
	if (!bits.n)
		return value_bytes_read(v, memory, off, out, size);
	uint64_t shift = bits.first % 8, len = (shift + bits.n + 7) / 8;
	if (bits.n > 8 * PAIR || len > PAIR)
		return VALUE_UNKNOWN;
	uint8_t quality = value_bytes_read(v, memory, off + bits.first / 8, bytes, len);
	memcpy(&all, bytes, PAIR);
	all >>= shift;
	memcpy(out, &all, PAIR);
	return quality;
}

static void print_pointer(FILE *out, Dwarf_Die *type, uint64_t raw, uint8_t quality,
			  struct value_memory *memory)
{
	struct value_characters chars = value_characters_of(type);
	const struct value_bytes there = {
		.place = VALUE_IN_MEMORY, .addr = raw, .at_quality = quality};

	fprintf(out, "0x%" PRIx64, raw);
	value_print_mark(out, quality);
	if (!raw || !chars.width)
		return;
	fputc(' ', out);
	value_string_print(out, &there, 0, 0, chars, memory);
}

/* Of a function: its address or place in the table, and what is added to the object's address. */
static void print_member_pointer(FILE *out, const uint8_t *bytes, uint64_t size)
{
	uint64_t word[2] = {0};

	memcpy(word, bytes, size);
	if (size == PAIR && word[0] & 1)
		fprintf(out, "&virtual table offset %" PRIu64, word[0] - 1);
	else if (size == WORD && word[0] == UINT64_MAX)
		fputs("NULL", out);
	else
		fprintf(out, "0x%" PRIx64, word[0]);
	if (word[1])
		fprintf(out, ", this adjustment %" PRId64, (int64_t)word[1]);
}

uint8_t value_scalar_print(FILE *out, Dwarf_Die *type, const struct value_bytes *v, uint64_t off,
			   struct value_bits bits, struct value_memory *memory)
{
	uint64_t size = value_type_size(type), raw;
	uint8_t bytes[2 * PAIR] = {0};

	if (!size || size > sizeof(bytes)) {
		fputc('?', out);
		return VALUE_UNKNOWN;
	}
	uint8_t quality = read_scalar(type, v, off, bits, memory, bytes, size);
	if (value_print_unknown(out, quality))
		return quality;
	memcpy(&raw, bytes, WORD);
	switch (dwarf_tag(type)) {
	case DW_TAG_pointer_type:
		print_pointer(out, type, raw, quality, memory);
		return quality;
	case DW_TAG_enumeration_type:
		print_enum(out, type, extend(raw, bits.n, is_signed_enum(type)), size);
		break;
	case DW_TAG_base_type:
		print_base(out, type, bytes, size, bits.n ? bits.n : 8 * size);
		break;
	case DW_TAG_ptr_to_member_type:
		print_member_pointer(out, bytes, size);
		break;
	case DW_TAG_unspecified_type:
		fprintf(out, "0x%" PRIx64, raw);
		break;
	default:
		fputc('?', out);
		return VALUE_UNKNOWN;
	}
	value_print_mark(out, quality);
	return quality;
}

/* Whether @name, up to its last "::" at @last, is the type called @own: with all of the namespaces
 * and classes around it, or some of them, or none. */
static bool names_type(const char *name, const char *last, const char *own)
{
	size_t len = own ? strlen(own) : 0, before = (size_t)(last - 1 - name);

	return len && len <= before && !strncmp(last - 1 - len, own, len) &&
	       (len == before || name[before - len - 1] == ':');
}

/* "true" and "false" are the enumerators of a bool. */
static bool truth(Dwarf_Die *type, const char *name, long double *out)
{
	*out = !strcmp(name, "true");
	return dwarf_tag(type) == DW_TAG_base_type &&
	       value_constant(type, DW_AT_encoding, 0) == DW_ATE_boolean &&
	       (*out || !strcmp(name, "false"));
}

bool value_enumerator(Dwarf_Die *type, const char *name, long double *out)
{
	const char *last = strrchr(name, ':');
	uint64_t bits = 8 * value_type_size(type);
	Dwarf_Die child;
	int64_t value;

	if (dwarf_tag(type) != DW_TAG_enumeration_type)
		return truth(type, name, out);
	if (last && !names_type(name, last, dwarf_diename(type)))
		return false;
	last = last ? last + 1 : name;
	for (int more = dwarf_child(type, &child); !more; more = !die_next(&child)) {
		const char *is = dwarf_diename(&child);

		if (!is || strcmp(is, last) != 0 || !enumerator(&child, &value))
			continue;
		bool is_signed = is_signed_enum(type);
		uint64_t raw = extend((uint64_t)value, bits, is_signed);
		*out = is_signed ? (long double)(int64_t)raw : (long double)raw;
		return true;
	}
	return false;
}

uint8_t value_scalar_number(Dwarf_Die *type, const struct value_bytes *v, uint64_t off,
			    struct value_bits bits, struct value_memory *memory, int64_t *out,
			    long double *real, bool *is_real, bool *is_unsigned)
{
	uint64_t size = value_type_size(type), raw,
		 encoding = value_constant(type, DW_AT_encoding, DW_ATE_unsigned);
	uint8_t bytes[2 * PAIR] = {0};
	int tag = dwarf_tag(type);

	*is_real = tag == DW_TAG_base_type && encoding == DW_ATE_float;
	*is_unsigned = !is_signed_type(type);
	if ((tag != DW_TAG_base_type && tag != DW_TAG_enumeration_type && !value_is_pointer(tag)) ||
	    !size || size > (*is_real ? PAIR : WORD) || (*is_real && is_quad(type)) ||
	    encoding == DW_ATE_complex_float)
		return VALUE_UNKNOWN;
	uint8_t quality = read_scalar(type, v, off, bits, memory, bytes, size);
	if (*is_real)
		return read_real(bytes, size, real) ? quality : VALUE_UNKNOWN;
	memcpy(&raw, bytes, WORD);
	if (tag == DW_TAG_enumeration_type)
		*is_unsigned = !is_signed_enum(type);
	*out = (int64_t)extend(raw, bits.n ? bits.n : 8 * size, !*is_unsigned);
	return quality;
}

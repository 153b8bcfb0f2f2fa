// SPDX-License-Identifier: LGPL-2.1-or-later
/* value_strings.c: see value_strings.h. */
#include "user/values/types/value_strings.h"

#include "user/cli/printable.h"
#include "user/values/types/value_die.h"

#include <dwarf.h>
#include <inttypes.h>
#include <string.h>

enum { STRING_MAX = 200 };

/* What stands before a text or a character of the type that is called so. NULL: of none. */
static const char *wide_prefix(const char *name)
{
	static const struct {
		const char *name, *prefix;
	} wide[] = {{"wchar_t", "L"}, {"char16_t", "u"}, {"char32_t", "U"}};

	for (size_t i = 0; name && i < sizeof(wide) / sizeof(*wide); i++)
		if (!strcmp(name, wide[i].name))
			return wide[i].prefix;
	return NULL;
}

struct value_characters value_characters_of(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Die type = *die;
	const char *prefix = NULL;

	while (dwarf_attr_integrate(&type, DW_AT_type, &attr) && dwarf_formref_die(&attr, &type)) {
		prefix = prefix ? prefix : wide_prefix(dwarf_diename(&type));
		int tag = dwarf_tag(&type);
		if (tag != DW_TAG_typedef && tag != DW_TAG_const_type &&
		    tag != DW_TAG_volatile_type && tag != DW_TAG_restrict_type)
			break;
	}
	if (dwarf_tag(&type) != DW_TAG_base_type)
		return (struct value_characters){0};
	uint64_t size = value_type_size(&type), encoding = value_constant(&type, DW_AT_encoding, 0);
	bool narrow = size == 1 && (encoding == DW_ATE_signed_char ||
				    encoding == DW_ATE_unsigned_char || encoding == DW_ATE_UTF);
	if (narrow)
		return (struct value_characters){1, ""};
	return prefix && (size == 2 || size == 4)
		       ? (struct value_characters){(unsigned)size, prefix}
		       : (struct value_characters){0};
}

static unsigned utf8(uint32_t c, char *out)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | (c >> 18 & 7));
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

struct quoted {
	FILE *out;
	bool hex; /* a digit that follows would be taken for one of the escape before it */
};

static void quote_escaped(struct quoted *q, uint32_t c)
{
	static const char named[] = "\aa\bb\tt\nn\vv\ff\rr\"\"\\\\";

	q->hex = false;
	for (const char *n = named; *n; n += 2)
		if ((unsigned char)*n == c) {
			fprintf(q->out, "\\%c", n[1]);
			return;
		}
	q->hex = c > 0777;
	fprintf(q->out, q->hex ? "\\x%" PRIx32 : "\\%03" PRIo32, c);
}

/* Bytes, of which those that are UTF-8 and can be seen are as they are. */
static void quote_narrow(struct quoted *q, const char *text)
{
	char escape[PRINTABLE_ESCAPE_MAX];

	while (*text) {
		size_t n = printable_run(text, PRINT_JSON);

		fwrite(text, 1, n, q->out);
		text += n;
		for (n = *text ? printable_escape(text, PRINT_JSON, escape) : 0; n; n--)
			quote_escaped(q, (unsigned char)*text++);
	}
}

static void quote_wide(struct quoted *q, uint32_t c)
{
	char text[5] = "";
	unsigned len = utf8(c, text);

	if (printable_run(text, PRINT_JSON) < len || (q->hex && c >= '0' && c <= '9')) {
		quote_escaped(q, c);
		return;
	}
	fputs(text, q->out);
	q->hex = false;
}

void value_wide_print(FILE *out, Dwarf_Die *type, uint32_t c)
{
	const char *prefix = wide_prefix(dwarf_diename(type));
	struct quoted q = {out, false};

	if (!prefix)
		return;
	fprintf(out, " %s'", prefix);
	if (c == '\'')
		fputs("\\'", out);
	else if (c == '"')
		fputc('"', out);
	else
		quote_wide(&q, c);
	fputc('\'', out);
}

void value_string_print(FILE *out, const struct value_bytes *v, uint64_t off, uint64_t max,
			struct value_characters chars, struct value_memory *memory)
{
	uint32_t units[STRING_MAX];
	char text[STRING_MAX + 1];
	struct quoted q = {out, false};
	uint8_t quality = VALUE_EXACT, worst = VALUE_EXACT;
	uint64_t most = max && max < STRING_MAX ? max : STRING_MAX, n = 0;

	for (; n < most; n++) {
		units[n] = 0;
		quality =
			value_bytes_read(v, memory, off + n * chars.width, &units[n], chars.width);
		if (quality >= VALUE_UNKNOWN || !units[n])
			break;
		worst = quality > worst ? quality : worst;
		text[n] = (char)units[n];
	}
	/* The end is where it is as far as that is known. */
	worst = quality > worst ? quality : worst;
	if (!n && value_print_unknown(out, quality))
		return;
	text[n] = 0;
	fprintf(out, "%s\"", chars.prefix);
	if (chars.width == 1)
		quote_narrow(&q, text);
	for (uint64_t i = 0; chars.width > 1 && i < n; i++)
		quote_wide(&q, units[i]);
	fprintf(out, "\"%s", n == STRING_MAX && n != max ? "..." : "");
	value_print_mark(out, worst);
}

uint8_t value_string_is(Dwarf_Die *type, const struct value_bytes *v, uint64_t off,
			const char *text, struct value_memory *memory, bool *is)
{
	struct value_bytes there = {.place = VALUE_IN_MEMORY};
	Dwarf_Word max = UINT64_MAX;
	int tag = dwarf_tag(type);
	uint8_t worst = VALUE_EXACT;

	if (value_characters_of(type).width != 1 ||
	    (tag != DW_TAG_array_type && tag != DW_TAG_pointer_type))
		return VALUE_UNKNOWN;
	if (tag == DW_TAG_array_type) {
		if (dwarf_aggregate_size(type, &max))
			return VALUE_UNKNOWN;
		there = *v;
	} else {
		there.at_quality = value_bytes_read(v, memory, off, &there.addr, 8);
		off = 0;
	}
	for (uint64_t i = 0;; i++) {
		char c = 0;
		uint8_t quality =
			i < max ? value_bytes_read(&there, memory, off + i, &c, 1) : VALUE_EXACT;

		worst = quality > worst ? quality : worst;
		if (worst < VALUE_UNKNOWN && c == text[i] && c)
			continue;
		*is = c == text[i];
		return worst;
	}
}

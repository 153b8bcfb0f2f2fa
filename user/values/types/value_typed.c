// SPDX-License-Identifier: LGPL-2.1-or-later
/* value_typed.c: see value_typed.h. */
#include "user/values/types/value_typed.h"

#include "user/cli/printable.h"
#include "user/values/types/value_type_names.h"

#include <stdlib.h>

void value_typed_print(FILE *out, Dwarf_Die *die, const struct value_bytes *value, uint8_t quality,
		       struct value_memory *memory, const struct value_symbols *symbols)
{
	static const char *const words[] = {"exact", "assumed", "unknown", "nowhere"};
	char *name = NULL;
	size_t len;
	FILE *text = open_memstream(&name, &len);

	if (text) {
		value_type_name(text, die);
		fclose(text);
	}
	fputs("\"type\":", out);
	printable_json(out, name);
	free(name);
	fputs(",\"value\":", out);
	if (value)
		quality = value_type_print(out, die, value, memory, symbols, VALUE_AS_JSON);
	else
		fputs(quality == VALUE_NOWHERE ? "\"<optimized out>\"" : "\"?\"", out);
	fprintf(out, ",\"exactness\":\"%s\"", words[quality]);
}

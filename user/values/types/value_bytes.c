// SPDX-License-Identifier: LGPL-2.1-or-later
/* value_bytes.c: see value_bytes.h. */
#include "user/values/types/value_bytes.h"

#include <string.h>

static uint8_t worse(uint8_t a, uint8_t b)
{
	return a > b ? a : b;
}

uint8_t value_bytes_read(const struct value_bytes *v, struct value_memory *memory, uint64_t off,
			 void *out, uint64_t len)
{
	uint8_t worst = VALUE_EXACT;

	memset(out, 0, len);
	if (v->place == VALUE_IN_MEMORY) {
		if (v->at_quality >= VALUE_UNKNOWN)
			return v->at_quality;
		if (value_memory_read(memory, v->addr + off, out, len, &worst))
			return VALUE_UNKNOWN;
		return worse(worst, v->at_quality);
	}
	if (off > v->len || len > v->len - off)
		return VALUE_UNKNOWN;
	memcpy(out, v->bytes + off, len);
	for (uint64_t i = 0; i < len; i++)
		worst = worse(worst, v->quality[off + i]);
	return worst;
}

bool value_bytes_append(struct value_bytes *to, struct value_memory *memory,
			const struct value_bytes *from, uint64_t off, uint64_t len)
{
	if (len > (uint64_t)VALUE_BYTES - to->len)
		return false;
	for (uint64_t i = 0; i < len; i++, to->len++)
		to->quality[to->len] =
			value_bytes_read(from, memory, off + i, &to->bytes[to->len], 1);
	return true;
}

void value_print_mark(FILE *out, uint8_t quality)
{
	if (quality)
		fputc(quality == VALUE_ASSUMED ? '~' : '?', out);
}

bool value_print_unknown(FILE *out, uint8_t quality)
{
	if (quality < VALUE_UNKNOWN)
		return false;
	fputs(quality == VALUE_NOWHERE ? "<optimized out>" : "?", out);
	return true;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* written.c: memory that a function has written which was executed and not captured: by the same
 * table of outputs (imports.def) that says what is captured elsewhere. */
#include "offline/capture/outputs.h"
#include "offline/dep/build_impl.h"

enum { STRING_MAX = 1 << 16, RANGE_MAX = 1 << 26 };

static uint64_t number(const struct dep_pending *p, uint8_t value, uint64_t result)
{
	return value == VALUE_RESULT ? result : value == VALUE_ONE ? 1 : p->args[value];
}

static uint64_t string_len(struct dep_build *b, uint64_t addr, uint64_t max)
{
	uint64_t n = 0;
	char c = 1;
	while (n < max && c && !value_memory_read(b->memory, addr + n, &c, 1, NULL))
		n++;
	return n;
}

/* In bytes; 0: nothing, or one of the lengths that functions here do not have. */
static uint64_t length(struct dep_build *b, const struct dep_pending *p,
		       const struct capture_output *o, uint64_t addr, uint64_t result)
{
	if (o->length == LENGTH_STRING)
		return string_len(b, addr, o->k < STRING_MAX ? o->k : STRING_MAX);
	if (o->length != LENGTH_PRODUCT)
		return 0;
	/* A result that is negative is an error: nothing was written. */
	bool failed = (o->a == VALUE_RESULT || o->b == VALUE_RESULT) && (int32_t)result < 0;
	uint64_t len = number(p, o->a, result) * number(p, o->b, result) * o->k + o->c;
	return failed || len > RANGE_MAX ? 0 : len;
}

void dep_written(struct dep_build *b, struct dep_event *e, const struct dep_pending *p,
		 uint64_t result)
{
	const struct import_row *row = p->name ? imports_find(b->imports, p->name) : NULL;
	struct output_word words[CAPTURE_MAX_OUTPUTS];
	const char *bad;
	int n = row && row->kind == IMPORT_OUTPUT ? outputs_read(row->outputs, words, &bad) : 0;
	for (int i = 0; i < n; i++) {
		const struct capture_output *o = &words[i].output;
		if (o->base == VALUE_SYMBOL)
			continue;
		uint64_t addr = number(p, o->base, result);
		for (unsigned k = 0; addr && k < o->loads; k++)
			if (value_memory_read(b->memory, addr, &addr, 8, NULL))
				addr = 0;
		uint64_t len = addr ? length(b, p, o, addr + (uint64_t)o->addend, result) : 0;
		if (len)
			shadow_set(&b->shadow, addr + (uint64_t)o->addend, len,
				   dep_more_defs(b, e, 1));
	}
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* written.c: memory that a function has written which was executed and not captured: by the same
 * table of outputs (imports.def) that says what is captured elsewhere; and of a function of which
 * flows.def knows nothing whatever its code has written. */
#include "offline/capture/outputs.h"
#include "offline/dep/build_impl.h"

enum { STRING_MAX = 1 << 16, RANGE_MAX = 1 << 26, STACK_MAX = 1 << 23 };

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

/* --- what code outside has written ----------------------------------------------------------- */

/* Where the linker keeps the address of a function that it has looked up is nothing that the
 * function has written. */
static bool binds(struct dep_build *b, struct dep_pending *p, uint64_t addr, uint64_t len)
{
	uint64_t word;
	if (p->bound || len != sizeof(word) || value_memory_read(b->memory, addr, &word, len, NULL))
		return false;
	p->bound = value_machine_has_code(b->machine, word, VALUE_SIDE_LIBRARY);
	return p->bound;
}

static void wrote(void *ctx, uint64_t addr, uint64_t len)
{
	struct dep_build *b = ctx;
	struct dep_pending *p = b->n_calls ? &b->calls[b->n_calls - 1] : NULL;
	/* What lies below the call's frame is gone with the call. */
	if (!p || p->sp - addr - 1 < STACK_MAX || len > RANGE_MAX || binds(b, p, addr, len))
		return;
	if (b->done != b->vt.n_blocks) { /* a callback has returned */
		b->catch_up(b);
		b->outside = 0;
	}
	if (!b->outside) {
		struct dep_event e = {.kind = DEP_OUTSIDE, .ip = p->ret, .name = p->name, .fd = -1};
		struct dep_event *kept = dep_add_event(b, &e);
		b->outside = kept ? dep_more_defs(b, kept, 1) : 0;
	}
	if (b->outside)
		shadow_set(&b->shadow, addr, len, b->outside);
}

void dep_written_ask(struct dep_build *b)
{
	bool asks = b->n_calls && !b->calls[b->n_calls - 1].known;
	b->outside = 0;
	if (value_run_library_writes(b->run, asks ? wrote : NULL, b))
		b->no_memory = true;
}

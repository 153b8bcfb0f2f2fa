// SPDX-License-Identifier: LGPL-2.1-or-later
/* library_writes.c: which memory code of libraries writes, told from a trace of its instructions,
 * and from what the models write that stand for some of its functions. The trace is kept for that
 * long alone. */
#include "offline/replay/libraries/library_writes.h"
#include "offline/eval/insn/string_ranges.h"

#include <errno.h>
#include <stdlib.h>

enum { BLOCKS = 1 << 12, VALUES = 1 << 16 };

struct library_writes {
	value_wrote_fn *fn; /* NULL: nobody asks now */
	void *ctx;
	struct value_trace trace;
	bool down; /* the direction flag where the trace begins */
};

void value_writes_free(struct library_writes *w)
{
	if (!w)
		return;
	value_trace_deinit(&w->trace);
	free(w);
}

static struct library_writes *writes_new(void)
{
	struct library_writes *w = calloc(1, sizeof(*w));
	if (w && value_trace_init(&w->trace, BLOCKS, VALUES, VALUES))
		return w;
	free(w);
	return NULL;
}

int value_writes_ask(struct library_writes **writes, value_wrote_fn *fn, void *ctx)
{
	if (!*writes && fn)
		*writes = writes_new();
	if (!*writes)
		return fn ? -ENOMEM : 0;
	(*writes)->fn = fn;
	(*writes)->ctx = ctx;
	(*writes)->down = false; /* so a function is called */
	return 0;
}

struct value_trace *value_writes_trace(struct library_writes *w)
{
	if (!w || !w->fn)
		return NULL;
	w->trace.n_blocks = w->trace.n_addresses = w->trace.n_results = 0;
	return &w->trace;
}

/* @at: the addresses of the instruction in the trace. */
static void tell_insn(const struct library_writes *w, const struct value_insn *insn,
		      const uint64_t *at, bool down)
{
	if (insn->kind == VALUE_INSN_STRING) {
		struct value_range ranges[2];
		unsigned n = value_string_ranges(insn, at, down, ranges);
		for (unsigned i = 0; i < n; i++)
			if (ranges[i].write)
				w->fn(w->ctx, ranges[i].addr, ranges[i].len);
		return;
	}
	for (int i = 0; i < insn->n_mem && i < insn->n_addresses; i++)
		if (insn->mem[i].write)
			w->fn(w->ctx, at[i], insn->mem[i].len);
}

void value_writes_tell(struct library_writes *w, struct value_machine *m)
{
	if (!w || !w->fn)
		return;
	const struct value_trace *t = &w->trace;
	size_t done = 0;
	bool down = w->down;
	w->down = value_machine_state(m)->df;
	for (size_t i = 0; i < t->n_blocks; i++) {
		const struct value_block *b = value_machine_block(m, t->blocks[i]);
		for (uint16_t k = 0; k < b->n_insns; k++) {
			const struct value_insn *insn = &b->insns[k];
			if (done + insn->n_addresses > t->n_addresses)
				return; /* the last block was left in its middle */
			tell_insn(w, insn, t->addresses + done, down);
			done += insn->n_addresses;
			down = value_insn_down(insn, down);
		}
	}
}

void value_writes_model(const struct library_writes *w, struct value_memory *memory, bool begins)
{
	bool asked = w && w->fn && begins;
	memory->wrote = asked ? w->fn : NULL;
	memory->wrote_ctx = asked ? w->ctx : NULL;
}

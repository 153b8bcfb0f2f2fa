// SPDX-License-Identifier: LGPL-2.1-or-later
/* watch_locals.c: accesses of a variable of a function, in each of its calls that is open.
 *
 * An instruction of the function reads the variable where it is before that instruction, and writes
 * it where it is behind it: so a register that is given to another variable, or back to the caller,
 * is no write. What other code does to it, through a pointer, is seen in memory alone, where the
 * variable was when its function made the call. */
#include "user/values/watch/watch_locals.h"

#include "offline/eval/insn/string_ranges.h"
#include "user/values/dwarf/value_registers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The function of a local, by the first local that is in it. */
static uint32_t function_of(const struct value_locals *locals, uint32_t local)
{
	for (uint32_t i = 0; i < local; i++)
		if (locals->at[i].function.addr == locals->at[local].function.addr)
			return i;
	return local;
}

int watch_locals_init(struct watch_locals *w, struct watch_found *found)
{
	w->found = found;
	w->numbers = calloc(found->what->locals.n, sizeof(*w->numbers));
	return w->numbers ? 0 : -ENOMEM;
}

void watch_locals_deinit(struct watch_locals *w)
{
	for (uint32_t i = 0; i < w->frames.n; i++)
		free(w->frames.at[i].bytes);
	VEC_FREE(&w->frames);
	activations_deinit(&w->calls);
	free(w->numbers);
	free(w->functions);
	*w = (struct watch_locals){0};
}

/* Which function the block is of: 1 none, else 2 and its first local. */
static uint32_t block_function(struct watch_locals *w, const struct value_block *b)
{
	struct value_locals *locals = &w->found->what->locals;

	if (b->number >= w->n_functions) {
		uint32_t n = 2 * b->number + 1024;
		uint32_t *more = realloc(w->functions, n * sizeof(*more));

		if (!more) {
			w->found->err = -ENOMEM;
			return 1;
		}
		memset(more + w->n_functions, 0, (n - w->n_functions) * sizeof(*more));
		w->functions = more;
		w->n_functions = n;
	}
	uint32_t *known = &w->functions[b->number];
	for (uint32_t i = 0; !*known && i < locals->n; i++)
		if (dwarf_haspc(&locals->at[i].function, b->ip - locals->at[i].bias) == 1)
			*known = 2 + function_of(locals, i);
	*known = *known ? *known : 1;
	return *known;
}

/* --- calls -------------------------------------------------------------------------------------
 */

void watch_locals_prune(struct watch_locals *w)
{
	while (w->frames.n) {
		struct watch_bytes *f = &w->frames.at[w->frames.n - 1];
		const struct activation *a = &w->calls.at.at[f->depth];

		if (f->depth < w->calls.at.n && a->number == f->place.call &&
		    a->function == 1 + function_of(&w->found->what->locals, f->place.local))
			return;
		free(f->bytes);
		w->frames.n--;
	}
}

static void begin_call(struct watch_locals *w, uint32_t function, struct activation *a)
{
	const struct value_locals *locals = &w->found->what->locals;

	a->number = ++w->numbers[function];
	watch_locals_prune(w);
	for (uint32_t i = function; i < locals->n; i++) {
		struct watch_bytes f = {.place = {.local = i, .call = a->number},
					.depth = w->calls.at.n - 1};

		if (function_of(locals, i) == function && !VEC_PUSH(&w->frames, f))
			w->found->err = -ENOMEM;
	}
}

/* The open call of @function that its code at @ip is executed in; NULL: it began before anything
 * was recorded. */
static struct activation *call_of(struct watch_locals *w, uint32_t function, uint64_t elf)
{
	Dwarf_Addr entry;

	if (value_scopes_entry(&w->found->what->locals.at[function].function, &entry) &&
	    entry == elf && activations_enter(&w->calls, function + 1))
		begin_call(w, function, activations_top(&w->calls));
	/* Whatever is further in was left by a jump that is no return. */
	for (uint32_t n = w->calls.at.n; n > 0 && !w->calls.at.at[n - 1].handler; n--)
		if (w->calls.at.at[n - 1].function == function + 1) {
			w->calls.at.n = n;
			return &w->calls.at.at[n - 1];
		}
	return NULL;
}

/* --- accesses ----------------------------------------------------------------------------------
 */

/* Of the register @number, as the evaluator has it, those bytes of the variable. */
static bool is_of_register(const struct value_access *a, uint64_t number,
			   const struct value_local *l)
{
	uint8_t kind = number < DWARF_GENERAL ? VALUE_ACCESS_GPR : VALUE_ACCESS_VEC;
	unsigned reg = value_registers_encoded(number);

	return a->kind == kind && a->reg == reg && a->off < l->part.off + l->len &&
	       l->part.off < (uint64_t)a->off + a->len;
}

static bool is_in_register(const struct value_insn *insn, bool write, uint64_t number,
			   const struct value_local *l)
{
	for (int i = 0; i < insn->n_access; i++)
		if ((write ? insn->access[i].write : insn->access[i].read) &&
		    is_of_register(&insn->access[i], number, l))
			return true;
	return false;
}

/* Whether the instruction reads, or writes, @len bytes at @addr. */
static bool is_in_memory(const struct watch_locals *w, const struct value_insn *insn,
			 const uint64_t *at, bool write, uint64_t addr, uint64_t len)
{
	struct value_range ranges[2];
	unsigned n = 0;

	if (insn->kind == VALUE_INSN_STRING)
		n = value_string_ranges(insn, at, w->down, ranges);
	else
		for (; n < insn->n_mem && n < 2 && n < insn->n_addresses; n++)
			ranges[n] = (struct value_range){.addr = at[n],
							 .len = insn->mem[n].len,
							 .read = insn->mem[n].read,
							 .write = insn->mem[n].write};
	for (unsigned i = 0; i < n; i++)
		if ((write ? ranges[i].write : ranges[i].read) && ranges[i].addr < addr + len &&
		    addr < ranges[i].addr + ranges[i].len)
			return true;
	return false;
}

static void put_home(struct watch_place *p, const struct value_local *l, struct value_home home,
		     uint64_t slot)
{
	enum { RETURN_ADDRESS = 8 };

	p->reg = home.kind == HOME_REGISTER ? 1 + home.at : 0;
	p->addr = home.kind == HOME_FRAME ? slot + RETURN_ADDRESS + (uint64_t)home.at + l->part.off
					  : 0;
}

static bool is_at(const struct watch_locals *w, const struct value_insn *insn, const uint64_t *at,
		  bool write, const struct watch_place *p, const struct value_local *l)
{
	return p->reg	 ? is_in_register(insn, write, p->reg - 1, l)
	       : p->addr ? is_in_memory(w, insn, at, write, p->addr, l->len)
			 : false;
}

/* An instruction of the function itself. */
static void own_access(struct watch_locals *w, struct watch_bytes *f, uint64_t slot,
		       const struct value_insn *insn, const uint64_t *at, uint64_t count)
{
	struct value_local *l = &w->found->what->locals.at[f->place.local];
	struct value_home home = value_local_home(l, insn->ip - l->bias);
	struct value_home next = value_local_home(l, insn->ip - l->bias + insn->len);
	struct watch_place behind = f->place;
	uint64_t before = f->place.addr;

	w->visible += home.kind != HOME_OUTSIDE;
	w->nowhere += home.kind == HOME_NOWHERE;
	put_home(&f->place, l, home, slot);
	if (f->place.addr != before) {
		free(f->bytes);
		f->bytes = NULL;
	}
	if (is_at(w, insn, at, false, &f->place, l))
		watch_found_note(w->found, &f->place, count, insn->ip, false, "");
	/* A store may be the last instruction of the block that declares it. */
	put_home(&behind, l, next.kind == HOME_OUTSIDE && home.kind == HOME_FRAME ? home : next,
		 slot);
	if (is_at(w, insn, at, true, &behind, l))
		watch_found_note(w->found, &behind, count, insn->ip, true, "");
}

void watch_locals_insn(struct watch_locals *w, const struct value_block *b,
		       const struct value_insn *insn, const uint64_t *at, uint64_t count)
{
	uint32_t function = block_function(w, b);
	struct activation *top = activations_top(&w->calls), *own = NULL;

	if (function > 1)
		own = call_of(w, function - 2,
			      insn->ip - w->found->what->locals.at[function - 2].bias);
	else if (top && top->function)
		top->function = 0; /* it was left by a jump: another function takes its place */
	w->apart += function > 1 && !own;
	if (top && top != own)
		top->fresh = false;
	watch_locals_prune(w);
	uint32_t depth = own ? (uint32_t)(own - w->calls.at.at) : UINT32_MAX;
	uint64_t slot = own ? own->slot : 0;
	for (uint32_t i = w->frames.n; i > 0; i--) {
		struct watch_bytes *f = &w->frames.at[i - 1];

		if (f->depth == depth) {
			own_access(w, f, slot, insn, at, count);
			continue;
		}
		uint64_t len = watch_found_length(w->found, &f->place);
		for (int write = 0; f->place.addr && write < 2; write++)
			if (is_in_memory(w, insn, at, write, f->place.addr, len))
				watch_found_note(w->found, &f->place, count, insn->ip, write, "");
	}
	for (int i = 0; i < insn->n_mem && i < insn->n_addresses; i++) {
		bool call = insn->kind == VALUE_INSN_CALL || insn->kind == VALUE_INSN_CALL_IND;

		if (call && insn->mem[i].write)
			activations_call(&w->calls, at[i]);
		else if (insn->kind == VALUE_INSN_RET && insn->mem[i].read)
			activations_return(&w->calls, at[i]);
	}
}

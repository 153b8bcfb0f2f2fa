// SPDX-License-Identifier: LGPL-2.1-or-later
/* table_extent.c: reads jump tables. Where one ends is told by the bound of its index, if the code
 * shows that. Else the table has its natural end: the next data that an instruction names, or an
 * entry that leads out of the function. */
#include "offline/code/table_extent.h"

#include "offline/base/search.h"

#include <string.h>

static bool data_named_in(const struct builder *b, uint64_t from, uint64_t to)
{
	uint32_t low = SEARCH_FIRST_NOT(0, b->data_refs.n, i, b->data_refs.at[i] < from);
	return low < b->data_refs.n && b->data_refs.at[low] < to;
}

/* The 64-bit word at @addr as it is once relocated. */
static bool read_pointer(const struct builder *b, uint64_t addr, uint64_t *value)
{
	uint32_t n;
	const uint64_t *values, *slots = elf_image_pointer_slots(b->image, &values, &n);
	uint32_t low = SEARCH_FIRST_NOT(0, n, i, slots[i] < addr);
	if (low < n && slots[low] == addr) {
		*value = values[low];
		return true;
	}
	size_t len;
	const uint8_t *bytes = elf_image_bytes(b->image, addr, &len);
	if (elf_image_is_pie(b->image) || !bytes || len < sizeof(*value))
		return false;
	memcpy(value, bytes, sizeof(*value));
	return true;
}

static uint32_t entry_bytes(const struct table_load *load)
{
	return load->relative && !load->wide ? 4 : 8;
}

bool table_entry(const struct builder *b, const struct table_load *load, uint32_t i,
		 uint64_t *target)
{
	if (!load->relative)
		return read_pointer(b, load->table + UINT64_C(8) * i, target);
	size_t len;
	uint64_t place = load->table + (uint64_t)entry_bytes(load) * i;
	const uint8_t *bytes = elf_image_bytes(b->image, place, &len);
	if (!bytes || len < entry_bytes(load))
		return false;
	int32_t distance;
	int64_t wide;
	memcpy(&distance, bytes, sizeof(distance));
	wide = distance;
	if (load->wide)
		memcpy(&wide, bytes, sizeof(wide));
	*target = load->base + (uint64_t)wide;
	return true;
}

enum entry table_classify(const struct builder *b, uint32_t func, uint64_t target)
{
	uint32_t part = builder_part_at(b, target);
	if (!is_insn_start(b, target) || part == PUGMARK_NONE) {
		/* A label after the last instruction: the compiler knows that it is not reached. */
		return builder_func_ending(b, target) == func ? ENTRY_END : ENTRY_BAD;
	}
	const struct build_part *p = &b->parts.at[part];
	if (p->func == func)
		return ENTRY_INSIDE;
	bool alone = b->funcs.at[p->func].n_parts == 1 && !(p->flags & PART_CALLED);
	if (alone && p->flags & PART_FRAGMENT)
		return ENTRY_FRAGMENT;
	if (p->addr != target)
		return ENTRY_BAD;
	return alone && p->fde != PUGMARK_NONE ? ENTRY_START : ENTRY_FUNCTION;
}

void table_measure(struct backslice *s, uint32_t func, const struct table_load *load,
		   uint32_t *entries_left, struct extent *x)
{
	uint64_t bound = 0;
	bool exact = false, whole = false;
	uint32_t bytes = entry_bytes(load);
	*x = (struct extent){.max = TABLE_MAX_ENTRIES};
	x->bounded =
		load->has_index && index_bound(s, load->index, load->at, &bound, &exact, &whole);
	bound /= load->in_bytes ? bytes : 1;
	x->bounded = x->bounded && bound < TABLE_MAX_ENTRIES;
	if (x->bounded)
		x->max = (uint32_t)bound + 1;
	if (load->single)
		x->max = 1;
	x->contained = x->bounded && whole;
	x->proven = (x->bounded && exact) || load->single;
	for (; x->n < x->max && *entries_left; x->n++, --*entries_left) {
		uint64_t target, place = load->table + (uint64_t)bytes * x->n;
		if (x->n && !x->proven && data_named_in(s->b, place, place + bytes))
			break;
		if (!table_entry(s->b, load, x->n, &target))
			break;
		enum entry entry = table_classify(s->b, func, target);
		bool function = entry == ENTRY_FUNCTION || entry == ENTRY_START;
		bool leaves = function && x->n_inside && !load->relative;
		bool enters = entry == ENTRY_INSIDE && x->n_functions && !load->relative;
		if (entry == ENTRY_BAD || (!x->proven && (entry == ENTRY_END || leaves || enters)))
			break;
		x->n_inside += entry == ENTRY_INSIDE || entry == ENTRY_FRAGMENT;
		x->n_functions += function;
	}
}

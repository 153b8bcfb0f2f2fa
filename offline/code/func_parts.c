// SPDX-License-Identifier: LGPL-2.1-or-later
/* func_parts.c: which ranges of code make a function. Every FDE is a part, and so is every reached
 * stretch of code without one. Compilers put the unlikely rest of a function into a part of its
 * own, a *fragment*: nothing calls it, and (nearly always) its frame is already set up where it
 * starts. A fragment joins the one function that jumps into it, that it jumps back into, or whose
 * calls unwind into it.
 *
 * Assembly also jumps into the middle of another function. There that function is split, so that
 * every function has one entry: a jump across is then a tail jump, and a part that runs into the
 * next one ends in a tail jump without an instruction. */
#include "offline/code/builder.h"

#include <errno.h>
#include <string.h>

enum { MAX_ROUNDS = 6 };

static int request_split(struct builder *b, uint64_t addr)
{
	return VEC_PUSH(&b->split_starts, addr) ? 0 : -ENOMEM;
}

/* Function symbols inside an FDE: assembly with one FDE for several functions. */
static int split_at_symbols(struct builder *b)
{
	uint32_t n;
	const struct elf_symbol *symbols = elf_image_symbols(b->image, &n);
	for (uint32_t i = 0; i < n; i++)
		if (symbols[i].code && symbols[i].size && is_insn_start(b, symbols[i].addr) &&
		    !strstr(symbols[i].name, ".cold") && request_split(b, symbols[i].addr))
			return -ENOMEM;
	b->split_starts.n = sort_unique(b->split_starts.at, b->split_starts.n);
	return 0;
}

/* Adds [addr, end), cut at every split start inside it; @split walks along split_starts. */
static int add_part(struct builder *b, uint64_t addr, uint64_t end, uint32_t fde, uint32_t *split,
		    uint8_t flags)
{
	while (*split < b->split_starts.n && b->split_starts.at[*split] <= addr)
		++*split;
	while (addr < end) {
		uint64_t stop = end;
		if (*split < b->split_starts.n && b->split_starts.at[*split] < end)
			stop = b->split_starts.at[(*split)++];
		struct build_part part = {.addr = addr, .end = stop, .fde = fde, .flags = flags};
		if (!VEC_PUSH(&b->parts, part))
			return -ENOMEM;
		addr = stop;
		flags |= PART_SPLIT | PART_CALLED;
	}
	return 0;
}

/* The end of the part without an FDE that starts at @addr, at most @limit. */
static uint64_t undescribed_part_end(const struct builder *b, uint64_t addr, uint64_t limit)
{
	const struct elf_code *code = builder_code_at(b, addr);
	if (limit > code->end)
		limit = code->end;
	uint32_t past = insn_at(b, limit);
	return insn_addr(b, past - 1) + b->insns.at[past - 1].len;
}

static int make_parts(struct builder *b)
{
	uint32_t n_fdes, gap = 0, split = 0;
	const struct elf_fde *fdes = elf_image_fdes(b->image, &n_fdes);
	int err = 0;
	b->parts.n = 0;
	for (uint32_t i = 0; i <= n_fdes && !err; i++) {
		uint64_t fde_addr = i < n_fdes ? fdes[i].addr : UINT64_MAX;
		for (; gap < b->undescribed_starts.n && b->undescribed_starts.at[gap] < fde_addr &&
		       !err;
		     gap++) {
			uint64_t addr = b->undescribed_starts.at[gap], limit = fde_addr;
			if (gap + 1 < b->undescribed_starts.n &&
			    b->undescribed_starts.at[gap + 1] < limit)
				limit = b->undescribed_starts.at[gap + 1];
			err = add_part(b, addr, undescribed_part_end(b, addr, limit), PUGMARK_NONE,
				       &split, PART_CALLED);
		}
		const struct elf_code *code = i < n_fdes ? builder_code_at(b, fde_addr) : NULL;
		if (err || !code || code->plt)
			continue;
		uint64_t end = fdes[i].end < code->end ? fdes[i].end : code->end;
		err = add_part(b, builder_fde_start(b, &fdes[i]), end, i, &split,
			       fdes[i].signal ? PART_SIGNAL : 0);
	}
	return err;
}

/* Parts that something names, or calls through a pointer that is no label. */
static void mark_named(struct builder *b)
{
	uint32_t n, part = 0;
	const struct elf_symbol *symbols = elf_image_symbols(b->image, &n);
	for (uint32_t i = 0; i < n; i++) {
		while (part < b->parts.n && b->parts.at[part].addr < symbols[i].addr)
			part++;
		if (part == b->parts.n)
			break;
		struct build_part *p = &b->parts.at[part];
		if (p->addr != symbols[i].addr || !symbols[i].code)
			continue;
		if (strstr(symbols[i].name, ".cold"))
			p->flags |= PART_FRAGMENT;
		else
			p->flags |= PART_CALLED;
	}
	uint32_t entry = builder_part_at(b, elf_image_entry(b->image));
	if (entry != PUGMARK_NONE)
		b->parts.at[entry].flags |= PART_CALLED;
}

/* Looks at one direct call or jump in the part @from: notes calls, jumps into other parts, and
 * starts that were not known yet. */
static int scan_transfer(struct builder *b, uint32_t from, struct transfer t)
{
	const struct pugmark_insn *i = &b->insns.at[t.insn];
	uint64_t target = insn_addr(b, t.target), addr = insn_addr(b, t.insn);
	const struct build_part *own = &b->parts.at[from];
	bool is_call = i->kind == PUGMARK_INSN_CALL;
	bool inside = target >= own->addr && target < own->end;
	if (inside && (!is_call || target == own->addr))
		return 0;
	if (target == addr + i->len)
		return 0;
	uint32_t to = inside ? from : builder_part_at(b, target);
	if (to == PUGMARK_NONE)
		return 0;
	if (is_call) {
		b->parts.at[to].flags |= PART_CALLED;
		return target == b->parts.at[to].addr ? 0 : request_split(b, target);
	}
	struct cross_jump jump = {.from = from, .to = to, .target = target, .site = addr};
	return VEC_PUSH(&b->crossings, jump) ? 0 : -ENOMEM;
}

/* Where a part runs into the next one and both have an entry's frame there, the next one is entered
 * as by a call. */
static void mark_run_into(struct builder *b, uint32_t part)
{
	uint32_t end = insn_at(b, b->parts.at[part].end);
	if (end == insn_at(b, b->parts.at[part].addr) || part + 1 == b->parts.n)
		return;
	const struct pugmark_insn *last = &b->insns.at[end - 1];
	struct build_part *next = &b->parts.at[part + 1];
	uint64_t addr = insn_addr(b, end - 1);
	if (last->kind == PUGMARK_INSN_OTHER && addr + last->len == next->addr &&
	    cfa_is_entry(builder_cfa_at(b, addr)) && cfa_is_entry(builder_cfa_at(b, next->addr)))
		next->flags |= PART_CALLED;
}

static int scan_transfers(struct builder *b)
{
	const struct transfer *at = b->transfers.at;
	uint32_t n = b->transfers.n, i = 0;
	int err = 0;
	b->crossings.n = 0;
	for (uint32_t part = 0; part < b->parts.n && !err; part++) {
		uint32_t first = insn_at(b, b->parts.at[part].addr);
		uint32_t end = insn_at(b, b->parts.at[part].end);
		mark_run_into(b, part);
		while (i && at[i - 1].insn >= first) /* parts of a damaged file overlap */
			i--;
		while (i < n && at[i].insn < first)
			i++;
		for (; i < n && at[i].insn < end && !err; i++)
			err = scan_transfer(b, part, at[i]);
	}
	for (uint32_t i = 0; i < b->table_crossings.n && !err; i++) {
		struct cross_jump jump = b->table_crossings.at[i];
		jump.from = builder_part_at(b, jump.site);
		jump.to = builder_part_at(b, jump.target);
		if (jump.from == PUGMARK_NONE || jump.to == PUGMARK_NONE || jump.from == jump.to)
			continue;
		b->parts.at[jump.to].flags |= PART_TABLE;
		err = VEC_PUSH(&b->crossings, jump) ? 0 : -ENOMEM;
	}
	return err;
}

static uint32_t find_set(struct builder *b, uint32_t part)
{
	struct build_part *p = b->parts.at;
	while (p[part].set != part)
		part = p[part].set = p[p[part].set].set;
	return part;
}

/* Joins two parts' sets, unless that would give a function two entries. The root of a set is its
 * entry where it has one. */
static void join(struct builder *b, uint32_t x, uint32_t y)
{
	x = find_set(b, x);
	y = find_set(b, y);
	if (x == y)
		return;
	struct build_part *p = b->parts.at;
	bool x_is_entry = !(p[x].flags & PART_FRAGMENT), y_is_entry = !(p[y].flags & PART_FRAGMENT);
	if (x_is_entry && y_is_entry)
		return;
	if (y_is_entry || (!x_is_entry && y < x))
		p[x].set = y;
	else
		p[y].set = x;
}

static bool is_fragment(const struct builder *b, uint32_t part)
{
	return b->parts.at[part].flags & PART_FRAGMENT;
}

/* Marks the fragments that their frame shows: the CFA where they start is not an entry's. A part
 * that a jump table leads to is a fragment as well, since tables hold labels. */
static void mark_fragments(struct builder *b)
{
	for (uint32_t i = 0; i < b->parts.n; i++) {
		struct build_part *p = &b->parts.at[i];
		p->set = i;
		bool no_entry_frame = !cfa_is_entry(builder_cfa_at(b, p->addr));
		if (p->flags & (PART_CALLED | PART_SIGNAL) || p->fde == PUGMARK_NONE)
			p->flags &= (uint8_t)~PART_FRAGMENT;
		else if (no_entry_frame || p->flags & PART_TABLE)
			p->flags |= PART_FRAGMENT;
	}
}

/* Groups the crossings by the part that they lead to, in the order of those. */
static int group_crossings(struct builder *b)
{
	uint32_t n = b->crossings.n, sum = 0;
	if (!n)
		return 0;
	struct cross_jump *grouped = malloc(n * sizeof(*grouped));
	uint32_t *next = calloc((size_t)b->parts.n + 1, sizeof(*next));
	for (uint32_t i = 0; i < n && next; i++)
		next[b->crossings.at[i].to]++;
	for (uint32_t i = 0; i < b->parts.n && next; i++) {
		uint32_t count = next[i];
		next[i] = sum;
		sum += count;
	}
	for (uint32_t i = 0; i < n && next && grouped; i++)
		grouped[next[b->crossings.at[i].to]++] = b->crossings.at[i];
	int err = next && grouped ? 0 : -ENOMEM;
	free(next);
	free(err ? (void *)grouped : b->crossings.at);
	if (!err) {
		b->crossings.at = grouped;
		b->crossings.max = n;
	}
	return err;
}

/* Whether @part jumps into the middle of a part of the set @owner. */
static bool jumps_back(struct builder *b, uint32_t part, uint32_t owner)
{
	uint32_t end = insn_at(b, b->parts.at[part].end);
	for (uint32_t i = insn_at(b, b->parts.at[part].addr); i < end; i++) {
		if (!insn_is_direct_jump(&b->insns.at[i]))
			continue;
		uint64_t target = builder_insn_target(b, i);
		uint32_t to = is_insn_start(b, target) ? builder_part_at(b, target) : PUGMARK_NONE;
		if (to != PUGMARK_NONE && to != part && target != b->parts.at[to].addr &&
		    find_set(b, to) == owner)
			return true;
	}
	return false;
}

/* Whether the part lies among fragments: compilers put those together, apart from functions. */
static bool lies_among_fragments(const struct builder *b, uint32_t part)
{
	bool before = part && is_fragment(b, part - 1);
	bool after = part + 1 < b->parts.n && is_fragment(b, part + 1);
	return before && after;
}

/* Marks the other fragments: parts of leaf functions have no frame to tell them by. Such a part is
 * jumped to by one function only; and it jumps back into that function's middle, or it lies among
 * fragments and is entered by conditional jumps, which compilers seldom use for calls. */
static void join_frameless(struct builder *b)
{
	uint32_t n = b->crossings.n;
	for (uint32_t i = 0, next; i < n; i = next) {
		uint32_t to = b->crossings.at[i].to;
		struct build_part *p = &b->parts.at[to];
		bool candidate = !(p->flags & (PART_FRAGMENT | PART_CALLED | PART_SIGNAL)) &&
				 p->fde != PUGMARK_NONE &&
				 !rankmap_has(&b->taken, p->addr - b->text_addr);
		for (next = i; next < n && b->crossings.at[next].to == to;)
			next++;
		if (!candidate)
			continue;
		uint32_t owner = find_set(b, b->crossings.at[i].from);
		bool single = true, conditional = true;
		for (uint32_t k = i; k < next; k++) {
			const struct cross_jump *jump = &b->crossings.at[k];
			single &= find_set(b, jump->from) == owner;
			conditional &= b->insns.at[insn_at(b, jump->site)].kind == PUGMARK_INSN_JCC;
		}
		if (!single || find_set(b, to) == owner)
			continue;
		if (!jumps_back(b, to, owner) && !(conditional && lies_among_fragments(b, to)))
			continue;
		p->flags |= PART_FRAGMENT;
		join(b, owner, to);
	}
}

/* Whether the set's root is an entry that something names. */
static bool has_entry(struct builder *b, uint32_t part)
{
	const struct build_part *root = &b->parts.at[find_set(b, part)];
	return !(root->flags & PART_FRAGMENT) &&
	       (root->flags & PART_CALLED || rankmap_has(&b->taken, root->addr - b->text_addr));
}

/* Joins a part whose first bytes are padding, so that it looks like an entry: nothing names it, and
 * a function jumps into its middle. */
static void join_entered_inside(struct builder *b, uint32_t from, uint32_t to, uint64_t target)
{
	struct build_part *p = &b->parts.at[to];
	if (p->flags & (PART_FRAGMENT | PART_CALLED | PART_SIGNAL) || p->fde == PUGMARK_NONE ||
	    target == p->addr || rankmap_has(&b->taken, p->addr - b->text_addr) ||
	    !has_entry(b, from))
		return;
	p->flags |= PART_FRAGMENT;
	join(b, from, to);
}

static int join_parts(struct builder *b)
{
	uint32_t n;
	const struct elf_landing *landings = elf_image_landings(b->image, &n);
	for (uint32_t i = 0; i < b->crossings.n; i++) {
		struct cross_jump *jump = &b->crossings.at[i];
		bool middle = jump->target != b->parts.at[jump->to].addr;
		if (is_fragment(b, jump->to) || (is_fragment(b, jump->from) && middle))
			join(b, jump->from, jump->to);
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t from = builder_part_at(b, landings[i].addr);
		uint32_t to = builder_part_at(b, landings[i].pad);
		if (from == PUGMARK_NONE || to == PUGMARK_NONE || from == to)
			continue;
		join(b, from, to);
		join_entered_inside(b, from, to, landings[i].pad);
	}
	for (uint32_t i = 0; i < b->crossings.n; i++)
		join_entered_inside(b, b->crossings.at[i].from, b->crossings.at[i].to,
				    b->crossings.at[i].target);
	int err = group_crossings(b);
	if (!err)
		join_frameless(b);
	return err;
}

/* Splits functions wherever a jump still leads into the middle of another one, if the frame on both
 * sides is an entry's or may be (assembly that keeps its frame elsewhere, or whose frame is not
 * described). */
static int split_at_crossings(struct builder *b)
{
	for (uint32_t i = 0; i < b->crossings.n; i++) {
		struct cross_jump *jump = &b->crossings.at[i];
		if (jump->target == b->parts.at[jump->to].addr ||
		    find_set(b, jump->from) == find_set(b, jump->to))
			continue;
		struct pugmark_cfa to = builder_cfa_at(b, jump->target);
		struct pugmark_cfa from = builder_cfa_at(b, jump->site);
		bool to_ok = cfa_is_entry(to) || to.reg == PUGMARK_CFA_UNKNOWN;
		bool from_ok = cfa_is_entry(from) || from.reg == PUGMARK_CFA_UNKNOWN;
		if (!to_ok || !from_ok)
			continue;
		/* Not before tables are known: they may yet show that this part is a fragment. */
		b->has_loose_ends = true;
		if (b->tables_known && request_split(b, jump->target))
			return -ENOMEM;
	}
	return 0;
}

static int group_parts(struct builder *b)
{
	b->funcs.n = b->func_parts.n = 0;
	for (uint32_t i = 0; i < b->parts.n; i++) {
		struct build_part *p = &b->parts.at[i];
		if (find_set(b, i) != i)
			continue;
		struct pugmark_func func = {.addr = p->addr};
		if (p->fde == PUGMARK_NONE)
			func.flags |= PUGMARK_FUNC_NO_CFI;
		if (p->flags & PART_SIGNAL)
			func.flags |= PUGMARK_FUNC_SIGNAL_FRAME;
		p->func = b->funcs.n;
		if (!VEC_PUSH(&b->funcs, func))
			return -ENOMEM;
	}
	ADDR_INDEX_MAKE(&b->func_index, b->funcs.n, i, b->funcs.at[i].addr);
	for (uint32_t i = 0; i < b->parts.n; i++) {
		struct build_part *p = &b->parts.at[i];
		p->func = b->parts.at[find_set(b, i)].func;
		b->funcs.at[p->func].n_parts++;
		b->funcs.at[p->func].size += p->end - p->addr;
	}
	if (!VEC_RESERVE(&b->func_parts, b->parts.n))
		return -ENOMEM;
	uint32_t sum = 0;
	for (uint32_t i = 0; i < b->funcs.n; i++) {
		b->funcs.at[i].part = sum;
		sum += b->funcs.at[i].n_parts;
		b->funcs.at[i].n_parts = 1; /* the slot of the entry's part; the rest count up */
	}
	b->func_parts.n = sum;
	for (uint32_t i = 0; i < b->parts.n; i++) {
		struct pugmark_func *func = &b->funcs.at[b->parts.at[i].func];
		uint32_t slot = b->parts.at[i].set == i ? 0 : func->n_parts++;
		b->func_parts.at[func->part + slot] = i;
	}
	return 0;
}

int func_parts_find(struct builder *b)
{
	int err = split_at_symbols(b);
	b->has_loose_ends = false;
	for (int round = 0; round < MAX_ROUNDS && !err; round++) {
		uint32_t n_splits = b->split_starts.n;
		err = make_parts(b);
		if (err)
			break;
		ADDR_INDEX_MAKE(&b->part_index, b->parts.n, i, b->parts.at[i].addr);
		mark_named(b);
		err = scan_transfers(b);
		if (err)
			break;
		mark_fragments(b);
		err = join_parts(b);
		if (err)
			break;
		err = split_at_crossings(b);
		b->split_starts.n = sort_unique(b->split_starts.at, b->split_starts.n);
		if (b->split_starts.n == n_splits)
			break;
	}
	return err ? err : group_parts(b);
}

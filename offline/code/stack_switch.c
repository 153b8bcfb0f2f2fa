// SPDX-License-Identifier: LGPL-2.1-or-later
/* stack_switch.c: functions that go on on another stack, and the calls that may come back on one.
 * swapcontext() and its like are known by name (elf_libc.c). A switch written by hand is known by
 * its code: it takes the stack pointer from one of its arguments, or from memory that one points to
 * or that is global or the thread's, where compilers only ever set it from the frame itself (alloca
 * and arrays of a variable length). What jumps to such a function switches
 * as well; and where the address of one is taken, any indirect call may. */
#include "offline/code/stack_switch.h"

#include "offline/code/builder.h"
#include "offline/code/receivers.h"
#include "offline/code/semantics.h"

#include <errno.h>
#include <string.h>

/* rcx, rdx, rsi, rdi, r8, r9: where the System V ABI passes arguments. */
#define ARGUMENTS 0x03c6
/* rax, rbx, r11 to r15: other calling conventions keep a thread's own data in these (Go in r14).
 * Not r10: a function may find its frame by it. */
#define OTHERS 0xf809
#define SLOTS_MAX 32 /* words of a frame that are followed */

/* mov, lea (unless its base is rsp) and xchg, with a REX.W prefix, that write rsp. */
bool stack_switch_may_load(const uint8_t *bytes, uint8_t len_bytes)
{
	if (len_bytes < 3 || (bytes[0] & 0xf8) != 0x48)
		return false;
	uint8_t rex = bytes[0], modrm = bytes[2];
	bool is_reg = modrm >> 6 == 3;
	bool reg_is_sp = (modrm >> 3 & 7) == REG_SP && !(rex & 4);
	bool rm_is_sp = is_reg && (modrm & 7) == REG_SP && !(rex & 1);
	bool by_sp = (modrm & 7) == 4 && len_bytes > 3 && (bytes[3] & 7) == REG_SP && !(rex & 1);
	switch (bytes[1]) {
	case 0x8b:
		return reg_is_sp;
	case 0x8d:
		return reg_is_sp && !by_sp;
	case 0x89:
		return rm_is_sp;
	case 0x87:
		return reg_is_sp || rm_is_sp;
	default:
		return false;
	}
}

/* Whether the instruction loads rsp from memory that is in no frame of this function. */
static bool loads_elsewhere(const uint8_t *bytes, uint8_t len_bytes)
{
	if (!stack_switch_may_load(bytes, len_bytes) || bytes[1] != 0x8b || bytes[2] >> 6 == 3)
		return false;
	uint8_t base = bytes[2] & 7, mod = bytes[2] >> 6;
	if (base == 4)
		base = len_bytes > 3 ? bytes[3] & 7 : REG_SP;
	bool own = base == REG_SP || (base == REG_BP && mod);
	return bytes[0] & 1 || !own;
}

bool stack_switch_may_take(const uint8_t *bytes, uint8_t len_bytes)
{
	uint8_t from = (uint8_t)((bytes[2] >> 3 & 7) | (bytes[0] & 4) << 1);
	return loads_elsewhere(bytes, len_bytes) ||
	       (stack_switch_may_load(bytes, len_bytes) &&
		(bytes[1] == 0x87 || (bytes[1] == 0x89 && ARGUMENTS >> from & 1)));
}

bool stack_switch_may_keep(const uint8_t *bytes, uint8_t len_bytes)
{
	if (len_bytes == 1)
		return bytes[0] == 0x54; /* push */
	if (len_bytes < 3 || (bytes[0] & 0xf8) != 0x48 || bytes[1] != 0x89)
		return false;
	bool from_sp = (bytes[2] >> 3 & 7) == REG_SP && !(bytes[0] & 4);
	return from_sp && !(bytes[2] >> 6 == 3 && (bytes[2] & 7) == REG_BP && !(bytes[0] & 1));
}

/* Whether an instruction of @func takes the address of a place in the middle of it, where another
 * activation may come back to; *@keeps: or copies rsp. */
static bool makes_label(struct builder *b, uint32_t func, bool *keeps)
{
	const struct pugmark_func *f = &b->funcs.at[func];
	bool label = false;
	*keeps = false;
	for (uint32_t k = f->part; k < f->part + f->n_parts && !label; k++) {
		const struct build_part *part = &b->parts.at[b->func_parts.at[k]];
		uint32_t end = insn_at(b, part->end);
		for (uint32_t i = insn_at(b, part->addr); i < end && !label; i++) {
			uint64_t addr = receivers_pointer_made(b, i);
			uint32_t to =
				addr && in_text(b, addr) ? builder_part_at(b, addr) : PUGMARK_NONE;
			label = to != PUGMARK_NONE && b->parts.at[to].func == func &&
				addr != f->addr;
			*keeps |=
				stack_switch_may_keep(builder_insn_bytes(b, i), b->insns.at[i].len);
		}
	}
	return label;
}

/* Whether an instruction from @first to @last makes a pointer of a place in the middle of a
 * function other than @func. */
static bool names_label_of_another(struct builder *b, uint32_t func, uint32_t first, uint32_t last)
{
	for (uint32_t i = first; i < last; i++) {
		uint64_t addr = receivers_pointer_made(b, i);
		uint32_t part = addr && in_text(b, addr) ? builder_part_at(b, addr) : PUGMARK_NONE;
		uint32_t to = part == PUGMARK_NONE ? func : b->parts.at[part].func;
		if (to != func && addr != b->funcs.at[to].addr)
			return true;
	}
	return false;
}

bool stack_switch_comes_back(struct builder *b, uint32_t first, uint32_t label)
{
	bool names = false, keeps = false, loads = false;
	if (label <= first || !insn_leaves(&b->insns.at[label - 1]))
		return false;
	for (uint32_t i = first; i < label; i++) {
		const uint8_t *bytes = builder_insn_bytes(b, i);
		names |= receivers_pointer_made(b, i) == insn_addr(b, label);
		keeps |= stack_switch_may_keep(bytes, b->insns.at[i].len);
		loads |= stack_switch_may_load(bytes, b->insns.at[i].len);
	}
	return names && keeps && loads;
}

/* Whether instructions @i and @i + 1 copy registers to rsp and rbp: glibc's longjmp does so with
 * what it has unmangled. */
static bool loads_both(const struct builder *b, uint32_t i)
{
	const uint8_t *sp = builder_insn_bytes(b, i), *bp = builder_insn_bytes(b, i + 1);
	if (sp[0] == 0x48 && sp[2] == 0xec) /* the end of a frame */
		return false;
	return b->insns.at[i].len == 3 && b->insns.at[i + 1].len == 3 && (sp[0] & 0xfb) == 0x48 &&
	       sp[1] == 0x89 && (sp[2] & 0xc7) == 0xc4 && (bp[0] & 0xfb) == 0x48 && bp[1] == 0x89 &&
	       (bp[2] & 0xc7) == 0xc5;
}

/* Whether instructions @i and @i + 1 load rsp from a place in memory and pop into that place: OCaml
 * leaves the innermost handler for good so, and the one before becomes the innermost. */
static bool pops_handler(const struct builder *b, uint32_t i)
{
	const uint8_t *load = builder_insn_bytes(b, i), *pop = builder_insn_bytes(b, i + 1);
	uint8_t len = b->insns.at[i].len, rex = 0x40 | (load[0] & 3);
	if (!loads_elsewhere(load, len))
		return false;
	bool has_rex = rex != 0x40;
	return b->insns.at[i + 1].len + !has_rex == len && (!has_rex || pop[0] == rex) &&
	       pop[has_rex] == 0x8f && pop[has_rex + 1] == (load[2] & 0xc7) &&
	       !memcmp(pop + has_rex + 2, load + 3, len - 3);
}

/* Whether the code from @first to its end @last raises an exception as OCaml does. */
static bool raises(const struct builder *b, uint32_t first, uint32_t last)
{
	for (uint32_t i = first; i + 1 < last; i++)
		if (pops_handler(b, i))
			return true;
	return false;
}

/* Whether the code from @first to its end @last leaves for a landing pad, as gcc's unwinder does
 * (__builtin_eh_return): rsp is copied from rcx, and what is there then popped and jumped to. */
static bool leaves_for_pad(const struct builder *b, uint32_t first, uint32_t last)
{
	static const uint8_t mov_pop[] = {0x48, 0x89, 0xcc, 0x59}, jump[] = {0xff, 0xe1};
	if (last < first + 2 || b->insns.at[last].len != sizeof(jump) ||
	    memcmp(builder_insn_bytes(b, last), jump, sizeof(jump)))
		return false;
	const struct pugmark_insn *pop = &b->insns.at[last - 1], *mov = &b->insns.at[last - 2];
	return pop->len == 1 && mov->len == 3 &&
	       !memcmp(builder_insn_bytes(b, last - 2), mov_pop, sizeof(mov_pop));
}

bool stack_switch_is_final(struct builder *b, uint32_t func, uint32_t first, uint32_t last)
{
	if (raises(b, first, last) || leaves_for_pad(b, first, last))
		return true;
	bool leaves = false, keeps;
	for (uint32_t i = first; i < last && !leaves; i++)
		leaves = loads_elsewhere(builder_insn_bytes(b, i), b->insns.at[i].len) ||
			 (i + 1 < last && loads_both(b, i));
	return leaves && (makes_label(b, func, &keeps) ||
			  (b->insns.at[last].kind == PUGMARK_INSN_JMP_IND &&
			   (!keeps || names_label_of_another(b, func, first, last))));
}

/* The registers and words of the frame that hold arguments, or what was reached through
 * arguments. */
struct held {
	uint16_t regs;	/* a bit each */
	uint16_t entry; /* registers that still have their value of the entry, which may be the
			   thread's own data */
	uint8_t n_slots;
	struct slot {
		uint8_t base;
		int64_t disp;
	} slots[SLOTS_MAX];
};

static bool in_frame(const struct sem *sem)
{
	return (sem->base == REG_SP || sem->base == REG_BP) && sem->index == REG_NONE;
}

static struct slot *slot_of(struct held *h, const struct sem *sem)
{
	for (uint8_t i = 0; i < h->n_slots; i++)
		if (h->slots[i].base == sem->base && h->slots[i].disp == sem->disp)
			return &h->slots[i];
	return NULL;
}

static void store(struct held *h, const struct sem *sem)
{
	struct slot *slot = slot_of(h, sem);
	bool is_held = sem->size == 8 && sem->src < 16 && h->regs >> sem->src & 1;
	if (slot && !is_held)
		*slot = h->slots[--h->n_slots];
	else if (!slot && is_held && h->n_slots < SLOTS_MAX)
		h->slots[h->n_slots++] = (struct slot){sem->base, sem->disp};
}

static void forget_slots(struct held *h, uint8_t base)
{
	for (uint8_t i = h->n_slots; i-- > 0;)
		if (h->slots[i].base == base)
			h->slots[i] = h->slots[--h->n_slots];
}

/* After @sem. */
static void step(struct held *h, const struct sem *sem)
{
	bool keeps = false, other = false;
	bool entry = sem->op == SEM_COPY && sem->size == 8 && h->entry >> sem->src & 1;
	switch (sem->op) {
	case SEM_EXCHANGE:
		other = sem->size == 8 && h->regs >> sem->dst & 1;
		keeps = sem->size == 8 && h->regs >> sem->src & 1;
		break;
	case SEM_COPY:
		keeps = sem->size == 8 && h->regs >> sem->src & 1;
		break;
	case SEM_LOAD:
		keeps = sem->size == 8 &&
			(in_frame(sem) && !(h->regs >> sem->base & 1) ? slot_of(h, sem) != NULL
			 : sem->base == REG_NONE		      ? sem->index == REG_NONE
						 : (h->regs | h->entry) >> sem->base & 1);
		break;
	case SEM_LOAD_THREAD:
		keeps = sem->size == 8;
		break;
	case SEM_LEA:
		keeps = sem->base != REG_NONE && h->regs >> sem->base & 1;
		break;
	case SEM_ADD_IMM:
		keeps = h->regs >> sem->dst & 1;
		break;
	case SEM_STORE:
		if (in_frame(sem))
			store(h, sem);
		break;
	default:
		break;
	}
	h->regs &= ~sem->writes;
	h->entry &= ~sem->writes;
	if (keeps && sem->dst < 16)
		h->regs |= 1 << sem->dst;
	if (entry && sem->dst < 16)
		h->entry |= 1 << sem->dst;
	if (other)
		h->regs |= 1 << sem->src;
	if (sem_writes(sem, REG_SP) && sem->op != SEM_CALL)
		forget_slots(h, REG_SP);
	if (sem_writes(sem, REG_BP))
		forget_slots(h, REG_BP);
}

/* What is held on both of two ways. */
static bool meet(struct held *into, const struct held *other)
{
	struct held both = {.regs = into->regs & other->regs, .entry = into->entry & other->entry};
	for (uint8_t i = 0; i < into->n_slots; i++)
		for (uint8_t k = 0; k < other->n_slots; k++)
			if (into->slots[i].base == other->slots[k].base &&
			    into->slots[i].disp == other->slots[k].disp)
				both.slots[both.n_slots++] = into->slots[i];
	bool less = both.regs != into->regs || both.entry != into->entry ||
		    both.n_slots != into->n_slots;
	*into = both;
	return less;
}

/* One function's blocks, and for each what is held where it begins. */
struct search {
	struct builder *b;
	ZydisDecoder decoder;
	const struct pugmark_func *func;
	struct held *in;
	bool *reached, *queued;
	uint32_t *todo, n_todo;
};

/* Follows what is held through block @index; returns whether an instruction takes the stack pointer
 * from elsewhere. */
static bool walk(const struct search *s, uint32_t index, struct held *held)
{
	const struct pugmark_block *block = &s->b->blocks.at[index];
	*held = s->in[index - s->func->block];
	for (uint32_t i = block->insn; i < block->insn + block->n_insns; i++) {
		struct sem sem;
		if (!sem_decode(&s->decoder, builder_insn_bytes(s->b, i), s->b->insns.at[i].len,
				insn_addr(s->b, i), &sem)) {
			*held = (struct held){0};
			continue;
		}
		step(held, &sem);
		if (held->regs >> REG_SP & 1)
			return true;
	}
	return false;
}

static void flow_into(struct search *s, uint32_t index, const struct held *held)
{
	uint32_t at = index - s->func->block;
	bool grew = !s->reached[at];
	if (grew)
		s->in[at] = *held;
	else
		grew = meet(&s->in[at], held);
	s->reached[at] = true;
	if (!grew || s->queued[at])
		return;
	s->queued[at] = true;
	s->todo[s->n_todo++] = index;
}

/* The least fixpoint: what is held only shrinks, so what is left in the end holds on every path. */
static bool switches(struct search *s)
{
	const struct pugmark_func *f = s->func;
	struct held held = {.regs = ARGUMENTS, .entry = OTHERS};
	/* Some activation comes back behind such a jump: the function returns on its own stack. */
	bool back = receivers_are_in(s->b, f);
	flow_into(s, f->block, &held);
	while (s->n_todo) {
		uint32_t index = s->todo[--s->n_todo];
		const struct pugmark_block *block = &s->b->blocks.at[index];
		s->queued[index - f->block] = false;
		walk(s, index, &held);
		for (uint32_t i = block->edge; i < block->edge + block->n_edges; i++)
			flow_into(s, s->b->edges.at[i].to, &held);
	}
	for (uint32_t i = 0; i < f->n_blocks; i++) {
		const struct pugmark_block *block = &s->b->blocks.at[f->block + i];
		bool final = block_leaves(block, s->b->insns.at);
		uint32_t last = block->insn + block->n_insns - 1;
		if (!s->reached[i] || (final && (back || raises(s->b, block->insn, last))))
			continue;
		if (walk(s, f->block + i, &held))
			return true;
	}
	return false;
}

/* Whether it copies rbp to rsp where call frame information says that rbp points into the frame:
 * functions do so that return from a frame of variable size. */
static bool frees_frame(const struct builder *b, uint32_t i)
{
	const uint8_t *bytes = builder_insn_bytes(b, i);
	bool lea = bytes[1] == 0x8d && (bytes[2] & 7) == REG_BP && bytes[2] >> 6;
	bool mov = bytes[1] == 0x89 && (bytes[2] >> 3 & 7) == REG_BP;
	bool is_bp = (lea && !(bytes[0] & 1)) || (mov && !(bytes[0] & 4));
	return is_bp && builder_cfa_at(b, insn_addr(b, i)).reg == PUGMARK_CFA_BP;
}

/* Whether some instruction of the function may be a switch: only then the function is searched. */
static bool may_switch(const struct builder *b, const struct pugmark_func *f)
{
	for (uint32_t k = f->block; k < f->block + f->n_blocks; k++) {
		const struct pugmark_block *block = &b->blocks.at[k];
		for (uint32_t i = block->insn; i < block->insn + block->n_insns; i++)
			if (stack_switch_may_load(builder_insn_bytes(b, i), b->insns.at[i].len) &&
			    !frees_frame(b, i))
				return true;
	}
	return false;
}

static int find_written_by_hand(struct builder *b)
{
	int err = 0;
	struct search s = {.b = b};
	sem_decoder_init(&s.decoder);
	for (uint32_t i = 0; i < b->funcs.n && !err; i++) {
		struct pugmark_func *f = &b->funcs.at[i];
		if (!may_switch(b, f))
			continue;
		s.func = f;
		s.in = calloc(f->n_blocks, sizeof(*s.in));
		s.reached = calloc(f->n_blocks, sizeof(*s.reached));
		s.queued = calloc(f->n_blocks, sizeof(*s.queued));
		s.todo = calloc(f->n_blocks, sizeof(*s.todo));
		err = s.in && s.reached && s.queued && s.todo ? 0 : -ENOMEM;
		if (!err && switches(&s))
			f->flags |= PUGMARK_FUNC_SWITCHES;
		free(s.in);
		free(s.reached);
		free(s.queued);
		free(s.todo);
	}
	return err;
}

/* Marks where the call returns to as a place that may be reached on another stack; also where no
 * path leads there: what is called may keep its return address for somebody else to jump to. */
static void mark_call(struct builder *b, struct pugmark_site *site)
{
	const struct pugmark_func *f = &b->funcs.at[site->func];
	site->flags |= PUGMARK_SITE_SWITCHES;
	for (uint32_t i = f->block; site->kind == PUGMARK_SITE_CALL && i < f->block + f->n_blocks;
	     i++)
		if (b->blocks.at[i].addr == site->return_addr)
			b->blocks.at[i].flags |= PUGMARK_BLOCK_SETJMP_RETURN;
}

/* What such blocks lead to is reached. */
static int mark_reached(struct builder *b)
{
	uint32_t *stack = malloc(((size_t)b->blocks.n + 1) * sizeof(*stack));
	if (!stack)
		return -ENOMEM;
	for (uint32_t i = 0; i < b->funcs.n; i++) {
		const struct pugmark_func *f = &b->funcs.at[i];
		bool any = false;
		for (uint32_t k = f->block; k < f->block + f->n_blocks; k++)
			any |= b->blocks.at[k].flags & PUGMARK_BLOCK_SETJMP_RETURN &&
			       b->blocks.at[k].flags & PUGMARK_BLOCK_UNREACHED;
		if (any)
			builder_mark_reached(b->blocks.at + f->block, f->n_blocks, b->edges.at,
					     f->block, stack);
	}
	free(stack);
	return 0;
}

int stack_switch_solve(struct builder *b)
{
	uint8_t *jumps = calloc((size_t)b->funcs.n + 1, 1); /* to one that switches */
	if (!jumps)
		return -ENOMEM;
	bool taken = false, grew = true;
	int err = find_written_by_hand(b);
	for (uint32_t f = 0; f < b->funcs.n; f++) {
		jumps[f] = !!(b->funcs.at[f].flags & PUGMARK_FUNC_SWITCHES);
		taken |= jumps[f] && b->funcs.at[f].flags & PUGMARK_FUNC_ADDRESS_TAKEN;
	}
	while (grew) {
		grew = false;
		for (uint32_t i = 0; i < b->sites.n; i++) {
			struct pugmark_site *site = &b->sites.at[i];
			uint32_t callee = site->target;
			if (site->via == PUGMARK_VIA_INDIRECT)
				callee = builder_known_func(b, insn_at(b, site->addr));
			bool to = site->flags & PUGMARK_SITE_SWITCHES ||
				  (callee != PUGMARK_NONE && jumps[callee]) ||
				  (site->via == PUGMARK_VIA_INDIRECT && taken);
			if (!to)
				continue;
			mark_call(b, site);
			grew |= site->kind == PUGMARK_SITE_TAIL && !jumps[site->func];
			jumps[site->func] |= site->kind == PUGMARK_SITE_TAIL;
		}
	}
	free(jumps);
	return err ? err : mark_reached(b);
}

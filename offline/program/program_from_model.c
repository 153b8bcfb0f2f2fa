// SPDX-License-Identifier: LGPL-2.1-or-later
/* program_from_model.c: the program of a binary. Blocks map one to one, but for these. A jump that
 * leaves the function on one of its ways gets a block of its own for that way ("virtual"). A call
 * at an unknown height is split off from its block: its event tells its callee's frame, and another
 * event may have to tell its own. What is behind a system call is split off as well. */
#include "offline/program/program_maker.h"

#include "offline/code/receivers.h"
#include "offline/code/stack_switch.h"
#include "offline/program/branch_odds.h"
#include "offline/program/foreign_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS_MAX (1u << 28) /* so many successors of one can be counted */

static struct prog_block *add_block(struct maker *m, struct prog_block block)
{
	struct program *p = m->p;
	if (p->n_blocks == m->cap_blocks) {
		uint32_t cap = m->cap_blocks ? 2 * m->cap_blocks : 1024;
		struct prog_block *blocks =
			cap <= BLOCKS_MAX ? realloc(p->blocks, cap * sizeof(*blocks)) : NULL;
		if (!blocks) {
			m->failed = true;
			return &p->blocks[p->n_blocks - 1];
		}
		p->blocks = blocks;
		m->cap_blocks = cap;
	}
	p->blocks[p->n_blocks] = block;
	return &p->blocks[p->n_blocks++];
}

static void add_succ(struct maker *m, struct prog_block *b, uint32_t to)
{
	struct program *p = m->p;
	if (p->n_succs == m->cap_succs) {
		uint32_t cap = m->cap_succs ? 2 * m->cap_succs : 1024;
		uint32_t *succs = realloc(p->succs, cap * sizeof(*succs));
		if (!succs) {
			m->failed = true;
			return;
		}
		p->succs = succs;
		m->cap_succs = cap;
	}
	p->succs[p->n_succs++] = to;
	b->n_succ++;
}

/* Whether what is before the call or jump at the end of @block is to be a block of its own. @reads:
 * what is read where it begins; @timed_exit: when it ends is to show. */
static bool needs_split(const struct maker *m, const struct pugmark_block *block, uint8_t reads,
			bool timed_exit)
{
	if (block->site == PUGMARK_NONE || block->n_insns < 2)
		return false;
	const struct pugmark_site *s = &m->model->sites[block->site];
	bool hides_height = s->kind == PUGMARK_SITE_CALL && s->height == PUGMARK_HEIGHT_UNKNOWN;
	/* A return that jumps: the word that it was pushed over was the return address. */
	bool hides_return =
		m->model->insns[block->insn + block->n_insns - 1].kind == PUGMARK_INSN_RET;
	bool shows_both = reads && (timed_exit || maker_reads_at_call(m, block->site));
	return hides_height || hides_return || shows_both;
}

static struct prog_block blank(uint32_t func, uint64_t addr)
{
	return (struct prog_block){
		.func = func,
		.addr = addr,
		.origin = PUGMARK_NONE,
		.site = PUGMARK_NONE,
		.height = PUGMARK_HEIGHT_UNKNOWN,
		.freq = 1,
		.any = MAKER_NO_PROBE,
		.last = MAKER_NO_PROBE,
	};
}

/* Whether @func continues on another stack by such a jump, and somebody comes back behind it. */
static bool leaves_by_jump(const struct maker *m, const struct pugmark_func *f)
{
	bool leaves = false, comes_back = false;
	for (uint32_t i = f->block; i < f->block + f->n_blocks; i++) {
		leaves |= block_leaves(&m->model->blocks[i], m->model->insns);
		comes_back |= block_is_receiver(&m->model->blocks[i]);
	}
	return leaves && comes_back;
}

/* Whether @func leaves the stack that it was called on and does nothing else. */
static bool switches_in_silence(const struct maker *m, uint32_t func)
{
	const struct pugmark_func *f = &m->model->funcs[func];
	for (uint32_t i = f->site; i < f->site + f->n_sites; i++)
		if (m->model->sites[i].kind == PUGMARK_SITE_CALL)
			return false;
	return f->flags & PUGMARK_FUNC_SWITCHES;
}

/* What follows the switch runs on the other stack, where the function's own frame is not: only what
 * is before the switch can be probed. Whatever happens there, the function returns to its caller on
 * this stack. */
static void leave_stack(const struct maker *m, const struct pugmark_block *block, bool entry,
			struct prog_block *b)
{
	b->any = maker_cheapest_in_frame(m, block, entry ? maker_count_on_stack(m, block) : 0);
	b->last = MAKER_NO_PROBE;
	if (b->flags & PROG_OPEN || block->end == PUGMARK_END_TAIL)
		b->flags = (b->flags & ~PROG_OPEN) | PROG_RET;
}

/* How many instructions @block has up to and with its first system call; 0: it has none, or nothing
 * follows it. */
static uint32_t up_to_system_call(const struct maker *m, const struct pugmark_block *block)
{
	for (uint32_t i = 0; i + 1 < block->n_insns; i++) {
		const struct pugmark_insn *insn = &m->model->insns[block->insn + i];
		if (insn->len != 2)
			continue;
		size_t len;
		const uint8_t *bytes =
			pugmark_model_bytes(m->model, m->model->text_addr + insn->off, &len);
		if (bytes && len >= 2 && bytes[0] == 0x0f && bytes[1] == 0x05)
			return i + 1;
	}
	return 0;
}

/* Whether @block begins where a call of setjmp returns to. getcontext, vfork and others return
 * twice in another way. */
static bool is_behind_setjmp(const struct maker *m, const struct pugmark_block *block,
			     uint32_t index)
{
	static const char *const names[] = {"__sigsetjmp", "_setjmp", "setjmp", "sigsetjmp"};
	const struct pugmark_block *before = index ? &m->model->blocks[index - 1] : NULL;

	if (!(block->flags & PUGMARK_BLOCK_SETJMP_RETURN) || !before ||
	    block->flags & (PUGMARK_BLOCK_LANDING_PAD | PUGMARK_BLOCK_ADDRESS_TAKEN) ||
	    before->func != block->func || before->addr + before->size != block->addr ||
	    before->end != PUGMARK_END_CALL || before->site == PUGMARK_NONE)
		return false;
	const struct pugmark_site *site = &m->model->sites[before->site];
	if (site->import == PUGMARK_NONE || site->flags & PUGMARK_SITE_SWITCHES)
		return false;
	const char *name = m->model->imports[site->import].name;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* A block of the program for the first @n instructions of @block, if one of them can be probed. */
static struct prog_block begin_block(const struct maker *m, const struct pugmark_block *block,
				     uint32_t index, uint32_t n, bool entry, uint8_t reads)
{
	struct prog_block b = blank(block->func, block->addr);
	bool root = block->flags & (PUGMARK_BLOCK_LANDING_PAD | PUGMARK_BLOCK_SETJMP_RETURN);
	b.origin = index;
	if (reads) {
		n = maker_count_intact(m, block, n, reads);
		b.flags |= PROG_READ;
		b.reads = reads;
	}
	b.any = entry || root ? maker_cheapest_in_frame(m, block, n) : maker_cheapest(m, block, n);
	if (root)
		b.flags |= PROG_ROOT;
	if (root && is_behind_setjmp(m, block, index))
		b.flags |= PROG_SETJMP |
			   (maker_count_intact(m, block, n, PUGMARK_READS_RESULT) == n ? PROG_AGAIN
										       : 0);
	return b;
}

/* A system call may come back twice (in a child as well) or not at all, and signals come in it. So
 * what is behind each one in @block becomes a block of its own; @block is left with what is behind
 * the last. Returns whether there was one. */
static bool split_at_system_calls(struct maker *m, struct pugmark_block *block, uint32_t index,
				  bool entry)
{
	uint32_t n, first = m->p->n_blocks;
	while ((n = up_to_system_call(m, block))) {
		bool is_first = m->p->n_blocks == first;
		struct prog_block b = begin_block(m, block, index, n, entry && is_first,
						  is_first ? m->reads[index] : 0);
		if (!isfinite(b.any.cost_ns))
			break;
		add_block(m, b);
		uint64_t addr = m->model->text_addr + m->model->insns[block->insn + n].off;
		block->size -= addr - block->addr;
		block->addr = addr;
		block->insn += n;
		block->n_insns -= n;
		block->flags &= ~(PUGMARK_BLOCK_LANDING_PAD | PUGMARK_BLOCK_SETJMP_RETURN);
	}
	return m->p->n_blocks != first;
}

/* Adds @b, which ends with a return, as what is before that. Returns the block of the return. */
static struct prog_block split_return(struct maker *m, const struct pugmark_block *block,
				      uint32_t index, struct prog_block b)
{
	const struct pugmark_insn *last = &m->model->insns[block->insn + block->n_insns - 1];
	struct prog_block ret = blank(b.func, block->addr + block->size - last->len);
	ret.origin = index;
	ret.flags = PROG_RET;
	ret.any = ret.last = b.last;
	b.flags &= ~PROG_RET;
	b.last = MAKER_NO_PROBE;
	add_block(m, b);
	return ret;
}

/* The blocks of the program for block @index of the model; their edges come later. */
static void make_block(struct maker *m, uint32_t func, uint32_t index, bool entry)
{
	struct pugmark_block rest = m->model->blocks[index];
	const struct pugmark_block *block = &rest;
	uint8_t reads = m->reads[index];
	if (m->resumed[index])
		rest.flags |= PUGMARK_BLOCK_SETJMP_RETURN;
	m->first_of[index] = m->p->n_blocks;
	if (!switches_in_silence(m, func) && split_at_system_calls(m, &rest, index, entry)) {
		entry = false;
		reads = 0;
	}
	uint32_t n_any =
		reads ? maker_count_intact(m, block, block->n_insns, reads) : block->n_insns;
	struct prog_block b = begin_block(m, block, index, block->n_insns, entry, reads);
	const struct pugmark_insn *last = &m->model->insns[block->insn + block->n_insns - 1];
	bool falls = block->end == PUGMARK_END_TAIL &&
		     m->model->sites[block->site].flags & PUGMARK_SITE_FALLS;
	if (block->n_insns && !falls)
		b.last = maker_probe(m, last);
	if (block->end == PUGMARK_END_RET)
		b.flags |= PROG_RET;
	if (block->end == PUGMARK_END_OPEN)
		b.flags |= PROG_OPEN;
	bool whole = block->end == PUGMARK_END_CALL || block->end == PUGMARK_END_NORETURN ||
		     block->end == PUGMARK_END_TAIL;
	if (block_leaves(block, m->model->insns)) {
		b.any = maker_cheapest_in_frame(m, block, maker_count_on_stack(m, block));
		b.last = MAKER_NO_PROBE;
		b.flags |= PROG_NORETURN;
	} else if (switches_in_silence(m, func)) {
		leave_stack(m, block, entry, &b);
		if (entry && b.flags & PROG_RET) /* to enter it is not to return yet */
			b = split_return(m, block, index, b);
		add_block(m, b);
		return;
	}
	bool timed_exit = maker_is_timed_exit(m, func, block);
	if (timed_exit && (entry || reads) && b.flags & PROG_RET && block->n_insns > 1) {
		uint32_t before = n_any < block->n_insns ? n_any : block->n_insns - 1;
		b.any = entry ? maker_cheapest_in_frame(m, block, before)
			      : maker_cheapest(m, block, before);
		b = split_return(m, block, index, b);
	}
	if (whole && block->site != PUGMARK_NONE) {
		if (needs_split(m, block, reads, timed_exit)) {
			b.last = MAKER_NO_PROBE;
			if (n_any == block->n_insns)
				n_any--;
			b.any = maker_cheapest_in_frame(m, block, n_any);
			add_block(m, b);
			b = blank(func, m->model->sites[block->site].addr);
			b.origin = index;
			b.any = b.last = maker_probe(m, last);
		}
		maker_describe_call(m, block->site, &b);
		if (!(b.flags & PROG_READ) && maker_reads_at_call(m, block->site)) {
			b.flags |= PROG_READ_CALL;
			b.reads = maker_reads_at_call(m, block->site) | PUGMARK_READS_CALL;
		}
	}
	if (timed_exit) {
		b.flags |= PROG_READ_CALL;
		b.reads |= PUGMARK_READS_TIME;
	}
	add_block(m, b);
}

/* The tail call that the jump at the end of a block makes on one of its ways. */
static uint32_t add_virtual(struct maker *m, uint32_t func, uint32_t site)
{
	struct prog_block b = blank(func, m->model->sites[site].addr);
	b.flags |= PROG_VIRTUAL;
	maker_describe_call(m, site, &b);
	b.flags |= PROG_TAIL;
	b.height = 0;
	add_block(m, b);
	return m->p->n_blocks - 1;
}

static void connect_branch(struct maker *m, uint32_t func, uint32_t index, uint32_t at)
{
	const struct pugmark_block *block = &m->model->blocks[index];
	uint32_t fall = PUGMARK_NONE, taken = PUGMARK_NONE;
	for (uint32_t i = block->edge; i < block->edge + block->n_edges; i++) {
		const struct pugmark_edge *e = &m->model->edges[i];
		if (e->kind == PUGMARK_EDGE_TAKEN)
			taken = m->first_of[e->to];
		else if (e->kind == PUGMARK_EDGE_FALL)
			fall = m->first_of[e->to];
	}
	uint32_t n_sites = block->site == PUGMARK_NONE		    ? 0
			   : block->flags & PUGMARK_BLOCK_TWO_SITES ? 2
								    : 1;
	for (uint32_t i = block->site; n_sites; i++, n_sites--) {
		uint32_t leave = add_virtual(m, func, i);
		*(m->model->sites[i].flags & PUGMARK_SITE_FALLS ? &fall : &taken) = leave;
	}
	const struct pugmark_insn *last = &m->model->insns[block->insn + block->n_insns - 1];
	struct prog_block *b = &m->p->blocks[at];
	b->succ = m->p->n_succs;
	if (fall != PUGMARK_NONE)
		add_succ(m, b, fall);
	if (taken != PUGMARK_NONE && taken != fall)
		add_succ(m, b, taken);
	if (b->n_succ == 2 && last->kind == PUGMARK_INSN_JCC)
		b->flags |= PROG_BRANCH;
}

/* Adds @to to what follows @b, which stands for the end of @from, unless it is there. Both are
 * blocks of the model; all of what follows one is added before that of another. */
static void add_succ_once(struct maker *m, struct prog_block *b, uint32_t from, uint32_t to)
{
	if (m->follows[to] == from + 1)
		return;
	m->follows[to] = from + 1;
	add_succ(m, b, m->first_of[to]);
}

static void connect_block(struct maker *m, uint32_t func, uint32_t index)
{
	const struct pugmark_model *model = m->model;
	const struct pugmark_block *block = &model->blocks[index];
	uint32_t at = m->first_of[index];
	struct program *p = m->p;
	p->blocks[at].succ = p->n_succs;
	while (at + 1 < p->n_blocks && p->blocks[at + 1].origin == index) {
		add_succ(m, &p->blocks[at], at + 1); /* split, before its call for one */
		at++;
		p->blocks[at].succ = p->n_succs;
	}
	if (block->end == PUGMARK_END_JCC) {
		connect_branch(m, func, index, at);
		return;
	}
	if (p->blocks[at].flags & (PROG_RET | PROG_NORETURN))
		return;
	uint32_t leave = PUGMARK_NONE;
	bool jump = block->end == PUGMARK_END_TABLE || block->end == PUGMARK_END_OPEN;
	if (jump && block->site != PUGMARK_NONE)
		leave = add_virtual(m, func, block->site);
	struct prog_block *b = &p->blocks[at];
	for (uint32_t i = block->edge; i < block->edge + block->n_edges; i++)
		if (model->edges[i].kind != PUGMARK_EDGE_UNWIND)
			add_succ_once(m, b, index, model->edges[i].to);
	const struct pugmark_func *f = &model->funcs[block->func];
	if (block->end == PUGMARK_END_OPEN)
		for (uint32_t i = f->block; i < f->block + f->n_blocks; i++)
			if (model->blocks[i].flags & PUGMARK_BLOCK_ADDRESS_TAKEN)
				add_succ_once(m, b, index, i);
	if (leave != PUGMARK_NONE)
		add_succ(m, b, leave);
	else if (block->end == PUGMARK_END_TABLE)
		b->flags |= PROG_TABLE;
}

static uint32_t func_flags(const struct maker *m, uint32_t func)
{
	const struct pugmark_func *f = &m->model->funcs[func];
	const uint32_t entered_so =
		PUGMARK_FUNC_ADDRESS_TAKEN | PUGMARK_FUNC_MAYBE_TAKEN | PUGMARK_FUNC_IFUNC;
	uint32_t flags = f->flags & entered_so ? PROG_ENTRY_WITNESS : 0;
	if (f->flags & PUGMARK_FUNC_UNCALLED)
		flags |= PROG_ENTRY_WITNESS | PROG_UNCALLED;
	bool entered = m->options->entered ? m->options->entered[func] : !m->model->entry;
	if (f->flags & PUGMARK_FUNC_EXPORTED && entered)
		flags |= PROG_ENTRY_WITNESS;
	return flags;
}

/* Whether @f is what handlers of signals return to: it makes the system call that continues what
 * was interrupted, and so is entered and left by no call or return. Its call frame information says
 * so or, without any, its code. */
static bool is_trampoline(const struct maker *m, const struct pugmark_func *f)
{
	static const uint8_t ways[][9] = {
		{0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05}, /* mov $15,%rax; syscall */
		{0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05},	       /* mov $15,%eax; syscall */
	};
	static const uint8_t bytes_of[] = {9, 7};
	size_t len;
	const uint8_t *bytes = pugmark_model_bytes(m->model, f->addr, &len);
	bool is = f->flags & PUGMARK_FUNC_SIGNAL_FRAME;
	for (int i = 0; i < 2; i++)
		is |= bytes && len >= bytes_of[i] && !memcmp(bytes, ways[i], bytes_of[i]);
	return is;
}

static void make_function(struct maker *m, uint32_t func)
{
	const struct pugmark_func *f = &m->model->funcs[func];
	struct prog_func *pf = &m->p->funcs[func];
	*pf = (struct prog_func){
		.block = m->p->n_blocks,
		.origin = func,
		.addr = f->addr,
		.freq = 1,
		.flags = func_flags(m, func),
	};
	if (m->options->paths && m->options->paths[func])
		pf->flags |= PROG_PATHS;
	if (m->model->funcs[func].flags & PUGMARK_FUNC_SWITCHES)
		pf->flags |= PROG_FUNC_SWITCHES;
	if (leaves_by_jump(m, f))
		pf->flags |= PROG_FUNC_LEAVES;
	if (is_trampoline(m, f)) {
		pf->flags = 0;
		return;
	}
	if (m->options->opaque && m->options->opaque[func]) {
		pf->flags |= PROG_OPAQUE;
		if (m->options->foreign && m->options->foreign[func])
			pf->flags |= PROG_FOREIGN;
		maker_make_opaque(m, func);
		return;
	}
	if (!f->n_blocks)
		maker_make_opaque(m, func);
	for (uint32_t i = 0; i < f->n_blocks; i++)
		make_block(m, func, f->block + i, !i);
	for (uint32_t i = 0; i < f->n_blocks && !m->failed; i++)
		connect_block(m, func, f->block + i);
	pf->n_blocks = m->p->n_blocks - pf->block;
}

/* Marks the blocks on a path from the entry, from landing pads of calls that are reached, or from
 * where a stack switch comes back. */
static int mark_reached(struct maker *m)
{
	struct program *p = m->p;
	uint32_t *stack =
		malloc((p->n_blocks + p->n_succs + m->model->n_edges + 1) * sizeof(*stack));
	if (!stack)
		return -ENOMEM;
	for (uint32_t f = 0; f < p->n_funcs; f++) {
		uint32_t n = 0;
		const struct prog_func *pf = &p->funcs[f];
		if (pf->n_blocks)
			stack[n++] = pf->block;
		for (uint32_t i = pf->block; i < pf->block + pf->n_blocks; i++)
			if (p->blocks[i].flags & PROG_ROOT &&
			    (m->resumed[p->blocks[i].origin] ||
			     m->model->blocks[p->blocks[i].origin].flags &
				     PUGMARK_BLOCK_SETJMP_RETURN))
				stack[n++] = i;
		while (n) {
			struct prog_block *b = &p->blocks[stack[--n]];
			if (b->flags & PROG_REACHED)
				continue;
			b->flags |= PROG_REACHED;
			for (uint32_t i = 0; i < b->n_succ; i++)
				stack[n++] = p->succs[b->succ + i];
			if (b->origin == PUGMARK_NONE)
				continue;
			const struct pugmark_block *block = &m->model->blocks[b->origin];
			for (uint32_t i = block->edge; i < block->edge + block->n_edges; i++)
				if (m->model->edges[i].kind == PUGMARK_EDGE_UNWIND)
					stack[n++] = m->first_of[m->model->edges[i].to];
		}
	}
	free(stack);
	return 0;
}

/* How often each block is likely to run, and each way be taken. */
static int estimate(struct maker *m)
{
	struct program *p = m->p;
	float *odds = calloc(p->n_blocks + 1, sizeof(*odds));
	if (!odds)
		return -ENOMEM;
	for (uint32_t b = 0; b < p->n_blocks; b++) {
		const struct prog_block *block = &p->blocks[b];
		if (block->flags & PROG_BRANCH)
			odds[b] = branch_odds(m->model, &m->model->blocks[block->origin],
					      p->blocks[prog_succs(p, b)[1]].addr);
	}
	int err = program_estimate(p, odds);
	free(odds);
	return err;
}

int program_from_model(const struct pugmark_model *model, const struct program_options *options,
		       struct program **out)
{
	struct maker m = {.model = model, .options = options};
	m.p = calloc(1, sizeof(*m.p));
	m.first_of = calloc(model->n_blocks + 1, sizeof(uint32_t));
	m.follows = calloc(model->n_blocks + 1, sizeof(uint32_t));
	m.func_of = calloc(model->n_funcs + 1, sizeof(uint32_t));
	m.reads = calloc(model->n_blocks + 1, 1);
	m.resumed = calloc(model->n_blocks + 1, sizeof(*m.resumed));
	m.foreign = calloc(model->n_funcs + 1, sizeof(*m.foreign));
	if (m.p)
		m.p->funcs = calloc(model->n_funcs + 1, sizeof(*m.p->funcs));
	bool room = m.p && m.p->funcs && m.first_of && m.follows && m.func_of && m.reads &&
		    m.resumed && m.foreign;
	int err = room ? 0 : -ENOMEM;
	if (!err) {
		foreign_code_find(model, m.foreign);
		err = maker_find_unknown(&m);
	}
	if (!err) {
		maker_find_reads(&m);
		maker_find_resumed(&m);
		m.p->base = model->text_addr;
		m.p->patched = options && options->patchable;
		m.p->n_funcs = model->n_funcs;
		for (uint32_t f = 0; f < model->n_funcs; f++)
			m.func_of[f] = f;
		for (uint32_t f = 0; f < model->n_funcs && !m.failed; f++)
			make_function(&m, f);
		err = m.failed ? -ENOMEM : mark_reached(&m);
	}
	if (!err)
		err = maker_settle_opaque(&m);
	if (!err) {
		program_mark_entered_tails(m.p);
		err = estimate(&m);
		if (!err && options->counts)
			err = program_measure(m.p, options->counts);
		free(m.p->chances); /* who measures was the last to need them */
		m.p->chances = NULL;
	}
	free(m.first_of);
	free(m.follows);
	free(m.func_of);
	free(m.reads);
	free(m.resumed);
	free(m.foreign);
	if (err)
		program_free(m.p);
	else
		*out = m.p;
	return err;
}

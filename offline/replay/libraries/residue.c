// SPDX-License-Identifier: LGPL-2.1-or-later
/* residue.c: see residue.h. The walk is by a machine whose memory has that code and nothing else,
 * so that each access of data stops it: what comes of one is unknown. But the bytes at the second
 * argument are there until something is stored. */
#include "offline/replay/libraries/residue.h"

#include "offline/replay/records/sources.h"

#include <stdlib.h>
#include <string.h>

enum { WAYS = 32, JUMPS_MAX = 64, INSNS_MAX = 4096, CODES = 8 };
enum { CODE = 1, NEAR = 2 }; /* value_region.source */
#define MAY_CHANGE 0x0fc7    /* rax, rcx, rdx, rsi, rdi, r8 to r11 */

/* Where a walk goes on. */
struct way {
	struct value_state state;
	struct value_known known;
};

/* What is the same each time that the walk has come to @ip. */
struct meeting {
	uint64_t ip;
	uint64_t regs[16];
	uint16_t exact;
};

struct residue_walker {
	struct value_memory memory, *of;
	const struct residue_call *call; /* that is walked */
	uint64_t near; /* page of the bytes at its second argument; 0: not there */
	struct value_machine *machine;
	struct way ways[WAYS];
	struct meeting meetings[JUMPS_MAX];
	unsigned n_ways, n_meetings;
	struct value_region codes[CODES]; /* of @of, those that the machine has */
	unsigned n_codes;
};

/* Of the page at @addr the bytes at the second argument. */
static void fill_near(const struct residue_call *c, uint64_t addr, uint8_t *bytes, uint8_t *quality)
{
	memset(quality, VALUE_UNKNOWN, VALUE_PAGE);
	for (unsigned i = 0; i < RESIDUE_NEAR; i++) {
		uint64_t at = c->regs[VALUE_RSI] + i - addr;
		if (at >= VALUE_PAGE)
			continue;
		bytes[at] = c->near[i];
		quality[at] = c->near_quality[i];
	}
}

/* A page of code as the run has it. */
static int fill(void *ctx, const struct value_region *region, uint64_t addr, uint8_t *bytes,
		uint8_t *quality)
{
	const struct residue_walker *w = ctx;
	uint8_t worst = VALUE_UNKNOWN;
	if (region->source == NEAR) {
		fill_near(w->call, addr, bytes, quality);
		return 0;
	}
	int err = value_memory_read(w->of, addr, bytes, VALUE_PAGE, &worst);
	if (!err && worst)
		memset(quality, worst, VALUE_PAGE);
	return err;
}

struct residue_walker *value_residue_walker_new(struct value_memory *memory)
{
	struct residue_walker *w = calloc(1, sizeof(*w));
	if (!w)
		return NULL;
	w->of = memory;
	if (value_memory_init(&w->memory, fill, w)) {
		free(w);
		return NULL;
	}
	w->machine = value_machine_new(&w->memory);
	if (w->machine)
		return w;
	value_memory_deinit(&w->memory);
	free(w);
	return NULL;
}

void value_residue_walker_free(struct residue_walker *w)
{
	if (!w)
		return;
	value_machine_free(w->machine);
	value_memory_deinit(&w->memory);
	free(w);
}

bool value_residue_walker_fits(const struct residue_walker *w)
{
	bool fits = true;
	for (unsigned i = 0; fits && i < w->n_codes; i++) {
		const struct value_region *was = &w->codes[i],
					  *at = value_memory_region(w->of, was->start);
		/* What is of no file may have been written anew meanwhile. */
		fits = at && at->start == was->start && at->end == was->end &&
		       at->off == was->off && at->source == was->source && at->prot == was->prot &&
		       (at->source & ~SOURCE_START) >= SOURCE_FILES;
	}
	return fits;
}

void value_residue_begin(struct residue_call *c, struct value_machine *m, uint64_t ip)
{
	const struct value_state *s = value_machine_state(m);
	const struct value_known *k = value_machine_known(m);
	*c = (struct residue_call){.ip = ip, .exact = (uint16_t)~k->inexact};
	memcpy(c->regs, s->gpr, sizeof(c->regs));
	c->bases[0] = s->gpr[VALUE_FS];
	c->bases[1] = s->gpr[VALUE_GS];
	for (unsigned i = 0; i < 16; i++)
		c->said[i] = k->inexact & k->forgotten & 1u << i ? k->said[i] : 0;
	struct value_memory *memory = value_machine_memory(m);
	uint64_t at = s->gpr[VALUE_RSI];
	if (value_memory_read(memory, at, c->near, RESIDUE_NEAR, NULL) ||
	    value_memory_read_qualities(memory, at, c->near_quality, RESIDUE_NEAR))
		memset(c->near_quality, VALUE_UNKNOWN, RESIDUE_NEAR);
}

void value_residue_end(struct residues *r, struct value_machine *m, const struct residue_call *c)
{
	struct residue_call *to = &r->at[r->n++ % RESIDUE_CALLS];
	*to = *c;
	/* rdx is no result of those functions, so it was forgotten and not set. */
	to->over = value_machine_known(m)->said[VALUE_RDX];
}

/* Whether the code at @ip can be walked: it cannot be written to. */
static bool has_code(struct residue_walker *w, uint64_t ip)
{
	const struct value_region *at = value_memory_region(w->of, ip);
	if (value_machine_is_code(w->machine, ip))
		return true;
	if (!at || !(at->prot & VALUE_EXEC) || at->prot & (VALUE_WRITE | VALUE_SHARED))
		return false;
	if (w->n_codes == CODES)
		return false;
	struct value_region code = {.start = at->start,
				    .end = at->end,
				    .source = CODE,
				    .prot = VALUE_READ | VALUE_EXEC};
	w->codes[w->n_codes++] = *at;
	return !value_memory_map(&w->memory, &code) &&
	       !value_machine_code(w->machine, code.start, code.end);
}

/* Leaves what is in both. Returns whether that is less than before. */
static bool meet(uint64_t *regs, uint16_t *exact, const uint64_t *others, uint16_t others_exact)
{
	uint16_t before = *exact;
	*exact &= others_exact;
	for (unsigned i = 0; i < 16; i++)
		if (regs[i] != others[i])
			*exact &= (uint16_t) ~(1u << i);
	return *exact != before;
}

/* At a jump whose condition is not known; general registers alone are remembered. False: it was met
 * before, with no more than now. */
static bool meet_here(struct residue_walker *w, bool *too_many)
{
	struct value_machine *m = w->machine;
	struct value_state *s = value_machine_state(m);
	uint16_t exact = (uint16_t)~value_machine_known(m)->inexact;
	unsigned i = 0;
	value_forget(m, VALUE_BITS_ALL & ~(uint64_t)0xffff, VALUE_UNKNOWN);
	while (i < w->n_meetings && w->meetings[i].ip != s->rip)
		i++;
	*too_many = i == JUMPS_MAX;
	if (*too_many)
		return false;
	struct meeting *at = &w->meetings[i];
	if (i == w->n_meetings) {
		*at = (struct meeting){.ip = s->rip, .exact = exact};
		memcpy(at->regs, s->gpr, sizeof(at->regs));
		w->n_meetings++;
		return true;
	}
	if (!meet(at->regs, &at->exact, s->gpr, exact))
		return false;
	value_forget(m, exact & (uint16_t)~at->exact, VALUE_UNKNOWN);
	return true;
}

static bool keep_way(struct residue_walker *w, uint64_t ip)
{
	if (w->n_ways == WAYS)
		return false;
	struct way *way = &w->ways[w->n_ways++];
	way->state = *value_machine_state(w->machine);
	way->known = *value_machine_known(w->machine);
	way->state.rip = ip;
	return true;
}

/* The bytes at the second argument can be read, unless code is there. */
static void show_near(struct residue_walker *w, const struct residue_call *c)
{
	uint64_t page = c->regs[VALUE_RSI] & ~(uint64_t)(VALUE_PAGE - 1);
	struct value_region near = {
		.start = page, .end = page + 2 * VALUE_PAGE, .source = NEAR, .prot = VALUE_READ};
	w->call = c;
	if (!page || near.end < page || value_memory_region(&w->memory, page) ||
	    value_memory_region(&w->memory, page + VALUE_PAGE) ||
	    value_memory_map(&w->memory, &near))
		return;
	w->near = page;
}

static void hide_near(struct residue_walker *w)
{
	if (w->near)
		value_memory_unmap(&w->memory, w->near, w->near + 2 * VALUE_PAGE);
	w->near = 0;
}

static bool stores(const struct value_insn *insn)
{
	bool writes = insn->scatters;
	for (int i = 0; i < insn->n_mem; i++)
		writes |= insn->mem[i].write;
	return writes;
}

/* Goes behind an instruction that needs memory: what it writes is unknown. False: it moves the
 * stack, or leads elsewhere. */
static bool pass(struct residue_walker *w, const struct value_insn *insn)
{
	uint64_t bits = 0;
	if (insn->kind != VALUE_INSN_PLAIN && insn->kind != VALUE_INSN_STRING)
		return false;
	for (int i = 0; i < insn->n_access; i++) {
		const struct value_access *a = &insn->access[i];
		if (a->write && a->kind == VALUE_ACCESS_GPR)
			bits |= (uint64_t)1 << a->reg;
		else if (a->write && a->kind == VALUE_ACCESS_VEC && a->reg >= VALUE_VECS)
			bits |= (uint64_t)1 << VALUE_BIT_WIDE;
		else if (a->write && a->kind == VALUE_ACCESS_VEC)
			bits |= (uint64_t)1 << (VALUE_BIT_VEC + a->reg) |
				(uint64_t)1 << (VALUE_BIT_HIGH + a->reg);
		else if (a->write && a->kind == VALUE_ACCESS_FLAGS)
			bits |= (uint64_t)1 << VALUE_BIT_FLAGS;
		else if (a->write && a->kind == VALUE_ACCESS_DF)
			bits |= (uint64_t)1 << VALUE_BIT_DF;
		else if (a->write && a->kind == VALUE_ACCESS_X87)
			bits |= (uint64_t)1 << VALUE_BIT_X87;
		else if (a->write && a->kind != VALUE_ACCESS_MEMORY)
			bits |= (uint64_t)1 << VALUE_BIT_MXCSR | (uint64_t)1 << VALUE_BIT_STICKY;
	}
	if (stores(insn))
		hide_near(w);
	value_forget(w->machine, bits, VALUE_UNKNOWN);
	return !(bits & 1 << VALUE_RSP) && !value_machine_skip(w->machine, NULL);
}

enum step { STEP_ON, STEP_ENDS, STEP_RETURNS, STEP_FAILS };

/* One instruction. Nothing is stored: memory is that of all ways. */
static enum step walk_on(struct residue_walker *w, const struct residue_call *c)
{
	struct value_machine *m = w->machine;
	struct value_state *s = value_machine_state(m);
	if (value_machine_count(m) >= INSNS_MAX || !has_code(w, s->rip))
		return STEP_FAILS;
	const struct value_insn *insn = value_machine_insn(m, s->rip);
	bool too_many;
	if (!insn)
		return STEP_FAILS;
	if (stores(insn))
		return pass(w, insn) ? STEP_ON : STEP_FAILS;
	switch (value_machine_run(m, value_machine_count(m) + 1, NULL)) {
	case VALUE_STOP_LIMIT:
		return STEP_ON;
	case VALUE_STOP_UNKNOWN_BRANCH:
		if (insn->kind != VALUE_INSN_JCC)
			return STEP_FAILS;
		if (!meet_here(w, &too_many))
			return too_many ? STEP_FAILS : STEP_ENDS;
		if (!keep_way(w, insn->target))
			return STEP_FAILS;
		s->rip += insn->len;
		return STEP_ON;
	case VALUE_STOP_FAULT:
		if (insn->kind == VALUE_INSN_RET)
			return !value_quality(m, 1 << VALUE_RSP) &&
					       s->gpr[VALUE_RSP] == c->regs[VALUE_RSP]
				       ? STEP_RETURNS
				       : STEP_FAILS;
		return pass(w, insn) ? STEP_ON : STEP_FAILS;
	default:
		return STEP_FAILS;
	}
}

/* The walk is at the beginning of the call's code. */
static bool begin_walk(struct residue_walker *w, const struct residue_call *c)
{
	struct value_machine *m = w->machine;
	*value_machine_state(m) = (struct value_state){.rip = c->ip};
	value_forget(m, VALUE_BITS_ALL, VALUE_UNKNOWN);
	for (unsigned i = 0; i < 16; i++)
		if (c->exact >> i & 1)
			value_set_gpr(m, i, c->regs[i], VALUE_EXACT);
	value_machine_state(m)->gpr[VALUE_FS] = c->bases[0];
	value_machine_state(m)->gpr[VALUE_GS] = c->bases[1];
	value_machine_set_count(m, 0);
	w->n_meetings = w->n_ways = 0;
	if (!has_code(w, c->ip) || !(c->exact >> VALUE_RSP & 1) || !keep_way(w, c->ip))
		return false;
	show_near(w, c);
	return true;
}

/* The next of the ways that are left open. */
static void take_way(struct residue_walker *w)
{
	const struct way *way = &w->ways[--w->n_ways];
	*value_machine_state(w->machine) = way->state;
	*value_machine_known(w->machine) = way->known;
}

/* All ways from the beginning of the call's code to its ends. */
static void walk(struct residue_walker *w, struct residue_call *c)
{
	struct value_machine *m = w->machine;
	uint16_t exact = 0xffff;
	bool ends = false;
	enum step step = STEP_ON;
	if (!begin_walk(w, c))
		return;
	while (step != STEP_FAILS && w->n_ways) {
		take_way(w);
		do
			step = walk_on(w, c);
		while (step == STEP_ON);
		if (step != STEP_RETURNS)
			continue;
		const struct value_state *s = value_machine_state(m);
		if (!ends)
			memcpy(c->left, s->gpr, sizeof(c->left));
		meet(c->left, &exact, s->gpr, (uint16_t)~value_machine_known(m)->inexact);
		ends = true;
	}
	hide_near(w);
	c->left_exact = step != STEP_FAILS && ends ? exact & MAY_CHANGE : 0;
}

static bool is_at(const struct residue_walker *w, const struct residue_moment *there)
{
	const struct value_state *s = value_machine_state(w->machine);
	bool at = s->rip == there->ip;
	for (unsigned i = 0; at && i < 16; i++)
		at = !(there->known >> i & 1) || s->gpr[i] == there->regs[i] ||
		     value_quality(w->machine, (uint64_t)1 << i);
	return at;
}

bool value_residue_may_come_by(struct residue_walker *w, const struct residue_call *c,
			       const struct residue_moment *there)
{
	enum step step = STEP_ON;
	bool comes = !begin_walk(w, c);
	while (!comes && step != STEP_FAILS && w->n_ways) {
		take_way(w);
		do
			step = (comes = is_at(w, there)) ? STEP_ENDS : walk_on(w, c);
		while (step == STEP_ON);
	}
	hide_near(w);
	return comes || step == STEP_FAILS;
}

static struct residue_call *find(struct residues *r, uint64_t said)
{
	for (uint64_t i = r->n; i && i + RESIDUE_CALLS > r->n; i--) {
		struct residue_call *c = &r->at[(i - 1) % RESIDUE_CALLS];
		if (c->over == said)
			return c;
	}
	return NULL;
}

bool value_residue_recall(struct residues *r, struct residue_walker *w, unsigned reg, uint64_t said,
			  uint64_t *value)
{
	struct residue_call *c = said ? find(r, said) : NULL;
	if (!c)
		return false;
	/* What was in registers before it may be what an earlier call has left there. */
	for (unsigned i = 0; !c->walked && i < 16; i++)
		if (c->said[i] && c->said[i] < c->over &&
		    value_residue_recall(r, w, i, c->said[i], &c->regs[i]))
			c->exact |= (uint16_t)(1u << i);
	if (!c->walked)
		walk(w, c);
	c->walked = true;
	*value = c->left[reg];
	return c->left_exact >> reg & 1;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* history.c: see history.h. Registers are followed by their values (for what is stored and
 * compared) and by who made them; memory by definition. */
#include "offline/match/history.h"

#include <stdlib.h>
#include <string.h>

enum { VEC = 16, REGISTERS = VEC + VALUE_ROWS, COMPARED = 2 };

/* Who made a value, and the value where it is known. */
struct made {
	uint64_t value;
	uint32_t maker; /* as match_insn.makers; 0: nobody */
	bool known;
};

/* What the flags were set from. */
struct flags {
	uint64_t pair; /* a hash of what was compared */
	uint32_t makers[COMPARED];
};

struct match_history {
	struct match_layout layout;
	struct value_run *run;
	struct value_memory *memory;
	struct match_insns insns;
	struct made regs[REGISTERS]; /* general ones, then vector registers */
	struct flags flags;
	VEC(struct made) defs; /* by number of the definition */
	/* The last block's conditional jump, until the next block shows where it went. */
	struct pending {
		uint64_t target, count;
		uint32_t number, what;
		bool any;
	} pending;
	bool no_memory;
};

/* One instruction at work. */
struct step {
	const struct dep_trace *trace;
	const struct dep_insn *dep;
	const struct value_insn *insn;
	const uint64_t *addresses, *results;
	uint64_t load;	/* words before it */
	uint32_t def;	/* definitions before it */
	uint64_t count; /* instructions before it */
	uint32_t number;
	struct made read; /* of its memory operand */
};

struct match_history *match_history_new(struct value_run *run, uint64_t image_start,
					uint64_t image_end)
{
	struct match_history *h = calloc(1, sizeof(*h));
	if (!h)
		return NULL;
	h->run = run;
	h->memory = value_machine_memory(value_run_machine(run));
	match_layout_init(&h->layout, run, image_start, image_end);
	return h;
}

void match_history_free(struct match_history *h)
{
	if (!h)
		return;
	match_insns_deinit(&h->insns);
	match_layout_deinit(&h->layout);
	VEC_FREE(&h->defs);
	free(h);
}

const struct match_insn *match_history_insns(const struct match_history *h, uint32_t *n)
{
	*n = h->insns.of.n;
	return h->no_memory || h->layout.no_memory ? NULL : h->insns.of.at;
}

/* --- memory ---------------------------------------------------------------------------------- */

static struct made *def_of(struct match_history *h, uint32_t def)
{
	if (def >= h->defs.n) {
		if (!VEC_RESERVE(&h->defs, def + 1 - h->defs.n)) {
			h->no_memory = true;
			return NULL;
		}
		memset(h->defs.at + h->defs.n, 0, (h->defs.max - h->defs.n) * sizeof(*h->defs.at));
		h->defs.n = h->defs.max;
	}
	return &h->defs.at[def];
}

static void note(struct match_history *h, uint32_t number, uint64_t count, uint32_t what)
{
	h->no_memory |= !match_insn_note(&h->insns.of.at[number], count, what);
}

static uint64_t cut(uint64_t value, unsigned len)
{
	return len < 8 ? value & (((uint64_t)1 << 8 * len) - 1) : value;
}

/* What the instruction's first load has read. */
static struct made read_of(struct match_history *h, const struct step *s)
{
	struct made m = {0};
	if (!s->dep->n_loads || s->dep->string)
		return m;
	uint32_t n;
	const uint32_t *defs = dep_trace_load(s->trace, &s->trace->loads.at[s->load], &n);
	const struct made *def = n == 1 && defs[0] ? def_of(h, defs[0]) : NULL;
	unsigned len = s->dep->loads[0].len;
	if (def)
		m = *def;
	if (!m.known && len <= 8)
		m.known = !value_memory_read(h->memory, s->addresses[s->dep->loads[0].address],
					     &m.value, len, NULL);
	m.value = cut(m.value, len);
	return m;
}

/* --- values ---------------------------------------------------------------------------------- */

static bool on_stack(struct match_history *h, uint64_t address)
{
	return match_layout_class(&h->layout, address) == MATCH_STACK;
}

static unsigned register_of(const struct value_access *a)
{
	return a->kind == VALUE_ACCESS_VEC ? VEC + a->reg : a->reg;
}

static bool is_register(const struct value_access *a)
{
	return a->kind == VALUE_ACCESS_GPR || a->kind == VALUE_ACCESS_VEC;
}

/* A value of @len bytes, of a vector register as a hash where it is longer than a number. */
static uint64_t common(struct match_history *h, const uint64_t *words, unsigned len, bool vector,
		       uint64_t *first)
{
	if (len <= 8)
		return match_layout_value(&h->layout, vector ? cut(words[0], len) : words[0],
					  first);
	uint64_t v = match_mix(words[0], words[1]);
	return len > 16 ? match_mix(match_mix(v, words[2]), words[3]) : v;
}

/* The value of the register that @a reads. */
static uint64_t register_value(const struct match_history *h, const struct value_access *a)
{
	uint64_t v = h->regs[register_of(a)].value;
	return a->kind == VALUE_ACCESS_GPR ? cut(v >> 8 * a->off, a->len) : cut(v, a->len);
}

/* Its operands that are data: registers, then memory, then the number in it; at most @room. */
static unsigned operands(const struct match_history *h, const struct step *s, struct made *out,
			 unsigned room)
{
	unsigned n = 0;
	for (int i = 0; i < s->insn->n_access && n < room; i++) {
		const struct value_access *a = &s->insn->access[i];
		if (!is_register(a) || !a->read ||
		    (a->address && s->insn->mnemonic != ZYDIS_MNEMONIC_LEA))
			continue;
		out[n] = h->regs[register_of(a)];
		out[n++].value = register_value(h, a);
	}
	if (s->dep->n_loads && n < room)
		out[n++] = s->read;
	if (s->insn->has_imm && n < room)
		out[n++] = (struct made){.value = s->insn->imm, .known = true};
	return n;
}

/* --- flags ----------------------------------------------------------------------------------- */

static uint64_t number_form(struct match_history *h, uint64_t value)
{
	uint64_t first = 1; /* addresses in the image: by themselves */
	return match_layout_value(&h->layout, value, &first);
}

/* Behind an instruction that sets flags: what a jump on them compares. */
static void set_flags(struct match_history *h, const struct step *s)
{
	struct made o[2] = {{0}};
	unsigned n = operands(h, s, o, 2);
	uint64_t a = number_form(h, o[0].value), b = n > 1 ? number_form(h, o[1].value) : 0;
	switch (s->insn->mnemonic) {
	case ZYDIS_MNEMONIC_TEST:
		a = n > 1 ? number_form(h, o[0].value & o[1].value) : a;
		b = 0;
		break;
	case ZYDIS_MNEMONIC_CMP:
	case ZYDIS_MNEMONIC_UCOMISD:
	case ZYDIS_MNEMONIC_UCOMISS:
	case ZYDIS_MNEMONIC_COMISD:
	case ZYDIS_MNEMONIC_COMISS:
		break;
	default: /* its result is compared with zero */
		a = s->dep->n_results ? number_form(h, s->results[0]) : a;
		b = 0;
		o[0].maker = s->number + 1;
		o[1].maker = 0;
	}
	h->flags = (struct flags){a + b + (match_mix(0, a) ^ match_mix(0, b)),
				  {o[0].maker, o[1].maker}};
}

static bool sets_flags(const struct value_insn *insn)
{
	for (int i = 0; i < insn->n_access; i++)
		if (insn->access[i].kind == VALUE_ACCESS_FLAGS && insn->access[i].write &&
		    insn->access[i].mask & (VALUE_ZF | VALUE_CF | VALUE_SF))
			return true;
	return false;
}

static bool reads_flags(const struct value_insn *insn)
{
	for (int i = 0; i < insn->n_access; i++)
		if (insn->access[i].kind == VALUE_ACCESS_FLAGS && insn->access[i].read)
			return true;
	return false;
}

/* --- an instruction -------------------------------------------------------------------------- */

static void begin_jump(struct match_history *h, const struct step *s)
{
	h->pending = (struct pending){.target = s->insn->target,
				      .count = s->count,
				      .number = s->number,
				      .what = (uint32_t)(match_mix(1, h->flags.pair) >> 32) & ~1u,
				      .any = true};
}

static void end_jump(struct match_history *h, uint64_t ip)
{
	const struct pending *p = &h->pending;
	if (p->any)
		note(h, p->number, p->count, p->what | (p->target == ip));
	h->pending.any = false;
}

/* Whether all that it does is to give a value another place. */
static bool is_copy(const struct value_insn *insn)
{
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_CDQE:
	case ZYDIS_MNEMONIC_CWDE:
	case ZYDIS_MNEMONIC_MOVZX:
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVSXD:
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_POP:
		return true;
	default:
		return insn->flow == VALUE_FLOW_COPY;
	}
}

/* What its registers and memory are given: their makers and values. */
static void give(struct match_history *h, const struct step *s, const struct made *from)
{
	const uint64_t *result = s->results;
	struct made m = from ? *from : (struct made){.maker = s->number + 1, .known = true};
	for (int i = 0; i < s->insn->n_access; i++) {
		const struct value_access *a = &s->insn->access[i];
		if (!value_insn_result(s->insn, a))
			continue;
		m.value = *result;
		if (is_register(a)) {
			h->regs[register_of(a)] = m;
			h->regs[register_of(a)].known = true;
		}
		result += a->kind == VALUE_ACCESS_VEC ? 4 : 1;
	}
	for (unsigned i = 0; i < s->dep->n_stores && !s->dep->string; i++) {
		struct made *def = def_of(h, s->def + 1 + i);
		if (!def)
			return;
		*def = m;
		def->known &= s->dep->stores[i].len <= 8;
	}
}

/* The hash of its results (@value: of what it stores, where that is no result) and addresses. */
static void note_values(struct match_history *h, const struct step *s, const struct made *value)
{
	struct match_insn *m = &h->insns.of.at[s->number];
	const uint64_t *result = s->results;
	uint64_t hash = m->kind;
	bool any = false;
	for (int i = 0; i < s->insn->n_access; i++) {
		const struct value_access *a = &s->insn->access[i];
		if (!value_insn_result(s->insn, a))
			continue;
		bool vector = a->kind == VALUE_ACCESS_VEC;
		uint64_t v = common(h, result, vector ? a->len : 8, vector, &m->first[1]);
		any |= vector || match_layout_class(&h->layout, *result) != MATCH_STACK;
		hash = match_mix(hash, v);
		result += vector ? 4 : 1;
	}
	if (value) {
		hash = match_mix(hash, match_layout_value(&h->layout, value->value, &m->first[1]));
		any = true;
	}
	bool outside = false;
	for (int i = 0; i < s->insn->n_mem; i++)
		if (!on_stack(h, s->addresses[i]) && m->kind != MATCH_RESULT) {
			hash = match_mix(hash, match_layout_value(&h->layout, s->addresses[i],
								  &m->first[0]));
			outside = true;
		}
	if (any && (outside || (s->dep->n_results && !is_copy(s->insn))))
		note(h, s->number, s->count, (uint32_t)(match_mix(2, hash) >> 32));
}

static void take_insn(struct match_history *h, struct step *s)
{
	struct made o[4] = {{0}};
	const struct value_insn *insn = s->insn;
	struct match_insn *m = &h->insns.of.at[s->number];
	s->read = read_of(h, s);
	unsigned n = operands(h, s, o, 4);
	if (insn->kind == VALUE_INSN_JCC || reads_flags(insn))
		for (unsigned i = 0; i < COMPARED; i++)
			match_insn_made_by(m, s->number, h->flags.makers[i]);
	for (unsigned i = 0; i < n; i++)
		match_insn_made_by(m, s->number, o[i].maker);
	if (insn->kind == VALUE_INSN_JCC) {
		begin_jump(h, s);
		return;
	}
	if (insn->kind != VALUE_INSN_PLAIN)
		return;
	if (is_copy(insn)) {
		bool constant = insn->has_imm;
		bool stores = s->dep->n_stores && !s->dep->n_results;
		bool leaf = s->dep->n_loads && !s->read.maker;
		if (!constant || stores)
			note_values(h, s, stores ? &o[0] : NULL);
		give(h, s, leaf ? NULL : &o[0]);
	} else if (s->dep->n_results && n > insn->has_imm && insn->flow != VALUE_FLOW_FRESH) {
		note_values(h, s, NULL);
		give(h, s, NULL);
	} else { /* a constant, or an address that is one */
		give(h, s, &(struct made){.known = true});
	}
	if (sets_flags(insn))
		set_flags(h, s);
}

/* --- blocks and events ----------------------------------------------------------------------- */

static uint32_t hash_of(const char *name)
{
	uint64_t h = 3;
	for (; name && *name; name++)
		h = match_mix(h, (unsigned char)*name);
	return (uint32_t)(h >> 32) | MATCH_MAKER_CALL;
}

/* What the registers hold behind a call or an entry. */
static void take_event(struct match_history *h, const struct dep_event *e)
{
	struct dep_units units = dep_event_writes(e);
	const struct value_state *state = value_machine_state(value_run_machine(h->run));
	match_layout_changed(&h->layout);
	for (unsigned r = 0; r < VEC; r++) {
		if (units.w[DEP_WORD_GPR] >> 4 * r & 15)
			h->regs[r] = (struct made){state->gpr[r], hash_of(e->name), true};
		if (units.w[DEP_WORD_VEC] >> 4 * r & 15)
			h->regs[VEC + r] = (struct made){.maker = hash_of(e->name)};
	}
}

void match_history_watch(void *history, const struct dep_trace *trace,
			 const struct dep_mark *before, const struct dep_block *b,
			 const struct dep_event *event, const uint64_t *addresses,
			 const uint64_t *results)
{
	struct match_history *h = history;
	if (event) {
		take_event(h, event);
		return;
	}
	const uint32_t *numbers = match_insns_of_block(&h->insns, b);
	uint32_t string = before->string;
	struct step s = {.trace = trace,
			 .addresses = addresses,
			 .results = results,
			 .load = before->load,
			 .def = before->def,
			 .count = before->count};
	h->no_memory |= !numbers;
	end_jump(h, b->ip);
	for (unsigned i = 0; i < b->n_insns && !h->no_memory; i++) {
		const struct dep_insn *d = s.dep = &b->insns[i];
		s.insn = &b->block->insns[i];
		s.number = numbers[i];
		take_insn(h, &s);
		s.addresses += d->n_addresses;
		s.results += d->n_results;
		s.load += d->n_loads;
		s.def += d->n_stores;
		if (d->string)
			s.def += trace->events[trace->strings.at[string++]].n_defs;
		s.count++;
	}
}

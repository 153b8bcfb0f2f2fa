// SPDX-License-Identifier: LGPL-2.1-or-later
/* places.c: see places.h. What several reasons want at one address becomes one place. */
#include "offline/capture/places.h"

#include "offline/capture/data_symbols.h"
#include "offline/capture/effects.h"
#include "offline/capture/leaving.h"
#include "offline/capture/outputs.h"
#include "offline/capture/kept_args.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	RAX = 1 << 0,
	RCX = 1 << 1,
	RDX = 1 << 2,
	RBX = 1 << 3,
	RSP = 1 << 4,
	LOOK_AHEAD = 12,
	ENTRY_SKIP = 8
};

struct builder {
	const struct pugmark_model *model;
	const struct places_options *options;
	struct place_list *list;
	struct leaving *leaving;
	struct data_symbols *symbols;
	ZydisDecoder decoder;
};

static bool read_effects(const struct builder *b, const struct pugmark_insn *insn,
			 struct effects *out)
{
	size_t len;
	const uint8_t *bytes = pugmark_model_bytes(b->model, b->model->text_addr + insn->off, &len);

	return bytes && effects_of(&b->decoder, bytes, len, out);
}

static bool can_probe(const struct pugmark_insn *insn)
{
	return insn->probe == PUGMARK_PROBE_EMULATED || insn->probe == PUGMARK_PROBE_STEPPED;
}

/* The outputs of a call, as far as their addresses are known. */
struct outputs {
	struct capture_output at[CAPTURE_MAX_OUTPUTS];
	int n;
	bool by_args;  /* some are found by the arguments, which a probe before the call has to keep
			*/
	uint16_t keep; /* registers that the others are found by */
};

/* What has to be as it is where @block begins, and what of it is, at the instruction that is
 * chosen. */
struct wanted {
	uint16_t keep;	   /* registers that have to be; */
	uint16_t if_read;  /* of those: ones that need not be where nobody reads them before; */
	uint16_t if_there; /* and ones that are worth something if they are */
	const struct outputs *outputs; /* memory that has to be; NULL: all */
	uint32_t limit;		       /* of instructions */
	uint16_t there;		       /* out: of all of these */
};

/* Whether what the instruction stores may be of @outputs (NULL: anything is). */
static bool spoils(const struct effects *e, const struct outputs *outputs)
{
	bool may = e->memory && !outputs;

	for (int i = 0; e->memory && outputs && i < outputs->n; i++) {
		const struct capture_output *o = &outputs->at[i];
		bool on_stack = o->base == VALUE_KEPT_RSP && !o->loads &&
				o->length == LENGTH_PRODUCT && o->a == VALUE_ONE &&
				o->b == VALUE_ONE;
		int64_t end = o->addend + (int64_t)o->k + o->c;
		bool apart = e->store == STORE_STATIC ||
			     (e->store == STORE_STACK &&
			      (e->at >= end || e->at + e->bytes <= o->addend));

		may |= !on_stack || !apart;
	}
	return may;
}

/* The instruction of @block to probe so that nothing before it changes what is @wanted: the first
 * emulated one, else the first that can be probed at all. NULL: none. */
static const struct pugmark_insn *choose(const struct builder *b, const struct pugmark_block *block,
					 struct wanted *w)
{
	const struct pugmark_insn *first = NULL;
	uint16_t changed = 0, read = 0, all = w->keep | w->if_there;

	w->there = all;
	for (uint32_t i = 0; i < block->n_insns && i < w->limit; i++) {
		const struct pugmark_insn *insn = &b->model->insns[block->insn + i];
		struct effects e;

		if (insn->probe == PUGMARK_PROBE_EMULATED) {
			w->there = all & ~changed;
			return insn;
		}
		if (!first && can_probe(insn)) {
			first = insn;
			w->there = all & ~changed;
		}
		if (!read_effects(b, insn, &e) || spoils(&e, w->outputs) || e.untold || e.kernel ||
		    insn->kind != PUGMARK_INSN_OTHER)
			break;
		read |= e.reads & ~changed;
		uint16_t needed = w->keep & ~(w->if_read & ~read);
		if (e.writes & needed)
			break;
		changed |= e.writes;
	}
	return first;
}

static struct place_site *add(struct builder *b, const struct pugmark_insn *insn)
{
	struct place_list *l = b->list;

	if (l->n == l->cap) {
		uint32_t cap = l->cap ? 2 * l->cap : 256;
		struct place_site *at = realloc(l->at, cap * sizeof(*at));

		if (!at)
			return NULL;
		l->at = at;
		l->cap = cap;
	}
	struct place_site *p = &l->at[l->n++];
	uint64_t addr = b->model->text_addr + insn->off;
	*p = (struct place_site){
		.place = {.addr = addr, .import = "", .module = b->options->module},
		.desc = {.addr_off = insn->off, .module = b->options->module},
		.off_file = pugmark_model_file_offset(b->model, addr),
		.probe = insn->probe,
	};
	return p;
}

static bool is_arg(uint8_t value)
{
	return value < VALUE_RESULT;
}

static void outputs_of(const struct builder *b, const struct import_row *row, struct outputs *out)
{
	struct output_word words[CAPTURE_MAX_OUTPUTS];
	const char *bad;
	int n = row && row->kind == IMPORT_OUTPUT ? outputs_read(row->outputs, words, &bad) : 0;

	*out = (struct outputs){0};
	for (int i = 0; i < n; i++) {
		struct capture_output o = words[i].output;
		uint64_t addr;
		bool by_slot;

		if (words[i].symbol[0]) {
			if (!data_symbols_find(b->symbols, words[i].symbol, &addr, &by_slot))
				continue;
			o.addend = (int64_t)(addr - b->model->text_addr);
			o.loads += by_slot;
		}
		out->by_args |= is_arg(o.base) || is_arg(o.a) || is_arg(o.b);
		out->at[out->n++] = o;
	}
}

/* The same found behind the call at @site, where its code says how. */
static void without_args(const struct builder *b, const struct pugmark_site *site,
			 const struct outputs *of, struct outputs *out)
{
	*out = (struct outputs){0};
	for (int i = 0; i < of->n; i++) {
		struct capture_output o = of->at[i];
		struct kept_arg arg;

		if (is_arg(o.base) && kept_arg_of(b->model, &b->decoder, site, o.base, &arg)) {
			if (arg.null && !o.addend)
				continue;
			o.base = arg.null ? o.base : arg.value;
			o.addend += arg.addend;
			out->keep |= arg.null ? 0 : 1u << arg.reg;
		}
		out->by_args |= is_arg(o.base) || is_arg(o.a) || is_arg(o.b);
		out->at[out->n++] = o;
	}
}

static int add_outputs(struct place_list *l, const struct outputs *outputs)
{
	if (l->n_outputs + outputs->n > l->cap_outputs) {
		uint32_t cap = l->cap_outputs ? 2 * l->cap_outputs : 256;
		struct capture_output *at = realloc(l->outputs, cap * sizeof(*at));

		if (!at)
			return -ENOMEM;
		l->outputs = at;
		l->cap_outputs = cap;
	}
	for (int i = 0; i < outputs->n; i++)
		l->outputs[l->n_outputs++] = outputs->at[i];
	return 0;
}

static const struct pugmark_insn *insn_at(const struct builder *b, uint32_t block, uint64_t addr)
{
	const struct pugmark_block *bl = &b->model->blocks[block];

	for (uint32_t i = 0; i < bl->n_insns; i++)
		if (b->model->text_addr + b->model->insns[bl->insn + i].off == addr)
			return &b->model->insns[bl->insn + i];
	return NULL;
}

/* Before the call or jump at @site: its arguments are kept. */
static int add_call(struct builder *b, const struct pugmark_site *site, bool clock)
{
	const struct pugmark_insn *insn = insn_at(b, site->block, site->addr);

	if (!insn || !can_probe(insn))
		return 0;
	struct place_site *p = add(b, insn);
	if (!p)
		return -ENOMEM;
	p->desc.roles = ROLE_CALL | (site->kind == PUGMARK_SITE_TAIL ? ROLE_TAIL : 0);
	p->desc.asks_time = clock;
	return 0;
}

/* Where to look behind a call that returns to @block, for @outputs. */
static const struct pugmark_insn *choose_behind(const struct builder *b,
						const struct pugmark_block *block,
						const struct outputs *outputs, struct wanted *w)
{
	*w = (struct wanted){
		.keep = RAX | RSP | outputs->keep,
		.if_read = RAX,
		.if_there = RDX,
		.outputs = outputs,
		.limit = LOOK_AHEAD,
	};
	return choose(b, block, w);
}

/* Behind the call at @site, which may be one of what @row says. A step costs more than two probes
 * without one: so one behind the call alone, without a step; else both; else the one. */
static int add_result(struct builder *b, const struct pugmark_site *site,
		      const struct import_row *row, const char *import, uint8_t flags, bool clock)
{
	uint32_t behind = pugmark_model_block_at(b->model, site->return_addr);
	struct outputs by_args, alone, *outputs = &by_args;
	struct wanted w, w_alone;

	if (behind == PUGMARK_NONE || b->model->blocks[behind].addr != site->return_addr)
		return 0;
	const struct pugmark_block *block = &b->model->blocks[behind];
	outputs_of(b, row, &by_args);
	const struct pugmark_insn *insn = choose_behind(b, block, &by_args, &w);
	if (by_args.by_args && !(flags & PLACE_TAIL)) {
		without_args(b, site, &by_args, &alone);
		const struct pugmark_insn *other = choose_behind(b, block, &alone, &w_alone);
		bool cheap = other && other->probe == PUGMARK_PROBE_EMULATED;
		if (!alone.by_args && other &&
		    (cheap || !insn || insn->probe != PUGMARK_PROBE_EMULATED)) {
			outputs = &alone;
			insn = other;
			w = w_alone;
		}
	}
	if (!insn)
		return 0;
	/* What a function that jumps on hands over it says itself (add_site()). */
	int err = outputs->by_args && !(flags & PLACE_TAIL) ? add_call(b, site, clock) : 0;
	uint32_t first = b->list->n_outputs;
	err = err ? err : add_outputs(b->list, outputs);
	struct place_site *p = err ? NULL : add(b, insn);
	if (!p)
		return -ENOMEM;
	p->desc.output = first;
	p->desc.n_outputs = outputs->n;
	p->desc.roles = ROLE_RESULT;
	p->desc.asks_time = clock;
	p->desc.no_rax = !(w.there & RAX);
	if (!strcmp(import, "__errno_location") && w.there & RAX)
		p->desc.roles |= ROLE_ERRNO;
	p->place.kinds = 1 << CAPTURE_RESULT;
	p->place.flags = flags;
	/* Few functions return anything in rdx: div() and what nothing is known of. */
	if (w.there & RAX && w.there & RDX && (!row || strstr(import, "div"))) {
		p->place.flags |= PLACE_RDX;
		p->desc.roles |= ROLE_RDX;
	}
	p->place.site = site->addr;
	p->place.site_next = site->return_addr;
	p->place.import = import;
	return 0;
}

/* All registers, wherever control comes from to the block @index. */
static int add_landing(struct builder *b, uint32_t index)
{
	struct wanted w = {.keep = 0xffff, .limit = 1};
	const struct pugmark_insn *insn = choose(b, &b->model->blocks[index], &w);

	if (!insn)
		return 0;
	struct place_site *p = add(b, insn);
	if (!p)
		return -ENOMEM;
	p->desc.roles = ROLE_LAND;
	p->place.kinds = 1 << CAPTURE_ENTER;
	p->place.flags = PLACE_FULL;
	return 0;
}

static int add_site(struct builder *b, const struct pugmark_site *site)
{
	const struct import_row *row = NULL;
	const char *import = "";
	uint8_t flags = 0;
	bool clock = false;

	if (!leaving_by(b->leaving, site, &row, &import, &flags, &clock))
		return 0;
	if (site->kind == PUGMARK_SITE_TAIL) /* what is behind its function's callers is theirs */
		return row && row->kind == IMPORT_OUTPUT ? add_call(b, site, clock) : 0;
	if (site->flags & PUGMARK_SITE_NORETURN)
		return 0;
	if (site->flags & (PUGMARK_SITE_RETURNS_TWICE | PUGMARK_SITE_SWITCHES)) {
		uint32_t behind = pugmark_model_block_at(b->model, site->return_addr);
		return behind == PUGMARK_NONE ? 0 : add_landing(b, behind);
	}
	return add_result(b, site, row, import, flags, clock);
}

static int add_entry(struct builder *b, const struct pugmark_func *func)
{
	const struct pugmark_block *block = &b->model->blocks[func->block];
	struct wanted w = {.limit = ENTRY_SKIP};

	if (!func->n_blocks || func->flags & PUGMARK_FUNC_IFUNC ||
	    !(b->options->is_entered
		      ? b->options->is_entered(b->options->ctx, func->addr)
		      : func->flags & (PUGMARK_FUNC_ADDRESS_TAKEN | PUGMARK_FUNC_MAYBE_TAKEN |
				       PUGMARK_FUNC_UNCALLED | PUGMARK_FUNC_EXPORTED)))
		return 0;
	const struct pugmark_insn *insn = choose(b, block, &w);
	if (!insn)
		return 0;
	struct pugmark_cfa cfa = pugmark_model_cfa_at(b->model, b->model->text_addr + insn->off);
	if (cfa.reg != PUGMARK_CFA_SP) { /* then where the return address lies is not known */
		w.limit = 1;
		insn = choose(b, block, &w);
		cfa = (struct pugmark_cfa){.offset = 8, .reg = PUGMARK_CFA_SP};
		if (!insn)
			return 0;
	}
	struct place_site *p = add(b, insn);
	if (!p)
		return -ENOMEM;
	p->desc.roles = ROLE_ENTER;
	p->desc.cfa_off = cfa.offset;
	p->place.kinds = 1 << CAPTURE_ENTER;
	return 0;
}

/* Behind what nothing tells the result of. */
static int add_untold(struct builder *b, const struct pugmark_block *block)
{
	for (uint32_t i = 0; i < block->n_insns; i++) {
		const struct pugmark_insn *insn = &b->model->insns[block->insn + i];
		struct effects e;

		/* All of them are at most 4 bytes long and change no control flow. */
		if (insn->kind != PUGMARK_INSN_OTHER || insn->len > 5 || !read_effects(b, insn, &e))
			continue;
		/* The one behind it may be the first of another block: a record of all registers
		 * would be taken for an entry where another way leads there. */
		bool all_regs = (e.writes & ~(RAX | RCX | RDX | RBX)) != 0;
		bool followed = i + 1 < block->n_insns ||
				(!all_regs && block->insn + i + 1 < b->model->n_insns &&
				 insn[1].off == insn->off + insn->len);
		if (!e.untold || !followed || !can_probe(insn + 1))
			continue;
		struct place_site *p = add(b, insn + 1);
		if (!p)
			return -ENOMEM;
		p->desc.roles = ROLE_INSN;
		p->desc.all_regs = all_regs;
		p->place.kinds = 1 << CAPTURE_INSN;
		p->place.site = b->model->text_addr + insn->off;
		p->place.site_next = p->place.addr;
	}
	return 0;
}

static int by_addr(const void *a, const void *b)
{
	const struct place_site *x = a, *y = b;

	if (x->place.addr != y->place.addr)
		return x->place.addr < y->place.addr ? -1 : 1;
	/* The one that names a call first: it is kept. */
	return (y->desc.roles & ROLE_RESULT) - (x->desc.roles & ROLE_RESULT);
}

/* What is wanted at one address is one place, from number @first on. */
static void merge(struct place_list *l, uint32_t first)
{
	uint32_t n = first;

	if (l->n > first)
		qsort(l->at + first, l->n - first, sizeof(*l->at), by_addr);
	for (uint32_t i = first; i < l->n; i++) {
		struct place_site *last = n > first ? &l->at[n - 1] : NULL;

		if (!last || last->place.addr != l->at[i].place.addr) {
			l->at[n++] = l->at[i];
			continue;
		}
		last->desc.roles |= l->at[i].desc.roles;
		last->desc.asks_time |= l->at[i].desc.asks_time;
		last->desc.all_regs |= l->at[i].desc.all_regs;
		last->place.kinds |= l->at[i].place.kinds;
		last->place.flags |= l->at[i].place.flags;
		if (l->at[i].desc.roles & ROLE_ENTER)
			last->desc.cfa_off = l->at[i].desc.cfa_off;
	}
	l->n = n;
}

int places_add(const struct pugmark_model *model, const struct places_options *options,
	       struct place_list *list)
{
	struct builder b = {.model = model, .options = options, .list = list};
	uint32_t first = list->n;
	int err = leaving_new(model, options, &b.leaving);

	if (!err)
		err = data_symbols_open(model->path, &b.symbols);
	ZydisDecoderInit(&b.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (uint32_t i = 0; !err && i < model->n_sites; i++)
		err = add_site(&b, &model->sites[i]);
	for (uint32_t i = 0; !err && i < model->n_funcs; i++)
		err = add_entry(&b, &model->funcs[i]);
	for (uint32_t i = 0; !err && i < model->n_blocks; i++) {
		if (model->blocks[i].flags & PUGMARK_BLOCK_LANDING_PAD)
			err = add_landing(&b, i);
		if (!err)
			err = add_untold(&b, &model->blocks[i]);
	}
	if (!err)
		merge(list, first);
	data_symbols_free(b.symbols);
	leaving_free(b.leaving);
	return err;
}

void places_deinit(struct place_list *list)
{
	free(list->at);
	free(list->outputs);
	*list = (struct place_list){0};
}

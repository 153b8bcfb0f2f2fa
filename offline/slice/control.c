// SPDX-License-Identifier: LGPL-2.1-or-later
/* control.c: see control.h. */
#include "offline/slice/control.h"

#include "offline/slice/postdom.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What is open: a jump, or (@call) an activation. */
struct open {
	uint32_t item; /* 1 + that of the jump or the call; 0: from outside */
	bool call;
	uint32_t id;	/* of an activation by a signal */
	uint64_t until; /* the address where the ways meet, or where the call returns to */
};

struct walk {
	struct slice_control *c;
	const struct slice_module *modules;
	uint32_t n_modules;
	uint32_t ***postdoms; /* by module and function, made when asked for */
	uint64_t **ends;      /* by module: a bit a block: the ways of some jump meet there */
	uint64_t **looked;    /* by module: a bit a function: its blocks are in @ends */
	struct open *open;
	size_t n, room;
	bool left; /* the last block ended in a return, and nothing was called since */
	bool no_memory;
};

/* --- the static part ------------------------------------------------------------------------- */

static bool bit(const uint64_t *bits, uint32_t i)
{
	return bits[i / 64] >> i % 64 & 1;
}

static void set(uint64_t *bits, uint32_t i)
{
	bits[i / 64] |= (uint64_t)1 << i % 64;
}

static bool is_jump(const struct pugmark_block *b)
{
	return b->end == PUGMARK_END_JCC || b->end == PUGMARK_END_TABLE ||
	       b->end == PUGMARK_END_OPEN;
}

/* The postdominators of the function; at first it notes where the ways of its jumps meet. */
static const uint32_t *postdoms_of(struct walk *w, uint32_t m, uint32_t func)
{
	const struct pugmark_model *model = w->modules[m].model;
	const struct pugmark_func *f = &model->funcs[func];
	uint32_t **kept = &w->postdoms[m][func];
	if (bit(w->looked[m], func))
		return *kept;
	set(w->looked[m], func);
	*kept = postdom_new(model, func);
	w->no_memory |= !*kept;
	for (uint32_t b = 0; *kept && b < f->n_blocks; b++)
		if (is_jump(&model->blocks[f->block + b]) && (*kept)[b] < f->n_blocks)
			set(w->ends[m], f->block + (*kept)[b]);
	return *kept;
}

/* The block of a model that holds the run-time address @addr. */
static bool find(struct walk *w, uint64_t addr, uint32_t *module, uint32_t *block)
{
	for (uint32_t m = 0; m < w->n_modules; m++) {
		const struct pugmark_model *model = w->modules[m].model;
		uint64_t elf = addr - w->modules[m].bias;
		if (!model || elf < model->text_addr || elf >= model->text_end)
			continue;
		*module = m;
		*block = pugmark_model_block_at(model, elf);
		return *block != PUGMARK_NONE;
	}
	return false;
}

static void look_at_end(struct walk *w, const struct dep_block *b, struct control_segments *s)
{
	const struct dep_insn *last = &b->insns[b->n_insns - 1];
	uint32_t m, block;
	if (!last->predicate || !find(w, b->ip + last->ip_off, &m, &block))
		return;
	const struct pugmark_model *model = w->modules[m].model;
	const struct pugmark_block *at = &model->blocks[block];
	const struct pugmark_func *f = &model->funcs[at->func];
	const uint32_t *up = postdoms_of(w, m, at->func);
	if (!is_jump(at) || !up)
		return;
	uint32_t meet = up[block - f->block];
	s->decides = true;
	s->ends = meet < f->n_blocks ? model->blocks[f->block + meet].addr + w->modules[m].bias : 0;
}

static struct control_segments *segments(struct walk *w, uint32_t number)
{
	struct control_segments *s = &w->c->blocks[number];
	const struct dep_block *b = w->c->trace->blocks[number];
	uint8_t at[VALUE_BLOCK_INSNS];
	if (s->known)
		return s;
	s->known = true;
	if (!b->n_insns)
		return s;
	look_at_end(w, b, s);
	for (unsigned i = 0; i < b->n_insns && i < VALUE_BLOCK_INSNS; i++) {
		uint32_t m, block;
		uint64_t ip = b->ip + b->insns[i].ip_off;
		if (!find(w, ip, &m, &block))
			continue;
		const struct pugmark_block *in = &w->modules[m].model->blocks[block];
		if (in->addr + w->modules[m].bias == ip && postdoms_of(w, m, in->func) &&
		    bit(w->ends[m], block) && i)
			at[s->n++] = i;
	}
	s->at = s->n ? malloc(s->n) : NULL;
	if (s->at)
		memcpy(s->at, at, s->n);
	else
		w->no_memory |= s->n;
	s->n = s->at ? s->n : 0;
	return s;
}

/* --- the walk -------------------------------------------------------------------------------- */

static void push(struct walk *w, struct open o)
{
	if (w->n == w->room) {
		size_t room = 2 * w->room + 256;
		struct open *open = realloc(w->open, room * sizeof(*open));
		if (!open) {
			w->no_memory = true;
			return;
		}
		w->open = open;
		w->room = room;
	}
	w->open[w->n++] = o;
}

static void write_parent(struct walk *w)
{
	struct slice_control *c = w->c;
	if (c->n_parents == c->room_parents) {
		uint64_t room = 2 * c->room_parents + 4096;
		uint32_t *parents = realloc(c->parents, room * sizeof(*parents));
		if (!parents) {
			w->no_memory = true;
			return;
		}
		c->parents = parents;
		c->room_parents = room;
	}
	c->parents[c->n_parents++] = w->n ? w->open[w->n - 1].item : 0;
}

/* The ways of jumps meet here. */
static void arrive(struct walk *w, uint64_t ip)
{
	while (w->n && !w->open[w->n - 1].call && w->open[w->n - 1].until == ip)
		w->n--;
}

/* Control comes to @ip from a return or from outside: the activations above end. */
static void come_back(struct walk *w, uint64_t ip)
{
	for (size_t i = w->n; i-- > 0;)
		if (w->open[i].call && w->open[i].until == ip) {
			w->n = i;
			return;
		}
}

static void end_signal(struct walk *w, uint32_t id)
{
	for (size_t i = w->n; i-- > 0;)
		if (w->open[i].call && w->open[i].id == id) {
			w->n = i;
			return;
		}
}

static void take_event(struct walk *w, const struct dep_event *e)
{
	/* The activation that was entered from outside before has returned there. */
	if (e->kind == DEP_ENTER && w->left)
		come_back(w, 0);
	write_parent(w);
	w->left &= e->kind == DEP_KERNEL || e->kind == DEP_OUTSIDE;
	if (e->kind == DEP_ENTER)
		push(w, (struct open){.item = w->n ? w->open[w->n - 1].item : 0, .call = true});
	else if (e->kind == DEP_SIGNAL)
		push(w, (struct open){.call = true, .id = e->id});
	else if (e->kind == DEP_SIGNAL_END)
		end_signal(w, e->id);
}

static void take_block(struct walk *w, uint32_t item, uint32_t number, bool returned)
{
	const struct dep_block *b = w->c->trace->blocks[number];
	const struct control_segments *s = segments(w, number);
	const struct dep_insn *last = &b->insns[b->n_insns - 1];
	w->left = b->last_kind == VALUE_INSN_RET;
	if (returned)
		come_back(w, b->ip);
	arrive(w, b->ip);
	write_parent(w);
	for (unsigned i = 0; i < s->n; i++) {
		arrive(w, b->ip + b->insns[s->at[i]].ip_off);
		write_parent(w);
	}
	if (b->last_kind == VALUE_INSN_CALL || b->last_kind == VALUE_INSN_CALL_IND) {
		const struct value_insn *call = &b->block->insns[b->n_insns - 1];
		push(w,
		     (struct open){.item = item + 1, .call = true, .until = call->ip + call->len});
	} else if (s->decides) {
		struct open *top = w->n ? &w->open[w->n - 1] : NULL;
		/* The next round of a loop takes the place of the one before. */
		if (top && !top->call && top->until == s->ends)
			top->item = item + 1;
		else
			push(w, (struct open){.item = item + 1, .until = s->ends});
	} else {
		w->c->unknown += last->predicate;
	}
}

static void walk(struct walk *w)
{
	const struct dep_trace *t = w->c->trace;
	bool returned = true;
	for (uint64_t i = 0; i < t->items.n && !w->no_memory; i++) {
		uint32_t item = t->items.at[i];
		if (i % CONTROL_EVERY == 0)
			w->c->marks[i / CONTROL_EVERY] = w->c->n_parents;
		if (item & DEP_ITEM_EVENT) {
			take_event(w, &t->events[item & ~DEP_ITEM_EVENT]);
			returned = true;
		} else if (t->blocks[item]->n_insns) {
			take_block(w, i, item, returned);
			returned = t->blocks[item]->last_kind == VALUE_INSN_RET;
		} else {
			write_parent(w);
		}
	}
	write_parent(w); /* of what would be next */
}

/* --- all of it ------------------------------------------------------------------------------- */

static bool prepare(struct walk *w)
{
	struct slice_control *c = w->c;
	c->blocks = calloc(c->trace->n_blocks + 1, sizeof(*c->blocks));
	c->marks = calloc(c->trace->items.n / CONTROL_EVERY + 1, sizeof(*c->marks));
	w->postdoms = calloc(w->n_modules + 1, sizeof(*w->postdoms));
	w->ends = calloc(w->n_modules + 1, sizeof(*w->ends));
	w->looked = calloc(w->n_modules + 1, sizeof(*w->looked));
	if (!c->blocks || !c->marks || !w->postdoms || !w->ends || !w->looked)
		return false;
	for (uint32_t m = 0; m < w->n_modules; m++) {
		const struct pugmark_model *model = w->modules[m].model;
		if (!model)
			continue;
		w->postdoms[m] = calloc(model->n_funcs + 1, sizeof(*w->postdoms[m]));
		w->ends[m] = calloc(model->n_blocks / 64 + 1, sizeof(*w->ends[m]));
		w->looked[m] = calloc(model->n_funcs / 64 + 1, sizeof(*w->looked[m]));
		if (!w->postdoms[m] || !w->ends[m] || !w->looked[m])
			return false;
	}
	return true;
}

static void clean_up(struct walk *w)
{
	for (uint32_t m = 0; m < w->n_modules; m++) {
		for (uint32_t f = 0;
		     w->postdoms && w->postdoms[m] && f < w->modules[m].model->n_funcs; f++)
			free(w->postdoms[m][f]);
		if (w->postdoms)
			free(w->postdoms[m]);
		if (w->ends)
			free(w->ends[m]);
		if (w->looked)
			free(w->looked[m]);
	}
	free(w->postdoms);
	free(w->ends);
	free(w->looked);
	free(w->open);
}

int slice_control_new(const struct dep_trace *trace, const struct slice_module *modules,
		      uint32_t n_modules, struct slice_control **out)
{
	struct walk w = {.modules = modules, .n_modules = n_modules};
	w.c = calloc(1, sizeof(*w.c));
	if (!w.c)
		return -ENOMEM;
	w.c->trace = trace;
	if (prepare(&w))
		walk(&w);
	else
		w.no_memory = true;
	clean_up(&w);
	if (w.no_memory) {
		slice_control_free(w.c);
		return -ENOMEM;
	}
	*out = w.c;
	return 0;
}

void slice_control_free(struct slice_control *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; c->blocks && i < c->trace->n_blocks; i++)
		free(c->blocks[i].at);
	free(c->blocks);
	free(c->parents);
	free(c->marks);
	free(c);
}

uint64_t control_words_before(const struct slice_control *c, uint64_t item)
{
	uint64_t word = c->marks[item / CONTROL_EVERY];
	for (uint64_t i = item - item % CONTROL_EVERY; i < item; i++)
		word += control_words(c, c->trace->items.at[i]);
	return word;
}

uint32_t slice_control_parent(const struct slice_control *c, uint64_t count)
{
	const struct dep_trace *t = c->trace;
	const struct dep_mark *m = dep_trace_mark(t, count);
	uint64_t item = m ? m->item : 0, at = m ? m->count : 0;
	uint64_t word = control_words_before(c, item);
	for (; item < t->items.n; item++) {
		uint32_t it = t->items.at[item];
		if (it & DEP_ITEM_EVENT) {
			at = t->events[it & ~DEP_ITEM_EVENT].count;
			word++;
			continue;
		}
		const struct control_segments *s = &c->blocks[it];
		if (at + t->blocks[it]->n_insns > count) {
			for (unsigned i = 0; i < s->n && at + s->at[i] <= count; i++)
				word++;
			return c->parents[word];
		}
		at += t->blocks[it]->n_insns;
		word += 1 + s->n;
	}
	return c->parents[c->n_parents - 1];
}

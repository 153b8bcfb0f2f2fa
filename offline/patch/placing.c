// SPDX-License-Identifier: LGPL-2.1-or-later
/* placing.c: see placing.h. */
#include "offline/patch/placing.h"

#include "offline/patch/layout.h"
#include "offline/patch/liveness.h"
#include "offline/patch/span.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { JUMP_BYTES = 5, SHORT_JUMP_BYTES = 2 };

struct finder {
	const struct pugmark_model *model;
	const struct pugmark_plan_site *sites;
	struct liveness *live;
	struct spans *spans;
	uint32_t *by_addr; /* sites in the order of their addresses */
	struct patch_placing *out;
	bool moves; /* all else has been tried: instructions may move for what has no place */
};

static const uint8_t *bytes_of(const struct pugmark_model *m, const struct pugmark_insn *insn)
{
	size_t len;
	const uint8_t *at = pugmark_model_bytes(m, m->text_addr + insn->off, &len);

	return at && len >= insn->len ? at : NULL;
}

/* Prefixes that mean something to a call or jump beside what they mean to its length. */
static bool has_prefix(const uint8_t *bytes)
{
	return memchr("\x66\x67\x2e\x3e\x26\x36\x64\x65\xf0\xf2\xf3", bytes[0], 11) != NULL;
}

/* What becomes of @insn if it is patched. */
static enum patch_form form_of(const struct pugmark_model *m, const struct pugmark_insn *insn)
{
	const uint8_t *b = bytes_of(m, insn);

	if (!b || insn->len < JUMP_BYTES || insn->probe == PUGMARK_PROBE_REFUSED)
		return PATCH_NONE;
	switch (insn->kind) {
	case PUGMARK_INSN_CALL:
		return insn->len == 5 && b[0] == 0xe8 ? PATCH_CALL : PATCH_NONE;
	case PUGMARK_INSN_JMP:
		return insn->len == 5 && b[0] == 0xe9 ? PATCH_JMP : PATCH_NONE;
	case PUGMARK_INSN_JCC:
		return insn->len == 6 && b[0] == 0x0f ? PATCH_JCC : PATCH_NONE;
	case PUGMARK_INSN_CALL_IND:
		return !has_prefix(b) ? PATCH_CALL_IND : PATCH_NONE;
	case PUGMARK_INSN_JMP_IND:
		return has_prefix(b) ? PATCH_NONE : PATCH_JMP_IND;
	case PUGMARK_INSN_OTHER:
		return PATCH_INSN;
	default:
		return PATCH_NONE;
	}
}

/* Whether @form can tell what @site asks for. */
static bool tells(const struct pugmark_plan_site *site, enum patch_form form, bool own)
{
	if (site->capture & PUGMARK_CAPTURE_FLAGS)
		return own && form == PATCH_JCC;
	if (site->capture & PUGMARK_CAPTURE_TARGET)
		return own && (form == PATCH_CALL_IND || form == PATCH_JMP_IND);
	return form != PATCH_NONE;
}

/* Fills the frame of @p: what the probe's event would say is to be said from here. */
static bool set_frame(const struct finder *f, const struct pugmark_plan_site *site,
		      struct patch_place *p)
{
	struct pugmark_cfa at = {.reg = site->cfa_reg, .offset = site->cfa_off};

	if (p->other)
		at = pugmark_model_cfa_at(f->model, p->addr);
	if (site->cfa_reg == PUGMARK_CFA_UNKNOWN) {
		p->by_bp = false;
		p->cfa_off = 0;
		return !p->other;
	}
	int32_t above = at.offset - site->cfa_off;

	p->by_bp = at.reg == PUGMARK_CFA_BP;
	p->cfa_off = at.offset;
	p->words = above / 8;
	/* What runs into the probe of the runtime is told by the frame of the witness. */
	return at.reg == site->cfa_reg && above % 8 == 0 &&
	       abs(above / 8) <= PATCH_RARE_WORDS_MAX && (!above || !p->by_bp);
}

static bool try_insn(const struct finder *f, const struct pugmark_plan_site *site, uint32_t block,
		     uint32_t i, bool own, struct patch_place *p)
{
	const struct pugmark_model *m = f->model;
	const struct pugmark_insn *insn = &m->insns[i];
	struct patch_place found = {
		.addr = m->text_addr + insn->off,
		.len = insn->len,
		.code_len = insn->len,
		.form = form_of(m, insn),
		.other = !own,
		.cond = insn->cond,
	};

	if (!tells(site, found.form, own) || !set_frame(f, site, &found))
		return false;
	found.live = liveness_before(f->live, block, i);
	found.live_after = liveness_after(f->live, block);
	*p = found;
	return true;
}

static bool is_out_of_reach(const struct pugmark_model *m, uint32_t block)
{
	uint32_t flags = m->funcs[m->blocks[block].func].flags;

	return flags & (PUGMARK_FUNC_OPAQUE | PUGMARK_FUNC_SIGNAL_FRAME | PUGMARK_FUNC_NO_CFI);
}

static const struct pugmark_plan_site *neighbour(const struct finder *f, uint32_t k, int step)
{
	uint32_t at = k + step;

	return at < f->out->n ? &f->sites[f->by_addr[at]] : NULL;
}

/* The bytes of the block that @site number @k (by address) may have patched: those between what
 * belongs to the witnesses before and behind it, so that those of one block keep their order. */
static struct span_range range_of(const struct finder *f, uint32_t k, uint32_t block)
{
	const struct pugmark_block *b = &f->model->blocks[block];
	const struct pugmark_plan_site *before = neighbour(f, k, -1), *after = neighbour(f, k, 1);
	struct span_range r = {b->addr, b->addr + b->size};

	if (before && before->addr >= r.from) {
		const struct patch_place *p = &f->out->places[f->by_addr[k - 1]];

		r.from = before->addr + 1;
		if (p->form && p->addr + p->len > r.from)
			r.from = p->addr + p->len;
	}
	if (after && after->addr < r.to) {
		const struct patch_place *p = &f->out->places[f->by_addr[k + 1]];

		r.to = after->addr;
		if (p->form && p->addr >= b->addr && p->addr < r.to)
			r.to = p->addr;
	}
	return r;
}

/* The instruction next to the witness's own that can carry it. */
static bool try_others(const struct finder *f, uint32_t k, uint32_t block, uint32_t own,
		       struct patch_place *p)
{
	const struct pugmark_model *m = f->model;
	const struct pugmark_block *b = &m->blocks[block];
	const struct pugmark_plan_site *site = &f->sites[f->by_addr[k]];
	struct span_range r = range_of(f, k, block);

	for (uint32_t step = 1; step < b->n_insns; step++) {
		for (int up = 1; up >= 0; up--) {
			uint32_t i = up ? own + step : own - step;
			uint64_t addr;

			if (i < b->insn || i >= b->insn + b->n_insns)
				continue;
			addr = m->text_addr + m->insns[i].off;
			if (addr >= r.from && addr < r.to && try_insn(f, site, block, i, false, p))
				return true;
		}
	}
	return false;
}

/* Several instructions, with the witness's own among them or not: @event is the one that the event
 * is of. */
static bool try_span(const struct finder *f, uint32_t k, uint32_t block, uint32_t event, bool own,
		     uint8_t needed, struct patch_place *p)
{
	const struct pugmark_plan_site *site = &f->sites[f->by_addr[k]];
	struct patch_place found = {.addr = f->model->text_addr + f->model->insns[event].off,
				    .other = !own};
	bool last = site->capture & (PUGMARK_CAPTURE_FLAGS | PUGMARK_CAPTURE_TARGET);

	if (!set_frame(f, site, &found) ||
	    !spans_find(f->spans, block, event, last, needed, range_of(f, k, block), &found) ||
	    !tells(site, found.form, own))
		return false;
	if (needed < JUMP_BYTES && !f->moves)
		found.island = spans_island(f->spans, found.addr);
	else if (needed < JUMP_BYTES)
		spans_make_room(f->spans, &found);
	if (needed < JUMP_BYTES && !found.island)
		return false;
	if (found.room)
		spans_hold(f->spans, found.room, found.room + found.room_len);
	spans_take(f->spans, found.addr + found.code_len, found.addr + found.len);
	if (found.island)
		spans_take(f->spans, found.island, found.island + JUMP_BYTES);
	found.live = liveness_before(f->live, block, event);
	found.live_after = liveness_after(f->live, block);
	*p = found;
	return true;
}

static bool try_spans(const struct finder *f, uint32_t k, uint32_t block, uint32_t own,
		      uint8_t needed, struct patch_place *p)
{
	const struct pugmark_block *b = &f->model->blocks[block];

	if (try_span(f, k, block, own, true, needed, p))
		return true;
	for (uint32_t i = b->insn; i < b->insn + b->n_insns; i++)
		if (i != own && try_span(f, k, block, i, false, needed, p))
			return true;
	return false;
}

/* The conditional jump in front of the block, which is entered by falling through that alone. */
static bool try_edge(const struct finder *f, uint32_t k, uint32_t block, struct patch_place *p)
{
	const struct pugmark_plan_site *site = &f->sites[f->by_addr[k]];
	uint32_t from = spans_fallen_from(f->spans, block);
	struct patch_place found;

	if (from == PUGMARK_NONE)
		return false;
	const struct pugmark_block *b = &f->model->blocks[from];
	uint32_t jump = b->insn + b->n_insns - 1;
	struct span_range r = range_of(f, k, from);
	bool single = f->model->text_addr + f->model->insns[jump].off >= r.from &&
		      try_insn(f, site, from, jump, false, &found);

	if ((!single && !try_span(f, k, from, jump, false, JUMP_BYTES, &found)) ||
	    found.form != PATCH_JCC)
		return false;
	found.edge = true;
	*p = found;
	return true;
}

static uint32_t insn_at(const struct pugmark_model *m, uint32_t block, uint64_t addr)
{
	const struct pugmark_block *b = &m->blocks[block];

	for (uint32_t i = b->insn; i < b->insn + b->n_insns; i++)
		if (m->text_addr + m->insns[i].off == addr)
			return i;
	return PUGMARK_NONE;
}

/* Whether a probe has to read the site in @block for its stack. Behind setjmp the trampoline can
 * tell by eax whether this event needs one, unless flags are live there: it keeps those in eax. */
static bool needs_probe(const struct finder *f, const struct pugmark_plan_site *site,
			uint32_t block)
{
	if (!(site->capture & PUGMARK_CAPTURE_STACK))
		return false;
	if (!(site->capture & PUGMARK_CAPTURE_IF_AGAIN) || block == PUGMARK_NONE)
		return true;
	const struct pugmark_block *b = &f->model->blocks[block];
	for (uint32_t i = b->insn; i < b->insn + b->n_insns; i++)
		if (liveness_before(f->live, block, i) & LIVE_FLAGS &&
		    f->model->insns[i].kind != PUGMARK_INSN_JCC)
			return true;
	return (liveness_after(f->live, block) & LIVE_FLAGS) != 0;
}

static void find_place(const struct finder *f, uint32_t k)
{
	const struct pugmark_plan_site *site = &f->sites[f->by_addr[k]];
	struct patch_place *p = &f->out->places[f->by_addr[k]];
	uint32_t block = pugmark_model_block_at(f->model, site->addr);
	uint32_t own = block == PUGMARK_NONE ? PUGMARK_NONE : insn_at(f->model, block, site->addr);

	p->addr = site->addr;
	p->reason = PATCH_SHORT;
	if (site->reads & ~PUGMARK_READS_TIME || needs_probe(f, site, block))
		p->reason = PATCH_READS;
	else if (own == PUGMARK_NONE || is_out_of_reach(f->model, block))
		p->reason = PATCH_UNKNOWN;
	else if (try_insn(f, site, block, own, true, p))
		f->out->n_own++;
	else if (try_others(f, k, block, own, p))
		f->out->n_other++;
	else if (try_spans(f, k, block, own, JUMP_BYTES, p))
		f->out->n_span++;
	else if (try_spans(f, k, block, own, SHORT_JUMP_BYTES, p))
		f->out->n_island++;
	else if (try_edge(f, k, block, p))
		f->out->n_edge++;
	f->out->n_found += p->form != PATCH_NONE;
	f->out->n_by_reason[p->reason]++;
}

/* A witness may be where nothing seems to lead to. */
static void keep_block(const struct finder *f, uint32_t k)
{
	uint32_t block = pugmark_model_block_at(f->model, f->sites[k].addr);

	if (block != PUGMARK_NONE)
		spans_take(f->spans, f->model->blocks[block].addr,
			   f->model->blocks[block].addr + f->model->blocks[block].size);
}

/* What is patched stays where it is, and so does whatever is in the block of a witness that has no
 * place yet. */
static void hold_places(const struct finder *f)
{
	for (uint32_t k = 0; k < f->out->n; k++) {
		const struct patch_place *p = &f->out->places[k];
		uint32_t b = pugmark_model_block_at(f->model, f->sites[k].addr);

		if (b == PUGMARK_NONE)
			continue;
		spans_hold(f->spans, f->sites[k].addr, f->sites[k].addr + 1);
		if (p->form)
			spans_hold(f->spans, p->addr, p->addr + p->len);
		else
			spans_hold(f->spans, f->model->blocks[b].addr,
				   f->model->blocks[b].addr + f->model->blocks[b].size);
		if (p->form && p->island)
			spans_hold(f->spans, p->island, p->island + JUMP_BYTES);
	}
}

/* Moves instructions near what has no place. */
static void make_room(struct finder *f)
{
	f->moves = true;
	hold_places(f);
	for (uint32_t k = 0; k < f->out->n; k++) {
		const struct pugmark_plan_site *site = &f->sites[f->by_addr[k]];
		struct patch_place *p = &f->out->places[f->by_addr[k]];
		uint32_t block, own;

		if (p->form || p->reason != PATCH_SHORT)
			continue;
		block = pugmark_model_block_at(f->model, site->addr);
		own = insn_at(f->model, block, site->addr);
		if (!try_spans(f, k, block, own, SHORT_JUMP_BYTES, p))
			continue;
		spans_hold(f->spans, p->addr, p->addr + p->len);
		f->out->n_room++;
		f->out->n_found++;
		f->out->n_by_reason[PATCH_SHORT]--;
		f->out->n_by_reason[p->reason]++;
	}
}

static int by_address(const void *a, const void *b, void *ctx)
{
	const struct pugmark_plan_site *sites = ctx;
	uint64_t x = sites[*(const uint32_t *)a].addr, y = sites[*(const uint32_t *)b].addr;

	return x < y ? -1 : x > y;
}

int patch_placing_find(const struct pugmark_model *model, const struct pugmark_plan_site *sites,
		       uint32_t n_sites, struct patch_placing *out)
{
	struct finder f = {.model = model, .sites = sites, .out = out};
	int err = liveness_new(model, &f.live);

	if (!err)
		err = spans_new(model, &f.spans);
	*out = (struct patch_placing){.n = n_sites};
	f.by_addr = calloc(n_sites + 1, sizeof(*f.by_addr));
	out->places = calloc(n_sites + 1, sizeof(*out->places));
	if (!f.by_addr || !out->places)
		err = -ENOMEM;
	for (uint32_t i = 0; !err && i < n_sites; i++)
		f.by_addr[i] = i;
	if (!err)
		qsort_r(f.by_addr, n_sites, sizeof(*f.by_addr), by_address, (void *)sites);
	for (uint32_t k = 0; !err && k < n_sites; k++)
		keep_block(&f, k);
	for (uint32_t k = 0; !err && k < n_sites; k++)
		find_place(&f, k);
	if (!err)
		make_room(&f);
	liveness_free(f.live);
	spans_free(f.spans);
	free(f.by_addr);
	if (err)
		patch_placing_deinit(out);
	return err;
}

/* Whether several instructions, with @event among them (as the last one: @last), make a place. */
static bool spans_carry(const struct finder *f, uint32_t block, uint32_t event, bool last)
{
	const struct pugmark_block *b = &f->model->blocks[block];
	struct span_range whole = {b->addr, b->addr + b->size};
	struct patch_place found = {0};

	return spans_find(f->spans, block, event, last, JUMP_BYTES, whole, &found);
}

static bool edge_carries(const struct finder *f, uint32_t block)
{
	uint32_t from = spans_fallen_from(f->spans, block);

	if (from == PUGMARK_NONE)
		return false;
	uint32_t jump = f->model->blocks[from].insn + f->model->blocks[from].n_insns - 1;
	return form_of(f->model, &f->model->insns[jump]) == PATCH_JCC ||
	       spans_carry(f, from, jump, false);
}

static void mark_possible(const struct finder *f, uint32_t block, uint8_t *out)
{
	const struct pugmark_block *b = &f->model->blocks[block];
	uint32_t last = b->insn + b->n_insns - 1;
	bool any = false;

	for (uint32_t i = b->insn; i <= last; i++)
		any |= out[i] = form_of(f->model, &f->model->insns[i]) != PATCH_NONE;
	for (uint32_t i = b->insn; !any && i <= last; i++)
		any = (out[i] = spans_carry(f, block, i, false));
	if (!any)
		any = (out[b->insn] = edge_carries(f, block));
	switch (f->model->insns[last].kind) {
	case PUGMARK_INSN_JCC:
	case PUGMARK_INSN_CALL_IND:
	case PUGMARK_INSN_JMP_IND:
		out[last] = form_of(f->model, &f->model->insns[last]) != PATCH_NONE ||
			    spans_carry(f, block, last, true);
		break;
	default: /* whatever tells that the block runs tells of its end */
		out[last] |= any;
	}
}

int patch_placing_possible(const struct pugmark_model *model, uint8_t **out)
{
	struct finder f = {.model = model};
	uint8_t *possible = calloc(model->n_insns + 1, sizeof(*possible));
	int err = possible ? spans_new(model, &f.spans) : -ENOMEM;

	for (uint32_t b = 0; !err && b < model->n_blocks; b++)
		if (model->blocks[b].n_insns && !is_out_of_reach(model, b))
			mark_possible(&f, b, possible);
	spans_free(f.spans);
	if (err)
		free(possible);
	else
		*out = possible;
	return err;
}

void patch_placing_deinit(struct patch_placing *placing)
{
	free(placing->places);
	*placing = (struct patch_placing){0};
}

const char *patch_reason_name(enum patch_reason reason)
{
	static const char *const names[] = {
		[PATCH_CAN] = "patched",	  [PATCH_SHORT] = "short", [PATCH_READS] = "reads",
		[PATCH_UNKNOWN] = "unknown code", [PATCH_UNFIT] = "unfit", [PATCH_MIXED] = "mixed",
	};

	return names[reason];
}

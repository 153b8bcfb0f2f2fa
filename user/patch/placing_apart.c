// SPDX-License-Identifier: LGPL-2.1-or-later
/* placing_apart.c: see placing_apart.h. */
#include "user/patch/placing_apart.h"

#include "offline/base/search.h"
#include "offline/base/vec.h"
#include "user/file/file_kept.h"
#include "user/sandbox/sandbox.h"

#include <pugmark/model.h>

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define PLACING_VERSION 1 /* raised when the same plan would be placed differently */

enum { JUMP_BYTES = 5, SHORT_JUMP_BYTES = 2, CONDITIONS = 16, FRAME_MAX = 1 << 30 };

/* What is asked; and, behind this, places and heights are what comes back. */
struct asked {
	const char *path;
	const struct pugmark_plan_site *sites;
	uint32_t n_sites;
};
struct found {
	uint32_t modelled, n_heights;
};
struct height_vec {
	struct patch_height *at;
	uint32_t n, max;
};

/* No frame is larger, and sums of these do not overflow. */
static bool is_offset(int32_t off)
{
	return off >= -FRAME_MAX && off <= FRAME_MAX;
}

/* ---- in the child ---- */

static int add_heights(const struct pugmark_model *model, uint64_t from, uint64_t to,
		       struct height_vec *heights)
{
	for (uint64_t at = from, end; at < to; at = end) {
		struct pugmark_cfa cfa = pugmark_model_cfa_from(model, at, &end);
		if (end <= at || end > to)
			end = end <= at ? at + 1 : to;
		struct patch_height row = {at, end, cfa.offset};
		if (cfa.reg == PUGMARK_CFA_SP && is_offset(cfa.offset) && !VEC_PUSH(heights, row))
			return -ENOMEM;
	}
	return 0;
}

static int by_addr(const void *a, const void *b)
{
	const struct patch_height *x = a, *y = b;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Those of several places may overlap, and say the same then. */
static void set_apart(struct height_vec *h)
{
	uint32_t n = 0;
	if (h->n)
		qsort(h->at, h->n, sizeof(*h->at), by_addr);
	for (uint32_t i = 0; i < h->n; i++) {
		struct patch_height row = h->at[i];
		if (n && row.addr < h->at[n - 1].end)
			row.addr = h->at[n - 1].end;
		if (row.addr < row.end)
			h->at[n++] = row;
	}
	h->n = n;
}

static int hand_back(const struct pugmark_model *model, const struct asked *a, FILE *out)
{
	struct height_vec heights = {0};
	struct patch_placing placing;
	int err = patch_placing_find(model, a->sites, a->n_sites, &placing);
	if (err)
		return err;
	for (uint32_t i = 0; !err && i < placing.n; i++) {
		struct patch_place *p = &placing.places[i];
		uint64_t own = a->sites[i].addr, end = p->addr + p->len;
		/* Go says of a frame that it never unwinds that it has a gigabyte. */
		if (p->form && !is_offset(p->cfa_off)) {
			p->form = PATCH_NONE;
			p->reason = PATCH_UNKNOWN;
		}
		if (p->form)
			err = add_heights(model, own < p->addr ? own : p->addr,
					  own + 2 > end ? own + 2 : end, &heights);
	}
	set_apart(&heights);
	struct found f = {.modelled = 1, .n_heights = (uint32_t)heights.n};
	if (!err) {
		fwrite(&f, sizeof(f), 1, out);
		fwrite(placing.places, sizeof(*placing.places), placing.n, out);
		fwrite(heights.at, sizeof(*heights.at), heights.n, out);
	}
	free(heights.at);
	patch_placing_deinit(&placing);
	return err;
}

static int find_inside(void *ctx, FILE *out, struct pugmark_diag *diag)
{
	const struct asked *a = ctx;
	struct found none = {0};
	struct pugmark_model *model;
	if (pugmark_model_open(a->path, &model, diag)) {
		fwrite(&none, sizeof(none), 1, out);
		return 0;
	}
	int err = hand_back(model, a, out);
	pugmark_model_free(model);
	return err ? pugmark_diag_set(diag, err, a->path, PUGMARK_NO_OFFSET, "out of memory") : 0;
}

/* ---- in the process that asked ---- */

static bool is_within(const struct text_span *span, uint64_t addr, uint64_t len)
{
	return addr >= span->addr && addr < span->end && len <= span->end - addr;
}

/* @p has any bytes: what is a bool may be none. */
static bool are_bools(const struct patch_place *p)
{
	static const size_t at[] = {
		offsetof(struct patch_place, by_bp), offsetof(struct patch_place, other),
		offsetof(struct patch_place, span), offsetof(struct patch_place, edge)};
	for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++)
		if (((const uint8_t *)p)[at[i]] > 1)
			return false;
	return true;
}

static bool is_room_sound(const struct patch_place *p, const struct text_span *span)
{
	if (!p->room)
		return !p->room_len;
	return p->island == p->room + JUMP_BYTES && p->room_len >= 2 * JUMP_BYTES &&
	       p->room_len <= PATCH_BYTES_MAX && is_within(span, p->room, p->room_len);
}

/* Whether a patch can be made of it that stays in its bounds. */
static bool is_sound(const struct patch_place *p, const struct text_span *span)
{
	if (!are_bools(p) || p->form > PATCH_INSN || p->reason >= N_PATCH_REASONS)
		return false;
	if (p->form == PATCH_NONE)
		return p->reason != PATCH_CAN;
	if (p->edge && p->form != PATCH_JCC)
		return false;
	uint8_t least = p->island ? SHORT_JUMP_BYTES : JUMP_BYTES;
	return p->len >= least && p->len <= PATCH_BYTES_MAX && p->code_len <= p->len &&
	       p->event_at < p->code_len && p->cond < CONDITIONS && is_offset(p->cfa_off) &&
	       is_within(span, p->addr, p->len) &&
	       (!p->island || is_within(span, p->island, JUMP_BYTES)) && is_room_sound(p, span);
}

static void count(struct patch_placing *placing)
{
	for (uint32_t i = 0; i < placing->n; i++) {
		const struct patch_place *p = &placing->places[i];
		placing->n_by_reason[p->reason]++;
		if (!p->form)
			continue;
		placing->n_found++;
		if (p->edge)
			placing->n_edge++;
		else if (p->room)
			placing->n_room++;
		else if (p->island)
			placing->n_island++;
		else if (p->span)
			placing->n_span++;
		else if (p->other)
			placing->n_other++;
		else
			placing->n_own++;
	}
}

static int take_places(const char *bytes, uint32_t n, const struct text_span *span,
		       struct patch_placing *out)
{
	out->places = calloc(n + 1, sizeof(*out->places));
	if (!out->places)
		return -ENOMEM;
	if (n)
		memcpy((void *)out->places, bytes, n * sizeof(*out->places));
	out->n = n;
	for (uint32_t i = 0; i < n; i++)
		if (!is_sound(&out->places[i], span))
			return -EBADMSG;
	count(out);
	return 0;
}

static int take_heights(const char *bytes, uint32_t n, struct patch_heights *out)
{
	out->at = calloc(n + 1, sizeof(*out->at));
	if (!out->at)
		return -ENOMEM;
	if (n)
		memcpy(out->at, bytes, n * sizeof(*out->at));
	out->n = n;
	for (uint32_t i = 0; i < n; i++)
		if (out->at[i].addr >= out->at[i].end || !is_offset(out->at[i].offset) ||
		    (i && out->at[i].addr < out->at[i - 1].end))
			return -EBADMSG;
	return 0;
}

int patch_placing_take(const void *handed, size_t len, uint32_t n_sites,
		       const struct text_span *span, struct patch_placing *placing,
		       struct patch_heights *heights)
{
	const char *bytes = handed;
	struct found f;
	if (len < sizeof(f))
		return -EBADMSG;
	memcpy(&f, bytes, sizeof(f));
	if (!f.modelled)
		return -ENOTSUP;
	size_t places = n_sites * sizeof(*placing->places);
	if (len != sizeof(f) + places + f.n_heights * sizeof(*heights->at))
		return -EBADMSG;
	int err = take_places(bytes + sizeof(f), n_sites, span, placing);
	return err ? err : take_heights(bytes + sizeof(f) + places, f.n_heights, heights);
}

/* As patch_placing_apart(), of what is kept at @kept. -ENOENT: nothing is that could be taken. */
static int take_kept(const char *kept, uint32_t n_sites, const struct text_span *span,
		     struct patch_placing *placing, struct patch_heights *heights)
{
	struct file_kept answer;
	if (file_kept_read(kept, &answer))
		return -ENOENT;
	int err = patch_placing_take(answer.bytes, answer.len, n_sites, span, placing, heights);
	file_kept_deinit(&answer);
	if (!err)
		return 0;
	patch_placing_deinit(placing);
	patch_heights_deinit(heights);
	return -ENOENT;
}

static int find_apart(const char *path, const struct pugmark_plan_site *sites, uint32_t n_sites,
		      const struct text_span *span, const char *kept, struct patch_placing *placing,
		      struct patch_heights *heights, struct pugmark_diag *diag)
{
	struct asked asked = {path, sites, n_sites};
	struct sandbox sandbox = {.subject = path, .grants = &path, .n_grants = 1};
	void *bytes = NULL;
	size_t len = 0;
	int err = sandbox_or_here(&sandbox, find_inside, &asked, &bytes, &len, diag);
	if (!err) {
		err = patch_placing_take(bytes, len, n_sites, span, placing, heights);
		if (err == -EBADMSG)
			pugmark_diag_set(diag, err, path, PUGMARK_NO_OFFSET,
					 "its analysis handed back what are no places of patches");
		else if (err == -ENOMEM)
			pugmark_diag_set(diag, err, path, PUGMARK_NO_OFFSET, "out of memory");
	}
	if (!err)
		file_kept_write(kept, bytes, len);
	free(bytes);
	if (err) {
		patch_placing_deinit(placing);
		patch_heights_deinit(heights);
	}
	return err;
}

int patch_placing_apart(const char *path, const struct pugmark_plan *plan,
			const struct pugmark_plan_site *sites, uint32_t n_sites,
			const struct text_span *span, struct patch_placing *placing,
			struct patch_heights *heights, struct pugmark_diag *diag)
{
	char *kept = file_kept_path("placings", PLACING_VERSION, path, plan, sites, n_sites);
	*placing = (struct patch_placing){0};
	*heights = (struct patch_heights){0};
	int err = take_kept(kept, n_sites, span, placing, heights);
	if (err)
		err = find_apart(path, sites, n_sites, span, kept, placing, heights, diag);
	free(kept);
	return err;
}

void patch_heights_deinit(struct patch_heights *heights)
{
	free(heights->at);
	*heights = (struct patch_heights){0};
}

bool patch_height_at(const struct patch_heights *h, uint64_t addr, int32_t *offset)
{
	uint32_t at = SEARCH_FIRST_NOT(0u, h->n, i, h->at[i].end <= addr);
	if (at == h->n || h->at[at].addr > addr)
		return false;
	*offset = h->at[at].offset;
	return true;
}

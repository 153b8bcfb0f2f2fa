// SPDX-License-Identifier: LGPL-2.1-or-later
/* where.c: see where.h. */
#include "user/patch/where.h"

#include <string.h>

enum { RUNTIME_WORDS = 24 }; /* that the runtime has on the stack, at most */

/* The state of a thread that is in the runtime, by the return address into a trampoline that it has
 * on the stack; *@sp: behind that. */
static const struct patch_state *state_by_stack(const struct area_region *r,
						const struct patch_thread *t, uint64_t *sp)
{
	for (uint32_t i = 0; i < RUNTIME_WORDS; i++) {
		uint64_t at = t->sp + 8 * i, k = (at - t->addr) / 8;
		const struct patch_state *s;

		if (!t->words || at < t->addr || k >= t->n_words)
			return NULL;
		if (t->words[k] - r->addr >= r->code.len)
			continue;
		s = patch_state_at(&r->code, t->words[k] - r->addr);
		if (s) {
			*sp = at + 8;
			return s;
		}
	}
	return NULL;
}

/* Where a jump or call at @place goes, if @taken. */
static uint64_t direct_target(const struct area_region *r, const struct patch_module *module,
			      const struct patch_place *place)
{
	size_t have;
	const uint8_t *b = pugmark_model_bytes(module->model, place->addr, &have);
	int32_t rel = 0;

	if (b && have >= place->len)
		memcpy(&rel, b + place->len - 4, 4);
	return place->addr + place->len + rel + r->bias;
}

static void leave_trampoline(const struct area_region *r, const struct patch_module *module,
			     const struct patch_state *s, uint64_t sp, struct patch_thread *t)
{
	const struct patch_place *p = &module->placing.places[s->place];
	uint64_t own = module->sites[s->place].addr + r->bias;

	t->sp = sp + s->up + 8 * p->words;
	t->ip = own + (s->told ? 1 : 0);
	if (!s->told || !s->ended)
		return;
	/* The patched instruction is as good as done. */
	t->sp = sp + s->up;
	if (p->form == PATCH_JCC) {
		bool taken = s->off >= r->made[s->place].taken;

		t->ip = taken ? direct_target(r, module, p) : p->addr + p->len + r->bias;
	} else if (p->form == PATCH_CALL) {
		t->sp -= 8;
		t->ip = direct_target(r, module, p);
	} else {
		t->ip = p->addr + r->bias + 1;
	}
}

/* Between a witness's own instruction and another one that carries it. */
static bool leave_between(const struct area_region *r, const struct patch_module *module,
			  struct patch_thread *t)
{
	uint64_t ip = t->ip - r->bias;

	for (uint32_t i = 0; i < module->placing.n; i++) {
		const struct patch_place *p = &module->placing.places[i];
		uint64_t own = module->sites[i].addr;
		bool after = p->addr > own;

		if (!p->other || !r->patched[i] ||
		    (after ? ip <= own || ip > p->addr : ip <= p->addr || ip > own))
			continue;
		struct pugmark_cfa here = pugmark_model_cfa_at(module->model, ip);
		struct pugmark_cfa there = pugmark_model_cfa_at(module->model, own);
		if (here.reg == PUGMARK_CFA_SP && there.reg == PUGMARK_CFA_SP)
			t->sp += here.offset - there.offset;
		t->ip = own + r->bias + (after ? 0 : 1);
		return true;
	}
	return false;
}

bool patch_where(const struct area *area, const struct patch_module *modules,
		 struct patch_thread *t)
{
	for (uint32_t m = 0; m < area->n_regions; m++) {
		const struct area_region *r = &area->regions[m];

		if (!r->addr)
			continue;
		uint64_t off = t->ip - r->addr, text = t->ip - r->bias - modules[m].span.addr;
		if (off < r->code.len) {
			uint64_t sp = t->sp;
			const struct patch_state *s = patch_state_at(&r->code, off);

			if (!s)
				s = state_by_stack(r, t, &sp);
			if (!s)
				return false;
			leave_trampoline(r, &modules[m], s, sp, t);
			return true;
		}
		if (text < modules[m].span.end - modules[m].span.addr)
			return leave_between(r, &modules[m], t);
	}
	return false;
}

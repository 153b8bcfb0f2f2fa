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

/* Takes @t, which is before @from, to before @to in the same frame (ELF addresses). What is inside
 * of an instruction is as what is before it. */
static void move(const struct area_region *r, const struct patch_module *module,
		 struct patch_thread *t, uint64_t from, uint64_t to)
{
	int32_t here, there;

	if (patch_height_at(&module->heights, from, &here) &&
	    patch_height_at(&module->heights, to, &there))
		t->sp += (int64_t)here - there;
	t->ip = to + r->bias;
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

		/* Where a thread is as the event is told. */
		uint64_t told = p->addr + p->event_at;

		if (p->island && p->island == ip && area_is_patched(r, i)) {
			t->ip = p->addr + r->bias;
			leave_between(r, module, t);
			return true;
		}
		if (!p->other || !area_is_patched(r, i) ||
		    (after ? ip <= own || ip > told : ip <= told || ip > own))
			continue;
		move(r, module, t, ip, own + (after ? 0 : 1));
		return true;
	}
	return false;
}

static void leave_trampoline(const struct area_region *r, const struct patch_module *module,
			     const struct patch_state *s, uint64_t sp, struct patch_thread *t)
{
	const struct patch_place *p = &module->placing.places[s->place];
	const struct patch_made *made = &r->made[s->place];
	uint64_t own = module->sites[s->place].addr;

	t->sp = sp + s->up;
	if (s->moved) {
		t->ip = p->room + s->at + r->bias;
		leave_between(r, module, t);
		return;
	}
	if (!s->told || !s->ended) {
		t->ip = p->addr + s->at + r->bias;
		if (s->at == p->event_at && !p->edge)
			move(r, module, t, p->addr + s->at, own + (s->told ? 1 : 0));
		else if (p->other)
			leave_between(r, module, t);
		return;
	}
	if (p->edge) { /* its block has begun */
		move(r, module, t, p->addr + s->at, own + 1);
		return;
	}
	/* The patched instruction is as good as done. */
	if (p->form == PATCH_JCC) {
		bool taken = s->off >= made->taken;

		t->ip = taken ? made->target : p->addr + p->code_len + r->bias;
	} else if (p->form == PATCH_CALL) {
		t->sp -= 8;
		t->ip = made->target;
	} else {
		t->ip = p->addr + s->at + r->bias + 1;
	}
}

bool patch_is_code(const struct area *area, uint64_t ip)
{
	for (uint32_t m = 0; m < area->n_regions; m++)
		if (area->regions[m].addr && ip - area->regions[m].addr < area->regions[m].bytes)
			return true;
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

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* model_guest.h: what models read of the evaluated task, and what they say to it. */
#ifndef OFFLINE_REPLAY_MODELS_MODEL_GUEST_H
#define OFFLINE_REPLAY_MODELS_MODEL_GUEST_H

#include "offline/eval/machine.h"

enum { GUEST_VIEWS = 2, GUEST_MAX_BYTES = 1 << 26 };

/* One call. The views are freed with guest_deinit(). */
struct guest {
	struct value_machine *machine;
	struct value_memory *memory;
	uint64_t arg[6];
	uint8_t quality; /* the worst of what was looked at */
	int err;	 /* the first error: nothing is read any more */
	uint8_t *views[GUEST_VIEWS];
	uint32_t n_views;
};

void guest_init(struct guest *g, struct value_machine *m);
void guest_deinit(struct guest *g);
/* The arguments of the mask @args are looked at: unknown ones are an error. */
void guest_look(struct guest *g, uint32_t args);
/* A copy of @len bytes at the guest's @addr, at the same place in a page; or of a string of at most
 * @max bytes, with a zero byte behind it. NULL: g->err says why. */
uint8_t *guest_bytes(struct guest *g, uint64_t addr, uint64_t len);
char *guest_string(struct guest *g, uint64_t addr, uint64_t max);
/* Copies inside the guest, each byte with its quality, as memmove() does. */
void guest_copy(struct guest *g, uint64_t to, uint64_t from, uint64_t len);
void guest_fill(struct guest *g, uint64_t to, uint8_t byte, uint64_t len);
void guest_write(struct guest *g, uint64_t to, const void *bytes, uint64_t len);
/* The guest's address of what was found in a copy of what is at @addr. */
static inline uint64_t guest_found(uint64_t addr, const void *copy, const void *at)
{
	return at ? addr + (uint64_t)((const uint8_t *)at - (const uint8_t *)copy) : 0;
}
/* The double in the low half of xmm@reg. */
double guest_double(struct guest *g, unsigned reg);

#endif

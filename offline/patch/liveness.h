/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* liveness.h: which general registers, and whether the arithmetic flags, may still be read after a
 * place in a function. A bit that is clear may be overwritten there.
 *
 * What is found holds for code that compilers make with knowledge of their callees (-fipa-ra): a
 * function that leaves a register alone leaves it live, for its caller may hold something there.
 * Calls by name into other modules follow the System V ABI. */
#ifndef OFFLINE_PATCH_LIVENESS_H
#define OFFLINE_PATCH_LIVENESS_H

#include <pugmark/model.h>

/* Bits 0 to 15: registers by their number in the encoding (rax 0, rcx 1, rdx 2, ...). */
#define LIVE_FLAGS (1u << 16) /* any of CF, PF, AF, ZF, SF, OF */
#define LIVE_ALL ((1u << 17) - 1)

struct liveness;

/* Looks at all functions of @model, which is borrowed until liveness_free(). 0 or -ENOMEM. */
int liveness_new(const struct pugmark_model *model, struct liveness **out);
void liveness_free(struct liveness *liveness);
/* What is live just before instruction @insn of @block (indices in the model). */
uint32_t liveness_before(const struct liveness *liveness, uint32_t block, uint32_t insn);
/* What is live behind @block, whichever way it is left. */
uint32_t liveness_after(const struct liveness *liveness, uint32_t block);

#endif

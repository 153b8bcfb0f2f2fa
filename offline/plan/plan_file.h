/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plan_file.h: the bytes of a plan file, for those that have them in memory. docs/plan-format.md
 * is the specification. */
#ifndef OFFLINE_PLAN_FILE_H
#define OFFLINE_PLAN_FILE_H

#include "offline/base/private_file.h"

#include <pugmark/plan.h>

#define PLAN_MAX_BYTES (UINT64_C(1) << 30)

/* The bytes of @plan laid out as a file, and the laying out, into as many zeroes. @done, unless it
 * is NULL, is told of each array of @plan when it is not looked at any more. */
typedef void plan_span_done(void *ctx, const void *array);
size_t plan_encoded_bytes(const struct pugmark_plan *plan);
void plan_encode_to(const struct pugmark_plan *plan, void *zeroes, plan_span_done *done, void *ctx);
/* The same in one heap block, which the caller frees. 0 or -ENOMEM. */
int plan_encode(const struct pugmark_plan *plan, void **out, size_t *len_bytes);
/* The bytes of @plan as a file: those that it lies in, where it was read or made as one and is as
 * it was, with *@own NULL; or those of plan_encode(), which the caller frees as *@own. 0 or
 * -ENOMEM. */
int plan_file_bytes(const struct pugmark_plan *plan, const void **bytes, size_t *len_bytes,
		    void **own);
/* Gives back what only a parser needs of @plan: nodes, decisions, alternatives and targets, which
 * it has none of from here on. It can no longer be laid out as a file. */
void plan_forget_grammar(struct pugmark_plan *plan);
/* Checks the @len_bytes at @bytes and points @plan into them; @name is for messages. */
int plan_decode(const void *bytes, size_t len_bytes, const char *name, struct pugmark_plan *plan,
		struct pugmark_diag *diag);
/* The same of a file that was read, which the plan takes: @file is empty afterwards. */
int plan_take(struct private_file *file, const char *name, struct pugmark_plan **out,
	      struct pugmark_diag *diag);
/* pugmark_plan_open() of a recording's plan: another would not fit what was recorded, so that an
 * error says what helps there. */
int plan_open_recorded(const char *path, struct pugmark_plan **out, struct pugmark_diag *diag);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* outcome.h: what a run should come to, in the user's words:
 *   exit = N, exit != N      it exits with (or not with) this status
 *   stdout ~ REGEX           what it prints has a match (extended; stderr likewise)
 *   stdout !~ REGEX          it has none
 *   stdout = FILE            it prints exactly what that file has (stderr likewise)
 *   stdout != FILE           it prints something else
 *   not crash, crash         no signal ended it, or one did
 * Several are asked for together. A run that takes too long has no outcome but `not crash`'s
 * opposite and `!=`: it is never as asked. */
#ifndef USER_AGAIN_OUTCOME_H
#define USER_AGAIN_OUTCOME_H

#include "user/again/private_run.h"

struct outcome;

int outcome_new(struct outcome **out);
void outcome_free(struct outcome *outcome);
/* Adds a condition. 0, or -errno with @diag filled. */
int outcome_add(struct outcome *outcome, const char *text, struct pugmark_diag *diag);
bool outcome_any(const struct outcome *outcome);
/* The conditions, for who adds them elsewhere: condition @i as it was added, and where in that a
 * file is named (*@file, to its end), or NULL. Borrowed. */
size_t outcome_count(const struct outcome *outcome);
const char *outcome_text(const struct outcome *outcome, size_t i, const char **file);
/* Where standard output differs first from the file that it should be, if that was asked for and it
 * goes on that far. */
bool outcome_wrong_at(const struct outcome *outcome, const struct private_run *run,
		      uint64_t *offset);
/* With how many right bytes standard output begins, if a file was asked for that it should be. */
bool outcome_right(const struct outcome *outcome, const struct private_run *run, uint64_t *bytes);
/* Whether all of them hold of a run that has ended. */
bool outcome_holds(const struct outcome *outcome, const struct private_run *run,
		   const struct private_result *result);
/* Whether they may come to hold of a run that goes on behind what it has printed. */
bool outcome_may(const struct outcome *outcome, const struct private_run *run);

#endif

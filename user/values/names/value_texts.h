/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* value_texts.h: the arguments and the result of a function as text: by DWARF where the file has
 * it, by the registers of the ABI where it has not. */
#ifndef USER_VALUE_TEXTS_H
#define USER_VALUE_TEXTS_H

#include "offline/eval/machine.h"
#include "offline/replay/replay.h"
#include "user/values/names/value_names.h"

#include <stdio.h>

/* At the ELF address @elf, of which @entry says whether a function begins there: its arguments, or
 * all variables. @vars may be NULL. */
void value_text_arguments(FILE *out, struct value_vars *vars, uint64_t elf, uint64_t bias,
			  bool entry, struct value_machine *m);
/* Of the function that begins at @elf, where it is back at its caller. False: it returns nothing.
 */
bool value_text_result(FILE *out, struct value_vars *vars, uint64_t elf, struct value_machine *m);

/* Where @task ends in the gap @gap, after @count instructions: a line to stdout, or with @json one
 * more object of a list, whose first one it is if *@first. */
void value_text_gap(uint32_t task, uint64_t count, const struct value_gap *gap, bool json,
		    bool *first);

/* The end of a list that --limit has cut, where @more instances or accesses of @task follow: a line
 * to stdout, or with @json one more object of the list, whose first one it is if *@first. */
void value_text_more(uint32_t task, uint64_t more, bool json, bool *first);

/* For what value_run_new() has returned of @task, with @diag: one that cannot be executed again
 * (-ENODATA) is said to be so on standard error, and *@partial is set. Returns 0 then, and @err
 * else. */
int value_text_no_run(uint32_t task, int err, const struct pugmark_diag *diag, bool *partial);

/* The end of a list: whether @bytes of the captures are damaged, or none is left of any of @n_tasks
 * tasks. A line to stdout then, or with @json one more object of the list, whose first one it is if
 * *@first. */
bool value_text_damage(uint64_t bytes, uint32_t n_tasks, bool json, bool *first);

/* Lines to standard error: what @damage means for names and tasks. Returns whether there is any. */
bool value_text_rest(struct value_damage damage);

#endif

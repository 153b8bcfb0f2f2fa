/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* value_where.h: a condition on variables: 'n > 3 && p->name == "x"'. */
#ifndef USER_VALUE_WHERE_H
#define USER_VALUE_WHERE_H

#include "user/values/vars/value_vars.h"

#include <pugmark/diag.h>

struct value_where;

/* Returns 0 and what the caller frees with value_where_free(), or -errno with @diag filled. */
int value_where_parse(const char *text, struct value_where **out, struct pugmark_diag *diag);
void value_where_free(struct value_where *where);

enum value_holds {
	VALUE_HOLDS,
	VALUE_HOLDS_ASSUMED,	 /* if values are what is assumed */
	VALUE_HOLDS_UNKNOWN,	 /* a variable is not there or not known */
	VALUE_HOLDS_NOT_ASSUMED, /* not, if values are what is assumed */
	VALUE_HOLDS_NOT,
};
/* Whether it holds at the ELF address @addr: the greatest of what its comparisons do. */
enum value_holds value_where_holds(const struct value_where *where, struct value_vars *vars,
				   uint64_t addr, uint64_t bias, struct value_machine *m);

#endif

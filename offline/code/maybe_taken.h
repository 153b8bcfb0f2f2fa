/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* maybe_taken.h: which functions an indirect call may reach though nothing strong says so. */
#ifndef OFFLINE_MAYBE_TAKEN_H
#define OFFLINE_MAYBE_TAKEN_H

struct builder;

/* Sets PUGMARK_FUNC_MAYBE_TAKEN and PUGMARK_FUNC_UNCALLED. Once functions, sites and what
 * relocations, symbols and code say of them are final: it adds to that and changes nothing of it. 0
 * or -ENOMEM. */
int maybe_taken_find(struct builder *b);
/* data_hints.c: sets PUGMARK_FUNC_MAYBE_TAKEN. 0 or -ENOMEM. */
int data_hints_find(struct builder *b);

#endif

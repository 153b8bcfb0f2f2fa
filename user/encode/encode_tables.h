/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* encode_tables.h: the selections of encode that are tables: chains of functions, and spans of the
 * time with what was called in each. */
#ifndef USER_ENCODE_TABLES_H
#define USER_ENCODE_TABLES_H

#include "user/encode/encode.h"

struct encode_tables;

/* For SELECT_CHAINS and SELECT_INTERVALS; e->k is their N. 0, -ENOMEM. */
int encode_tables_init(struct encode *e, struct tree_sink *sink);
void encode_tables_free(struct encode_tables *tables);
/* Writes the table as text or JSON. 0 or -ENOMEM. */
int encode_tables_finish(struct encode *e);

#endif

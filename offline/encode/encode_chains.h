/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* encode_chains.h: gprof for chains of N functions (Reiss and Renieris, "Encoding Program
 * Executions", ICSE 2001, section 3.4): for every call, the call and what called it, up to N
 * functions, is one chain; how often each came, and how long it took. */
#ifndef OFFLINE_ENCODE_CHAINS_H
#define OFFLINE_ENCODE_CHAINS_H

#include "offline/encode/encode_dag.h"

enum { CHAIN_MAX = 16 };

struct chain {
	uint32_t first, n; /* symbols[first .. first + n), the innermost last */
	uint64_t count;
	struct dag_times times;
};

struct chains;

/* @n is from 1 to CHAIN_MAX. 0 and a table freed with chains_free(), or -ENOMEM. */
int chains_new(uint32_t n, struct chains **out);
void chains_free(struct chains *chains);
/* A sequence of calls that open and close in pairs. 0 or -ENOMEM. */
int chains_begin(struct chains *chains);
int chains_open(struct chains *chains, const struct tree_call *call);
int chains_close(struct chains *chains, const struct tree_return *ret);

/* Borrowed until the next call. */
const struct chain *chains_list(const struct chains *chains, uint32_t *n);
const uint32_t *chains_symbols(const struct chains *chains);

#endif

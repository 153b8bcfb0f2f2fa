/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* data_symbols.h: where a module keeps variables of a library: a copy of its own, or a slot of the
 * GOT that leads to them. */
#ifndef OFFLINE_CAPTURE_DATA_SYMBOLS_H
#define OFFLINE_CAPTURE_DATA_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

struct data_symbols;

/* Returns 0 or -ENOMEM; a file that cannot be read has none. */
int data_symbols_open(const char *path, struct data_symbols **out);
void data_symbols_free(struct data_symbols *symbols);
/* The ELF address of the variable @name, or (*@by_slot) of the slot that holds its address. */
bool data_symbols_find(const struct data_symbols *symbols, const char *name, uint64_t *addr,
		       bool *by_slot);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* module.h: what the oracle reads from the module's ELF file itself: where its PLT stubs are, which
 * symbol a GOT slot is for, and where the module defines that symbol; and where symbols say that
 * functions are. */
#ifndef ORACLE_MODULE_H
#define ORACLE_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct module_slot {
	uint64_t addr;
	const char *name;
	uint64_t definition; /* where the module itself defines that symbol, or 0 */
};

/* A function symbol of .symtab that has a size. */
struct module_func {
	uint64_t addr, end;
};

struct module {
	const char *name; /* the file's base name */
	struct {
		uint64_t start, end;
	} plt[8];
	unsigned n_plt;
	struct module_slot *slots; /* by address */
	size_t n_slots;
	struct module_func *funcs; /* by address; none in a stripped file */
	size_t n_funcs;
};

int module_open(const char *path, struct module *out);
void module_close(struct module *module);
bool module_is_plt(const struct module *module, uint64_t addr);
/* The slot at @addr, or NULL where no relocation names one. */
const struct module_slot *module_slot_at(const struct module *module, uint64_t addr);

#endif

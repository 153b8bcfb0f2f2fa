/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* abi_classes.h: which registers, or which memory, the calling convention of x86-64 (System V)
 * hands a value over in, by its DWARF type. Rust's own convention is none that is promised; of it
 * only scalars and pairs of them are known, which are handed over one by one. */
#ifndef USER_ABI_CLASSES_H
#define USER_ABI_CLASSES_H

#include <elfutils/libdw.h>

#include <stdbool.h>
#include <stdint.h>

enum {
	ABI_GENERAL = 6, /* registers for arguments */
	ABI_XMM0 = 17,	 /* as DWARF numbers registers; xmm1 is the next one */
	ABI_RUST_BY_ADDRESS =
		64, /* bytes: results of at least that many are for certain in memory */
};

/* Of an eightbyte; the greater one wins, but for ABI_NOT_KNOWN, which nothing wins over. */
enum abi_class {
	ABI_NO_CLASS,
	ABI_SSE,
	ABI_SSE_UP,
	ABI_INTEGER,
	ABI_X87,
	ABI_X87_UP,
	ABI_COMPLEX_X87,
	ABI_MEMORY,
	ABI_BY_REFERENCE, /* the whole, by its address: a class that cannot be copied byte by byte
			   */
	ABI_NOT_KNOWN,
};

struct abi_classes {
	uint8_t of[2];
	uint64_t size, align;
	uint32_t looked; /* at how many DIEs; at more than LOOKED_MAX: the class is not known */
	bool apart;	 /* each part is an argument of its own, and is the whole of its register */
	uint8_t at[2], len[2]; /* of the parts, then */
};

Dwarf_Word abi_language(Dwarf_Die *function);
bool abi_is_rust(Dwarf_Word language);
/* Languages that follow the convention. */
bool abi_follows(Dwarf_Word language);

/* Of the type of @die (a variable, or a function: its result). */
void abi_classes_of(Dwarf_Die *die, Dwarf_Word language, struct abi_classes *c);
/* Whether the result of @function is written where a first argument, which nobody declares, points
 * to; *@known: whether that is known. */
bool abi_hidden_first(Dwarf_Die *function, Dwarf_Word language, bool *known);

/* What is taken already. */
struct abi_cursor {
	unsigned general, vectors;
	uint64_t stack; /* bytes above the return address */
};

/* The next argument is of the classes @c, which are known: says in @of in which registers it is, as
 * DWARF numbers them, or in @stack that it is in memory; moves on. */
void abi_next_argument(struct abi_cursor *at, const struct abi_classes *c, uint8_t of[2],
		       bool *stack);
/* Where above the return address an argument in memory is, in bytes; moves on. */
uint64_t abi_take_stack(struct abi_cursor *at, const struct abi_classes *c);

#endif

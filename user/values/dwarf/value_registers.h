/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* value_registers.h: registers as DWARF numbers them: of the function that a replay stands in, or
 * of its caller, as far as call frame information tells. */
#ifndef USER_VALUE_REGISTERS_H
#define USER_VALUE_REGISTERS_H

#include "offline/replay/replay.h"
#include "user/values/types/value_bytes.h"

enum {
	DWARF_RAX = 0,
	DWARF_RDX = 1,
	DWARF_RBP = 6,
	DWARF_RSP = 7,
	DWARF_GENERAL = 16,
	DWARF_XMM0 = 17,
	DWARF_VECTORS = 16,
	DWARF_ST0 = 33,
	DWARF_STACK = 8,
};

struct value_registers {
	struct value_machine *m;
	bool caller; /* @general has them, and no others are known; false: they are the machine's */
	uint64_t general[DWARF_GENERAL];
	uint8_t quality[DWARF_GENERAL];
};

/* False: it is no register that can be read. */
bool value_registers_read(const struct value_registers *registers, uint64_t number,
			  struct value_bytes *out);
/* The number of a general or a vector register in the encoding of instructions. */
unsigned value_registers_encoded(uint64_t number);
/* A general register as a number. */
uint64_t value_registers_number(const struct value_registers *registers, uint64_t number,
				uint8_t *quality);

#endif

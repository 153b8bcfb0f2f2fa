// SPDX-License-Identifier: LGPL-2.1-or-later
/* elf_plt.c: finds PLT stubs by their bytes: at an address that is a multiple of 8,
 *
 *   [endbr64] [bnd] jmp *SLOT(%rip)		SLOT: a GOT slot that a relocation fills
 *
 * which all of .plt, .plt.sec, .plt.got and .iplt of ld, gold, lld and mold end in. With section
 * headers only those sections are looked through: elsewhere the same bytes are a tail call. */
#include "elf_parts.h"

#include <errno.h>

#define STUB_STEP 8

/* The slot that the stub at @bytes jumps through, 0 where there is none. */
static uint64_t stub_slot(const uint8_t *bytes, uint64_t len, uint64_t addr)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	uint64_t at = 0;
	if (len >= sizeof(endbr64) && !memcmp(bytes, endbr64, sizeof(endbr64)))
		at = sizeof(endbr64);
	if (at < len && bytes[at] == 0xf2)
		at++;
	if (!elf_range_inside(at, 6, len) || bytes[at] != 0xff || bytes[at + 1] != 0x25)
		return 0;
	int32_t displacement;
	memcpy(&displacement, bytes + at + 2, sizeof(displacement));
	return addr + at + 6 + (uint64_t)(int64_t)displacement;
}

/* Appends the stubs of @code to the places; false when there is no memory. */
static bool find_stubs(struct elf_image *image, const struct elf_code *code)
{
	for (uint64_t at = -code->addr & (STUB_STEP - 1); at < code->end - code->addr;
	     at += STUB_STEP) {
		uint64_t addr = code->addr + at;
		uint64_t slot_addr = stub_slot(code->bytes + at, code->end - addr, addr);
		struct elf_got_slot *slot = slot_addr ? elf_got_at(image, slot_addr) : NULL;
		if (!slot)
			continue;
		if (!elf_room(&image->import_places, image->n_import_places,
			      sizeof(*image->import_places)))
			return false;
		image->import_places[image->n_import_places++] =
			(struct elf_import_place){.addr = addr, .slot = slot_addr};
		if (!slot->stub)
			slot->stub = addr;
	}
	return true;
}

int elf_read_plt(struct elf_image *image)
{
	for (uint32_t i = 0; i < image->n_code; i++)
		if ((image->code[i].plt || image->code_from_segments) &&
		    !find_stubs(image, &image->code[i]))
			return -ENOMEM;
	return 0;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* elf_personality.c: the personality routine of a function: the unwinder calls it for each of the
 * function's frames, and lands in the frame where the routine says so (Itanium C++ ABI, exception
 * handling, "The Personality Routine"). The CIE names it, mostly by a word of data that a
 * relocation fills. */
#include "offline/base/search.h"
#include "offline/elf/elf_parts.h"

uint64_t elf_image_personality(const struct elf_image *image, const struct elf_fde *fde)
{
	if (fde->index >= image->n_programs) /* of Go's table, which knows no such routines */
		return 0;
	const struct elf_cie *cie = &image->cies[image->programs[fde->index].cie];
	if (!cie->personality_indirect)
		return cie->personality;
	uint32_t i =
		SEARCH_FIRST_NOT(0, image->n_slots, k, image->slot_places[k] < cie->personality);
	return i < image->n_slots && image->slot_places[i] == cie->personality
		       ? image->slot_values[i]
		       : 0;
}

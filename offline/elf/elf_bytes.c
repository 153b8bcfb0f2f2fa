// SPDX-License-Identifier: LGPL-2.1-or-later
/* elf_bytes.c: what lies at an address of an image whose segments and code sections are known:
 * every reader of a table asks here, and elf_image.c, which runs them, is above them. */
#include "offline/base/search.h"
#include "offline/elf/elf_parts.h"

const struct elf_segment *elf_segment_at(const struct elf_image *image, uint64_t addr)
{
	uint32_t low = SEARCH_FIRST_NOT(0, image->n_segments, i, image->segments[i].addr <= addr);
	return low && addr < image->segments[low - 1].end_mem ? &image->segments[low - 1] : NULL;
}

const uint8_t *elf_image_bytes(const struct elf_image *image, uint64_t addr, size_t *len_bytes)
{
	const struct elf_segment *s = elf_segment_at(image, addr);
	if (!s || addr >= s->end_file) {
		*len_bytes = 0;
		return NULL;
	}
	*len_bytes = s->end_file - addr;
	return image->file.data + s->off + (addr - s->addr);
}

const uint8_t *elf_bytes(const struct elf_image *image, uint64_t addr, uint64_t len)
{
	size_t there;
	const uint8_t *bytes = elf_image_bytes(image, addr, &there);
	return bytes && len <= there ? bytes : NULL;
}

const uint8_t *elf_bytes_cut(const struct elf_image *image, uint64_t addr, uint64_t *len)
{
	size_t there;
	const uint8_t *bytes = elf_image_bytes(image, addr, &there);
	if (*len > there)
		*len = there;
	return bytes;
}

uint32_t elf_code_at(const struct elf_image *image, uint64_t addr)
{
	uint32_t low = SEARCH_FIRST_NOT(0, image->n_code, i, image->code[i].addr <= addr);
	return low && addr < image->code[low - 1].end ? low - 1 : PUGMARK_NONE;
}

bool elf_image_is_pie(const struct elf_image *image)
{
	return image->file.header.e_type == ET_DYN;
}

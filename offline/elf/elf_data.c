// SPDX-License-Identifier: LGPL-2.1-or-later
/* elf_data.c: where a file has data: its sections of data or, without section headers, the loaded
 * segments that are not executable. What the data means is for others. */
#include "offline/elf/elf_parts.h"

bool elf_holds_data(const struct elf_section *s)
{
	bool type = s->type == SHT_PROGBITS || s->type == SHT_INIT_ARRAY ||
		    s->type == SHT_FINI_ARRAY || s->type == SHT_PREINIT_ARRAY;
	return type && (s->flags & SHF_ALLOC) && !(s->flags & SHF_EXECINSTR) &&
	       strcmp(s->name, ".eh_frame");
}

/* The table of FDEs leads to every function that has one. */
static bool holds_unwind_table(const struct elf_image *image, uint64_t addr)
{
	return image->eh_frame_hdr_len && addr == image->eh_frame_hdr;
}

bool elf_image_data(const struct elf_image *image, uint32_t index, struct elf_data *out)
{
	const struct elf_file *file = &image->file;
	if (index >= (file->n_sections ? file->n_sections : image->n_segments))
		return false;
	*out = (struct elf_data){0};
	if (file->n_sections) {
		const struct elf_section *s = &file->sections[index];
		if (elf_holds_data(s) && !holds_unwind_table(image, s->addr))
			*out = (struct elf_data){.addr = s->addr, .len = s->size};
	} else if (!image->segments[index].exec) {
		const struct elf_segment *s = &image->segments[index];
		*out = (struct elf_data){.addr = s->addr, .len = s->end_file - s->addr};
	}
	if (out->len)
		out->bytes = elf_bytes_cut(image, out->addr, &out->len);
	if (!out->bytes)
		out->len = 0;
	return true;
}

/* Sections of a damaged file may overlap. */
uint64_t elf_image_data_budget(const struct elf_image *image)
{
	return 2 * image->file.size;
}

uint64_t elf_image_base(const struct elf_image *image)
{
	uint64_t base = UINT64_MAX;
	for (uint32_t i = 0; i < image->n_segments; i++) {
		const struct elf_segment *s = &image->segments[i];
		if (s->addr - s->off < base && s->addr >= s->off)
			base = s->addr - s->off;
	}
	return base == UINT64_MAX ? 0 : base;
}

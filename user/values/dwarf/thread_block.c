// SPDX-License-Identifier: LGPL-2.1-or-later
/* thread_block.c: see thread_block.h. */
#include "user/values/dwarf/thread_block.h"

#include <gelf.h>
#include <stddef.h>

/* Shared objects may be executable as well, so that only the linker's own mark tells. */
static bool is_program(Elf *elf)
{
	GElf_Ehdr header;

	if (!gelf_getehdr(elf, &header))
		return false;
	for (Elf_Scn *scn = NULL; header.e_type == ET_DYN && (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr section;
		Elf_Data *data;
		GElf_Dyn dyn;

		if (!gelf_getshdr(scn, &section) || section.sh_type != SHT_DYNAMIC ||
		    !(data = elf_getdata(scn, NULL)))
			continue;
		for (int i = 0; gelf_getdyn(data, i, &dyn); i++)
			if (dyn.d_tag == DT_FLAGS_1)
				return dyn.d_un.d_val & DF_1_PIE;
	}
	return header.e_type == ET_EXEC;
}

uint64_t value_thread_block_below(const Elf64_Phdr *segment)
{
	uint64_t align = segment->p_align ? segment->p_align : 1;

	return segment->p_memsz + ((0 - segment->p_memsz - segment->p_vaddr) & (align - 1));
}

bool value_thread_block(Elf *elf, uint64_t *below)
{
	GElf_Phdr p;
	size_t n;

	if (!elf || !is_program(elf) || elf_getphdrnum(elf, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getphdr(elf, (int)i, &p) || p.p_type != PT_TLS)
			continue;
		*below = value_thread_block_below(&p);
		return true;
	}
	return false;
}

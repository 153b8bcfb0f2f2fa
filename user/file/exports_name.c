// SPDX-License-Identifier: LGPL-2.1-or-later
/* exports_name.c: see exports_name.h. The file is read as a copy that nobody else can change. */
#include "user/file/exports_name.h"

#include "offline/base/private_file.h"

#include <gelf.h>
#include <stdint.h>
#include <string.h>

enum { LIBRARY_MAX_BYTES = 1 << 30 };

static bool table_defines(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, const char *name)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t n = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
	GElf_Sym symbol;

	for (size_t i = 0; data && i < n && gelf_getsym(data, (int)i, &symbol); i++) {
		const char *is = elf_strptr(elf, header->sh_link, symbol.st_name);

		if (symbol.st_shndx != SHN_UNDEF && is && !strcmp(is, name))
			return true;
	}
	return false;
}

bool file_exports_name(const char *path, const char *name)
{
	struct private_file file;
	GElf_Shdr header;
	bool found = false;

	if (private_file_open(path, LIBRARY_MAX_BYTES, &file))
		return false;
	elf_version(EV_CURRENT);
	Elf *elf = elf_memory((char *)file.bytes, file.len_bytes);
	for (Elf_Scn *s = NULL; elf && !found && (s = elf_nextscn(elf, s));)
		found = gelf_getshdr(s, &header) && header.sh_type == SHT_DYNSYM &&
			table_defines(elf, s, &header, name);
	elf_end(elf);
	private_file_free(&file);
	return found;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* dynamic_symbols.c: see dynamic_symbols.h. */
#include "offline/elf/dynamic_symbols.h"

#include "offline/elf/section_data.h"

#include <stddef.h>

int dynamic_symbols_each(Elf *elf, bool (*take)(void *ctx, const char *name, const GElf_Sym *sym),
			 void *ctx)
{
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr sh;
		GElf_Sym sym;
		Elf_Data *data;
		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_DYNSYM || !sh.sh_entsize)
			continue;
		int err = section_table(elf, scn, &sh, &data);
		if (err)
			return err;
		size_t n = data ? data->d_size / sh.sh_entsize : 0;
		for (size_t i = 1; i < n && gelf_getsym(data, (int)i, &sym); i++) {
			const char *name = elf_strptr(elf, sh.sh_link, sym.st_name);
			if (name && GELF_ST_BIND(sym.st_info) != STB_LOCAL &&
			    !take(ctx, name, &sym))
				return 0;
		}
	}
	return 0;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* dynamic_symbols.c: see dynamic_symbols.h. */
#include "offline/elf/dynamic_symbols.h"

#include "offline/elf/section_data.h"

#include <stddef.h>
#include <string.h>

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

static Elf64_Shdr section_at(const uint8_t *bytes, const Elf64_Ehdr *e, uint32_t i)
{
	Elf64_Shdr s;
	memcpy(&s, bytes + e->e_shoff + i * sizeof(s), sizeof(s));
	return s;
}

/* Whether section @i holds symbols of .dynsym's kind, or names of those. */
static bool is_wanted(const uint8_t *bytes, const Elf64_Ehdr *e, uint32_t i)
{
	if (section_at(bytes, e, i).sh_type == SHT_DYNSYM)
		return true;
	for (uint32_t k = 0; k < e->e_shnum; k++) {
		Elf64_Shdr s = section_at(bytes, e, k);
		if (s.sh_type == SHT_DYNSYM && s.sh_link == i)
			return true;
	}
	return false;
}

/* The header; the table of sections; the sections that are wanted. A file of another form is read
 * whole. */
static bool next_part(const uint8_t *bytes, uint64_t len, uint32_t step, uint64_t *off,
		      uint64_t *end)
{
	Elf64_Ehdr e;
	*off = 0;
	*end = len < sizeof(e) ? len : sizeof(e);
	if (!step || *end < sizeof(e))
		return !step;
	memcpy(&e, bytes, sizeof(e));
	uint64_t table = e.e_shnum * sizeof(Elf64_Shdr);
	if (e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_shentsize != sizeof(Elf64_Shdr) || !table ||
	    e.e_shoff > len || table > len - e.e_shoff) {
		*end = UINT64_MAX;
		return step == 1;
	}
	if (step == 1) {
		*off = e.e_shoff;
		*end = e.e_shoff + table;
		return true;
	}
	if (step - 2 >= e.e_shnum)
		return false;
	*end = 0;
	if (is_wanted(bytes, &e, step - 2)) {
		Elf64_Shdr s = section_at(bytes, &e, step - 2);
		*off = s.sh_offset;
		*end = s.sh_size <= UINT64_MAX - *off ? *off + s.sh_size : UINT64_MAX;
	}
	return true;
}

int dynamic_symbols_read(int fd, struct private_file *out)
{
	return private_file_read_parts(fd, PRIVATE_FILE_MAX, next_part, out);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* data_symbols.c: R_X86_64_COPY and R_X86_64_GLOB_DAT relocations of symbols that are no functions.
 */
#include "offline/capture/data_symbols.h"

#include "offline/elf/private_elf.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

struct data_symbol {
	char *name;
	uint64_t addr;
	bool by_slot;
};

struct data_symbols {
	struct data_symbol *at;
	uint32_t n, cap;
};

static int add(struct data_symbols *s, const char *name, uint64_t addr, bool by_slot)
{
	if (s->n == s->cap) {
		uint32_t cap = s->cap ? 2 * s->cap : 32;
		struct data_symbol *at = realloc(s->at, cap * sizeof(*at));

		if (!at)
			return -ENOMEM;
		s->at = at;
		s->cap = cap;
	}
	char *copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	s->at[s->n++] = (struct data_symbol){copy, addr, by_slot};
	return 0;
}

/* The relocations in one section of kind RELA. */
static int read_relocs(struct data_symbols *s, Elf *elf, Elf_Scn *scn, const GElf_Shdr *shdr)
{
	Elf_Scn *sym_scn = elf_getscn(elf, shdr->sh_link);
	Elf_Data *data = elf_getdata(scn, NULL),
		 *syms = sym_scn ? elf_getdata(sym_scn, NULL) : NULL;
	GElf_Shdr sym_shdr;
	GElf_Rela rela;

	if (!data || !syms || !gelf_getshdr(sym_scn, &sym_shdr) || sym_shdr.sh_type != SHT_DYNSYM)
		return 0;
	for (int i = 0; gelf_getrela(data, i, &rela); i++) {
		uint32_t type = GELF_R_TYPE(rela.r_info);
		GElf_Sym sym;

		if ((type != R_X86_64_COPY && type != R_X86_64_GLOB_DAT) ||
		    !gelf_getsym(syms, GELF_R_SYM(rela.r_info), &sym) ||
		    GELF_ST_TYPE(sym.st_info) == STT_FUNC)
			continue;
		const char *name = elf_strptr(elf, sym_shdr.sh_link, sym.st_name);
		if (name && *name && add(s, name, rela.r_offset, type == R_X86_64_GLOB_DAT))
			return -ENOMEM;
	}
	return 0;
}

int data_symbols_open(const char *path, struct data_symbols **out)
{
	struct data_symbols *s = calloc(1, sizeof(*s));
	private_elf_guard struct private_elf file = {.elf = NULL};
	int err = 0;

	if (!s)
		return -ENOMEM;
	Elf *elf = private_elf_open(path, &file) ? NULL : file.elf;
	for (Elf_Scn *scn = NULL; !err && elf && (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr shdr;

		if (gelf_getshdr(scn, &shdr) && shdr.sh_type == SHT_RELA)
			err = read_relocs(s, elf, scn, &shdr);
	}
	if (err) {
		data_symbols_free(s);
		return err;
	}
	*out = s;
	return 0;
}

void data_symbols_free(struct data_symbols *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->n; i++)
		free(s->at[i].name);
	free(s->at);
	free(s);
}

bool data_symbols_find(const struct data_symbols *s, const char *name, uint64_t *addr,
		       bool *by_slot)
{
	for (uint32_t i = 0; i < s->n; i++) {
		if (strcmp(s->at[i].name, name) != 0)
			continue;
		*addr = s->at[i].addr;
		*by_slot = s->at[i].by_slot;
		return true;
	}
	return false;
}

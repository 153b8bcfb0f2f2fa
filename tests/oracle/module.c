// SPDX-License-Identifier: LGPL-2.1-or-later
/* module.c: PLT sections and named GOT slots of an ELF file, by libelf. */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "module.h"

static int by_addr(const void *a, const void *b)
{
	const struct module_slot *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static void relocations_read(Elf *elf, const GElf_Shdr *sh, Elf_Data *rela, struct module *out)
{
	Elf_Scn *symbols = elf_getscn(elf, sh->sh_link);
	Elf_Data *data = symbols ? elf_getdata(symbols, NULL) : NULL;
	GElf_Shdr sym_sh;

	if (!data || !rela || !gelf_getshdr(symbols, &sym_sh) || sym_sh.sh_type != SHT_DYNSYM)
		return;
	for (size_t i = 0; i < sh->sh_size / sizeof(Elf64_Rela); i++) {
		GElf_Rela r;
		GElf_Sym sym;
		const char *name;

		if (!gelf_getrela(rela, i, &r) || !gelf_getsym(data, GELF_R_SYM(r.r_info), &sym))
			continue;
		if (GELF_R_TYPE(r.r_info) != R_X86_64_JUMP_SLOT &&
		    GELF_R_TYPE(r.r_info) != R_X86_64_GLOB_DAT)
			continue;
		name = elf_strptr(elf, sym_sh.sh_link, sym.st_name);
		if (!name || !*name)
			continue;
		out->slots = realloc(out->slots, (out->n_slots + 1) * sizeof(*out->slots));
		out->slots[out->n_slots++] = (struct module_slot){
			r.r_offset, strdup(name), sym.st_shndx == SHN_UNDEF ? 0 : sym.st_value};
	}
}

static int func_by_addr(const void *a, const void *b)
{
	const struct module_func *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static void functions_read(const GElf_Shdr *sh, Elf_Data *data, struct module *out)
{
	for (size_t i = 0; data && i < sh->sh_size / sizeof(Elf64_Sym); i++) {
		GElf_Sym sym;

		if (!gelf_getsym(data, i, &sym) || sym.st_shndx == SHN_UNDEF || !sym.st_size ||
		    GELF_ST_TYPE(sym.st_info) != STT_FUNC)
			continue;
		out->funcs = realloc(out->funcs, (out->n_funcs + 1) * sizeof(*out->funcs));
		out->funcs[out->n_funcs++] =
			(struct module_func){sym.st_value, sym.st_value + sym.st_size};
	}
}

int module_open(const char *path, struct module *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf_Scn *scn = NULL;
	size_t names;
	Elf *elf;

	memset(out, 0, sizeof(*out));
	if (fd < 0)
		return -errno;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || elf_getshdrstrndx(elf, &names)) {
		elf_end(elf);
		close(fd);
		return -ENOEXEC;
	}
	out->name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name;
		GElf_Shdr sh;

		if (!gelf_getshdr(scn, &sh))
			continue;
		name = elf_strptr(elf, names, sh.sh_name);
		if (name && !strncmp(name, ".plt", 4) && out->n_plt < 8) {
			out->plt[out->n_plt].start = sh.sh_addr;
			out->plt[out->n_plt++].end = sh.sh_addr + sh.sh_size;
		}
		if (sh.sh_type == SHT_RELA)
			relocations_read(elf, &sh, elf_getdata(scn, NULL), out);
		if (sh.sh_type == SHT_SYMTAB)
			functions_read(&sh, elf_getdata(scn, NULL), out);
	}
	elf_end(elf);
	close(fd);
	if (out->n_slots)
		qsort(out->slots, out->n_slots, sizeof(*out->slots), by_addr);
	if (out->n_funcs)
		qsort(out->funcs, out->n_funcs, sizeof(*out->funcs), func_by_addr);
	return 0;
}

void module_close(struct module *module)
{
	for (size_t i = 0; i < module->n_slots; i++)
		free((char *)module->slots[i].name);
	free(module->slots);
	free(module->funcs);
	memset(module, 0, sizeof(*module));
}

bool module_is_plt(const struct module *module, uint64_t addr)
{
	for (unsigned i = 0; i < module->n_plt; i++)
		if (addr >= module->plt[i].start && addr < module->plt[i].end)
			return true;
	return false;
}

const struct module_slot *module_slot_at(const struct module *module, uint64_t addr)
{
	struct module_slot key = {.addr = addr};

	return module->n_slots && addr
		       ? bsearch(&key, module->slots, module->n_slots, sizeof(key), by_addr)
		       : NULL;
}

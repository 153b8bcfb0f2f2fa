// SPDX-License-Identifier: LGPL-2.1-or-later
/* late.c: see late.h. */
#include "user/patch/late.h"

#include "offline/elf/private_elf.h"
#include "user/kernel/probe_limits.h"
#include "user/patch/process/tracee_call.h"
#include "user/sandbox/sandbox.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static bool names_resolver(const GElf_Shdr *header, Elf_Data *data)
{
	GElf_Rela rela;
	GElf_Sym sym;

	for (int i = 0; header->sh_type == SHT_RELA && gelf_getrela(data, i, &rela); i++)
		if (GELF_R_TYPE(rela.r_info) == R_X86_64_IRELATIVE)
			return true;
	for (int i = 0; header->sh_type != SHT_RELA && gelf_getsym(data, i, &sym); i++)
		if (GELF_ST_TYPE(sym.st_info) == STT_GNU_IFUNC && sym.st_shndx != SHN_UNDEF)
			return true;
	return false;
}

/* In the sandbox: whether the file has one, or does not say. */
static bool finds_resolver(const char *path)
{
	Elf_Scn *section = NULL;
	bool dynamic = false;
	GElf_Shdr header;

	private_elf_guard struct private_elf file = {0};
	private_elf_open(path, &file);
	while (file.elf && (section = elf_nextscn(file.elf, section))) {
		if (!gelf_getshdr(section, &header))
			return true;
		if (header.sh_type != SHT_RELA && header.sh_type != SHT_DYNSYM &&
		    header.sh_type != SHT_SYMTAB)
			continue;
		Elf_Data *data = elf_getdata(section, NULL);
		if (!data || names_resolver(&header, data))
			return true;
		dynamic |= header.sh_type == SHT_DYNSYM;
	}
	return !dynamic;
}

static int find_resolver(void *ctx, FILE *out, struct pugmark_diag *diag)
{
	(void)diag;
	return fputc(finds_resolver(ctx) ? 'y' : 'n', out) == EOF ? -ENOMEM : 0;
}

static int has_resolver(const char *path, bool *has, struct pugmark_diag *diag)
{
	struct sandbox sandbox = {.subject = path, .grants = &path, .n_grants = 1};
	void *bytes = NULL;
	size_t len = 0;
	int err = sandbox_or_here(&sandbox, find_resolver, (void *)path, &bytes, &len, diag);

	*has = err || len != 1 || *(const char *)bytes != 'n';
	free(bytes);
	return err;
}

int late_find(const struct recorder_options *o, bool *possible, struct pugmark_diag *diag)
{
	*possible = o->carrier && o->argv && !o->captures && probe_limits_have_multi() > 0;
	for (uint32_t m = 0; *possible && m < o->n_modules; m++) {
		bool has;
		int err = has_resolver(o->modules[m].path, &has, diag);
		if (err)
			return err;
		*possible = !has;
	}
	return 0;
}

int late_writable(const struct tracee *t, const struct area *area,
		  const struct patch_module *modules, bool can)
{
	const uint64_t prot = PROT_READ | PROT_EXEC | (can ? PROT_WRITE : 0);
	struct tracee_map *maps;
	int n = tracee_maps(t->pid, &maps), err = n < 0 ? n : 0;

	for (int i = 0; i < n; i++) {
		for (uint32_t m = 0; m < area->n_regions && maps[i].executable; m++) {
			int64_t result = 0;

			if (!area->regions[m].addr || maps[i].dev != modules[m].dev ||
			    maps[i].ino != modules[m].ino)
				continue;
			uint64_t args[6] = {maps[i].start, maps[i].end - maps[i].start, prot};
			int failed = tracee_syscall(t, SYS_mprotect, args, &result);
			err = failed ? failed : result ? (int)result : err;
		}
	}
	if (n >= 0)
		free(maps);
	return err;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* site_list.c: reads sites from a text file. */
#include "user/record/ask/site_list.h"

#include "offline/base/open_regular.h"
#include "offline/base/vec.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where @addr lies in an ELF file, by its loaded segments. */
static uint64_t offset_of(FILE *elf, uint64_t addr)
{
	Elf64_Ehdr eh;
	Elf64_Phdr ph;

	rewind(elf);
	if (fread(&eh, sizeof(eh), 1, elf) != 1)
		return UINT64_MAX;
	for (unsigned i = 0; i < eh.e_phnum; i++) {
		if (fseek(elf, eh.e_phoff + i * sizeof(ph), SEEK_SET) ||
		    fread(&ph, sizeof(ph), 1, elf) != 1)
			return UINT64_MAX;
		if (ph.p_type == PT_LOAD && ph.p_flags & PF_X && addr >= ph.p_vaddr &&
		    addr - ph.p_vaddr < ph.p_filesz)
			return addr - ph.p_vaddr + ph.p_offset;
	}
	return UINT64_MAX;
}

static int read_line(const char *line, FILE *elf, struct pugmark_plan_site *site)
{
	unsigned kind, capture = 0, reg, cond, base = 0, index = 0, scale = 0, is_memory = 0;
	uint64_t addr;
	int64_t disp = 0;
	int off;
	int n = sscanf(line, "%" SCNx64 " %u %u %u %d %u %u %u %u %u %" SCNd64, &addr, &kind,
		       &capture, &reg, &off, &cond, &base, &index, &scale, &is_memory, &disp);

	if (n != (capture & PUGMARK_CAPTURE_TARGET ? 11 : 6))
		return -EINVAL;
	*site = (struct pugmark_plan_site){
		.addr = addr,
		.off_file = offset_of(elf, addr),
		.kind = kind,
		.capture = capture,
		.cfa_reg = reg,
		.cfa_off = off,
		.cond = cond,
		.operand = {base, index, scale, is_memory, 0, disp},
	};
	return site->off_file == UINT64_MAX || reg > PUGMARK_CFA_BP || cond > 15 ? -EINVAL : 0;
}

int site_list_read(const char *path, const char *binary, struct pugmark_plan_site **out,
		   uint32_t *n, struct pugmark_diag *diag)
{
	FILE *f = open_regular_stream(path), *elf = f ? open_regular_stream(binary) : NULL;
	VEC(struct pugmark_plan_site) sites = {0};
	uint32_t number = 0;
	char line[256];
	int err = f && elf ? 0 : -errno;

	while (!err && fgets(line, sizeof(line), f)) {
		number++;
		if (*line == '#' || *line == '\n')
			continue;
		err = VEC_RESERVE(&sites, 1) ? read_line(line, elf, &sites.at[sites.n++]) : -ENOMEM;
	}
	if (f)
		fclose(f);
	if (elf)
		fclose(elf);
	if (err) {
		VEC_FREE(&sites);
		return pugmark_diag_set(diag, err, path, PUGMARK_NO_OFFSET, "line %u: %s", number,
					strerror(-err));
	}
	*out = sites.at;
	*n = sites.n;
	return 0;
}

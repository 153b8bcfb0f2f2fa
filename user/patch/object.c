// SPDX-License-Identifier: LGPL-2.1-or-later
/* object.c: see object.h. */
#include "user/patch/object.h"

#include "offline/base/write_all.h"
#include "offline/patch/runtime.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT = 1, FRAMES, SYMBOLS, STRINGS, N_SECTIONS };

/* Names of sections and symbols. */
static const char strings[] = "\0.text\0.eh_frame\0.symtab\0.strtab\0pugmark_runtime\0"
			      "pugmark_trampolines";
enum { AT_TEXT = 1, AT_FRAMES = 7, AT_SYMTAB = 17, AT_STRTAB = 25, AT_RUNTIME = 33, AT_CODE = 49 };

struct object {
	Elf64_Ehdr header;
	Elf64_Shdr sections[N_SECTIONS];
	Elf64_Sym symbols[3];
	char strings[sizeof(strings)];
};

void object_name(char name[OBJECT_NAME_BYTES], pid_t pid, uint32_t i)
{
	snprintf(name, OBJECT_NAME_BYTES, "patched-%d-%u.elf", pid, i);
}

static Elf64_Sym symbol(uint32_t name, uint64_t from, uint64_t to)
{
	return (Elf64_Sym){.st_name = name,
			   .st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC),
			   .st_shndx = TEXT,
			   .st_value = from,
			   .st_size = to - from};
}

static void describe(const struct area_region *r, struct object *o)
{
	const struct patch_unwind *u = &r->unwind;
	uint64_t from = r->addr + PATCH_CODE_START, to = r->addr + u->code_end;
	uint64_t trampolines = from + pugmark_patch_runtime_bytes;

	*o = (struct object){.header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
						    ELFDATA2LSB, EV_CURRENT},
					.e_type = ET_DYN,
					.e_machine = EM_X86_64,
					.e_version = EV_CURRENT,
					.e_shoff = offsetof(struct object, sections),
					.e_ehsize = sizeof(Elf64_Ehdr),
					.e_shentsize = sizeof(Elf64_Shdr),
					.e_shnum = N_SECTIONS,
					.e_shstrndx = STRINGS}};
	memcpy(o->strings, strings, sizeof(strings));
	o->symbols[1] = symbol(AT_RUNTIME, from, trampolines);
	o->symbols[2] = symbol(AT_CODE, trampolines, to);
	o->sections[TEXT] = (Elf64_Shdr){.sh_name = AT_TEXT,
					 .sh_type = SHT_NOBITS,
					 .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
					 .sh_addr = from,
					 .sh_offset = sizeof(*o),
					 .sh_size = to - from,
					 .sh_addralign = 16};
	o->sections[FRAMES] = (Elf64_Shdr){.sh_name = AT_FRAMES,
					   .sh_type = SHT_PROGBITS,
					   .sh_flags = SHF_ALLOC,
					   .sh_addr = r->addr + u->frames,
					   .sh_offset = sizeof(*o),
					   .sh_size = u->frames_end - u->frames,
					   .sh_addralign = 8};
	o->sections[SYMBOLS] = (Elf64_Shdr){.sh_name = AT_SYMTAB,
					    .sh_type = SHT_SYMTAB,
					    .sh_offset = offsetof(struct object, symbols),
					    .sh_size = sizeof(o->symbols),
					    .sh_link = STRINGS,
					    .sh_info = 3,
					    .sh_addralign = 8,
					    .sh_entsize = sizeof(Elf64_Sym)};
	o->sections[STRINGS] = (Elf64_Shdr){.sh_name = AT_STRTAB,
					    .sh_type = SHT_STRTAB,
					    .sh_offset = offsetof(struct object, strings),
					    .sh_size = sizeof(strings),
					    .sh_addralign = 1};
}

int object_write(int dir_fd, const char *name, const struct area_region *r)
{
	struct object o;

	describe(r, &o);
	if (unlinkat(dir_fd, name, 0) && errno != ENOENT)
		return -errno;
	int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	int err = pwrite_all(fd, &o, sizeof(o), 0);
	if (!err)
		err = pwrite_all(fd, r->code.bytes + r->unwind.frames,
				 r->unwind.frames_end - r->unwind.frames, sizeof(o));
	close(fd);
	return err;
}

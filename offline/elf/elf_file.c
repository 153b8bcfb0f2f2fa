// SPDX-License-Identifier: LGPL-2.1-or-later
/* elf_file.c: reads an ELF file, checks that it is a 64-bit x86 one, and reads its section headers.
 * Used for the file itself and for its separate debug file. Program headers, and all that is
 * loaded, are elf_image.c's.
 *
 * The file is copied, not mapped: what is checked here is used long after, and its owner may write
 * to it meanwhile, or cut it short. The copy also has no breakpoints in it: the kernel writes those
 * of whoever probes the file into private mappings (valid_vma() in kernel/events/uprobes.c). */
#include "offline/elf/elf_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#define MAX_NOTES 64

void elf_note(struct elf_file *file, const char *format, ...)
{
	if (file->n_notes == MAX_NOTES)
		return;
	char *text;
	va_list args;
	va_start(args, format);
	int len = vasprintf(&text, format, args);
	va_end(args);
	if (len < 0)
		return;
	if (elf_room(&file->notes, file->n_notes, sizeof(char *)))
		file->notes[file->n_notes++] = text;
	else
		free(text);
}

static int check_header(const struct elf_file *file, const char *path, struct pugmark_diag *diag)
{
	const Elf64_Ehdr *h = &file->header;
	if (file->size < SELFMAG || memcmp(file->data, ELFMAG, SELFMAG))
		return pugmark_diag_set(diag, -ENOEXEC, path, 0, "not an ELF file");
	if (file->size <= EI_DATA)
		return pugmark_diag_set(diag, -EBADMSG, path, file->size,
					"cut off inside the ELF header");
	if (file->data[EI_CLASS] != ELFCLASS64)
		return pugmark_diag_set(diag, -ENOEXEC, path, EI_CLASS, "%s",
					file->data[EI_CLASS] == ELFCLASS32
						? "a 32-bit ELF file (only x86-64 is supported)"
						: "an ELF file of unknown class");
	if (file->data[EI_DATA] != ELFDATA2LSB)
		return pugmark_diag_set(diag, -ENOEXEC, path, EI_DATA,
					"not a little-endian ELF file (only x86-64 is supported)");
	if (file->size < sizeof(*h))
		return pugmark_diag_set(diag, -EBADMSG, path, file->size,
					"cut off inside the ELF header");
	if (h->e_machine != EM_X86_64)
		return pugmark_diag_set(
			diag, -ENOEXEC, path, offsetof(Elf64_Ehdr, e_machine),
			"an ELF file for machine %u (only x86-64, 62, is supported)", h->e_machine);
	if (h->e_type != ET_EXEC && h->e_type != ET_DYN)
		return pugmark_diag_set(diag, -ENOEXEC, path, offsetof(Elf64_Ehdr, e_type),
					"neither an executable nor a shared library (ELF type %u)",
					h->e_type);
	return 0;
}

static int read_file(const char *path, struct elf_file *file, struct pugmark_diag *diag)
{
	int err = private_file_open(path, PRIVATE_FILE_MAX, &file->whole);
	if (err)
		return pugmark_diag_set(
			diag, err == -ENXIO ? -ENOEXEC : err, path, PUGMARK_NO_OFFSET,
			err == -ENXIO || err == -EISDIR ? "%s" : "cannot open: %s",
			err == -EISDIR ? "not a regular file" : private_file_why(err));
	file->data = file->whole.bytes;
	file->size = file->whole.len_bytes;
	if (!file->size)
		return pugmark_diag_set(diag, -ENOEXEC, path, 0, "not an ELF file: it is empty");
	return 0;
}

/* Its bytes up to and with the last NUL: every string that starts in them ends in them. */
static uint64_t string_table_len(const uint8_t *strings, uint64_t len)
{
	const uint8_t *last = len ? memrchr(strings, 0, len) : NULL;
	return last ? (uint64_t)(last - strings) + 1 : 0;
}

static Elf64_Shdr section_header(const struct elf_file *file, uint64_t number)
{
	Elf64_Shdr header;
	memcpy(&header, file->data + file->header.e_shoff + number * sizeof(header),
	       sizeof(header));
	return header;
}

/* How many section headers there are, by the header's count or, past 0xff00, section 0's size. */
static uint64_t section_count(struct elf_file *file)
{
	const Elf64_Ehdr *h = &file->header;
	if (!h->e_shoff)
		return 0;
	if (h->e_shentsize != sizeof(Elf64_Shdr)) {
		elf_note(file, "section headers of %u bytes each, not %zu: left out",
			 h->e_shentsize, sizeof(Elf64_Shdr));
		return 0;
	}
	if (!elf_range_inside(h->e_shoff, sizeof(Elf64_Shdr), file->size)) {
		elf_note(file, "section headers at offset %#" PRIx64 " lie outside the file",
			 h->e_shoff);
		return 0;
	}
	uint64_t count = h->e_shnum ? h->e_shnum : section_header(file, 0).sh_size;
	uint64_t room = (file->size - h->e_shoff) / sizeof(Elf64_Shdr);
	if (count > room) {
		elf_note(file,
			 "%" PRIu64 " section headers at offset %#" PRIx64
			 ", the file ends after %" PRIu64,
			 count, h->e_shoff, room);
		count = room;
	}
	return count < PUGMARK_NONE ? count : PUGMARK_NONE - 1;
}

/* Fills @section from @header; returns whether its contents are all in the file. */
static bool read_section(const struct elf_file *file, const Elf64_Shdr *header,
			 struct elf_section *section)
{
	*section = (struct elf_section){.name = "",
					.flags = header->sh_flags,
					.addr = header->sh_addr,
					.off = header->sh_offset,
					.mem_size = header->sh_size,
					.type = header->sh_type,
					.link = header->sh_link};
	if (section->off > file->size)
		section->off = file->size; /* so that data + off is never past the end */
	if (header->sh_type == SHT_NOBITS)
		return true;
	section->size = header->sh_size;
	if (elf_range_inside(header->sh_offset, section->size, file->size))
		return true;
	section->size = file->size - section->off;
	return false;
}

static void name_sections(struct elf_file *file, uint64_t count)
{
	uint32_t number = file->header.e_shstrndx;
	if (number == SHN_XINDEX)
		number = section_header(file, 0).sh_link;
	const struct elf_section *table = elf_file_section_number(file, number);
	if (!table)
		return;
	const char *strings = (const char *)file->data + table->off;
	uint64_t len = string_table_len(file->data + table->off, table->size);
	for (uint64_t i = 0; i < count; i++) {
		uint32_t at = file->section_by_number[i];
		Elf64_Shdr header = section_header(file, i);
		if (at != PUGMARK_NONE && header.sh_name < len)
			file->sections[at].name = strings + header.sh_name;
	}
}

static int read_sections(struct elf_file *file)
{
	uint64_t count = section_count(file);
	if (!count)
		return 0;
	uint32_t cut = 0, first_cut = 0;
	file->sections = calloc(count, sizeof(*file->sections));
	file->section_by_number = calloc(count, sizeof(*file->section_by_number));
	if (!file->sections || !file->section_by_number)
		return -ENOMEM;
	file->n_numbers = count;
	for (uint32_t i = 0; i < count; i++) {
		Elf64_Shdr header = section_header(file, i);
		file->section_by_number[i] = PUGMARK_NONE;
		if (header.sh_type == SHT_NULL)
			continue;
		if (!read_section(file, &header, &file->sections[file->n_sections]) && !cut++)
			first_cut = i;
		file->section_by_number[i] = file->n_sections++;
	}
	name_sections(file, count);
	if (cut)
		elf_note(file, "%u sections reach past the end of the file, the first is number %u",
			 cut, first_cut);
	return 0;
}

int elf_file_open(const char *path, struct elf_file *file, struct pugmark_diag *diag)
{
	*file = (struct elf_file){0};
	int err = read_file(path, file, diag);
	if (err)
		return err;
	if (file->size >= sizeof(file->header))
		memcpy(&file->header, file->data, sizeof(file->header));
	err = check_header(file, path, diag);
	if (!err) {
		file->path = strdup(path);
		err = file->path ? read_sections(file) : -ENOMEM;
		if (err)
			pugmark_diag_set(diag, err, path, PUGMARK_NO_OFFSET, "out of memory");
	}
	if (err)
		elf_file_close(file);
	return err;
}

void elf_file_close(struct elf_file *file)
{
	private_file_free(&file->whole);
	for (uint32_t i = 0; i < file->n_notes; i++)
		free(file->notes[i]);
	free(file->notes);
	free(file->sections);
	free(file->section_by_number);
	free(file->path);
	*file = (struct elf_file){0};
}

const struct elf_section *elf_file_section(const struct elf_file *file, const char *name)
{
	for (uint32_t i = 0; i < file->n_sections; i++)
		if (!strcmp(file->sections[i].name, name))
			return &file->sections[i];
	return NULL;
}

const struct elf_section *elf_file_section_number(const struct elf_file *file, uint32_t number)
{
	if (number >= file->n_numbers || file->section_by_number[number] == PUGMARK_NONE)
		return NULL;
	return &file->sections[file->section_by_number[number]];
}

const uint8_t *elf_find_build_id(const uint8_t *bytes, uint64_t len, uint32_t *len_bytes)
{
	Elf64_Nhdr note;
	while (len >= sizeof(note)) {
		memcpy(&note, bytes, sizeof(note));
		uint64_t name_len = ((uint64_t)note.n_namesz + 3) & ~UINT64_C(3);
		uint64_t desc_len = ((uint64_t)note.n_descsz + 3) & ~UINT64_C(3);
		uint64_t desc = sizeof(note) + name_len;
		if (!elf_range_inside(desc, note.n_descsz, len))
			return NULL;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && note.n_descsz &&
		    !memcmp(bytes + sizeof(note), "GNU", 4)) {
			*len_bytes = note.n_descsz;
			return bytes + desc;
		}
		if (desc + desc_len > len)
			return NULL;
		bytes += desc + desc_len;
		len -= desc + desc_len;
	}
	return NULL;
}

bool elf_symtab_init(struct elf_symtab *table, struct elf_file *file,
		     const struct elf_section *section)
{
	const struct elf_section *strings = elf_file_section_number(file, section->link);
	if (!strings || strings->type != SHT_STRTAB || (section->flags & SHF_COMPRESSED)) {
		elf_note(file, "the symbol table at offset %#" PRIx64 " has no string table",
			 section->off);
		return false;
	}
	*table = (struct elf_symtab){
		.entries = file->data + section->off,
		.n = section->size / sizeof(Elf64_Sym),
		.n_bound = section->size / sizeof(Elf64_Sym),
		.strings = (const char *)file->data + strings->off,
		.strings_len = string_table_len(file->data + strings->off, strings->size),
	};
	return true;
}

Elf64_Sym elf_symtab_entry(const struct elf_symtab *table, uint64_t index)
{
	Elf64_Sym symbol;
	memcpy(&symbol, table->entries + index * sizeof(symbol), sizeof(symbol));
	return symbol;
}

const char *elf_symtab_name(const struct elf_symtab *table, const Elf64_Sym *symbol)
{
	return symbol->st_name < table->strings_len ? table->strings + symbol->st_name : "";
}

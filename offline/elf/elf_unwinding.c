// SPDX-License-Identifier: LGPL-2.1-or-later
/* elf_unwinding.c: see elf_unwinding.h. The parts are asked for in this order, each by what those
 * before it say:
 *
 *   header | program headers | section headers | names of sections | section 0 | section 1 | ...
 *
 * Nothing is trusted: a part that is not in the file makes it be read whole. */
#include "offline/elf/elf_unwinding.h"

#include "offline/elf/elf_inflating.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum { PART_HEADER, PART_PROGRAM, PART_SECTIONS, PART_NAMES, PART_SECTION };

static bool is_elf64(const uint8_t *bytes, uint64_t len)
{
	return len >= sizeof(Elf64_Ehdr) && !memcmp(bytes, ELFMAG, SELFMAG) &&
	       bytes[EI_CLASS] == ELFCLASS64 && bytes[EI_DATA] == ELFDATA2LSB;
}

static Elf64_Ehdr header_of(const uint8_t *bytes)
{
	Elf64_Ehdr e;
	memcpy(&e, bytes, sizeof(e));
	return e;
}

/* Whether its section headers can be walked: there are some, in the file and behind the header,
 * which says where they are while they are written to, and not so many that they are counted
 * elsewhere. */
static bool has_sections(const uint8_t *bytes, uint64_t len)
{
	Elf64_Ehdr e = header_of(bytes);
	return e.e_shoff >= sizeof(e) && e.e_shnum && e.e_shentsize == sizeof(Elf64_Shdr) &&
	       e.e_shoff <= len && (len - e.e_shoff) / sizeof(Elf64_Shdr) >= e.e_shnum &&
	       e.e_shstrndx < e.e_shnum;
}

static Elf64_Shdr section_at(const uint8_t *bytes, uint32_t i)
{
	Elf64_Shdr s;
	memcpy(&s, bytes + header_of(bytes).e_shoff + i * sizeof(s), sizeof(s));
	return s;
}

static bool section_is_inside(const Elf64_Shdr *s, uint64_t len)
{
	return s->sh_offset <= len && s->sh_size <= len - s->sh_offset;
}

/* Whether section @s of the name table's file is called @name. */
static bool is_called(const uint8_t *bytes, uint64_t len, const Elf64_Shdr *s, const char *name)
{
	Elf64_Shdr names = section_at(bytes, header_of(bytes).e_shstrndx);
	size_t n = strlen(name) + 1;
	return section_is_inside(&names, len) && s->sh_name <= names.sh_size &&
	       n <= names.sh_size - s->sh_name &&
	       !memcmp(bytes + names.sh_offset + s->sh_name, name, n);
}

static bool is_wanted(const uint8_t *bytes, uint64_t len, uint32_t i)
{
	static const char *const wanted[] = {".eh_frame", ".eh_frame_hdr", ".debug_frame"};
	Elf64_Shdr s = section_at(bytes, i);
	if (s.sh_type == SHT_NOBITS || s.sh_type == SHT_NULL)
		return false;
	bool is = s.sh_type == SHT_NOTE || s.sh_type == SHT_DYNAMIC ||
		  i == header_of(bytes).e_shstrndx;
	for (size_t k = 0; !is && k < sizeof(wanted) / sizeof(*wanted); k++)
		is = is_called(bytes, len, &s, wanted[k]);
	return is;
}

/* Whether the sections say where call frame information is. */
static bool says_where(const uint8_t *bytes, uint64_t len)
{
	for (uint32_t i = 0; has_sections(bytes, len) && i < header_of(bytes).e_shnum; i++) {
		Elf64_Shdr s = section_at(bytes, i);
		if (s.sh_type != SHT_NOBITS && is_called(bytes, len, &s, ".eh_frame"))
			return true;
	}
	return false;
}

static void span_of(const Elf64_Shdr *s, uint64_t *off, uint64_t *end)
{
	*off = s->sh_offset;
	*end = s->sh_size <= UINT64_MAX - s->sh_offset ? s->sh_offset + s->sh_size : UINT64_MAX;
}

static bool next_part(const uint8_t *bytes, uint64_t len, uint32_t step, uint64_t *off,
		      uint64_t *end)
{
	*off = *end = 0;
	if (step == PART_HEADER) {
		*end = len < sizeof(Elf64_Ehdr) ? len : sizeof(Elf64_Ehdr);
		return true;
	}
	if (!is_elf64(bytes, len))
		return false;
	Elf64_Ehdr e = header_of(bytes);
	if (step == PART_PROGRAM) {
		*off = e.e_phoff;
		*end = has_sections(bytes, len) ? *off + (uint64_t)e.e_phnum * e.e_phentsize
						: UINT64_MAX; /* whole */
		return true;
	}
	if (!has_sections(bytes, len))
		return false;
	if (step == PART_SECTIONS) {
		*off = e.e_shoff;
		*end = *off + e.e_shnum * sizeof(Elf64_Shdr);
		return true;
	}
	if (step == PART_NAMES) {
		Elf64_Shdr names = section_at(bytes, e.e_shstrndx);
		span_of(&names, off, end);
		return true;
	}
	if (step - PART_SECTION >= e.e_shnum)
		return false;
	if (step == PART_SECTION && !says_where(bytes, len)) {
		*end = UINT64_MAX; /* whole */
		return true;
	}
	if (step - PART_SECTION != e.e_shstrndx && is_wanted(bytes, len, step - PART_SECTION)) {
		Elf64_Shdr s = section_at(bytes, step - PART_SECTION);
		span_of(&s, off, end);
	}
	return true;
}

/* libdw must not take what was left out for what the file says. */
static int empty_unwanted(struct private_file *file)
{
	uint8_t *own = (uint8_t *)file->bytes; /* private: nobody has another view of it */
	uint64_t len = file->len_bytes;
	if (mprotect(own, len, PROT_READ | PROT_WRITE))
		return -errno;
	Elf64_Ehdr e = header_of(own);
	for (uint32_t i = 0; i < e.e_shnum; i++) {
		Elf64_Shdr s = section_at(own, i);
		if (s.sh_type == SHT_NULL || is_wanted(own, len, i))
			continue;
		s.sh_type = SHT_NOBITS;
		memcpy(own + e.e_shoff + i * sizeof(s), &s, sizeof(s));
	}
	return mprotect(own, len, PROT_READ) ? -errno : 0;
}

int elf_unwinding_read(int fd, uint64_t max_bytes, struct private_file *out)
{
	struct private_file file;
	int err = private_file_read_parts(fd, max_bytes, next_part, &file);
	if (err)
		return err;
	err = is_elf64(file.bytes, file.len_bytes) ? 0 : -ENOEXEC;
	if (!err && says_where(file.bytes, file.len_bytes))
		err = empty_unwanted(&file);
	if (!err)
		err = elf_hide_inflating(&file);
	if (err)
		private_file_free(&file);
	else
		*out = file;
	return err;
}

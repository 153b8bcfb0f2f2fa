// SPDX-License-Identifier: LGPL-2.1-or-later
/* elf_inflating.c: see elf_inflating.h. Section headers are walked by hand: libelf gives copies of
 * them, and what is hidden has to be hidden from libelf as well. */
#include "offline/elf/elf_inflating.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#define OLD_MAGIC "ZLIB" /* of .zdebug_*; behind it the size, big-endian */
enum { OLD_MAGIC_BYTES = 4, OLD_HEADER_BYTES = 12 };

static bool is_elf64(const uint8_t *bytes, uint64_t len)
{
	return len >= sizeof(Elf64_Ehdr) && !memcmp(bytes, ELFMAG, SELFMAG) &&
	       bytes[EI_CLASS] == ELFCLASS64 && bytes[EI_DATA] == ELFDATA2LSB;
}

/* How many section headers are there, and where the first one is. */
static uint64_t count_sections(const uint8_t *bytes, uint64_t len, uint64_t *off)
{
	Elf64_Ehdr e;
	Elf64_Shdr first;
	memcpy(&e, bytes, sizeof(e));
	*off = e.e_shoff;
	if (!e.e_shoff || e.e_shoff > len || len - e.e_shoff < sizeof(first))
		return 0;
	uint64_t have = (len - e.e_shoff) / sizeof(first);
	memcpy(&first, bytes + e.e_shoff, sizeof(first));
	uint64_t n = e.e_shnum ? e.e_shnum : first.sh_size; /* from 0xff00 on it stands there */
	return n < have ? n : have;
}

/* What the section inflates to; 0: it is not compressed, or empty. */
static uint64_t inflates_to(const uint8_t *bytes, uint64_t len, const Elf64_Shdr *s)
{
	Elf64_Chdr header;
	uint64_t size = 0;
	if (s->sh_type == SHT_NOBITS || s->sh_type == SHT_NULL || s->sh_offset > len ||
	    s->sh_size > len - s->sh_offset)
		return 0;
	const uint8_t *at = bytes + s->sh_offset;
	if (s->sh_flags & SHF_COMPRESSED && s->sh_size >= sizeof(header)) {
		memcpy(&header, at, sizeof(header));
		return header.ch_size;
	}
	if (s->sh_size >= OLD_HEADER_BYTES && !memcmp(at, OLD_MAGIC, OLD_MAGIC_BYTES))
		for (int i = OLD_MAGIC_BYTES; i < OLD_HEADER_BYTES; i++)
			size = size << 8 | at[i];
	return size;
}

uint64_t elf_inflated_bytes(const uint8_t *bytes, uint64_t len)
{
	uint64_t off, sum = 0, n = is_elf64(bytes, len) ? count_sections(bytes, len, &off) : 0;
	for (uint64_t i = 0; i < n; i++) {
		Elf64_Shdr s;
		memcpy(&s, bytes + off + i * sizeof(s), sizeof(s));
		uint64_t size = inflates_to(bytes, len, &s);
		sum = size < UINT64_MAX - sum ? sum + size : UINT64_MAX;
	}
	return sum;
}

int elf_hide_inflating(struct private_file *file)
{
	uint8_t *own = (uint8_t *)file->bytes; /* private: nobody has another view of it */
	uint64_t off, len = file->len_bytes;
	if (!is_elf64(own, len))
		return -ENOEXEC;
	if (!elf_inflated_bytes(own, len))
		return 0;
	if (mprotect(own, len, PROT_READ | PROT_WRITE))
		return -errno;
	uint64_t n = count_sections(own, len, &off);
	for (uint64_t i = 0; i < n; i++) {
		Elf64_Shdr s;
		memcpy(&s, own + off + i * sizeof(s), sizeof(s));
		if (inflates_to(own, len, &s))
			s.sh_type = SHT_NOBITS;
		memcpy(own + off + i * sizeof(s), &s, sizeof(s));
	}
	return mprotect(own, len, PROT_READ) ? -errno : 0;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* loaded_strings.c: see loaded_strings.h. */
#include "user/file/loaded_strings.h"

#include "offline/base/private_file.h"
#include "user/file/build_id.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BYTES_MAX (1ull << 28)
#define CODE_BYTES_MAX (1ull << 16)
#define TEXT_BYTES_MAX 4096 /* what has no end by then is no text */
#define SEGMENTS_MAX 64	    /* a file that has more is not looked at */

struct loaded_strings {
	struct private_file file;
};

void loaded_strings_free(struct loaded_strings *strings)
{
	if (strings)
		private_file_free(&strings->file);
	free(strings);
}

struct loaded_strings *loaded_strings_open(const char *path, const uint8_t *build_id, uint32_t len)
{
	struct build_id id = build_id_read(path);
	if (!id.len || !build_id_is(&id, build_id, len))
		return NULL;
	struct loaded_strings *s = calloc(1, sizeof(*s));
	if (s && private_file_open(path, FILE_BYTES_MAX, &s->file)) {
		free(s);
		return NULL;
	}
	return s;
}

/* What the file has from @addr on, in *@left how much of it, in a segment with @flags of PF_X and
 * PF_W; NULL: nothing. */
static const uint8_t *bytes_at(const struct loaded_strings *s, uint64_t addr, uint32_t flags,
			       uint64_t *left)
{
	const struct private_file *f = &s->file;
	Elf64_Ehdr eh;
	Elf64_Phdr ph;
	if (f->len_bytes < sizeof(eh))
		return NULL;
	memcpy(&eh, f->bytes, sizeof(eh));
	for (uint32_t i = 0; i < eh.e_phnum && eh.e_phnum <= SEGMENTS_MAX; i++) {
		uint64_t at = eh.e_phoff + i * sizeof(ph);
		if (at < eh.e_phoff || at > f->len_bytes - sizeof(ph))
			return NULL;
		memcpy(&ph, f->bytes + at, sizeof(ph));
		if (ph.p_type != PT_LOAD || (ph.p_flags & (PF_X | PF_W)) != flags ||
		    addr < ph.p_vaddr || addr - ph.p_vaddr >= ph.p_filesz)
			continue;
		if (ph.p_offset > f->len_bytes || ph.p_filesz > f->len_bytes - ph.p_offset)
			return NULL;
		*left = ph.p_filesz - (addr - ph.p_vaddr);
		return f->bytes + ph.p_offset + (addr - ph.p_vaddr);
	}
	return NULL;
}

/* Where the instruction at @code, of address @addr, leads to if it loads an address; else 0. */
static uint64_t address_loaded(const uint8_t *code, uint64_t left, uint64_t addr)
{
	int32_t offset;
	uint32_t absolute;
	if (left >= 7 && (code[0] & 0xfb) == 0x48 && code[1] == 0x8d && (code[2] & 0xc7) == 5) {
		memcpy(&offset, code + 3, sizeof(offset));
		return addr + 7 + (uint64_t)(int64_t)offset;
	}
	if (left >= 5 && (code[0] & 0xf8) == 0xb8) {
		memcpy(&absolute, code + 1, sizeof(absolute));
		return absolute;
	}
	return 0;
}

/* NULL: there is no text at @addr. */
static const char *text_at(const struct loaded_strings *s, uint64_t addr)
{
	uint64_t left, n = 0;
	const uint8_t *text = bytes_at(s, addr, 0, &left);
	left = text && left > TEXT_BYTES_MAX ? TEXT_BYTES_MAX : left;
	while (text && n < left && text[n] >= ' ' && text[n] <= '~')
		n++;
	return text && n >= LOADED_STRING_MIN && n < left && !text[n] ? (const char *)text : NULL;
}

uint32_t loaded_strings_of(const struct loaded_strings *strings, uint64_t addr, uint64_t end,
			   const char **out, uint32_t max)
{
	uint64_t left, len = end - addr;
	uint32_t n = 0;
	const uint8_t *code = end > addr ? bytes_at(strings, addr, PF_X, &left) : NULL;
	if (!code)
		return 0;
	len = len < left ? len : left;
	len = len < CODE_BYTES_MAX ? len : CODE_BYTES_MAX;
	for (uint64_t i = 0; i < len && n < max; i++) {
		uint64_t to = address_loaded(code + i, len - i, addr + i);
		const char *text = to ? text_at(strings, to) : NULL;
		bool again = !text;
		for (uint32_t k = 0; k < n; k++)
			again |= out[k] == text;
		if (!again)
			out[n++] = text;
	}
	return n;
}

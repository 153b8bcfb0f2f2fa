// SPDX-License-Identifier: LGPL-2.1-or-later
/* constant_strings.c: see constant_strings.h. */
#include "offline/link/constant_strings.h"

#include "offline/elf/section_data.h"

#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static bool is_of_name(enum needed_text what, uint8_t c)
{
	bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      c == '_' || c == '.';
	return letter || (what == TEXT_SYMBOL ? c == '$' : c == '-' || c == '+' || c == '/');
}

int constant_strings(const struct private_elf *file, enum needed_text what,
		     void (*take)(void *ctx, const char *text), void *ctx)
{
	uint64_t left = private_elf_bytes(file);
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(file->elf, scn));) {
		GElf_Shdr sh;
		Elf_Data *data;
		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_PROGBITS ||
		    !(sh.sh_flags & SHF_ALLOC) || sh.sh_flags & (SHF_EXECINSTR | SHF_WRITE))
			continue;
		if (sh.sh_size > left)
			return -EBADMSG;
		left -= sh.sh_size;
		int err = section_raw(scn, &sh, &data);
		if (err)
			return err;
		const char *text = data ? data->d_buf : NULL;
		size_t first = 0;
		for (size_t i = 0; text && i < data->d_size; i++) {
			if (is_of_name(what, (uint8_t)text[i]))
				continue;
			if (!text[i] && i > first)
				take(ctx, text + first);
			first = i + 1;
		}
	}
	return 0;
}

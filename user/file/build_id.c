// SPDX-License-Identifier: LGPL-2.1-or-later
/* build_id.c: reads program headers and notes; every offset is checked by how much can be read. */
#include "user/file/build_id.h"

#include "offline/base/open_regular.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NOTES_MAX = 65536 };

static bool read_all(int fd, void *to, size_t len, uint64_t off)
{
	return pread(fd, to, len, (off_t)off) == (ssize_t)len;
}

static bool find_note(const uint8_t *notes, size_t len, struct build_id *out)
{
	Elf64_Nhdr n;
	for (size_t at = 0; at + sizeof(n) <= len;) {
		memcpy(&n, notes + at, sizeof(n));
		size_t name = at + sizeof(n), desc = name + ((n.n_namesz + UINT64_C(3)) & ~3ull);
		if (desc > len || n.n_descsz > len - desc)
			return false;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 &&
		    !memcmp(notes + name, "GNU", 4) && n.n_descsz) {
			/* Of a long id the beginning counts, as in struct pugmark_model. */
			out->len =
				n.n_descsz < sizeof(out->bytes) ? n.n_descsz : sizeof(out->bytes);
			memcpy(out->bytes, notes + desc, out->len);
			return true;
		}
		at = desc + ((n.n_descsz + UINT64_C(3)) & ~3ull);
	}
	return false;
}

static void read_notes(int fd, struct build_id *out)
{
	Elf64_Ehdr eh;
	Elf64_Phdr ph;
	if (!read_all(fd, &eh, sizeof(eh), 0) || memcmp(eh.e_ident, ELFMAG, SELFMAG) ||
	    eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_phentsize != sizeof(ph))
		return;
	uint8_t *notes = malloc(NOTES_MAX); /* a stack may be small */
	bool found = !notes;
	for (uint32_t i = 0; !found && i < eh.e_phnum; i++) {
		if (!read_all(fd, &ph, sizeof(ph), eh.e_phoff + i * sizeof(ph)))
			break;
		found = ph.p_type == PT_NOTE && ph.p_filesz <= NOTES_MAX &&
			read_all(fd, notes, ph.p_filesz, ph.p_offset) &&
			find_note(notes, ph.p_filesz, out);
	}
	free(notes);
}

struct build_id build_id_read(const char *path)
{
	struct build_id id = {.len = 0};
	int fd = open_regular(path, NULL);
	if (fd >= 0) {
		read_notes(fd, &id);
		close(fd);
	}
	return id;
}

bool build_id_is(const struct build_id *id, const uint8_t *bytes, uint32_t len)
{
	return id->len == len && !memcmp(id->bytes, bytes, len);
}

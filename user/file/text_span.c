// SPDX-License-Identifier: LGPL-2.1-or-later
/* text_span.c: see text_span.h. */
#include "user/file/text_span.h"

#include "offline/base/open_regular.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int text_span_read(const char *path, struct text_span *span, struct pugmark_diag *diag)
{
	int fd = open_regular(path, NULL);
	Elf64_Ehdr eh;
	struct text_span found = {.addr = UINT64_MAX};

	if (fd < 0)
		return pugmark_diag_set(diag, fd, path, PUGMARK_NO_OFFSET, "%s",
					open_regular_why(fd));
	if (pread(fd, &eh, sizeof(eh), 0) != sizeof(eh) || memcmp(eh.e_ident, ELFMAG, SELFMAG) ||
	    eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_machine != EM_X86_64) {
		close(fd);
		return pugmark_diag_set(diag, -ENOEXEC, path, 0, "not an ELF file of x86-64");
	}
	for (unsigned i = 0; i < eh.e_phnum; i++) {
		Elf64_Phdr ph;

		if (pread(fd, &ph, sizeof(ph), eh.e_phoff + i * sizeof(ph)) != sizeof(ph))
			break;
		if (ph.p_type != PT_LOAD || !(ph.p_flags & PF_X))
			continue;
		if (ph.p_vaddr < found.addr) {
			found.addr = ph.p_vaddr;
			found.off_file = ph.p_offset;
		}
		if (ph.p_vaddr + ph.p_memsz > found.end)
			found.end = ph.p_vaddr + ph.p_memsz;
	}
	close(fd);
	if (found.end <= found.addr || found.end - found.addr > UINT32_MAX)
		return pugmark_diag_set(diag, -ENOEXEC, path, eh.e_phoff,
					"no executable segment, or one too large");
	*span = found;
	return 0;
}

/* One segment, as far as it lies in @span. */
static bool take_segment(int fd, const Elf64_Phdr *ph, const struct text_span *span, uint8_t *bytes)
{
	uint64_t from = ph->p_vaddr - span->addr, room = span->end - span->addr;
	if (ph->p_vaddr < span->addr || from >= room)
		return true;
	uint64_t len = ph->p_filesz < room - from ? ph->p_filesz : room - from, at = 0;
	while (at < len) {
		ssize_t got = pread(fd, bytes + from + at, len - at, (off_t)(ph->p_offset + at));
		if (got < 0)
			return false;
		if (!got)
			break; /* the file ends before its segment */
		at += (uint64_t)got;
	}
	return true;
}

uint8_t *text_span_bytes(const char *path, const struct text_span *span)
{
	int fd = open_regular(path, NULL);
	uint8_t *bytes = fd < 0 ? NULL : calloc(1, span->end - span->addr + 1);
	Elf64_Ehdr eh;
	bool taken = bytes && pread(fd, &eh, sizeof(eh), 0) == sizeof(eh);
	for (unsigned i = 0; taken && i < eh.e_phnum; i++) {
		Elf64_Phdr ph;
		if (pread(fd, &ph, sizeof(ph), (off_t)(eh.e_phoff + i * sizeof(ph))) != sizeof(ph))
			break;
		if (ph.p_type == PT_LOAD && ph.p_flags & PF_X)
			taken = take_segment(fd, &ph, span, bytes);
	}
	if (fd >= 0)
		close(fd);
	if (!taken) {
		free(bytes);
		return NULL;
	}
	return bytes;
}

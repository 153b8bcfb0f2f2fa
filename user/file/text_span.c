// SPDX-License-Identifier: LGPL-2.1-or-later
/* text_span.c: see text_span.h. */
#include "user/file/text_span.h"

#include "offline/base/open_regular.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

int text_span_read(const char *path, struct text_span *span, struct pugmark_diag *diag)
{
	int fd = open_regular(path, NULL);
	Elf64_Ehdr eh;
	struct text_span found = {UINT64_MAX, 0};

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
		if (ph.p_vaddr < found.addr)
			found.addr = ph.p_vaddr;
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

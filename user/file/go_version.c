// SPDX-License-Identifier: LGPL-2.1-or-later
/* go_version.c: reads what Go's linker says of itself in .go.buildinfo (go/src/debug/buildinfo):
 *
 *   14 bytes  ff " Go buildinf:"
 *   u8        size of a pointer
 *   u8        flags: 2: the version is a string right here, as it is since 1.18
 *   from 32   its length (a varint), and it
 *
 * The struct runtime.g (go/src/runtime/runtime2.go) differs by version. */
#include "user/file/go_version.h"

#include "offline/base/open_regular.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	FLAGS_AT = 15,
	FLAG_INLINE = 2,
	VERSION_AT = 32,
	VERSION_MAX = 63,
	INFO_MAX = VERSION_AT + 1 + VERSION_MAX,
	SECTIONS_MAX = 4096,
	NAMES_MAX = 1 << 20
};

/* From which minor version of Go 1 on goid lies there. 1.23 has added syscallbp before it, and 1.25
 * has taken gobuf.ret away. */
static const struct {
	unsigned minor;
	uint32_t goid;
} layouts[] = {{27, 0}, {25, 152}, {23, 160}, {9, 152}};

static bool read_all(int fd, void *to, size_t len, uint64_t off)
{
	return pread(fd, to, len, (off_t)off) == (ssize_t)len;
}

uint32_t go_version_goid_of(const char *version)
{
	const char *at = strstr(version, "go1.");
	unsigned minor;
	if (!at || sscanf(at, "go1.%u", &minor) != 1)
		return 0;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (minor >= layouts[i].minor)
			return layouts[i].goid;
	return 0;
}

static uint32_t by_info(const uint8_t *info, size_t len)
{
	static const char magic[] = "\xff Go buildinf:";
	char version[VERSION_MAX + 1] = "";
	if (len < VERSION_AT + 1 || memcmp(info, magic, sizeof(magic) - 1) ||
	    !(info[FLAGS_AT] & FLAG_INLINE))
		return 0;
	size_t n = info[VERSION_AT]; /* a version is short: its length is one byte */
	if (n > VERSION_MAX || n > len - VERSION_AT - 1)
		return 0;
	memcpy(version, info + VERSION_AT + 1, n);
	return go_version_goid_of(version);
}

static bool is_named(int fd, const Elf64_Shdr *names, const Elf64_Shdr *sh, const char *name)
{
	char found[32] = "";
	size_t n = strlen(name) + 1;
	return sh->sh_name < names->sh_size && n <= names->sh_size - sh->sh_name &&
	       read_all(fd, found, n, names->sh_offset + sh->sh_name) && !memcmp(found, name, n);
}

static bool read_info(int fd, uint32_t *goid)
{
	Elf64_Ehdr eh;
	Elf64_Shdr names, sh;
	uint8_t info[INFO_MAX];
	if (!read_all(fd, &eh, sizeof(eh), 0) || memcmp(eh.e_ident, ELFMAG, SELFMAG) ||
	    eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_machine != EM_X86_64 ||
	    eh.e_shentsize != sizeof(sh) || eh.e_shnum > SECTIONS_MAX ||
	    !read_all(fd, &names, sizeof(names),
		      eh.e_shoff + (uint64_t)eh.e_shstrndx * sizeof(sh)) ||
	    names.sh_size > NAMES_MAX)
		return false;
	for (uint32_t i = 0; i < eh.e_shnum; i++) {
		if (!read_all(fd, &sh, sizeof(sh), eh.e_shoff + i * sizeof(sh)))
			return false;
		if (!is_named(fd, &names, &sh, ".go.buildinfo"))
			continue;
		size_t len = sh.sh_size < sizeof(info) ? sh.sh_size : sizeof(info);
		*goid = read_all(fd, info, len, sh.sh_offset) ? by_info(info, len) : 0;
		return true;
	}
	return false;
}

bool go_version_read(const char *path, uint32_t *goid)
{
	int fd = open_regular(path, NULL);
	bool found = fd >= 0 && read_info(fd, goid);
	if (fd >= 0)
		close(fd);
	return found;
}

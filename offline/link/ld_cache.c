// SPDX-License-Identifier: LGPL-2.1-or-later
/* ld_cache.c: see ld_cache.h. */
#include "offline/link/ld_cache.h"

#include <string.h>

enum { CACHE_X86_64 = 0x0303 };

struct cache_entry {
	int32_t flags;
	uint32_t key, value; /* offsets of strings in the file */
	uint32_t os_version;
	uint64_t hwcap;
};
struct cache_header {
	char magic[20]; /* with the version */
	uint32_t n_libs, len_strings;
	uint32_t rest[5];
};

static const char *string_at(const uint8_t *bytes, size_t len, uint32_t off)
{
	return off < len && memchr(bytes + off, 0, len - off) ? (const char *)bytes + off : NULL;
}

bool ld_cache_find(const uint8_t *bytes, size_t len, const char *name,
		   bool (*take)(void *ctx, const char *path), void *ctx)
{
	struct cache_header h;
	if (len < sizeof(h))
		return false;
	memcpy(&h, bytes, sizeof(h));
	if (memcmp(h.magic, "glibc-ld.so.cache1.1", sizeof(h.magic)) ||
	    h.n_libs > (len - sizeof(h)) / sizeof(struct cache_entry))
		return false;
	for (uint32_t i = 0; i < h.n_libs; i++) {
		struct cache_entry e;
		memcpy(&e, bytes + sizeof(h) + i * sizeof(e), sizeof(e));
		const char *key = string_at(bytes, len, e.key);
		const char *path = string_at(bytes, len, e.value);
		if (e.flags == CACHE_X86_64 && key && path && !strcmp(key, name) && take(ctx, path))
			return true;
	}
	return false;
}

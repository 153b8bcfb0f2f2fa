// SPDX-License-Identifier: LGPL-2.1-or-later
/* fuzz_ldcache.c: any bytes as /etc/ld.so.cache: what is found lies in it and ends there. */
#include "tests/fuzz/as_file.h"

#include "offline/link/ld_cache.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct cache {
	const char *bytes;
	size_t len;
	int taken;
};

static bool take(void *ctx, const char *path)
{
	struct cache *c = ctx;

	MUST(path >= c->bytes && path < c->bytes + c->len);
	MUST(memchr(path, 0, c->len - (size_t)(path - c->bytes)));
	return ++c->taken == 2;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"libc.so.6", "libm.so.6", ""};

	for (unsigned i = 0; i < 3; i++) {
		struct cache c = {(const char *)data, size, 0};
		MUST(ld_cache_find(data, size, names[i], take, &c) == (c.taken == 2));
	}
	return 0;
}

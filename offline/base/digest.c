// SPDX-License-Identifier: LGPL-2.1-or-later
/* digest.c: see digest.h. */
#include "offline/base/digest.h"

#include <stdio.h>
#include <string.h>

void digest_init(struct digest *digest)
{
	sha256_init(&digest->sha256);
}

void digest_add(struct digest *digest, const void *bytes, size_t len)
{
	uint64_t count = len;
	sha256_update(&digest->sha256, sizeof(count), (const uint8_t *)&count);
	if (len)
		sha256_update(&digest->sha256, len, bytes);
}

void digest_add_text(struct digest *digest, const char *text)
{
	digest_add(digest, text, text ? strlen(text) + 1 : 0);
}

void digest_add_number(struct digest *digest, uint64_t number)
{
	sha256_update(&digest->sha256, sizeof(number), (const uint8_t *)&number);
}

void digest_end(struct digest *digest, uint8_t out[DIGEST_BYTES])
{
	sha256_digest(&digest->sha256, DIGEST_BYTES, out);
}

void digest_hex(struct digest *digest, char out[DIGEST_HEX])
{
	uint8_t bytes[DIGEST_BYTES];
	digest_end(digest, bytes);
	for (int i = 0; i < DIGEST_BYTES; i++)
		snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* digest.h: SHA-256 (FIPS 180-4, by nettle): names what was analysed, so that nobody can make
 * another file that has the same name. To find damage, checksum.h is enough. */
#ifndef OFFLINE_BASE_DIGEST_H
#define OFFLINE_BASE_DIGEST_H

#include <nettle/sha2.h>
#include <stddef.h>
#include <stdint.h>

enum { DIGEST_BYTES = SHA256_DIGEST_SIZE, DIGEST_HEX = 2 * DIGEST_BYTES + 1 };

struct digest {
	struct sha256_ctx sha256;
};

void digest_init(struct digest *digest);
/* Adds @len bytes, with their count before them: what is added cannot be cut in another way. */
void digest_add(struct digest *digest, const void *bytes, size_t len);
/* @text and its NUL; NULL is told from an empty one. */
void digest_add_text(struct digest *digest, const char *text);
void digest_add_number(struct digest *digest, uint64_t number);
/* Ends it: @out is lower-case hexadecimal with a NUL. */
void digest_hex(struct digest *digest, char out[DIGEST_HEX]);
/* Ends it. */
void digest_end(struct digest *digest, uint8_t out[DIGEST_BYTES]);

#endif

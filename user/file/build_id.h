/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* build_id.h: which binary a file is, without looking at the rest of it. */
#ifndef USER_BUILD_ID_H
#define USER_BUILD_ID_H

#include <stdbool.h>
#include <stdint.h>

struct build_id {
	uint8_t bytes[32];
	uint32_t len; /* 0: none, or not an ELF file of 64 bits */
};

/* Reads the build-id note of @path. What cannot be read has none. */
struct build_id build_id_read(const char *path);
bool build_id_is(const struct build_id *id, const uint8_t *bytes, uint32_t len);

#endif

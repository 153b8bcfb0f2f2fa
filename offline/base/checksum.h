/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* checksum.h: CRC-32, the one of zlib (RFC 1952, section 8). */
#ifndef OFFLINE_CHECKSUM_H
#define OFFLINE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Of @len bytes. */
uint32_t checksum(const void *bytes, size_t len);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* checksum.h: CRC-32, the one of zlib (RFC 1952, section 8). */
#ifndef OFFLINE_CHECKSUM_H
#define OFFLINE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Of @len bytes. */
uint32_t checksum(const void *bytes, size_t len);
/* Of bytes that have the checksum @first, and @len behind them that have @second. */
uint32_t checksum_join(uint32_t first, uint32_t second, uint64_t len);

#endif

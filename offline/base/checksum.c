// SPDX-License-Identifier: LGPL-2.1-or-later
/* checksum.c: see checksum.h. Where the processor multiplies without carry, 64 bytes at a time are
 * folded into as many that have the same remainder; zlib does the rest. (V. Gopal et al., "Fast CRC
 * Computation for Generic Polynomials Using PCLMULQDQ Instruction", Intel 2009; the constants are
 * those of its section on the reflected polynomial.) */
#include "offline/base/checksum.h"

#include <immintrin.h>
#include <string.h>
#include <zlib.h>

#define FOLDED_BYTES 64
#define STATE_ZERO UINT32_MAX /* zlib's argument that makes it start from a state of 0 */

/* @by: x^(n+32) and x^(n-32) modulo the polynomial, n the distance in bits from @x to @next. */
static inline __attribute__((target("pclmul"))) __m128i fold(__m128i x, __m128i by, __m128i next)
{
	__m128i low = _mm_clmulepi64_si128(x, by, 0x00), high = _mm_clmulepi64_si128(x, by, 0x11);
	return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

/* At least FOLDED_BYTES. */
static __attribute__((target("pclmul"))) uint32_t folded(const uint8_t *at, size_t len)
{
	const __m128i by_64 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);
	const __m128i by_16 = _mm_set_epi64x(0xccaa009e, 0x1751997d0);
	const __m128i *in = (const __m128i *)at;
	__m128i x[4];
	uint8_t rest[16];
	for (int i = 0; i < 4; i++)
		x[i] = _mm_loadu_si128(in + i);
	x[0] = _mm_xor_si128(x[0], _mm_cvtsi32_si128(-1)); /* the state that a CRC-32 begins with */
	for (; len >= 2 * FOLDED_BYTES; len -= FOLDED_BYTES) {
		in += 4;
		for (int i = 0; i < 4; i++)
			x[i] = fold(x[i], by_64, _mm_loadu_si128(in + i));
	}
	for (int i = 1; i < 4; i++)
		x[i] = fold(x[i - 1], by_16, x[i]);
	_mm_storeu_si128((__m128i *)rest, x[3]);
	uint32_t crc = (uint32_t)crc32(STATE_ZERO, rest, sizeof(rest));
	return (uint32_t)crc32(crc, (const uint8_t *)(in + 4), (uInt)(len - FOLDED_BYTES));
}

uint32_t checksum(const void *bytes, size_t len)
{
	if (len >= FOLDED_BYTES && __builtin_cpu_supports("pclmul"))
		return folded(bytes, len);
	return (uint32_t)crc32(0, bytes, (uInt)len);
}

uint32_t checksum_join(uint32_t first, uint32_t second, uint64_t len)
{
	return (uint32_t)crc32_combine(first, second, (z_off_t)len);
}

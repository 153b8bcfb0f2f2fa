/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* base64.h: bytes as text (RFC 4648), as a stream, in lines. */
#ifndef USER_PAGE_BASE64_H
#define USER_PAGE_BASE64_H

#include "user/cli/outbuf.h"

struct base64 {
	struct outbuf *out; /* borrowed */
	uint32_t bits;	    /* of `held` bytes that wait for others */
	unsigned held, column;
};

static inline void base64_put_bits(struct base64 *b, unsigned chars)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	for (unsigned i = 0; i < 4; i++)
		outbuf_char(b->out, i < chars ? digits[b->bits >> (18 - 6 * i) & 63] : '=');
	b->column += 4;
	if (b->column == 100) {
		outbuf_char(b->out, '\n');
		b->column = 0;
	}
	b->bits = b->held = 0;
}

static inline void base64_put(struct base64 *b, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		b->bits |= (uint32_t)bytes[i] << (16 - 8 * b->held);
		if (++b->held == 3)
			base64_put_bits(b, 4);
	}
}

static inline void base64_end(struct base64 *b)
{
	if (b->held)
		base64_put_bits(b, b->held + 1);
}

#endif

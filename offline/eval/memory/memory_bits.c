// SPDX-License-Identifier: LGPL-2.1-or-later
/* memory_bits.c: bytes that are not exact and of which some bits are, as a member of one bit that
 * was set beside others that nobody has set. Whatever changes a byte's quality (memory.c) says that
 * none of its bits is; here those are said that are all the same. */
#include "offline/eval/memory/memory.h"
#include "offline/eval/memory/pages.h"

#include <stdlib.h>
#include <string.h>

static size_t in_page(uint64_t addr, size_t len)
{
	size_t left = VALUE_PAGE - addr % VALUE_PAGE;
	return len < left ? len : left;
}

int value_memory_read_bits(struct value_memory *mem, uint64_t addr, uint8_t *out, size_t len)
{
	int err = value_memory_read_qualities(mem, addr, out, len);
	for (size_t done = 0; !err && done < len;) {
		const size_t part = in_page(addr + done, len - done);
		const struct value_page *page = value_page_at(mem, addr + done);
		const bool told = page && page->bits && !mem->on_supposition &&
				  !value_page_is_shared(mem, addr + done);
		const uint8_t *bits = told ? page->bits + (addr + done) % VALUE_PAGE : NULL;
		for (size_t i = 0; i < part; i++)
			out[done + i] = out[done + i] == VALUE_EXACT ? 0xff : bits ? bits[i] : 0;
		done += part;
	}
	return err;
}

/* The pages are this memory's own, as their qualities were just written. Without memory for it the
 * bits are not known. */
void value_memory_write_bits(struct value_memory *mem, uint64_t addr, const uint8_t *in, size_t len)
{
	for (size_t done = 0; done < len;) {
		const size_t part = in_page(addr + done, len - done);
		struct value_page *page = value_page_at(mem, addr + done);
		const bool any = memcmp(in + done, mem->all_exact, part);
		if (page && any && page->quality && !page->bits)
			page->bits = calloc(1, VALUE_PAGE);
		if (page && page->bits)
			memcpy(page->bits + (addr + done) % VALUE_PAGE, in + done, part);
		done += part;
	}
}

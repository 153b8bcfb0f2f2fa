// SPDX-License-Identifier: LGPL-2.1-or-later
/* fuzz_packed.c: any bytes as a packed graph of calls, with a checksum that fits. It is refused, or
 * it tells as many calls as it says, each of which is closed. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "offline/encode/encode_pack.h"
#include "tests/fuzz/must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CRC_AT = 8, CRC_FROM = 12, CALLS = 100000 };

struct told {
	const struct symbols *symbols;
	uint64_t calls, open;
};

static int begin(void *ctx, const struct tree_place *place)
{
	MUST(place->thread);
	return ((struct told *)ctx)->open != 0;
}

static int open_call(void *ctx, const struct tree_call *call)
{
	struct told *t = ctx;
	MUST(symbol_name_index(call->symbol) < symbols_count(t->symbols));
	t->open++;
	return ++t->calls > CALLS;
}

static int close_call(void *ctx, const struct tree_return *ret)
{
	struct told *t = ctx;
	MUST(t->open-- && ret->token <= TOKEN_CUT);
	return 0;
}

static int end(void *ctx, enum tree_edge why)
{
	MUST(!((struct told *)ctx)->open && why <= EDGE_UNOPENED);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pugmark_diag diag = {.text = ""};
	struct symbols *symbols = NULL;
	struct packed *packed;
	if (size < 48)
		return 0;
	uint8_t *bytes = malloc(size);
	MUST(bytes && !symbols_new(&symbols));
	memcpy(bytes, data, size);
	uint32_t crc = (uint32_t)crc32(0, bytes + CRC_FROM, (uInt)(size - CRC_FROM));
	memcpy(bytes + CRC_AT, &crc, sizeof(crc));
	if (packed_open(bytes, size, "fuzz", symbols, &packed, &diag)) {
		MUST(*diag.text);
	} else {
		struct told told = {.symbols = symbols};
		const struct tree_sink sink = {&told, begin, open_call, close_call, end, NULL};
		int stopped = packed_tell(packed, &sink);
		MUST(stopped ? told.calls > CALLS : told.calls == packed_calls(packed));
		packed_free(packed);
	}
	symbols_free(symbols);
	free(bytes);
	return 0;
}

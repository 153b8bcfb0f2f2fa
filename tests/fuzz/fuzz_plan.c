// SPDX-License-Identifier: LGPL-2.1-or-later
/* fuzz_plan.c: any bytes as a plan file. The reader either refuses them, or everything that works
 * on plans (the check, the parser's tables) comes through whatever they say. A checksum that is
 * wrong is set right first, or nothing would get past it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "offline/parse_tables.h"
#include "offline/plan_check.h"
#include "offline/plan_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CRC_AT = 12, CRC_FROM = 16, LEN_AT = 16, LOOKED_AT = 20 };

static void must_hold(bool holds, const char *claim)
{
	if (holds)
		return;
	fprintf(stderr, "does not hold: %s\n", claim);
	abort();
}
#define MUST(claim) must_hold(claim, #claim)

static void use(const struct pugmark_plan *plan)
{
	struct plan_check_counts counts;
	struct parse_tables *tables;
	MUST(plan_check(plan, NULL, NULL, &counts) == 0);
	MUST(parse_tables_new(plan, &tables) == 0);
	for (uint32_t d = 0; d < plan->n_decisions && d < LOOKED_AT; d++) {
		const struct decision_table *t = parse_tables_at(tables, d);
		MUST(t && t->n_any <= t->n);
	}
	parse_tables_free(tables);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes = malloc(size + 8);
	struct pugmark_plan plan = {0};
	struct pugmark_diag diag;
	memcpy(bytes, data, size);
	if (size > CRC_FROM + 8) {
		uint64_t len = size;
		memcpy(bytes + LEN_AT, &len, sizeof(len));
		uint32_t crc = crc32(0, bytes + CRC_FROM, size - CRC_FROM);
		memcpy(bytes + CRC_AT, &crc, sizeof(crc));
	}
	if (!plan_decode(bytes, size, "fuzz", &plan, &diag))
		use(&plan);
	free(bytes);
	return 0;
}

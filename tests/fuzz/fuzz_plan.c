// SPDX-License-Identifier: LGPL-2.1-or-later
/* fuzz_plan.c: any bytes as a plan, with a checksum that fits. It is refused with a reason, or all
 * of it can be used: a table for each decision, and a parser that takes an event of each site, in
 * some order, and comes to an end. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "offline/plan/plan_file.h"
#include "offline/recover/parser.h"
#include "tests/fuzz/must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CRC_AT = 12, CRC_FROM = 16, EVENTS = 500, OUT_MAX = 1 << 20 };

static void check_events(struct parser *parser)
{
	uint32_t n;
	const struct pugmark_trace_event *events = parser_events(parser, &n);

	MUST(n < OUT_MAX);
	for (uint32_t i = 0; i < n; i++)
		MUST(events[i].kind <= PUGMARK_TRACE_SWITCH);
}

static void use(const struct pugmark_plan *plan)
{
	struct parse_tables *tables;
	struct parser *parser;
	uint64_t cfa = 1 << 20;

	MUST(!parse_tables_new(plan, &tables));
	for (uint32_t d = 0; d < plan->n_decisions && d < EVENTS; d++)
		MUST(parse_tables_at(tables, d));
	MUST(!parser_new(&tables, &plan, 1, &parser));
	for (uint32_t i = 0; i < EVENTS && plan->n_sites; i++) {
		struct pugmark_witness_event e = {
			.site = (i * 7) % plan->n_sites,
			.time_ns = i,
			.arm.witness.val = i & 1,
			.arm.witness.cfa = cfa,
			.arm.witness.ret = plan->nodes[i % plan->n_nodes].addr + 5,
		};

		cfa += i % 3 ? -16 : 24;
		MUST(!parser_feed(parser, &e));
		check_events(parser);
	}
	parser_free(parser);
	parse_tables_free(tables);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pugmark_plan plan;
	struct pugmark_diag diag = {.text = ""};
	uint64_t len = size;

	if (size < 112)
		return 0;
	/* Arrays lie as they do in a file that is mapped. */
	uint8_t *bytes = aligned_alloc(64, (size + 63) & ~(size_t)63);
	MUST(bytes);
	memcpy(bytes, data, size);
	memcpy(bytes + CRC_FROM, &len, sizeof(len));
	uint32_t crc = crc32(0, bytes + CRC_FROM, size - CRC_FROM);
	memcpy(bytes + CRC_AT, &crc, sizeof(crc));
	if (plan_decode(bytes, size, "fuzz", &plan, &diag))
		MUST(*diag.text);
	else
		use(&plan);
	free(bytes);
	return 0;
}

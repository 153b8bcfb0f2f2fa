/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* twin.h: two parsers that are fed the same, one of which forgets before each event what it did
 * before. Whatever comes in, what the other one has kept must make no difference: neither to what
 * comes out nor to where it is then. */
#ifndef TESTS_TWIN_H
#define TESTS_TWIN_H

#include "offline/recover/parser.h"

struct twin {
	struct parser *parser, *forgetful;
};

/* As parser_new(). Released with twin_deinit(). */
int twin_init(struct parse_tables *const *tables, const struct pugmark_plan *const *plans,
	      uint32_t n_modules, struct twin *twin);
void twin_deinit(struct twin *twin);
/* Feeds both. Returns NULL, or in what they differ; what came out is of @twin->parser. */
const char *twin_feed(struct twin *twin, const struct pugmark_witness_event *event);

#endif

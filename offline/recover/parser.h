/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* parser.h: recovers the whole call trace of one thread from its witness events: a table-driven
 * LL(1) parser with an explicit stack, streaming. Events go in one at a time; what they decide
 * is then there to be read. docs/theory.md says why it is exact, and when it reports a gap
 * instead. */
#ifndef OFFLINE_PARSER_H
#define OFFLINE_PARSER_H

#include <pugmark/event.h>
#include <pugmark/trace_event.h>

#include "offline/recover/tables/parse_tables.h"

struct parser;

/* @tables and @plans (one a module, the same order) outlive the parser and are not shared with a
 * parser in another thread. Returns 0 and a parser freed with parser_free(), or -ENOMEM. */
int parser_new(struct parse_tables *const *tables, const struct pugmark_plan *const *plans,
	       uint32_t n_modules, struct parser **out);
void parser_free(struct parser *parser);
/* @tables and @plans have as many modules from here on, at least as many as before. */
void parser_add_modules(struct parser *parser, uint32_t n_modules);
/* Says where @module is loaded (run-time address minus ELF address), from here on. Each event says
 * it for its own module; but what called an event's function may lie in one that had no event yet.
 */
void parser_set_bias(struct parser *parser, uint16_t module, uint64_t bias);
/* Takes the next event of the thread. 0 or -ENOMEM; whatever does not fit becomes a gap. */
int parser_feed(struct parser *parser, const struct pugmark_witness_event *event);
/* The same, but what was decided since the last parser_drop_events() is still there to be read. */
int parser_feed_more(struct parser *parser, const struct pugmark_witness_event *event);
/* What the last event decided, *@n events of the trace in order; the caller may change them, until
 * the next event is fed. */
struct pugmark_trace_event *parser_events(struct parser *parser, uint32_t *n);
void parser_drop_events(struct parser *parser);
/* The parser of a child that goes on with a copy of the stack of @parent's thread as it is now; its
 * gaps and events are its own. @tables may be NULL for one that is only kept. 0 or -ENOMEM. */
int parser_fork(const struct parser *parent, struct parse_tables *const *tables,
		struct parser **out);

#endif

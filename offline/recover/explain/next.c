// SPDX-License-Identifier: LGPL-2.1-or-later
/* next.c: the event is what comes next in order: from one of the open frames on, once those inside
 * of it have ended in silence, the grammar leads to it. Nearly all events are this. */
#include "offline/recover/explain/explain.h"

void ask_next(const struct parser *p, const struct lookahead *la, struct candidates *set)
{
	struct candidate c;
	if (parser_is_another(p, la->e))
		return;
	c.cause = CAUSE_NEXT;
	c.unsaid = PUGMARK_CAUSE_NONE;
	c.next.jumped_back = false;
	enum found found = parser_find(p, la, &c.next.level, &c.next.alt);
	if (found == FOUND_NONE && !la->foreign && la->cfa) {
		/* Another module, which our last witnessed call or jump has entered, has jumped
		 * back into ours: the new frame returns to our call, as if it were that call's
		 * callee. */
		struct lookahead back = *la;
		back.jumped_back = c.next.jumped_back = true;
		found = parser_find(p, &back, &c.next.level, &c.next.alt);
	}
	if (found == FOUND_NONE || !parser_can_jump(p, la, c.next.level, c.next.alt))
		return;
	candidate_add(set, &c);
	if (found == FOUND_TORN)
		candidate_add(set, &c);
}

enum commit commit_next(struct parser *p, struct lookahead *la, const struct candidate *c,
			uint32_t *first)
{
	la->jumped_back = c->next.jumped_back;
	parser_end_before(p, c->next.level + 1, la);
	*first = c->next.alt;
	return COMMIT_GO_ON;
}

/* Only where stacks move may the event follow from where the parser is, though nothing says so. */
void ask_moved(const struct parser *p, const struct lookahead *la, struct candidates *set)
{
	if (p->tables[la->e->module]->go_runtime && !parser_is_another(p, la->e))
		candidate_add(set, &(struct candidate){.cause = CAUSE_MOVED,
						       .unsaid = PUGMARK_CAUSE_NONE});
}

enum commit commit_moved(struct parser *p, struct lookahead *la, const struct candidate *c,
			 uint32_t *first)
{
	(void)p;
	(void)la;
	(void)c;
	(void)first;
	return COMMIT_GO_ON;
}

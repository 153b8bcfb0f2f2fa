// SPDX-License-Identifier: LGPL-2.1-or-later
/* stacks.c: see stacks.h. The stack that was left last is the one most likely to be next. */
#include "user/view/trace/stacks.h"

#include <errno.h>
#include <stdlib.h>

int stacks_switch(struct stacks *s, uint32_t to, struct stack_array *array)
{
	if (to == s->on)
		return 0;
	if (s->n == s->cap) {
		uint32_t cap = s->cap ? 2 * s->cap : 4;
		struct kept_stack *more = realloc(s->kept, cap * sizeof(*more));
		if (!more)
			return -ENOMEM;
		s->kept = more;
		s->cap = cap;
	}
	struct stack_array left = *array;
	*array = (struct stack_array){0};
	for (uint32_t i = s->n; i-- > 0;)
		if (s->kept[i].number == to) {
			*array = s->kept[i].array;
			s->kept[i] = s->kept[--s->n];
			break;
		}
	if (left.n)
		s->kept[s->n++] = (struct kept_stack){left, s->on};
	else
		free(left.at);
	s->on = to;
	return 0;
}

int64_t stacks_left(const struct stacks *s)
{
	return s->n ? (int64_t)s->kept[s->n - 1].number : -1;
}

void stacks_deinit(struct stacks *s)
{
	while (s->n)
		free(s->kept[--s->n].array.at);
	free(s->kept);
	*s = (struct stacks){0};
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* dispatch.c: interpreters that jump to labels by their address, without a frame: across calls of
 * functions whose registers the compiler knows, through a table that it cannot know, and out of the
 * function as well. A jump taken for the wrong one of these ends the function or goes on in it. */
#include "case.h"

/* Not FN: that would keep gcc from looking at what it overwrites. */
#define SEEN static __attribute__((noinline))

SEEN int triple(int n)
{
	KEEP;
	return n * 7 + 1;
}
SEEN int flip(int n)
{
	KEEP;
	return n ^ 5;
}
SEEN int both(int n)
{
	KEEP;
	n = triple(n);
	KEEP;
	return n + flip(n);
}

/* The table's base stays in a register that the callees leave alone. */
FN int by_label(const unsigned char *code)
{
	static const void *const labels[] = {&&op_triple, &&op_more, &&op_flip, &&op_both,
					     &&op_end};
	int n = 0;
	KEEP;
	goto *labels[*code++];
op_triple:
	n = triple(n);
	goto *labels[*code++];
op_more:
	n = triple(n + 9);
	goto *labels[*code++];
op_flip:
	n = flip(n) * 3;
	goto *labels[*code++];
op_both:
	n = both(n);
	goto *labels[*code++];
op_end:
	return n;
}

struct machine {
	const void *const *labels;
	int (*last)(int);
	int n;
};

/* The table's base comes from memory, and the jump out of the function looks like one in it. */
FN int by_machine(struct machine *m, const unsigned char *code)
{
	static const void *const labels[] = {&&op_add, &&op_times, &&op_last, &&op_end};
	m->labels = labels;
	KEEP;
	goto *labels[*code++];
op_add:
	m->n += 1;
	goto * m->labels[*code++];
op_times:
	m->n *= 3;
	goto * m->labels[*code++];
op_last:
	return m->last(m->n);
op_end:
	return triple(m->n);
}

FN void interpret(void)
{
	KEEP;
	by_label((const unsigned char *)"\4");
	by_label((const unsigned char *)"\0\4");
	by_label((const unsigned char *)"\0\2\1\4");
	by_label((const unsigned char *)"\2\2\3\1\0\4");
	struct machine m = {.last = both};
	by_machine(&m, (const unsigned char *)"\0\1\0\3");
	by_machine(&m, (const unsigned char *)"\1\1\2");
	m.last = flip;
	by_machine(&m, (const unsigned char *)"\2");
	KEEP;
}

int main(void)
{
	interpret();
	return 0;
}

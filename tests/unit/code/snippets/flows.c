// SPDX-License-Identifier: LGPL-2.1-or-later
/* flows.c: every kind of control flow that a C compiler makes, each in a function of its own, and a
 * main() that goes through all of them. Tests compile it in several ways and look at the model. */
#include <alloca.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone))

volatile int sink;

/* A dense switch: a jump table of 12 entries, of which one is the default. */
NOINLINE int dense_switch(int x)
{
	switch (x) {
	case 0:
		return sink + 17;
	case 1:
		return sink * 3;
	case 2:
		sink = 4;
		return 9;
	case 3:
		return sink ^ 5;
	case 4:
		sink++;
		return 2;
	case 5:
		return sink / 7;
	case 7:
		return sink - 1;
	case 8:
		sink = 12;
		return 6;
	case 9:
		return sink << 3;
	case 10:
		return ~sink;
	case 11:
		return sink % 11;
	default:
		return -1;
	}
}

/* A switch inside a loop over bytes: the table's address is hoisted out of it. */
NOINLINE int loop_switch(const unsigned char *p, int n)
{
	int sum = 0;
	for (int i = 0; i < n; i++) {
		switch (p[i] & 7) {
		case 0:
			sum += sink;
			break;
		case 1:
			sum ^= 0x55;
			break;
		case 2:
			sum *= 3;
			break;
		case 3:
			sink = sum;
			break;
		case 4:
			sum -= 9;
			break;
		case 5:
			sum = -sum;
			break;
		case 6:
			puts("six");
			break;
		case 7:
			sum |= 1;
			break;
		}
	}
	return sum;
}

/* Computed goto through a table of label addresses. */
NOINLINE int computed_goto(const unsigned char *code)
{
	static const void *const labels[] = {&&op_add, &&op_sub, &&op_dup, &&op_end};
	int a = 1;
	goto *labels[*code++];
op_add:
	a += 3;
	goto *labels[*code++];
op_sub:
	a -= sink;
	goto *labels[*code++];
op_dup:
	a *= 2;
	goto *labels[*code++];
op_end:
	return a;
}

/* Computed goto through differences of labels. */
NOINLINE int difference_goto(int i)
{
	static const int offsets[] = {&&one - &&one, &&two - &&one, &&three - &&one};
	goto *(&&one + offsets[i % 3]);
one:
	return sink + 1;
two:
	return sink * 2;
three:
	sink = 3;
	return 5;
}

__attribute__((cold)) NOINLINE void complain(const char *what)
{
	fprintf(stdout, "%s %d\n", what, sink);
}

/* Has a cold part when optimised. */
NOINLINE int with_cold_part(int x)
{
	if (__builtin_expect(x > 100, 0)) {
		complain("much");
		sink += x * 3;
		complain("more");
		return sink;
	}
	return x + sink;
}

/* One calls the other, and the last one exits: neither returns. */
NOINLINE void die(int code)
{
	printf("bye %d\n", code);
	exit(code);
}

NOINLINE void die_politely(int code)
{
	sink = code;
	puts("sorry");
	die(code);
}

static jmp_buf jump_buffer;

NOINLINE void leap(int x)
{
	if (x)
		longjmp(jump_buffer, x);
}

NOINLINE int with_setjmp(int x)
{
	volatile int count = 0;
	if (setjmp(jump_buffer))
		return count;
	count = 1;
	leap(x);
	return 2;
}

NOINLINE int tail_target(int x)
{
	return x * sink + 1;
}

/* A tail call when optimised; with clang a conditional one. */
NOINLINE int tail_caller(int x)
{
	if (x > 3)
		return tail_target(x);
	sink = x;
	return 7;
}

NOINLINE int even(unsigned n);

NOINLINE int odd(unsigned n)
{
	return n ? even(n - 1) : 0;
}

NOINLINE int even(unsigned n)
{
	return n ? odd(n - 1) : 1;
}

/* The stack height is not static after alloca. */
NOINLINE int with_alloca(int n)
{
	char *p = alloca((size_t)n);
	memset(p, n, (size_t)n);
	sink = p[n / 2];
	return dense_switch(p[0]);
}

/* Arguments on the stack: the height differs between call sites. */
NOINLINE int nine(int a, int b, int c, int d, int e, int f, int g, int h, int i)
{
	return a + b * c - d + e * f - g + h * i + sink;
}

NOINLINE int many_arguments(int x)
{
	int y = nine(x, 1, 2, 3, 4, 5, 6, 7, 8);
	sink = y;
	return nine(1, x, y, 4, 5, 6, 7, 8, 9) + dense_switch(y & 3);
}

NOINLINE int via_pointer(int (*f)(int), int x)
{
	return f(x) + f(x + 1);
}

static int (*const functions[])(int) = {dense_switch, with_cold_part, tail_target};

NOINLINE int tail_through_table(unsigned i, int x)
{
	return functions[i % 3](x);
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

int by_hand(int x);

int main(int argc, char **argv)
{
	int sum = 0;
	int numbers[] = {5, 2, 8, 1, 9, 3};
	(void)argv;
	sink = argc;
	for (int i = -1; i < 13; i++)
		sum += dense_switch(i);
	sum += loop_switch((const unsigned char *)"abcdefgh01234567", 16);
	sum += computed_goto((const unsigned char *)"\0\1\2\0\2\1\3");
	for (int i = 0; i < 3; i++)
		sum += difference_goto(i);
	sum += with_cold_part(3) + with_cold_part(300);
	sum += with_setjmp(0) + with_setjmp(5);
	sum += tail_caller(2) + tail_caller(9);
	sum += odd(7) + even(4);
	sum += with_alloca(40) + many_arguments(6);
	sum += via_pointer(tail_target, 3) + via_pointer(dense_switch, 4);
	for (unsigned i = 0; i < 3; i++)
		sum += tail_through_table(i, (int)i);
	qsort(numbers, 6, sizeof(*numbers), compare);
	sum += by_hand(0) + by_hand(1) + by_hand(2);
	printf("%d %d\n", sum, numbers[0]);
	fflush(stdout);
	die_politely(0);
}

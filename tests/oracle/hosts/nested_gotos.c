// SPDX-License-Identifier: LGPL-2.1-or-later
/* nested_gotos.c: GCC's nested functions, which return or leave for a label of the function around
 * them, out of calls of any depth, through trampolines on the stack; and __builtin_longjmp. */
#include <stdio.h>

#define FN __attribute__((noinline)) static

FN int leaf(int i)
{
	return i ^ 5;
}
FN int apply(int (*f)(int), int i)
{
	return f(i) + leaf(i);
}
FN int deep(int (*f)(int), int n)
{
	if (!n)
		return f(n) + leaf(n);
	return deep(f, n - 1) + leaf(n);
}

FN int around(int i)
{
	__label__ out, other;
	int sum = leaf(i);
	int add(int k)
	{
		sum += leaf(k);
		return sum;
	}
	int leave(int k)
	{
		sum += leaf(k);
		if (i % 3 == 0)
			goto out;
		if (i % 3 == 1)
			goto other;
		return leaf(sum);
	}
	sum += apply(add, i);
	sum += deep(leave, i % 4);
	return sum + leaf(7);
out:
	leaf(sum);
	return leaf(1) + 1;
other:
	return leaf(2) + leaf(3);
}

/* Two levels, and labels of both. */
FN int twice_around(int i)
{
	__label__ out;
	int sum = 0;
	void middle(int k)
	{
		__label__ again;
		int left = k;
		int inner(int n)
		{
			sum += leaf(n);
			if (n == 3)
				goto out;
			if (n < 3)
				goto again;
			return leaf(n);
		}
again:
		sum += leaf(left);
		if (left < i)
			apply(inner, left++);
		if (leaf(k) + i == 10)
			goto out;
	}
	for (int k = 0; k < 3; k++)
		middle(k);
	return leaf(sum);
out:
	return leaf(i) + leaf(sum);
}

static void *buffer[5];
FN void jump(int n)
{
	if (!n)
		__builtin_longjmp(buffer, 1);
	leaf(n);
	jump(n - 1);
	leaf(n);
}
FN int tried(int i)
{
	if (__builtin_setjmp(buffer))
		return leaf(i) + 1;
	if (i % 3 != 1)
		jump(i % 4);
	return leaf(i + 1) + leaf(i + 2);
}

int main(void)
{
	int n = 0;
	for (int i = 0; i < 60; i++)
		n += around(i) + twice_around(i % 5) + tried(i) + leaf(i);
	printf("%d\n", n);
	return 0;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* coverage2.c: more kinds of statements for tests of source lines: jump tables, loops that are
 * entered in the middle, ternaries, macros, inline functions, statement expressions. Each label has
 * code on its line: docs/paths.md says which lines gcov counts that no debug information knows. */
/* clang-format off */
#include <stdio.h>
#include <string.h>

#define SQUARE(x) ((x) * (x))
#define SWAP(a, b) do { int swapped = (a); (a) = (b); (b) = swapped; } while (0)
#define LARGER(a, b) ({ int one = (a), two = (b); one > two ? one : two; })
#define FOR_EACH(i, n) for (int i = 0; i < (n); i++)

static inline int clamp(int x, int low, int high)
{
	if (x < low)
		return low;
	return x > high ? high : x;
}

static inline int twice(int x) { return 2 * x; }

static int table(int n)
{
	int r = 0;
	switch (n) {
	case 0: r = 1;
		break;
	case 1: r += 2;
		/* fall through */
	case 2: r += 3;
		break;
	case 3: case 4: r = twice(n);
		break;
	case 5:	while (n--)
			r += n;
		break;
	case 6: return -1;
	case 7:	while (++r < 4)
			continue;
		break;
	default: r = clamp(n, 10, 20);
	}
	return r;
}

static int two_entries(int n, int middle)
{
	int sum = 0;
	if (middle)
		goto in;
again:	sum += 10;
in:	sum += n;
	if (n-- > 0)
		goto again;
	return sum;
}

static int nested(int n)
{
	int found = -1;
	for (int i = 0; i < n; i++) {
		for (int j = i; j < n; j++)
			if (i * j == 42) {
				found = i;
				goto done;
			}
		if (i % 2)
			continue;
		found--;
	}
done:	return found;
}

static int cases(int a, int b)
{
	int r = a > b ? a - b : a < b ? b - a : 0;
	r += (a && b) || (!a && !b);
	if (a == 1 ||
	    a == 2 ||
	    b == 3)
		r++;
	else if (b == 4)
		r--;
	else
		r ^= 1;
	SWAP(a, b);
	return LARGER(r, a) + SQUARE(b);
}

static long blocks(const char *from, char *to, size_t n)
{
	long sum = 0;
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
	FOR_EACH(i, 5)
		sum += i;
	do
		sum++;
	while (sum < 20);
	while (1) {
		if (sum-- < 15) break;
	}
	return sum;
}

static void empty(void)
{
}

struct pair { int a, b; };

static struct pair make(int a, int b)
{
	return (struct pair){
		.a = a,
		.b = b,
	};
}

static int recursion(int n)
{
	return n < 2 ? n :
		recursion(n - 1) +
		recursion(n - 2);
}

int main(void)
{
	char from[40] = "the quick brown fox", to[40] = "";
	int sum = 0;
	FOR_EACH(i, 10)
		sum += table(i);
	printf("%d\n", sum);
	printf("%d %d\n", two_entries(4, 0), two_entries(3, 1));
	printf("%d %d\n", nested(5), nested(10));
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < 5; j++) sum += cases(i, j);
	printf("%d %ld\n", sum, blocks(from, to, sizeof(from)));
	empty();
	struct pair p = make(1, 2);
	printf("%d %d %s\n", p.a + p.b,
	       recursion(10),
	       to);
	if (sum < 0)
		printf("never\n");
	return strcmp(from, to);
}

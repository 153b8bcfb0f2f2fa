// SPDX-License-Identifier: LGPL-2.1-or-later
/* coverage.c: a program of all kinds of statements, for tests of source lines: its coverage must be
 * what gcov says. Written for its lines, so not formatted by a tool. */
/* clang-format off */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
	struct node *left, *right;
	int key;
};

static int compares;

static inline int less(int a, int b)
{
	compares++;
	return a < b;
}

static struct node *insert(struct node *n, int key)
{
	if (!n) {
		n = calloc(1, sizeof(*n));
		if (!n)
			abort();
		n->key = key;
		return n;
	}
	if (less(key, n->key))
		n->left = insert(n->left, key);
	else if (less(n->key, key))
		n->right = insert(n->right, key);
	return n;
}

static int depth(const struct node *n)
{
	int l, r;
	if (!n)
		return 0;
	l = depth(n->left), r = depth(n->right);
	return 1 + (l > r ? l : r);
}

static const char *kind(int c)
{
	switch (c) {
	case 'a': case 'e': case 'i': case 'o': case 'u': return "vowel";
	case ' ': return "space";
	case '0' ... '9': return "digit";
	default: if (c >= 'a' && c <= 'z')
			return "consonant";
		break;
	}
	return "other";
}

static unsigned hash(const char *s)
{
	unsigned h = 5381;
	while (*s) h = h * 33 + (unsigned char)*s++;
	return h;
}

static int gcd(int a, int b)
{
	while (b) {
		int t = a % b;
		a = b;
		b = t;
	}
	return a;
}

static int never(int x)
{
	for (int i = 0; i < x; i++)
		x -= i;
	return x;
}

static int search(const int *v, int n, int want)
{
	for (int lo = 0, hi = n; lo < hi;) {
		int mid = (lo + hi) / 2;
		if (v[mid] == want)
			return mid;
		if (v[mid] < want)
			lo = mid + 1;
		else
			hi = mid;
	}
	return -1;
}

static void grid(int n)
{
	int sum = 0;
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++) {
			if (i == j)
				continue;
			if (i * j > 20)
				break;
			sum += i * j;
		}
	do {
		sum--;
	} while (sum > 100 &&
		 sum % 7);
	goto out;
	sum = 0;
out:	printf("%d\n", sum);
}

static jmp_buf back;

static void thrower(int n)
{
	if (n == 0)
		longjmp(back, 7);
	thrower(n - 1);
	printf("not reached\n");
}

static int catcher(int n)
{
	volatile int tries = 0;
	int got = setjmp(back);
	tries++;
	if (got == 7 && tries > n)
		return tries;
	thrower(n);
	return -1;
}

static int descending(const void *a, const void *b)
{
	return *(const int *)b - *(const int *)a;
}

static double mean(const int *v, int n)
{
	double sum = 0;
	for (int i = 0; i < n; i++) sum += v[i];
	return n ? sum / n : 0;
}

int main(int argc, char **argv)
{
	struct node *root = NULL;
	unsigned x = 12345;
	for (int i = 0; i < 200; i++) {
		x = x * 1103515245 + 12345;
		root = insert(root, (x >> 16) % 500);
	}
	printf("%d %d\n", depth(root), compares > 100 ? 1 : 0);
	for (const char *s = "hello world 42!"; *s; s++)
		printf("%s ", kind(*s));
	printf("\n%u %d\n", hash("some text"), gcd(1071, 462));
	int v[16];
	for (int i = 0; i < 16; i++) v[i] = i * 3;
	printf("%d %d\n", search(v, 16, 21), search(v, 16, 22));
	grid(9);
	qsort(v, 16, sizeof(*v), descending);
	printf("%d %.2f %.2f\n", v[0], mean(v, 16), mean(v, 0));
	printf("%d\n", catcher(3));
	if (argc > 5 || (argv[0] && !strcmp(argv[0], "x")))
		return never(argc);
	return 0;
}

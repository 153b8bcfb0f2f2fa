#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# put_aside.sh: a library that is not traced leaves frames of the program's without their return: by longjmp, for good;
# and for a while, as its lines of execution share one part of the stack, which it copies away and back. Mode full tells
# as many calls as the program counts itself, each line's returns included, without a gap.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs "${CC:-cc}" nm
work_in_own_folder

cat >library.c <<'C'
#include <setjmp.h>
#include <stddef.h>
#include <string.h>
/* Lines of execution that share one stack: what lies on it of the line that is left, as far as the next
 * one needs the room, is copied away, and back when that goes on. */
struct line {
	char *stop, *start;	/* its part of the stack: [start, stop); start NULL: not begun, or ended */
	char *copy;
	long n_copied;
	struct line *outer;	/* the next that begins further out, of those that may lie there */
	int (*f)(int);
	int arg;
};
static void *(*take)(void *, size_t);
static void (*give)(void *);
static struct line first = {.stop = (char *)-1, .start = (char *)1}, *now = &first, *next;
void lines_use(void *(*t)(void *, size_t), void (*g)(void *)) { take = t; give = g; }
static void save_up_to(struct line *l, char *stop)
{
	long n1 = l->n_copied, n2 = stop - l->start;
	if (n2 > n1) {
		l->copy = take(l->copy, n2);
		memcpy(l->copy + n1, l->start + n1, n2 - n1);
		l->n_copied = n2;
	}
}
static __attribute__((noinline)) int save(char *sp)
{
	struct line *l = now;
	if (!l->start)
		l = l->outer;
	else
		l->start = sp;
	for (; l && l->stop < next->stop; l = l->outer)
		save_up_to(l, l->stop);
	if (l && l != next)
		save_up_to(l, next->stop);
	return 0;
}
static __attribute__((noinline)) void put_back(void)
{
	struct line *l = next;
	if (l->n_copied) {
		memcpy(l->start, l->copy, l->n_copied);
		give(l->copy);
		l->copy = NULL;
		l->n_copied = 0;
	}
	struct line *o = now;
	while (o && o->stop <= l->stop)
		o = o->outer;
	l->outer = o;
	now = l;
}
static __attribute__((noinline)) int move(void)
{
	char *sp;
	__asm__ volatile("" ::: "memory", "rbx", "r12", "r13", "r14", "r15");
	__asm__ volatile("mov %%rsp, %0" : "=r"(sp));
	if (save(sp))
		return -1;
	if (!next->start)
		return 1;
	long by = next->start - sp;
	__asm__ volatile("add %0, %%rsp\nadd %0, %%rbp" : : "r"(by) : "memory");
	put_back();
	__asm__ volatile("" ::: "memory", "rbx", "r12", "r13", "r14", "r15");
	return 0;
}
static __attribute__((noinline)) int go(struct line *to)
{
	next = to;
	return move();
}
static __attribute__((noinline)) int begin(struct line *to)
{
	char mark;
	to->stop = &mark;
	if (go(to) != 1)
		return 0;
	struct line *o = now;
	while (o && o->stop <= to->stop)
		o = o->outer;
	to->outer = o;
	to->start = (char *)1;
	now = to;
	to->f(to->arg);
	to->start = NULL;
	go(&first); /* for good */
	return 0;
}
void line_init(struct line *l, int (*f)(int), int arg) { *l = (struct line){.f = f, .arg = arg}; }
size_t line_bytes(void) { return sizeof(struct line); }
int line_ended(struct line *l) { return l->stop && !l->start; }
struct line *line_now(void) { return now; }
struct line *line_first(void) { return &first; }
int line_go(struct line *l)
{
	give(take(NULL, 1)); /* as a check of arguments may */
	return l->stop ? go(l) : begin(l);
}
static jmp_buf caught;
int jumps_out(int (*f)(int), int (*after)(int), int i)
{
	if (!setjmp(caught))
		return f(i);
	return after(i) + after(i + 1);
}
void jump(void) { longjmp(caught, 1); }
C
cat >program.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#define FN __attribute__((noipa)) static
struct line;
void lines_use(void *(*take)(void *, size_t), void (*give)(void *));
void line_init(struct line *l, int (*f)(int), int arg);
size_t line_bytes(void);
int line_ended(struct line *l);
struct line *line_first(void);
int line_go(struct line *l);
int jumps_out(int (*f)(int), int (*after)(int), int i);
void jump(void);
enum { LINES = 9 };
static struct line *lines[LINES];
static int turns, sum;
static char marks[100000];
FN void *take(void *at, size_t n) { return realloc(at, n); }
FN void give(void *at) { free(at); }
FN int leaf(int i) { turns++; return i * 3; }
FN int deep(int n, int me)
{
	if (n)
		return deep(n - 1, me) + leaf(n);
	/* Pointers of its own, by which the line is known again: small numbers are not recorded. */
	char *volatile own[] = {marks + turns, marks + turns + 1, marks + turns + 2, marks + turns + 3};
	line_go(line_first());
	return leaf(me) + (own[0] > own[3]);
}
FN int work(int me)
{
	for (int i = 0; i < 6; i++) {
		sum += leaf(i) + deep((i + me) % 4, me);
		if (i % 3 == 2)
			sum += deep(0, i);
	}
	return leaf(me);
}
FN int thrown(int i) { leaf(i); if (i & 1) jump(); return leaf(i); }
FN int after(int i) { return leaf(i) + leaf(i); }
FN int further_in(int n) { return n ? further_in(n - 1) + leaf(n) : line_go(lines[0]); }
int main(int argc, char **argv)
{
	lines_use(take, give);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < LINES; i++) {
			lines[i] = malloc(line_bytes());
			line_init(lines[i], work, i);
		}
		for (int any = 1; any;) {
			any = 0;
			for (int k = 0; k < LINES; k++) {
				struct line *l = lines[round == 1 ? LINES - 1 - k : k];
				if (line_ended(l))
					continue;
				any = 1;
				leaf(k);
				line_go(l);
			}
			if (!line_ended(lines[0]))
				further_in(3);
		}
		for (int i = 0; i < 8; i++)
			sum += jumps_out(thrown, after, i);
	}
	printf("%d %d\n", turns, sum);
	return 0;
}
C
compile_with_library lines -fno-stack-protector
./program >alone || skip 'its own switch does not work here'

"$PUGMARK" record -q -o rec --mode full -- ./program >printed 2>err
claim 'it prints what it prints alone' same alone printed
claim 'no gap' "$PUGMARK" verify rec
"$PUGMARK" dump --format text rec >told
claim 'lines are left, switched to, and told as resumed the first time' awk '
	$2 == "unwind" { left++ } $2 == "switch" { switched++ } $NF == "resumed" { resumed++ }
	END { print left, switched, resumed; exit !(left && switched > 50 && resumed) }' told
leaf=$(nm program | awk '$3 == "leaf" { sub(/^0+/, "", $1); print $1 }')
counted=$(cut -d' ' -f1 alone)
claim 'each call that the program has counted is told' is "$(grep -cE " (call|tail) program [0-9a-f]+ program:$leaf\$" told)" \
	"$counted"
claim 'and has returned' is "$(grep -c " ret program $leaf\$" told)" "$counted"
cat >loop.c <<'C'
#include <stdio.h>
int protect(int (*f)(int), int (*after)(int), int i);
int run(int (*f)(int), int i);
void raise_it(void);
#define FN __attribute__((noinline)) static
FN int leaf(int i) { return i ^ 5; }
FN int g(int i) { if (i % 2) raise_it(); return leaf(i) + 1; }
FN int f(int i) { int n = run(g, i); n += leaf(n); raise_it(); return n + leaf(n); }
FN int h(int i) { return run(g, i & ~1) + run(leaf, i); }
int main(void)
{
	unsigned n = 0;
	for (int i = 0; i < 6000; i++)
		n += protect(f, h, i % 1000);
	printf("%u\n", n);
	return 0;
}
C
"${CC:-cc}" -O1 -shared -fPIC -o libraises.so "$tests/bench/loads/protects.c" && "${CC:-cc}" -O1 -o loop loop.c -L. -lraises
"$PUGMARK" record -q -o loop.rec --mode full -- ./loop >printed 2>err
claim 'lines left for good again and again cost no gap' timeout 120 "$PUGMARK" verify loop.rec
conclude

#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# yields.sh: coroutines of a library, recorded with the program or not: it switches stacks by a few instructions
# that have no call frame information, and one of its functions goes there by a jump. Which calls of the program
# may come back on another stack is told by the library's code, and each event tells by its frame whose it is.
# Not recorded, it also goes to a stack that was left and jumps to a function of the program there, and calls back
# before it switches.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
work_in_own_folder
cat >library.c <<'C'
#include <stdlib.h>
#include <string.h>

void asm_switch(void **save, void *to);
__asm__(".text\n.globl asm_switch\n.type asm_switch,@function\nasm_switch:\n"
	"push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n"
	"mov %rsp,(%rdi)\n mov %rsi,%rsp\n"
	"pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n ret\n"
	".size asm_switch,.-asm_switch\n");
/* The same, and jumps to @fn, which returns in its place. */
void asm_on_top(void **save, void *to, void (*fn)(void));
__asm__(".globl asm_on_top\n.type asm_on_top,@function\nasm_on_top:\n"
	"push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n"
	"mov %rsp,(%rdi)\n mov %rsi,%rsp\n"
	"pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n jmp *%rdx\n"
	".size asm_on_top,.-asm_on_top\n");
struct co {
	void *sp;
	struct co *back;
	void (*body)(void *);
	void *arg;
	int done;
};
static struct co root, *now = &root;
static void start(void)
{
	struct co *c = now;
	void *unused;
	c->body(c->arg);
	c->done = 1;
	now = c->back;
	asm_switch(&unused, now->sp);
	abort();
}
struct co *co_new(void (*body)(void *), void *arg)
{
	struct co *c = calloc(1, sizeof *c);
	void **sp = (void **)((char *)aligned_alloc(16, 65536) + 65536);
	*--sp = 0;
	*--sp = (void *)start;
	sp -= 6;
	memset(sp, 0, 48);
	c->sp = sp;
	c->body = body;
	c->arg = arg;
	return c;
}
int co_resume(struct co *c)
{
	if (c->done)
		return 0;
	c->back = now;
	now = c;
	asm_switch(&c->back->sp, c->sp);
	return !c->done;
}
int co_run(struct co *c, void (*fn)(void))
{
	if (c->done)
		return 0;
	c->back = now;
	now = c;
	fn();
	asm_on_top(&c->back->sp, c->sp, fn);
	return !c->done;
}
void co_yield(void)
{
	struct co *c = now;
	now = c->back;
	asm_switch(&c->sp, now->sp);
}
C
cat >program.c <<'C'
#include <stdio.h>
struct co;
struct co *co_new(void (*body)(void *), void *arg);
int co_resume(struct co *c);
int co_run(struct co *c, void (*fn)(void));
void co_yield(void);
static int leaves;
__attribute__((noipa)) void leaf(void) { leaves++; }
__attribute__((noipa)) void deep(int n)
{
	if (n)
		deep(n - 1);
	else
		co_yield();
	leaf();
}
__attribute__((noipa)) void body(void *arg)
{
	for (int i = 0; i < 20; i++) {
		deep((long)arg % 3);
		leaf();
		co_yield();
	}
}
__attribute__((noipa)) void note(void)
{
	leaf();
}
int main(int argc, char **argv)
{
	struct co *c[5];
	for (long i = 0; i < 5; i++)
		c[i] = co_new(body, (void *)i);
	int live_since = 0;
	for (int live = 1; live;) {
		live = 0;
		for (int i = 0; i < 5; i++)
			live |= argc > 1 && live_since ? co_run(c[i], note) : co_resume(c[i]);
		live_since = 1;
		leaf();
	}
	printf("%d\n", leaves);
	return 0;
}
C
cc=${CC:-cc}
# shellcheck disable=SC2016 # the linker's $ORIGIN
"$cc" -O2 -fPIC -shared library.c -o libyields.so &&
	"$cc" -O2 program.c ./libyields.so -Wl,-rpath,'$ORIGIN' -o program || skip 'no compiler'
address() { "$PUGMARK" cfg --list program | awk -v name="$1" '$5 == name { print $1 }'; }
leaf=$(address leaf) body=$(address body)
told() { # NAME OPTIONS...; argument: the program's
	"$PUGMARK" record -q "${@:2}" -o "rec.$1" -- ./program "${argument[@]}" >out 2>err
	run 0 verify "rec.$1"
	claim "$1: there is no gap" grep -q '^complete' out
	"$PUGMARK" dump "rec.$1" | cut -d' ' -f2- >"$1"
	claim "$1: each call of leaf is told" is \
		"$(grep -cE "^(call|tail) program [0-9a-f]+ program:$leaf$" "$1")" "$(./program "${argument[@]}")"
}
argument=()
for mode in best casper full; do
	told "$mode" --mode $mode --module libyields.so
	claim "$mode: and five first functions" is "$(grep -c "^call .* program:$body$" $mode)" 5
	argument=(on-top)
	told "$mode-on-top" --mode $mode
	claim "$mode-on-top: no stack is new but the five" is "$(grep -c ' context$' $mode-on-top)" 5
	argument=()
	told "$mode-alone" --mode $mode
	claim "$mode-alone: and five first functions" is \
		"$(grep -c "^enter program $body context" $mode-alone)" 5
done
claim 'all tell the same' eval 'cmp -s best full && cmp -s best casper'
claim 'all tell the same of the program alone' eval 'cmp -s best-alone full-alone && cmp -s best-alone casper-alone'
conclude

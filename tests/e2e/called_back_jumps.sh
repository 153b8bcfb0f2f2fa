#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# called_back_jumps.sh: functions that a library calls back end by jumping to another one, in the same
# place of the stack and with the same return address, as if the library had called that one: by name
# (so through the PLT), by a pointer, in a chain of two, behind a call that itself calls back, to
# another module, to what may switch stacks, here or in the library; or they return, or jump out, and
# the library then calls the next from the same place. Each is told as what it is, in each mode. The
# truth: the same functions built with notes of each entry, and the library's count of what it calls.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs "${CC:-cc}" nm
work_in_own_folder
CC=${CC:-cc}

cat >library.c <<'C'
#include <stdio.h>
#include <stdlib.h>
static int calls;
static __attribute__((destructor)) void tell(void)
{
	FILE *out = fopen("calls", "w");
	fprintf(out, "%d\n", calls);
	fclose(out);
}
int outside(int i) { return i + 3; }
void swap_stacks(void **from, void **to);
__asm__(".text\n.globl swap_stacks\n.hidden swap_stacks\n.type swap_stacks,@function\nswap_stacks:\n"
	"push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
	"mov %rsp,(%rdi)\nmov (%rsi),%rsp\n"
	"pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n.size swap_stacks,.-swap_stacks\n");
static void *here, *there;
int may_leave(int i)
{
	if (i == -1)
		swap_stacks(&here, &there);
	return i;
}
int calls_back(int (*f)(int), int i)
{
	calls++;
	return f(i) + 1;
}
int calls_each(int (**f)(int), int n, int i)
{
	int sum = 0;
	for (int k = 0; k < n; k++, calls++)
		sum += f[k](i);
	return sum;
}
/* its call of f() lies nearer than what has called it */
int jumps_back(int (*f)(int), int i)
{
	calls++;
	return f(i);
}
C
cat >traced.c <<'C'
int outside(int i), may_leave(int i);
int calls_back(int (*f)(int), int i);
int jumps_back(int (*f)(int), int i);
void swap_stacks(void **from, void **to);
#ifndef NOTED /* what is noted is not jumped to */
__asm__(".text\n.globl swap_stacks\n.hidden swap_stacks\n.type swap_stacks,@function\nswap_stacks:\n"
	"push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
	"mov %rsp,(%rdi)\nmov (%rsi),%rsp\n"
	"pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n.size swap_stacks,.-swap_stacks\n");
#else
__attribute__((no_instrument_function)) void swap_stacks(void **from, void **to) { (void)from, (void)to; }
#endif
static void *here, *there;
int leaf(int i) { return i ^ 1; }
int by_name(int i) { return leaf(i + 1); }
static int (*volatile way[])(int) = { leaf, outside };
int by_pointer(int i) { return way[i & 1](i + 2); }
int chain(int i) { return by_name(i + 3); }
int deep(int i) { return leaf(i) + 1; }
int behind(int i)
{
	int n = calls_back(chain, i);
	return leaf(n + calls_back(deep, i));
}
int either(int i) { return i & 1 ? leaf(i) : i & 2 ? outside(i) : i; }
int may_switch(int i)
{
	if (i == -1)
		swap_stacks(&here, &there);
	return i;
}
int to_switch(int i) { return may_switch(i); }
int to_leave(int i) { return may_leave(i); }
int out_and_back(int i) { return jumps_back(leaf, i); }
C
cat >program.c <<'C'
int calls_back(int (*f)(int), int i);
int calls_each(int (**f)(int), int n, int i);
int leaf(int i), by_name(int i), by_pointer(int i), chain(int i), behind(int i), either(int i),
	to_switch(int i), may_switch(int i), to_leave(int i), out_and_back(int i);
__attribute__((noipa)) int to_other(int i) { return by_name(i); }
static int (*all[])(int) = { by_name, leaf, by_pointer, leaf, chain, leaf, behind, leaf, either, leaf,
	leaf, to_switch, may_switch, to_switch, by_name, to_leave, leaf, to_leave, by_name, to_other, by_name, out_and_back, leaf, by_name };
#define ALL (int)(sizeof(all) / sizeof(*all))
int main(void)
{
	int n = 0;
	for (int i = 0; i < 8; i++) {
		for (int k = 0; k < ALL; k++)
			n += calls_back(all[k], i);
		n += calls_each(all, ALL, i);
	}
	return n < 0;
}
C
# Each entry's function by name, in order.
cat >noted.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#define UNNOTED __attribute__((no_instrument_function))
UNNOTED void __cyg_profile_func_enter(void *f, void *from)
{
	static FILE *out;
	Dl_info info;
	(void)from;
	if (!out)
		out = fopen("entered", "w");
	if (dladdr(f, &info) && info.dli_sname)
		fprintf(out, "%s\n", info.dli_sname);
}
UNNOTED void __cyg_profile_func_exit(void *f, void *from) { (void)f, (void)from; }
C
mkdir noted
$CC -O2 -shared -fPIC -o libcalls.so library.c && $CC -O2 -shared -fPIC -o libtraced.so traced.c -L. -lcalls &&
	$CC -O2 -o program program.c -L. -ltraced -lcalls &&
	$CC -O1 -DNOTED -finstrument-functions -rdynamic -o noted/program program.c traced.c noted.c -L. \
		-lcalls -ldl || skip 'no compiler'
export LD_LIBRARY_PATH=$PWD
./noted/program || skip 'the program itself fails'
grep -v '^main$' entered >truth
read -r calls <calls

for module in libtraced.so program; do
	nm $module | awk -v m=$module '$2 ~ /[Tt]/ { sub(/^0+/, "", $1); print m ":" $1, $3 }'
done >symbols
# Functions that were entered, by name: what calls and jumps lead to, or what is entered from outside.
entered() { # outside|all
	awk -v from="$1" 'FILENAME == "symbols" { name[$1] = $2; next }
		FILENAME == "truth" { noted[$1] = 1; next }
		{ at = $2 == "enter" ? $3 ":" $4 : from == "outside" || $2 !~ /^(call|tail)$/ ? "" : $5 }
		name[at] in noted { print name[at] }' symbols truth trace
}
for mode in full casper best; do
	claim "$mode: recorded" "$PUGMARK" record -q --mode $mode --module 'libtraced*' -o rec -- ./program
	claim "$mode: complete" "$PUGMARK" verify rec
	"$PUGMARK" dump rec >trace 2>err
	entered all >told
	claim "$mode: each entry in order" cmp truth told
	claim "$mode: each call back" is "$(entered outside | wc -l)" "$calls"
	claim "$mode: on one stack" is "$(grep -c ' switch ' trace)" 0
done
conclude

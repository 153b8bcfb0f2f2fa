#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# either.sh: a program that may switch stacks by a function whose address it takes, and that calls a
# library by a pointer as well, which calls back. Nothing in the call says which of the two it was.
# So what is called back is told as a gap, and never as a switch that has not been; where the library
# is called by its name, there is neither.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs gcc
work_in_own_folder
cd "$dir" || exit 1

cat >library.c <<'C'
void each(void (*f)(int), int n) { for (volatile int i = 0; i < n; i++) f(i); }
C
cat >program.c <<'C'
#include <stdlib.h>
#define FN __attribute__((noipa))
void each(void (*)(int), int);
__asm__(".globl hop\n.type hop,@function\nhop: mov %rsp,(%rdi)\n mov %rsi,%rsp\n ret\n.size hop,.-hop");
void hop(void **from, void *to);
static void (*volatile hopper)(void **, void *) = hop;
static void (*volatile by_pointer)(void (*)(int), int) = each;
static int total;
FN static void twice(int x) { total += 2 * x + rand() % 1; }
FN static void note(int i) { if (i % 2) twice(i); total += i; }
int main(int argc, char **argv)
{
	static void *from;
	if (argc > 5) hopper(&from, argv);
	for (int k = 0; k < 3; k++) {
		if (argc > 1) by_pointer(note, 3);
		else each(note, 3);
		twice(k);
	}
	return total != 21;
}
C
gcc -O2 -shared -fPIC -o libeach.so library.c && gcc -O2 -o program program.c ./libeach.so \
	-Wl,-rpath,"$dir" || skip 'no compiler'
"$PUGMARK" record -q -o named -- ./program >out 2>&1
claim 'called by its name: recorded' [ $? = 0 ]
"$PUGMARK" record -q -o pointer -- ./program x >out 2>&1
claim 'called by a pointer: recorded' [ $? = 0 ]
"$PUGMARK" dump named >named.txt
claim 'called by its name: no gap' [ $? = 0 ]
claim 'called by its name: no switch' [ "$(grep -c ' switch ' named.txt)" = 0 ]
claim 'called by its name: each callback is there' [ "$(grep -c '^[0-9]* enter .* callback$' named.txt)" -ge 9 ]
"$PUGMARK" dump pointer >pointer.txt
claim 'called by a pointer: that is not told' [ $? = 3 ]
claim 'called by a pointer: the gaps say so' grep -q ' gap unresolved ' pointer.txt
claim 'called by a pointer: no switch is made up' [ "$(grep -c ' switch ' pointer.txt)" = 0 ]
conclude

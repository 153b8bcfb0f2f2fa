#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# stale.sh: a function calls a library, then jumps to another of its functions, which calls back from
# a frame in which the return address of the first call still stands. No mode takes the callback for
# one out of the first call.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
work_in_own_folder

cat >library.c <<'C'
int looks(int (*f)(int), int i) { return f && i > 100; }
int keeps(int (*f)(int), int i)
{
	char room[120]; /* what was there before */
	__asm__ volatile("" : : "r"(room) : "memory");
	int n = f(i);
	__asm__ volatile("" : : "r"(room) : "memory");
	return n;
}
C
cat >program.c <<'C'
#include <unistd.h>
#define FN __attribute__((noipa))
int looks(int (*f)(int), int i);
int keeps(int (*f)(int), int i);
FN static int called(int i) { return i ^ 1; }
FN static int stale(int i)
{
	i += looks(called, i);
	return keeps(called, i);
}
int main(void)
{
	int n = 0;
	for (int i = 0; i < 500; i++)
		n += stale(i % 100);
	sleep(2); /* the recorder looks at what is mapped while the process is there */
	return n < 0;
}
C
${CC:-cc} -O2 -shared -fPIC -o libkeeps.so library.c || skip 'no compiler'
${CC:-cc} -O2 -o program program.c -L. -lkeeps || skip 'no compiler'
export LD_LIBRARY_PATH=$dir
"$PUGMARK" record -q -o rec --mode full --twin casper --twin best -- ./program >out 2>err
claim 'recorded' is $? 0
called=$(nm program | awk '$3 == "called" { sub(/^0+/, "", $1); print $1 }')
m=0
for mode in full casper best; do
	"$PUGMARK" dump --module $m rec | cut -d ' ' -f 2- >$mode
	claim "$mode: each jump is told, each callback, and none out of the call before" is \
		"$(awk -v called="$called" '/ - looks$/ { call = 1; next }
			/^tail .* - keeps$/ { call = 0; jumps++ }
			/^enter .* callback$/ && $3 == called { callbacks++; wrong += call }
			{ call = 0 }
			END { print jumps + 0, callbacks + 0, wrong + 0 }' $mode)" '500 500 0'
	m=$((m + 1))
done
conclude

#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# short_lived.sh: a process that ends before a second is over: what it has mapped is looked at while it
# runs, so that its stacks are known as well as those of others. The program jumps to fflush(), which calls
# back, and a return address of an earlier call lies in fflush()'s frame: modes best and casper tell
# the jump before the callback, as mode full does, which has an event for it.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs "${CC:-cc}"
work_in_own_folder

cat >prints.c <<'C'
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>
#define FN __attribute__((noipa))
FN static ssize_t writes(void *unused, const char *text, size_t n)
{
	return unused ? -1 : write(1, text, n);
}
FN static int puts_one(int c, FILE *to) { return fputc(c, to); }
/* Three registers are saved here, and of fflush()'s frame the third word is not written. */
FN static int puts_line(const char *text, FILE *to, int *n)
{
	while (*text)
		*n += puts_one(*text++, to);
	return fflush(to);
}
int main(void)
{
	FILE *to = fopencookie(NULL, "w", (cookie_io_functions_t){.write = writes});
	int n = 0;
	usleep(600000);
	for (int i = 0; i < 20; i++)
		puts_line("ab\n", to, &n);
	return n < 0;
}
C
"${CC:-cc}" -O2 -o prints prints.c 2>cc.err || skip "no compiler: $(head -n 1 cc.err)"
claim 'recorded' eval '"$PUGMARK" record -q --mode full --twin casper --twin best -o rec -- ./prints >lines 2>err'
claim 'it printed' is "$(wc -l <lines)" 20
m=0
for mode in full casper best; do
	"$PUGMARK" dump --module $m rec >$mode 2>err
	m=$((m + 1))
done
claim 'mode full tells of a jump to fflush a line' is "$(grep -c 'tail prints .* fflush$' full)" 20
claim 'no gap' is "$(cat full casper best | grep -c ' gap ')" 0
claim 'mode casper tells what mode full does' same full casper
claim 'mode best tells what mode full does' same full best
# Patched instructions note what they tell in lanes, and a thread's first record comes with the program.
claim 'recorded by patched instructions' eval '"$PUGMARK" record -q --mode best --carrier patch -o lanes -- ./prints >lines 2>err'
"$PUGMARK" dump lanes >patched 2>err
claim 'patched instructions: no gap' is "$(grep -c ' gap ' patched)" 0
calls() { cut -d ' ' -f 2- "$1"; } # without the thread
claim 'patched instructions tell what mode full does' same <(calls full) <(calls patched)
conclude

#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# lost_callbacks.sh: events are lost, and the thread is behind them in a function that qsort() calls back, out of another
# call than the one it was in before: the stack tells which, so that it costs a gap and not one for each time.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
pieces=$BUILD/tests/pieces
[ -x "$pieces" ] || skip 'tests/pieces is not built'
needs setarch
work_in_own_folder

cat >sorts.c <<'C'
#include <stdio.h>
#include <stdlib.h>
static unsigned x = 1, sum, v[1000];
__attribute__((noipa)) static int less(const void *a, const void *b)
{
	sum += *(const unsigned *)a;
	return *(const unsigned *)a < *(const unsigned *)b ? -1 : 1;
}
__attribute__((noipa)) static void once(void) { qsort(v, 1000, sizeof(*v), less); sum++; }
__attribute__((noipa)) static void again(void) { qsort(v, 1000, sizeof(*v), less); sum += 2; }
__attribute__((noipa)) static void fill(void)
{
	for (int i = 0; i < 1000; i++)
		v[i] = x = x * 69069 + 1;
}
int main(void)
{
	for (int i = 0; i < 9; i++) {
		fill();
		if (i % 3)
			once();
		else
			again();
	}
	printf("%u\n", sum);
	return 0;
}
C
"${CC:-cc}" -O2 -o sorts sorts.c || skip 'no compiler'
./sorts >expected
for mode in full best; do
	setarch -R "$PUGMARK" record -q -o whole --mode $mode -- ./sorts >out 2>err
	claim "$mode: nothing is lost with room enough" [ $? = 0 ]
	PUGMARK_RING_BYTES=65536 PUGMARK_STALL_MS=300 setarch -R "$PUGMARK" record -q -o lossy --mode $mode -- ./sorts >out 2>err
	status=$?
	claim "$mode: a machine that is quick enough loses nothing, else it is said" [ $((status % 3)) = 0 ]
	claim "$mode: the program did its work" cmp out expected
	# One was left for each of a fifth to half of all callbacks. What is left: stacks that are lost as well.
	"$PUGMARK" verify --format json lossy >verified
	gaps=$(grep -o '"cause":' verified | wc -l)
	echo "$mode: $gaps gaps, $(grep -o '"cause":"lost"' verified | wc -l) of them where events are lost"
	claim "$mode: not a gap for each callback behind a loss" [ "$gaps" -lt 2000 ]
	[ $mode = best ] || # where a gap may begin before what was told behind the one before
		claim "$mode: what is told between the gaps happened there" "$pieces" whole lossy
done
conclude

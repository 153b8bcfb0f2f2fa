#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# match_follow.sh: `match --follow` compares two recordings while they are written: where the second
# program goes wrong in the middle the rise is told before they end, and where it does not none is.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs python3
work_in_own_folder

cat >rounds.c <<'C'
#include <stdio.h>
#include <unistd.h>
static unsigned table[64], sum, crc = 1, shifts, best;
static void step(unsigned n, int round)
{
	unsigned k = n * 2654435761u + FAULT;
	table[k >> 26] += k;
	sum = sum * 31 + table[k >> 26];
	crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u ^ k : k);
	shifts ^= sum << (k & 7);
	if (crc % 97 > best % 89)
		best = crc ^ sum;
}
int main(void)
{
	for (int round = 0; round < 40; round++) {
		for (unsigned n = 0; n < 500; n++)
			step(round * 1000 + n, round);
		printf("%08x %08x %08x %08x\n", sum, crc, shifts, best);
		fflush(stdout);
		usleep(PAUSE);
	}
	return 0;
}
C
cc=${CC:-cc}
"$cc" -O0 -g -w -DFAULT=0 -DPAUSE=300000 -o plain rounds.c || skip 'no compiler'
"$cc" -O1 -g -w '-DFAULT=(round==100)' -DPAUSE=250000 -o same rounds.c
"$cc" -O1 -g -w '-DFAULT=(round==16)' -DPAUSE=250000 -o wrong rounds.c
for program in plain same wrong; do
	"$PUGMARK" record -q --level values -o $program.rec -- ./$program >$program.out 2>$program.err &
	started+=($!)
done
for program in plain same wrong; do
	await test -e $program.rec/meta.json
done
"$PUGMARK" match --follow plain.rec wrong.rec >wrong.said 2>wrong.errors &
wrong=$!
"$PUGMARK" match --follow --format json plain.rec same.rec >same.said 2>same.errors &
same=$!
for _ in $(seq 400); do
	grep -q 'the rise$' wrong.said && break
	kill -0 "${started[0]}" 2>/dev/null || break
	sleep 0.05
done
claim 'the rise is told' grep -q 'the rise$' wrong.said
claim 'while the programs run' kill -0 "${started[0]}" "${started[2]}"
claim 'and before there was none' eval "sed '/with a rise/,\$d' wrong.said | grep -q 'so far, .* no rise'"
claim 'at the first line that was wrong' eval \
	"sed -n '/^unmatched, the most suspicious/{n;p;}' wrong.said | head -n 1 | grep -q 'rounds.c:6'"
wait $wrong
claim 'its status' is $? 3
wait $same
claim 'that of the other one' is $? 0
claim 'which was followed, without a rise' python3 -c 'import json
lines = [json.loads(l) for l in open("same.said") if l.startswith("{\"so_far")]
assert len(lines) >= 2 and not any(l["rise"] for l in lines), lines
assert [l["so_far"] for l in lines] == sorted({l["so_far"] for l in lines}), lines'
run 0 match plain.rec same.rec --format json
claim 'and at the end is as without --follow' eval 'sed -n "/^{\"instr/,\$p" same.said | cmp - out'
conclude

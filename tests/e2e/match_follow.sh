#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# match_follow.sh: `match --follow` compares two recordings while they are written: where the second
# program goes wrong in the middle the rise is told before they end, and where it does not none is.
# The programs wait for that: before the middle until it is said how far they agree, and behind it until
# the rise is told.
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
		char byte;
		if (round == 10 || round == 30)
			read(0, &byte, 1);
		for (unsigned n = 0; n < 500; n++)
			step(round * 1000 + n, round);
		printf("%08x %08x %08x %08x\n", sum, crc, shifts, best);
		fflush(stdout);
		usleep(50000);
	}
	return 0;
}
C
cc=${CC:-cc}
"$cc" -O0 -g -w -DFAULT=0 -o plain rounds.c || skip 'no compiler'
"$cc" -O1 -g -w '-DFAULT=(round==100)' -o same rounds.c
"$cc" -O1 -g -w '-DFAULT=(round==16)' -o wrong rounds.c
programs='plain same wrong'
for program in $programs; do
	mkfifo $program.fifo
	"$PUGMARK" record -q --level values -o $program.rec -- ./$program <$program.fifo >$program.out 2>$program.err &
	started+=($!)
done
exec 7>plain.fifo 8>same.fifo 9>wrong.fifo
go_on() { echo >&7; echo >&8; echo >&9; }
for program in $programs; do
	await test -e $program.rec/meta.json
done
"$PUGMARK" match --follow plain.rec wrong.rec >wrong.said 2>wrong.errors &
wrong=$!
"$PUGMARK" match --follow --format json plain.rec same.rec >same.said 2>same.errors &
same=$!
claim 'how far they agree is told while the programs run' await grep -q 'so far' wrong.said
await grep -q so_far same.said
go_on
claim 'so is the rise' await grep -q 'the rise$' wrong.said
go_on
exec 7>&- 8>&- 9>&-
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

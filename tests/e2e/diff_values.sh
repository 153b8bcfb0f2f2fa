#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# diff_values.sh: functions of two stripped builds are paired by what their instructions did, where
# the graph of calls cannot tell them apart; truth are the symbols of builds that were not stripped.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs python3 nm
work_in_own_folder

cat >leaves.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#ifdef SECOND
#define ORDER(a, b, c, d) d c b a
#else
#define ORDER(a, b, c, d) a b c d
#endif
#define LEAF(name, start, ...) static unsigned name(unsigned n) \
	{ unsigned s = start; for (unsigned i = 1; i < n; i++) s = __VA_ARGS__; return s; }
static unsigned all;
ORDER(LEAF(weigh, 3, s * 5 + i), LEAF(turn, 9, (s << 3 | s >> 29) ^ i),
      LEAF(fold, 1, s / 3 + 77777 * i), LEAF(mix, 7, s * s + 13 + (i & 5)))
int main(int argc, char **argv)
{
	unsigned n = strtol(argv[1], NULL, 10);
	for (int i = 0; i < 10; i++)
		all += weigh(n + i) ^ turn(n + i) ^ fold(n + i) ^ mix(n + i);
	printf("%u\n", all);
	return 0;
}
C
cc=${CC:-cc}
"$cc" -O1 -fno-inline -w -o first leaves.c || skip 'no compiler'
"$cc" -O2 -fno-inline -DSECOND -w -o second leaves.c
for program in first second; do
	nm $program | sed -nE 's/^0*([0-9a-f]+) t (weigh|turn|fold|mix)$/\2 \1/p' | sort >$program.symbols
	strip $program
	"$PUGMARK" record -q --level values -o $program.values -- ./$program 20 >$program.out 2>err
	"$PUGMARK" record -q -o $program.calls -- ./$program 20 >$program.out 2>err
done
join first.symbols second.symbols >pairs # NAME FIRST SECOND
claim 'four functions have another address each' is "$(awk '$2 != $3' pairs | wc -l)" 4

paired() { # of the four that are no difference
	local n=0 name first second
	while read -r name first second; do
		grep -qE "^[-+] .*sub_($first|$second)( |\$)" out || n=$((n + 1))
	done <pairs
	echo $n
}
run 4 diff --match first.calls second.calls
claim 'the graph of calls cannot tell them apart' is "$(paired)" 0
run 4 diff --match first.values second.values
claim 'values can: none of them is a difference' is "$(paired)" 4
while read -r name first second; do
	claim "$name is the right one, with its evidence" \
		grep -qE "^  sub_$second as sub_$first: [1-9][0-9]* of its [1-9][0-9]* instructions have done the same" out
done <pairs
run 4 diff --match --format json first.values second.values
claim 'in JSON as well' python3 -c 'import json
j = json.load(open("out"))
got = {(p["first"], p["second"]) for p in j["matched_by_values"]}
want = {tuple("sub_" + a for a in l.split()[1:]) for l in open("pairs")}
assert want <= got and j["matched"] >= len(got), (want, got)'
run 4 diff --match first.values second.calls
claim 'where one has no values it is as without' eval '! grep -q "have done the same" out'
conclude

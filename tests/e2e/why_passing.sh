#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# why_passing.sh: runs that passed as evidence. A jump that left out what should have been done is in no slice,
# and is listed where runs that passed went the other way; a line that none of them executed comes before those that
# all did; and switch tries such jumps early, and tells those that come closer.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs python3
work_in_own_folder

# Of two numbers the first line should print their sum and 5, the second one their product and 5.
cat >target.c <<'C'
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	int n = argc - 1, sum = 0, product = 1, more = 0, again = 0;
	for (int i = 0; i < n; i++) {
		int v = atoi(argv[1 + i]);
		sum += v;
		product *= v;
	}
	if (n > 2)
		more = 5;
	if (n > 2)
		again = 5;
	if (n == 2)
		sum = sum + argc - 3;
	printf("sum %d\n", sum + more);
	printf("product %d\n", product + again);
	return 0;
}
C
${CC:-cc} -O0 -g -w -o target target.c
${CC:-cc} -O1 -g -w -o other target.c
record() { # NAME PROGRAM ARGUMENT...
	"$PUGMARK" record -q --level values -o "$1" -- "${@:2}" >"$1.out" 2>err
}
record failed ./target 30 4
record one ./target 30
record three ./target 30 4 2
record strange ./other 30
printf 'sum 39\nproduct 125\n' >want

lines() { # of the answer, in its order
	python3 -c 'import json
print(*dict.fromkeys(l["line"] for l in json.load(open("out"))["lines"] if (l["file"] or "").endswith(".c")))'
}
among() { # N FIRST: line N is among the first FIRST
	local n=0 l
	for l in $(lines); do
		n=$((n + 1))
		[ "$l" = "$1" ] && [ $n -le "$2" ] && return 0
	done
	echo "$1 is not among the first $2 of $(lines)"
	return 1
}

run 3 why failed --write 1:5 --control --addresses --limit 1000 --format json
claim 'what a jump left out is in no slice' bash -c "! grep -q '\"line\":11,' out"
run 3 why failed --write 1:5 --control --addresses --limit 1000 --passing one --passing three --format json
claim 'with runs that passed the jump is listed' among 11 8
claim 'a line that none of them executed is among the first' among 16 3
run 3 why failed --write 1:5 --control --passing one --passing three
claim 'it is told in how many they were the same' grep -q 'sum = sum + argc - 3;.*executed in 0 of 2 runs that passed' out
claim 'and what is not in the slice' grep -q 'if (n > 2).*its jumps went so in 1 of 2 runs that passed  | not in the slice' out
run 1 why failed --write 1:5 --passing strange
claim 'a recording of another program is refused' grep -q 'strange: it is a recording of another program' err

run 3 switch failed --until 'stdout = want' --passing one --passing three -- ./target 30 4
claim 'no single jump does it, one comes closer' grep -Eq 'closer: target.c:11 main, .*: 1[0-9] bytes are right instead of 5' out
claim 'why is asked about that one next' grep -q 'next: pugmark why DIR --critical 0x' out
conclude

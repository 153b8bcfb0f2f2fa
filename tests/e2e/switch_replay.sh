#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# switch_replay.sh: `switch --replay` turns jumps in the recording. Truth are the runs of the program
# that `switch` makes with the same jumps turned: what the replay says of one is what the run does, as
# far as it says anything; and it says where it ends.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs python3
work_in_own_folder

# Sums of lines, with many ways to go wrong: it prints by pieces, exits by several statuses, allocates,
# reads a file, asks for what it need not, crashes.
cat >sums.c <<'C'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
static int *hole;
static int pick(int i, int limit)
{
	if (i > limit)
		return *hole;
	return i < 8 ? table[i] : 0;
}
int main(int argc, char **argv)
{
	char line[64];
	int sum = 0, lines = 0, odd = argc > 3;
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof(line), stdin)) {
		int n = atoi(line);
		lines++;
		if (n < 0) {
			fprintf(stderr, "line %d\n", lines);
			n = -n;
		}
		if (n & 1)
			odd++;
		sum += pick(n, 7);
		if (n == 5 && lines > 2)
			printf("five in line %d\n", lines);
		if (n == 77)
			free(malloc(1 << 20));
		if (n == 78)
			unlink("nowhere");
		if (n == 79)
			exit(3);
		printf("sum %d\n", sum);
	}
	if (odd > 2)
		printf("%d odd\n", odd);
	int fd = open("other", O_RDONLY);
	char byte = '?';
	if (fd >= 0 && read(fd, &byte, 1) == 1 && byte == 'y')
		puts("yes");
	printf("%d lines\n", lines);
	return odd & 1 ? 4 : 0;
}
C
${CC:-cc} -O1 -g -w -o sums sums.c || skip 'no compiler'
printf '3\n5\n-2\n4\n5\n0\n6\n5\n' >input
echo x >other
"$PUGMARK" record -q --level values -o rec -- ./sums <input >printed 2>err
claim 'it was recorded' is "$(tail -n 1 printed)" '8 lines'

compare() { # CONDITION...: the two answers
	local condition options=()
	for condition; do
		options+=(--until "$condition")
	done
	"$PUGMARK" switch rec "${options[@]}" --all --format json --crash --order last --replay >replay 2>err
	"$PUGMARK" switch rec "${options[@]}" --all --format json --crash --order last -- ./sums <input >truth 2>>err
	python3 - "$@" <<'P'
import json, sys
replay, truth = json.load(open("replay")), json.load(open("truth"))
def critical(of):
    return {c["number"]: c["taken"] for c in ([of["critical"]] if of["critical"] else []) + of.get("others", [])}
ours, theirs = critical(replay), critical(truth)
open_ends = {u["number"]: u for u in replay["unfinished"]}
assert replay["tried"] == truth["tried"] > 40, (replay["tried"], truth["tried"])
wrong = [n for n in ours if theirs.get(n) != ours[n]]
missed = [n for n in theirs if n not in ours and n not in open_ends]
assert not wrong and not missed, "said and not so: %s; so and denied: %s" % (wrong, missed)
ends = set(open_ends)
right = {c["number"]: c["right"] for c in truth["closer"]}
for c in replay["closer"]:
    if c["number"] in right and c["number"] not in ends:
        assert c["right"] == right[c["number"]], (c, right)
print(len(ours), len(theirs), len(ends), replay["tried"])
P
}
for condition in 'exit = 4' 'crash' 'stdout ~ ^five in line 2' 'stderr !~ line' 'stdout ~ ^yes'; do
	claim "'$condition': the replay says nothing that a run denies" compare "$condition"
	read -r replayed ran unfinished tried <said
	claim "'$condition': and it says it of some" test "$replayed" -gt 0
	echo "  $condition: $replayed of $ran found in the replay, where $unfinished of $tried did not end"
done

run 3 switch rec --until 'exit = 77' --crash --replay
claim 'where it ends is said: what it asks, and what was captured instead' \
	grep -q 'unfinished: sums.c:[0-9]* main, .*: it asks openat(.*; captured next was read;' out
run 1 switch rec --until 'exit = 0' --replay
claim 'what was as asked in the recording needs no jump' grep -q 'without any jump turned' err
run 2 switch rec --until 'exit = 1' --replay -- ./sums
conclude

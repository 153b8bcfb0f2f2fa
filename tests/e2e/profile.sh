#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# profile.sh: plans by the counts of earlier recordings: the trace is the same, to the last event, and
# takes fewer witness events; two recordings, the second of which was planned by the first, tell as
# much as one of every block; a library's counts are found as a program's; what is no recording of
# the binary is refused.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs gzip diff
work_in_own_folder
seq 3000 | awk '{ print "line", $1, ($1 * 7919) % 1009, "word" }' >text
sed 's/0 word/0 words/' text >other

witnesses() { # RECORDING
	"$PUGMARK" dump --count "$1" | sed -E 's/.* witnesses ([0-9]+) .*/\1/'
}
record_as() { # RECORDING OPTION...
	"$PUGMARK" record -q -o "$1" "${@:2}" -- ./program "${args[@]}" >out
	"$PUGMARK" dump "$1" | sed -E 's/^[0-9]+ //' >"$1.txt"
}
fewer() { # RECORDING OTHER
	[ "$(witnesses "$1")" -lt "$(witnesses "$2")" ] || { echo "$(witnesses "$1"), $(witnesses "$2")"; false; }
}
about() { # RECORDING OTHER: no more than a fiftieth more
	[ $((50 * $(witnesses "$1"))) -le $((51 * $(witnesses "$2"))) ] ||
		{ echo "$(witnesses "$1"), $(witnesses "$2")"; false; }
}

counts_make_cheaper() { # PROGRAM ARGUMENT...
	args=("${@:2}")
	cp -L "$(command -v "$1")" program
	record_as first
	record_as second --profile first
	record_as third --profile first --profile second
	record_as blocks --level paths
	record_as by_blocks --profile blocks
	claim "$1: the first is complete" "$PUGMARK" verify first
	for recording in second third by_blocks; do
		claim "$1, $recording: complete" "$PUGMARK" verify $recording
		claim "$1, $recording: the same trace" same first.txt $recording.txt
		claim "$1, $recording: fewer witness events" fewer $recording first
	done
	claim "$1: two recordings tell as much as one of every block" about third by_blocks
}
counts_make_cheaper gzip -c text
counts_make_cheaper diff text other

cat >library.c <<'C'
static volatile int skipped;
__attribute__((noipa)) static int often(int n) { return n + 1; }
/* A way with a call is taken to be the rarer one, as it is in most programs, and not in this. */
__attribute__((noipa)) static int step(int i, int sum)
{
	if (i % 100)
		sum = often(sum);
	else
		skipped++;
	return sum;
}
int work(int rounds);
int work(int rounds)
{
	int sum = 0;
	for (int i = 0; i < rounds; i++)
		sum = step(i, sum);
	return sum;
}
C
echo 'int work(int); int main(void) { return work(1000) == 0; }' >main.c
if gcc -O1 -shared -fPIC -o libwork.so library.c && gcc -O1 -o program main.c ./libwork.so; then
	args=()
	record_as lib --no-program --module ./libwork.so
	record_as lib_again --no-program --module ./libwork.so --profile lib
	claim 'a library, by its counts: complete' "$PUGMARK" verify lib_again
	claim 'a library: it was traced' [ "$(wc -l <lib.txt)" -gt 1000 ]
	claim 'a library, by its counts: the same trace' same lib.txt lib_again.txt
	claim 'a library, by its counts: fewer witness events' fewer lib_again lib
	run 1 record -q -o wrong --profile lib -- ./program
	claim 'a recording without the binary is refused' grep -q 'not in it' err
else
	skipped=$((skipped + 1))
	echo 'SKIP: no compiler for a library'
fi
run 1 plan --profile nowhere ./program
claim 'a profile that is no recording is refused' grep -q nowhere err
conclude

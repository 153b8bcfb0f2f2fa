#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# begins.sh: a jump out of calls is told as that, also where the stack can be seen down to the word that
# lies where the first function's return address would (argc): nothing of a switch to another stack.
set -u
. "$(dirname "$0")/../support/claims.sh"
programs=$(dirname "$(realpath "$0")")/../programs
needs_recording
work_in_own_folder

${CC:-cc} -O1 -nostdlib -static -o begins "$programs/begins.c" 2>cc.err ||
	skip "no compiler: $(head -n 1 cc.err)"
for mode in full casper best; do
	"$PUGMARK" record -q -o rec.$mode --mode $mode -- ./begins
	"$PUGMARK" verify rec.$mode >verify
	claim "mode $mode: complete" is $? 0
	"$PUGMARK" dump --format text rec.$mode >dump
	# Try n leaves the jump itself and n + 1 calls of down().
	claim "mode $mode: each call that a jump leaves" is "$(grep -c ' unwind ' dump)" $((2 + 3 + 4 + 5 + 6))
	claim "mode $mode: no other stack" is "$(grep -cE ' (switch|gap) ' dump)" 0
	claim "mode $mode: calls" is "$(grep -c ' call ' dump)" \
		$((1 + 5 + 5 + (1 + 2 + 3 + 4 + 5) * 2 + 5 + 5 + 1))
done
conclude

#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# values_story.sh: the bug of tests/programs/ledger.c is found as docs/values.md tells, from a sum that
# is wrong to the look-up that moved the array, by values, by slices and by gdb; without the bug the same
# questions have other answers.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs gcc
work_in_own_folder

# Where the writes of ann's balance and `giver` of the booking of 7 are, and where the array was moved to.
look_into() { # RECORDING: in `writes`, `giver`, `taker`, `moves`
	run 0 values --where 'amount==7' "$1" "ledger.c:$line"
	read -r giver taker < <(sed -nE 's/.*giver=(0x[0-9a-f]+), taker=(0x[0-9a-f]+).*/\1 \2/p' out)
	run 0 values --watch accounts "$1"
	mapfile -t moves < <(sed -nE 's/.* write account .* = (0x[0-9a-f]+)$/\1/p' out)
	run 0 values --watch 'accounts[0].balance' "$1"
	writes=$(grep -c ' write transfer ' out)
}
in_gdb() { # RECORDING: where the watched array was moved
	gdb -nx -batch -ex "target remote | '$PUGMARK' gdb --serve $1" -ex "tbreak ledger.c:$line if amount == 7" \
		-ex continue -ex 'watch -l accounts' -ex reverse-continue -ex bt ./ledger 2>&1
}

cp "$tests/programs/ledger.c" . || exit 1
gcc -g -O0 -o ledger ledger.c || skip 'no compiler for the program'
sed 's/struct account \*giver = /account(to); &/' ledger.c >fixed.c && gcc -g -O0 -o fixed fixed.c || exit 1
line=$(grep -n 'giver->balance -= amount' ledger.c | cut -d: -f1)
printf '%s\n' 'ann bob 10' 'cid dan 20' 'ann eve 7' 'eve bob 5' >bookings
"$PUGMARK" record -q --level values -o run ./ledger <bookings >printed 2>err
claim 'the sum is wrong' grep -qx 'sum 7' printed
"$PUGMARK" record -q --level values -o right ./fixed <bookings >printed 2>err
claim 'without the bug it is 0' grep -qx 'sum 0' printed

run 0 values run
claim 'all of the run is exact' grep -qE '^task 1: ([0-9]+) instructions, \1 wholly exact, 0 with .*; up to its end$' out
look_into run
claim 'the array was made, and moved once' is ${#moves[@]} 2
claim 'ann was charged once only' is "$writes" 1
claim 'the giver of the third booking is in the old array' is "$giver" "${moves[0]}"
run 0 why run "ledger.c:$line" giver --time 3
claim 'giver follows from the first array' grep -q "realloc.*= ${moves[0]}\$" out
run 0 why run "ledger.c:$line" taker --time 3
claim 'taker follows from the second' grep -q "realloc.*= ${moves[1]}\$" out
if command -v gdb >/dev/null; then
	in_gdb run >said_by_gdb
	claim 'gdb, backwards: it is the look-up of eve that moved the array' \
		grep -qE '^#0 +account \(name=0x[0-9a-f]+ "eve"\) at ledger.c' said_by_gdb
else
	skipped=$((skipped + 1))
fi

line=$(grep -n 'giver->balance -= amount' fixed.c | cut -d: -f1)
"$PUGMARK" values --where 'amount==7' right "fixed.c:$line" >out 2>err
giver=$(sed -nE 's/.*giver=(0x[0-9a-f]+),.*/\1/p' out)
"$PUGMARK" values --watch accounts right >out 2>err
last=$(sed -nE 's/.* write account .* = (0x[0-9a-f]+)$/\1/p' out | tail -n 1)
# ann is the second account there: bob was looked up before.
claim 'without the bug the giver is in the new array' is "$((giver))" "$((last + 24))"
conclude

#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# golang.sh: a program in Go, stripped as Debian has it: its functions have their names, and a run
# with goroutines is recovered without a gap; so is one that calls so deep that its stack is copied
# elsewhere, several times; the plans of modes casper and best tell what that of mode full tells.
# Where the runtime preempts goroutines by signals, one that comes while its assembly changes stacks
# leaves a gap, now and then: there the claims are about the first run without. How often a function
# is called for each level of the input is known beforehand.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs gron
work_in_own_folder
cp "$(command -v gron)" gron || skip 'gron cannot be copied'
"$PUGMARK" cfg --list gron >functions
address() { awk -v name="$1" '$NF == name || $(NF - 1) == name { print $1 }' functions; }
level=$(address main.statement.withNumericKey)
preempted=$(address runtime.asyncPreempt)

nested() { # N: levels of brackets
	local i
	for ((i = 0; i < $1; i++)); do printf '['; done
	printf 1
	for ((i = 0; i < $1; i++)); do printf ']'; done
	echo
}
levels() { # MODULE: how often the function is called that is called once for each
	awk -v callee="$level" '$2 == "call" { sub(/.*:/, "", $5); n += $5 == callee }
		END { print n + 0 }' "$1"
}

printf '{"a":[1,2,{"b":"c"}],"d":{"e":null,"f":true}}\n' >few.json
nested 80 >deep.json
nested 10 >preempted.json
for input in few deep preempted; do ./gron $input.json >$input.plain; done

export GODEBUG=asyncpreemptoff=1
for input in deep ${LONG:+few}; do
	record_in_three_modes --ring 64 -- ./gron $input.json
	claim "$input: recording works" is $? 0
	claim "$input: the program does what it does" same $input.plain out
	tell_the_same $input
	claim "$input: all calls are told" [ "$(grep -c ' call ' 0)" -gt 5000 ]
	claim "$input: goroutines are told" [ "$(grep -c ' context$' 0)" -gt 2 ]
	[ $input != deep ] || claim 'deep: each level is told, once' is "$(levels 0)" 80
done
"$PUGMARK" cfg --function main.main gron >main
claim 'functions have names' grep -q 'call fmt.F' main

export GODEBUG=
gaps=1 times=0 tries=0
while [ "$gaps" != 0 ] || [ "$times" = 0 ]; do
	[ $((tries += 1)) -le 12 ] || break
	record_in_three_modes --ring 64 -- ./gron preempted.json
	claim 'preempted: recording works' is $? 0
	claim 'preempted: the program does what it does' same preempted.plain out
	for module in 0 1 2; do "$PUGMARK" dump --module $module rec >$module 2>err; done
	gaps=$(cat 0 1 2 | grep -c ' gap ')
	times=$(grep -c " enter gron $preempted signal$" 0)
done
claim 'preempted: there is a run without a gap' is "$gaps" 0
for module in 0 1 2; do
	claim "preempted: plan $module tells where goroutines go on instead" \
		is "$(grep -c " enter gron $preempted signal$" $module)" "$times"
	claim "preempted: plan $module tells each level, once" is "$(levels $module)" 10
done
claim 'preempted: it was' [ "$times" -gt 0 ]
echo "preempted $times times, in run $tries"

# A frame of the runtime's that nobody unwinds is told to have a gigabyte.
"$PUGMARK" record -q -o rec --carrier patch -- ./gron few.json >patched 2>err
claim 'asked to be patched it does what it does' same few.plain patched
conclude

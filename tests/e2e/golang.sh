#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# golang.sh: a program in Go, stripped as Debian has it: its functions have their names, and a run
# with goroutines, stacks that grow and collections of garbage is recovered without a gap; the plans
# of modes casper and best tell what that of mode full tells. Goroutines are not preempted by signals
# here: one that comes while the runtime's assembly changes stacks leaves a gap, now and then.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs gron
work_in_own_folder
cp "$(command -v gron)" gron || skip 'gron cannot be copied'
printf '{"a":[1,2,{"b":"c"}],"d":{"e":null,"f":true}}\n' >in.json
export GODEBUG=asyncpreemptoff=1

./gron in.json >plain
"$PUGMARK" record -q --ring 64 -o rec --mode full --twin casper --twin best -- \
	./gron in.json >recorded 2>err
claim 'recording works' is $? 0
claim 'the program does what it does' same plain recorded
for module in 0 1 2; do
	"$PUGMARK" dump --module $module rec >$module 2>err
	claim "plan $module has no gap" is "$(grep -c ' gap ' $module)" 0
	claim "plan $module tells what mode full tells" same 0 $module
done
claim 'all calls are told' [ "$(grep -c ' call ' 0)" -gt 5000 ]
claim 'goroutines are told' [ "$(grep -c ' context$' 0)" -gt 2 ]
"$PUGMARK" cfg --function main.main gron >main
claim 'functions have names' grep -q 'call fmt.F' main
conclude

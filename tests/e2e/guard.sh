#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# guard.sh: a program that dies, while it is recorded, of what a harmful probe would make it die of: the
# recorder says so at once, with the last probes that it hit; `verify` and `report` mention it, as text
# and as JSON; the trace up to there is complete. Of each of SIGSEGV, SIGILL, SIGTRAP, SIGBUS; in a
# thread, while another waits; by a handler that ends it; by a signal that was sent; attached to; every
# process of a program. One that ends well, or of another signal, is not mentioned.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs "${CC:-cc}" jq
work_in_own_folder
"${CC:-cc}" -O1 -fno-optimize-sibling-calls -pthread -o dies "$tests/programs/dies.c" 2>cc.err ||
	skip "no compiler: $(head -n 1 cc.err)"
ulimit -c 0

json() { # COMMAND FILTER: what jq makes of it
	"$PUGMARK" "$1" --format json rec 2>/dev/null | jq -r "$2"
}
mentioned() { # NAME SIGNAL: by all, with the function that it died in and the probes before
	claim "$1: the recorder says so" grep -q "(dies) died of $2 while it was recorded: thread [0-9]*, at dies:crash+0x[0-9a-f]*, " err
	claim "$1: with the last probes, the newest first" grep -q "the last probes that it hit: dies:[a-z]*+0x[0-9a-f]* ([0-9.]* ms before), dies:" err
	claim "$1: and what to do" grep -q 'does it die without pugmark as well' err
	claim "$1: verify mentions it" eval "'$PUGMARK' verify rec | grep -q '^died .* dies: $2.*, at dies:crash+0x.*; the last probes that it hit: dies:'"
	claim "$1: so does report" eval "'$PUGMARK' report rec | grep -q '^died .* dies: $2'"
	claim "$1: in JSON" is "$(json verify '.deaths[] | select(.signal) | .died_of + " " + .signal + " " + .function')" "$2 $2 crash"
	claim "$1: and that of report" is "$(json report '.deaths[] | select(.signal) | .died_of')" "$2"
	claim "$1: of the last probe a place in the program" is \
		"$(json verify '.deaths[] | select(.signal) | .last_probes[0].module')" dies
	claim "$1: and the trace is complete" "$PUGMARK" verify rec
}

for signal in SEGV ILL TRAP BUS; do
	"$PUGMARK" record -q -o rec -- ./dies $signal >out 2>err </dev/null
	claim "$signal: the status is the program's" is $? $((128 + $(kill -l $signal)))
	mentioned $signal SIG$signal
	claim "$signal: it was not sent" is "$(json verify '.deaths[0].sent')" false
done
claim 'an address is told where there is one' is "$(
	"$PUGMARK" record -q -o rec -- ./dies SEGV >out 2>err </dev/null
	json verify '.deaths[0].fault_address'
)" 18
# The probe that is named is one that was hit, and the newest: the last event of its thread.
last=$("$PUGMARK" raw rec | awk '$3 == "witness" { last = $5 } END { sub(/.*:/, "", last); print last }')
addr=$("$PUGMARK" plan --list ./dies --format json 2>/dev/null | jq -r ".sites[$last].address" 2>/dev/null)
[ -z "$addr" ] || [ "$addr" = null ] ||
	claim 'the newest probe is that of the last event' is "$(json verify '.deaths[0].last_probes[0].address')" "$addr"

"$PUGMARK" record -q -o rec -- ./dies SEGV thread >out 2>err </dev/null
mentioned 'in a thread' SIGSEGV
claim 'in a thread: the others are mentioned' is "$(json verify '.deaths | length')" 3
claim 'in a thread: the recorder names their probes' is "$(grep -c 'its thread [0-9]* ended with it; the last probes that it hit: dies:' err)" 2
claim 'in a thread: the one that waited hit others' is "$(json verify \
	'[.deaths[] | select(.signal | not) | .last_probes[0].function] | map(select(. == "crash")) | length')" 0

"$PUGMARK" record -q -o rec -- ./dies SEGV handled >out 2>err </dev/null
claim 'handled: the status is the program'"'"'s' is $? 3
claim 'handled: the recorder says so' grep -q '(dies) ended with status 3 after its handler of SIGSEGV while' err
claim 'handled: verify as well' is "$(json verify '.deaths[] | "\(.status) \(.signal) \(.function)"')" '3 SIGSEGV crash'

"$PUGMARK" record -q -o rec -- ./dies SENT >out 2>err </dev/null
claim 'sent: the recorder says that it was sent' grep -q 'died of SIGSEGV while .*, by a signal that was sent to it' err
claim 'sent: verify as well' is "$(json verify '.deaths[0].sent')" true

for what in -p -a; do
	rm -f line ready
	mkfifo line
	./dies ILL wait >ready <line &
	pid=$!
	started+=($pid)
	exec 5>line
	until [ -s ready ]; do sleep 0.02; done
	rm -rf rec
	"$PUGMARK" record -q -o rec $what "$([ $what = -p ] && echo $pid || echo ./dies)" >out 2>err </dev/null &
	recorder=$!
	started+=($recorder)
	for _ in {1..500}; do [ -e rec/events ] && break; sleep 0.02; done
	sleep 0.3
	echo >&5
	exec 5>&-
	wait $pid 2>/dev/null
	for _ in {1..100}; do grep -q died err && break; sleep 0.05; done
	claim "$what: it is said while it is recorded" grep -q 'died of SIGILL' err
	[ $what = -p ] || kill -INT $recorder
	wait $recorder
	claim "$what: the recorder names the place and the probes" grep -q \
		"process $pid (dies) died of SIGILL while it was recorded: thread $pid, at dies:crash+0x[0-9a-f]*, .*; the last probes that it hit: dies:" err
	claim "$what: verify mentions it" is "$(json verify '.deaths[] | .died_of + " " + .function')" 'SIGILL crash'
done

"$PUGMARK" record -q -o rec -- ./dies none >out 2>err </dev/null
claim 'ends well: nothing is said' is "$(cat err)$(json verify '.deaths | length')" 0
"$PUGMARK" record -q -o rec -- sh -c './dies none; kill -TERM $$' >out 2>err </dev/null
claim 'of another signal: nothing is said' is "$(grep -c died err) $(json verify '.deaths | length')" '0 0'
conclude

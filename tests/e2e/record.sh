#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# record.sh: what recording promises, on a program that prints what a probe should see: values, order,
# processes, threads, losses, the ends of tasks, and that nothing of a probe stays behind.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
source=$tests/programs/live_target.c
child=
at_end() { [ -z "$child" ] || kill -9 "$child" 2>/dev/null; }
work_in_own_folder
${CC:-cc} -O1 -mno-red-zone -fcf-protection=none -fno-omit-frame-pointer -pthread "$source" -o target ||
	skip 'no compiler for the target'

addr() { nm target | awk -v s="$1" '$3 == s { print $1 }'; }
# site NAME KIND CAPTURE CFA_REG CFA_OFF COND...: a line of the site list, and its name by number
sites() { : >list; : >names; }
site() { echo "$(addr "$1") ${*:2}" >>list; echo "${1#site_}" >>names; }
record() { # [OPTIONS] -- COMMAND: status in $status
	status=0
	"$PUGMARK" record -q -o rec --sites list "$@" >out 2>err </dev/null || status=$?
}
raw() { "$PUGMARK" raw rec >raw; }
# Witness events as "TID NAME FIELDS..."
events() { awk 'NR == FNR { name[FNR - 1] = $1; next }
	$3 == "witness" { split($5, m, ":"); $5 = name[m[2]]; print }' names raw; }
total() { awk '$3 == "witness" { n++ } $3 == "lost" { n += $5 } END { print n + 0 }' raw; }
witnesses() { grep -c ' witness ' raw; }

# --- what a probe reads -----------------------------------------------------------------------
sites
cond=0
for cc in o no b ae e ne be a s ns p np l ge le g; do
	site site_$cc 1 2 1 0 $cond
	cond=$((cond + 1))
done
record -- ./target branches 500
raw
claim 'the exit status is the program'\''s' is $status 0
events | sed -E 's/.* ([a-z]+) cfa=.* val=([01])$/\1 \2/' >got
claim 'every condition code is read right, in order' same out got

sites
site site_frame 0 1 1 8 0
record -- ./target frames 12
raw
events | sed -E 's/.* cfa=([0-9a-f]+) .* ret=([0-9a-f]+)$/frame \1 \2/' >got
claim 'there are frames' [ "$(wc -l <out)" -gt 50 ]
claim 'CFA and return address are those of the frame' same out got

sites
site site_reg 2 4 1 0 0 11 255 1 0 0
base=$(objdump -d target | sed -nE '/<site_mem>:/{n;s/.*\(%r10,%(r[a-z0-9]+),8\).*/\1/p}')
number=$(printf 'rax rcx rdx rbx rsp rbp rsi rdi r8 r9 r10 r11 r12 r13 r14 r15' | tr ' ' '\n' |
	grep -nx "$base" | cut -d: -f1)
site site_mem 2 4 1 0 0 10 $((number - 1)) 8 1 16
record -- ./target targets 300
raw
events | sed -E 's/.* ([a-z]+) cfa=.* val=([0-9a-f]+)$/\1 \2/' >got
claim 'targets through a register and through memory are read right' same out got

# --- processes and threads ------------------------------------------------------------------------
sites
site site_call 0 0 1 0 0
record -- ./target family 1000
raw
claim 'each child process has its calls' same \
	<(sed -nE 's/^process //p' out | sort) \
	<(awk '$3 == "witness" { n[$2]++ } END { for (t in n) if (n[t] < 1050) print t, n[t] }' raw | sort)
claim 'so has each thread' is \
	"$(awk '$3 == "witness" { n[$2]++ } END { for (t in n) if (n[t] > 1050) print n[t] }' raw |
		sort | tr '\n' ' ')" '1100 1101 1102 1103 1104 '
claim 'every task ends' is "$(grep -c ' end ' raw)" 11
claim 'times never go back within a task' is \
	"$(awk '$3 == "witness" { if ($4 < t[$2]) n++; t[$2] = $4 } END { print n + 0 }' raw)" 0

record --no-follow -- ./target family 1000
raw
claim '--no-follow leaves the children alone' is "$(grep -c '^# task' raw)" 6

record -- ./target exec 50
raw
claim 'exec is an event between two programs, and a place in one that had events' is \
	"$(awk '/^#/ { next } $3 != k { printf "%s ", $3; k = $3 }' raw)" \
	'exec witness signal exec witness signal end '
claim 'with all events on either side' is "$(witnesses)" 100

record -- ./target calls 300 7
claim 'an exit status of 7 is passed on' is $status 7
record -- ./target abort 300
raw
claim 'a program killed by a signal gives 128 and its number' is $status 134
claim 'all that it did before is there' is "$(witnesses)" 300
claim 'and where it ended' grep -qE ' end [0-9]+ sp=[0-9a-f]{6,} ip=[0-9a-f]{6,}' raw
record -- ./no-such-program
claim 'no such program is an error' is $status 1
claim 'that names it' grep -qF './no-such-program: no such program' err
printf 'not a program' >text && chmod +x text
record --binary ./target -- ./text
claim 'what cannot be executed is an error' is $status 1

# --- callbacks ------------------------------------------------------------------------------------
sites
site site_compare 0 9 1 8 0
site site_handler 0 9 1 8 0
record -- ./target callbacks 2000
raw
events >got
claim 'each callback comes with a stack' is "$(grep -c compare got)" "$(grep -c 'compare .* stack=' got)"
# The return address at the top of the stack; the comparison's number somewhere above, which could
# be an address.
claim 'that has the return address where it should be' is "$(awk '/ compare / {
	split($8, r, "="); if ($10 != r[2]) n++ } END { print n + 0 }' got)" 0
claim 'and is the stack of that very moment' is "$(awk '/ compare / { want = sprintf("1feed%09x", k++)
	for (i = 10; i <= NF && $i != want; i++) ; if (i > NF) n++ } END { print n + 0, (k > 10000) }' got)" '0 1'
# A snapshot may end below it; those that reach further up than any that has it must have it. Above
# its end nothing is known, 1, but for addresses by which frames are followed, which are few.
claim 'with what never changes, above' is "$(awk '/ compare / {
	for (i = 10; i <= NF && $i != "1cafe000000000"; i++) ;
	if (i <= NF) { has++; if (i > most) most = i; next }
	for (i = 10; i <= NF && unknown < 4; i++) unknown = $i == 1 ? unknown + 1 : 0
	lacks[NR] = i; unknown = 0 }
	END { for (k in lacks) if (lacks[k] > most + 32) n++; print n + 0, (has > 10000) }' got)" '0 1'
claim 'a signal handler is known by its return address' is "$(grep 'handler .* signal' got | wc -l)" 1
claim 'comparisons are not' is "$(grep 'compare .* signal' got | wc -l)" 0

# --- losses ---------------------------------------------------------------------------------------
sites
site site_call 0 0 1 0 0
PUGMARK_RING_BYTES=16384 PUGMARK_STALL_MS=200 record -- ./target calls 200000
raw
claim 'lost events are counted to the last one' is "$(total)" 200000
claim 'there were some' grep -q ' lost ' raw
claim 'status 3 says so' is $status 3
claim 'where the consumer keeps up there is none' eval \
	'record -- ./target calls 200000; raw; is "$status $(witnesses) $(total)" "0 200000 200000"'

# --- attaching to what runs, and ending -------------------------------------------------------------
start() { rm -f target.out; ./target forever >target.out & child=$!; until grep -qs ready target.out; do sleep 0.02; done; }
finish() { kill -TERM $child; wait $child; child=; }
claim_clean() {
	claim "$1: the text is as before" grep -q 'text as before' target.out
	claim "$1: no link is left" is "$(bpftool link 2>/dev/null | grep -cF "$dir/target")" 0
}
start
record --duration 0.3 -p $child
raw
claim '-p records what runs' [ "$(witnesses)" -gt 1000 ]
claim 'starting with an attach event' is "$(awk '!/^#/ { print $3; exit }' raw)" attach
claim 'the first event has a stack' grep -qm1 ' witness .* stack=' raw
claim 'and ending with a stop event' is "$(awk '!/^#/ { k = $3 } END { print k }' raw)" stop
finish
claim_clean '-p'

start
"$PUGMARK" record -q -o rec --sites list -p $child >out 2>err </dev/null &
recorder=$!
sleep 0.5
kill -INT $recorder
wait $recorder
claim 'SIGINT ends it with status 0' is $? 0
raw
claim 'and what was pending is there' is "$(awk '!/^#/ { k = $3 } END { print k }' raw)" stop
finish
claim_clean SIGINT

rm -r rec
start
"$PUGMARK" record -q -o rec --sites list -p $child >out 2>err </dev/null &
recorder=$!
for _ in $(seq 300); do # until it has written something
	[ "$(stat -c %s rec/events 2>/dev/null || echo 0)" -lt 4096 ] || break
	sleep 0.05
done
kill -9 $recorder
wait $recorder 2>/dev/null
raw
claim 'a killed recorder leaves a recording' [ "$(witnesses)" -gt 1000 ]
claim 'that says it was cut off' grep -q 'note: the recorder did not end well' raw
sleep 0.5
finish
claim_clean SIGKILL

# From the moment that it has its name it is one, and what was not finished is in nobody's way.
readable=0
for _ in 1 2 3; do
	rm -rf rec
	"$PUGMARK" record -q -o rec -- ./target calls 100000 >out 2>err </dev/null &
	recorder=$!
	until [ -e rec ] || ! kill -0 $recorder 2>/dev/null; do :; done
	kill -9 $recorder
	wait $recorder 2>/dev/null
	"$PUGMARK" verify rec >verified 2>&1
	[ $? = 3 ] && grep -q 'the recorder did not end well' verified && readable=$((readable + 1))
done
claim 'a recorder killed as soon as its recording is there leaves one' is $readable 3
mkdir rec.pugmark-new && touch rec.pugmark-new/plan-0.pmp rec.pugmark-new/events
record -o rec/ -- ./target calls 1000
claim 'one killed before is in nobodys way' is $status 0
claim 'and nothing of it stays' [ ! -e rec.pugmark-new ]
raw
claim 'whether or not there is a slash at the end' is "$(witnesses)" 1000

rm -r rec
"$PUGMARK" record -q -o rec --sites list -a ./target >out 2>err </dev/null &
recorder=$!
until [ -e rec/reserve ] || ! kill -0 $recorder; do sleep 0.05; done
sleep 0.3
"$PUGMARK" record -q -o rec -- ./target calls 1 >out 2>second
claim 'a folder that is being recorded is not moved away' is $? 1
claim 'and that is said' grep -q 'is being recorded' second
for _ in 1 2 3; do ./target calls 1000; done
sleep 0.1
kill -INT $recorder
wait $recorder
raw
claim '-a records every process of the binary' is "$(witnesses) $(grep -c ' end ' raw)" '3000 3'
claim 'from its beginning' is "$(grep -c ' attach ' raw)" 0

"$PUGMARK" plan --fresh -o before ./target >out 2>err
rm -r rec
"$PUGMARK" record -q -o rec --mode full -a ./target >out 2>err </dev/null &
recorder=$!
until [ -e rec/reserve ] || ! kill -0 $recorder; do sleep 0.05; done
"$PUGMARK" plan --fresh -o during ./target >out 2>>err
kill -INT $recorder
wait $recorder
claim 'a plan that is made while another recorder probes the file is the same' cmp before during

# --- odds and ends ----------------------------------------------------------------------------------
record --no-times -- ./target calls 1000
raw
claim '--no-times leaves times out' is "$(awk '$3 == "witness" && $4 == 0' raw | wc -l)" 1000
PUGMARK_PERF_EVENTS=1 record -- ./target calls 1000
raw
claim 'perf events do as well' is "$(witnesses)" 1000
sites
for _ in $(seq 100); do site site_call 0 0 1 0 0; done
(ulimit -n 128; PUGMARK_PERF_EVENTS=1; export PUGMARK_PERF_EVENTS; record -- ./target calls 1000; exit $status)
claim 'too many of them are refused beforehand' is $? 1
claim 'with the limit' grep -q 'need 456 file descriptors and 128 are allowed' err
claim 'and what to do, once' is "$(grep -o 'ulimit -n' err | wc -l)" 1
sites
for _ in $(seq 40); do site site_call 0 0 1 0 0; done
PUGMARK_PERF_EVENTS=1 "$PUGMARK" record -o rec --sites list -- ./target calls 10 >out 2>err
took=$(sed -nE 's/.*removed in ([0-9]+) ms.*/\1/p' err) told=$(sed -nE 's/.*about ([0-9]+) s .*/\1/p' err)
claim "that $took ms go by until they are removed one by one was said: ${told:-no} s" \
	awk -v took="$took" -v told="${told:-0}" 'BEGIN {
		exit !(took > 0 && told * 1000 < 4 * took + 2000 && (took < 2000 || told * 4000 > took)) }'
if command -v setpriv >/dev/null; then
	caps=-all,+bpf,+perfmon
	claim 'whether they may be placed is found out beforehand' sh -c '
		PUGMARK_PERF_EVENTS=1 setpriv --inh-caps=$1 --bounding-set=$1 "$2" record -q -o less --sites list -- ./target calls 10 >out 2>err ||
			grep -q "CAP_SYS_ADMIN.*which probes by perf events take here" err' sh $caps "$PUGMARK"
fi
(ulimit -s 64; record -- ./target calls 1000; exit "$status")
claim 'a small stack is enough' is $? 0
"$PUGMARK" record -q -o named -- ./target calls 1 >/dev/null 2>err
"$PUGMARK" raw named >raw
site=$(sed -nE 's/^# site ([0-9]+:[0-9]+) at [0-9a-f]+ in [^ ]+$/\1/p' raw | head -n 1)
claim 'where a probe is, is told before its first event' \
	is "$(awk -v s="$site" '$3 == "witness" && $5 == s { print NR; exit }' raw)" \
	"$(($(grep -n "^# site $site at" raw | cut -d: -f1) + 1))"
mkdir other && touch other/precious
record -o other -- ./target calls 1
claim 'a directory that is no recording is left alone' test -e other/precious
sites
site site_call 0 0 1 0 0
mkdir small
if unshare -m sh -c 'mount -t tmpfs -o size=400k none small' 2>/dev/null; then
	unshare -m sh -c 'mount -t tmpfs -o size=400k none small && cd small &&
		"$0" record -o rec --sites ../list -- ../target calls 4000000 >../out 2>../err; echo $? >../status
		"$0" raw rec >../raw' "$PUGMARK"
	claim 'a full disk is an error' is "$(cat status)" 1
	claim 'that is named' grep -q 'the disk is full' err
	claim 'what is written reads back' [ "$(witnesses)" -gt 1000 ]
	unshare -m sh -c 'mount -t tmpfs -o size=64k none small && cd small &&
		"$0" record -q -o rec -- ../target calls 1 >../out 2>../err; ls >../left' "$PUGMARK"
	claim 'full before it starts: that is named' grep -Eq '(No space left|the disk is full)' err
	claim 'and no half of a recording is left' is "$(cat left)" ''
fi
cp "$(command -v sleep)" sleeper
./sleeper 60 &
sleeper=$!
started+=("$sleeper")
"$PUGMARK" record -o piped -p $sleeper >out 2>err </dev/null &
recorder=$!
started+=("$recorder")
await grep -q ': recording' err
kill -PIPE $recorder
sleep 0.3
kill $sleeper
wait $recorder
claim 'that nobody reads what it says ends no recording' is $? 0
claim 'which is closed' grep -q '"closed": true' piped/meta.json
(ulimit -f 140 && record -- ./target calls 4000000; exit "$status")
claim 'a file that may not grow further is an error' is $? 1
claim 'and no full disk' grep -q 'File too large: recording stopped' err

# What was asked for and did not come is said.
cp "$(type -P true)" nobody
status=0
"$PUGMARK" record -a ./nobody -o none --duration 0.2 2>err >out || status=$?
claim 'nothing recorded is not success' is $status 3
claim 'and says of what' grep -q 'nothing recorded: no process ran what is probed of ./nobody' err
claim 'without a terminal it says when it has begun' grep -q 'none: recording$' err
run 3 verify none
claim 'nothing recorded is not complete' grep -q '^nothing recorded' out
run 2 record -a ./nobody -a ./other -o x
claim 'the first of two -a is not dropped in silence' grep -q 'twice' err
conclude

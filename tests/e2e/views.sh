#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# views.sh: what dump, replay, report and verify show of a program whose every call is known, against
# golden files (REBASE=1 writes them anew), and what they say of recordings that are cut, damaged or
# none at all.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs jq
golden=$tests/golden/views
work_in_own_folder

same() { # NAME FILE
	[ "${REBASE-}" = "" ] || cp "$2" "$golden/$1"
	diff "$golden/$1" "$2"
}
misuse() { # TEXT ARGUMENT...
	run 2 "${@:2}"
	claim "pugmark ${*:2}: says '$1'" grep -qF -- "$1" err
}

${CC:-cc} -O2 -Wno-attributes "$tests/programs/views.c" -o prog 2>err ||
	skip "no compiler: $(head -n 1 err)"
run 0 record -q -o rec -- ./prog
run 0 record -q -o still --no-times -- ./prog
# What the program itself does; before and after come the C library's own.
own='/^(work|leaf|factorial|first_step|last_step|sort_two|compare|jumps|way_there|jump_out|qsort|_?setjmp|longjmp)$/'

# --- dump -----------------------------------------------------------------------------------------
run 0 dump rec
claim 'each line is one of the contract' is "$(grep -cvE '^[0-9]+ ((call|tail) prog [0-9a-f]+ (prog:[0-9a-f]+|-)( [A-Za-z_@.]+)?|(ret|unwind) prog [0-9a-f]+|enter prog [0-9a-f]+ (thread|callback|signal|attach))$' out)" 0
cp out whole
run 0 dump --format ndjson -F "$own" rec
jq -r '[.event, .function // .import, .cause // empty] | join(" ")' out >events
claim 'the events are those of the program' same events events
claim 'times of events never run backwards' jq -es 'all(.from_ns <= .to_ns)' out >jq.out
nm prog | awk '$2 ~ /[tT]/ { print $1, $3 }' | sed 's/^0*//' >names
run 0 dump -F "$own" rec
awk 'NR == FNR { name[$1] = $2; next }
	{ a = $4; t = $5; sub(/^.*:/, "", t)
	  print $2, $2 ~ /call|tail/ ? (t == "-" ? $6 : name[t]) : name[a], $2 == "enter" ? $5 : "" }' \
	names out | sed 's/ $//' >text
claim 'text has the same events, its addresses those of the symbols' diff events text
run 1 dump -N '*' rec
claim 'a filter that leaves nothing leaves nothing' is "$(wc -l <out)" 0
run 0 dump -F leaf -F factorial rec
claim 'a function by name: its calls and returns' is "$(wc -l <out) $(grep -c ' call ' out)" '24 12'
tid=$(awk '{ print $1; exit }' whole)
run 0 dump --thread "$tid" rec
claim 'the only thread is all there is' cmp -s out whole

# --- replay -----------------------------------------------------------------------------------------
run 0 replay -F work still
tail -n +2 out >tree
claim 'the tree' same tree tree
run 0 replay -F work --runs still
tail -n +2 out >tree
claim 'runs of the same call are one line' same runs tree
run 0 replay -F work -N sort_two -N jumps --depth 2 still
tail -n +2 out >tree
claim 'less of the tree' same less tree
for format in text json; do
	run 0 replay -F work --depth 1 --format $format still
	claim "--depth 1, $format: what is shown without anything inside is a call too" is "$(cat err)" ''
done
run 0 replay -F work rec
claim 'with times it is the same tree' diff "$golden/tree" <(tail -n +3 out | cut -c43-)
run 0 replay --format json rec
jq -e '.threads | length == 1 and (.[0].calls | length > 20)' out >jq.out
claim 'JSON: one thread, many calls' is $? 0
jq -e '.threads[0].calls | all(.start_ns[0] <= .start_ns[1] and .end_ns[0] <= .end_ns[1] and
	.start_ns[0] <= .end_ns[0] and .took_ns[0] <= .took_ns[1] and
	.took_ns[1] == .end_ns[1] - .start_ns[0])' out >jq.out
claim 'bounds are bounds' is $? 0
jq -e '.threads[0].calls | (map({key: (.id | tostring), value: .}) | from_entries) as $all |
	all(.parent == null or ($all[.parent | tostring] |
	. != null)) and all(.parent == null or (. as $c | $all[$c.parent | tostring] |
	.start_ns[0] <= $c.start_ns[0] and .end_ns[1] >= $c.end_ns[1] and .depth + 1 == $c.depth))' \
	out >jq.out
claim 'each call lies inside of the one around it' is $? 0
from=$(jq '[.threads[0].calls[] | select(.function == "factorial")] | map(.start_ns[0]) | min' out)
to=$(jq '[.threads[0].calls[] | select(.function == "factorial")] | map(.end_ns[1]) | max' out)
run 0 replay --format json --from "${from}ns" --to "${to}ns" rec
claim 'a part of the time has what ran then' is \
	"$(jq '[.threads[0].calls[] | select(.function == "factorial")] | length' out)" 4
claim 'and what was around it' is "$(jq '[.threads[0].calls[] | select(.function == "main")] | length' out)" 1
claim 'not what came long after' is \
	"$(jq '[.threads[0].calls[] | select(.function == "jump_out")] | length' out)" \
	"$(jq --argjson to "$to" '[.threads[0].calls[] | select(.function == "jump_out" and .start_ns[0] <= $to)] | length' out)"

# --- report -----------------------------------------------------------------------------------------
run 0 report --sort name -F "$own" still
claim 'how often each was called' same calls out
run 0 report --callers leaf still
claim 'who called leaf' same callers out
run 0 report --callees work still
claim 'whom work called' same callees out
run 0 report --sort calls --top 1 still
claim 'the first by calls is leaf' is "$(tail -n +2 out | tr -s ' ')" ' 8 leaf'
run 0 report --format json rec
claim 'JSON counts each call of dump once' is "$(jq .calls out)" \
	"$(grep -cE '^[0-9]+ (call|tail|enter) ' whole)"
jq -e '.functions | all(.total_ns[0] <= .total_ns[1] and .self_ns[0] <= .self_ns[1] and
	.self_ns[0] <= .total_ns[1] and
	([.callers[].calls] | add) == .calls)' out >jq.out
claim 'callers add up to calls, and bounds are bounds' is $? 0
last=$(jq '[.functions[].total_ns[1]] | max' out)
sum=$(jq '[.functions[].self_ns[0]] | add' out)
claim 'what was certainly spent in each is no more than there was' [ "$sum" -le "$last" ]

# --- verify -----------------------------------------------------------------------------------------
run 0 verify rec
claim 'it is complete' grep -q '^complete: ' out
run 0 verify --format json rec
claim 'so says JSON, which has what it must have' jq -e '.complete and .events > 40 and
	.witness_events > 0 and .witness_events < .events and .gaps == [] and .closed' out >jq.out
claim 'it counts what dump prints' is "$(jq .events out)" "$(wc -l <whole)"

# --- terminals --------------------------------------------------------------------------------------
claim 'no colours where it is no terminal' is "$(grep -c $'\033' "$golden/tree")" 0
if command -v script >/dev/null; then
	TERM=xterm script -qec "'$PUGMARK' verify rec" /dev/null >out </dev/null
	claim 'colours on a terminal' grep -q $'\033\\[32mcomplete' out
	TERM=xterm NO_COLOR=1 script -qec "'$PUGMARK' verify rec" /dev/null >out </dev/null
	claim 'none where they are not wanted' is "$(grep -c $'\033\\[' out)" 0
	TERM=xterm PAGER= script -qec "'$PUGMARK' replay -F work still" /dev/null >out </dev/null
	claim 'runs are one line on a terminal' grep -q 'leaf().* ×5' out
	TERM=xterm PAGER= script -qec "'$PUGMARK' replay --all -F work still" /dev/null >out </dev/null
	claim 'unless all is wanted' is "$(grep -c '×' out)" 0
fi

# --- what is not in it ------------------------------------------------------------------------------
for command in dump replay report; do
	fails 1 'no thread 1 in it' $command --thread 1 rec
	fails 1 "no function in it matches 'nosuch'" $command -F nosuch rec
	fails 1 "no module 'libc*' in it" $command --module 'libc*' rec
	misuse 'is not a regular expression' $command -F '/(/' rec
	misuse 'which recording?' $command
	misuse "no option '--nosuch'" $command --nosuch rec
	misuse "no format 'xml'" $command --format xml rec
done
for command in dump replay; do
	fails 1 'without times' $command --from 1 still
	fails 1 '--from is later than --to' $command --from 2 --to 1 rec
	misuse "'soon' is not a time" $command --from soon rec
done
misuse "'0' is not a number from 1" replay --depth 0 rec
for order in total self; do
	fails 1 'without times' report --sort $order still
done
misuse "no order 'size'" report --sort size rec
fails 1 "no function that ran in it matches 'nosuch'" report --callers nosuch rec

# --- what is no recording, or not all of one --------------------------------------------------------
mkdir empty
for command in dump replay report verify; do
	fails 1 'no such recording' $command nosuch
	fails 1 'not a recording' $command prog
	fails 1 'not a recording' $command empty
done
cp -r rec noplan && rm noplan/plan-0.pmp
fails 1 'it has no file `plan-0.pmp`, the plan of module prog' verify noplan
cp -r rec badplan && printf x | dd of=badplan/plan-0.pmp bs=1 seek=200 conv=notrunc 2>/dev/null
fails 1 'badplan/plan-0.pmp' verify badplan
cp -r rec later && sed -i 's/"version": [0-9]*/"version": 99/' later/meta.json
fails 1 'version' verify later
cp -r rec older && sed -i 's/"version": [0-9]*/"version": 2/' older/meta.json
fails 1 'a recording of version 2, this program reads 3 and 4' verify older

size=$(stat -c %s rec/events)
for cut in 0 1 63 64 100 $((size / 2)) $((size - 1)); do
	rm -rf cut && cp -r rec cut && truncate -s "$cut" cut/events
	run 3 verify --format json cut
	claim "cut at $cut: not complete" jq -e '.complete | not' out >jq.out
	run 3 dump cut
	grep -v ' gap ' out >part
	claim "cut at $cut: what is there is how it was" cmp -s part <(head -n "$(wc -l <part)" whole)
done
rm -rf cut && cp -r rec cut && sed -i 's/"stopped": "exit"/"stopped": "disk"/' cut/meta.json
run 3 dump cut
for at in $((size / 3)) $((size / 2)) $((size - 40)); do
	rm -rf flip && cp -r rec flip
	byte=$(od -An -tu1 -j "$at" -N 1 rec/events)
	printf "\\x$(printf %02x $((byte ^ 85)))" | dd of=flip/events bs=1 seek="$at" conv=notrunc 2>/dev/null
	run 3 verify flip
	claim "a flipped byte at $at is told" grep -qE 'damaged|missing|gap|in no thread' out
done
cp -r rec nometa && rm nometa/meta.json
run 3 dump nometa
claim 'without meta.json events are still there' is "$(wc -l <out)" "$(wc -l <whole)"

if [ -e /dev/full ]; then
	for command in dump replay report verify; do
		"$PUGMARK" $command rec >/dev/full 2>err
		claim "$command on a full disk fails" is $? 1
		claim "$command on a full disk says so" grep -q 'cannot write: No space left' err
	done
fi

conclude

#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# objects.sh: arguments and results that are read along, and what encode makes of them: a sequence for
# each C++ object and each handle, in every mode, and threads merged.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs jq
work_in_own_folder

# The sequences, without class and brackets, by their text: values differ from run to run.
sequences() {
	jq -r '.sequences[] | [.items[] | if type == "string" then . else "\(.times)*\(.of | join("+"))" end |
		gsub("box::Stack<int>::"; "") | gsub("[(](int)?[)]"; "")] | join(" ")' out | sort
}

"${CXX:-c++}" -O1 "$tests/programs/objects.cc" -o prog -pthread 2>err || skip "no C++ compiler: $(head -n 1 err)"
stacks=$(printf '%s\n' 'Stack 2*push 2*pop ~Stack' 'Stack 2*push pop 6*push ~Stack' 'Stack 3*push 3*pop ~Stack' 'Stack push pop ~Stack')
files=$(printf '%s\n' fopen 'fopen fseek fclose' 'fopen fwrite fwrite fclose')
modes='full best'
[ -z "${LONG:-}" ] || modes='full branch casper best'
for mode in $modes; do
	run 0 record -q -o $mode --mode $mode --args 1 --args-of 'box::Stack*' --handle stdio -- ./prog f g
	run 0 verify $mode
	claim "mode $mode: complete with what is read along" grep -q '^complete' out
	run 0 encode $mode --object 'box::Stack*' --rle --format json
	claim "mode $mode: one sequence for each object" is "$(sequences)" "$stacks"
	claim "mode $mode: of no call it is unknown on which" is "$(cat err)" ''
	run 0 encode $mode --handle stdio --format json
	claim "mode $mode: one sequence for each file" is "$(sequences)" "$files"
done
run 0 encode best --object 'box::Stack*' --fsa --format json
claim 'objects of a class share an automaton: it is made first and destroyed last' is \
	"$(jq -c '.automata[] | [.name, (.states[0].arcs | length), (.states | length), .states[-1].ends]' out)" \
	'["box::Stack<int>",1,3,4]'
claim 'the object that all threads used is one sequence' is \
	"$("$PUGMARK" encode best --object 'box::Stack*' --format json | jq '[.sequences[] | select(.items | length == 11)] | length')" 1
run 0 encode best --class 'box::Stack*' --merge --format json
claim 'merged: all calls of all threads in one sequence' is "$(jq -c '[.sequences[] | [.tid, (.items | length)]]' out)" '[[0,29]]'
run 0 encode best --class 'box::Stack*' --format json
claim 'not merged: one for each thread' is "$(jq -c '[.sequences[].items | length] | sort' out)" '[3,3,23]'
run 0 dump --format ndjson best
claim 'dump tells the values' [ "$(jq -s '[.[] | select(.event == "value" and .of == "returned")] | length' out)" = 3 ]
"$PUGMARK" dump best | sort >with
claim 'and not in its text, which is a contract' [ "$(grep -c value with)" = 0 ]

# --- arguments that are known -----------------------------------------------------------------------
cat >args.c <<'C'
__attribute__((noinline)) static int six(long a, long b, long c, long d, long e, long f)
{ __asm__ volatile("" ::: "memory"); return a + b + c + d + e + f; }
/* its first block is a loop: what runs again did not begin again */
__attribute__((noinline)) static int again(int n)
{ do __asm__ volatile("" ::: "memory"); while (--n); return 5; }
int main(void) { return six(1, 2, 3, 4, 5, 0x123456789abc) + six(7, 8, 9, 10, 11, 12) + again(3) > 0 ? 0 : 1; }
C
"${CC:-cc}" -O1 args.c -o args 2>err
for level in calls paths; do
	run 0 record -q -o args.$level --level $level --args 6 --args-of six --args-of again -- ./args
	"$PUGMARK" dump args.$level --format ndjson | jq -r 'select(.event == "value") | .value' | head -n 12 | tr '\n' ' ' >values
	claim "level $level: six arguments are read as they were passed" is "$(cat values)" '1 2 3 4 5 123456789abc 7 8 9 a b c '
done
printf 'number\nsix 6\n# nothing\n' >six.handle
run 0 encode args.calls --handle six.handle --format json
claim 'a list of ones own: numbers of 32 bits' is "$(jq -c '[.sequences[].object]' out)" '["56789abc","c"]'

# --- gaps -------------------------------------------------------------------------------------------
if command -v lua5.4 >/dev/null; then
	cp "$(type -P lua5.4)" lua
	run 0 record -q -o gap --handle stdio -- ./lua -e 'local g = io.open("g", "w")
		for i = 1, 20000 do local f = io.open("f", "w") f:write("a") g:write("b") f:close() end g:close()'
	dd if=/dev/zero of=gap/events bs=1 seek=$(($(stat -c %s gap/events) / 2)) count=64 conv=notrunc 2>/dev/null
	run 3 encode gap --handle stdio --format json
	claim 'a handle that was open at a gap ends there, and is another one after it' is \
		"$(jq -c '[.sequences[] | select((.items | length) > 100) | .begins == "thread", .ends]' out)" \
		'[true,"gap",false,"thread"]'
fi

# --- check ------------------------------------------------------------------------------------------
mkdir -p otherwise && "${CXX:-c++}" -O1 -DOTHER "$tests/programs/objects.cc" -o otherwise/prog -pthread 2>err
for program in again=./prog other=otherwise/prog; do
	run 0 record -q -o "${program%=*}" --args 1 --args-of 'box::Stack*' --handle stdio -- "${program#*=}" f g
done
"$PUGMARK" encode best --object 'box::Stack*' --fsa --format json >object.json
"$PUGMARK" encode best --handle stdio --fsa --format json >handle.json
"$PUGMARK" encode best --class 'box::Stack*' --merge --fsa --format json >merged.json
"$PUGMARK" encode best --class 'box::Stack*' --merge --format json >merged_string.json
for model in object handle merged; do
	run 0 check again --model $model.json
	claim "another run is as in the model of $model" is "$(cat out)" 'as in the model'
done
run 0 check best --model merged_string.json
run 4 check other --model object.json --format json
"$PUGMARK" encode other --object 'box::Stack*' --format json >sequences.json
claim 'the one object that is used in another way is told, by its address' is \
	"$(jq -c '[.deviations[] | [.kind, .of, .object, .came]]' out)" \
	"$(jq -c '[.sequences[] | select(any(.items[]; test("::check"))) | ["call", .of, .object, "box::Stack<int>::check()"]]' sequences.json)"
run 4 check other --model object.json
claim 'in words' grep -qE '^box::Stack<int>: box::Stack<int>::check\(\) after .*; the model has there: ' out
claim 'of which object' grep -qE 'first in thread [0-9]+ prog at event [0-9]+, of [0-9a-f]+, [0-9.]+ s$' out
run 0 check other --model handle.json
run 4 check other --model merged.json
run 4 check other --model merged_string.json
claim 'a merged string tells the first difference' is "$(grep -c 'the model has there' out)" 1
jq '.handle.lines += ["other 1"]' handle.json >wrong.json
fails 1 'other functions than its class' check best --model wrong.json
jq '.handle.lines[0] = "fopen 9"' handle.json >wrong.json
fails 1 'line 1: a function, and' check best --model wrong.json
jq 'del(.handle.name)' handle.json >wrong.json
fails 1 'no name' check best --model wrong.json
"$PUGMARK" encode best --object 'box::Stack*' --format json >plain.json
fails 1 'can be held against' check best --model plain.json
if [ -d gap ]; then
	run 0 record -q -o lua.again --handle stdio -- ./lua -e 'local g = io.open("g", "w")
		for i = 1, 200 do local f = io.open("f", "w") f:write("a") g:write("b") f:close() end g:close()'
	"$PUGMARK" encode lua.again --handle stdio --fsa --format json >lua.json
	run 3 check gap --model lua.json
	claim 'what is open at a gap is no deviation' is "$(cat out)" 'as in the model'
fi

# --- wrong use --------------------------------------------------------------------------------------
printf 'six seven\n' >bad.handle
fails 1 'line 1: a function, and' encode --handle bad.handle best
printf '\nsix 1 last\n' >bad.handle
fails 1 'line 2: nothing but' record --handle bad.handle -- ./args
: >bad.handle
fails 1 'no function is named' encode --handle bad.handle best
fails 1 'none of stdio, sockets, sqlite3, threads, and no file' encode --handle files best
fails 2 'not a number that fits' record --args 7 -- ./args
fails 2 "max-memory MIB: '200M' is not a number" record --max-memory 200M -- ./args
fails 1 "no function matches 'nothing_like_it'" record --args 1 --args-of nothing_like_it -- ./args
fails 1 'keeps none of its calls' encode --object 'nothing_like_it' best
fails 2 '--merge goes with --class' encode --strings --merge best
run 0 record -q -o timeless --no-times -- ./args
fails 1 'the order of its threads is not known' encode --class six --merge timeless
fails 1 'the order of its threads is not known' check --model merged.json timeless
run 0 record -q -o plain -- ./prog f g
run 0 encode plain --handle stdio --format json
claim 'without values it says so' grep -q 'of 8 calls of 8 it is not known on which object' err
claim 'and has them thread by thread' is "$(jq -c '[.sequences[] | [.object, (.items | length)]]' out)" '[[null,8]]'
conclude

#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# encode.sh: what encode makes of a program whose every call is known: strings, graph, grammar and
# automata from a real recording, and that what is exact can be turned back.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs jq
work_in_own_folder

body() { sed 1d out | tr -s ' \n' ' ' | sed 's/^ //; s/ $//'; }

${CC:-cc} -O2 "$tests/programs/encode.c" -o prog 2>err || skip "no compiler: $(head -n 1 err)"
run 0 record -q -o rec -- ./prog

# --- strings --------------------------------------------------------------------------------------
use3='use(file_open() file_read() file_read() file_read() file_close())'
use7='use(file_open() file_read() file_read() file_read() file_read() file_read() file_read() file_read() file_close())'
run 0 encode rec -F work --strings
claim 'the three ways in which A, B and C call each other are three strings' is "$(body)" \
	"work(a_both(b() c()) a_nested(b_calls_c(c())) a_alone() b() c() $use3 $use3 $use3 $use3 $use3 use(file_open() file_close()) $use7)"
run 0 encode rec -F work --rle 4
claim 'runs are counted up to K' is "$(body)" \
	'work(a_both(b() c()) a_nested(b_calls_c(c())) a_alone() b() c() use(file_open() 3*{file_read()} file_close()) use(file_open() 3*{file_read()} file_close()) use(file_open() 3*{file_read()} file_close()) use(file_open() 3*{file_read()} file_close()) use(file_open() 3*{file_read()} file_close()) use(file_open() file_close()) use(file_open() many*{file_read()} file_close()))' || body
run 0 encode rec -F work --depth 1
claim 'a depth cuts' is "$(body)" 'work()'
run 0 encode rec -F work -N use -N 'a_*'
claim 'what -N names is left out' is "$(body)" 'work(b() c())'

# --- turned back ----------------------------------------------------------------------------------
# Each JSON form to the plain list of symbols that it stands for.
plain='def say($rules): if type == "string" then . else
	. as $c | range($c.times // 1) | if $c.of then $c.of[] else $rules[$c.rule][] | say($rules) end end;
. as $d | [.sequences[].items[] | say($d.rules)]'
"$PUGMARK" encode rec --format json | jq -c "$plain" >want
claim 'the plain form is not empty' [ "$(jq length want)" -gt 100 ]
for encoding in --rle --grammar --grammar-rle --balanced; do
	"$PUGMARK" encode rec $encoding --format json | jq -c "$plain" >got
	claim "$encoding says exactly what was recorded" cmp -s want got
done
graph='def call($d): . as $c | range($c.times // 1) | $d.nodes[$c.node] |
	.function, (.callees[] | call($d)), ")" + ({"unwound": "!", "cut off": "?"}[.end // ""] // "");
. as $d | [.sequences[].items[] | call($d)]'
"$PUGMARK" encode rec --dag --format json | jq -c "$graph" >got
claim '--dag says exactly what was recorded' cmp -s want got
both='def say($d): . as $c | range($c.times // 1) | if $c.rule != null then $d.rules[$c.rule][] | say($d) else
	range($c.run // 1) | $d.nodes[$c.node] | .function, (.callees[] | say($d)), ")" + ({"unwound": "!", "cut off": "?"}[.end // ""] // "") end;
. as $d | [.sequences[].items[] | say($d)]'
for encoding in --grammar --grammar-rle; do
	"$PUGMARK" encode rec --dag $encoding --format json | jq -c "$both" >got
	claim "--dag $encoding says exactly what was recorded" cmp -s want got
done

# --- packed -----------------------------------------------------------------------------------------
run 0 encode rec --dag --format packed
cp out rec.packed
"$PUGMARK" encode rec >want.txt
run 0 encode rec.packed
claim 'a packed file says exactly what was recorded' cmp -s want.txt out
"$PUGMARK" encode rec -F work --fsa >want.txt
run 0 encode rec.packed -F work --fsa
claim 'and is read as a recording is' cmp -s want.txt out
claim 'it is a quarter of the graph as text' [ $((4 * $(stat -c %s rec.packed))) -lt "$("$PUGMARK" encode rec --dag --no-times --format json | wc -c)" ]
head -c 200 rec.packed >cut.packed
fails 1 'damaged' encode cut.packed
fails 1 'not a packed graph' encode "$PUGMARK"
fails 1 'has no times' encode --n-level 2 rec.packed
fails 1 'has no values' encode --handle stdio rec.packed
fails 2 'is of --dag alone' encode --strings --format packed rec
fails 2 'is of --dag alone' encode --dag --grammar --format packed rec

# --- graph and automata ---------------------------------------------------------------------------
run 0 encode rec --dag -F work --format json
claim 'five equal calls are one node' is "$(jq -c '[.nodes[] | select(.function == "use") | .calls] | sort' out)" '[1,1,5]'
run 0 encode rec --dag --rle 2 -F work --format json
claim 'and six if runs above two are many' is "$(jq -c '[.nodes[] | select(.function == "use") | .calls] | sort' out)" '[1,6]'
run 0 encode rec --fsa --format json
claim 'the automaton of use is open read* close' is \
	"$(jq -c '.automata[] | select(.name == "use") | [.states[] | [.arcs, (.ends // 0)]]' out)" \
	'[[[["file_open",1,7]],0],[[["file_read",1,22],["file_close",2,7]],0],[[],7]]'
run 0 encode rec --class 'file_*'
claim 'calls on a class, without what is around them' is "$(body | cut -d' ' -f1-6)" \
	'file_open file_read file_read file_read file_close file_open'

# --- pictures and XML -----------------------------------------------------------------------------
run 0 encode rec --fsa -F use --format dot
claim 'the picture has the loop' grep -q 'a0_1 -> a0_1 \[label="file_read  22' out
run 0 encode rec --dag -F work --format dot
claim 'the picture of the graph has its nodes' grep -q 'label="use\\n5 calls' out
if command -v dot >/dev/null; then
	run 0 encode rec --dag -F work --format svg
	claim 'graphviz draws it' grep -q '</svg>' out
fi
for what in --strings '--strings --rle' '--strings --grammar' --dag '--dag --grammar' --fsa; do
	# shellcheck disable=SC2086 # several words
	run 0 encode rec $what --format xml
	claim "$what is well-formed XML" python3 -c 'import xml.dom.minidom; xml.dom.minidom.parse("out")'
done

# --- check and diff -------------------------------------------------------------------------------
${CC:-cc} -O2 -DSWAPPED "$tests/programs/encode.c" -o prog2 2>err
mkdir -p other && mv prog2 other/prog
run 0 record -q -o again -- ./prog
run 0 record -q -o swapped -- other/prog
"$PUGMARK" encode rec --fsa --format json >fsa.json
"$PUGMARK" encode rec --strings --fsa --format json >strings.json
"$PUGMARK" encode rec -F work --strings --grammar --format json >grammar.json
"$PUGMARK" encode rec --class 'file_*' --fsa --format json >class.json
for model in fsa strings class; do
	run 0 check again --model $model.json
	claim "another run of the same program is as in $model" is "$(cat out)" 'as in the model'
done
run 0 check again -F work --model grammar.json
run 4 check swapped --model fsa.json --format json
claim 'two calls swapped: the model tells in which function, and what came' is \
	"$(jq -c '[.total, .deviations[0].function, .deviations[0].came, .deviations[0].path[-1]]' out)" \
	'[1,"a_both","c","a_both"]'
run 4 check swapped --model fsa.json
claim 'in words' grep -qF 'a_both: calls c first; the model has there: b' out
run 4 check swapped --model strings.json
run 4 check swapped -F work --model grammar.json
claim 'a grammar tells the first difference' grep -qF ': c after a_both; the model has there: b' out
run 0 check swapped --model class.json
run 0 diff rec again
claim 'no difference between two runs' is "$(cat out)" 'no difference'
run 4 diff rec swapped
claim 'diff tells the order that is different' is "$(cat out)" \
	"$(printf '%s\n' 'order: what follows | that is different: 2' '- a_both: | b  1' '+ a_both: | c  1')"
cp "$(type -P true)" ./true
run 0 record -q -o true.rec -- ./true
fails 1 'of another program' check true.rec --model grammar.json
run 4 diff rec true.rec

# --- gaps -----------------------------------------------------------------------------------------
if command -v lua5.4 >/dev/null; then
	cp "$(type -P lua5.4)" lua
	# Enough for three long segments: the one in the middle is lost.
	run 0 record -q -o gap -- ./lua -e 'local t = {} for i = 1, 60000 do t[i % 100] = tostring(i) end'
	"$PUGMARK" encode gap --fsa --format json >lua.json
	dd if=/dev/zero of=gap/events bs=1 seek=$(($(stat -c %s gap/events) / 2)) count=64 conv=notrunc 2>/dev/null
	run 3 encode gap --strings --rle --format json
	claim 'no sequence runs across a gap: another begins there' is \
		"$(jq '[.sequences[].begins] | (index("gap") != null) and length > 1' out)" true
	claim 'what was open at the gap is cut off, all of it' is \
		"$(jq '[.sequences[0].items[] | if type == "string" then . else .of[] as $x | range(.times) | $x end | if startswith(")") then -1 else 1 end] | add' out)" 0
	run 3 check gap --model lua.json
	claim 'a gap is no deviation' is "$(cat out)" 'as in the model'
	run 3 encode gap --dag
fi

# --- damaged models ---------------------------------------------------------------------------------
fails 1 'cannot open' check rec --model nothing.json
"$PUGMARK" encode rec --dag --format json >dag.json
fails 1 'can be held against' check rec --model dag.json
"$PUGMARK" encode rec --rle 1 --format json >many.json
fails 1 'not all counted' check rec --model many.json
head -c 1000 fsa.json >cut.json
fails 1 'damaged' check rec --model cut.json
sed 's/"arcs":\[\["b",1,/"arcs":[["b",77,/' fsa.json >wrong.json
fails 1 'too large' check rec --model wrong.json
sed 's/{"rule":[0-9]*/{"rule":999999/' <("$PUGMARK" encode rec --grammar --format json) >wrong.json
fails 1 'too large' check rec --model wrong.json
fails 2 'which model?' check rec
fails 2 'which two recordings?' diff rec

# --- tables ---------------------------------------------------------------------------------------
run 0 encode rec -F work --n-level 2 --format json
claim 'chains of two: who called c' is \
	"$(jq -c '[.chains[] | select(.chain[-1] == "c") | [.chain[0], .calls]] | sort' out)" '[["a_both",1],["b_calls_c",1],["work",1]]'
run 0 encode rec --n-level 1 --format json
claim 'chains of one are the functions' is "$(jq -c '.chains[] | select(.chain == ["file_read"]) | .calls' out)" 22
run 0 encode rec --intervals 4 --format json
claim 'no call is left out of the intervals' is "$(jq '[.intervals[].calls] | add' out)" \
	"$("$PUGMARK" encode rec --n-level 1 --format json | jq '[.chains[].calls] | add')"
fails 2 "'0' is not a number from 1 to 16" encode --n-level 0 rec
fails 2 "'x' is not a number from 1 to" encode --intervals x rec
fails 2 'is text or json' encode --n-level 2 --format xml rec

fails 1 'none of stdio, sockets, sqlite3, threads, and no file' encode --handle files rec
fails 1 'keeps none of its calls' encode --handle stdio rec
if [ -d gap ]; then
	run 0 record -q -o files -- ./lua -e 'local f = io.open("f", "w") f:write("a") f:close()'
	run 0 encode files --handle stdio
	claim 'the calls on a file, in order' grep -q 'fopen64\? .*fwrite .*fclose' out
fi

# --- wrong use ------------------------------------------------------------------------------------
fails 2 "'0' is not a number from 1 to 8" encode --fsa 0 rec
fails 2 "'0' is not a number from 1 to" encode --rle 0 rec
fails 2 '--callees does not go with --grammar' encode --callees --grammar rec
fails 2 'one encoding only' encode --fsa --grammar rec
fails 2 'one selection only' encode --dag --strings rec
fails 2 "no format 'yaml'" encode --format yaml rec
fails 2 'which recording?' encode
fails 1 'no function in it matches' encode -F nothing_like_it rec
fails 1 'keeps none of its calls' encode --class nothing_like_it rec
fails 1 'keeps none of its calls' encode --format json --from 100 rec
conclude

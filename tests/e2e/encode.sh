#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# encode.sh: what encode makes of a program whose every call is known: strings, graph, grammar and
# automata from a real recording, and that what is exact can be turned back.
set -u
skip() { echo "SKIP: $1"; exit 77; }
[ "$(id -u)" = 0 ] || skip 'recording needs root here'
[ -e /sys/kernel/btf/vmlinux ] || skip 'this kernel has no BTF'
command -v jq >/dev/null || skip 'no jq here'
tests=$(cd "$(dirname "$0")/.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export XDG_CACHE_HOME=$dir/cache
passed=0 failed=0

claim() { # TEXT COMMAND...
	if "${@:2}"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "does not hold: $1"
		[ ! -s err ] || sed 's/^/  | /' err | head -n 5
	fi
}
is() { [ "$1" = "$2" ] || { echo "  is '$1', should be '$2'"; false; }; }
run() { # STATUS ARGUMENT...: pugmark, its output in out and err
	local want=$1 status=0
	shift
	"$PUGMARK" "$@" >out 2>err </dev/null || status=$?
	claim "status of pugmark $*" is $status "$want"
}
fails() { # STATUS TEXT ARGUMENT...
	run "$1" "${@:3}"
	claim "pugmark ${*:3}: says '$2'" grep -qF -- "$2" err
	claim "pugmark ${*:3}: in one line, and nothing else" is "$(wc -l <err) $(wc -c <out)" '1 0'
}
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
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]

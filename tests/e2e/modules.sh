#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# modules.sh: several modules in one recording. A program, its library and a plugin write down each
# entry and exit themselves; the recovered trace must say the same, thread by thread, in order. And
# Debian's sqlite3 with its library: each module's part is what the module's own recording says.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
source=$tests/programs/modules.c
work_in_own_folder

build() { # OPTIONS...
	local cc=(${CC:-cc} -g0 -fno-optimize-sibling-calls "$@")
	"${cc[@]}" -fPIC -shared -DLOG "$source" -o liblog.so &&
		"${cc[@]}" -fPIC -shared -finstrument-functions -DPART "$source" -o libpart.so.1 \
			-L. -llog &&
		"${cc[@]}" -fPIC -shared -finstrument-functions -DPLUGIN "$source" -o plugin.so &&
		"${cc[@]}" -finstrument-functions -rdynamic -pthread -DPROGRAM "$source" -o program \
			./libpart.so.1 -L. -llog -Wl,-rpath,'$ORIGIN'
}

# The entries and exits in a dump, of functions that write themselves down: those in the log.
entries() { # DUMP LOG
	awk 'FNR == NR { split($0, f); known[f[3] ":" f[4]]; next }
		function say(what, at) { if (at in known) { sub(":", " ", at); print $1, what, at } }
		$2 == "call" || $2 == "tail" { say(">", $5) }
		$2 == "enter" { say(">", $3 ":" $4) }
		$2 == "ret" { say("<", $3 ":" $4) }' "$2" "$1"
}
by_thread() { sort -s -n -k1,1; }

check() { # NAME: what ./program wrote to log is what rec says
	"$PUGMARK" dump rec >dump 2>err
	entries dump log | by_thread >got
	claim "$1: every entry and exit of all modules, in order" same <(by_thread <log) got
	claim "$1: without a gap" grep -q '^complete' <("$PUGMARK" verify rec)
	claim "$1: calls between modules name both" \
		grep -q 'call program .* libpart.so.1:' dump
}

builds=('-O2 -no-pie -fno-plt' '-O2 -Wl,-z,lazy')
[ -z "${LONG:-}" ] || builds+=(-O0 '-O2 -fPIE -pie')
for options in "${builds[@]}"; do
	# shellcheck disable=SC2086
	build $options 2>err || skip "no compiler for the program: $(head -n 1 err)"
	"$PUGMARK" record -q -o rec --module 'libpart*' --module ./plugin.so -- \
		./program ./plugin.so >log 2>err
	claim "$options: recorded" is $? 0
	check "$options"
done
claim 'there are many' [ "$(wc -l <log)" -gt 600 ]
claim 'a plugin that is loaded later is among them' grep -q 'call program .* plugin.so:' dump
claim 'the one that an IFUNC chose is' grep -q 'call program .* libpart.so.1:' dump
claim 'calls from the library to the program are' grep -q 'call libpart.so.1 .* program:' dump

"$PUGMARK" record -q -o rec --module libpart.so.1 --no-program -- ./program >log 2>err
"$PUGMARK" dump rec >dump
entries dump log | by_thread >got
claim '--no-program: the library alone' same <(grep libpart log | by_thread) got
claim '--no-program: and nothing else' is "$(grep -c ' program ' dump)" 0
"$PUGMARK" record -q -o rec -F "part_*" -F main --module 'libpart*' -- ./program >log 2>err
claim 'patterns choose functions of every module' grep -q '^complete' <("$PUGMARK" verify rec)
"$PUGMARK" record -q -o rec2 --module './nosuch*' -- ./program >out 2>err
claim 'no such module is an error' is $? 1
claim 'that names it' grep -q "no module './nosuch\*'" err

if command -v sqlite3 >/dev/null && cp "$(command -v sqlite3)" shell &&
	cp -L "$(ldd shell | awk '$1 ~ /^libsqlite3/ { print $3 }')" libsqlite3.so.0 2>/dev/null; then
	cat >script <<-'SQL'
		create table t(a integer primary key, b text);
		insert into t values (1, 'one'), (2, 'two'), (3, 'three');
		create index i on t(b);
		select count(*), max(b) from t where b like 't%' order by a;
	SQL
	LD_LIBRARY_PATH=. "$PUGMARK" record -q -o rec --module 'libsqlite3*' -- \
		./shell :memory: <script >out 2>err
	claim 'sqlite3: recorded' is "$? $(cat out)" '0 2|two'
	"$PUGMARK" verify rec >certificate
	claim 'sqlite3: complete' grep -q '^complete' certificate
	# What each module's events alone tell of the shell, with calls into the library as calls out.
	"$PUGMARK" dump rec | sed -nE '/^[0-9]+ (call|tail|ret) shell/{
		s/ libsqlite3[^ ]*$/ -/; s/ - .*/ -/; p }' >together
	"$PUGMARK" dump --module 0 rec | sed -nE '/^[0-9]+ (call|tail|ret) shell/{ s/ - .*/ -/; p }' >alone
	claim 'sqlite3: the shell did what its events alone say' same alone together
	claim 'sqlite3: calls of either are in it' [ "$(wc -l <alone)" -gt 200 ]
	"$PUGMARK" dump rec >dump
	claim 'sqlite3: the library is called by the shell' grep -q 'call shell .* libsqlite3' dump
fi
conclude

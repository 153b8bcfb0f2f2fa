#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# check.sh: the evaluator against the processor, on copies of real programs: every register before
# every instruction (-c 1), and whole blocks at a time (-c 200); and a recording executed again. `--quick` for `make check`.
set -u
TOOLS=${TOOLS:?} PUGMARK=${PUGMARK:?}
single=1000000 blocks=3000000
[ "${1:-}" = --quick ] && single=4000 blocks=15000
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0 skipped=0

head -c 300000 "$(command -v bash)" >"$work/in"
printf 'local t={} for i=1,300 do t[i]=(i*7919)%%101+i/3 end table.sort(t) print(#t,("%%.3f"):format(math.sin(t[7])),("x"):rep(99):gsub("x","yz"))' >"$work/in.lua"
printf 'scale=40; a(1)*4; for(i=0;i<300;i++) s+=sqrt(i); s\n' >"$work/in.bc"
{
	printf 'create table t(a,b);'
	for i in {1..40}; do printf 'insert into t values(%d,%d.5);' "$i" $((i * i)); done
	printf 'select sum(a),avg(b),group_concat(a),max(b)/3.0 from t group by a%%3 order by 2;'
} >"$work/in.sql"

# Compares PROGRAM [ARGS] of the named MODULE ("": the program itself).
compare() { # MODULE INPUT PROGRAM ARGS...
	local program
	program=$(command -v "$3") || {
		printf 'SKIP %s: not installed\n' "$3"
		skipped=$((skipped + 1))
		return
	}
	cp -L "$program" "$work/${3##*/}"
	for chunk in 1 200; do
		"$TOOLS/truth" -n $((chunk == 1 ? single : blocks)) -c $chunk ${1:+-m "$1"} -i "$work/$2" \
			"$work/${3##*/}" "${@:4}" || failed=$((failed + 1))
	done
}
compare '' in gzip -c
compare '' in.lua lua5.4 "$work/in.lua"
compare '' in.bc bc -l
compare libsqlite3 in.sql sqlite3
# A recording of gzip, executed again: what it gives to write() is what was really written.
rerun() {
	if ! "$PUGMARK" record --level values -o "$work/r" -- "$work/gzip" -c "$work/in" >"$work/true" 2>"$work/err"; then
		printf 'SKIP rerun: %s\n' "$(head -n 1 "$work/err")"
		skipped=$((skipped + 1))
		return
	fi
	"$TOOLS/rerun" "$work/r" "$work/again" || failed=$((failed + 1))
	cmp "$work/true" "$work/again" || failed=$((failed + 1))
}
rerun
[ $skipped = 0 ] || printf '%d skipped\n' $skipped
[ $failed = 0 ] || printf '%d comparisons failed\n' $failed
[ $failed = 0 ]

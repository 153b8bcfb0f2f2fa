#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# opaque.sh: what is in scope is nested right, whatever the functions between leave on the stack.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
source=$tests/programs/scopes.c
work_in_own_folder

# The nesting of traced_outer() (o) and traced_inner() (i), each with its end.
nesting() { # DUMP
	nm target | awk 'FILENAME == "-" { if ($3 == "traced_outer") o = $1; if ($3 == "traced_inner") i = $1; next }
		function name(addr) { return o ~ "^0*" addr "$" ? "o" : i ~ "^0*" addr "$" ? "i" : "?" }
		$2 == "enter" { printf "<%s", name($4) }
		$2 == "ret" { printf "%s>", name($4) }
		$2 == "gap" { printf "gap" }' - "$1"
}

want='<o<ii>o><oo><ii><oo><ii><o<ii>o><o<ii>o><ii>'
for compiler in gcc clang; do
	command -v $compiler >/dev/null || { skipped=$((skipped + 1)); continue; }
	all=(-O0 '-O2 -static' -O1 -O2 '-O2 -fno-omit-frame-pointer') # without LONG=1 two of each
	for flags in "${all[@]:0:${LONG:+1}2}"; do
		# shellcheck disable=SC2086
		$compiler $flags -w -o target "$source" 2>err || { skipped=$((skipped + 1)); continue; }
		for mode in best casper; do
			rm -rf rec
			"$PUGMARK" record -q --mode $mode -F traced_outer -F traced_inner -o rec -- ./target \
				>out 2>err </dev/null
			"$PUGMARK" dump rec >dump 2>>err
			claim "$compiler $flags, mode $mode" is "$(nesting dump)" "$want"
		done
	done
done

# A callback under a frame that is larger than the stack that its entry brings.
${CC:-cc} -O1 -w -o far "$tests/programs/far.c" || skip 'no compiler'
rm -rf rec
"$PUGMARK" record -q -o rec -- ./far >out 2>err </dev/null
"$PUGMARK" verify rec >said 2>&1
claim 'a callback under a frame of 600,000 bytes' is $? 0
conclude

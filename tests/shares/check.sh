#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# check.sh: is what is merged of real programs' runs under shares what one run did?
#
#   check.sh [--quick] [NAME...]     gzip-c gzip-d lua bzip2 sqlite git-log, or those named
#
# A copy of each program does its work under each of 2, 4 and 8 shares. At level calls the merged trace must
# be, line for line, that of one full recording; at level paths its blocks must be those that QEMU executed
# (tests/oracle), to the last one. lua, bzip2 and sqlite are the libraries, linked into a program around
# them, since shares are of one file. With --quick: gzip -c, and calls of sqlite, over fewer shares.
#
# Prints a table: events, the gaps of the merge, the verdict. Exit status 1 if any is not the same, 77 if
# nothing can run. PUGMARK and TOOLS say where the command and the oracle's tools are.
set -u -o pipefail
top=$(realpath "$(dirname "$0")/../..")
export PUGMARK=${PUGMARK:-$top/build/pugmark}
tools=${TOOLS:-$top/build/oracle}
. "$top/tests/oracle/inputs.sh"
. "$top/tests/shares/programs.sh"

skip() {
	echo "SKIP check-shares: $*"
	exit 77
}
[ "$(id -u)" = 0 ] || skip "recording needs root"
command -v qemu-x86_64 >/dev/null || skip "qemu-x86_64 is not installed (package qemu-user)"
tmp=$(mktemp -d "${TMPDIR:-/tmp}/pugmark-shares.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
cd "$tmp" || exit 1
export XDG_CACHE_HOME=$tmp/cache

lines_of() { sed 's/^[0-9]* //' "$1"; } # without the thread's number

truth_of() { # LEVEL: what one run did, in `truth`
	if [ "$1" = calls ]; then
		rm -rf full
		alike "$PUGMARK" record -q -o full -- "$program" "${args[@]}" >out 2>err || return
		"$PUGMARK" dump full >dumped && lines_of dumped >truth
	else
		rm -rf traces && mkdir traces && "$PUGMARK" cfg "$program" --export model || return
		alike qemu-x86_64 -plugin "$tools/blocktrace.so,dir=$tmp/traces,module=$(realpath "$program")" \
			"$program" "${args[@]}" >out 2>err || return
		"$tools/blocks" model "$(realpath "$program")" traces >dumped 2>err && lines_of dumped >truth
	fi
	[ -s truth ]
}

merged_of() { # LEVEL M: what is merged of M runs, in `merged`, and its gaps in `gaps`
	local k parts=()
	rm -rf set part-* whole
	"$PUGMARK" plan --level "$1" --shares "$2" -o set "$program" >out 2>err || return
	"$PUGMARK" plan --check --plan set "$program" >err 2>&1 || return # no decision is untold
	for k in $(seq "$2"); do
		alike "$PUGMARK" record -q --plan set/share-"$k".pmp -o part-"$k" -- "$program" "${args[@]}" \
			>out 2>err || return
		parts+=(part-"$k")
	done
	"$PUGMARK" merge -o whole "${parts[@]}" >out 2>err
	"$PUGMARK" dump whole >dumped 2>>err
	gaps=$(grep -cE '^[0-9]+ gap ' dumped)
	[ "$1" = calls ] || { grep -E '^[0-9]+ (block|gap) ' dumped >blocks; mv blocks dumped; }
	lines_of dumped >merged
}

failed=0 total=0
check() { # NAME LEVEL M...
	local name=$1 level=$2 m verdict gaps
	truth_of "$level" || { echo "$name $level: cannot be run: $(head -n 1 err)"; failed=$((failed + 1)); return; }
	for m in "${@:3}"; do
		verdict=same
		gaps=-
		if ! merged_of "$level" "$m"; then
			verdict="FAILED: $(head -n 1 err)"
		elif ! cmp -s truth merged; then
			verdict="DIFFERENT at line $(cmp truth merged 2>&1 | grep -oE 'line [0-9]+' | grep -oE '[0-9]+'): $(head -n 1 err)"
		fi
		[ "$verdict" = same ] || failed=$((failed + 1))
		total=$((total + 1))
		printf '%-8s %-5s %6s %10s %5s  %s\n' "$name" "$level" "$m" "$(wc -l <truth)" "$gaps" "$verdict"
	done
}

printf '%-8s %-5s %6s %10s %5s\n' program level shares events gaps
if [ "${1:-}" = --quick ]; then
	set_up gzip-c && check gzip-c calls 3 && check gzip-c paths 3
	set_up sqlite && check sqlite calls 3
	for m in 8 16; do # where witnesses that one share alone sees once left a decision to nobody
		"$PUGMARK" plan --level calls --shares $m -o set "$program" >out 2>err &&
			"$PUGMARK" plan --check --plan set "$program" >err 2>&1 ||
			{ echo "sqlite calls $m: $(tail -n 1 err)"; failed=$((failed + 1)); }
	done
else
	[ $# -gt 0 ] || set -- gzip-c gzip-d lua bzip2 sqlite git-log
	for name in "$@"; do
		set_up "$name" || { printf '%-8s is not here\n' "$name"; continue; }
		check "$name" calls 2 4 8
		check "$name" paths 2 4 8
	done
fi
[ $total -gt 0 ] || skip 'no program of these is here'
echo "$((total - failed)) of $total are what one run did"
[ $failed = 0 ]

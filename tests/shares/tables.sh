#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# tables.sh: what the costliest of m machines is expected to pay, in per cent of one machine with all
# witnesses, by each grouping, at both levels, by estimated frequencies and by those that a recording of the
# program's work has counted (the tables of Figures 13 to 15 of "Distributed Program Tracing", ESEC/FSE 2013).
#
#   tables.sh [NAME...]     gzip-c gzip-d lua sqlite bzip2 git-log mawk, or those named
#
# Bounds, checked: best is never worse than another grouping, and at most 1.15 times what any split of these jobs
# pays (an even one, the largest job, or two of the m + 1 largest); and at level paths, m = 6, the geometric mean of
# best over the programs is at most a third (with each weights). One that is missed is printed and fails. MACHINES:
# the numbers of machines. WEIGHTS: estimates, counts. Prints Markdown; with BENCH_OUT, measurements as well.
set -u -o pipefail
top=$(realpath "$(dirname "$0")/../..")
export PUGMARK=${PUGMARK:-$top/build/pugmark}
tools=${TOOLS:-$top/build/oracle}
machines=${MACHINES:-1 2 4 6 8 16}
weights=${WEIGHTS:-estimates counts}
. "$top/tests/oracle/inputs.sh"
. "$top/tests/shares/programs.sh"
tmp=$(mktemp -d "${TMPDIR:-/tmp}/pugmark-tables.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
cd "$tmp" || exit 1
export XDG_CACHE_HOME=$tmp/cache BENCH_OUT=${BENCH_OUT:-/dev/null}
[ $# -gt 0 ] || set -- gzip-c gzip-d lua sqlite bzip2 git-log mawk

row() { # NAME WEIGHTS LEVEL M PLAN-OPTION...
	local grouping
	for grouping in fine function optimized best; do
		"$PUGMARK" plan --level "$3" --shares "$4" --grouping $grouping "${@:5}" --format json -o set "$program" \
			>$grouping 2>err || { echo "$1 $3: $(head -n 1 err)"; return 1; }
	done
	python3 "$top/tests/shares/tables.py" "${@:1:4}" "$BENCH_OUT"
}

failed=0 rows=0
echo '| program | weights | level | m | fine | function | optimized | best | least |'
echo '| --- | --- | --- | --- | --- | --- | --- | --- | --- |'
for name in "$@"; do
	set_up "$name" || { echo "$name is not here" >&2; continue; }
	for by in $weights; do
		options=()
		if [ "$by" = counts ]; then
			[ "$(id -u)" = 0 ] || continue
			rm -rf counted
			alike "$PUGMARK" record -q --level paths -o counted -- "$program" "${args[@]}" >out 2>err ||
				{ echo "$name: cannot be recorded: $(head -n 1 err)"; failed=1; continue; }
			options=(--profile counted)
		fi
		for level in calls paths; do
			for m in $machines; do
				row "$name" "$by" $level "$m" "${options[@]}" || failed=1
				rows=$((rows + 1))
			done
		done
	done
done
[ $rows -gt 0 ] || { echo 'SKIP tables: no program of these is here'; exit 77; }
[ ! -e third ] || python3 "$top/tests/shares/tables.py" mean || failed=1
exit $failed

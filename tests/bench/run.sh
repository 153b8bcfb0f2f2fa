#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# run.sh: runs every benchmark and gathers their numbers: `make bench`.
#
#   run.sh OUT.json BENCHMARK...
#
# A benchmark prints its table, and appends to $BENCH_OUT one JSON object a line with workload,
# mode, metric, value and unit; OUT.json is the list of them all. One that fails does not stop the
# others, but the whole then fails, as it does where a number falls short. ROUNDS=1 is a quick run.
set -u
cd "$(dirname "$0")/../.." || exit 1
out=$1
shift
BENCH_OUT=$(mktemp) || exit 1
export BENCH_OUT
trap 'rm -f "$BENCH_OUT"' EXIT
failed=0
for benchmark in tests/bench/static.sh "$@"; do
	printf '== %s\n' "$benchmark"
	started=$SECONDS
	"$benchmark"
	status=$?
	printf '(%d s)\n' $((SECONDS - started))
	[ $status = 0 ] || [ $status = 77 ] || { failed=1; printf '%s: FAILED\n' "$benchmark"; }
done
printf '== beside what was asked for\n'
tests/bench/summary.sh "$BENCH_OUT" || failed=1
{ printf '[\n'; sed '$!s/$/,/' "$BENCH_OUT"; printf ']\n'; } >"$out.new" && mv "$out.new" "$out"
printf '%d numbers in %s\n' "$(wc -l <"$BENCH_OUT")" "$out"
exit $failed

#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# run.sh: runs every benchmark and gathers their numbers: `make bench`.
#
#   run.sh OUT.json BENCHMARK...
#
# A benchmark prints its table, and appends to $BENCH_OUT one JSON object a line with workload,
# mode, metric, value and unit; OUT.json is the list of them all. One that takes its workloads as
# arguments (`--pieces` prints them) is run workload by workload. One that fails does not stop the
# others, but the whole then fails, as it does where a number falls short.
#
# What has run to its end is kept in OUT.json.pieces/ until the whole has: RESUME=1 goes on where a
# run was cut off, which must have been of the same build. ROUNDS=1 is a quick run.
set -u
cd "$(dirname "$0")/../.." || exit 1
out=$1
shift
kept=$out.pieces
[ "${RESUME:-0}" = 1 ] || rm -rf "$kept"
mkdir -p "$kept" || exit 1
failed=0

pieces=(tests/bench/static.sh)
for benchmark in "$@"; do
	names=$("$benchmark" --pieces) || exit 1
	[ -n "$names" ] || pieces+=("$benchmark")
	for name in $names; do
		pieces+=("$benchmark $name")
	done
done

run_piece() { # BENCHMARK [NAME]: what it prints and its status are kept once it has ended
	local id status started=$SECONDS
	id=$kept/$(basename "$1" .sh)${2:+.$2}
	if [ -e "$id.status" ]; then
		cat "$id.txt"
		return "$(cat "$id.status")"
	fi
	: >"$id.json"
	BENCH_OUT=$id.json "$@" 2>&1 | tee "$id.txt"
	status=${PIPESTATUS[0]}
	printf '(%d s)\n' $((SECONDS - started)) | tee -a "$id.txt"
	[ $status -gt 128 ] || echo $status >"$id.status"
	return $status
}

trap 'exit 130' INT
n=0
for piece in "${pieces[@]}"; do
	printf '== %d of %d: %s\n' $((++n)) ${#pieces[@]} "$piece"
	# shellcheck disable=SC2086 # a benchmark, and the name of one of its workloads
	run_piece $piece
	status=$?
	[ $status = 0 ] || [ $status = 77 ] || { failed=1; printf '%s: FAILED\n' "$piece"; }
done
cat "$kept"/*.json >"$kept/all"
printf '== beside what was asked for (%d s)\n' $SECONDS
tests/bench/summary.sh "$kept/all" || failed=1
{ printf '[\n'; sed '$!s/$/,/' "$kept/all"; printf ']\n'; } >"$out.new" && mv "$out.new" "$out"
printf '%d numbers in %s\n' "$(wc -l <"$kept/all")" "$out"
rm -rf "$kept"
exit $failed

#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# run.sh: runs every benchmark and gathers their numbers: `make bench`.
#
#   run.sh OUT.json BENCHMARK...
#
# A benchmark prints its table, and appends to $BENCH_OUT one JSON object a line with workload,
# mode, metric, value and unit; OUT.json is the list of them all. A bench_*.sh that takes its workloads
# as arguments (`--pieces` prints them) is run workload by workload. One that fails does not stop the
# others, but the whole then fails, as it does where a number falls short.
#
# Each piece is a process group with a temporary folder of its own, and has PIECE_SECONDS=1800: when
# it ends, of itself or not, what is left of the group is ended and the folder removed.
#
# What has run to its end is kept in OUT.json.pieces/ until the whole has: RESUME=1 goes on where a
# run was cut off, which must have been of the same build. ROUNDS=1 is a quick run.
set -u
cd "$(dirname "$0")/../.." || exit 1
out=$1
shift
kept=$out.pieces
rounds=${ROUNDS:-5}
[ "${RESUME:-0}" = 1 ] || rm -rf "$kept"
mkdir -p "$kept" || exit 1
failed=0 group='' tail='' folder=''

pieces=()
for benchmark in "$@"; do
	names=
	case $benchmark in */bench_*) names=$("$benchmark" --pieces) || exit 1 ;; esac
	[ -n "$names" ] || pieces+=("$benchmark")
	for name in $names; do
		pieces+=("$benchmark $name")
	done
done

id_of() { # BENCHMARK [NAME]
	echo "$(basename "$1" .sh)${2:+.$2}"
}
# What a piece takes is a line of expected_seconds, measured on two cores: in one round, in each other.
expected() { # ID
	awk -v id="$1" -v r="$rounds" '$1 == id { s = $2 + (r - 1) * $3 } END { print int(s + 0.5) }' \
		tests/bench/expected_seconds
}
end_piece() { # first asked, so that servers and recorders end in order
	local i
	[ -n "$group" ] || return
	kill -TERM -- "-$group" 2>/dev/null
	for ((i = 0; i < 100; i++)); do
		kill -0 -- "-$group" 2>/dev/null || break
		sleep 0.1
	done
	kill -KILL -- "-$group" 2>/dev/null
	rm -rf "$folder"
	kill "$tail" 2>/dev/null
	group=''
}
run_piece() { # BENCHMARK [NAME]: what it prints and its status are kept once it has ended
	local id status started=$SECONDS
	id=$kept/$(id_of "$@")
	if [ -e "$id.status" ]; then
		cat "$id.txt"
		return "$(cat "$id.status")"
	fi
	: >"$id.json"
	: >"$id.txt"
	folder=$(mktemp -d "${TMPDIR:-/tmp}/pugmark-bench.XXXXXX") && chmod 755 "$folder" || return
	TMPDIR=$folder BENCH_OUT=$id.json setsid env --default-signal=INT timeout --kill-after=20 \
		"${PIECE_SECONDS:-1800}" "$@" </dev/null >>"$id.txt" 2>&1 &
	group=$!
	tail -n +1 -s 0.2 -f --pid=$group "$id.txt" 2>/dev/null &
	tail=$!
	wait $group
	status=$?
	wait $tail
	end_piece
	[ $status != 124 ] || echo "ended after ${PIECE_SECONDS:-1800} s" | tee -a "$id.txt"
	printf '(%d s)\n' $((SECONDS - started)) | tee -a "$id.txt"
	[ $status -ge 124 ] || echo $status >"$id.status"
	return $status
}

trap end_piece EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
left=0
for piece in "${pieces[@]}"; do
	# shellcheck disable=SC2086 # a benchmark, and the name of one of its workloads
	left=$((left + $(expected $(id_of $piece))))
done
n=0
for piece in "${pieces[@]}"; do
	# shellcheck disable=SC2086
	seconds=$(expected $(id_of $piece))
	printf '== %d of %d: %s, about %d s; then all is done in about %d minutes\n' $((++n)) ${#pieces[@]} \
		"$piece" "$seconds" $(((left + 59) / 60))
	left=$((left - seconds))
	# shellcheck disable=SC2086
	run_piece $piece
	status=$?
	[ $status = 0 ] || [ $status = 77 ] || { failed=1; printf '%s: FAILED\n' "$piece"; }
done
cat "$kept"/*.json >"$kept/all"
printf '== what pieces themselves say is missing or short\n'
grep -HE 'SHORT|MISSED|FAILED|SKIP|LOST|does not hold|not run|not installed|cannot be set up|ended after' \
	"$kept"/*.txt | sed "s,^$kept/,," || echo nothing
printf '== beside what was asked for (%d s)\n' $SECONDS
tests/bench/summary.sh "$kept/all" || failed=1
{ printf '[\n'; sed '$!s/$/,/' "$kept/all"; printf ']\n'; } >"$out.new" && mv "$out.new" "$out"
printf '%d numbers in %s\n' "$(wc -l <"$kept/all")" "$out"
rm -rf "$kept"
exit $failed

#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# bench_runner.sh: tests/bench/run.sh leaves nothing behind: fake benchmarks that start a server and
# a temporary folder, and are interrupted, killed, or hang; what they lack is said at the end.
set -eu
run=$(cd "$(dirname "$0")/../bench" && pwd)/run.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export TMPDIR=$dir/tmp ROUNDS=1
mkdir "$TMPDIR"

fake() { # NAME BODY
	printf '#!/bin/bash\n[ "${1:-}" != --pieces ] || exit 0\n%s\n' "$2" >"$dir/$1"
	chmod +x "$dir/$1"
}
server='mktemp -d >/dev/null; sleep 1000 & echo $! >'"$dir"'/server; '
fake bench_good 'echo "a row"; echo "{\"workload\": \"w\", \"mode\": \"m\", \"metric\": \"x\", \"value\": 1, \"unit\": \"s\"}" >>"$BENCH_OUT"'
fake bench_stays "$server"'wait'
fake bench_killed "$server"'kill -KILL $$'
fake bench_leaves "$server"'echo "w: cannot be set up here"'

fails() {
	printf '%s; the output:\n' "$1"
	cat "$dir/out"
	exit 1
}
says() { grep -qF -- "$1" "$dir/out" || fails "not said: $1"; }
nothing_left() {
	local i
	for i in $(seq 50); do
		kill -0 "$(cat "$dir/server")" 2>/dev/null || break
		sleep 0.1
	done
	[ "$i" -lt 50 ] || fails 'the server is left'
	[ -z "$(ls -A "$TMPDIR")" ] || fails "folders are left: $(ls -A "$TMPDIR")"
	rm "$dir/server"
}
expect() { # STATUS BENCHMARK...
	local want=$1 status=0
	shift
	"$run" "$dir/out.json" "${@/#/$dir/}" >"$dir/out" 2>&1 || status=$?
	[ "$status" = "$want" ] || fails "$*: status $status, wanted $want"
}

expect 0 bench_good
says 'a row'
says '1 numbers in'
[ "$(jq -c 'map(.value)' "$dir/out.json")" = '[1]' ] || fails 'the numbers are others'

expect 1 bench_killed bench_good
says 'bench_killed: FAILED'
says 'a row'
nothing_left

expect 0 bench_leaves
says 'bench_leaves.txt:w: cannot be set up here'
nothing_left

PIECE_SECONDS=1 expect 1 bench_stays bench_good
says 'bench_stays.txt:ended after 1 s'
nothing_left

for signal in TERM INT; do
	env --default-signal=INT "$run" "$dir/out.json" "$dir/bench_good" "$dir/bench_stays" \
		>"$dir/out" 2>&1 &
	runner=$!
	for _ in $(seq 100); do
		[ ! -s "$dir/server" ] || break
		sleep 0.1
	done
	status=0
	kill -$signal $runner
	wait $runner || status=$?
	case $signal in TERM) want=143 ;; *) want=130 ;; esac
	[ $status = $want ] || fails "$signal: status $status, wanted $want"
	nothing_left
done

fake bench_stays 'echo "another row"'
RESUME=1 expect 0 bench_good bench_stays
says 'a row'
says 'another row'
[ "$(jq -c 'map(.value)' "$dir/out.json")" = '[1]' ] || fails 'a piece was run again'

#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# soak.sh: a long recording of a busy loop: does anything overflow or grow?
#
#   soak.sh [SECONDS]    600 without one
#
# The program makes rounds of seventeen calls, counts them, and says how many there were; so many
# must be in the trace, and no gap. Ten minutes make more events than fit into 32 bits. The memory of
# the recorder (resident, each second) must be the same in the last half as in the first, within
# 1 MB.
set -u -o pipefail
here=$(dirname "$(realpath "$0")")
export PUGMARK=${PUGMARK:-$(realpath "$here/../..")/build/pugmark}
seconds=${1:-600}
[ "$(id -u)" = 0 ] || { echo 'SKIP soak: recording needs root'; exit 77; }
dir=$(mktemp -d "${TMPDIR:-/tmp}/pugmark-soak.XXXXXX") || exit 1
recorder=
trap '[ -z "$recorder" ] || kill "$recorder" 2>/dev/null; wait; rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
cd "$dir" || exit 1
export XDG_CACHE_HOME=$dir/cache
${CC:-cc} -O2 -o soak "$here/soak.c" || exit 1
"$PUGMARK" plan soak >/dev/null || exit 1
"$PUGMARK" record -q -o rec -- ./soak "$seconds" >rounds &
recorder=$!
while kill -0 $recorder 2>/dev/null; do
	awk '/^VmRSS/ { print $2 }' /proc/$recorder/status 2>/dev/null
	sleep 1
done >rss
wait $recorder || { echo "recording failed: $?"; exit 1; }
recorder=
read -r first last < <(awk '$1 > 1000 { v[n++] = $1 } END {
	for (i = 0; i < n; i++) if (v[i] > most[2 * i >= n]) most[2 * i >= n] = v[i]
	print most[0] + 0, most[1] + 0 }' rss)
rounds=$(cat rounds) failed=0 started=$SECONDS
"$PUGMARK" verify --format json rec >verdict || failed=1
read -r events witnesses complete < <(jq -r '"\(.events) \(.witness_events) \(.complete)"' verdict)
echo "$seconds s: $rounds rounds, $events events from $witnesses witnesses, complete: $complete"
echo "recorder: at most $first kB in the first half, $last kB in the second; $(stat -c %s rec/events) bytes"
echo "read in $((SECONDS - started)) s"
fail() { echo "does not hold: $*"; failed=1; }
[ "$complete" = true ] || fail 'the trace is complete'
# Beside the rounds: main, and three events each time that the program rests.
beside=$((events - 34 * rounds))
[ "$beside" -gt 0 ] && [ "$beside" -lt $((100 + 4 * (rounds >> 20))) ] ||
	fail "there are seventeen calls and returns a round ($beside events beside those)"
[ $((last - first)) -lt 1024 ] || fail 'the recorder does not grow'
[ "$seconds" -lt 600 ] || [ "$events" -gt 4294967296 ] || fail 'there are more events than 2^32'
exit $failed

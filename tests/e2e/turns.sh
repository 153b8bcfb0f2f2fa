#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# turns.sh: `record --share I/M` and `--rotate M`: each function is in a share, the turns overlap, and
# `report` of their folder weighs calls by the time in which they were seen: of functions of all kinds the
# calls are those that the program itself has counted while their turn was on, and the intervals hold
# the rates.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs "${CC:-cc}" jq python3 pgrep
work_in_own_folder

# Functions of all kinds, of which shares take callers and callees apart. What makes the intervals wide or narrow
# is tests/unit/view/test_rates.c's.
"${CC:-cc}" -O2 -pthread -o kinds "$tests/programs/kinds.c" || exit 1
./kinds >notes &
kinds=$!
started+=($kinds)
"$PUGMARK" record -q -a ./kinds --rotate 3 --every 0.3 -o turns 2>err &
recorder=$!
for _ in $(seq 1200); do
	[ -e turns/turn-000007 ] && break
	sleep 0.1
done
kill -TERM $recorder
wait $recorder
status=$?
counted=1 # for the third round, which has begun or is planned
claim 'the turns are recorded' is "$status $(cat err)" '0 '
status=0
"$PUGMARK" record -q -a ./kinds --share 2/3 --duration 0.3 -o share 2>err || status=$?
claim 'a share alone is recorded' is "$status $(cat err)" '0 '
run 3 record -q -a ./kinds --rotate 8 --every 1 --duration 0.5 -o few
claim 'shares without a turn are said' grep -qE '[67] of 8 shares had no turn' err

# A turn that takes long to plan, here since it is stopped, is planned for two turns: each has its time.
lasts_s() { jq '(.probed_to_ns - .probed_from_ns) / 1e9' "late/turn-00000$1/meta.json"; }
"$PUGMARK" record -q -a ./kinds --rotate 5 --every 2 -o late 2>err &
recorder=$!
await [ -e late/turn-000002/events ]
sleep 0.2
planned=$(pgrep -n -P $recorder)
kill -STOP "$planned"
sleep 4
kill -CONT "$planned"
await [ -e late/turn-000005/events ]
kill -TERM $recorder
wait $recorder
claim 'a turn ends in time while a later one is still planned' \
	test "$(jq -n "$(lasts_s 2) < 3.8")" = true
claim 'what a round has counted is counted once' is "$(find "$XDG_CACHE_HOME/pugmark/counted" -type f | wc -l)" "$counted"
kill -TERM $kinds
wait $kinds
claim 'the program has not noticed' is $? 0

recordings=(turns/turn-*)
claim 'there were two rounds of turns' test ${#recordings[@]} -ge 6
gapless() {
	local last=0 turn
	for turn in "${recordings[@]}"; do
		[ $last = 0 ] || [ "$(jq .probed_from_ns "$turn/meta.json")" -lt $last ] || return 1
		last=$(jq .probed_to_ns "$turn/meta.json")
	done
}
claim 'the probes of each turn are in place before those of the last one go' gapless
claim 'the shares take turns' is "$(for t in "${recordings[@]:0:4}"; do jq -r '"\(.share)/\(.shares)"' "$t/meta.json"; done | tr '\n' ' ')" '1/3 2/3 3/3 1/3 '

"$PUGMARK" report --format json turns >told 2>err # a longjmp() over what is not traced is a gap
python3 "$tests/support/kinds.py" notes turns "$PUGMARK" <told >holds
read -r n exact within apart <<<"$(tail -n 1 holds)"
claim 'of 25 kinds of functions each call is counted, and no other' is "$n $exact $(head -n -1 holds)" "25 25 "
claim 'what is not known of the edges of turns is less than 5 % of the calls' test "${apart:-1000}" -lt 50
claim 'the interval of each holds what it counted a second' is "$within" 25
claim 'all shares were seen' is "$(jq -c '[.shares, .shares_seen, .lossy]' told)" '[3,3,0]'
work_of() { "$PUGMARK" report --format json "$1" | jq -r '.functions[] | select(.calls > 0) | .function' | grep -Fxf kinds-of | sort; }
head -n 1 notes | tr ' ' '\n' | grep . >kinds-of
for turn in "${recordings[@]:0:3}"; do work_of "$turn"; done | sort >seen
claim 'each function is in some share' same <(sort -u seen) <(sort kinds-of)
claim 'and few in another one as well' test "$(uniq -d seen | wc -l)" -le 3
claim 'a share alone has the functions of its turn' same <(work_of share) <(work_of "${recordings[1]}")

# A turn that lost half of its events: calls a second are as many more, and the interval says it.
cp -r turns lossy
for turn in lossy/turn-*; do
	jq '.lost = .events' "$turn/meta.json" >meta && cp meta "$turn/meta.json"
done
run 3 report --format json lossy
rate_of() { jq ".functions[] | select(.function == \"twice\") | $2" "$1"; }
claim 'lost events are made up for' test "$(jq -n "$(rate_of out .calls_s) / $(rate_of told .calls_s) - 2 | fabs < 0.001")" = true
claim 'and the interval begins at what was seen' is "$(rate_of out .least)" "$(rate_of told .least)"
run 3 report lossy
claim 'as text too' grep -q 'of the recordings lost events' out

"$PUGMARK" report --top 3 turns >out 2>err
claim 'as text: three functions' is "$(grep -c '^ .*/s' out) $(grep -c '^ *[0-9][0-9. ]* [a-z_]*$' out)" '1 3'
# A folder of two hosts: twice the time, the same rates.
mkdir hosts && cp -r turns hosts/a && cp -r turns hosts/b
"$PUGMARK" report --format json hosts >out 2>err
claim 'recordings of two hosts add up' test "$(jq -n "$(rate_of out .on_s) / $(rate_of told .on_s) - 2 | fabs < 0.001")" = true
mkdir some && cp -r turns/turn-000001 some/
"$PUGMARK" report some >out 2>err
claim 'what was never traced is said' grep -q 'of 3 shares 1: functions of the others were never traced' out

run 2 report --callers main turns
run 2 record --rotate 4 -- ./kinds
run 2 record --share 5/4 -- ./kinds
run 2 record --every 3 -- ./kinds
run 1 record -a ./kinds --rotate 2 -o turns --duration 0.1
claim 'a folder that is there is kept' grep -q 'File exists' err
conclude

#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# turns.sh: `record --share I/M` and `--rotate M`: each function is in one share, the turns overlap, and
# `report` of their folder weighs calls by the time in which they were seen: of functions of all kinds the
# calls are those that the program itself has counted while their turn was on, and the intervals hold
# the rates.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs "${CC:-cc}" jq python3
work_in_own_folder

# What makes the intervals wide or narrow is tests/unit/test_rates.c's. 48 functions, half of them called at random, and a main loop that goes round some thousand times in a
# second, says how often it called each, and how long it took.
{
	cat <<-'C'
		#include <signal.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <time.h>
		#include <unistd.h>
		#define FN __attribute__((noipa, aligned(512)))
		static volatile int sum, ended;
		static void end(int s) { ended = s; }
		static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
	C
	for i in $(seq 48); do echo "FN void work_$i(int i) { sum += i ^ $i; }"; done
	echo 'static void (*const works[])(int) = {'
	for i in $(seq 48); do echo "work_$i,"; done
	cat <<-'C'
		};
		int main(void)
		{
			static long calls[48];
			double began = now();
			unsigned seed = 7;
			signal(SIGTERM, end);
			for (int i = 0; !ended; i++) {
				for (int k = 0; k < 48; k++)
					if (k % 2 ? rand_r(&seed) % (k + 2) == 0 : i % (k + 1) == 0) {
						works[k](i);
						calls[k]++;
					}
				usleep(500);
			}
			double took = now() - began;
			for (int k = 0; k < 48; k++)
				printf("work_%d %.3f\n", k + 1, calls[k] / took);
			return 0;
		}
	C
} >steady.c
"${CC:-cc}" -O1 -o steady steady.c || exit 1

./steady >rates &
steady=$!
started+=($steady)
"$PUGMARK" record -q -a ./steady --rotate 4 --every 0.3 -o turns 2>err &
recorder=$!
for _ in $(seq 600); do
	[ -e turns/turn-000010 ] && break
	sleep 0.1
done
kill -TERM $recorder
wait $recorder
status=$?
claim 'the turns are recorded' is "$status $(cat err)" '0 '
status=0
"$PUGMARK" record -q -a ./steady --share 2/4 --duration 0.3 -o share 2>err || status=$?
claim 'a share alone is recorded' is "$status $(cat err)" '0 '
kill -TERM $steady
wait $steady
claim 'the program has not noticed' is $? 0

recordings=(turns/turn-*)
claim 'there were several rounds of turns' test ${#recordings[@]} -ge 8
gapless() {
	local last=0 turn
	for turn in "${recordings[@]}"; do
		[ $last = 0 ] || [ "$(jq .probed_from_ns "$turn/meta.json")" -lt $last ] || return 1
		last=$(jq .probed_to_ns "$turn/meta.json")
	done
}
claim 'the probes of each turn are in place before those of the last one go' gapless
claim 'the shares take turns' is "$(for t in "${recordings[@]:0:5}"; do jq -r '"\(.share)/\(.shares)"' "$t/meta.json"; done | tr '\n' ' ')" '1/4 2/4 3/4 4/4 1/4 '
work_of() { "$PUGMARK" report --format json "$1" | jq -r '.functions[] | select(.calls > 0) | .function' | grep '^work_' | sort; }
for turn in "${recordings[@]:0:4}"; do work_of "$turn"; done | sort >seen
claim 'each function is in one share' is "$(uniq -d seen | wc -l)" 0
claim 'and every one in some' is "$(wc -l <seen)" 48
claim 'a share alone has the functions of its turn' same <(work_of share) <(work_of "${recordings[1]}")

run 0 report --format json turns
# Rates that the program counted, and the interval of each.
jq -r '.functions[] | "\(.function) \(.low) \(.high) \(.n)"' out | sort >intervals
holding() { join <(sort rates) intervals | awk '$2 >= $3 && $2 <= $4 { n++ } END { print n + 0 }'; }
claim 'all are reported' is "$(grep -c '^work_' intervals)" 48
claim 'of 48 intervals of 95 % at least 44 hold' test "$(holding)" -ge 44
run 0 report --top 3 turns
claim 'as text: three functions' is "$(wc -l <out)" 5
# A folder of two hosts: twice the time, the same rates.
mkdir hosts && cp -r turns hosts/a && cp -r turns hosts/b
"$PUGMARK" report --format json hosts | jq -r '.functions[] | select(.function == "work_3") | .on_s * 100 | round' >both
"$PUGMARK" report --format json turns | jq -r '.functions[] | select(.function == "work_3") | .on_s * 200 | round' >one
claim 'recordings of two hosts add up' same both one

# Functions of all kinds, of which shares take callers and callees apart.
"${CC:-cc}" -O2 -pthread -o kinds "$tests/programs/kinds.c" || exit 1
./kinds >notes &
kinds=$!
started+=($kinds)
"$PUGMARK" record -q -a ./kinds --rotate 3 --every 0.3 -o kinds-turns 2>err &
recorder=$!
for _ in $(seq 1200); do
	[ -e kinds-turns/turn-000010 ] && break
	sleep 0.1
done
kill -TERM $recorder
wait $recorder
kill -TERM $kinds
wait $kinds
"$PUGMARK" report --format json kinds-turns >told 2>err
python3 "$tests/support/kinds.py" notes kinds-turns "$PUGMARK" <told >holds
read -r n exact within <<<"$(tail -n 1 holds)"
claim 'of 25 kinds of functions each call is counted, and no other' is "$n $exact $(head -n -1 holds)" "25 25 "
claim 'of their 25 intervals of 95 % at least 22 hold' test "${within:-0}" -ge 22
claim 'all shares were seen' is "$(jq -c '[.shares, .shares_seen]' told)" '[3,3]'
mkdir some && cp -r kinds-turns/turn-000001 some/
run 0 report some
claim 'what was never traced is said' grep -q 'of 3 shares 1: functions of the others were never traced' out
run 3 record -q -a ./steady --rotate 8 --every 1 --duration 0.5 -o few
claim 'shares without a turn are said' grep -qE '[67] of 8 shares had no turn' err

run 2 report --callers main turns
run 2 record --rotate 4 -- ./steady
run 2 record --share 5/4 -- ./steady
run 2 record --every 3 -- ./steady
run 1 record -a ./steady --rotate 2 -o turns --duration 0.1
claim 'a folder that is there is kept' grep -q 'File exists' err
conclude

#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# overhead.sh: record --max-overhead on a program whose one hot function costs fifty times the rest:
# it is taken out, the program is as fast as before, and the recording says what is missing, and from
# when on: behind that nothing of it is seen.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
source=$tests/programs/hot.c
pid=
at_end() { [ -z "$pid" ] || kill -9 "$pid" 2>/dev/null; }
work_in_own_folder
${CC:-cc} -O1 -pthread "$source" -o hot || skip 'no compiler for the program'

./hot >rounds &
pid=$!
until [ "$(wc -l <rounds)" -ge 4 ]; do sleep 0.05; done
"$PUGMARK" record -q -o rec --max-overhead 20 --duration 5 -p $pid >out 2>err </dev/null &
recorder=$!
until [ -e rec/reserve ] || ! kill -0 $recorder 2>/dev/null; do sleep 0.05; done
before=$(wc -l <rounds)
wait $recorder
claim 'recorded' is $? 0
after=$(wc -l <rounds)
"$PUGMARK" record -o again --max-overhead 20 --duration 1 -p $pid >out 2>told
"$PUGMARK" record -q -o fresh --max-overhead 20 --fresh --duration 0.3 -p $pid >out 2>err
"$PUGMARK" record -o telling --max-overhead 20 --fresh --duration 2 -p $pid >out 2>while
kill -TERM $pid
wait $pid
claim 'the program ends well' is $? 0
traced=$pid pid=
"$PUGMARK" verify rec >certificate
claim 'the certificate says what was taken out, and why' \
	grep -q '^note .*taken out, since probes cost .* more than 20.0 %: .*\(warm\|hot\)' certificate
# In whose words it was found and left when; the events themselves are the other witness.
changes=$(sed -nE 's/.*found necessary at ([0-9.]+) s, no probe of what goes was left ([0-9]+) ms later.*/\1 \2/p' \
	certificate)
claim 'and when that was found, and when no probe of it was left' grep -q . <<<"$changes"
claim 'and that there is a gap for it' grep -q 'gap .*: .*functions were taken out' certificate
claim 'as JSON, too' eval '"$PUGMARK" verify --format json rec | grep -q "taken out, since"'
"$PUGMARK" dump rec >dump 2>err
claim 'all gaps are of that' is "$(grep ' gap ' dump | grep -vc ' gap plan ')" 0
claim 'none ends before it begins' is "$(awk '$2 == "gap" && $6 < $5' dump | wc -l)" 0
hot=$(nm hot | awk '$3 == "hot" { print $1 }' | sed 's/^0*//')
round=$(nm hot | awk '$3 == "one_round" { print $1 }' | sed 's/^0*//')
longest=$(awk '$2 == "gap" { d = ($6 - $5) / 1e9; if (d > most) most = d; thread[$1] = 1 }
	END { for (t in thread) n++; print n + 0, most }' dump)
claim "both threads have one, the one that sleeps none that lasts as long as it sleeps: ${longest#* } of 5 s" \
	awk '{ exit !($1 == 2 && $2 < 2.5) }' <<<"$longest"
awk -v t="$traced" '$1 != t { next } $2 == "gap" { n = 0; next } { n++; line[n] = $0 }
	END { for (i = 1; i <= n; i++) print line[i] }' \
	dump >after
claim 'after the last change nothing is seen of the hot function' \
	is "$(grep -c " ret hot $hot\$" after)" 0
begun=$(sed -nE 's/.*"start_monotonic_ns": *([0-9]+).*/\1/p' rec/meta.json | head -n 1)
last=$("$PUGMARK" dump -F hot --format ndjson rec |
	awk -F '"to_ns":' -v begun="$begun" '/"function":"hot"/ { t = ($2 - begun) / 1e9 } END { print t }')
claim "nor is any event of it later than that: the last at $last s" \
	awk -v last="$last" '{ left = $1 + ($2 + 1) / 1000 } END { exit !(last > 0 && last <= left) }' <<<"$changes"
claim 'of the others all is' [ "$(grep -c " ret hot $round\$" after)" -gt 100 ]
# The last of recording against what came before it, by processor time, so that other work on the
# machine counts for little; with the hot function in there are a tenth of the rounds.
untraced=$(sed -n "2,${before}p" rounds | sort -n | tail -n 1)
later=$(sed -n "$((before + 2)),${after}p" rounds | tail -n 3 | sort -n | tail -n 1)
claim "a third of the rounds at least: $later in half a second, $untraced before" \
	[ "$((3 * ${later:-0}))" -gt "${untraced:-0}" ]
claim 'the next recording begins without what was taken out, and says so' \
	grep -q 'out from the start, as an earlier recording .*--fresh' told
claim 'what goes is said while it is recorded, too' grep -q 'telling: taken out, since probes cost .* more than 20.0 %: .*hot' while
"$PUGMARK" verify again >certificate
claim 'so does its certificate' \
	grep -q '^note .*out from the start, since an earlier recording .*: .*hot' certificate
"$PUGMARK" dump again >dump 2>err
claim 'it sees nothing of the hot function' is "$(grep -c " ret hot $hot\$" dump)" 0
claim 'and has no gap but where it began' is "$(grep ' gap ' dump | grep -vc ' gap attach ')" 0
claim 'unless it is to begin with all' eval '"$PUGMARK" dump fresh | grep -c " ret hot $hot\$" >said'
"$PUGMARK" record -q -o rec2 --max-overhead 20 --sites x -- ./hot >out 2>err
claim 'it cannot do without plans of its own' is $? 2
echo "rounds in half a second: $untraced before, $later once it holds ($(tr '\n' ' ' <rounds))"
echo "found at s, gone after ms: $(echo "$changes" | tr '\n' ';')"
conclude

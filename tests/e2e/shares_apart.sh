#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# shares_apart.sh: a program that differs between its runs, by the clock, by chance, or by how addresses
# sort, is told as diverged in 100 of 100 merges of runs under shares in which two machines tell each
# decision, and the first landmark in which they differ is named, as it is in what they recorded. A single
# other call in one run of three, whose place is known, is found at that place. Where one share alone tells something, that is said and the trace is not called complete.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs "${CC:-cc}" setarch jq python3
work_in_own_folder
"${CC:-cc}" -O2 -o differs "$tests/programs/differs.c" || exit 1

# Four runs under each share make 64 combinations; what each run did it has printed itself.
run 0 plan --level paths --shares 3 --tellers 2 --grouping function -o set ./differs
run 0 plan --level paths --shares 3 --tellers 2 --grouping function --format json ./differs
mv out set.json
run 0 plan --check --plan set ./differs
claim 'nothing is told by one share alone' grep -q 'and 0 by one alone: every run can be put together' out
# The ways beside each other, each with a copy of its own: a recording mostly waits for the kernel.
# 100 merges with LONG=1, of four runs under each share; else 24, of three.
if [ "${LONG:-}" ]; then runs=4 each=34 tries=100; else runs=3 each=8 tries=24; fi
try_way() { # WAY: in a folder of its own, merges and differ
	mkdir "$1" && cd "$1" && cp ../differs . || return
	for share in 1 2 3; do
		for i in $(seq $runs); do
			"$PUGMARK" record -q --plan ../set/share-$share.pmp -o $share-$i -- ./differs "$1" \
				>$share-$i.did 2>err || cat err
			"$PUGMARK" raw $share-$i >$share-$i.raw
		done
	done
	for combination in {1..4}\ {4..1}\ {1..4}; do
		read -r a b c <<<"$combination"
		[ -e 1-"$a" ] && [ -e 2-"$b" ] && [ -e 3-"$c" ] || continue
		parts=(1-"$a" 2-"$b" 3-"$c")
		cmp -s "${parts[0]}.did" "${parts[1]}.did" && cmp -s "${parts[0]}.did" "${parts[2]}.did" && continue
		[ "$(cat merges 2>/dev/null | wc -l)" -lt $each ] || break
		status=0
		"$PUGMARK" merge -o whole "${parts[@]}" >out 2>err || status=$?
		echo "$(cat "${parts[@]/%/.did}" | tr -d '\n')| $status | $(cat err)" >>merges
		python3 "$tests/support/landmarks.py" ../set.json "${parts[@]/%/.raw}" >>differ
	done
}
ways=(clock chance addresses)
for way in "${ways[@]}"; do
	(try_way "$way") &
done
wait
cat "${ways[@]/%//merges}" >merges
cat "${ways[@]/%//differ}" >differ
head -n $tries merges >tries
claim 'there are as many tries' is "$(wc -l <tries)" $tries

claim 'each is told as diverged, with its landmarks' is \
	"$(grep -cE '\| 3 \| .*the runs under share 1 and share [23] part, .*the last landmark that all have is number [0-9]+' tries)" $tries
grep -oE 'the first landmark that differs is number [0-9]+: .*' tries |
	sed -E 's/the first landmark that differs is //; s/\+0x[0-9a-f]+//g' >named
claim 'and the first landmark that differs is that of the recordings' same named <(head -n $tries differ)

# Another call where it is known: what the program says of itself tells the landmarks.
"${CC:-cc}" -O1 -o planted "$tests/programs/planted.c" || exit 1
run 0 record -q --level paths -o counts -- ./planted
mv out did
run 0 plan --level paths --profile counts --shares 3 --tellers 2 --grouping function -o planted-set ./planted
claim 'plan --shares lists the landmarks: play, and what it calls' is \
	"$(grep '^landmarks' out | tr -c 'a-z_' '\n' | grep -cxE 'play|one|two|three|four|five|six|seven|eight')" 9
"$PUGMARK" plan --level paths --profile counts --shares 3 --tellers 2 --grouping function --format json ./planted |
	jq -r '.landmarks[].function' | sort -u >listed
claim 'and as JSON' is "$(grep -cxE 'play|one|two|three|four|five|six|seven|eight' listed)" 9
for share in 1 2 3; do
	"$PUGMARK" record -q --plan planted-set/share-$share.pmp -o usual-$share -- ./planted >usual 2>err || cat err
done
places='17 59'
[ -z "${LONG:-}" ] || places='0 17 41 59'
for place in $places; do
	export PLACE=$place
	for share in 1 2 3; do
		parts=(usual-1 usual-2 usual-3)
		parts[share - 1]=odd
		rm -rf odd
		"$PUGMARK" record -q --plan planted-set/share-$share.pmp -o odd -- ./planted >unusual 2>err || cat err
		"$PUGMARK" merge -o whole "${parts[@]}" >out 2>err
		here=$(sed -n $((place + 1))p usual) there=$(sed -n $((place + 1))p unusual)
		case $share in
		1) at="$there in share 1, $here in share 2, 3" ;;
		2) at="$here in share 1, 3, $there in share 2" ;;
		3) at="$here in share 1, 2, $there in share 3" ;;
		esac
		claim "another call $place under share $share: the place is named" grep -qE \
			"play for time $((place + 1)); the first landmark that differs is number [0-9]+: $at\$" \
			<(sed -E 's/\+0x[0-9a-f]+//g' err)
		grep -oE 'differs is number [0-9]+' err | grep -oE '[0-9]+' >>numbers
	done
	unset PLACE
done
first=$(($(head -n 1 numbers) - 2 * ${places%% *}))
claim 'landmarks are counted: two a call' same numbers \
	<(for place in $places; do for _ in 1 2 3; do echo $((first + 2 * place)); done; done)

# The same runs under shares that trust each other: the claim is less.
cat >same.c <<'C'
#include <stdlib.h>
#define FN __attribute__((noipa))
static volatile int sum;
FN static void a(int n) { for (int i = 0; i < n; i++) if (i % 3) sum += i; }
FN static void b(int n) { for (int i = 0; i < n; i++) if (i % 5) sum ^= i; else sum++; }
int main(int argc, char **argv)
{
	(void)argv;
	for (int i = 0; i < 60; i++)
		if (i == 37 && getenv("OTHER"))
			b(i + argc);
		else
			a(i + argc);
	return 0;
}
C
"${CC:-cc}" -O1 -o same same.c || exit 1
merge_with_odd() { # M TELLERS ODD: share ODD is of a run with one other call, 0: none is
	rm -rf set part-*
	"$PUGMARK" plan --level paths --shares "$1" --tellers "$2" -o set ./same >out 2>err || return
	for k in $(seq "$1"); do
		env $([ "$k" = "$3" ] && echo OTHER=1) setarch -R "$PUGMARK" record -q \
			--plan set/share-"$k".pmp -o part-"$k" -- ./same 2>err || return
	done
	"$PUGMARK" merge -o whole part-* >out 2>err
}
for odd in 1 2 3; do
	merge_with_odd 3 2 $odd
	claim "one other call of 60, in run $odd alone: it is told" is $? 3
done
claim 'three runs that are alike' merge_with_odd 3 2 0
run 0 verify whole
claim 'are complete without an if' grep -q '^complete: ' out
claim 'and it is said why' grep -q 'each decision was told by two' out
claim 'runs that each tell something alone' merge_with_odd 3 1 0
claim 'merge says so' grep -q 'exact if the runs agree in [1-9][0-9]* decisions that one of them alone tells' out
run 0 verify whole
claim 'verify says so' grep -q '^complete if its runs agree in [1-9][0-9]* decisions that one of them alone tells' out
claim 'and names the functions' grep -qE 'one share alone tells .*: [0-9]+ in [a-z_]' out
run 0 verify --format json whole
claim 'for scripts as well' test "$(jq .merged_alone out)" -gt 0

run 2 plan --shares 2 --tellers 3 -o set ./same
run 2 plan --tellers 2 ./same
run 2 distribute --machines 2 --tellers 3 -- ./same
run 0 distribute --machines 3 --level paths -o whole -- ./same
run 0 verify whole
claim 'distribute has each decision told by two' grep -q '^complete: ' out
conclude

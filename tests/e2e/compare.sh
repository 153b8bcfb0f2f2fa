#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# compare.sh: two builds of a program side by side: what certainly takes longer (by how the program was
# written), functions of stripped builds matched by their neighbours (by the symbols that were
# stripped), a part of the time alone, and the page of both.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs jq nm
work_in_own_folder

cat >two.c <<'C'
#include <stdio.h>
static volatile long sink;
__attribute__((noipa)) static void work(int n) { for (int i = 0; i < n; i++) sink += i; }
__attribute__((noipa)) static void slow(int n) { work(n * FACTOR); }
__attribute__((noipa)) static void same(int n) { work(n); puts(""); }
#if FACTOR > 1
__attribute__((noipa)) static void extra(int n) { sink = n; sink = 2; }
__attribute__((noipa, used)) static void pad(int n) { for (int i = 0; i < n; i++) sink += i; }
#endif
int main(void)
{
	for (int i = 0; i < 50; i++) {
		slow(40000);
		same(10);
#if FACTOR > 1
		extra(i);
#endif
	}
	return 0;
}
C
for factor in 1 30; do
	${CC:-cc} -O2 -fno-optimize-sibling-calls -DFACTOR=$factor two.c -o two$factor 2>err || skip "does not compile: $(head -n 1 err)"
	run 0 record -q -o timed$factor --time-of slow --time-of work --time-of same -- ./two$factor
	strip -o stripped$factor two$factor
	run 0 record -q -o rec$factor -- ./stripped$factor
done

run 4 diff --time --format json timed1 timed30
claim '--time: slow and work take longer' is \
	"$(jq -c '[.times[] | select(.slower > 0) | .function] | map(select(. == "slow" or . == "work")) | sort' out)" '["slow","work"]'
claim '--time: by at least what the program says' test \
	"$(jq '[.times[] | select(.function == "slow")][0] | .total_ns[1][0] > 3 * .total_ns[0][1]' out)" = true
claim '--time: what one did alone has no time in the other' is \
	"$(jq -c '[.times[] | select(.function == "extra")][0] | [.calls, .slower, .total_ns[0]]' out)" '[[0,50],0,null]'
run 4 diff --time timed1 timed30
claim '--time: text' grep -Eq '^\+ total .* slow$' out
run 0 diff --time timed1 timed1
claim '--time: nothing takes longer than itself' grep -q 'certainly took longer: 0$' out
run 4 diff --time timed30 timed1
claim '--time: the other way' grep -Eq '^- total .* slow$' out

# The truth are the symbols of the builds that were not stripped.
address() { nm two$1 | awk -v n="$2" '$3 == n { sub(/^0+/, "", $1); print "sub_" $1 }'; }
run 4 diff --match rec1 rec30
claim '--match: the new function is the only one that main calls anew' is \
	"$(sed -n 's/^+ .* -> \(sub_[0-9a-f]*\) .*/\1/p' out | grep -cx "$(address 30 extra)")" 1
for name in slow same work main; do
	claim "--match: $name is no difference" is "$(grep -cE "^[+-] ($(address 1 $name)|$(address 30 $name))  [0-9]" out)" 0
done
claim '--match: says how many' grep -Eq '^functions without a name that were matched: [1-9]' out

# A part of the time.
fails 1 'keeps none of its calls' diff --from 1000s rec1 rec30
run 4 diff --to 1000s rec1 rec30
claim '--to: all of it' grep -q 'functions that only one called' out

run 0 report --html --against timed1 -o page.html timed30
claim 'the page has both' grep -q '"against":{"title":"timed1","rows":\[' page.html
run 2 report --against timed1 timed30
run 0 record -q -o still --no-times -- ./two1
fails 1 'without times: --time has nothing to go by' diff --time still timed1
# A block that an import returns to, and that returns itself: both ends are seen.
cat >naps.c <<-'C'
	#include <unistd.h>
	__attribute__((noinline)) void nap(int us) { usleep(us); }
	int main(void) { for (int i = 0; i < 5; i++) nap(10000); return 0; }
C
if ${CC:-cc} -O1 -fno-optimize-sibling-calls naps.c -o naps 2>err; then
	run 0 record -q -o naps.rec --time-of nap --time-of usleep -- ./naps
	run 0 report --format json naps.rec
	claim '--time-of a function and what it calls last: the time is exactly where it was' is "$(jq -c '[.functions[] |
		select(.function == "nap" or .function == "usleep") |
		[.function, .calls, .total_ns[0] == .total_ns[1], .total_ns[0] > 50000000]] | sort' out)" \
		'[["nap",5,true,true],["usleep",5,true,true]]'
	run 0 report naps.rec
	claim 'then report has nothing to advise' is "$(grep -c 'tells apart' out)" 0
	run 0 record -q -o naps.rec -- ./naps
	run 0 report naps.rec
	claim 'without: report says which functions hide each other, imports first' \
		grep -qE '^up to [0-9]+ % .* record with --time-of usleep .*--time-of nap' out
	fails 1 'the selection keeps none' dump --from 99 naps.rec
fi
conclude

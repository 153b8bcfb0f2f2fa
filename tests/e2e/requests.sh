#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# requests.sh: `report --request` names the function that makes slow requests slow: of eight random
# programs (twelve with LONG=1), in each of which one known function is at fault (a loop that goes round more
# often, work, a wait, a call that fast ones do not make). What it counts is what was written into the program.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs jq python3
work_in_own_folder

for seed in 1 3 4 5 7 8 ${LONG:+9 11 12 13} 6 2; do
	python3 "$tests/support/slow_program.py" $seed >program.c
	read -r _ _ fault kind _ <program.c
	${CC:-cc} -O1 program.c -o program 2>err || skip "does not compile: $(head -n 1 err)"
	for _ in 1 2 3; do # a busy machine holds up functions that are not at fault, for longer than those are slow
		rm -rf rec
		run 0 record -q -o rec --time-of handle --time-of 'f*' --time-of usleep --time-of extra -- ./program
		run 0 report --request handle --longer 1500us --format json rec
		[ "$(jq -r .fault.function out)" != "$fault" ] || break
	done
	claim "seed $seed: $kind of $fault is named" is "$(jq -r .fault.function out)" "$fault"
	slow=$(awk -F'[^0-9]+' '/handle\(i, i %/ { n = $2; for (i = 0; i < 600; i++) k += i % n == 3; print k }' program.c)
	claim "seed $seed: all slow requests are found" test "$(jq '.slow.requests + .between' out)" -ge "$slow"
	claim "seed $seed: every request is counted" is \
		"$(jq '[.requests, .fast.requests + .slow.requests + .between + .part] | join(" ")' out)" '"600 600"'
done

# The limit between fast and slow is found where none is given. Every slow request took 300 steps
# more, in every fourth of them.
cat >steps.c <<'C'
static volatile int sink;
__attribute__((noipa)) static void step(int n) { for (int i = 0; i < 400; i++) sink += n; }
__attribute__((noipa)) static void scan(int n) { for (int i = 0; i < 300; i++) step(n); }
__attribute__((noipa)) static void inner(int n) { step(n); if (n % 4 == 0) scan(n); }
__attribute__((noipa)) static void handle(int n) { step(n); if (n < 100) inner(n); }
int main(void) { for (int i = 0; i < 100; i++) handle(i); return 0; }
C
${CC:-cc} -O2 -fno-optimize-sibling-calls steps.c -o steps 2>err || skip "does not compile: $(head -n 1 err)"
for _ in {1..20}; do # a busy machine makes some requests slower than all that the program does
	rm -rf rec
	run 0 record -q -o rec --time-of handle --time-of scan --time-of inner --time-of step -- ./steps
	run 0 report --request handle --format json rec
	[ "$(jq .slow.requests out)" -lt 20 ] || break
done
claim 'the limit is between them' test "$(jq .slow.requests out)" -ge 20
claim 'fault and loop' is "$(jq -r '"\(.fault.function) \(.fault.loop.function) \(.fault.loop.calls_each.slow)"' out)" \
	'scan step 300'
run 0 report --format json rec
claim '--time-of: what each call took is known' is \
	"$(jq '.functions[] | select(.function == "handle" or .function == "step") | .total_ns[1] - .total_ns[0]' out | sort -u)" 0
# A call out of the traced code that may call back into it, and that a signal interrupts.
cat >asleep.c <<'C'
#include <stdlib.h>
__attribute__((noipa)) static int on_the_way(void) { return system("exit 3"); }
int main(void) { return on_the_way() == 0; }
C
${CC:-cc} -O1 asleep.c -o asleep
run 0 record -q -o asleep.rec --time-of system -- ./asleep
run 0 report --format json asleep.rec
claim '--time-of: how long a call took that waits for a child is known' is \
	"$(jq '.functions[] | select(.function == "system") | .total_ns[0] > 0 and
		.total_ns[1] - .total_ns[0] == 0' out)" true
run 0 report --request handle --format json rec
claim 'the way to it' is "$(jq -r '[.fault.path[].function] | join(" ")' out)" 'handle inner scan'
run 0 report --request handle rec
claim 'text: names it' grep -q '^slow because of scan$' out
claim 'text: says why' grep -q 'it calls step 300 times' out
claim 'a table of functions' grep -q 'step$' out
run 0 report --request handle --top 1 --format json rec
claim '--top' is "$(jq '.functions | length' out)" 1
run 0 report --request 'hand*' --longer 1000s rec
claim 'none is slow: said' grep -q 'no request was certainly slow' out
# Slow requests that differ more among themselves than the least of them from the fast ones.
cat >differ.c <<'C'
#include <unistd.h>
static volatile int sink;
__attribute__((noipa)) static void keys(int n) { for (int i = 0; i < 8; i++) usleep(n * 1000); }
__attribute__((noipa)) static void handle(int n) { static const int ms[] = {12, 12, 14, 18, 27, 55}; sink++; if (n % 100 == 30) keys(ms[n / 100]); }
int main(void) { for (int i = 0; i < 600; i++) handle(i); return 0; }
C
${CC:-cc} -O2 -fno-optimize-sibling-calls differ.c -o differ
rm -rf rec
run 0 record -q -o rec --time-of handle --time-of keys -- ./differ
run 0 report --request handle --format json rec
claim 'all six are slow, because of what they alone call' is \
	"$(jq -c '[.slow.requests, .fault.function]' out)" '[6,"keys"]'
# One that was held up does not hide those that are slow in the same way; nor do quick ones of two kinds
# hide the one that is slow.
cat >held.c <<'C'
#include <stdlib.h>
#include <unistd.h>
static volatile int sink;
__attribute__((noipa)) static void look(int n) { for (int i = 0; i < n; i++) sink++; }
__attribute__((noipa)) static void wait_for(int ms) { usleep(ms * 1000); }
__attribute__((noipa)) static void handle(int n, int held, int twice)
{
	look(twice && n % 2 ? 40000 : 1);
	if (n == held) wait_for(1500);
	else if (!twice && n % 4 == 0) wait_for(20);
}
int main(int argc, char **argv) { for (int i = 0; i < 100; i++) handle(i, atoi(argv[1]), argc > 2); return 0; }
C
${CC:-cc} -O2 -fno-optimize-sibling-calls held.c -o held
for held in 41 44; do
	rm -rf rec
	run 0 record -q -o rec --time-of handle --time-of wait_for -- ./held $held
	run 0 report --request handle --format json rec
	many=$(jq .slow.requests out) # a busy machine holds up some of the quick ones too
	claim "one of them held up ($held): all that wait are slow" test "$many" -ge 25 -a "$many" -lt 50
done
rm -rf rec
run 0 record -q -o rec --time-of handle --time-of wait_for -- ./held 40 twice
run 0 report --request handle --format json rec
claim 'one that waits among quick ones of two kinds is slow alone' is "$(jq .slow.requests out)" 1

# Whose a request is, and requests from one function to another: two at a time, the even ones slow.
cat >whose.c <<'C'
static volatile long sink;
__attribute__((noipa)) static void work(int n) { for (int i = 0; i < n; i++) sink += i; }
__attribute__((noipa)) static void begin(long id) { sink = id; }
__attribute__((noipa)) static void finish(long id) { sink = id; }
__attribute__((noipa)) static long handle(long n, long user) { work(n % 5 ? 100 : 3000000); return user + 1; }
int main(void)
{
	for (long i = 0; i < 40; i++) {
		begin(2 * i), begin(2 * i + 1), finish(2 * i + 1), work(2000000), finish(2 * i);
	}
	for (long i = 0; i < 100; i++)
		sink = handle(i, i % 5 ? i % 7 + 100 : 42);
	return 0;
}
C
${CC:-cc} -O2 -fno-optimize-sibling-calls whose.c -o whose
rm -rf rec
run 0 record -q -o rec --args 2 --args-of begin --args-of finish --args-of handle --time-of begin \
	--time-of finish --time-of handle --time-of work -- ./whose
run 0 report --request 'begin..finish,1' --longer 100us --format json rec
claim 'A to B by identity: the even ones are slow' test \
	"$(jq '[.ids[] | select((.id | tonumber) % 2 == 0) | .slow] | add' out)" = 40
claim 'A to B by identity: all of them, each whole' is "$(jq -c '[.requests, .part]' out)" '[80,0]'
run 0 report --request 'begin..finish' --format json rec
claim 'A to B without: what begins again has no end' is "$(jq -c '[.requests, .part]' out)" '[80,40]'
run 0 report --request handle,2 --longer 100us --format json rec
claim 'identity: all slow ones are of 42' is \
	"$(jq -c '[.ids[0].id, .ids[0].slow, (.ids | length)]' out)" '["42",20,8]'
run 0 report --request handle,2 --longer 100us --slowest 7 rec
claim 'text: whose they are' grep -q '^  42: 20 slow, 0 fast$' out
claim 'text: the slowest' is "$(grep -c ' in thread .* of [0-9]*$' out)" 7
run 0 report --when 'handle > 100us' --format json rec
claim '--when: what ran in them alone' is \
	"$(jq -c '[.taken >= 20, (.taken as $n | .functions[] | "\(.function) \(.calls == $n)")] | sort' out)" '[true,"handle true","work true"]'
run 0 report --when 'handle<100us' --format json rec
claim '--when: shorter ones' test "$(jq '.taken + .between' out)" -ge 70
run 0 report --outliers rec
claim '--outliers: work' grep -Eq '^ +140 +(5[5-9]|6[0-5]) .* work$' out
fails 1 'was not read (record it with --args' report --request work,1 rec
run 2 report --when 'handle 5ms' rec
run 2 report --when 'handle > 5ms' --outliers rec
fails 1 'a second identity goes with a second function' report --request handle,1:2 rec

fails 1 "no function of it matches 'nonesuch'" report --request nonesuch rec
fails 1 "--time-of: no function matches 'nonesuch'" record -q -o none --time-of nonesuch -- ./steps
run 2 record -q -o none --time-of handle --no-times -- ./steps
rm -rf out_of
run 0 record -q -o out_of --time-of usleep --time-of 'f*' -- ./program
run 0 verify out_of
run 0 report --format json out_of
claim '--time-of: an import that waits 3 ms' is "$(jq '.functions[] | select(.function == "usleep") |
	.calls == '"$slow"' and .total_ns[0] >= .calls * 3000000 and .total_ns[1] == .total_ns[0]' out)" true
run 2 report --request handle --distribution rec
rm -rf rec
run 0 record -q -o rec --no-times -- ./steps
fails 1 'without times' report --request handle rec
printf '#!/bin/sh\necho here\n' >script
chmod +x script
fails 1 'a script: what runs is its interpreter' record -o none --module 'libc*' -- ./script
conclude

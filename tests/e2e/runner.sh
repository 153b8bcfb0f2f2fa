#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# runner.sh: tests/run.sh fails when it should: fake tests that pass, fail, skip, hang, crash, say
# that they counted, and lie about it.
set -eu
run=$(cd "$(dirname "$0")/.." && pwd)/run.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

fake() { # NAME BODY
	printf '#!/bin/bash\n%s\n' "$2" >"$1"
	chmod +x "$1"
}
# Runs run.sh on the arguments and compares its exit status and last line.
expect() { # STATUS LAST-LINE ARGUMENT...
	local want_status=$1 want_line=$2 status=0
	shift 2
	"$run" "$@" <<<'a line' >out 2>&1 || status=$?
	if [ "$status" != "$want_status" ] || [ "$(tail -n 1 out)" != "$want_line" ]; then
		echo "run.sh $*: status $status, wanted $want_status, '$want_line'; its output:"
		cat out
		exit 1
	fi
}
says() {
	grep -qF -- "$1" out || { echo "not said: $1; the output:"; cat out; exit 1; }
}

fake pass 'exit 0'
fake fail 'echo the cause of it; exit 3'
fake skip 'echo first; echo "needs a sunny day"; exit 77'
fake hang 'sleep 1000 & echo $! >'"$dir"'/child; wait'
fake crash 'kill -SEGV $$'
fake stdin 'read -r line && exit 1; exit 0'
# shellcheck disable=SC2016
fake leaves 'touch "$TMPDIR/left"; [ "$(ls "$TMPDIR" | wc -l)" = 1 ]'
fake counted 'echo "skip b: no root"; echo "4 passed, 0 failed, 1 skipped"'
fake counted-bad 'echo "4 passed, 2 failed, 0 skipped"; exit 1'
fake liar 'echo "4 passed, 2 failed, 0 skipped"; exit 0'
fake silent-liar 'echo "4 passed, 0 failed, 0 skipped"; exit 1'
fake empty 'echo "0 passed, 0 failed, 0 skipped"'

expect 0 '1 passed, 0 failed, 0 skipped' ./pass
expect 1 '1 passed, 1 failed, 0 skipped' ./pass ./fail
says 'the cause of it'
says 'fail: exit status 3'
expect 0 '1 passed, 0 failed, 1 skipped' ./skip ./pass
says 'skip: needs a sunny day'
expect 1 '0 passed, 1 failed, 0 skipped' ./crash
expect 1 '0 passed, 1 failed, 0 skipped' ./does-not-exist
expect 1 '0 passed, 0 failed, 0 skipped'
expect 0 '2 passed, 0 failed, 0 skipped' ./stdin ./leaves
expect 0 '2 passed, 0 failed, 0 skipped' ./leaves ./leaves
expect 0 '4 passed, 0 failed, 1 skipped' ./counted
says 'counted: skip b: no root'
expect 1 '4 passed, 2 failed, 0 skipped' ./counted-bad
expect 1 '4 passed, 2 failed, 0 skipped' ./liar
expect 1 '4 passed, 1 failed, 0 skipped' ./silent-liar
expect 1 '0 passed, 1 failed, 0 skipped' ./empty
expect 1 '1 passed, 1 failed, 0 skipped' -c good true -c bad false
says 'bad: exit status 1'

expect 1 '1 passed, 1 failed, 0 skipped' -t 1 ./hang -t 9 ./pass
says 'hang: not done after 1 s'
# Killed with its parent; a moment may pass until it is gone, or a zombie that nobody reaped yet.
alive() { grep -q '^State:[[:space:]]*[^ZX]' "/proc/$(cat child)/status" 2>/dev/null; }
for _ in {1..20}; do
	alive || break
	sleep 0.1
done
if alive; then
	echo 'the child of a test that hung is still there'
	exit 1
fi

# Side by side: each of two waits for the other. In one lane they do so where a processor is idle.
meets() { # ME OTHER
	fake "$1" "touch $1-is-here; for _ in {1..30}; do [ -e $2-is-here ] && exit; sleep 0.1; done; exit 1"
}
meets one two
meets two one
expect 0 '2 passed, 0 failed, 0 skipped' -j 2 ./one ./two
rm -f ./*-is-here
expect 1 '1 passed, 1 failed, 0 skipped' ./one ./two
rm -f ./*-is-here
echo 'cpu 0 0 0 0 0 0' >stat
PROC_STAT=stat expect 1 '1 passed, 1 failed, 0 skipped' -i ./one ./two
rm -f ./*-is-here
# Idle is what nobody has had, and what was given to those that give way.
for idle in '0 0 0 TICKS' '0 TICKS 0 0'; do
	for i in {1..40}; do echo "cpu ${idle/TICKS/$((i * 10))} 0 0" >stat.new; mv stat.new stat; sleep 0.1; done &
	idles=$!
	PROC_STAT=stat expect 0 '2 passed, 0 failed, 0 skipped' -i ./one ./two
	kill $idles
	rm -f ./*-is-here
done
# Where none is idle any more, there are fewer again.
meets three four
meets four three
fake settles 'sleep 2.5; touch over'
fake waits 'while [ ! -e over ]; do sleep 0.1; done'
echo 'cpu 0 0 0 0 0 0' >stat
{ sleep 1.5; echo 'cpu 0 0 0 100 0 0' >stat.new; mv stat.new stat; } &
PROC_STAT=stat expect 1 '3 passed, 1 failed, 0 skipped' -i ./waits ./settles ./three ./four
loud="[ ! -e $dir/quietly ] && touch $dir/loud-\$\$ && sleep 0.2 && rm $dir/loud-\$\$"
fake calm "! ls $dir | grep -q ^loud- && mkdir $dir/quietly && sleep 0.2 && rmdir $dir/quietly"
expect 0 '4 passed, 0 failed, 0 skipped' -j 3 -i -q ./calm -c a "$loud" -c b "$loud" -q ./calm

# What builds is beside all that do not need it, and before those that do. A test that another recorder
# would disturb has none beside it, but what needs the build.
fake records "for _ in {1..30}; do [ -e $dir/building ] && exit; sleep 0.1; done; exit 1"
meets recorder-is beside
meets beside recorder-is
expect 0 '6 passed, 0 failed, 0 skipped' -j 2 -r ./recorder-is ./records ./records \
	-b build "touch $dir/building; sleep 1; touch $dir/built" -c waits '[ -e built ]' ./beside
[ "$(awk '/ ok / { print $1 }' out | head -n 2 | sort -u)" = records ]
rm -f ./*-is-here built
fake alone "! ls $dir | grep -q ^loud- && mkdir $dir/quietly && sleep 0.2 && rmdir $dir/quietly"
expect 0 '4 passed, 0 failed, 0 skipped' -j 3 -i -r ./alone -c a "$loud" -c b "$loud" -r ./alone
expect 1 '1 passed, 1 failed, 0 skipped' -b build 'exit 1' ./pass
# Makes share what may run at a time.
cat >Makefile <<'M'
all: ; +@$(RUN) -j 2 -l logs -b build '$(MAKE) five six'
five six: ; @touch $@-is-here; for i in 1 2 3 4 5 6 7 8 9 10; do [ -e five-is-here ] && [ -e six-is-here ] && exit; sleep 0.1; done; exit 1
M
make -j2 RUN="$run" >out 2>&1 || { echo 'a build has one job:'; cat out; exit 1; }
rm -f ./*-is-here

# Scripts that fail are tried once more, unless there are many.
fake once.sh "[ -e $dir/tried ] && exit; touch $dir/tried; echo 'does not hold: it is so'; exit 1"
fake never.sh "echo again >>$dir/tries; exit 1"
expect 0 '2 passed, 0 failed, 0 skipped' ./once.sh ./pass
says 'unsteady:'
says 'does not hold: it is so'
expect 1 '1 passed, 1 failed, 0 skipped' ./never.sh ./pass
[ "$(wc -l <tries)" = 2 ]
for n in 1 2 3 4 5; do cp never.sh "never$n.sh"; done
rm tries tried
expect 1 '0 passed, 6 failed, 0 skipped' ./once.sh ./never?.sh
[ "$(wc -l <tries)" = 5 ]
[ "$(grep -c ' busy: ' out)" = 6 ] # how long each took is told once

# cmocka's own counts, from cmocka itself.
cat >groups.c <<'C'
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <cmocka.h>
static void holds(void **state) { (void)state; assert_true(1); }
static void breaks(void **state) { (void)state; assert_int_equal(1, atoi("2")); }
static void skips(void **state) { (void)state; print_message("not on a Monday\n"); skip(); }
int main(int argc, char **argv)
{
	const struct CMUnitTest good[] = {cmocka_unit_test(holds), cmocka_unit_test(skips),
					  cmocka_unit_test(holds)};
	const struct CMUnitTest bad[] = {cmocka_unit_test(breaks), cmocka_unit_test(holds)};
	(void)argv;
	int failed = cmocka_run_group_tests(good, NULL, NULL);
	return argc > 1 ? failed + cmocka_run_group_tests(bad, NULL, NULL) : failed;
}
C
${CC:-cc} -o groups groups.c -lcmocka
expect 0 '2 passed, 0 failed, 1 skipped' ./groups
says 'groups: skips: not on a Monday'
[ "$(grep -c '^  groups: ' out)" = 1 ]
expect 1 '3 passed, 1 failed, 1 skipped' -c groups './groups bad'
says 'breaks'

#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# silence.sh: what was asked for and cannot be done is said, with what to do about it: a replaced
# binary, arguments that are not read, a recording that still runs, one that would be deleted, and
# what recording costs.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs jq objcopy strip
work_in_own_folder

cat >fib.c <<'C'
#include <stdlib.h>
#include <unistd.h>
__attribute__((noipa)) static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
int main(int c, char **v)
{
	volatile int s;
	for (int i = 0; i < (c > 1 ? atoi(v[1]) : 1); i++) {
		s = fib(15);
		if (c > 1)
			usleep(5000);
	}
	return s & 0;
}
C
${CC:-cc} -O1 fib.c -o fib 2>err || skip "does not compile: $(head -n 1 err)"

# Each call of fib(15): 1,973 of them, and how many there are with each argument is a Fibonacci number.
for mode in full casper best; do
	rm -rf rec
	run 0 record -q -o rec --mode $mode --args 1 --args-of fib -- ./fib
	"$PUGMARK" dump --format ndjson rec >out
	claim "$mode: every argument is read" is \
		"$(jq -c 'select(.event == "value") | .value' out | sort | uniq -c | awk '{ print $1 }' | sort -n | tr '\n' ' ')" \
		'1 1 2 3 5 8 13 21 34 55 89 144 233 377 377 610 '
done

# Names: as many as nm has, none once stripped, and those of the debug file that .gnu_debuglink names.
run 0 doctor --format json ./fib
claim 'names: main, fib and the others' is "$(jq '.functions == .named' out)" true
objcopy --only-keep-debug fib fib.debug
cp fib linked
strip linked
run 0 doctor --format json ./linked
claim 'names: stripped' is "$(jq .named out)" 0
run 0 doctor ./linked
claim 'names: what would bring them' grep -q 'no package of this machine has this file' out
objcopy --add-gnu-debuglink=fib.debug linked
run 0 doctor --format json ./linked
claim 'names: by .gnu_debuglink' is "$(jq '.functions == .named' out)" true
fails 1 'No such file' doctor ./nonesuch
if [ -x /usr/bin/dpkg-query ] && dpkg-query -S /usr/bin/lua5.4 >/dev/null 2>&1; then
	run 0 doctor /usr/bin/lua5.4
	claim 'names: the package' grep -q 'the package lua5.4-dbgsym' out
fi

# Nothing is deleted.
rm -rf rec rec.old
for i in 1 2 3; do run 0 record -o rec -- ./fib; done
claim 'the third of a name: the first is there still' is "$(echo rec*)" 'rec rec.old rec.old.2'
claim 'the third of a name: said where it is' grep -q 'the last recording of that name is rec.old.2 now' err

# A binary that was replaced, and one that nobody runs.
cp fib served
./served 100000 &
older=$!
started+=($older)
sleep .2
cp fib other && mv other served
run 3 record -o replaced -a ./served --duration .5
claim 'a replaced binary: who runs the older file' grep -q "it was replaced, and 1 process runs the older file .*-p $older)" err
for command in report replay 'dump --count'; do
	run 3 $command replaced
	claim "$command: nothing was recorded" grep -q 'nothing was recorded in it' err
done
fails 2 'recording is of one binary' record -o x -a ./fib -a ./served

# One that runs says so, and what it costs.
"$PUGMARK" record -o runs -p $older --duration 60 2>said_by_it >/dev/null &
recorder=$!
started+=($recorder)
for ((i = 0; i < 100; i++)); do
	grep -q 'times as much processor time' said_by_it && break
	sleep .1
done
claim 'it says that recording has begun' grep -q ': recording' said_by_it
claim 'it says what it costs' grep -Eq 'takes about [0-9.]+ times as much processor time' said_by_it
run 3 verify runs
claim 'a recording that runs: said' grep -q 'it is still being recorded' out
kill -INT $recorder
wait $recorder 2>/dev/null
run 0 report runs
fails 2 'asks a plan' record -o x --refuse-above 2 --sites nowhere -p $older
fails 2 'a factor is 1 or more' record -o x --refuse-above 0.5 -p $older
run 1 record -o dear -p $older --duration 60 --refuse-above 1.05
claim 'it is refused' grep -q 'costs more than --refuse-above allows' err
"$PUGMARK" verify dear >out
claim 'and the recording says so' grep -q 'recorded until it was known to cost more' out
run 0 record -o dear -p $older --duration 1 --refuse-above 100000
run 1 record -o large -p $older --duration 60 --max-memory 1
claim 'a recorder that takes too much memory ends' grep -q 'more memory than --max-memory allows' err
"$PUGMARK" verify large >out
claim 'the recording says it' grep -Eq ' [0-9]{4,} events .*until the recorder took more memory' out
run 0 record -o large -p $older --duration 1.5 --max-memory 1000
kill $older
# A command: as long as it runs.
cat >long.c <<'C'
#include <unistd.h>
static volatile int sink;
__attribute__((noipa)) void step(void) { sink++; }
int main(int argc, char **argv)
{
	alarm(100);
	while (access(argc > 1 ? argv[1] : "enough", F_OK))
		for (int i = 0; i < 1000; i++)
			step();
	return 0;
}
C
${CC:-cc} -O1 long.c -o long
"$PUGMARK" record -o long.rec -- ./long 2>said_by_it &
recorder=$!
started+=($recorder)
claim 'of a command too it says what it costs' await grep -Eq 'takes about [0-9.]+ times as much processor time' said_by_it
touch enough
wait $recorder
claim 'the command has ended well' is $? 0
"$PUGMARK" verify long.rec >out 2>err
claim 'the recording says it as well' eval "grep -q 'times as much processor time' out || ! cat said_by_it out err"
"$PUGMARK" record -o short.rec -- ./long . 2>said_by_it
claim 'nothing is said of what is over at once' is "$(grep -c 'processor time' said_by_it)" 0
# A selection that leaves nothing says so, and what there would have been.
rm -rf rec
run 0 record -q -o rec -- ./fib
"$PUGMARK" encode rec --fsa --format json >model.json
for command in report 'report --format json' 'report --distribution' 'report --html -o page.html' 'report --n-level 2' \
	'report --intervals 2' replay 'export --format folded -o -' 'export --format sqlite -o none.db' dump encode 'encode --fsa' \
	'check --model model.json' 'diff rec' 'diff --time rec'; do
	run 1 $command --from 100 --to 200 rec
	claim "$command: the selection keeps nothing, and that is said" \
		grep -Eq 'rec: the selection keeps none of its calls \(its events are of [0-9.]+ to [0-9.]+ s' err
done
for command in 'report --slowest 3 --longer' 'replay --longer' 'export --format folded -o - --min-duration'; do
	run 0 $command 100 rec
	claim "$command: none took that long, and that is said" grep -q 'no call may have taken as long' err
done
run 0 report rec
claim 'nothing is said where something is shown' test ! -s err
for table in '--n-level 2' '--intervals 3'; do
	run 0 encode $table rec
	mv out should
	run 0 report $table rec
	claim "report $table: the table that encode makes" same should out
done
# Wrong words get the right ones.
fails 2 "pugmark report: '0' is not a number from 1 to 16" report --n-level 0 rec
fails 2 "no format 'nonesuch' (perfetto, chrome, speedscope, folded, pprof, callgrind, ctf, sqlite, parquet)" \
	export --format nonesuch -o x rec
fails 2 'which --format? (perfetto, ' export -o x rec
fails 2 'neither a size (a number with k, M or G) nor a time' export --format chrome --split 10q -o x rec
for id in 9 0 1:7; do
	fails 1 'an identity is an argument from 1 to 6, what it points to at the end (*1 to *6), or `result`' report --request "fib,$id" rec
done
conclude

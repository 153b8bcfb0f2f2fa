#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# top.sh: `pugmark top` of a program that it starts, of one that runs (-p, and -a on a copy), and of a
# recording that another recorder makes, as a table and in a real terminal (tmux): its counts are what the
# programs themselves count; libraries that are loaded late come in; however it ends, what is traced runs
# on, and nothing is left.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs tmux
work_in_own_folder
export TMUX_TMPDIR=$dir # tmux leaves its sockets there
export TMPDIR=$dir/tmp
mkdir tmp
session=top-$$ opened=0
at_end() { tmux -L $session kill-server 2>/dev/null; }

open_in() { # COLUMNS LINES COMMAND...
	tmux -L $session kill-server 2>/dev/null
	opened=$((opened + 1))
	session=top-$$-$opened # a server that ends still has its name for a while
	tmux -L $session -f /dev/null new-session -d -x "$1" -y "$2" "LC_ALL=C.UTF-8 ${*:3}; echo left with \$?; sleep 60"
}
screen() { tmux -L $session capture-pane -p 2>&1; }
shows() { screen | grep -qE -- "$1"; }
waits_for() { # EXPRESSION: until it is on the screen
	await shows "$1" || { screen; false; }
}
keys() { tmux -L $session send-keys "$@"; }
nothing_left() { [ -z "$(ls tmp)" ]; }
ended() { ! kill -0 "$1" 2>/dev/null; }
calls_of() { # FUNCTION FILE: of a table that was printed
	awk -v f="$1" '$NF == f { for (i = 1; i < 3; i++) n = $i; print n }' "$2"
}

cat >busy.c <<'C'
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static volatile int sink;
static volatile sig_atomic_t over;
static unsigned long n_fast, n_slow, n_late;
static void on_signal(int signal_nr) { over = signal_nr; }
__attribute__((noipa)) void fast(void) { sink++; n_fast++; }
__attribute__((noipa)) void slow(void)
{
	struct timespec t = {0, 3000000};
	n_slow++;
	nanosleep(&t, 0);
}
int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1 << 30;
	void (*late)(void) = NULL;
	signal(SIGTERM, on_signal);
	for (long i = 0; i < n && !over; i++) {
		for (int k = 0; k < 20; k++)
			fast();
		slow();
		if (argc > 2 && i == 100)
			late = (void (*)(void))dlsym(dlopen(argv[2], RTLD_NOW), "late");
		while (late && !n_late && access("go", F_OK))
			slow();
		if (late)
			late(), n_late++;
	}
	printf("fast %lu\nslow %lu\nlate %lu\n", n_fast, n_slow, n_late);
	return 0;
}
C
echo 'static volatile int sink; __attribute__((noipa)) void late(void) { sink++; }' >late.c
${CC:-cc} -O1 busy.c -o busy -ldl 2>err && ${CC:-cc} -O1 -fPIC -shared late.c -o liblate.so 2>err ||
	skip "does not compile: $(head -n 1 err)"
check_counts() { # NAME TABLE COUNTS FUNCTION...
	local f
	for f in "${@:4}"; do
		claim "$1: $f as often as the program says" is "$(calls_of "$f" "$2")" "$(awk -v f="$f" '$1 == f { print $2 }' "$3")"
	done
}

# A program that is started, whole; what it prints comes as well.
run 0 top --once -- ./busy 1500
check_counts 'started' out out fast slow
claim 'started: nanosleep is called as often as slow' is "$(awk '$(NF - 1) == "nanosleep" { print $2 }' out)" 1500
claim 'started: what it costs is said' grep -q 'about [0-9.]* times as much processor time' out
claim 'started: no gaps, and the end is said' grep -q '^./busy 1500: .* no gaps, ended$' out
claim 'started: its threads are counted, though none is left' grep -q '^./busy 1500: [0-9.]* s, 1 thread, ' out
claim 'started: nothing is left' nothing_left

# A recording that is there: as report has it.
run 0 record -q -o rec -- ./busy 200
cp out counts
run 0 top rec
check_counts 'a folder' out counts fast slow
claim 'a folder: what it cost is over, known or not' is "$(sed -n 2p out)" 'what it cost was not measured'
run 0 top -F fast --top 1 rec
claim 'a folder: only what was asked for' is "$(wc -l <out) $(calls_of fast out)" '4 4000'

# Errors are said by who finds them.
fails 1 'no such recording' top nowhere
run 1 top --once -p 4194303
claim 'no such process: the recorder says why' grep -q . err
claim 'no such process: nothing is left' nothing_left
fails 2 'which recording?' top

# One that runs, in a terminal.
./busy >counts &
pid=$!
started+=("$pid")
open_in 80 24 "$PUGMARK" top -p $pid
claim '-p: what it costs is said' waits_for 'about [0-9.]+ times as much processor time'
claim '-p: no gaps' waits_for 'no gaps'
keys 2
claim '-p: by calls: fast is first' eval 'await eval "screen | sed -n 5p | grep -q fast\$"'
screen >before
claim '-p: twenty calls of fast for one of slow, but for the last ones' \
	awk '$NF == "fast" { f = $2 } $NF == "slow" { s = $2 } END { exit !(f >= 20 * s - 20 && f <= 20 * s + 20 && s > 20) }' before
claim '-p: so are the rates' \
	awk '$NF == "fast" { f = $1 } $NF == "slow" { s = $1 } END { exit !(f > 18 * s && f < 22 * s) }' before
claim '-p: nothing is wider than the screen' test "$(wc -l <before)" -le 24
keys / s l o w Enter
claim '-p: search' waits_for ' slow'
keys z
tmux -L $session resize-window -x 20 -y 5
sleep .3
tmux -L $session resize-window -x 160 -y 30
claim '-p: a wide one has the median' waits_for 'calls/s .* median '
keys q
claim '-p: q leaves, and prints what ran' waits_for 'left with 0'
claim '-p: the program runs on' kill -0 $pid
claim '-p: nothing is left' await nothing_left

# A table of one second waits for the first events, which may be late.
kill -STOP $pid
(sleep 2; kill -CONT $pid) &
"$PUGMARK" top --once -p $pid >table 2>err
claim '--once: what ran is there, though it ran late' grep -q ' fast$' table

# Of a copy by its file, ended by Ctrl-C and by signals.
cp busy copy
./copy >counts2 &
copy=$!
started+=("$copy")
open_in 100 24 "$PUGMARK" top -a ./copy
claim '-a: it is seen' waits_for ' slow$'
keys C-c
claim '-a: Ctrl-C ends' waits_for 'left with 0'
claim '-a: nothing is left' await nothing_left
for signal in TERM KILL; do
	"$PUGMARK" top --once -- ./busy 1000000 >out 2>err &
	top=$!
	started+=("$top")
	running() {
		child=$(pgrep -P "$top" | while read -r p; do pgrep -P "$p" busy; done)
		[ -n "$child" ] && ls tmp/pugmark-top-*/rec/meta.json
	}
	claim "$signal: it runs" await running
	started+=("$child")
	recorder=$(pgrep -P $top | head -n 1)
	kill -$signal $top
	claim "$signal: the recorder ends" await ended "$recorder"
	claim "$signal: the program runs on" kill -0 "$child"
	kill -TERM "$child"
	wait $top 2>/dev/null
	[ $signal = KILL ] || claim "$signal: nothing is left" await nothing_left
	rm -rf tmp/pugmark-top-*
done
kill -TERM $pid $copy
wait $pid $copy
claim 'what was looked at has counted to its end' is "$(awk '/fast/ { f = $2 } /slow/ { print f / $2 }' counts counts2)" $'20\n20'

# What another recorder writes, up to its end.
"$PUGMARK" record -q -o rec -- ./busy 1200 >counts 2>err &
recorder=$!
started+=("$recorder")
await grep -q '"closed"' rec/meta.json # of the last one, which is moved
await eval '! grep -q "\"closed\"" rec/meta.json'
open_in 120 30 "$PUGMARK" top rec
claim 'another one: it is seen while it goes on' waits_for '^rec: .*no gaps$'
wait $recorder
claim 'another one: its end is the end' waits_for 'left with 0'
screen >table
check_counts 'another one' table counts fast slow
claim 'another one: the recording is complete' grep -q '^complete' <("$PUGMARK" verify rec)

# A library that is loaded when it has been looked at for a while. It calls when that is traced.
"$PUGMARK" top --once -o late --module 'liblate*' -- ./busy 400 ./liblate.so >out 2>err &
top=$!
started+=("$top")
claim 'late: it is traced' await eval '"$PUGMARK" verify late | grep -q "liblate.so was loaded, and is traced"'
touch go
wait $top
claim 'late: the change is a gap' is $? 3
claim 'late: as often as the program says' is "$(calls_of late out)" "$(awk '$1 == "late" { print $2 }' out | tail -n 1)"
"$PUGMARK" report --format json late >report.json
claim 'late: as often as report says' grep -qE "\"calls\":$(calls_of late out)\b" report.json
conclude

#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# later.sh: record --module traces a library that is loaded while the recording goes on: of a command,
# of a process that was attached to, and of all processes of a program. From the moment that the
# certificate names, every call into it, in it and back from it is there; before it, all of the program.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
source=$tests/programs/later.c
work_in_own_folder
mkdir plugins
${CC:-cc} -O2 -rdynamic "$source" -o program -ldl &&
	${CC:-cc} -O2 -fPIC -shared -DLIBRARY "$source" -o plugins/libwork.so.1 ||
	skip 'no compiler for the programs'

addr() { nm "$1" | awk -v f="$2" '$3 == f { sub(/^0+/, "", $1); print $1 }'; }
round=$(addr program one_round) back=$(addr program called_back)
all=$(addr plugins/libwork.so.1 all_steps) step=$(addr plugins/libwork.so.1 one_step)

# The rounds of a dump: of each, how often the library was called, made a step and called back, by whom
# it was called; "gap" for a gap. The first round after a gap and the last one are not whole.
rounds() {
	awk -v round="program:$round" -v back="program:$back" -v all="libwork.so.1:$all" -v step="libwork.so.1:$step" '
		$2 == "gap" { print "gap", $3; whole = 0; next }
		$2 == "call" && $5 == round { if (whole) print a + 0, s + 0, b + 0; whole = 1; a = s = b = 0; next }
		$2 == "call" && $5 == all && $3 == "program" { a++ }
		$2 == "call" && $5 == step && $3 == "libwork.so.1" { s++ }
		$2 == "call" && $5 == back && $3 == "libwork.so.1" { b++ }' "$1"
}

check() { # NAME: rec
	"$PUGMARK" verify rec >certificate
	claim "$1: the certificate says from when on" \
		grep -q '^note .*libwork.so.1 was loaded, and is traced from here on' certificate
	"$PUGMARK" dump rec >dump
	rounds dump >got
	claim "$1: all gaps are of that" is "$(grep gap got | sort -u)" 'gap plan'
	# After the gap: 0 to 4 steps in turn, each called back once.
	awk '/gap/ { n = 0; next } { line[++n] = $0 } END { for (i = 1; i <= n; i++) print line[i] }' got >after
	claim "$1: there are rounds after it" [ "$(wc -l <after)" -gt 300 ]
	claim "$1: each is whole" eval 'awk '\''NR > 1 && $2 != (before + 1) % 5 || $1 != 1 || $2 != $3 { print NR ": " $0; bad = 1 }
		{ before = $2 } END { exit bad }'\'' after'
	awk '/gap/ { exit } { print }' got >early
	claim "$1: before it nothing is seen of the library, and of the program all" \
		is "$(sort -u early | grep -v '^0 0 0$')" ''
}

end_of() { # PID: some time after its library is traced
	await grep -q libwork "/proc/$1/maps"
	await grep -q 'was loaded, and is traced from here on' err
	sleep 2
	kill -TERM "$1"
}

"$PUGMARK" record -o rec --module 'libwork.so*' -- ./program plugins/libwork.so.1 >out 2>err &
recorder=$!
started+=("$recorder")
child_runs() {
	pid=$(cat "/proc/$recorder/task/$recorder/children")
	pid=${pid%% *}
	[ -n "$pid" ] && [ "$(readlink "/proc/$pid/exe")" = "$dir/program" ]
}
await child_runs # what this kernel does to probes is tried first
end_of "$pid"
wait $recorder
claim 'a command: recorded' is $? 0
claim 'a command: that it is awaited is said' grep -q "no module 'libwork.so\*' so far" err
check 'a command'

# The functions of --args-of may be in the module that is awaited, whichever pattern that is.
echo 'int near(int n) { return n; }' >near.c
${CC:-cc} -O2 -fPIC -shared near.c -o libnear.so &&
	${CC:-cc} -O2 -rdynamic "$source" -o nearby -Wl,--no-as-needed,-rpath,"$dir" -L. -lnear -ldl ||
	skip 'no compiler for the programs'
./nearby plugins/libwork.so.1 never &
pid=$!
started+=("$pid")
await grep -q nearby "/proc/$pid/maps"
"$PUGMARK" record -q -o early --module 'libnear*' --module 'libwork.so*' --args-of all_steps --duration 0.5 \
	-p $pid >out 2>err
claim 'arguments of what is loaded later, asked for with another module before it' \
	eval '! grep "args-of" err'
kill $pid

for who in -p -a; do
	./program plugins/libwork.so.1 asked &
	pid=$!
	started+=("$pid")
	await grep -q program "/proc/$pid/maps"
	if [ $who = -p ]; then whom=$pid; else whom=./program; fi
	rm -rf rec
	: >err # of the one before
	"$PUGMARK" record -o rec --module 'libwork*' $who "$whom" >out 2>err </dev/null &
	recorder=$!
	started+=("$recorder")
	claim "$who: that it has begun is said" await grep -q ': recording' err
	sleep 0.3
	kill -USR1 $pid
	end_of $pid
	wait $pid
	claim "$who: the program ends well" is $? 0
	[ $who = -p ] || kill -INT $recorder
	wait $recorder
	claim "$who: recorded" is $? 0
	check $who
done

# A name that is not UTF-8, which JSON cannot say, is told and written all the same.
odd=$(printf 'plugins/odd\377.so')
cp plugins/libwork.so.1 "$odd"
"$PUGMARK" record -q -o rec --module 'odd*' --duration 2 -- ./program "$odd" >out 2>err &
recorder=$!
started+=("$recorder")
sleep 1.5
pid=$(cat "/proc/$recorder/task/$recorder/children")
[ -z "$pid" ] || started+=("${pid%% *}")
wait $recorder
claim 'a name that is not UTF-8: recorded to the end' is $? 0
claim 'a name that is not UTF-8: it is in the certificate' \
	grep -q '^note .*odd?.so was loaded, and is traced' <("$PUGMARK" verify rec)
[ -z "$pid" ] || kill "${pid%% *}"

# Nothing of that name is ever loaded, or what is cannot be traced: the rest is recorded all the same.
"$PUGMARK" record -o rec --module 'nosuch*' --duration 0.3 -- ./program >out 2>err
claim 'none came: that is said' grep -q "no module 'nosuch\*' was ever loaded" err
claim 'none came: the program is recorded' grep -q '^complete' <("$PUGMARK" verify rec)
"$PUGMARK" record -q -o rec --module './nosuch*' -- ./program >out 2>err
claim 'a path that leads nowhere is an error' is $? 1

# What is loaded and has ended before its plan is made is not passed over in silence.
cat >loads.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int n_args, char **args)
{
	void *library = n_args > 2 ? dlopen(args[1], RTLD_NOW) : NULL;
	usleep(atoi(args[2]));
	return !library;
}
C
library=$(ldconfig -p | awk '/libcrypto\.so\.[0-9]/ { print $NF; exit }')
if [ -n "$library" ] && "$CC" loads.c -ldl -o loads 2>err; then
	cp -L "$library" plugins/large.so
	for us in 30000 150000 400000; do
		"$PUGMARK" record -o rec --fresh --module 'large.so' -- ./loads plugins/large.so $us >out 2>err
		claim "$us us after it was loaded: what became of it is said" \
			grep -qE 'large.so was loaded, and is (not )?traced|was ever loaded' \
			<("$PUGMARK" verify rec; cat err)
	done
else
	skipped=$((skipped + 1))
	echo 'skip no library that is large'
fi
conclude

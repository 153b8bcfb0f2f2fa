#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# scope.sh: record -a finds a binary's processes wherever they run, and --cgroup and --pid-namespace
# choose among them: exactly those are in the recording, with all of their calls.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
source=$tests/programs/live_target.c
group=
at_end() { [ -z "$group" ] || rmdir "$group"; }
work_in_own_folder
${CC:-cc} -O1 -mno-red-zone -fcf-protection=none -pthread "$source" -o target || skip 'no compiler for the target'

begin() { # OPTIONS...
	rm -rf rec
	"$PUGMARK" record -q -o rec -a ./target "$@" >out 2>err </dev/null &
	recorder=$!
	started+=("$recorder")
	until [ -e rec/reserve ] || ! kill -0 $recorder 2>/dev/null; do sleep 0.05; done
	sleep 0.2
}
finish() { # how many processes are in it: in $n
	sleep 0.1
	kill -INT $recorder
	wait $recorder
	n=$("$PUGMARK" dump rec 2>err | cut -d' ' -f1 | sort -u | wc -l)
}

begin
./target calls 500
unshare -m sh -c 'mount --bind target /usr/bin/env && /usr/bin/env calls 500' 2>/dev/null ||
	skip 'no mount namespaces here'
finish
claim 'in another mount namespace, under another name' is "$n" 2

unshare -pf --mount-proc sh -c 'sleep 30 & echo $! >/dev/null; wait' 2>/dev/null &
inside=$!
started+=("$inside")
sleep 0.3
init=$(cat /proc/$inside/task/$inside/children 2>/dev/null)
init=${init%% *}
if [ -n "$init" ] && command -v nsenter >/dev/null; then
	begin --pid-namespace "$init"
	./target calls 500
	nsenter -t "$init" -p ./target calls 500
	nsenter -t "$init" -p ./target calls 500
	finish
	claim '--pid-namespace: those in it alone' is "$n" 2
else
	skipped=$((skipped + 1))
fi

group=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)/pugmark-test-$$
if mkdir "$group" 2>/dev/null; then
	begin --cgroup "pugmark-test-$$"
	./target calls 500
	sh -c 'echo $$ >"$0/cgroup.procs" && exec ./target calls 500' "$group"
	finish
	claim '--cgroup: those in it alone' is "$n" 1
else
	group=
	skipped=$((skipped + 1))
fi

wrong() { # TEXT MESSAGE OPTIONS...
	"$PUGMARK" record -q -o never -a ./target "${@:3}" >out 2>err </dev/null
	claim "$1: an error" is $? 1
	claim "$1: named" grep -q "$2" err
}
wrong 'no such cgroup' 'no such cgroup' --cgroup no/such
wrong 'no cgroup' 'not a cgroup of version 2' --cgroup "$dir"
wrong 'no such namespace' 'no process 4194303' --pid-namespace 4194303
wrong 'no namespace' 'not a namespace' --pid-namespace "$dir/target"
"$PUGMARK" record -q --cgroup x -- ./target >out 2>err
claim 'of a command there is nothing to choose' is $? 2
conclude

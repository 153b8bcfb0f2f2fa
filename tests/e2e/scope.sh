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

# As containers are made: an overlay of the image's files, in a mount and a pid namespace of its own.
# Both the image's file and the process lead to what runs there.
cat >container.sh <<'SH'
mount -t tmpfs none space && cd space && mkdir image upper work root && cp ../target image/$1 || exit 77
unshare -mpf sh -c 'mount -t overlay overlay -o lowerdir=image,upperdir=upper,workdir=work root || exit
	cd root && exec ./"$0" calls 1000000000000' "$1" &
sleep 0.5
pid=$(find /proc -maxdepth 2 -name exe -lname "*/root/$1" 2>/dev/null | cut -d / -f 3)
[ -n "$pid" ] || exit 77
for what in "-p $pid" "-a image/$1"; do
	"$PUGMARK" record -q -o ../rec-$((n += 1)) --duration 0.3 $what || break
done
kill -9 "$pid"
wait
[ $n = 2 ]
SH
# By a name of its own, so that it is found beside others of its kind.
mkdir space
unshare -m sh container.sh "$(basename "$PWD")" >out 2>err
status=$?
if [ $status = 77 ]; then
	skipped=$((skipped + 1))
else
	claim 'a container: recorded' is $status 0
	for rec in rec-1 rec-2; do
		claim "a container, $rec: its calls are there" \
			[ "$("$PUGMARK" dump $rec | head -n 2000 | grep -c ' call ')" -gt 400 ]
		claim "a container, $rec: complete" grep -q '^complete' <("$PUGMARK" verify $rec)
	done
fi

cp target upgraded
begin
./target calls 500
mv upgraded target
./target calls 500
finish
claim 'upgraded meanwhile: those of the file that was there' is "$n" 1
claim 'and it is said that those of the new one are missing' \
	grep -q '^note .*target was replaced: .* not traced' <("$PUGMARK" verify rec)

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

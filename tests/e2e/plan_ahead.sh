#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# plan_ahead.sh: `plan --warm` makes the plans that record needs: for a process, a unit, a program and a
# list of them. Then record finds each in the cache, and it makes none for what record would not record.
# While a program is planned that runs already, a server that answers is as quick as before: the child that
# plans has the lowest priority there is, and gets on all the same where nothing is left of the machine.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs redis-server taskset
work_in_own_folder

cp "$(command -v redis-server)" server
cp "$(command -v gzip)" packer
./server --port 0 --unixsocket "$dir/s" --save '' --dir "$dir" >server.log 2>&1 &
pid=$!
started+=("$pid")
await test -S s

plans() { find "$XDG_CACHE_HOME" -name "*.plan" 2>/dev/null | wc -l; }
made() { # TEXT N COMMAND...: it succeeds, and N plans more are there
	local before
	before=$(plans)
	"${@:3}" >out 2>err
	claim "$1: works" is $? 0
	claim "$1: plans made" is $(($(plans) - before)) "$2"
}

made 'of a process' 1 "$PUGMARK" plan --warm "$pid"
claim 'which is said' grep -q "^$pid: .*/server: planned in " out
made 'again' 0 "$PUGMARK" plan --warm "$pid"
claim 'it is there' grep -q 'was planned before' out
made 'for record -p' 0 "$PUGMARK" record -q -o rec -p "$pid" --duration 0.1
made 'to be patched' 1 "$PUGMARK" plan --warm "$pid" -- --carrier patch
made 'for record --carrier patch' 0 "$PUGMARK" record -q -o rec -p "$pid" --carrier patch --duration 0.1
made 'of a program' 1 "$PUGMARK" plan --warm ./packer
claim 'which is said once, though it is planned for -a too' is "$(wc -l <out)" 1
made 'for record of it' 0 sh -c 'echo x | "$1" record -q -o rec -- ./packer -c >packed' - "$PUGMARK"
made 'of its paths' 1 "$PUGMARK" plan --warm ./packer -- --level paths
printf '# what is planned\n\n%s\n./packer --level paths\n./packer --mode full\n' "$pid" >list
made 'of a list' 1 env PUGMARK_WARM_LIST=list "$PUGMARK" plan --warm
chmod o+w list
PUGMARK_WARM_LIST=list "$PUGMARK" plan --warm >out 2>err
claim 'a list that others may write to is refused' is $? 1
claim 'with the reason' grep -q 'others may write to it' err
fails 1 'no such program' plan --warm no-such-thing
PATH=$PWD:$PATH run 0 plan --warm packer
claim 'a program is found in PATH' is "$(grep -c 'packer: was planned before' out)" 1
fails 1 'no control group of that name' plan --warm no-such-thing
fails 2 'is no option of record' plan --warm ./packer -- ./server
fails 2 'more than 256 words' plan --warm ./packer -- $(for ((i = 0; i < 150; i++)); do echo --without "f$i"; done)
fails 2 'behind a --' plan --warm --carrier patch
fails 2 'comes first' plan --stats --warm
run 1 plan --warm no-such-thing ./packer
claim 'what is behind a target that fails is planned' grep -q 'packer: was planned before' out

# A unit is a control group; in a mount namespace of its own, as it is where systemd runs.
if unshare -m sh -c 'mount -t cgroup2 none /sys/fs/cgroup' 2>/dev/null; then
	cat >in_unit.sh <<-'S'
		mount -t cgroup2 none /sys/fs/cgroup && mkdir "/sys/fs/cgroup/pugmark-$2.service" || exit 9
		echo "$2" >"/sys/fs/cgroup/pugmark-$2.service/cgroup.procs" &&
			"$1" plan --warm "pugmark-$2" "pugmark-$2.service"
		status=$?
		echo "$2" >/sys/fs/cgroup/cgroup.procs
		"$1" plan --warm "pugmark-$2" 2>ended
		rmdir "/sys/fs/cgroup/pugmark-$2.service"
		exit $status
	S
	unshare -m sh in_unit.sh "$PUGMARK" "$pid" >out 2>err
	claim 'a unit is found by its name' is $? 0
	claim 'with and without its ending' is "$(grep -c 'server: was planned before' out)" 2
	claim 'of one without a process that is said' grep -q 'no process of it runs' ended
else
	echo 'skip units: no cgroup2 here'
	skipped=$((skipped + 1))
fi

# The child that plans rests. What rests gets on, though each processor has something else to do.
policy() { # of the children that plan
	local child
	for child in $(pgrep -P "$1"); do
		chrt -p "$child" 2>/dev/null | sed -n 's/.*policy: //p'
	done
}
cp "$(command -v redis-server)" other
"$PUGMARK" plan --warm ./other >out 2>err &
planner=$!
rests=no
for ((i = 0; i < 400; i++)); do
	child=$(pgrep -P "$planner" | head -n 1)
	[ -n "$child" ] && policy "$child" | grep -q SCHED_IDLE && rests=yes && break
	sleep 0.005
done
claim 'who plans rests' is $rests yes
claim 'and so does who waits for it and reads what it made' sh -c 'chrt -p "$1" | grep -q SCHED_IDLE' - "$child"
wait $planner
claim 'the plan is made' is $? 0
# On one processor, so that the others are left to whatever else this machine does.
one=$(taskset -pc $$ | sed -E 's/.*: ([0-9]+).*/\1/')
taskset -c "$one" sh -c 'while :; do :; done' &
hog=$!
started+=("$hog")
made 'beside what never rests' 1 taskset -c "$one" "$PUGMARK" plan --warm ./packer -- --mode casper
kill "$hog"

# Whoever could not end the rest does not begin it: root without CAP_SYS_NICE, as in a container.
if command -v setpriv >/dev/null; then
	cp other another
	setpriv --bounding-set -sys_nice --inh-caps -sys_nice "$PUGMARK" plan --warm ./another -- --mode full >out 2>err &
	planner=$!
	how=
	for ((i = 0; i < 400; i++)); do
		child=$(pgrep -P "$(pgrep -P "$planner" | head -n 1)" 2>/dev/null | head -n 1)
		[ -n "$child" ] && how=$(ps -o cls=,ni= -p "$child" | tr -s ' ') && [[ $how == *10 ]] && break
		sleep 0.005
	done
	claim 'who may not end the rest of a child has none, but a small share' is "${how# }" 'TS 10'
	wait $planner
else
	echo 'skip priorities without CAP_SYS_NICE: no setpriv here'
	skipped=$((skipped + 1))
fi
conclude

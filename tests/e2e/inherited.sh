#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# inherited.sh: a program that is recorded starts as it would without a recorder: signals blocked and
# ignored, limits, umask, priority, processors, files. And a recorder that is started so works as ever.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs env timeout nohup gzip prlimit
env --block-signal=USR1 --ignore-signal=USR2 true 2>/dev/null || skip 'this env sets no signals'
work_in_own_folder
cp "$(command -v cat)" show
cp "$(command -v ls)" list
cp "$(command -v gzip)" "$(command -v sleep)" .

strange() { # COMMAND...: started as few are
	(
		umask 027
		exec 9<"$dir/show" # stays open
		timeout 20 nice -n 3 prlimit --nofile=400:900 --stack=2097152:4194304 --memlock=65536:65536 \
			env --block-signal=USR1,CHLD,INT,XFSZ,PIPE --ignore-signal=USR2,CHLD,HUP,PIPE "$@"
	)
}
for command in './show /proc/self/status' './show /proc/self/limits' './show /proc/self/environ' \
	'./list /proc/self/fd'; do
	# What differs from one run to the next, in the status: numbers of processes, counts, sizes.
	usual() { tr '\0' '\n' | LC_ALL=C sed -E '/^(Pid|Tgid|Ngid|PPid|NS.*|Vm|Rss|Hugetlb|(non)?vol|FDSize|.*_ctxt|SigQ|_=)/d'; }
	# shellcheck disable=SC2086 # words
	strange $command 2>&1 | usual >alone
	# shellcheck disable=SC2086
	strange "$PUGMARK" record -q -o rec -- $command 2>&1 | usual >recorded
	claim "$command says something" [ -s alone ]
	claim "$command says the same under a recorder" same alone recorded
done
claim 'what was to be seen' eval 'strange ./show /proc/self/status | grep -q "^SigBlk:.*[1-9]"'

# Children are not waited for where SIGCHLD is ignored: the recorder must learn of the end all the same.
status=0
timeout 30 env --ignore-signal=CHLD "$PUGMARK" record -q -o rec -- ./gzip -t ./nonexistent >out 2>err || status=$?
claim 'with SIGCHLD ignored a recording ends, with the status of the program' is $status 1

# Who starts it by nohup wants it to outlive the terminal.
./sleep 60 &
sleeper=$!
started+=($sleeper)
until_it_records() {
	for _ in $(seq 200); do
		[ ! -e rec/reserve ] || break
		sleep 0.05
	done
	sleep 0.3
}
hung_up() { # COMMAND...: is sent SIGHUP, and SIGINT a while later; what it stopped for in `stopped`
	rm -rf rec
	"$@" "$PUGMARK" record -q -o rec -p $sleeper >out 2>err </dev/null &
	recorder=$!
	until_it_records
	kill -HUP $recorder
	alive=yes
	for _ in $(seq 20); do
		kill -0 $recorder 2>/dev/null || alive=no
		[ $alive = yes ] || break
		sleep 0.05
	done
	kill -INT $recorder 2>/dev/null
	wait $recorder
	status=$?
}
hung_up env
claim 'SIGHUP ends a recording' is "$alive $status" 'no 0'
hung_up nohup
claim 'under nohup it does not, and SIGINT does' is "$alive $status" 'yes 0'
claim 'it is whole' grep -q '"closed": true' rec/meta.json

# While its probes are removed, which takes a while, it hears on.
rm -rf rec
"$PUGMARK" record -o rec -p $sleeper >out 2>err </dev/null &
recorder=$!
until_it_records
for signal in INT INT TERM HUP INT; do
	kill -$signal $recorder 2>/dev/null
	sleep 0.01
done
wait $recorder
claim 'that the end is asked for again and again changes nothing' is $? 0
claim 'of what is said' grep -q 'witness events of' err
conclude

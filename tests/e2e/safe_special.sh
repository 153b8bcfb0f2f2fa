#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# safe_special.sh: where a command is given a file to read, it gets a FIFO that nobody writes to, one
# that somebody holds open, a socket, or a device that never ends. Each is refused at once, in one line
# with its name and what to do, or is no folder where a recording is meant; nothing waits for it. A FIFO
# that nobody reads takes no output either.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs python3
work_in_own_folder
${CC:-cc} -O1 -o prog "$tests/programs/views.c" || skip 'no compiler for the programs'
"$PUGMARK" record -q -o rec -- ./prog >out 2>err || skip "recording does not work here: $(cat err)"
mknod zero c 1 5 || skip 'no device nodes here'
mkfifo fifo held
exec 8<>held
python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'

quick() { # PATH WHAT ARGUMENT...: not in time, or not told
	local path=$1 status=0
	timeout 60 "$PUGMARK" "${@:3}" >out 2>err </dev/null || status=$?
	claim "$2 given $path: is an error at once (pugmark ${*:3})" is $status 1
	claim "$2 given $path: is said in one line" eval '[ "$(grep -c "^pugmark" err)" = 1 ]'
	claim "$2 given $path: of that file" grep -qF "$path: " err
}
remedy() { claim "$1: says what to do" grep -qE 'not a regular file \(.* give that\)' err; }

for path in ./fifo ./held ./socket ./zero; do
	quick $path 'a program' plan $path
	remedy 'a program'
	quick $path 'a model to show' cfg $path
	quick $path 'names' doctor $path
	quick $path 'what is recorded' record -q -o new -- $path
	quick $path '-a' record -q -o new -a $path --duration 1
	quick $path '--module' record -q -o new --module $path -- ./prog
	quick $path '--plugin' record -q -o new --plugin $path -- ./prog
	quick $path 'plan --plugin' plan --plugin $path ./prog
	quick $path '--plan' record -q -o new --plan $path -- ./prog
	remedy '--plan'
	quick $path 'plan --plan' plan --check --plan $path ./prog
	quick $path '--handle' record -q -o new --handle $path -- ./prog
	remedy '--handle'
	quick $path 'encode --handle' encode --handle $path rec
	remedy 'encode --handle'
	quick $path '--imports' record -q -o new --level values --imports $path -- ./prog
	remedy '--imports'
	quick $path '--model' check --model $path rec
	remedy '--model'
	quick $path '--profile' plan --profile $path ./prog
	quick $path 'record --profile' record -q -o new --profile $path -- ./prog
	quick $path '--cgroup' record -q -o new -a ./prog --cgroup "$PWD/$path" --duration 1
	quick $path '--pid-namespace' record -q -o new -a ./prog --pid-namespace $path --duration 1
	quick $path '--input' reduce --input $path -o less -- ./prog
	remedy '--input'
	quick $path '--while' reduce --while "stdout = $path" -o less -- ./prog
	quick $path 'cfg -t' cfg -d main -t $path ./prog
	quick $path '--against' report --html -o page --against $path rec
	quick $path '--binary' report --lines --binary $path rec
	for command in verify dump replay report raw encode values wet 'gdb --serve' 'export --format folded -o -' \
		'merge -q -o whole' 'why --crash'; do
		# shellcheck disable=SC2086 # several words
		quick $path 'a recording' $command $path
	done
	quick $path 'the other recording' diff rec $path
	claim "$path: is what it was" test ! -f $path
	rm -rf new page less whole
done
for path in ./fifo ./socket; do
	quick $path 'plan -o' plan -o $path ./prog
	claim 'plan -o: says what to do' grep -q 'start its reader first' err
	quick $path 'cfg -e' cfg -e $path ./prog
	quick $path 'export -o' export --format folded -o $path rec
	quick $path 'report -o' report --html -o $path rec
done
conclude

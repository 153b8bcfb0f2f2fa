#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# attach_apart.sh: attaching to a process of which some functions are traced, with others between them
# that are not, and a signal that comes in one of those: nothing but the frames that are open says
# where the thread is. What the traced functions do is all there, in order, without a gap, and what is
# open stays open: with _start, with main, and with a function whose frame grows at run time as the
# outermost one, or with none; with a handler that is traced, and with one that is not but calls what
# is; on the stack that the signal finds, and on one of the handler's own.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs "${CC:-cc}" nm
work_in_own_folder
"${CC:-cc}" -g0 -O2 -fno-optimize-sibling-calls "$tests/programs/apart.c" -o program 2>err ||
	skip "no compiler for the program: $(head -n 1 err)"

# What the program does from when it waits on: as it is written.
works() { # ROUNDS
	echo in works
	for _ in $(seq "$1"); do
		printf '%s\n' 'in middle' 'in leaf' 'out leaf' 'in leaf' 'out leaf' 'out middle'
	done
	echo out works
}
signals() { printf '%s\n' 'in handler' 'in leaf' 'out leaf' 'out handler'; }
does() { # HOW
	printf '%s\n' 'in _start' 'in main'
	[[ $1 != *grows* ]] || echo in grows
	echo in session
	works 3
	for _ in 1 2; do
		signals
		works 3
	done
	echo out session
	if [[ $1 == *grows* ]]; then
		works 1
		signals
		works 1
		echo out grows
	fi
	echo out main
}
did() { # by the recording, of functions that are traced
	"$PUGMARK" dump rec | awk '
		BEGIN { while (("nm program" | getline line) > 0) {
			split(line, f, " ")
			sub(/^0+/, "", f[1])
			name[f[1]] = f[3]
		} }
		$2 == "gap" { print "gap", $3 }
		$2 == "call" { sub(/.*:/, "", $5); if ($5 in name) print "in", name[$5] }
		$2 == "enter" { print "in", name[$4] }
		$2 ~ /^(ret|unwind)$/ { print "out", name[$4] }' | grep -vx 'out _start'
}
attach() { # HOW OPTION...
	local pid recorder
	rm -rf rec input ready
	mkfifo input
	./program "$1" <input >ready &
	pid=$!
	started+=("$pid")
	exec {input}>input
	await [ -s ready ]
	"$PUGMARK" record -q -o rec -p $pid "${@:2}" >out 2>err </dev/null &
	recorder=$!
	started+=("$recorder")
	await [ -e rec/events ]
	sleep 0.3
	echo >&$input
	wait $pid
	wait $recorder
	exec {input}>&-
}

while read -r how scope; do
	options=()
	for f in $scope; do options+=(-F "$f"); done
	attach "$how" "${options[@]}"
	does "$how" | grep -xE "(in|out) (${scope// /|})" >expected
	did >got
	claim "$how, of $scope: what they did" same expected got
	claim "$how, of $scope: complete" grep -q '^complete' <("$PUGMARK" verify rec)
done <<'END'
plain _start handler leaf
plain _start works leaf
plain main handler middle
plain main leaf
plain session leaf
plain handler leaf
plain handler works
plain middle leaf
grows grows handler leaf
grows grows leaf
grows grows works handler
grows main session middle
alt _start handler leaf
alt main leaf
alt handler works
growsalt grows leaf
growsalt handler leaf
END
conclude

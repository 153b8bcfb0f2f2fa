#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# callers.sh: a program that exports functions loads a plugin that calls one of them, which nothing
# that the program is linked with does. Of a command and of a process that was attached to, the
# recorder and the certificate name the plugin; with --plugin, or --exports all, there is nothing to
# be said, no gap, and the calls are there. What another process loads is nobody's concern.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
work_in_own_folder
compile_plugged
cp program other && cp plugin.so others.so
asked=$(nm program | awk '$3 == "asked_for" { sub(/^0+/, "", $1); print $1 }')
words="^note .*$dir/plugin.so was loaded and may call functions of program"

whole() { # WHAT: rec has all that the plugin calls
	claim "$1: nothing is said" [ ! -s err ]
	"$PUGMARK" verify rec >certificate
	claim "$1: complete" is "$? $(grep -c ^note certificate)" '0 0'
	claim "$1: the calls are there" is "$("$PUGMARK" dump rec | awk -v f="program:$asked" \
		'$2 == "call" && $5 == f || $2 == "enter" && "program:" $4 == f { n++ } END { print n + 0 }')" 100
}

"$PUGMARK" record -o rec -- ./program 0 ./plugin.so >out 2>err
claim 'a command: the program has done its work' is $? 0
claim 'a command: it is said' grep -q "$dir/plugin.so was loaded and may call .*(asked_for, for one)" err
"$PUGMARK" verify rec >certificate
claim 'a command: the certificate says it' grep -q "$words" certificate

./program 1500000 ./plugin.so &
pid=$!
started+=("$pid")
sleep 0.1
"$PUGMARK" record -q -o rec -p "$pid" >out 2>err </dev/null
"$PUGMARK" verify rec >certificate
claim 'a process: the certificate says it' grep -q "$words" certificate

"$PUGMARK" record -q -o rec --plugin ./plugin.so -- ./program 0 ./plugin.so >out 2>err
whole --plugin
"$PUGMARK" record -q -o rec --exports all -- ./program 0 ./plugin.so >out 2>err
whole '--exports all'

"$PUGMARK" record -q -o rec -- ./program 700000 ./none.so >out 2>err </dev/null &
recorder=$!
started+=("$recorder")
sleep 0.4
./other 0 ./others.so
wait $recorder
"$PUGMARK" verify rec >certificate
claim "another process's plugin: nothing is said" is "$(grep -c ^note certificate)" 0
conclude

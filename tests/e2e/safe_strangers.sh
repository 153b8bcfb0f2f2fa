#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# safe_strangers.sh: processes that nobody traces, beside a recording. Whatever they map, nothing of
# theirs is opened: a device stays closed, and thousands of files do not hide what the traced program
# loads. Files that are cut short while they are mapped are in safe_races.sh.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs python3
work_in_own_folder
compile_plugged
${CC:-cc} -O1 -o stranger "$tests/programs/stranger.c" || skip 'no compiler for the programs'
mkdir many
mknod device c 1 5 || skip 'no device nodes here'

"$PUGMARK" record -q -o rec -- ./program 6000000 ./plugin.so >out 2>err </dev/null &
recorder=$!
started+=("$recorder")
for _ in $(seq 100); do [ -e rec/events ] && break; sleep 0.1; done
./stranger device device &
maps_device=$!
sleep 0.3
"$tests/support/opened.py" device >opened &
started+=($!)
wait $maps_device
./stranger many plugin.so many 4200
wait $recorder
claim 'thousands of files: the recorder lives' is $? 0
sleep 0.3
claim 'a device that a stranger maps is opened by nobody else' is "$(cat opened)" ready
"$PUGMARK" verify rec >certificate 2>&1
claim 'thousands of files: what the program itself loads is said' \
	grep -q "^note .*$dir/plugin.so was loaded and may call" certificate
claim 'and nothing of the others' eval '! grep -q many/ certificate'
conclude

#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# safe_memory.sh: with --carrier patch a traced process and the recorder share memory. A process that
# shares the traced one's descriptors can have kept that of it, and cuts it short: it may not, and the
# recorder lives. This script has it by map_files.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs python3
work_in_own_folder
cat >spin.c <<'EOC'
#include <time.h>
#include <unistd.h>
__attribute__((noinline)) static int step(int n) { return n % 3 ? n * 3 + 1 : n / 3; }
int main(void)
{
	time_t end = time(NULL) + 60;
	int x = 1;
	while (time(NULL) < end) { /* at rest mostly: what is recorded is read again here */
		for (int i = 0; i < 100; i++)
			x = step(x);
		usleep(2000);
	}
	return x == 0;
}
EOC
cat >cut.py <<'EOF2'
import os, sys, time
while True:
    for line in open(f"/proc/{sys.argv[1]}/maps"):
        if "memfd:pugmark" in line and " rw-s " in line:
            time.sleep(0.3)
            fd = os.open(f"/proc/{sys.argv[1]}/map_files/{line.split()[0]}", os.O_RDWR)
            try:
                os.ftruncate(fd, 0)
                print("cut")
            except PermissionError:
                print("refused")
            sys.exit()
    time.sleep(0.01)
EOF2
${CC:-cc} -O1 -o spin spin.c || skip 'no compiler for the program'
./spin &
pid=$!
started+=("$pid")
timeout 60 python3 cut.py "$pid" >had 2>&1 &
cutter=$!
started+=("$cutter")
"$PUGMARK" record -q --carrier patch -o rec -p $pid >out 2>err </dev/null &
recorder=$!
started+=("$recorder")
wait $cutter
[ -s had ] && ! grep -q Error had || skip "nothing was shared: $(tail -n 1 had) $(cat err)"
sleep 0.5
claim 'memory that is shared cannot be cut short' is "$(cat had)" refused
kill -TERM $recorder
wait $recorder
claim 'the recorder lives' is $? 0
claim 'and the recording is complete' "$PUGMARK" verify rec
claim 'the program as well' kill -0 $pid
conclude

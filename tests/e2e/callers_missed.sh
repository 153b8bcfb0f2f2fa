#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# callers_missed.sh: the recorder does not run for a while, and meanwhile so much is mapped on the machine that
# the kernel cannot tell it all. What the traced process has mapped is then looked at while it runs, and not
# only at the end, when it has ended and nobody can: the recording is whole, and nothing is said.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
work_in_own_folder
cat >program.c <<'C'
#include <dlfcn.h>
#include <unistd.h>
__attribute__((visibility("default"), noipa)) int exported(int n) { return n + 1; }
int main(void)
{
	int n = 0;
	for (int i = 0; i < 10; i++)
		n = exported(n);
	while (access("go", F_OK))
		usleep(20000);
	return n != 10 || !dlopen(NULL, RTLD_NOW);
}
C
${CC:-cc} -O1 -rdynamic program.c -ldl -o program || skip 'no compiler for the program'
"$PUGMARK" record -o rec -- ./program >out 2>err </dev/null &
recorder=$!
started+=("$recorder")
for _ in $(seq 100); do
	pgrep -P "$recorder" -f '^./program' >/dev/null && break
	sleep 0.1
done
sleep 1
kill -STOP "$recorder"
for _ in $(seq $((400 * $(nproc)))); do
	/bin/true
done
kill -CONT "$recorder"
sleep 3
touch go
wait "$recorder"
claim 'the recording is whole' is $? 0
claim 'nothing is said of what was mapped' eval '! grep -F "loaded" err'
claim 'and nothing in it' eval '"$PUGMARK" verify rec >said && ! grep -F loaded said'
conclude

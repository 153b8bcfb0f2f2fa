#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# values_spinning.sh: threads that spin on one processor when the recording ends: that they lose it is
# told as long as anything else is, also while probes are taken away, and of all nothing is assumed.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs python3
work_in_own_folder

cat >spins.c <<'C'
#include <pthread.h>
static pthread_mutex_t lock[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static void *spin(void *arg)
{
	for (volatile long i = 0;; i++)
		if (i % 1000 == 0) {
			pthread_mutex_lock(&lock[(long)arg]);
			pthread_mutex_unlock(&lock[(long)arg]);
		}
}
int main(void)
{
	pthread_t t;
	pthread_create(&t, NULL, spin, (void *)1);
	spin(NULL);
}
C
# Of places that take a while to be taken away.
python3 - >many.c <<'PY'
print('#include <unistd.h>')
for i in range(300):
    print('int many%d(int n) { return n%s; }' % (i, ''.join(' + getpgid(n * %d)' % k for k in range(50))))
PY
${CC:-cc} -O1 -g -w -pthread -o spins spins.c many.c || skip 'no compiler'
./spins &
program=$!
started+=("$program")
"$PUGMARK" record --level values --one-processor -p $program -o rec >attaching 2>&1 &
recorder=$!
started+=("$recorder")
await grep -q ': recording' attaching
sleep 0.2
kill -INT $recorder
wait $recorder
kill -9 $program
wait $program 2>/dev/null
"$PUGMARK" values rec >said.values 2>err
claim 'both threads are known up to the end' is "$(grep -c '^task [12]: .*; up to its end$' said.values)" 2
claim 'and nothing is assumed' is "$(grep -c ', 0 with something assumed, 0 unknown; up' said.values)" 2
conclude

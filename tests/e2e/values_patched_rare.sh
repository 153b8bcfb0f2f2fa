#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# values_patched_rare.sh: with --carrier patch a thread notes its calls itself however many it makes between
# two probes: more than its lane has room for at once, behind a place whose probe says how many notes there
# were and has nothing else to tell.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
work_in_own_folder

cat >many.c <<'C'
#include <sys/stat.h>
/* By code that is not traced. A lane holds 65536 notes; each of these calls takes longer than what
 * the recorder does with its note. */
long many(long n)
{
	struct stat st;
	long sum = 0;
	for (long i = 0; i < n; i++)
		sum += stat("/proc/self/status", &st) + (st.st_mode & 1);
	return sum;
}
C
cat >rare.c <<'C'
long many(long n);
/* May be entered from outside, and is not. */
__attribute__((noinline)) long inside(long n)
{
	return n * 3 + 1;
}
long (*volatile chosen)(long) = inside;
int main(void)
{
	long sum = 0;
	for (int i = 0; i < 3; i++)
		sum += inside(i) + many(70000);
	return sum;
}
C
${CC:-cc} -O1 -shared -fPIC -o libmany.so many.c && ${CC:-cc} -O1 -g -o rare rare.c ./libmany.so || skip 'no compiler'
export LD_LIBRARY_PATH=.
timeout 60 "$PUGMARK" record --level values --carrier patch -o of -- ./rare >err 2>&1
claim 'the program ends as ever' is $? 12
claim 'probes have to see no calls that it notes' is "$(grep -c 'seen by probes' err)" 0
# Where the machine is busy the lane may be full meanwhile, so what is known is not asked here.
conclude

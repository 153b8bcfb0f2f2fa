#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# called_back_outside.sh: functions that a thread of a library's own calls back, so that no call of ours
# lies outside of them: some from near the begin of its stack, which call back themselves and may end in
# silence, and some from up to 30 kB further down, twice from one place. The stack is sent up to the
# frame that may still be open: so there is no gap, in any mode, and as many calls back as the library
# makes.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs "${CC:-cc}" nm
work_in_own_folder

cat >library.c <<'C'
#include <alloca.h>
#include <pthread.h>
static void (*near)(int), (*far)(int);
static volatile int noted;
void note(int i) { noted += i; }
void calls_far(int i, unsigned bytes)
{
	volatile char *room = alloca(bytes + 1);
	room[0] = room[bytes] = i;
	far(i);
	far(i + 1);
	room[bytes] += noted;
}
static void *loop(void *unused)
{
	for (int i = 0; i < 100; i++) {
		calls_far(i, 100 * i);
		near(i);
		calls_far(i, 200 * i);
	}
	return unused;
}
void serve(void (*n)(int), void (*f)(int))
{
	pthread_t thread;
	near = n;
	far = f;
	pthread_create(&thread, NULL, loop, NULL);
	pthread_join(thread, NULL);
}
C
cat >program.c <<'C'
#define FN __attribute__((noipa))
void note(int i);
void calls_far(int i, unsigned bytes);
void serve(void (*n)(int), void (*f)(int));
FN static void ends(int i) { note(i + 2); }
FN static void near(int i)
{
	calls_far(i, 300 * i);
	if (i % 3 == 0)
		ends(i);
}
FN static void far(int i)
{
	note(i);
	note(i + 1);
}
int main(void)
{
	serve(near, far);
}
C
compile_with_library serve -lpthread
called_back() { # FUNCTION: how often the trace tells so
	local at
	at=$(nm program | awk -v s="$1" '$3 == s { sub(/^0+/, "", $1); print $1 }')
	grep -c " enter program $at [a-z]*$" trace
}
for mode in full casper best; do
	claim "$mode: recorded" "$PUGMARK" record -q --mode $mode -o rec -- ./program
	claim "$mode: complete" "$PUGMARK" verify rec
	"$PUGMARK" dump rec >trace 2>err
	claim "$mode: called back from far" is "$(called_back far)" 600
	claim "$mode: called back from near" is "$(called_back near)" 100
done
conclude

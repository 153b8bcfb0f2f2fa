#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# untraced.sh: where most of the time may lie in a library that is not traced, report says so, and how to
# trace it; where it does not, or is spent waiting in the C library, it says nothing.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
work_in_own_folder
cat >prog.c <<'C'
#include <time.h>
void engine(int rounds);
int small(void);
static volatile int sink;
__attribute__((noipa)) void own(void) { for (int i = 0; i < 20000000; i++) sink++; }
__attribute__((noipa)) void waits(void) { nanosleep(&(struct timespec){0, 200000000}, 0); }
int main(int argc, char **argv)
{
	(void)argv;
	for (int i = 0; i < 5; i++) {
		if (argc == 1)
			engine(20000000);
		else if (argc == 2)
			own();
		else
			waits();
	}
	return small();
}
C
cat >engine.c <<'C'
static volatile int sink;
__attribute__((noipa)) static void step(void) { sink++; }
void engine(int rounds) { for (int i = 0; i < rounds; i++) sink++; step(); }
int small(void) { step(); return 0; }
C
${CC:-cc} -O1 -fPIC -shared engine.c -o libengine.so.2 2>err &&
	${CC:-cc} -O1 prog.c -o prog ./libengine.so.2 -Wl,-rpath,"$dir" 2>err || skip "does not compile: $(head -n 1 err)"
said() { grep -E '% of the time (may lie|lies) in' out; }

run 0 record -q -o rec -- ./prog
run 0 report rec
claim 'most of it there: said in one line, with what was called' \
	grep -qE '^up to [0-9]+ % of the time (may lie|lies) in libengine.so.2 \(engine\), which is not traced: record with --module libengine.so.2$' out
claim 'most of it there: at least half' test "$(said | cut -d' ' -f3)" -gt 50
run 0 record -q -o rec --module libengine.so.2 -- ./prog
run 0 report rec
claim 'traced as it says: nothing is said' is "$(said)" ''
claim 'traced as it says: what is in it is seen' grep -q 'libengine.so.2:step' out
run 0 record -q -o rec -- ./prog own
run 0 report rec
claim 'its own time: nothing is said' is "$(said)" ''
run 0 record -q -o rec -- ./prog waits there
run 0 report rec
claim 'waiting in the C library: nothing is said' is "$(said)" ''
conclude

#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# values_patched_libraries.sh: with --carrier patch all libraries of a process are looked through for system calls,
# however many it has loaded: one that had been left out would make calls that nothing sees.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
work_in_own_folder

cp "$tests/value/hard/note.h" . || exit 1
cat >library.c <<'C'
#include <unistd.h>
int own(void) { return N; }
#if N == 80 /* at the lowest address */
/* By a system call of its own, so that there is something to be patched below the C library. */
long calls(void)
{
	long result;
	__asm__ volatile("mov $39, %%eax\n\tsyscall" : "=a"(result) : : "rcx", "r11", "memory");
	return result;
}
#endif
C
cat >loads.c <<'C'
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>
#include "note.h"
int main(void)
{
	unsigned long sum = 0;
	char name[40], bytes[40];
	int fd = open("/dev/urandom", O_RDONLY);
	for (int i = 1; i <= 80; i++) {
		snprintf(name, sizeof(name), "./library%d.so", i);
		int (*own)(void) = (int (*)(void))dlsym(dlopen(name, RTLD_NOW), "own");
		sum += own();
	}
	note(1, sum);
	read(0, bytes, 1);
	for (int i = 0; i < 100; i++) {
		long n = read(fd, bytes, sizeof(bytes));
		for (long k = 0; k < n; k++)
			sum = sum * 31 + bytes[k];
		note(2, sum);
	}
	return 3;
}
C
for ((i = 1; i <= 80; i++)); do
	${CC:-cc} -O1 -shared -fPIC -DN=$i -o library$i.so library.c || skip 'no compiler'
done
${CC:-cc} -O1 -g -w -o loads loads.c -ldl || skip 'no compiler'
mkfifo go
exec 9<>go
./loads <go >printed &
target=$!
started+=("$target")
await grep -q note printed
timeout 60 "$PUGMARK" record --level values --carrier patch -p $target -o of >err 2>&1 &
recorder=$!
await grep -q ': recording' err
echo >&9
wait $target
claim 'the process ends as ever' is $? 3
wait $recorder
claim 'no hooks were needed' is "$(grep -c captures err) $(grep -c hooks err)" '1 0'
"$PUGMARK" values of note --limit 3000 >got 2>err
sed -nE 's/^[0-9]+ [0-9]+ (note\([^)]*\)).*/\1/p' got | sort >told
grep 'note(kind=2' printed | sort >printed.notes
claim 'all that it has read is known' is "$(comm -12 told printed.notes | wc -l)" 100
conclude

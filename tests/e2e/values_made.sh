#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# values_made.sh: code that a program makes while it runs is executed again as it was then: written by stores,
# by functions outside, by the kernel, by itself; behind mprotect(), in the place of other code. All that
# the program prints is known, forward and when gone back to. Of code in memory that others may write nothing is
# certain.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs cc
work_in_own_folder

cat >made.c <<'C'
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#define FN __attribute__((noipa))
typedef long made(long, long (*)(long));
static unsigned char *area;
FN long twice(long x) { return 2 * x + 1; }
FN void note(const char *what, long value) { printf("note(what=\"%s\", value=%ld)\n", what, value); }
/* lea (number)(%rdi), %rax; ret */
static void piece(unsigned char *to, int number)
{
	memcpy(to, "\x48\x8d\x87", 3);
	memcpy(to + 3, &number, 4);
	to[7] = 0xc3;
}
FN static void by_stores(int number)
{
	unsigned char code[8];
	piece(code, number);
	for (int i = 0; i < 8; i++)
		((volatile unsigned char *)area)[i] = code[i];
}
static long run(long x) { return ((made *)area)(x, twice); }

int main(int argc, char **argv)
{
	int shared = argc > 1, flags = shared ? MAP_SHARED : MAP_PRIVATE, ends[2];
	unsigned char code[8];
	long all = 0;
	area = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, flags | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED || pipe(ends))
		return 1;
	for (int i = 0; i < 5; i++) {
		by_stores(10 * i);
		note("stores", run(i));
	}
	piece(code, 777);
	for (int i = 0; i < 300; i++) { /* a byte of it, each time */
		area[3] = i;
		all = all * 3 + run(i);
	}
	note("many", all);
	memcpy(area, code, argc + 7 - shared);
	note("memcpy", run(1));
	piece(code, 888);
	void *to = area, *from = code;
	unsigned long count = 8;
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
	note("rep movs", run(1));
	piece(code, 999);
	if (write(ends[1], code, 8) != 8 || read(ends[0], area, 8) != 8)
		return 1;
	note("read", run(1));
	for (int i = 0; i < 3; i++) {
		mprotect(area, 4096, PROT_READ | PROT_EXEC);
		note("protected", run(i));
		mprotect(area, 4096, PROT_READ | PROT_WRITE);
		piece(area, i * 1000);
	}
	mprotect(area, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
	/* addl $1, 1(%rip), which is the number of what follows; mov $5, %eax; ret */
	memcpy(area, "\x83\x05\x01\x00\x00\x00\x01\xb8\x05\x00\x00\x00\xc3", 13);
	for (int i = 0; i < 40; i++)
		all += run(0);
	note("changes itself", all);
	/* sub $8, %rsp; call *%rsi; add $8, %rsp; ret: it calls what is traced */
	memcpy(area, "\x48\x83\xec\x08\xff\xd6\x48\x83\xc4\x08\xc3", 11);
	note("calls back", run(20));
	/* In the place of what was there. */
	area = mmap(area, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, flags | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	area += 4096 - 3;
	piece(area, 5);
	note("over two pages", run(7));
	area[4] = 1; /* on the second one */
	note("over two pages", run(7));
	return 0;
}
C
${CC:-cc} -O1 -g -w -o made made.c || exit 1
told() { # RECORDING: what is told of each call of note()
	"$PUGMARK" values "$1" note --limit 1000 2>>err | sed -nE 's/^1 [0-9]+ (note\(.*\)).*/\1/p' |
		sed -E 's/what=0x[0-9a-f]+~? /what=/'
}
for how in '' '--check-every 64' '--carrier patch'; do
	name=rec${how// /}
	# shellcheck disable=SC2086
	"$PUGMARK" record -q --level values $how -o "$name" -- ./made >printed 2>err
	claim "made $how: it ends as it does alone" is "$?" 0
	claim "made $how: what it prints is what it prints alone" same <(./made) printed
	told "$name" >told
	claim "made $how: all is told as it was" same printed told
	claim "made $how: and is known" grep -qE ', 0 with something assumed, 0 unknown; up to its end' \
		<("$PUGMARK" values "$name")
done

# Each place is come to from the end: what the code was then is back.
gdb_of() { # COMMANDS...
	timeout 100 gdb -nx -q -batch -ex 'set pagination off' -ex "target remote | $PUGMARK gdb --serve rec" "$@" ./made 2>>err
}
if command -v gdb >/dev/null; then
	gdb_of -ex 'break note' -ex continue $(printf -- '-ex continue %.0s' {1..30}) >forward.txt
	gdb_of -ex 'break note' $(printf -- '-ex continue %.0s' {1..30}) \
		$(printf -- '-ex reverse-continue %.0s' {1..30}) >both.txt
	calls() { sed -nE 's/^Breakpoint 1, note \((.*)\) at.*/\1/p' "$1"; }
	n=$(wc -l <printed)
	claim 'gdb stops at each of them' is "$(calls both.txt | wc -l)" "$((2 * n))"
	claim 'backward they are as forward' same <(calls both.txt | head -n "$n" | tac) \
		<(calls both.txt | tail -n "$n")
else
	echo 'skip going back: no gdb' && skipped=$((skipped + 1))
fi

# What lies in memory that others may write is assumed, and so is what it does.
"$PUGMARK" record -q --level values -o shared -- ./made shared >printed 2>err
told shared >told
claim 'shared: nothing that it made is called exact' is "$(grep -c 'value=[-0-9]*)$' told)" 0
claim 'shared: and what is told is right, or said not to be known' \
	is "$(sed 's/~//g' told | grep -vF '?' | grep -vxFf printed | wc -l)" 0
conclude

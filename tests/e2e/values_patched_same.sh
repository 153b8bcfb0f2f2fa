#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# values_patched_same.sh: with --carrier patch a stub that has brought the same bytes as the last time does not
# write them again. What is read is known all the same: wherever one byte of them has changed, at whatever length,
# and where a handler that comes at any instruction reads by the same stub. Bytes that are the same take no room in
# the ring of bytes, which goes round under others. A program whose unaligned accesses are faults (EFLAGS.AC) has none
# in the stub, wherever its buffers lie; of one that has the direction flag set at a call nothing is told that is wrong.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
work_in_own_folder

cp "$tests/value/hard/note.h" . || exit 1
cat >same.c <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include "note.h"
static int fd;
static volatile int length = 64;
static volatile unsigned long handled;
static unsigned long mixed(unsigned long sum, const char *bytes, long n)
{
	for (long i = 0; i < n; i++)
		sum = sum * 31 + bytes[i];
	return sum;
}
static unsigned long read_at(unsigned long sum, int n, long at)
{
	char bytes[200];
	return mixed(sum, bytes, pread(fd, bytes, n, at));
}
static void handle(int sig)
{
	/* now what the main program has read last, now others of that length */
	handled = read_at(handled, length, handled % 3 ? 0 : handled % 500) + 1;
}
/* One byte after another is changed. */
static unsigned long changing(int n)
{
	unsigned long sum = 0;
	for (int i = 0; i < n; i++) {
		char c = i * 7 + n;
		sum = read_at(read_at(sum, n, 0), n, 0);
		pwrite(fd, &c, 1, i);
		sum = read_at(sum, n, 0);
	}
	return sum;
}
static void lane(void)
{
	char line[512];
	unsigned long from = 0;
	FILE *f = fopen("/proc/self/maps", "r");
	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, "rw-s 00001000") && strstr(line, "pugmark"))
			sscanf(line, "%lx", &from);
	/* of one thread the only one with notes: owner, entered, head, tail, head of bytes */
	for (int i = 0; from && i < 64; i++) {
		unsigned long *l = (unsigned long *)(from + ((unsigned long)i << 25));
		if (l[2])
			printf("lane: %lu notes, %lu bytes\n", l[2], l[4]);
	}
	fflush(stdout);
}
int main(void)
{
	static const int lengths[] = {1, 8, 31, 32, 33, 63, 64, 65, 95, 96, 97, 128, 150, 200};
	struct itimerval every = {{0, 300}, {0, 300}}, never = {0};
	static char bytes[2000], other[65536];
	unsigned long sum = 0;
	fd = open("data", O_RDWR | O_CREAT | O_TRUNC, 0600);
	for (int i = 0; i < sizeof(other); i++)
		other[i] = i * i >> 3;
	pwrite(fd, other, sizeof(other), 0);
	for (int i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		note(1, changing(lengths[i]));
		usleep(2000); /* less than the recorder can take, as below */
	}
	signal(SIGALRM, handle);
	for (int i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		length = lengths[i];
		setitimer(ITIMER_REAL, &every, NULL);
		for (int k = 0; k < 10; k++)
			sum += changing(length);
		setitimer(ITIMER_REAL, &never, NULL);
		note(2, sum);
		usleep(10000); /* without a signal, which would end it */
	}
	note(3, handled);
	for (int i = 0; i < 30000; i++) {
		if (i % 5000 == 0)
			usleep(2000);
		sum = sum * 3 + pread(fd, bytes, sizeof(bytes), 100) + bytes[i % 2000];
	}
	note(4, sum);
	/* the ring goes round, and what was the same before is the same again */
	for (int i = 0; i < 400; i++) {
		if (i % 10 == 0)
			usleep(2000);
		sum = sum * 3 + pread(fd, other, 60000 + i, i % 7) + other[i];
		sum = sum * 3 + read(fd, bytes, sizeof(bytes)) + lseek(fd, 0, SEEK_SET) + bytes[i];
		if (i % 50 == 0)
			note(5, sum);
	}
	note(6, sum);
	lane(); /* which no replay has */
	return 0;
}
C
${CC:-cc} -O1 -g -w -o same same.c || skip 'no compiler'
timeout 120 "$PUGMARK" record --level values --carrier patch -o rec -- ./same >printed 2>err
claim 'the program ends as ever' is "$? $(grep -c 'kind=6' printed)" '0 1'
claim 'no hooks were needed, and nothing was lost' is "$(grep -c hooks err) $(grep -c lost err)" '0 0'
"$PUGMARK" values rec note --limit 3000 >got 2>err
sed -nE 's/^[0-9]+ [0-9]+ (note\([^)]*\)).*/\1/p' got >said.notes
grep -v '[~?]' said.notes | sort >sure
grep ^note printed | sort >printed.notes
claim 'what is not marked is what was printed' is "$(comm -13 printed.notes sure | wc -l)" 0
claim 'all is known' is "$(comm -12 sure printed.notes | wc -l)" "$(wc -l <printed.notes)"
read -r _ notes _ bytes _ < <(grep ^lane printed)
claim '30,000 times 2,000 bytes were noted' test "${notes:-0}" -gt 30000
claim 'and written once, beside 24 MB of others' test "${bytes:-99000000}" -lt 40000000

cat >strict.c <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <x86intrin.h>
#include "note.h"
enum { ALIGNMENT_CHECK = 1 << 18 };
int main(void)
{
	_Alignas(64) char bytes[64];
	int fd = open("/proc/self/exe", O_RDONLY);
	for (int align = 0; align < 8; align++)
		for (int n = 33; n <= 41; n++)
			for (int turn = 0; turn < 3; turn++) {
				memset(bytes, 0, sizeof(bytes));
				__writeeflags(__readeflags() | ALIGNMENT_CHECK);
				long result = pread(fd, bytes + align, n, turn == 2 ? 1 : 0);
				__writeeflags(__readeflags() & ~ALIGNMENT_CHECK);
				for (int i = 0; i < sizeof(bytes); i++)
					result = result * 31 + bytes[i];
				note(align * 1000 + n * 10 + turn, result);
			}
	return 0;
}
C
${CC:-cc} -O1 -g -w -mno-red-zone -o strict strict.c -Wl,-z,now || skip 'no compiler'
timeout 60 "$PUGMARK" record --level values --carrier patch -o rec2 -- ./strict >printed 2>err
claim 'who has unaligned accesses checked does not die' is "$? $(grep -c ^note printed)" '0 216'
claim 'no hooks were needed here either, and nothing was lost' is "$(grep -c hooks err) $(grep -c lost err)" '0 0'
"$PUGMARK" values rec2 note --limit 3000 >got 2>err
claim 'all that it has read is known' is "$(sed -nE 's/^[0-9]+ [0-9]+ (note\([^)]*\)).*/\1/p' got | cmp - <(grep ^note printed) 2>&1)" ''

cat >backwards.c <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include "note.h"
int main(void)
{
	static char bytes[256];
	int fd = open("/proc/self/exe", O_RDONLY);
	for (int i = 0; i < 4; i++) {
		__asm__ volatile("std");
		long result = pread(fd, bytes + 100, 40, i);
		__asm__ volatile("cld");
		for (int k = 0; k < sizeof(bytes); k++)
			result = result * 31 + bytes[k];
		note(i, result);
	}
	return 0;
}
C
${CC:-cc} -O1 -g -w -o backwards backwards.c -Wl,-z,now || skip 'no compiler'
timeout 60 "$PUGMARK" record --level values --carrier patch -o rec3 -- ./backwards >printed 2>err
claim 'nor who has the direction flag set' is "$? $(grep -c ^note printed)" '0 4'
"$PUGMARK" values rec3 note --limit 3000 >got 2>err
sed -nE 's/^[0-9]+ [0-9]+ (note\([^)]*\)).*/\1/p' got | grep -v '[~?]' >sure
claim 'and no other bytes are told to be what it has read' is "$(grep -vcxFf printed sure)" 0
conclude

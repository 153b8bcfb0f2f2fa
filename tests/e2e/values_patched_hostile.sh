#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# values_patched_hostile.sh: with --carrier patch a process has memory that the recorder reads. Here it finds that
# and writes over it from a thread of its own, random and extreme bytes: heads, tails, owners, lengths, notes, the
# order and the time. The recorder goes on, ends when it should, needs no more memory than else, nor
# room, what was overwritten is a gap, lanes are closed, and the process and its children end as ever.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
work_in_own_folder

cat >hostile.c <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
enum { LANES = 64, LANE = 1 << 25, NOTE = 128, NOTES_OFF = 4096 };
static char *lanes, *page;
static volatile int ends;
static unsigned long seed = 88172645463325252ul;
static unsigned long chance(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}
static unsigned long some(unsigned long old)
{
	static const unsigned long extreme[] = {0, 1, -1ul, 1ul << 63, (1ul << 63) - 1, 0xffffffff, 65536, 1ul << 38};
	switch (chance() % 4) {
	case 0:
		return extreme[chance() % 8];
	case 1:
		return old + chance() % 131072 - 65536;
	case 2:
		return old ^ 1ul << chance() % 64;
	default:
		return chance();
	}
}
static void find(void)
{
	char line[512];
	unsigned long from, to;
	FILE *f = fopen("/proc/self/maps", "r");
	while (fgets(line, sizeof(line), f))
		if (strstr(line, "rw-s") && strstr(line, "pugmark-calls") && sscanf(line, "%lx-%lx", &from, &to) == 2) {
			if (to - from == 4096)
				page = (char *)from;
			else
				lanes = (char *)from;
		}
	fclose(f);
}
static void *overwrite(void *kind)
{
	int all = *(char *)kind == 'a';
	while (!ends) {
		for (int i = 0; i < LANES; i++) {
			unsigned long *lane = (unsigned long *)(lanes + (long)i * LANE);
			if (!lane[0])
				continue;
			unsigned long *word = lane + 1 + chance() % 6;
			/* what stubs write by must stay for the process itself, but for its place in the ring */
			if (all)
				*word = some(*word);
			for (int n = 0; n < 40; n++) {
				word = (unsigned long *)((char *)lane + NOTES_OFF + (lane[2] - chance() % 64) % 65536 * NOTE) +
				       chance() % 16;
				*word = some(*word);
			}
			if (all && chance() % 1000 == 0)
				lane[0] ^= 1ul << 63;
		}
		if (all && chance() % 100 == 0)
			((unsigned long *)page)[chance() % 2] = some(((unsigned long *)page)[0]);
		if (chance() % 16 == 0)
			usleep(100);
	}
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t thread;
	char bytes[300];
	unsigned long reads = 0;
	time_t end = time(NULL) + 30;
	int fd = open("/dev/zero", O_RDONLY);
	for (int i = 0; i < 300 && !lanes && time(NULL) < end; i++, find())
		usleep(20000);
	if (!lanes)
		return 3;
	puts("found");
	fflush(stdout);
	pthread_create(&thread, NULL, overwrite, argv[1]);
	for (end = time(NULL) + 1; time(NULL) < end; reads++) {
		if (read(fd, bytes, reads % 300) != (long)(reads % 300))
			return 4;
		if (reads % 5000 == 0) {
			int status;
			if (!fork())
				_exit(6);
			if (wait(&status) < 0 || WEXITSTATUS(status) != 6)
				return 5;
		}
	}
	ends = 1;
	pthread_join(thread, NULL);
	puts("end");
	return 7;
}
C
${CC:-cc} -O1 -g -w -pthread -o hostile hostile.c || skip 'no compiler'
# What its recorder needs at most, in MB, and whether it has to be killed.
watch() { # RECORDER
	local i now
	most=0 hung=0
	for ((i = 0; i < 1200; i++)); do
		now=$(sed -n 's/^RssAnon:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$1/status" 2>/dev/null)
		[ -n "$now" ] || break
		[ $((now / 1024)) -gt $most ] && most=$((now / 1024))
		sleep 0.05
	done
	[ -d "/proc/$1" ] && hung=1 && kill -KILL "$1"
	wait "$1"
	status=$?
}
tells() { # HOW RECORDING
	claim "$1: the recorder ends by itself" is "$hung $((status < 128))" '0 1'
	claim "$1: it has said no error of ours" is "$(grep -ciE 'sanitizer|runtime error|assert' err)" 0
	claim "$1: it needs no more memory than a recorder does" test "$most" -lt 600
	claim "$1: nor room" test "$(du -sm "$2" | cut -f 1)" -lt 400
	timeout 60 "$PUGMARK" verify "$2" >verified 2>err.verify
	claim "$1: what is recorded can be read" is "$(($? < 4)) $(grep -ciE 'sanitizer|runtime error|assert' err.verify)" '1 0'
	claim "$1: what was overwritten is a gap" test "$(grep '^values of task 1:' verified | grep -cE 'a gap|behind a branch|lost')" -gt 0
}
for kind in notes all; do
	"$PUGMARK" record --level values --carrier patch -o "started.$kind" -- ./hostile $kind >printed 2>err &
	watch $!
	claim "$kind: started, the process goes on as ever" is "$status $(tail -n 1 printed)" '7 end'
	tells "$kind, started" "started.$kind"
	./hostile $kind >printed &
	target=$!
	started+=("$target")
	"$PUGMARK" record --level values --carrier patch -p $target -o "attached.$kind" >err 2>&1 &
	watch $!
	claim "$kind: attached to, it has found its lanes, and goes on" is "$(paste -sd ' ' printed)" 'found end'
	tells "$kind, attached to" "attached.$kind"
done
claim 'it is said that lanes were closed' grep -q 'seen by probes' err
conclude

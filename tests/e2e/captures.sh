#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# captures.sh: what level values captures is what strace and the files themselves say.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs gzip python3
work_in_own_folder

cp "$(command -v gzip)" packer
for i in $(seq 4000); do echo "line $i of what is packed $((i * i % 977))"; done >input
"$PUGMARK" record -q --level values -o rec -- ./packer -c input >packed 2>err
claim 'the program ends well' is $? 0
gzip -dc packed | cmp -s - input
claim 'its output is right' is $? 0
claim 'captures are for their owner alone' is "$(stat -c %a rec/captures)" 600
"$PUGMARK" raw --captures rec >captures 2>>err
claim 'they can be read' is $? 0

# Each chunk that read() brought is a chunk of the file, in order and without a hole.
python3 - >said 2>&1 <<'PY'
import re, zlib
data, at, wrong = open('input', 'rb').read(), 0, 0
for line in open('captures'):
    if ' kernel ' not in line or ' read(' not in line:
        continue
    for length, crc in re.findall(r' [0-9a-f]+\+(\d+):([0-9a-f]{8})', line):
        wrong += zlib.crc32(data[at:at + int(length)]) != int(crc, 16)
        at += int(length)
print(wrong, at == len(data))
PY
claim 'what read() brought is the file' is "$(cat said)" '0 True'

if command -v strace >/dev/null; then
	calls='read fstat newfstatat rt_sigaction munmap'
	strace -o trace -e "trace=${calls// /,}" ./packer -c input >/dev/null 2>>err
	# Of before the entry point nothing is captured: compared from the last call on.
	for name in $calls; do
		grep -oE "^$name\(.* = -?[0-9]+" trace | sed 's/.* = //' >want
		grep -oE " $name\([^)]*\)=-?[0-9]+" captures | sed 's/.*=//' >got
		claim "$name: results as strace has them" is "$(cat got)" "$(tail -n "$(wc -l <got)" want)"
		[ "$name" != read ] || claim 'there are some' test -s got
	done
else
	skipped=$((skipped + 1))
fi

# Registers where the program begins and its first frame is made: as gdb would have them.
claim 'it starts at the entry point' is "$(awk '$3 == "start" { print $4 }' captures)" \
	"$(awk '$3 == "enter" { print $4; exit }' captures)"
claim 'nothing is lost' is "$(grep -c ' lost ' captures)" 0
claim 'the end is there' is "$(awk 'END { print $3 }' captures)" end

# A bit that changes is found: the records of that segment are missing, and that is said.
cp -r rec hurt
size=$(stat -c %s hurt/captures)
python3 - "$size" <<'PY'
import sys
f = open('hurt/captures', 'r+b')
data = bytearray(f.read())
heads = [i for i in range(len(data) - 11) if data[i:i + 8] == b'\x8fPMSEG\r\n' and data[i + 10] == 3]
data[heads[0] + 64 + 20] ^= 4
f.seek(0)
f.write(data)
PY
"$PUGMARK" raw --captures hurt >captures2 2>>err
claim 'damage is a record that says so' is "$(grep -c ' lost ' captures2)" 1

# Rows of the user's own.
echo 'fstat output arg1:200' >rows
"$PUGMARK" record -q --level values --imports rows -o own -- ./packer -c input >packed 2>>err
"$PUGMARK" raw --captures own | grep -q 'of=fstat .*+200:'
claim 'a row of a file comes first' is $? 0
echo 'fstat wrote arg1' >rows
"$PUGMARK" record -q --level values --imports rows -o own -- ./packer -c input >packed 2>told
claim 'a wrong row is refused' is $? 1
claim 'and named' grep -q "rows: line 1: 'fstat' needs a kind" told

# The number of a new thread, which the kernel writes for its parent.
printf '#include <pthread.h>\nstatic void *f(void *p) { return p; }\nint main(void) { pthread_t t; return pthread_create(&t, 0, f, 0) || pthread_join(t, 0); }\n' >threads.c
if ${CC:-cc} -O1 -w -o threads threads.c -lpthread; then
	"$PUGMARK" record -q --level values -o thread -- ./threads 2>>err
	"$PUGMARK" raw --captures thread >captures4
	# By clone3(), or clone() where that is not there.
	line=$(grep -E '^1 .* clone3?\(' captures4 | head -n 1)
	crc=$(python3 -c 'import sys, zlib; print("%08x" % zlib.crc32(int(sys.argv[1]).to_bytes(4, "little")))' \
		"$(sed -E 's/.*\)=([0-9]+).*/\1/' <<<"$line")")
	claim "a new thread's number is captured" grep -q "+4:$crc" <<<"$line"
fi

# A process that runs already: it stands still for a moment, and its first place has all registers.
cat >slow.c <<'C'
#include <stdio.h>
#include <unistd.h>
int main(void)
{
	char line[64];
	for (int i = 0; i < 80; i++) {
		snprintf(line, sizeof(line), "turn %d", i);
		puts(line);
		fflush(stdout);
		usleep(50000);
	}
}
C
if ${CC:-cc} -O1 -w -o slow slow.c; then
	./slow >turns &
	pid=$!
	sleep 0.2
	"$PUGMARK" record -q --level values --check-every 1 -o later -p $pid 2>>err
	claim 'attaching ends with the process' is $? 0
	wait $pid
	claim 'the process ends well' is $? 0
	claim 'it has done all that it does' is "$(wc -l <turns)" 80
	"$PUGMARK" raw --captures later | grep -v '^#' >captures3
	claim 'it starts where the process was' is "$(awk 'NR == 1 { print $3 }' captures3)" start
	claim 'its first place has all registers' is \
		"$(awk '/place=/ { print $3, /r15=/; exit }' captures3)" 'enter 1'
	# What snprintf() has written is what was printed, turn by turn.
	grep ' of=.*snprintf' captures3 | grep -oE ' [0-9a-f]+\+[0-9]+:[0-9a-f]{8}' | sed 's/.*+//' >got
	python3 -c 'import zlib
for l in open("turns"):
    b = l.rstrip().encode() + bytes(1)
    print("%d:%08x" % (len(b), zlib.crc32(b)))' | tail -n "$(wc -l <got)" >want
	claim 'outputs of snprintf() are as printed' same got want
	claim 'there are some of them' test "$(wc -l <got)" -gt 0
else
	skipped=$((skipped + 1))
fi

# A disk that is full ends the recording, which nothing else would, and not in silence.
cat >chance.c <<'C'
#include <unistd.h>
int main(void)
{
	static char much[4096];
	for (;;) {
		getentropy(much, 256);
		usleep(200);
	}
}
C
mkdir small
if ${CC:-cc} -O1 -w -o chance chance.c && unshare -m sh -c 'mount -t tmpfs -o size=6m none small' 2>>err; then
	./chance &
	pid=$!
	started+=("$pid")
	unshare -m sh -c 'mount -t tmpfs -o size=6m none small &&
		head -c 3000000 /dev/zero >small/filler &&
		"$0" record -q --level values --check-every 1000000 -o small/rec -p $1' \
		"$PUGMARK" $pid >/dev/null 2>told </dev/null
	claim 'a full disk is an error' is $? 1
	claim 'that is named' grep -q 'the disk is full' told
	kill $pid
	cat >reads.c <<'C'
#include <fcntl.h>
#include <unistd.h>
int main(void)
{
	static char much[4096];
	int from = open("/dev/urandom", O_RDONLY);
	for (int i = 0; i < 2000; i++)
		read(from, much, sizeof(much));
	return 0;
}
C
	${CC:-cc} -O1 -w -o reads reads.c
	in_room() { # SIZE: recorded where so much is free, and what is said of it
		unshare -m sh -c 'mount -t tmpfs -o size="$1" none small
			"$0" record -q --level values -o small/rec -- ./reads
			"$0" verify small/rec >verified 2>told; echo $? >status
			"$0" values small/rec >out 2>err' "$PUGMARK" "$1" >/dev/null 2>&1
	}
	in_room 3m
	claim 'where it was full is where values end, and why' \
		grep -q 'after [0-9]* instructions: what was captured ends there, as the disk was full$' verified
	claim 'and what is whole before it is told' grep -qE 'values of task 1: [0-9]+ instructions, [1-9][0-9]* wholly exact' verified
	claim '`values` says so too' grep -q 'ends where the disk was full' err
	in_room 300k
	claim 'full before the start was written, calls have a certificate' \
		grep -qE '^complete: .*; recorded until the disk was full$' verified
	claim 'and values are told to be unknown, and why' \
		grep -q '^no values are known: .*the disk full' verified
	claim 'which is not complete' is "$(cat status)" 3
else
	skipped=$((skipped + 1))
fi

# Where a call writes, behind it: on the stack, by a register that it keeps, in memory that has a name, nowhere;
# what is stored right behind the call spoils nothing of it.
cat >clocks.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static struct timespec named;
volatile long other;
static void show(long first, long second)
{
	unsigned long both[] = {first, second};
	for (int i = 0; i < 16; i++)
		printf("%02x", (unsigned char)(both[i / 8] >> i % 8 * 8));
	putchar('\n');
}
__attribute__((noinline)) static void turn(struct timespec *heap, int n)
{
	struct timespec stack[2], *s = &stack[n & 1];
	struct timeval tv;
	clock_gettime(CLOCK_REALTIME, &stack[0]);
	stack[1].tv_nsec = n; /* right behind it */
	other = stack[0].tv_nsec;
	show(stack[0].tv_sec, stack[0].tv_nsec);
	gettimeofday(&tv, NULL);
	long was = tv.tv_sec;
	tv.tv_sec = n; /* of it */
	show(was, tv.tv_usec);
	clock_gettime(CLOCK_REALTIME, heap);
	show(heap->tv_sec, heap->tv_nsec);
	clock_gettime(CLOCK_REALTIME, heap + 1);
	was = heap[1].tv_sec;
	heap[1].tv_sec = n;
	show(was, heap[1].tv_nsec);
	clock_gettime(CLOCK_REALTIME, &named);
	was = named.tv_sec;
	named.tv_sec = n;
	show(was, named.tv_nsec);
	clock_gettime(CLOCK_REALTIME, s);
	show(s->tv_sec, s->tv_nsec);
	other += stack[0].tv_sec + stack[1].tv_sec + tv.tv_sec;
}
int main(void)
{
	struct timespec *heap = malloc(2 * sizeof(*heap));
	for (int i = 0; i < 120; i++) {
		turn(heap, i);
		fflush(stdout);
		usleep(30000);
	}
}
C
if ${CC:-cc} -O2 -w -o clocks clocks.c; then
	./clocks >bytes &
	pid=$!
	sleep 0.2
	"$PUGMARK" record -q --level values --check-every 1 -o clocked -p $pid 2>>err
	wait $pid
	"$PUGMARK" raw --captures clocked | grep -E ' of=(clock_)?gettime' |
		grep -oE ' [0-9a-f]+\+16:[0-9a-f]{8}' | sed 's/.*://' >got
	python3 -c 'import zlib
for l in open("bytes"):
    print("%08x" % zlib.crc32(bytes.fromhex(l.strip())))' | tail -n "$(wc -l <got)" >want
	claim 'the clock is captured wherever it was written to' same got want
	claim 'all six of a turn are' test "$(wc -l <got)" -gt 120
else
	skipped=$((skipped + 1))
fi

# What nothing else tells is watched to the end, however often: clocks of the kernel's image, of C++ too. A
# process notes itself what they tell (values_clocks.sh); where it has a filter of system calls, probes do.
cat >now.cc <<'C'
#include <chrono>
#include <ctime>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <unistd.h>
volatile long kept;
int main(int argc, char **argv)
{
	struct sock_filter allow = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
	struct sock_fprog filter = {1, &allow};
	if (argc > 2 && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
			 prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)))
		return 1;
	while (access(argv[1], F_OK))
		usleep(10000);
	for (int i = 0; i < 700; i++) {
		struct timespec t;
		kept = std::chrono::steady_clock::now().time_since_epoch().count();
		kept = std::chrono::system_clock::now().time_since_epoch().count();
		timespec_get(&t, TIME_UTC);
		kept = t.tv_nsec;
		usleep(2000);
	}
}
C
nows() { # REC ARG...: to REC.text
	local pid recorder
	./now "$1.go" "${@:2}" &
	pid=$!
	started+=("$pid")
	: >recording # of the one before
	"$PUGMARK" record --level values --check-every 64 -o "$1" -p $pid >/dev/null 2>recording &
	recorder=$!
	await grep -q ': recording' recording
	touch "$1.go"
	wait $pid $recorder
	"$PUGMARK" raw --captures "$1" | grep -v '^#' >"$1.text"
}
if ${CXX:-c++} -O1 -w -o now now.cc; then
	nows noted
	claim 'each turn has what three clocks told' \
		is "$(grep -cE ' kernel .*clock_gettime\((0|1),.* [0-9a-f]+\+16:' noted.text)" 2100
	claim 'no probe tells of them to the end' test "$(grep -c 'of=.*steady_clock' noted.text)" -lt 700
	nows nows filtered
	grep -E 'of=' nows.text >captures5
	turns=$(grep -c 'of=.*system_clock' captures5)
	claim 'there are enough for them to count as frequent' test "$turns" -gt 500
	claim 'steady_clock is watched to the end' is "$(grep -c 'of=.*steady_clock' captures5)" "$turns"
	claim 'so is timespec_get(), with what it writes' is \
		"$(grep 'of=timespec_get' captures5 | grep -cE ' [0-9a-f]+\+16:')" "$turns"
	claim 'both are up to the end' test "$(tail -n 20 captures5 | grep -c 'of=.*system_clock')" -gt 1
else
	skipped=$((skipped + 1))
fi
conclude

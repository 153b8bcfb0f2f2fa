#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# why_channels.sh: slices through files, pipes and sockets that the recording has both ends of, and through
# fork: to the byte, against a program of which it is known by construction which byte of the input made
# which of the output; through dash and sort; and where it cannot be told who wrote, that the slice ends
# there, and why.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs python3
work_in_own_folder

# Byte k of the output is byte 7 * k % 500 of the input, whatever it went through.
${CC:-cc} -O1 -g -w -o channels "$tests/programs/channels.c" -lpthread || skip 'no compiler'
head -c 500 /dev/urandom >input
cat >truth.py <<'P'
import json, random, subprocess, sys
pugmark, rec, n, times = sys.argv[1], sys.argv[2], 500, int(sys.argv[3])
random.seed(rec)
def run(*args):
    done = subprocess.run([pugmark, *args, "--format", "json"], capture_output=True)
    return done.returncode, json.loads(done.stdout)
for k in random.sample(range(n), times):
    status, j = run("why", rec, "--write", f"1:{k}")
    got = sorted((b["fd"], x) for s in [j] + j["threads"] for b in s["bytes"] for x in range(b["from"], b["to"] + 1))
    if (status, got, j["brought"]["bytes"]) != (0, [(0, 7 * k % n)], 1):
        print("why", k, status, got, {a: b for a, b in j["brought"].items() if a != "pieces"}, j["of_others"])
    if k % 4:
        continue
    status, j = run("then", rec, "--input", f"0:{7 * k % n}")
    got = [(p["from"], p["to"]) for p in j["brought"]["pieces"]]
    if got != [(k, k)]:
        print("then", k, status, got, {a: b for a, b in j["brought"].items() if a != "pieces"})
P
times=$((${LONG:+3} + 4)) compared=0
for kind in pipe stdio vector message pair unix tcp tcp6 file place pipe+ stdio+ pair+ tcp+ file+ place+; do
	rm -f socket
	"$PUGMARK" record -q --level values -o "rec.$kind" -- ./channels $kind <input >printed 2>err
	claim "$kind: the program ran" is "$(stat -c %s printed)" 500
	claim "$kind: each byte leads to the one that made it" is \
		"$(nice python3 truth.py "$PUGMARK" "rec.$kind" $times)" ''
	compared=$((compared + times))
done
claim 'of sixteen ways four bytes each were compared' [ $compared -ge 64 ]
"$PUGMARK" why rec.pipe --write 1:10 >out 2>err
claim 'it says by what, and who wrote it' grep -qE \
	'^brought: bytes 10 to 10 of descriptor [0-9]+ of task 2, by a pipe, written by task 1 to descriptor [0-9]+$' out
claim 'and goes on there' eval "sed -n '/^in task 1/,\$p' out | grep -q '^input: bytes 70 to 70 of descriptor 0'"

# A shell's pipe and command substitution: three processes, none of which executes another program.
if dash=$(command -v dash); then
	cp "$(readlink -f "$dash")" dash
	printf 'read line\nx=$(echo "got $line")\necho "$x" | { read y; echo "end $y"; }\n' >script
	printf 'abcdef\n' | "$PUGMARK" record -q --level values -o shell -- ./dash script >said 2>err
	"$PUGMARK" why shell --output 'end got abcdef' >out 2>err
	claim 'dash: the slice is whole' is $? 0
	claim 'dash: from the last process through two pipes to what the first one read' \
		grep -q '^input: bytes 0 to 5 of descriptor 0' out
	at() { grep -obF "$1" script | head -n 1 | cut -d : -f 1; }
	for word in 'got ' 'end '; do
		claim "dash: and to '$word' in the script, before they were forked" grep -qE \
			"^input: bytes $(at "$word") to $(($(at "$word") + 3)) of descriptor [0-9]+$" out
	done
	claim 'dash: nothing else was read' is "$(grep -c '^input:' out)" 3
else
	echo 'skip slices through a shell: no dash here'
	skipped=$((skipped + 1))
fi

# What does not fit into the memory that sort may have goes through files.
sort=$(readlink -f "$(command -v sort)")
cp "$sort" sort
mkdir parts
python3 -c 'import random
random.seed(1)
for i in range(2000):
    print("".join(random.choice("abcdefghij") for _ in range(20)))' >lines
"$PUGMARK" record -q --level values -o sorted -- ./sort -S 20k --parallel=1 -T parts lines >printed 2>err
cat >sorted.py <<'P'
import json, random, subprocess, sys
lines, printed = open("lines").read(), open("printed").read()
random.seed(5)
through = 0
for line in random.sample(range(2000), int(sys.argv[2])):
    k = 21 * line + random.randrange(20)
    done = subprocess.run([sys.argv[1], "why", "sorted", "--write", f"1:{k}", "--format", "json"],
                          capture_output=True)
    j = json.loads(done.stdout)
    got = sorted({x for s in [j] + j["threads"] for b in s["bytes"] for x in range(b["from"], b["to"] + 1)})
    through += j["brought"]["bytes"]
    want = lines.index(printed[21 * line : 21 * line + 20]) + k % 21
    if done.returncode or got != [want]:
        print(k, done.returncode, got, want)
print("through a file" if through else "through none")
P
if [ "$(wc -l <printed)" = 2000 ]; then
	claim 'sort: bytes lead through its files to the line they are of' is \
		"$(nice python3 sorted.py "$PUGMARK" $((times + 1)))" 'through a file'
fi

# --- where it ends ---------------------------------------------------------------------------
build() { ${CC:-cc} -O1 -g -w -o "$1" "$1.c" -lpthread; }
# The slice of the byte that PROGRAM prints, and why it ends.
ends() { # CLAIM STATUS TEXT PROGRAM
	"$PUGMARK" why "$4.rec" --write 1:0 >out 2>err
	claim "$1: status" is $? "$2"
	claim "$1: says so" grep -q "$3" out
}
goes_on() { sed -n '/^in task/,$p' out | grep -q "$1"; }

# Two that wrote at the same time, as the pipe was full.
cat >both.c <<'C'
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static char full[70000], got[70000];
int main(void)
{
	int ends[2];
	pipe(ends);
	for (int i = 0; i < 2; i++)
		if (!fork()) {
			full[0] = full[100] = 'a' + i;
			write(ends[1], full, i ? 10 : 70000);
			_exit(0);
		} else {
			usleep(200000);
		}
	for (int at = 0, n; at < 70010 && (n = read(ends[0], got, 1000)) > 0; at += n)
		if (!at)
			write(1, got + 100, 1);
	return 0;
}
C
build both
"$PUGMARK" record -q --level values -o both.rec -- ./both >printed 2>err
ends 'two writers at the same time' 3 'two wrote there at the same time (tasks 2 and 3)' both
claim 'it goes on in neither' eval '! goes_on "full"'

# Two that read at the same time.
cat >readers.c <<'C'
#include <pthread.h>
#include <unistd.h>
static int ends[2];
static void *reads(void *arg)
{
	char c[1];
	read(ends[0], c, 1);
	if (*c == 'x')
		write(1, c, 1);
	return NULL;
}
int main(void)
{
	pthread_t t[2];
	char text[2] = {'x', 'y'};
	pipe(ends);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, reads, NULL);
	usleep(200000);
	write(ends[1], text, 2);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	return 0;
}
C
build readers
"$PUGMARK" record -q --level values -o readers.rec -- ./readers >printed 2>err
ends 'two readers at the same time' 3 'another one read or wrote there at the same time' readers

# A file that somebody outside changes meanwhile, though the byte stays what it was.
cat >outside.c <<'C'
#include <fcntl.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char c[4] = {'a', 'b', argv[1][0]}, got[1];
	int fd = open("shared", O_RDWR | O_CREAT, 0600);
	write(fd, c, 3);
	usleep(20000);
	close(open("written", O_CREAT | O_WRONLY, 0600));
	while (access("changed", F_OK))
		usleep(10000);
	pread(fd, got, 1, 2);
	write(1, got, 1);
	return 0;
}
C
build outside
for who in nobody somebody; do
	rm -f shared written changed
	"$PUGMARK" record -q --level values -o outside.rec -- ./outside z >printed 2>err &
	started+=($!)
	await test -e written
	[ $who = nobody ] || python3 -c 'f = open("shared", "r+b"); f.write(b"A")'
	touch changed
	wait "${started[-1]}"
	claim "a file that $who changes: what was read" is "$(cat printed)" z
	if [ $who = nobody ]; then
		ends 'a file that nobody else changes' 0 'by a file, written by task 1' outside
	else
		ends 'a file that somebody else changes' 3 'others may have written there' outside
	fi
done

# An end of the pipe that was sent away.
cat >given.c <<'C'
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int ends[2], pair[2];
	char byte[1] = {argv[1][0]}, control[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec v = {byte, 1};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
	pipe(ends);
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	if (argc > 2) {
		m.msg_control = control;
		m.msg_controllen = sizeof(control);
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &ends[1], sizeof(int));
	}
	sendmsg(pair[0], &m, 0);
	write(ends[1], byte, 1);
	read(ends[0], byte, 1);
	write(1, byte, 1);
	return 0;
}
C
build given
"$PUGMARK" record -q --level values -o given.rec -- ./given z >printed 2>err
ends 'a pipe of its own' 0 'by a pipe, written by task 1' given
"$PUGMARK" record -q --level values -o given.rec -- ./given z more >printed 2>err
ends 'a pipe of which an end was sent away' 3 'others may have written there' given

# A writer of which no values are known, as it executes another program; or which is not recorded.
cat >apart.c <<'C'
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int ends[2];
	char got[1];
	if (argc > 1) {
		write(1, "x", 1);
		return 0;
	}
	pipe(ends);
	if (!fork()) {
		dup2(ends[1], 1);
		execl(argv[0], argv[0], "write", NULL);
	}
	read(ends[0], got, 1);
	write(1, got, 1);
	wait(NULL);
	return 0;
}
C
build apart
"$PUGMARK" record -q --level values -o apart.rec -- ./apart >printed 2>err
"$PUGMARK" why apart.rec --task 1 --write 1:0 >out 2>err
claim 'what another program wrote: status' is $? 3
claim 'what another program wrote: says so' grep -q 'what the task that wrote them did is not known' out
cat >left.c <<'C'
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int ends[2];
	char got[2] = {argv[1][0]};
	pipe(ends);
	if (!fork())
		_exit(write(ends[1], "x", 1) != 1);
	wait(NULL);
	write(ends[1], got, 1);
	read(ends[0], got, 2);
	write(1, got + 1, 1);
	return 0;
}
C
build left
"$PUGMARK" record -q --level values -o left.rec -- ./left z >printed 2>err
ends 'a child that is recorded' 0 'by a pipe, written by task 1' left
"$PUGMARK" record -q --no-follow --level values -o left.rec -- ./left z >printed 2>err
ends 'a child that is not, and may write there' 3 'others may have written there' left

# What was there before, what the kernel moves, and input as ever.
cat >moved.c <<'C'
#include <fcntl.h>
#include <sys/sendfile.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int ends[2], from = open("moved.c", O_RDONLY), fifo = open("fifo", O_RDWR);
	char got[1] = {argv[1][0]};
	pipe(ends);
	if (argc > 2)
		write(fifo, got, 1), read(fifo, got, 1);
	else
		sendfile(ends[1], from, NULL, 1), read(ends[0], got, 1);
	write(1, got, 1);
	return 0;
}
C
build moved
mkfifo fifo
"$PUGMARK" record -q --level values -o moved.rec -- ./moved z >printed 2>err
ends 'what sendfile() moved' 3 'they were moved in the kernel alone' moved
"$PUGMARK" record -q --level values -o moved.rec -- ./moved z fifo >printed 2>err
ends 'a pipe that was there before' 3 'was there before the recording' moved
printf x | "$PUGMARK" record -q --level values -o apart.rec -- ./channels pipe >printed 2>err
"$PUGMARK" why apart.rec --task 1 --input 0:0 >out 2>err
claim 'bytes of a pipe that nobody of the recording writes to are input' eval '! grep -q "slice ends" out'

# Registers and memory that a child has of its parent.
cat >child.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static int scale;
static char text[10];
int main(int argc, char **argv)
{
	register int local = strtol(argv[1], 0, 10);
	scale = strtol(argv[2], 0, 10);
	strcpy(text, argv[3]);
	if (!fork()) {
		scale = scale * 2;
		int made = local * scale + strlen(text);
		printf("made %d\n", made);
		fflush(stdout);
		_exit(0);
	}
	scale = strtol(argv[1], 0, 10);
	wait(NULL);
	return 0;
}
C
build child
"$PUGMARK" record -q --level values -o child.rec -- ./child 3 5 four >printed 2>err
"$PUGMARK" why child.rec "child.c:$(grep -n 'printf("made' child.c | cut -d : -f 1)" made >out 2>err
claim 'what a forked process computed goes on in its parent' is $? 0
sed -n '/^in task 1/,$p' out >parent
claim 'with registers' grep -q "child.c:$(grep -n 'local = strtol' child.c | cut -d : -f 1) " parent
claim 'with memory' grep -q "child.c:$(grep -n 'scale = strtol(argv.2' child.c | cut -d : -f 1) " parent
claim 'with what calls have read' grep -q "child.c:$(grep -n 'strcpy' child.c | cut -d : -f 1) " parent
claim 'as it was then' eval "! grep -q 'child.c:$(grep -n 'scale = strtol(argv.1' child.c | cut -d : -f 1) ' parent"
conclude

#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# values_redacted.sh: secrets that `record --redact` and `--no-memory` keep out of a recording of
# level values: no eight bytes of them are in any of its bytes, unpacked; the replay does not know
# them, and knows all else.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs python3 zstd
work_in_own_folder

cat >reader.c <<'C'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static int compare(const void *a, const void *b) { return memcmp(a, b, 8); }
static __attribute__((noinline)) long look(const char *text, long plain) { return text[3] ^ plain; }
int main(void)
{
	static char line[100], input[100], again[100], open_text[100], parts[40];
	fgets(open_text, sizeof(open_text), fopen("public", "r"));
	long n = read(0, input, sizeof(input)), m = 0, sum = look(open_text, n) + look(input, n);
	FILE *file = fopen("folder/secret", "r");
	fgets(line, 50, file);
	for (int i = 0; i < 40; i++)
		parts[i] = getc(file);
	int fd = open("folder/secret", O_RDONLY), other = dup(fd);
	if (!fork())
		_exit(pread(other, again, 90, 0) < 90);
	wait(NULL);
	m = pread(other, again, 90, 0);
	char *copy = strdup("a copy of a line that is long enough for all of it, so that it fits");
	memcpy(copy, line, 40);
	const char *map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, open("mapped", O_RDONLY), 0);
	memcpy(again + 40, map, 40);
	qsort(parts, 5, 8, compare);
	return sum + look(copy, n + m) == 12345;
}
C
${CC:-cc} -O1 -g -w -o reader reader.c || exit 1
mkdir folder
words() { head -c 4000 /dev/urandom | tr -dc a-zA-Z0-9 | head -c "$1"; }
{ words 49; words 49; } >folder/secret
words 60 >input
words 90 >mapped
words 60 >public

# Which of the files have eight bytes in a row that are in the recording, unpacked.
cat >found.py <<'PY'
import os, subprocess, sys
recording, names = sys.argv[1], sys.argv[2:]
pieces = []
for top, _, files in os.walk(recording):
    for f in files:
        data = open(os.path.join(top, f), 'rb').read()
        pieces.append(data)
        at = data.find(b'\x8fPMSEG\r\n')
        while at >= 0:
            stored = int.from_bytes(data[at + 32:at + 36], 'little')
            body = data[at + 64:at + 64 + stored]
            out = subprocess.run(['zstd', '-dcq'], input=body, capture_output=True).stdout
            pieces.append(out)
            at = data.find(b'\x8fPMSEG\r\n', at + 64)
whole = b'\0'.join(pieces)
for name in names:
    text = open(name, 'rb').read()
    if any(text[i:i + 8] in whole for i in range(len(text) - 7)):
        print(name)
PY
found() { python3 found.py "$1" folder/secret input mapped public | tr '\n' ' '; }
try() { # OUT OPTIONS...
	local out=$1
	shift
	"$PUGMARK" record -q --level values "$@" -o "$out" -- ./reader <input >/dev/null 2>>err
	claim "$out: the program ends as it does alone" is $? 0
}

try all
claim 'without, all of them are there (so the search finds them)' \
	is "$(found all)" 'folder/secret input mapped public '
try named --redact '*/folder/secret' --redact '*/mapped'
claim 'what was read or mapped from files that match is not there' is "$(found named)" 'input public '
try number --redact 0 --no-memory '*/mapped'
claim 'nor what a descriptor brings, nor what --no-memory names' \
	is "$(found number)" 'folder/secret public '
claim 'of a file that is not traced nothing is said' is "$(grep -c 'no-memory keeps' err)" 0
"$PUGMARK" record --level values --no-memory '*/mapped' -o met -- ./reader <input >/dev/null 2>met.err
claim '--no-memory that matches a file that is mapped later has hidden something' is "$(grep -c 'has hidden nothing' met.err)" 0
"$PUGMARK" record --level values --no-memory '\[heap]' -o missed -- ./reader <input >/dev/null 2>missed.err
claim '--no-memory that matches no mapping is told of' grep -q 'has hidden nothing' missed.err
"$PUGMARK" record --level values --no-memory '*/reader' -o own -- ./reader <input >out 2>own.err
claim 'that nothing is kept of the program itself is said' \
	grep -q '^pugmark: note: --no-memory keeps nothing of .*/reader, which is traced' own.err
try both --redact 0 --redact '*/secret' --redact '*/mapped'
claim 'several at once' is "$(found both)" 'public '

# Of words on the stack those stay in copies of it that look like addresses.
cat >stacked.c <<'C'
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	volatile long words[10];
	for (int i = 0; i < 10; i++)
		words[i] = argc * 0x776f72647320;
	if (!fork())
		_exit(0);
	wait(NULL);
	return words[3] == 3;
}
C
${CC:-cc} -O1 -g -w -o stacked stacked.c || exit 1
stacked() { # OUT OPTIONS...
	"$PUGMARK" record -q --level values "${@:2}" -o "$1" -- ./stacked 2>>err
	"$PUGMARK" raw "$1" | grep -c ' 776f72647320'
}
claim 'what lies on the stack is in a copy of it' test "$(stacked words)" -gt 0
claim "but not with --no-memory '[stack]'" is "$(stacked no_words --no-memory '[stack]')" 0

"$PUGMARK" values both --watch main:input >watched 2>>err
claim 'that the kernel has written what was kept out is told' grep -qE '^1 [0-9]+ write the kernel ' watched
"$PUGMARK" values both look >looked 2>>err
claim 'the replay goes on to the end' is $? 0
claim 'what is read of other files is known' is "$(sed -n '1s/.*text=[^ ]* \"\([^"]*\).*= \([0-9?~]*\)$/\1/p' looked)" "$(cat public)"
claim 'a secret is not known' is "$(sed -n '2s/.*plain=60) = //p' looked)" '?'
"$PUGMARK" verify both >known 2>>err
claim 'verify says that some are not known' grep -Eq ' [1-9][0-9]* unknown' known
claim 'and that it is known up to its end' grep -q 'up to its end' known
# Eight bytes that were read are in rax while a signal finds the task, and while it loses the processor.
cat >holder.c <<'C'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
static volatile int hits, over;
static char input[8];
static void hit(int s) { hits++; }
static void *other(void *arg)
{
	while (!over)
		;
	return arg;
}
static __attribute__((noinline)) long hold(void)
{
	long n = 0, secret;
	memcpy(&secret, input, 8);
	__asm__ volatile("1: incq %0; cmpl $5, %1; jl 1b; xorl %%eax, %%eax"
			 : "+r"(n), "+m"(hits), "+a"(secret) : : "cc");
	return n;
}
static __attribute__((noinline)) int counted(long n) { return printf("%ld\n", n); }
int main(void)
{
	struct itimerval often = {{0, 20000}, {0, 20000}}, never = {0};
	pthread_t t;
	read(0, input, 8);
	signal(SIGALRM, hit);
	pthread_create(&t, NULL, other, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	long n = hold();
	setitimer(ITIMER_REAL, &never, NULL);
	over = 1;
	pthread_join(t, NULL);
	return counted(n) < 2;
}
C
${CC:-cc} -O1 -g -w -pthread -o holder holder.c || exit 1
words 8 >key
hex=$(od -An -tx8 key | tr -d ' ')
hold() { # OUT OPTIONS...
	"$PUGMARK" record -q --level values "${@:2}" -o "$1" -- ./holder <key >printed 2>>err
	claim "$1: it ends as it does alone" is $? 0
	"$PUGMARK" raw --captures "$1" >records 2>>err
}
lacks() { ! grep -q "$1" "$2"; }
hold held
claim 'a signal finds it in a register' grep -q "signal.*=$hex" records
hold held_switched --one-processor
claim 'as does what takes the processor away' grep -q "switch.*=$hex" records
for options in '' --one-processor; do
	hold "hidden$options" --redact 0 $options
	claim "redacted $options: in no register of any record" lacks "$hex" records
	claim "redacted $options: a signal is told" grep -q signal= records
	claim "redacted $options: not a byte of it is there" is "$(python3 found.py "hidden$options" key)" ''
	"$PUGMARK" values "hidden$options" counted >looked 2>>err
	claim "redacted $options: how often it went round is not called exact" \
		eval '! grep -Eq "counted\(n=[0-9]+\)" looked || grep -q "counted(n=$(cat printed))" looked'
done

# What a call says of its length may be more than it has written: what lies behind that is not kept.
cat >asker.c <<'C'
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
int main(void)
{
	static char own[200], more[100];
	int pair[2];
	read(0, own + 8, 60);
	socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
	write(pair[0], more, 100);
	return recv(pair[1], own, 1, MSG_PEEK | MSG_TRUNC) != 100;
}
C
${CC:-cc} -O1 -g -w -o asker asker.c || exit 1
"$PUGMARK" record -q --level values --redact 0 -o asked -- ./asker <input 2>>err
claim 'of a datagram a byte is taken' is $? 0
claim 'and nothing beside it is kept' is "$(found asked)" ''

"$PUGMARK" record -q --redact 0 -o none -- ./reader <input >told 2>&1
claim 'without level values it is refused' is $? 2
conclude
